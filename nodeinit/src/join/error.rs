//! Why a worker could not join, and the fix.

use crate::{engine::error::Exit, pki::PkiError};
use nodeinit_config::cluster::Endpoint;
use std::time::Duration;

/// Why a worker did not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The configuration names neither a CA nor a pin.
    #[error("no trusted CA: set join.caCertificate or join.caPins")]
    NoTrust,
    /// The CA cannot be used.
    #[error("join.caCertificate: {0}")]
    Ca(PkiError),
    /// The CA does not match the pin.
    #[error("join.caCertificate has the pin {found}, but join.caPins has {wanted}; no connection was made")]
    Pin {
        /// The pin of the CA.
        found: String,
        /// The expected pins.
        wanted: String,
    },
    /// Another machine has the node of this name.
    #[error(
        "the cluster already has a node {node}, which is another machine (its machine-id is {theirs}, this machine's is {ours})"
    )]
    Taken {
        /// The name.
        node: String,
        /// The other machine's id and UUID.
        theirs: String,
        /// This machine's.
        ours: String,
    },
    /// The request was denied or failed.
    #[error("the request {request} for the kubelet's certificate was {verdict}: {message}")]
    Refused {
        /// The CertificateSigningRequest.
        request: String,
        /// `denied` or `failed`.
        verdict: &'static str,
        /// Reason and message of the API.
        message: String,
    },
    /// The signed certificate cannot be used.
    #[error("the certificate that the cluster signed cannot be used: {0}")]
    Certificate(String),
    /// This machine cannot create a request.
    #[error("cannot create a certificate request: {0}")]
    Request(PkiError),
    /// The deadline passed.
    #[error("timed out after {} s: {node} could not join; last state: {}", .limit.as_secs(), list(.obstacles))]
    Late {
        /// The node.
        node: String,
        /// The time limit.
        limit: Duration,
        /// The obstacle at each endpoint.
        obstacles: Vec<(Endpoint, Obstacle)>,
    },
}

/// An obstacle that may be temporary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// No connection.
    #[error("{0}")]
    Unreachable(String),
    /// Another program listens there.
    #[error("the program that listens there does not speak TLS like an API server ({0})")]
    NotTls(String),
    /// The API server, or a man in the middle, presents a certificate of another CA.
    #[error("it presents a certificate signed by {0:?}, which is not this cluster's CA")]
    Untrusted(String),
    /// The CA is right, but the certificate is not.
    #[error("its certificate is not valid: {0}")]
    BadCertificate(String),
    /// It speaks TLS, but not like the API.
    #[error("the server there is not a Kubernetes API server ({0})")]
    NotApi(String),
    /// 401.
    #[error("it does not know this machine's token, or the token has expired")]
    Token,
    /// 403.
    #[error("the token lacks rights that a worker needs: {0}")]
    Forbidden(String),
    /// 429, 5xx.
    #[error("{0}")]
    Busy(String),
    /// The request is not signed.
    #[error("the request {0} is not signed yet")]
    Unsigned(String),
    /// The server accepted the connection, but did not answer.
    #[error("no answer")]
    Silent,
}

impl Obstacle {
    fn remedy(&self) -> &'static str {
        match self {
            Self::Unreachable(_) | Self::Silent => {
                "check that the API server runs and that this machine can reach it: firewall, route, DNS, controlPlane.endpoint"
            }
            Self::NotTls(_) | Self::NotApi(_) => {
                "fix controlPlane.endpoint (or join.endpoints): it must be the API server's own port, or a load balancer that \
                 forwards TCP"
            }
            Self::Untrusted(_) => {
                "this is another cluster or a man in the middle: check where controlPlane.endpoint leads, and compare \
                 join.caCertificate with /etc/kubernetes/pki/ca.crt of a master"
            }
            Self::BadCertificate(_) => {
                "add the endpoint's name to controlPlane.certSANs and run `nodeinit up` on the masters; or synchronize this machine's clock"
            }
            Self::Token => "create a new one: `nodeinit token create --worker NAME` on the first master",
            Self::Forbidden(_) => "run `nodeinit up` on the first master, which binds the tokens' group to its roles",
            Self::Busy(_) => "check that the API server and etcd are healthy: `nodeinit status` on a master",
            Self::Unsigned(_) => {
                "see `kubectl get csr` on a master: if the request is pending, check nodeinit's agent (`systemctl status nodeinit-agent` on a master); if it is approved, check that a kube-controller-manager has the CA's key"
            }
        }
    }

    /// Returns how far the worker came: the larger, the further.
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
    /// Returns the exit code of the process.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::NoTrust | Self::Ca(_) | Self::Pin { .. } => Exit::BadConfig,
            Self::Taken { .. } | Self::Refused { .. } | Self::Certificate(_) | Self::Request(_) => Exit::Failed,
            Self::Late { .. } => Exit::TryAgain,
        }
    }

    /// Returns the fix.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoTrust => "copy join.caCertificate or join.caPins from a master: `nodeinit token create --worker NAME --output json`".into(),
            Self::Ca(_) => "set join.caCertificate to the content of /etc/kubernetes/pki/ca.crt of a master".into(),
            Self::Pin { .. } => "one of the two belongs to another cluster: copy both from a master".into(),
            Self::Taken { node, .. } => {
                format!("rename this machine; or, if the other machine is gone for good: `kubectl delete node {node}`")
            }
            Self::Refused { request, .. } => {
                format!(
                    "fix the cause that the message names; then `kubectl delete csr {request}` and run `nodeinit up` again"
                )
            }
            Self::Certificate(_) => {
                "check the clocks, and the flags cluster-signing-* of the controller manager".into()
            }
            Self::Request(_) => "check that the machine has a source of random numbers".into(),
            Self::Late { obstacles, .. } => {
                let nearest = obstacles.iter().map(|(_, obstacle)| obstacle).max_by_key(|obstacle| obstacle.rank());
                nearest.map_or("set controlPlane.endpoint", Obstacle::remedy).to_owned()
            }
        }
    }

    /// Returns the obstacle at each endpoint.
    pub(super) fn obstacles(&self) -> String {
        match self {
            Self::Late { obstacles, .. } => list(obstacles),
            other => other.to_string(),
        }
    }

    /// Whether no endpoint accepted a connection.
    pub(super) fn is_unreachable(&self) -> bool {
        let Self::Late { obstacles, .. } = self else { return false };
        obstacles.iter().all(|(_, obstacle)| matches!(obstacle, Obstacle::Unreachable(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_with_the_most_progress_decides_the_hint() {
        let at = |host: &str| Endpoint { host: host.into(), port: 6443 };
        let obstacles = vec![(at("a"), Obstacle::Token), (at("b"), Obstacle::Unreachable("connection refused".into()))];
        let late = JoinError::Late { node: "w1".into(), limit: Duration::from_secs(9), obstacles };
        assert!(late.to_string().contains("a:6443: it does not know this machine's token"), "{late}");
        assert!(late.to_string().ends_with("; b:6443: connection refused"), "{late}");
        assert!(late.remedy().starts_with("create a new one"));
        assert!(!late.is_unreachable());
        assert_eq!(late.exit(), Exit::TryAgain);
    }
}
