//! The manifests: compiled in; a file of the same name replaces each.

use super::error::RenderError;
use nodeinit_config::Addon;
use std::{collections::BTreeMap, fmt};

/// One file of `manifests/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manifest {
    /// The static pod of etcd.
    Etcd,
    /// The static pod of kube-apiserver.
    ApiServer,
    /// The static pod of kube-controller-manager.
    ControllerManager,
    /// The static pod of kube-scheduler.
    Scheduler,
    /// The audit policy of the API server.
    AuditPolicy,
    /// The authentication configuration of the API server, for requests without credentials.
    Authentication,
    /// The encryption of Secrets in etcd.
    Encryption,
    /// The kubelet's configuration.
    Kubelet,
    /// kube-proxy's configuration.
    KubeProxyConfig,
    /// The static pod of kube-vip.
    KubeVip,
    /// ConfigMaps and RBAC of a new cluster.
    Bootstrap,
    /// The rights of workers' tokens and of nodeinit's agent.
    Agent,
    /// kube-proxy.
    KubeProxy,
    /// CoreDNS.
    CoreDns,
    /// flannel.
    Flannel,
    /// An optional addon.
    Addon(Addon),
}

impl Manifest {
    /// Those of no optional addon.
    const OWN: [Self; 15] = [
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::AuditPolicy,
        Self::Authentication,
        Self::Encryption,
        Self::Kubelet,
        Self::KubeProxyConfig,
        Self::KubeVip,
        Self::Bootstrap,
        Self::Agent,
        Self::KubeProxy,
        Self::CoreDns,
        Self::Flannel,
    ];

    /// All manifests.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::OWN.into_iter().chain(Addon::ALL.map(Self::Addon))
    }

    /// The file's name in `manifests/`, or in a folder of `manifests/addons/`, and in the directory that replaces it.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd.yaml",
            Self::ApiServer => "kube-apiserver.yaml",
            Self::ControllerManager => "kube-controller-manager.yaml",
            Self::Scheduler => "kube-scheduler.yaml",
            Self::AuditPolicy => "audit-policy.yaml",
            Self::Authentication => "authentication.yaml",
            Self::Encryption => "encryption.yaml",
            Self::Kubelet => "kubelet.yaml",
            Self::KubeProxyConfig => "kube-proxy-config.yaml",
            Self::KubeVip => "kube-vip.yaml",
            Self::Bootstrap => "bootstrap.yaml",
            Self::Agent => "agent.yaml",
            Self::KubeProxy => "kube-proxy.yaml",
            Self::CoreDns => "coredns.yaml",
            Self::Flannel => "flannel.yaml",
            Self::Addon(addon) => addon.file_name(),
        }
    }

    /// Returns all file names, for a message.
    #[must_use]
    pub fn file_names() -> String {
        Self::all().map(Self::file_name).collect::<Vec<_>>().join(", ")
    }

    fn embedded(self) -> &'static str {
        match self {
            Self::Etcd => include_str!("../../../manifests/etcd.yaml"),
            Self::ApiServer => include_str!("../../../manifests/kube-apiserver.yaml"),
            Self::ControllerManager => include_str!("../../../manifests/kube-controller-manager.yaml"),
            Self::Scheduler => include_str!("../../../manifests/kube-scheduler.yaml"),
            Self::AuditPolicy => include_str!("../../../manifests/audit-policy.yaml"),
            Self::Authentication => include_str!("../../../manifests/authentication.yaml"),
            Self::Encryption => include_str!("../../../manifests/encryption.yaml"),
            Self::Kubelet => include_str!("../../../manifests/kubelet.yaml"),
            Self::KubeProxyConfig => include_str!("../../../manifests/kube-proxy-config.yaml"),
            Self::KubeVip => include_str!("../../../manifests/kube-vip.yaml"),
            Self::Bootstrap => include_str!("../../../manifests/bootstrap.yaml"),
            Self::Agent => include_str!("../../../manifests/agent.yaml"),
            Self::KubeProxy => include_str!("../../../manifests/kube-proxy.yaml"),
            Self::CoreDns => include_str!("../../../manifests/coredns.yaml"),
            Self::Flannel => include_str!("../../../manifests/flannel.yaml"),
            Self::Addon(addon) => addon.manifest(),
        }
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file_name())
    }
}

/// The manifests in use: nodeinit's, with the user's replacements.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    overrides: BTreeMap<&'static str, String>,
}

impl Manifests {
    /// Returns nodeinit's manifests, with `overrides` (file name → text, from `manifestsDirectory`) instead of those with the same
    /// name.
    ///
    /// # Errors
    /// [`RenderError::UnknownManifest`] if no manifest has the name of a file, which is probably misspelt.
    pub fn new(overrides: BTreeMap<String, String>) -> Result<Self, RenderError> {
        let mut known = BTreeMap::new();
        for (file, text) in overrides {
            match Manifest::all().find(|manifest| manifest.file_name() == file) {
                Some(manifest) => known.insert(manifest.file_name(), text),
                None => return Err(RenderError::UnknownManifest { file, known: Manifest::file_names() }),
            };
        }
        Ok(Self { overrides: known })
    }

    /// Returns the text of a manifest with its placeholders.
    #[must_use]
    pub fn text(&self, manifest: Manifest) -> &str {
        self.overrides.get(manifest.file_name()).map_or(manifest.embedded(), String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_replaces_a_manifest_and_a_misspelt_one_is_refused() {
        let manifests = Manifests::new([("etcd.yaml".to_owned(), "mine".to_owned())].into()).unwrap();
        assert_eq!(manifests.text(Manifest::Etcd), "mine");
        assert_eq!(manifests.text(Manifest::Flannel), Manifest::Flannel.embedded());
        let err = Manifests::new([("core-dns.yaml".to_owned(), String::new())].into()).unwrap_err().to_string();
        assert!(err.starts_with("core-dns.yaml: no manifest has this name"), "{err}");
        assert!(err.contains("coredns.yaml"), "{err}");
    }

    #[test]
    fn the_readme_lists_every_manifest_and_every_placeholder() {
        let readme = include_str!("../../../manifests/README.md");
        for manifest in Manifest::OWN {
            assert!(readme.contains(&format!("`{manifest}`")), "{manifest}");
        }
        let fixture = super::super::testing::Fixture::new();
        for placeholder in fixture.renderer().values().keys() {
            assert!(readme.contains(&format!("`{placeholder}`")), "{placeholder}");
        }
    }
}
