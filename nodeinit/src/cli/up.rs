//! `up` and `plan`.

use super::{
    Common, remove,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::Record,
        report::{Event, LOCK, Report, rounded},
        runner::{self, Outcome},
        timeline::critical_path,
    },
    host::files::temporary,
    pki::bundle::SENT_SECRETS,
    plan::{self, Reach},
};
use clap::{Args, Subcommand};
use nix::sys::resource::{UsageWho, getrusage};
use nodeinit_config::cluster::Role;
use std::time::SystemTime;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
pub(super) struct Up {
    /// Only this machine: on the first master, the others are left alone
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    common: Common,
}

impl Up {
    fn reach(&self) -> Reach {
        if self.local { Reach::Here } else { Reach::Everywhere }
    }
}

/// What `master` and `worker` take.
#[derive(Subcommand)]
pub(super) enum Machine {
    /// Bring up one machine of the configuration, from the first master
    Add(Named),
    /// Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens
    Remove(remove::Remove),
}

#[derive(Args)]
pub(super) struct Named {
    /// The machine's name in the configuration
    name: String,
    #[command(flatten)]
    common: Common,
}

/// Brings this machine to the described state.
pub(super) async fn up(args: Up) -> Exit {
    run(&args.common, args.reach()).await
}

/// Brings up one other machine.
pub(super) async fn add(args: Named, role: Role) -> Exit {
    let report = Report::stdout(args.common.output.into());
    match setup::context(&args.common, Access::Look).and_then(|cx| listed(&cx, &args.name, role)) {
        Ok(()) => run(&args.common, Reach::Only(args.name)).await,
        Err(error) => {
            report.failed("add", &error);
            error.exit
        }
    }
}

/// Whether another machine of this role and name can be brought up from here.
fn listed(cx: &Context, name: &str, role: Role) -> Result<(), StepError> {
    if cx.node.role != Role::FirstMaster {
        let what = format!("machines are added from the first master, and this machine is a {}", cx.node.role);
        return Err(StepError::new(what).exit(Exit::Usage));
    }
    let (list, machines) = match role {
        Role::Worker => ("workers", &cx.cluster.workers[..]),
        _ => ("masters", cx.cluster.masters.get(1..).unwrap_or_default()),
    };
    match machines.iter().any(|machine| machine.name == name) {
        true => Ok(()),
        false => {
            let what = format!("{name} does not stand in `{list}`");
            Err(StepError::new(what).exit(Exit::BadConfig).hint("write it there with its address, then try again"))
        }
    }
}

async fn run(common: &Common, reach: Reach) -> Exit {
    let report = Report::stdout(common.output.into());
    let _lock = match setup::lock() {
        Ok(lock) => lock,
        Err(error) => {
            report.failed(LOCK, &error);
            return error.exit;
        }
    };
    match attempt(common, &reach).await {
        Ok(exit) => exit,
        Err(error) => {
            report.failed("start", &error);
            error.exit
        }
    }
}

async fn attempt(common: &Common, reach: &Reach) -> Result<Exit, StepError> {
    let cx = setup::context(common, Access::Change)?;
    plan::fixed::refuse_changes(&cx)?;
    begin(&cx, "up")?;
    sweep(&cx)?;
    let steps = plan::for_role(&cx, reach);
    let outcome = tokio::select! {
        outcome = runner::run(&steps, &cx) => outcome,
        name = stopped() => return Ok(interrupted(&cx, name)),
    };
    Ok(tell(&cx, outcome))
}

fn begin(cx: &Context, command: &str) -> Result<(), StepError> {
    let time = cx.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let version = env!("CARGO_PKG_VERSION").into();
    Ok(cx.journal.note(Record::Run { command: command.into(), version, time })?)
}

/// Removes what killed runs left of files: a half of one may be a part of a key.
fn sweep(cx: &Context) -> Result<(), StepError> {
    for path in cx.journal.state().files.keys() {
        cx.files.remove_file(temporary(path))?;
    }
    Ok(())
}

/// Waits for Ctrl-C or a request to end.
async fn stopped() -> &'static str {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    }
}

fn interrupted(cx: &Context, name: &str) -> Exit {
    let what = format!("stopped by {name}; files are whole, nothing is lost");
    let error = StepError::new(what).exit(Exit::TryAgain).hint("run `nodeinit up` again: it goes on from here");
    cx.report.failed("up", &error);
    error.exit
}

fn tell(cx: &Context, outcome: Outcome) -> Exit {
    if let Some((step, error)) = &outcome.failure {
        // The failure itself is told below, whether or not it can be noted.
        let _ = cx.journal.note(Record::Failed { step: step.clone(), error: error.to_string() });
    }
    if !outcome.changed.is_empty() {
        cx.report.tell(&summary(cx, &outcome));
    }
    match outcome.failure {
        Some((step, error)) => {
            cx.report.failed(&step, &error);
            error.exit
        }
        None => {
            let seconds = rounded(cx.report.elapsed());
            let name = &cx.node.name;
            let text = match outcome.changed.len() {
                _ if !outcome.elsewhere.is_empty() => {
                    let failed: Vec<&str> = outcome.elsewhere.iter().map(|(step, _)| step.as_str()).collect();
                    format!(
                        "{name} is finished and the cluster {} works, without {}: mend what stands above, then run \
                         `nodeinit up` again ({seconds:.2} s)",
                        cx.cluster.name,
                        failed.join(", ")
                    )
                }
                0 => format!("{name} is as described; nothing to do ({seconds:.2} s)"),
                _ => format!("{name} is finished: {} of cluster {} ({seconds:.2} s)", cx.node.role, cx.cluster.name),
            };
            if cx.node.role != Role::FirstMaster {
                // They were passed to us for this. Where they cannot be removed, a reboot does it: they are in memory.
                let _ = cx.files.remove_file(SENT_SECRETS);
            }
            cx.report.note("up", text);
            if outcome.elsewhere.is_empty() { Exit::Done } else { Exit::Partly }
        }
    }
}

fn summary(cx: &Context, outcome: &Outcome) -> Event {
    let usage = getrusage(UsageWho::RUSAGE_SELF);
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Event::Summary {
        seconds: rounded(cx.report.elapsed()),
        critical_path: critical_path(&outcome.bars),
        cpu_seconds: usage.as_ref().map_or(0.0, |u| seconds(u.user_time()) + seconds(u.system_time())),
        // The kernel tells KiB.
        peak_memory_bytes: usage.as_ref().map_or(0, |u| u.max_rss() as u64 * 1024),
    }
}

/// Tells what `up` would do.
pub(super) async fn plan(args: Up) -> Exit {
    let report = Report::stdout(args.common.output.into());
    match look(&args).await {
        Ok(exit) => exit,
        Err((step, error)) => {
            report.failed(&step, &error);
            error.exit
        }
    }
}

async fn look(args: &Up) -> Result<Exit, (String, StepError)> {
    let start = |e| ("start".to_owned(), e);
    let cx = setup::context(&args.common, Access::Look).map_err(start)?;
    plan::fixed::refuse_changes(&cx).map_err(start)?;
    let steps = plan::for_role(&cx, &args.reach());
    let pending = runner::look(&steps, &cx).await?;
    for (step, changes) in &pending {
        cx.report.tell(&Event::Planned { step: step.clone(), changes: changes.clone() });
    }
    if pending.is_empty() {
        cx.report.note("plan", "nothing to do");
        return Ok(Exit::Done);
    }
    Ok(Exit::Pending)
}
