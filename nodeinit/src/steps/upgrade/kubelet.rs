//! Replaces the kubelet, and returns to the former one if the new one does not become healthy.

use super::rerun;
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    steps::{
        artifacts, former,
        kubelet::{self, KubeletConfig, KubeletHealthy, KubeletService},
        node, worker_node,
    },
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use nodeinit_config::cluster::Role;
use std::{ops::ControlFlow, time::Duration};

/// What is kept of it is listed under this name.
pub(super) const NAME: &str = "kubelet";

/// Step `upgrade-kubelet`: the kubelet of the new version runs, and its node is Ready.
pub struct ReplaceKubelet;

/// Returns the steps that `up` runs for the kubelet, in order.
fn steps(cx: &Context) -> [Box<dyn Step>; 4] {
    let [binary, _] = artifacts::steps(&cx.cluster);
    [Box::new(KubeletConfig), Box::new(binary), Box::new(KubeletService), Box::new(KubeletHealthy)]
}

/// Returns why the node does not run the new version; `None` if it does.
async fn outdated(cx: &Context) -> Result<Option<String>, StepError> {
    let node = match cx.node.role {
        Role::Worker => worker_node::node(cx).await?,
        _ => node::node(cx).await?,
    };
    let Some(node) = node else { return Ok(Some("the node is not registered".to_owned())) };
    let (found, wanted) = (&node.status.node_info.kubelet_version, cx.cluster.version.to_string());
    Ok(match *found == wanted {
        true => node.not_ready(),
        false => Some(format!("its kubelet reports {found}, not {wanted}")),
    })
}

#[async_trait(?Send)]
impl Step for ReplaceKubelet {
    fn id(&self) -> StepId {
        StepId::ReplaceKubelet
    }

    fn title(&self) -> String {
        "replace the kubelet, and return to the former one if it does not become healthy".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(changes(cx).await?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        keep(cx).await?;
        let renewed = async {
            renew(cx).await?;
            is_ready(cx).await
        };
        match renewed.await {
            Ok(()) => former::forget(cx, NAME).await,
            Err(why) => Err(go_back(cx, why).await),
        }
    }
}

/// Returns what is to be done.
pub(super) async fn changes(cx: &Context) -> Result<Vec<String>, StepError> {
    let mut changes = Vec::new();
    for step in steps(cx) {
        if let State::Needed(needed) = step.check(cx).await? {
            changes.extend(needed);
        }
    }
    if changes.is_empty() {
        changes.extend(outdated(cx).await.unwrap_or_else(|e| Some(e.to_string())));
    }
    if changes.is_empty() && former::is_kept(&cx.files, NAME)? {
        changes.push("remove the former kubelet".to_owned());
    }
    Ok(changes)
}

/// Keeps the former kubelet and its files.
pub(super) async fn keep(cx: &Context) -> Result<(), StepError> {
    let mut paths = kubelet::paths(cx)?;
    paths.push(artifacts::kubelet_path(&cx.cluster));
    former::keep(cx, NAME, paths).await
}

/// Installs the new kubelet and starts it.
///
/// # Errors
/// If it does not become healthy.
pub(super) async fn renew(cx: &Context) -> Result<(), StepError> {
    for step in steps(cx) {
        if let State::Needed(_) = step.check(cx).await? {
            step.apply(cx).await?;
            crate::host::failpoint("kubelet", step.name());
        }
    }
    Ok(())
}

/// Waits until the node is Ready with the new version.
///
/// # Errors
/// At the deadline.
pub(super) async fn is_ready(cx: &Context) -> Result<(), StepError> {
    let wait =
        Wait::new(format!("node {} to be Ready with {}", cx.node.name, cx.cluster.version), cx.cluster.timeouts.node);
    let look = async || match outdated(cx).await {
        Ok(None) => ControlFlow::Break(()),
        Ok(Some(why)) => ControlFlow::Continue(why),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    Ok(wait.at_most_every(Duration::from_millis(250)).until(look).await?)
}

async fn go_back(cx: &Context, why: StepError) -> StepError {
    cx.report.note(&StepId::ReplaceKubelet.name(), format!("{why}; returning to the former kubelet"));
    let what = format!("the kubelet of {} does not work on {}: {why}", cx.cluster.version, cx.node.name);
    match restore(cx).await {
        Ok(()) => StepError::new(format!("{what}; the former kubelet runs again")).hint(rerun(cx)),
        Err(e) => StepError::new(format!("{what}; the former kubelet does not work either: {e}")).hint(format!(
            "see `journalctl -u kubelet` on {}; {}",
            cx.node.name,
            rerun(cx)
        )),
    }
}

/// Brings the former kubelet back, if one is kept.
///
/// # Errors
/// If it does not become healthy.
pub(super) async fn restore(cx: &Context) -> Result<(), StepError> {
    if former::restore(cx, NAME, false).await? {
        KubeletService.apply(cx).await?;
        KubeletHealthy.apply(cx).await?;
    }
    former::forget(cx, NAME).await
}
