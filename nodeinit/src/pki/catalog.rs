//! The certificates of kubeadm. Source: `cmd/kubeadm/app/phases/certs/certlist.go` and `phases/kubeconfig/kubeconfig.go`.

use super::names::{self, Name};
use nodeinit_config::{Cluster, cluster::Node};

/// The group that kubeadm binds to `cluster-admin`.
pub const ADMINS: &str = "kubeadm:cluster-admins";
/// The group that may do everything, independently of RBAC.
pub const MASTERS: &str = "system:masters";
/// The group of all nodes.
pub const NODES: &str = "system:nodes";

/// The certificate authorities of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ca {
    /// The CA of the API server, the kubelets and their clients.
    Kubernetes,
    /// The CA of etcd and its clients.
    Etcd,
    /// The CA of the API server as a client of extension API servers.
    FrontProxy,
}

impl Ca {
    /// All CAs.
    pub const ALL: [Self; 3] = [Self::Kubernetes, Self::Etcd, Self::FrontProxy];

    /// Returns the name in `kubeadm certs check-expiration`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "ca",
            Self::Etcd => "etcd-ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }

    /// Returns the file name in the PKI directory, without `.crt` and `.key`.
    #[must_use]
    pub fn base(self) -> &'static str {
        match self {
            Self::Kubernetes => "ca",
            Self::Etcd => "etcd/ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }

    /// Returns the subject of its certificate.
    #[must_use]
    pub fn common_name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd-ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }
}

/// The content of a certificate other than a CA's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The subject's common name: a client's user name.
    pub common_name: String,
    /// The subject's organization: a client's group.
    pub organization: Option<String>,
    /// The names for which it is valid.
    pub names: Vec<Name>,
    /// Whether a server uses it.
    pub server: bool,
    /// Whether a client uses it.
    pub client: bool,
}

impl Leaf {
    /// Describes a client certificate.
    #[must_use]
    pub fn client(common_name: &str, organization: Option<&str>) -> Self {
        Self {
            common_name: common_name.to_owned(),
            organization: organization.map(str::to_owned),
            names: Vec::new(),
            server: false,
            client: true,
        }
    }

    fn server(common_name: &str, names: Vec<Name>, client: bool) -> Self {
        Self { names, server: true, client, ..Self::client(common_name, None) }
    }
}

/// A certificate in the PKI directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file name in the PKI directory, without `.crt` and `.key`.
    pub base: &'static str,
    /// The CA that signs it.
    pub ca: Ca,
    /// Its content.
    pub leaf: Leaf,
}

/// The certificates in the PKI directory of a master, without the CAs: the name in `kubeadm certs check-expiration`, and the
/// file name without `.crt` and `.key`.
pub const NAMES: [(&str, &str); 7] = [
    ("apiserver", "apiserver"),
    ("apiserver-etcd-client", "apiserver-etcd-client"),
    ("apiserver-kubelet-client", "apiserver-kubelet-client"),
    ("etcd-healthcheck-client", "etcd/healthcheck-client"),
    ("etcd-peer", "etcd/peer"),
    ("etcd-server", "etcd/server"),
    ("front-proxy-client", "front-proxy-client"),
];

/// Returns the content of each of [`NAMES`], with its CA.
#[must_use]
pub fn entries(cluster: &Cluster, node: &Node) -> Vec<Entry> {
    let entry = |base, ca, leaf| Entry { base, ca, leaf };
    let etcd = || Leaf::server(&node.name, names::etcd(node), true);
    let client = Leaf::client;
    vec![
        entry("apiserver", Ca::Kubernetes, Leaf::server("kube-apiserver", names::api_server(cluster, node), false)),
        entry("apiserver-kubelet-client", Ca::Kubernetes, client("kube-apiserver-kubelet-client", None)),
        entry("front-proxy-client", Ca::FrontProxy, client("front-proxy-client", None)),
        entry("etcd/server", Ca::Etcd, etcd()),
        entry("etcd/peer", Ca::Etcd, etcd()),
        entry("etcd/healthcheck-client", Ca::Etcd, client("kube-etcd-healthcheck-client", None)),
        entry("apiserver-etcd-client", Ca::Etcd, client("kube-apiserver-etcd-client", None)),
    ]
}

/// Describes the client certificate of a kubelet.
#[must_use]
pub fn kubelet_client(node: &Node) -> Leaf {
    node_client(&node.name)
}

/// Describes the same, by the node's name.
#[must_use]
pub fn node_client(name: &str) -> Leaf {
    Leaf::client(&format!("system:node:{name}"), Some(NODES))
}

/// Describes the serving certificate of a master's kubelet. By default, the kubelet generates a self-signed one at its start, with
/// two RSA keys.
#[must_use]
pub fn kubelet_server(node: &Node) -> Leaf {
    let user = kubelet_client(node);
    Leaf { organization: user.organization, ..Leaf::server(&user.common_name, names::kubelet(node), false) }
}
