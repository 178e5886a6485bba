//! Why a worker was not let in, and what to do about it.

use crate::{engine::error::Exit, pki::PkiError};
use nodeinit_config::cluster::Endpoint;
use std::time::Duration;

/// Why a worker did not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The configuration names nobody to trust.
    #[error("neither join.caCertificate nor join.caPins says which cluster to trust")]
    NoTrust,
    /// The CA cannot be used.
    #[error("join.caCertificate: {0}")]
    Ca(PkiError),
    /// The CA is another than the one that was pinned.
    #[error("join.caCertificate has the pin {found}, and join.caPins names {wanted}; nothing was connected to")]
    Pin {
        /// The CA's.
        found: String,
        /// What was expected.
        wanted: String,
    },
    /// Another machine is the node of this name.
    #[error(
        "the cluster has a node {node} already, and it is another machine (machine-id {theirs}, and this one has {ours})"
    )]
    Taken {
        /// The name.
        node: String,
        /// The other machine's id and UUID.
        theirs: String,
        /// This machine's.
        ours: String,
    },
    /// Somebody refused the request.
    #[error("the request {request} for the kubelet's certificate was {verdict}: {message}")]
    Refused {
        /// The CertificateSigningRequest.
        request: String,
        /// `denied` or `failed`.
        verdict: &'static str,
        /// Reason and message of the API.
        message: String,
    },
    /// What was signed is of no use.
    #[error("the certificate that the cluster signed is of no use: {0}")]
    Certificate(String),
    /// This machine cannot make a request.
    #[error("cannot make a request for a certificate: {0}")]
    Request(PkiError),
    /// The deadline passed.
    #[error("{node} was not let in within {} s; last seen: {}", .limit.as_secs(), list(.obstacles))]
    Late {
        /// The node.
        node: String,
        /// How long.
        limit: Duration,
        /// What stood in the way at each endpoint.
        obstacles: Vec<(Endpoint, Obstacle)>,
    },
}

/// What may pass by waiting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// No connection.
    #[error("{0}")]
    Unreachable(String),
    /// Something else listens there.
    #[error("what listens there does not speak TLS as an API server does ({0})")]
    NotTls(String),
    /// The API server, or somebody between, shows a certificate of another CA.
    #[error("it shows a certificate signed by {0:?}, which is not this cluster's CA")]
    Untrusted(String),
    /// The CA is right, the certificate is not.
    #[error("its certificate does not hold: {0}")]
    BadCertificate(String),
    /// It speaks TLS, but not like the API.
    #[error("the server there is not a Kubernetes API server ({0})")]
    NotApi(String),
    /// 401.
    #[error("it does not know this machine's token, or the token has expired")]
    Token,
    /// 403.
    #[error("the token is not allowed what a worker needs: {0}")]
    Forbidden(String),
    /// 429, 5xx.
    #[error("{0}")]
    Busy(String),
    /// Nobody signs.
    #[error("the request {0} is not signed yet")]
    Unsigned(String),
    /// The connection was made and then nothing came.
    #[error("no answer")]
    Silent,
}

