//! The validated configuration. Every value of these types has passed the checks, so that no later code checks it again.

pub use crate::{
    model::API_PORT, model::Addons, model::Agent, model::ApiServer, model::ArtifactSource, model::Artifacts,
    model::Binary, model::Cluster, model::Cni, model::ContainerRuntime, model::ControlPlane, model::ControllerManager,
    model::DEFAULT_IMAGE_REPOSITORY, model::Endpoint, model::Etcd, model::FETCHED, model::Hooks, model::ImageArchive,
    model::Join, model::JumpHost, model::KubernetesImage, model::Machine, model::MachineSsh, model::Network,
    model::Node, model::Os, model::Proxy, model::RegistryMirrors, model::Role, model::Rollout, model::Scheduler,
    model::SecretsDelivery, model::Share, model::Ssh, model::Swap, model::Taint, model::Timeouts,
};
