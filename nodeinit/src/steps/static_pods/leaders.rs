//! Lets the controllers of another master act as soon as this one's API server has stopped. Otherwise nothing acts for up to 15 s, until
//! the leases expire; and a controller that keeps its lease looks at the API again only after up to 30 s.
//!
//! Source: `k8s.io/client-go/tools/leaderelection` (`release`) and `tools/cache/reflector.go`.

use super::{containers, end};
use crate::{api::kube::ApiError, context::Context, engine::error::StepError, steps::cluster::client_at};
use futures_util::{StreamExt, stream::FuturesUnordered};
use nodeinit_config::Component::{ControllerManager, Scheduler};
use serde_json::{Value, json};
use std::{net::IpAddr, time::Duration};

/// For all requests: the leases expire anyway.
const LIMIT: Duration = Duration::from_secs(5);

/// Ends this master's controllers, and then the leases that they have, at the API server of another master. The kubelet starts the
/// controllers again if their manifests exist.
pub(super) async fn release(cx: &Context) {
    let others = cx.cluster.masters.iter().filter(|other| other.name != cx.node.name);
    let others: Vec<IpAddr> = others.filter_map(|other| other.address).collect();
    if others.is_empty() {
        return;
    }
    for component in [ControllerManager, Scheduler] {
        end(containers(component).await.unwrap_or_default()).await;
    }
    // One that is silent must not delay the others.
    let mut asked: FuturesUnordered<_> = others.into_iter().map(|address| release_at(cx, address)).collect();
    let release = async { while asked.next().await.is_some_and(|released| released.is_err()) {} };
    let _ = tokio::time::timeout(LIMIT, release).await;
}

async fn release_at(cx: &Context, address: IpAddr) -> Result<(), StepError> {
    let client = client_at(cx, address)?;
    let host = nix::unistd::gethostname().unwrap_or_default();
    for component in [ControllerManager, Scheduler] {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{}", component.name());
        let failed = |e: ApiError| StepError::caused(format!("cannot end the lease {}", component.name()), e);
        let lease: Option<Value> = client.find(&path).await.map_err(failed)?;
        if let Some(patch) = lease.and_then(|lease| released(&lease, &host.to_string_lossy())) {
            client.merge(&path, &patch).await.map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the change that ends a lease if a component on this host has it.
fn released(lease: &Value, host: &str) -> Option<Value> {
    let (holder, _) = lease["spec"]["holderIdentity"].as_str()?.rsplit_once('_')?;
    let version = &lease["metadata"]["resourceVersion"];
    (holder == host).then(|| json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": ""}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lease_of_a_controller_on_this_host_ends() {
        let lease = |holder: &str| json!({"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": holder}});
        let patch = json!({"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": ""}});
        assert_eq!(released(&lease("m1_0b5e"), "m1"), Some(patch));
        for other in ["m11_0b5e", "m2_0b5e", "", "m1"] {
            assert_eq!(released(&lease(other), "m1"), None, "{other}");
        }
    }
}
