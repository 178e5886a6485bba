//! Runs a plan of this machine, and reports how it ended.

use super::load;
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::Record,
        plan::Plan,
        report::{Event, critical_path, rounded},
        runner::{self, Outcome},
        runs::{self, Header},
    },
    steps::{
        agent,
        lead::{self, Lead},
        upgrade::replace,
    },
};
use nix::sys::resource::{UsageWho, getrusage};
use std::time::SystemTime;
use tokio::signal::unix::{SignalKind, signal};

/// Records the start of a run of `command`.
pub(super) fn begin(cx: &Context, command: &str, accept_clock: bool) -> Result<(), StepError> {
    let time = cx.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let version = env!("CARGO_PKG_VERSION").into();
    cx.journal.note(Record::Run { command: command.into(), version, time })?;
    if accept_clock {
        cx.journal.note(Record::Clock { time })?;
    }
    let (machine, cluster) = (cx.node.name.clone(), cx.cluster.name.clone());
    if let Ok(recorder) = runs::begin(&cx.files, &Header { run: command.into(), time, machine, cluster }) {
        cx.report.record(recorder);
    }
    Ok(())
}

/// Runs the plan until it ends, or until Ctrl-C or SIGTERM; then starts again what it has stopped. `done` is what the last line says of a
/// run that changed something; `other` is the other machine that the command is about.
pub(super) async fn run(cx: &Context, command: &str, plan: &Plan, done: &str, other: Option<&str>) -> Exit {
    let exit = tokio::select! {
        outcome = runner::run(plan, cx) => tell(cx, command, outcome, done, other),
        never = agent::approve(cx) => match never {},
        name = stopped() => interrupted(cx, command, name),
    };
    if exit != Exit::Done {
        replace::start_again(cx, command).await;
    }
    exit
}

/// Does the work under the lease, if there is one. If the lease ends first, starts again what the work has stopped.
pub(super) async fn under<T>(
    cx: &Context,
    lead: Option<Lead>,
    command: &str,
    work: impl Future<Output = Result<T, StepError>>,
) -> Result<T, StepError> {
    let done = lead::under(lead, work).await;
    if done.is_err() {
        replace::start_again(cx, command).await;
    }
    done
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn stopped() -> &'static str {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    }
}

fn interrupted(cx: &Context, command: &str, name: &str) -> Exit {
    let what = format!("stopped by {name}; no file is half-written");
    let error = StepError::new(what).exit(Exit::TryAgain).hint("run the same command again, which resumes");
    cx.report.failed(command, &error);
    error.exit
}

fn tell(cx: &Context, command: &str, mut outcome: Outcome, done: &str, other: Option<&str>) -> Exit {
    outcome.failure = outcome.failure.map(|(step, error)| (step, load::located(cx, error)));
    if let Some((step, error)) = &outcome.failure {
        // The failure itself is reported below, even if the journal cannot be written.
        let _ = cx.journal.note(Record::Failed { step: step.clone(), error: error.to_string() });
    }
    if !outcome.changed.is_empty() {
        cx.report.tell(&summary(cx, &outcome));
    }
    if let Some((step, error)) = outcome.failure {
        cx.report.failed(&step, &error);
        return error.exit;
    }
    let seconds = rounded(cx.report.elapsed());
    if let Some(other) = other.filter(|_| !outcome.elsewhere.is_empty()) {
        let text =
            format!("{other} is not ready. Fix the errors above, then run the same command again ({seconds:.2} s)");
        cx.report.note(command, text);
        return Exit::Failed;
    }
    let name = &cx.node.name;
    let text = match outcome.changed.len() {
        _ if !outcome.elsewhere.is_empty() => {
            let failed: Vec<&str> = outcome.elsewhere.iter().map(|(step, _)| step.as_str()).collect();
            format!(
                "{name} is ready and the cluster {} works, but these failed: {}. Fix the errors above, then run the same \
                 command again ({seconds:.2} s)",
                cx.cluster.name,
                failed.join(", ")
            )
        }
        0 => format!("{name} is up to date; nothing to do ({seconds:.2} s)"),
        _ => format!("{done} ({seconds:.2} s)"),
    };
    cx.report.note(command, text);
    if outcome.elsewhere.is_empty() { Exit::Done } else { Exit::Partly }
}

fn summary(cx: &Context, outcome: &Outcome) -> Event {
    let usage = getrusage(UsageWho::RUSAGE_SELF);
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Event::Summary {
        seconds: rounded(cx.report.elapsed()),
        critical_path: critical_path(&outcome.bars),
        cpu_seconds: usage.as_ref().map_or(0.0, |u| seconds(u.user_time()) + seconds(u.system_time())),
        // The kernel reports KiB.
        peak_memory_bytes: usage.as_ref().map_or(0, |u| u.max_rss() as u64 * 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context_of;

    #[test]
    fn a_command_about_one_machine_fails_with_it() {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (_dir, cx) = context_of(&format!(
            "{head}masters: [{{name: m1, address: 10.0.0.11}}, {{name: m2, address: 10.0.0.12}}]\n"
        ));
        let outcome = |failed: bool| {
            let elsewhere = failed.then(|| ("host-m2".to_owned(), StepError::new("no login"))).into_iter().collect();
            Outcome { bars: Vec::new(), changed: Vec::new(), failure: None, elsewhere }
        };
        assert_eq!(tell(&cx, "master replace m2", outcome(true), "", Some("m2")), Exit::Failed);
        assert_eq!(tell(&cx, "master replace m2", outcome(false), "", Some("m2")), Exit::Done);
        assert_eq!(tell(&cx, "up", outcome(true), "", None), Exit::Partly);
    }
}
