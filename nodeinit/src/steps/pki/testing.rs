//! Test helpers: run one step, and create a machine with old certificates.

use super::Pki;
use crate::{
    context::{Context, testing::context},
    engine::step::{State, Step},
    host::clock::Clock,
    steps::kubeconfig::Kubeconfigs,
};
use std::time::Duration;

pub(in crate::steps) const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns a machine whose certificates were created so many days ago, and the current time.
pub(in crate::steps) async fn aged(days: u32) -> (tempfile::TempDir, Context) {
    let (dir, mut cx) = context();
    cx.clock = Clock::behind(days * DAY);
    run(&Pki, &cx).await.unwrap();
    run(&Kubeconfigs, &cx).await.unwrap();
    cx.clock = Clock::system();
    (dir, cx)
}

/// Runs a step as the runner does: `check`, and if a change is needed, `apply` and another `check`.
/// Returns the planned changes.
pub(in crate::steps) async fn run(step: &dyn Step, cx: &Context) -> Result<Vec<String>, String> {
    let message = |e: crate::engine::error::StepError| {
        let advice = e.advice().unwrap_or_default();
        format!("{e}: {} | {advice}", e.causes().join(": "))
    };
    match step.check(cx).await.map_err(message)? {
        State::Done => Ok(Vec::new()),
        State::Needed(changes) => {
            step.apply(cx).await.map_err(message)?;
            assert_eq!(step.check(cx).await.map_err(message)?, State::Done, "done means done");
            Ok(changes)
        }
    }
}
