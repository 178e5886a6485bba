//! The virtual address: a static pod on every master; one master at a time holds the address.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, net},
    render::{self, static_pod},
    steps::{
        cluster,
        static_pods::{self, hand_over},
    },
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use std::{net::IpAddr, path::Path, time::Duration};

/// The key under which a machine's first run records the address, which cannot change.
pub const RECORDED_AS: &str = "controlPlane.virtualAddress";

/// Limit for one call of `ip`, which takes milliseconds except under heavy load.
const REMOVAL_LIMIT: Duration = Duration::from_secs(60);

/// Step `manifest-kube-vip`: writes the pod's manifest, from which the kubelet starts it. The pod retries until this machine's API
/// server accepts it.
pub struct PlaceKubeVip;

fn manifest(cx: &Context) -> Result<NewFile, StepError> {
    let pod = static_pod::kube_vip(&cx.renderer())?;
    Ok(NewFile::private(Path::new(render::paths::STATIC_PODS).join(pod.file_name), pod.text))
}

#[async_trait(?Send)]
impl Step for PlaceKubeVip {
    fn id(&self) -> StepId {
        StepId::KubeVipManifest
    }

    fn title(&self) -> String {
        "place the static pod kube-vip".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let wanted = manifest(cx)?;
        Ok(match static_pods::keeps(cx, &wanted.path) || hand_over::is_under_way(cx) {
            true => State::Done,
            false => State::of(cx.differing(&[wanted])?),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.place(vec![manifest(cx)?]).await.map(drop)
    }
}

/// Step `virtual-address`: waits until the API answers at this address. Workers, other masters and the pod network use it.
pub struct Answers(pub IpAddr);

#[async_trait(?Send)]
impl Step for Answers {
    fn id(&self) -> StepId {
        StepId::VirtualAddress
    }

    fn title(&self) -> String {
        format!("wait for the API at {}", self.0)
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(if cluster::ready_at(cx, self.0).await.is_break() { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let wait = Wait::new(format!("the API at the virtual address {}", self.0), cx.cluster.timeouts.control_plane);
        let logs = format!("/var/log/pods/kube-system_kube-vip-{}_*", cx.node.name);
        let hint =
            format!("see {logs}, and check whether another machine has the address; then run the same command again");
        wait.until(async || cluster::ready_at(cx, self.0).await).await.map_err(|late| StepError::from(late).hint(hint))
    }
}

/// Returns the virtual address and the interface that has it: a killed holder leaves it there.
pub(super) fn held(cx: &Context) -> Result<Option<(IpAddr, String)>, StepError> {
    let fixed = cx.journal.state().fixed.unwrap_or_default();
    let Some(address) = fixed.get(RECORDED_AS).and_then(|text| text.parse().ok()) else { return Ok(None) };
    let on = net::interface_of(address).map_err(|e| StepError::caused("cannot list the machine's addresses", e))?;
    Ok(on.map(|interface| (address, interface)))
}

/// Removes the address from this machine.
pub(super) async fn release(cx: &Context) -> Result<(), StepError> {
    if let Some((address, on)) = held(cx)? {
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        cx.commands
            .run(&["ip", "address", "delete", &format!("{address}/{prefix}"), "dev", &on], REMOVAL_LIMIT)
            .await?;
    }
    Ok(())
}
