//! Decides whether a new API server verifies kubelets.

use crate::{context::Context, render::kubeadm_config, steps::cluster};
use futures_util::{StreamExt, stream::FuturesUnordered};
use nodeinit_config::cluster::Role;
use std::time::Duration;

/// Limit for an API server to answer.
const LIMIT: Duration = Duration::from_secs(5);

/// The same for requests of the first master.
const FIRST_LIMIT: Duration = Duration::from_secs(1);

/// Whether the first API server of this machine verifies kubelets: if the others of its cluster do, or if there is no cluster yet.
/// Otherwise, `kubectl logs` could fail through this API server, because nothing has checked the kubelets' certificates.
pub(super) async fn from_the_start(cx: &Context) -> bool {
    // The first master of a new cluster must not wait for machines that are off; on other masters, a cluster exists.
    let limit = if cx.node.role == Role::FirstMaster { FIRST_LIMIT } else { LIMIT };
    let others = cx.cluster.masters.iter().filter(|master| master.name != cx.node.name);
    let mut answers: FuturesUnordered<_> = others
        .filter_map(|master| master.address)
        .map(|address| cluster::kubeadm_config_at(cx, address, limit))
        .collect();
    let mut known = None;
    while let (None, Some(answer)) = (&known, answers.next().await) {
        known = answer;
    }
    decide(known.as_deref(), cx.node.role)
}

/// Decides from `kubeadm-config`. A further master whose cluster does not answer starts without verification; a first one starts a cluster.
fn decide(known: Option<&str>, role: Role) -> bool {
    match known {
        Some(config) => config.is_empty() || kubeadm_config::verifies_kubelets(config),
        None => role == Role::FirstMaster,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_api_server_verifies_kubelets_as_the_others_do() {
        let with = "apiServer: {extraArgs: [{name: kubelet-certificate-authority, value: /etc/kubernetes/pki/ca.crt}]}";
        for role in [Role::FirstMaster, Role::Master] {
            assert!(decide(Some(with), role));
            assert!(decide(Some(""), role), "the cluster is being created");
            assert!(!decide(Some("apiServer: {extraArgs: [{name: profiling, value: \"false\"}]}"), role));
        }
        assert!(decide(None, Role::FirstMaster), "there is no other");
        assert!(!decide(None, Role::Master), "the step checks the kubelets later");
    }
}
