//! Runs one step, for tests.

use crate::{
    context::Context,
    engine::step::{State, Step},
};

/// Runs a step as the runner does: its check, and where that asks for it, its application and another check.
/// Returns the sentences of the plan.
pub(in crate::steps) async fn run(step: &dyn Step, cx: &Context) -> Result<Vec<String>, String> {
    let told = |e: crate::engine::error::StepError| {
        let advice = e.advice().unwrap_or_default();
        format!("{e}: {} | {advice}", e.causes().join(": "))
    };
    match step.check(cx).await.map_err(told)? {
        State::Done => Ok(Vec::new()),
        State::Needed(changes) => {
            step.apply(cx).await.map_err(told)?;
            assert_eq!(step.check(cx).await.map_err(told)?, State::Done, "done means done");
            Ok(changes)
        }
    }
}
