//! A machine in a directory, for tests.

use crate::{
    context::Context,
    engine::{
        journal::Journal,
        report::{Report, Style},
        step::{State, Step},
    },
    host::{clock::Clock, commands::Commands, files::Files},
    render::testing::Fixture,
};
use std::{path::Path, sync::Arc};

/// The machine `m1` whose root is `dir`.
pub(in crate::steps) fn context(dir: &Path) -> Context {
    let fixture = Fixture::new();
    let files = Files::under(dir);
    Context {
        cluster: Arc::new(fixture.cluster),
        node: Arc::new(fixture.node),
        journal: Arc::new(Journal::open(&files).unwrap()),
        files,
        commands: Commands,
        clock: Clock::system(),
        report: Report::stdout(Style::Silent),
        facts: Arc::new(fixture.facts),
        manifests: Arc::new(fixture.manifests),
        api: Arc::default(),
    }
}

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
