//! Runs a plan: starts each step when the steps that it depends on have ended.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        journal::Record,
        plan::{Plan, PlanNode},
        report::{Event, rounded},
        step::{State, Step},
    },
};
use futures_util::{
    Stream, StreamExt,
    stream::{self, FuturesUnordered},
};
use nodeinit_base::DETAIL;
use nodeinit_base::critical_path::Bar;
use std::{pin::pin, time::Duration};

/// How many checks run at a time when a plan is only looked at: those of other machines wait for their answers.
const CHECKS: usize = 16;

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The times of all steps that ended.
    pub bars: Vec<Bar<String>>,
    /// The steps that changed something.
    pub changed: Vec<String>,
    /// The first failure on this machine, with the name of its step.
    pub failure: Option<(String, StepError)>,
    /// The failures on other machines, with the names of their steps; each was reported when it happened.
    pub elsewhere: Vec<(String, StepError)>,
}

struct Ended {
    /// The step's position in the plan.
    position: usize,
    bar: Bar<String>,
    result: Result<bool, StepError>,
}

/// Runs all steps of a plan, independent ones in parallel. After the first failure, no further step starts, and the running ones
/// are cancelled; a file that is being written is still completed. A failed remote step stops nothing, and counts as ended for
/// its dependents.
pub async fn run(plan: &Plan, cx: &Context) -> Outcome {
    let mut missing: Vec<usize> = plan.nodes().iter().map(|node| node.after.len()).collect();
    let mut ready: Vec<usize> = (0..missing.len()).filter(|&position| missing[position] == 0).collect();
    let mut running = FuturesUnordered::new();
    let mut redraw = tokio::time::interval(Duration::from_millis(200));
    let mut outcome = Outcome { bars: Vec::new(), changed: Vec::new(), failure: None, elsewhere: Vec::new() };
    loop {
        running.extend(ready.drain(..).map(|position| one(plan, position, cx)));
        let ended = tokio::select! {
            ended = running.next() => ended,
            _ = redraw.tick() => {
                cx.report.tick();
                continue;
            }
        };
        let Some(Ended { position, bar, result }) = ended else { break };
        let name = bar.name.clone();
        match result {
            Ok(changed) => {
                if changed {
                    outcome.changed.push(name);
                }
                outcome.bars.push(bar);
            }
            Err(error) if plan.nodes()[position].step.is_remote() => {
                cx.report.failed(&name, &error);
                outcome.elsewhere.push((name, error));
            }
            Err(error) => {
                outcome.failure = Some((name, error));
                break;
            }
        }
        for &dependent in plan.dependents(position) {
            missing[dependent] -= 1;
            if missing[dependent] == 0 {
                ready.push(dependent);
            }
        }
    }
    outcome
}

async fn one(plan: &Plan, position: usize, cx: &Context) -> Ended {
    let node = &plan.nodes()[position];
    let start = cx.report.elapsed();
    let result = self::step(node.step.as_ref(), cx).await;
    let needs = node.after.iter().map(ToString::to_string).collect();
    let bar = Bar { name: node.id.to_string(), needs, start, end: cx.report.elapsed() };
    Ended { position, bar, result }
}

/// Runs one step: checks, and applies if a change is needed. Returns whether it changed anything.
///
/// # Errors
/// If the step fails.
pub async fn step(step: &dyn Step, cx: &Context) -> Result<bool, StepError> {
    let start = cx.report.elapsed();
    let name = step.name();
    let changed = match step.check(cx).await? {
        State::Done => {
            tracing::info!(target: DETAIL, "{name}: up to date");
            false
        }
        State::Needed(changes) => {
            tracing::info!(target: DETAIL, "{name}: {}", changes.join(", "));
            cx.report.tell(&Event::Started { step: name.clone(), title: step.title() });
            cx.journal.note(Record::Begin { step: name.clone() })?;
            crate::host::failpoint("step-begin", &name);
            step.apply(cx).await?;
            crate::host::failpoint("step-end", &name);
            let took = cx.report.elapsed().saturating_sub(start);
            cx.journal.note(Record::End { step: name.clone(), milliseconds: took.as_millis() as u64 })?;
            true
        }
    };
    let seconds = rounded(cx.report.elapsed().saturating_sub(start));
    cx.report.tell(&Event::Done { step: name, changed, seconds });
    Ok(changed)
}