impl Obstacle {
    fn remedy(&self) -> &'static str {
        match self {
            Self::Unreachable(_) | Self::Silent => {
                "see whether the API server runs and this machine can reach it: firewall, route, DNS, controlPlane.endpoint"
            }
            Self::NotTls(_) | Self::NotApi(_) => {
                "correct controlPlane.endpoint (or join.endpoints): it must be the API server's own port, or a load balancer that \
                 passes TCP on"
            }
            Self::Untrusted(_) => {
                "another cluster, or somebody between who reads along: see where controlPlane.endpoint leads, and compare \
                 join.caCertificate with /etc/kubernetes/pki/ca.crt of a master"
            }
            Self::BadCertificate(_) => {
                "add the endpoint's name to controlPlane.certSANs and run `nodeinit up` on the masters; or set this machine's clock"
            }
            Self::Token => "ask for a new one: `nodeinit token create --worker NAME` on the first master",
            Self::Forbidden(_) => "run `nodeinit up` on the first master: it binds the tokens' group to its roles",
            Self::Busy(_) => "see whether the API server and etcd are healthy: `nodeinit status` on a master",
            Self::Unsigned(_) => {
                "see `kubectl get csr` on a master: a pending request needs nodeinit's agent (`systemctl status nodeinit-agent` on a \
                 master), an approved one a kube-controller-manager that has the CA's key"
            }
        }
    }

    /// The larger, the nearer the worker came.
    fn rank(&self) -> u8 {
        match self {
            Self::Unreachable(_) | Self::Silent => 0,
            Self::NotTls(_) => 1,
            Self::NotApi(_) => 2,
            Self::Untrusted(_) => 3,
            Self::BadCertificate(_) => 4,
            Self::Busy(_) => 5,
            Self::Token => 6,
            Self::Forbidden(_) => 7,
            Self::Unsigned(_) => 8,
        }
    }
}

fn list(obstacles: &[(Endpoint, Obstacle)]) -> String {
    obstacles.iter().map(|(endpoint, what)| format!("{endpoint}: {what}")).collect::<Vec<_>>().join("; ")
}

impl JoinError {
    /// What it means for the process.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::NoTrust | Self::Ca(_) | Self::Pin { .. } => Exit::BadConfig,
            Self::Taken { .. } | Self::Refused { .. } | Self::Certificate(_) | Self::Request(_) => Exit::Failed,
            Self::Late { .. } => Exit::TryAgain,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoTrust => "take both from a master: `nodeinit token create --worker NAME --output json`".into(),
            Self::Ca(_) => "write the text of /etc/kubernetes/pki/ca.crt of a master there".into(),
            Self::Pin { .. } => "one of the two belongs to another cluster: take both from a master".into(),
            Self::Taken { node, .. } => format!(
                "give this machine another name; or, if that machine is gone for good: `kubectl delete node {node}`"
            ),
            Self::Refused { request, .. } => {
                format!(
                    "fix the cause that the message names; then `kubectl delete csr {request}` and run `nodeinit up` again"
                )
            }
            Self::Certificate(_) => "see the clocks, and the flags cluster-signing-* of the controller manager".into(),
            Self::Request(_) => "see whether the machine has a source of random numbers".into(),
            Self::Late { obstacles, .. } => {
                let nearest = obstacles.iter().map(|(_, obstacle)| obstacle).max_by_key(|obstacle| obstacle.rank());
                nearest.map_or("name an endpoint", Obstacle::remedy).to_owned()
            }
        }
    }

    /// The obstacle at each endpoint.
    pub(super) fn obstacles(&self) -> String {
        match self {
            Self::Late { obstacles, .. } => list(obstacles),
            other => other.to_string(),
        }
    }

    /// Whether no endpoint could be connected to.
    pub(super) fn is_unreachable(&self) -> bool {
        let Self::Late { obstacles, .. } = self else { return false };
        obstacles.iter().all(|(_, obstacle)| matches!(obstacle, Obstacle::Unreachable(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_that_came_nearest_gives_the_advice() {
        let at = |host: &str| Endpoint { host: host.into(), port: 6443 };
        let obstacles = vec![(at("a"), Obstacle::Token), (at("b"), Obstacle::Unreachable("connection refused".into()))];
        let late = JoinError::Late { node: "w1".into(), limit: Duration::from_secs(9), obstacles };
        assert!(late.to_string().contains("a:6443: it does not know this machine's token"), "{late}");
        assert!(late.to_string().ends_with("; b:6443: connection refused"), "{late}");
        assert!(late.remedy().starts_with("ask for a new one"));
        assert!(!late.is_unreachable());
        assert_eq!(late.exit(), Exit::TryAgain);
    }
}
