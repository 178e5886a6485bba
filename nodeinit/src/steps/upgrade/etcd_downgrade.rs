//! Lets etcd's members return to the former minor version, one at a time.
//!
//! Source: etcd, "Downgrade etcd from 3.6 to 3.5"; `server/etcdserver/version/downgrade.go`.

use super::check::numbers;
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    steps::etcd::{View, health::quorate},
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use std::ops::ControlFlow;

/// Step `etcd-downgrade`: in a rollback, each member can read what the others write once it runs the former version. In an upgrade, no
/// interrupted rollback prevents etcd's new version.
pub struct EtcdDowngrade;

/// Returns the major and the minor number.
fn minor(version: &str) -> (u64, u64) {
    match numbers(version)[..] {
        [major, minor, ..] => (major, minor),
        _ => (0, 0),
    }
}

/// Whether a member runs this minor version or an older one, so that the cluster and everybody's data have it, too.
fn one_runs(view: &View, wanted: &str) -> bool {
    view.answers.values().flatten().any(|status| minor(&status.version) <= minor(wanted))
}

/// Returns the members of which it is not known that members of this minor version can read their data.
fn unreadable<'a>(view: &'a View, wanted: &str) -> Vec<&'a str> {
    let is_readable = |id: &u64| match view.answers.get(id) {
        Some(Ok(status)) => ((0, 1)..=minor(wanted)).contains(&minor(&status.storage_version)),
        _ => false,
    };
    view.members.members.iter().filter(|member| !is_readable(&member.id)).map(|member| member.shown()).collect()
}

/// Whether the data is readable, and stays so: etcd raises its version some seconds after all members run a newer one.
fn is_prepared(view: &View, wanted: &str) -> bool {
    is_downgrading(view) && unreadable(view, wanted).is_empty()
}

fn is_downgrading(view: &View) -> bool {
    view.answers.values().flatten().any(|status| status.downgrading)
}

#[async_trait(?Send)]
impl Step for EtcdDowngrade {
    fn id(&self) -> StepId {
        StepId::EtcdDowngrade
    }

    fn title(&self) -> String {
        "prepare etcd's data for the former version".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let (view, wanted) = (quorate(cx).await?, &cx.cluster.release.etcd);
        Ok(match cx.rollout.back {
            true if !one_runs(&view, wanted) && !is_prepared(&view, wanted) => {
                let (major, minor) = minor(wanted);
                State::needed(format!("downgrade etcd's data to {major}.{minor} on all masters"))
            }
            false if is_downgrading(&view) => State::needed("cancel the downgrade of etcd"),
            _ => State::Done,
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let refused = |e| StepError::caused("etcd refuses", e).exit(Exit::TryAgain);
        if !cx.rollout.back {
            let cancelled = quorate(cx).await?.asked.cancel_downgrade().await;
            // etcd ends it itself, too.
            return if is_downgrading(&quorate(cx).await?) { cancelled.map_err(refused) } else { Ok(()) };
        }
        let wanted = &cx.cluster.release.etcd;
        let (major, minor) = minor(wanted);
        // etcd refuses for the few seconds until the cluster has the version of its members.
        let look = async || match quorate(cx).await {
            Ok(view) if is_prepared(&view, wanted) => ControlFlow::Break(()),
            Ok(view) if is_downgrading(&view) => {
                ControlFlow::Continue(format!("not on {}", unreadable(&view, wanted).join(", ")))
            }
            Ok(view) => match view.asked.enable_downgrade(&format!("{major}.{minor}.0")).await {
                Ok(()) => ControlFlow::Continue("etcd has begun".to_owned()),
                Err(e) => ControlFlow::Continue(e.to_string()),
            },
            Err(e) => ControlFlow::Continue(e.to_string()),
        };
        Ok(Wait::new(format!("data of etcd {major}.{minor} on all masters"), cx.cluster.timeouts.etcd)
            .until(look)
            .await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_versions_are_compared_by_their_numbers() {
        assert_eq!(minor("3.6.11-0"), (3, 6));
        assert_eq!(minor("3.6"), (3, 6));
        assert!(minor("3.10.0") > minor("3.9.1"));
        assert_eq!(minor(""), (0, 0), "a member that does not say it");
    }
}