/// Runs only the checks of a plan. Returns their results in the order of the plan.
pub fn checks<'a>(plan: &'a Plan, cx: &'a Context) -> impl Stream<Item = (&'a PlanNode, Result<State, StepError>)> {
    stream::iter(plan.nodes()).map(move |node| async move { (node, node.step.check(cx).await) }).buffered(CHECKS)
}

/// Returns what a plan would do.
///
/// # Errors
/// If a check fails; with the name of its step.
pub async fn look(plan: &Plan, cx: &Context) -> Result<Vec<(String, Vec<String>)>, (String, StepError)> {
    let mut pending = Vec::new();
    let mut checks = pin!(checks(plan, cx));
    while let Some((node, state)) = checks.next().await {
        match state {
            Ok(State::Done) => {}
            Ok(State::Needed(changes)) => pending.push((node.id.to_string(), changes)),
            Err(error) => return Err((node.id.to_string(), error)),
        }
    }
    Ok(pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        engine::{plan::PlanBuilder, step_id::StepId},
    };
    use async_trait::async_trait;
    use std::{cell::RefCell, rc::Rc};

    type Log = Rc<RefCell<Vec<String>>>;

    struct Fake {
        name: &'static str,
        done: bool,
        fails: bool,
        elsewhere: bool,
        log: Log,
    }

    #[async_trait(?Send)]
    impl Step for Fake {
        fn id(&self) -> StepId {
            StepId::Os(self.name)
        }

        fn title(&self) -> String {
            String::new()
        }

        fn is_remote(&self) -> bool {
            self.elsewhere
        }

        async fn check(&self, _: &Context) -> Result<State, StepError> {
            Ok(if self.done { State::Done } else { State::needed(self.name) })
        }

        async fn apply(&self, _: &Context) -> Result<(), StepError> {
            self.log.borrow_mut().push(self.name.into());
            if self.fails {
                return Err(StepError::new("no"));
            }
            tokio::task::yield_now().await;
            Ok(())
        }
    }

    fn fake(log: &Log, name: &'static str) -> Fake {
        Fake { name, done: false, fails: false, elsewhere: false, log: log.clone() }
    }

    fn plan<const N: usize>(steps: [(Fake, &[&'static str]); N]) -> Plan {
        let mut plan = PlanBuilder::default();
        steps.into_iter().for_each(|(fake, after)| plan.add(fake, after.iter().map(|name| StepId::Os(name))));
        plan.build().unwrap()
    }

    #[tokio::test]
    async fn steps_run_when_their_dependencies_have_ended() {
        let (_dir, cx) = context();
        let log = Log::default();
        let plan = plan([
            (fake(&log, "a"), &[]),
            (Fake { done: true, ..fake(&log, "b") }, &["a"]),
            (fake(&log, "c"), &["a", "b"]),
        ]);
        let outcome = run(&plan, &cx).await;
        assert!(outcome.failure.is_none());
        assert_eq!(*log.borrow(), ["a", "c"], "b was done already");
        assert_eq!(outcome.changed, ["a", "c"]);
        assert!(cx.journal.state().ended.contains("c"));
    }

    #[tokio::test]
    async fn no_step_starts_after_a_failure() {
        let (_dir, cx) = context();
        let log = Log::default();
        let plan = plan([(Fake { fails: true, ..fake(&log, "a") }, &[]), (fake(&log, "b"), &["a"])]);
        let outcome = run(&plan, &cx).await;
        assert_eq!(outcome.failure.unwrap().0, "a");
        assert_eq!(*log.borrow(), ["a"]);
    }

    #[tokio::test]
    async fn a_failure_on_another_machine_stops_nothing() {
        let (_dir, cx) = context();
        let log = Log::default();
        let far = Fake { fails: true, elsewhere: true, ..fake(&log, "a") };
        let outcome = run(&plan([(far, &[]), (fake(&log, "b"), &["a"])]), &cx).await;
        assert!(outcome.failure.is_none());
        assert_eq!(outcome.elsewhere[0].0, "a");
        assert_eq!(*log.borrow(), ["a", "b"]);
        assert_eq!(outcome.changed, ["b"]);
    }
}
