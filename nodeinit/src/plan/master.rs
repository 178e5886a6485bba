//! A further master: it joins the control plane of the first.

use crate::{
    engine::step::Plan,
    render::kubelet::requests_serving_certificate,
    steps::{
        agent::AgentService,
        artifacts,
        containerd::ContainerRuntime,
        encryption_config::EncryptionConfig,
        etcd::EtcdMember,
        fetched::Fetched,
        first_api_server::FirstApiServer,
        images,
        kubeconfig::Kubeconfigs,
        kubelet::{KubeletConfig, KubeletHealthy, KubeletService},
        metadata::MetadataRule,
        node::Node,
        node_ready::NodeReady,
        os_prepare::OsPrepare,
        pki::Pki,
        preflight::Preflight,
        static_pods::{ApiServerConfig, Component, Healthy, Manifest},
        verify_kubelets::VerifyKubelets,
        virtual_address,
    },
};
use nodeinit_config::{Cluster, cluster::Role};

/// Everything that does not need the others comes first, so that only membership in etcd waits for its turn; the control
/// plane begins when this machine votes and the first master's API answers. What the cluster holds as a whole is the first master's.
#[must_use]
pub fn plan(cluster: &Cluster) -> Plan {
    let mut plan = prepared(cluster);
    plan.push(Box::new(EtcdMember::of_master()));
    plan.push(Box::new(FirstApiServer));
    for component in Component::ALL {
        if component != Component::Etcd {
            plan.push(Box::new(Manifest(component, Role::Master)));
        }
        plan.push(Box::new(Healthy(component, Role::Master)));
    }
    if cluster.control_plane.virtual_address.is_some() {
        plan.push(Box::new(virtual_address::Manifest::after(&plan)));
    }
    plan.push(Box::new(Node));
    plan.push(Box::new(AgentService { after: "kube-apiserver" }));
    if requests_serving_certificate(cluster) {
        plan.push(Box::new(VerifyKubelets { needs: plan.iter().map(|step| step.name()).collect() }));
    }
    plan.push(Box::new(NodeReady { needs: plan.iter().map(|step| step.name()).collect() }));
    plan
}

/// What every master does with no word of the others: keys, binaries, images, and its kubelet.
pub(super) fn prepared(cluster: &Cluster) -> Plan {
    let mut plan: Plan = vec![
        Box::new(Preflight),
        Box::new(Fetched),
        Box::new(OsPrepare),
        Box::new(ContainerRuntime),
        Box::new(MetadataRule),
        Box::new(KubeletConfig),
    ];
    plan.extend(artifacts::steps(cluster));
    plan.extend(images::steps(cluster, Role::Master));
    plan.extend([
        Box::new(Pki) as _,
        Box::new(Kubeconfigs) as _,
        Box::new(EncryptionConfig) as _,
        Box::new(ApiServerConfig) as _,
        Box::new(KubeletService { credentials: "kubeconfig" }) as _,
        Box::new(KubeletHealthy) as _,
    ]);
    plan
}
