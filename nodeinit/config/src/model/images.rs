//! Registries, and the images of Kubernetes itself.

use super::{
    declare::{
        Verdict, keys,
        place::{Place, refuse_twice},
    },
    texts::{Host, Repository, Url},
};
use std::{collections::HashMap, path::PathBuf};

/// Where Kubernetes publishes its images.
pub const DEFAULT_IMAGE_REPOSITORY: &str = "registry.k8s.io";

keys! {
    /// Registries and mirrors of images.
    pub(crate) struct Images {
        /// Registry and path of Kubernetes' own images.
        "repository" repository: String as Repository = (DEFAULT_IMAGE_REPOSITORY), to all;
        /// Mirrors that containerd pulls from, on machines where nodeinit manages containerd.
        "mirrors" mirrors: Vec<RegistryMirrors>,
            example "[{registry: docker.io, urls: [\"https://mirror.example.org/hub\"]}]", to all => each_once;
        /// A file on each machine with the logins of registries and mirrors, in the form of docker's `config.json`, mode 0600. containerd
        /// uses it where nodeinit manages containerd, and so does the step `fetch`.
        "registryAuthFile" registry_auth_file: Option<PathBuf>, else "no logins", example "/etc/nodeinit/registry-auth.json", to all;
    }
}

keys! {
    /// The mirrors of a registry.
    #[derive(Eq)]
    pub struct RegistryMirrors {
        /// The registry as images are named after it, such as `docker.io`.
        "registry" registry: String as Host = required, to all;
        /// The mirrors' base URLs, tried in turn before the registry itself. A path is prepended to image names.
        "urls" urls: Vec<String> as Vec<Url> = required, to all;
    }
}

fn each_once(place: &Place<'_, Vec<RegistryMirrors>>, verdict: &mut Verdict<'_>) {
    let mut registries = HashMap::new();
    for mirrors in place.items() {
        refuse_twice(&mut registries, &mirrors.registry(), &mut verdict.errors);
    }
}

/// The images of Kubernetes itself, in the order in which a first master needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubernetesImage {
    /// The sandbox of every pod.
    Pause,
    /// etcd.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kube-proxy.
    Proxy,
    /// CoreDNS.
    CoreDns,
}

impl KubernetesImage {
    /// All of them, in the order of need.
    pub const ALL: [Self; 7] = [
        Self::Pause,
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Proxy,
        Self::CoreDns,
    ];

    /// The name of its archive below a source of artifacts, without `.tar`; also the last part of the image's name.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Proxy => "kube-proxy",
            Self::CoreDns => "coredns",
        }
    }
}
