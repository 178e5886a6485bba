//! Alternative names of certificates.

use nodeinit_config::{Cluster, cluster::Node};
use std::{fmt, net::IpAddr};

/// One alternative name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A DNS name; its first label may be `*`.
    Dns(String),
    /// An address.
    Address(IpAddr),
}

impl Name {
    /// Parses an address if the text is one, else a DNS name.
    #[must_use]
    pub fn of(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Dns(text.to_owned()), Self::Address)
    }

    /// Whether a certificate with this name is valid for `wanted`: equal except for case, or a wildcard for its first label.
    #[must_use]
    pub fn covers(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Address(own), Self::Address(wanted)) => own == wanted,
            (Self::Dns(own), Self::Dns(wanted)) => {
                let below = own.strip_prefix("*.").zip(wanted.split_once('.').map(|(_, rest)| rest));
                own.eq_ignore_ascii_case(wanted) || below.is_some_and(|(own, rest)| own.eq_ignore_ascii_case(rest))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// Returns the names of the API server's certificate. Source: kubeadm, `pkiutil.GetAPIServerAltNames`.
#[must_use]
pub fn api_server(cluster: &Cluster, node: &Node) -> Vec<Name> {
    let service = "kubernetes.default.svc";
    let mut names = [&node.name, "kubernetes", "kubernetes.default", service].map(Name::of).to_vec();
    names.push(Name::Dns(format!("{service}.{}", cluster.network.dns_domain)));
    names.push(Name::Address(cluster.network.api_service()));
    names.push(Name::Address(node.address));
    names.push(Name::of(&cluster.endpoint(node.address).host));
    names.extend(cluster.control_plane.virtual_address.map(Name::Address));
    names.extend(cluster.control_plane.cert_sans.iter().map(|name| Name::of(name)));
    sorted(names)
}

/// Returns the names of etcd's certificates, for clients and for peers. Source: kubeadm, `pkiutil.GetEtcdAltNames`.
#[must_use]
pub fn etcd(node: &Node) -> Vec<Name> {
    sorted([&node.name, "localhost", &node.address.to_string(), "127.0.0.1", "::1"].map(Name::of).to_vec())
}

/// Returns the names of the kubelet's serving certificate. Source: `cmd/kubelet/app/server.go`, `InitializeTLS`.
#[must_use]
pub fn kubelet(node: &Node) -> Vec<Name> {
    sorted(vec![Name::of(&node.name), Name::Address(node.address)])
}

fn sorted(mut names: Vec<Name>) -> Vec<Name> {
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_covers_one_label() {
        let covers = |own: &str, wanted: &str| Name::of(own).covers(&Name::of(wanted));
        assert!(covers("api.example.org", "API.example.org"));
        assert!(covers("*.example.org", "api.example.org"));
        assert!(!covers("*.example.org", "a.api.example.org"));
        assert!(!covers("*.example.org", "example.org"));
        assert!(covers("::1", "0:0::1"));
        assert!(!covers("10.0.0.1", "10.0.0.11"));
    }
}
