//! Renders the configuration to text and objects. Nothing here reads or writes a file, and the same input gives the same
//! bytes.
//!
//! The result is the same as kubeadm of the cluster's release generates from the stored `kubeadm-config` (`parity.rs` compares),
//! so that either tool can manage a cluster. The texts are in `manifests/` and `systemd/`; this module replaces placeholders
//! and adds flags and volumes.
//!
//! To add a manifest: put the file into `manifests/`, add it to [`Manifest`] and to `manifests/README.md`, and render
//! it with `Renderer::objects`.

pub mod addons;
pub mod api_server;
pub mod bastion;
pub mod cluster_objects;
mod components;
pub mod containerd;
pub mod error;
pub mod kubeadm_config;
pub mod kubeconfig;
pub mod kubelet;
pub mod manifests;
pub mod paths;
pub mod static_pod;
pub mod template;
pub mod toml;
pub mod units;
mod values;
pub mod yaml;

#[cfg(test)]
pub(crate) mod parity;
#[cfg(test)]
pub(crate) mod testing;

pub use error::RenderError;
pub use manifests::{Manifest, Manifests};

use nodeinit_config::{Cluster, cluster::Node};
use serde_json::Value;

/// The input of rendering.
#[derive(Clone, Debug)]
pub struct Renderer<'a> {
    /// The whole cluster.
    pub cluster: &'a Cluster,
    /// This machine.
    pub node: &'a Node,
    /// The facts about this machine.
    pub facts: &'a HostFacts,
    /// The manifests in use.
    pub manifests: &'a Manifests,
    /// Whether API servers and metrics-server verify the kubelets' serving certificates.
    pub verify_kubelets: bool,
}

/// Facts about the machine on which kubeadm's output depends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// The machine's host name. If it differs from the node's name, the kubelet gets `--hostname-override`.
    pub host_name: String,
    /// The network interface that has the node's address.
    pub interface: Option<String>,
    /// The existing ones of [`CA_DIRECTORIES`].
    pub ca_directories: Vec<&'static str>,
    /// Whether the cluster CA's key is not on this machine: the cluster then cannot sign certificates.
    pub external_ca: bool,
    /// Whether `systemd-resolved` runs: `/etc/resolv.conf` then names only a stub that pods cannot reach.
    pub systemd_resolved: bool,
}

/// Directories that `/etc/ssl/certs` may link to; kubeadm mounts those that exist (`phases/controlplane/volumes.go`,
/// `caCertsExtraVolumePaths`).
pub const CA_DIRECTORIES: [&str; 5] = [
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];

impl Renderer<'_> {
    /// Renders the documents of a manifest with the common values and with `own`, the values of this manifest only.
    fn objects(&self, manifest: Manifest, own: &[(&'static str, &str)]) -> Result<Vec<Value>, RenderError> {
        let mut values = self.values();
        values.extend(own.iter().map(|(name, value)| (*name, Value::from(*value))));
        template::documents(manifest.file_name(), self.manifests.text(manifest))?
            .into_iter()
            .map(|document| template::fill(manifest.file_name(), document, &values))
            .collect()
    }

    /// Renders the only document of a manifest.
    fn object(&self, manifest: Manifest, own: &[(&'static str, &str)]) -> Result<Value, RenderError> {
        let shape = || RenderError::Shape { manifest: manifest.to_string(), expected: "a YAML document" };
        self.objects(manifest, own)?.into_iter().next().ok_or_else(shape)
    }
}
