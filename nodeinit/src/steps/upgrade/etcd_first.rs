//! Brings etcd to the version that every member must run before the upgrade to a release.
//!
//! Source: etcd, "Upgrade etcd from 3.6 to 3.7": all members must run 3.6.11 or newer.

use super::{
    check::numbers,
    replace::{Failure, image, restore, stop},
    rerun,
};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    steps::{
        etcd::{Turn, health::quorate},
        former,
        images::{self, Image},
        static_pods::{self, restart},
    },
};
use async_trait::async_trait;
use nodeinit_config::{
    Cluster, Component,
    cluster::{KubernetesImage, Role},
};
use std::sync::Arc;

/// Returns the context with that version of etcd; `None` if the release needs none.
fn before(cx: &Context) -> Option<Context> {
    let cluster = cx.cluster.before_upgrade()?;
    Some(Context { cluster: Arc::new(cluster), ..cx.clone() })
}

/// Returns the step that imports the image; `None` if the release needs none.
#[must_use]
pub fn image_step(cluster: &Cluster) -> Option<Image> {
    let before = cluster.before_upgrade()?;
    let etcd = before.image(KubernetesImage::Etcd);
    images::steps(&before, Role::Master).into_iter().find(|step| step.image() == etcd).map(Image::earlier)
}

/// Whether a master's member of etcd runs an older version than the release needs.
///
/// # Errors
/// If etcd has no quorum.
pub(super) async fn is_needed(cx: &Context, master: &str) -> Result<bool, StepError> {
    let Some(before) = before(cx) else { return Ok(false) };
    let view = quorate(cx).await?;
    let member = view.voters().find(|member| member.shown() == master);
    let status = member.and_then(|member| view.answers.get(&member.id)?.as_ref().ok());
    Ok(status.is_none_or(|status| numbers(&status.version) < numbers(&before.cluster.release.etcd)))
}

/// Step `etcd-first`: this machine's member of etcd runs at least that version.
pub struct EtcdFirst;

#[async_trait(?Send)]
impl Step for EtcdFirst {
    fn id(&self) -> StepId {
        StepId::EtcdFirst
    }

    fn title(&self) -> String {
        "bring etcd to the version that the upgrade needs".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let Some(before) = before(cx) else { return Ok(State::Done) };
        let pod = static_pods::placed(&cx.files, Component::Etcd)?;
        let tag = image(&pod).rsplit_once(':').map_or("", |(_, tag)| tag);
        Ok(match numbers(tag) < numbers(&before.cluster.release.etcd) {
            true => State::needed(format!(
                "replace etcd: {} by {}",
                image(&pod),
                before.cluster.image(KubernetesImage::Etcd)
            )),
            false => State::Done,
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let Some(before) = before(cx) else { return Ok(()) };
        for component in Component::ALL {
            former::keep(cx, component.name(), vec![static_pods::manifest_path(component)]).await?;
        }
        let manifest = static_pods::manifest(&before, Component::Etcd)?;
        let mut turn = Turn::take(cx, &[Component::Etcd, Component::ApiServer]).await?;
        let replaced = async {
            let failed = |why| Failure(Component::Etcd.name(), why);
            stop(cx, &Component::ALL, Some(&mut turn)).await?;
            restart::start(cx, Component::Etcd, manifest).await.map_err(failed)?;
            former::forget(cx, Component::Etcd.name()).await.map_err(failed)
        };
        let replaced = replaced.await.map_err(|Failure(name, why)| format!("{name} on {}: {why}", cx.node.name));
        // The others do not change: they start again in either case.
        let restored = restore(cx, Some(&mut turn)).await;
        turn.end().await;
        let failed = |what: String| StepError::new(what).hint(rerun(cx));
        match (replaced, restored) {
            (Ok(()), Ok(())) => Ok(()),
            (Ok(()), Err(e)) => Err(failed(format!("the control plane does not work again: {e}"))),
            (Err(why), Ok(())) => Err(failed(format!("{why}; the former etcd runs again"))),
            (Err(why), Err(e)) => Err(failed(format!("{why}; the former etcd does not work either: {e}"))),
        }
    }
}
