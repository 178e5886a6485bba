//! Registries, and the images of Kubernetes.

use super::{
    declare::{
        Verdict, keys,
        place::{Place, refuse_twice},
    },
    texts::{Host, Repository, Url},
};
use std::{collections::HashMap, path::PathBuf};

/// The registry of Kubernetes.
pub const DEFAULT_IMAGE_REPOSITORY: &str = "registry.k8s.io";

keys! {
    /// Registries and mirrors of images.
    pub(crate) struct Images {
        /// Registry and path of the images of Kubernetes.
        "repository" repository: String as Repository = (DEFAULT_IMAGE_REPOSITORY), to all;
        /// Mirrors that containerd pulls from, on machines where nodeinit manages containerd.
        "mirrors" mirrors: Vec<RegistryMirrors>,
            example "[{registry: docker.io, urls: [\"https://mirror.example.org/hub\"]}]", to all => each_once;
        /// A file on each machine with the logins of registries and mirrors, in the format of docker's `config.json`, with mode 0600.
        /// containerd uses it if nodeinit manages containerd, and the step `fetch` uses it.
        "registryAuthFile" registry_auth_file: Option<PathBuf>, else "no logins", example "/etc/nodeinit/registry-auth.json", to all;
    }
}

keys! {
    /// The mirrors of a registry.
    #[derive(Eq)]
    pub struct RegistryMirrors {
        /// The registry in image names, such as `docker.io`.
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

/// The images of Kubernetes, in the order in which a first master needs them.
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
    /// All images, in the order of need.
    pub const ALL: [Self; 7] = [
        Self::Pause,
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Proxy,
        Self::CoreDns,
    ];

    /// Returns the name of its archive below a source of artifacts, without `.tar`; also the last part of the image's name.
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
