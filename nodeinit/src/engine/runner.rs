//! Runs a plan: each step as soon as those that it needs have ended.

use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::Record,
        report::{Event, rounded},
        step::{Plan, State, Step},
    },
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use nodeinit_base::critical_path::Bar;
use std::{collections::BTreeSet, time::Duration};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The times of all steps that ended.
    pub bars: Vec<Bar<String>>,
    /// The steps that changed something.
    pub changed: Vec<String>,
    /// The first failure on this machine, with its step's name.
    pub failure: Option<(String, StepError)>,
    /// The failures on other machines, with their steps' names; each was told when it happened.
    pub elsewhere: Vec<(String, StepError)>,
}

struct Ended {
    bar: Bar<String>,
    is_elsewhere: bool,
    result: Result<bool, StepError>,
}

/// Runs all steps of a plan, independent ones at once. At the first failure no further step begins and those that wait
/// are dropped; a file being written is still written whole. The failure of a step elsewhere stops nothing, and counts as the
/// step's end for those that need it.
pub async fn run(plan: &Plan, cx: &Context) -> Outcome {
    let mut waiting: Vec<&dyn Step> = plan.iter().map(AsRef::as_ref).collect();
    let mut running = FuturesUnordered::new();
    let mut redraw = tokio::time::interval(Duration::from_millis(200));
    let mut done = BTreeSet::new();
    let mut outcome = Outcome { bars: Vec::new(), changed: Vec::new(), failure: None, elsewhere: Vec::new() };
    loop {
        let (ready, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|step| step.needs().iter().all(|need| done.contains(need)));
        waiting = rest;
        for step in ready {
            running.push(one(step, cx));
        }
        let ended = tokio::select! {
            ended = running.next() => ended,
            _ = redraw.tick() => {
                cx.report.tick();
                continue;
            }
        };
        let Some(ended) = ended else { break };
        let name = ended.bar.name.clone();
        match ended.result {
            Ok(changed) => {
                done.insert(name.clone());
                if changed {
                    outcome.changed.push(name);
                }
                outcome.bars.push(ended.bar);
            }
            Err(error) if ended.is_elsewhere => {
                cx.report.failed(&name, &error);
                done.insert(name.clone());
                outcome.elsewhere.push((name, error));
            }
            Err(error) => {
                outcome.failure = Some((name, error));
                break;
            }
        }
    }
    drop(running);
    if let (None, Some(stuck)) = (&outcome.failure, waiting.first()) {
        let what = format!("needs {} which no step of this plan is", stuck.needs().join(", "));
        outcome.failure = Some((stuck.name(), StepError::new(what).exit(Exit::Defect)));
    }
    outcome
}

async fn one(step: &dyn Step, cx: &Context) -> Ended {
    let start = cx.report.elapsed();
    let result = self::step(step, cx).await;
    let bar = Bar { name: step.name(), needs: step.needs(), start, end: cx.report.elapsed() };
    Ended { bar, is_elsewhere: step.is_elsewhere(), result }
}

/// Runs one step: looks, and applies where something is needed. Returns whether it changed anything.
///
/// # Errors
/// The step's own.
pub async fn step(step: &dyn Step, cx: &Context) -> Result<bool, StepError> {
    let start = cx.report.elapsed();
    let name = step.name();
    let changed = match step.check(cx).await? {
        State::Done => false,
        State::Needed(_) => {
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

/// What a plan would do: only checks, in order.
///
/// # Errors
/// The first check that failed, with its step's name.
pub async fn look(plan: &Plan, cx: &Context) -> Result<Vec<(String, Vec<String>)>, (String, StepError)> {
    let mut pending = Vec::new();
    for step in plan {
        match step.check(cx).await {
            Ok(State::Done) => {}
            Ok(State::Needed(changes)) => pending.push((step.name(), changes)),
            Err(error) => return Err((step.name(), error)),
        }
    }
    Ok(pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;
    use async_trait::async_trait;
    use std::{cell::RefCell, rc::Rc};

    type Log = Rc<RefCell<Vec<String>>>;

    struct Fake {
        name: &'static str,
        needs: &'static [&'static str],
        done: bool,
        fails: bool,
        elsewhere: bool,
        log: Log,
    }

    #[async_trait(?Send)]
    impl Step for Fake {
        fn name(&self) -> String {
            self.name.into()
        }

        fn needs(&self) -> Vec<String> {
            self.needs.iter().map(ToString::to_string).collect()
        }

        fn title(&self) -> String {
            String::new()
        }

        fn is_elsewhere(&self) -> bool {
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

    fn fake(log: &Log, name: &'static str, needs: &'static [&'static str]) -> Fake {
        Fake { name, needs, done: false, fails: false, elsewhere: false, log: log.clone() }
    }

    #[tokio::test]
    async fn steps_run_when_their_needs_have_ended() {
        let (_dir, cx) = context();
        let log = Log::default();
        let plan: Plan = vec![
            Box::new(fake(&log, "c", &["a", "b"])),
            Box::new(fake(&log, "a", &[])),
            Box::new(Fake { done: true, ..fake(&log, "b", &["a"]) }),
        ];
        let outcome = run(&plan, &cx).await;
        assert!(outcome.failure.is_none());
        assert_eq!(*log.borrow(), ["a", "c"], "b was done already");
        assert_eq!(outcome.changed, ["a", "c"]);
        assert!(cx.journal.state().ended.contains("c"));
    }

    #[tokio::test]
    async fn after_a_failure_nothing_further_begins() {
        let (_dir, cx) = context();
        let log = Log::default();
        let plan: Plan =
            vec![Box::new(Fake { fails: true, ..fake(&log, "a", &[]) }), Box::new(fake(&log, "b", &["a"]))];
        let outcome = run(&plan, &cx).await;
        assert_eq!(outcome.failure.unwrap().0, "a");
        assert_eq!(*log.borrow(), ["a"]);
    }

    #[tokio::test]
    async fn a_failure_elsewhere_stops_nothing() {
        let (_dir, cx) = context();
        let log = Log::default();
        let far = Fake { fails: true, elsewhere: true, ..fake(&log, "a", &[]) };
        let outcome = run(&vec![Box::new(far), Box::new(fake(&log, "b", &["a"]))], &cx).await;
        assert!(outcome.failure.is_none());
        assert_eq!(outcome.elsewhere[0].0, "a");
        assert_eq!(*log.borrow(), ["a", "b"]);
        assert_eq!(outcome.changed, ["b"]);
    }

    #[tokio::test]
    async fn a_need_that_no_step_fills_is_a_defect() {
        let (_dir, cx) = context();
        let plan: Plan = vec![Box::new(fake(&Log::default(), "a", &["nothing"]))];
        let (step, error) = run(&plan, &cx).await.failure.unwrap();
        assert_eq!((step.as_str(), error.exit), ("a", Exit::Defect));
    }
}
