//! `up`, `plan`, `master add` and `worker add`.

use super::{
    Common,
    permit::Permits,
    remove,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::Record,
        report::{Event, LOCK, critical_path, rounded},
        runner::{self, Outcome},
        runs::{self, Header},
    },
    pki::bundle::SENT_SECRETS,
    plan::{self, Reach},
    steps::{agent, etcd::Permit, fanout},
};
use clap::{Args, Subcommand};
use nix::sys::resource::{UsageWho, getrusage};
use nodeinit_base::atomic_file::temporary;
use nodeinit_config::{Made, cluster::Role};
use std::{net::IpAddr, sync::Arc, time::SystemTime};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
pub(super) struct Up {
    #[command(flatten)]
    permits: Permits,
    #[command(flatten)]
    run: Run,
}

/// The arguments of `up` and `plan`.
#[derive(Args)]
pub(super) struct Run {
    /// Change only this machine; on the first master, leave the other machines alone
    #[arg(long)]
    local: bool,
    /// Accept this machine's clock although an earlier run recorded a later time
    #[arg(long)]
    accept_clock: bool,
    #[command(flatten)]
    common: Common,
}

impl Run {
    fn reach(&self) -> Reach {
        if self.local { Reach::Here } else { Reach::Everywhere }
    }
}

/// The subcommands of `master` and `worker`.
#[derive(Subcommand)]
pub(super) enum MachineCommand {
    /// Add one configured machine to the cluster; run this on the first master
    Add(Add),
    /// Drain a machine, remove its etcd member, node and tokens; run this on a master
    Remove(remove::Remove),
}

#[derive(Args)]
pub(super) struct Add {
    /// The machine's name in the configuration
    name: String,
    /// Its address, if the configuration has none
    #[arg(long)]
    address: Option<IpAddr>,
    #[command(flatten)]
    common: Common,
}

/// Brings this machine to the configured state.
pub(super) async fn up(args: Up) -> Exit {
    run(&args.run.common, args.run.reach(), args.permits, args.run.accept_clock).await
}

/// Adds one other machine to the cluster.
pub(super) async fn add(args: Add, role: Role) -> Exit {
    let report = args.common.printing.report();
    match setup::context(&args.common, Access::Look).and_then(|cx| listed(&cx, &args.name, role)) {
        Ok(()) => {
            run(&args.common, Reach::Only { name: args.name, address: args.address }, Permits::default(), false).await
        }
        Err(error) => {
            report.failed("add", &error);
            error.exit
        }
    }
}

/// Checks that a machine with this role and name can be added from this machine.
fn listed(cx: &Context, name: &str, role: Role) -> Result<(), StepError> {
    if cx.node.role != Role::FirstMaster {
        let what = format!("machines are added from the first master, but this machine is a {}", cx.node.role);
        return Err(StepError::new(what).exit(Exit::Usage));
    }
    let (list, machines) = match role {
        Role::Worker => ("workers", &cx.cluster.workers[..]),
        _ => ("masters", cx.cluster.masters.get(1..).unwrap_or_default()),
    };
    match machines.iter().any(|machine| machine.name == name) {
        true => Ok(()),
        false => {
            let what = format!("{name} is not listed under `{list}`");
            Err(StepError::new(what)
                .exit(Exit::BadConfig)
                .hint("add it with its address to the configuration, then try again"))
        }
    }
}

async fn run(common: &Common, reach: Reach, permits: Permits, accept_clock: bool) -> Exit {
    let report = common.printing.report();
    let _lock = match setup::lock() {
        Ok(lock) => lock,
        Err(error) => {
            report.failed(LOCK, &error);
            return error.exit;
        }
    };
    match attempt(common, &reach, permits, accept_clock).await {
        Ok(exit) => exit,
        Err(error) => {
            report.failed("start", &error);
            error.exit
        }
    }
}

async fn attempt(common: &Common, reach: &Reach, permits: Permits, accept_clock: bool) -> Result<Exit, StepError> {
    let mut cx = setup::context(common, Access::Change)?;
    if let Reach::Only { name, address: Some(address) } = reach {
        let loaded = cx.loaded.made(&Made { addresses: [(name.clone(), *address)].into(), ..Made::default() });
        let loaded = loaded.map_err(|e| StepError::caused("cannot use --address", e).exit(Exit::Usage))?;
        cx.cluster = Arc::new(loaded.cluster.clone());
        cx.loaded = Arc::new(loaded);
    }
    can_reach_others(&cx, reach)?;
    setup::refuse_changes(&cx)?;
    let permit = permits.given(&cx)?;
    begin(&cx, "up", accept_clock)?;
    sweep(&cx)?;
    let steps = plan::for_role(&cx, reach, permit)?;
    let outcome = tokio::select! {
        outcome = runner::run(&steps, &cx) => outcome,
        never = agent::approve(&cx) => match never {},
        name = stopped() => return Ok(interrupted(&cx, name)),
    };
    Ok(tell(&cx, outcome))
}

/// Checks, before anything changes, that there is an SSH key for the other machines.
fn can_reach_others(cx: &Context, reach: &Reach) -> Result<(), StepError> {
    let others = cx.node.role == Role::FirstMaster && !fanout::hosts(&cx.cluster).is_empty();
    if others && *reach != Reach::Here {
        fanout::read_key(&cx.files, &cx.cluster, cx.clock.now())?;
    }
    Ok(())
}

fn begin(cx: &Context, command: &str, accept_clock: bool) -> Result<(), StepError> {
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

/// Removes partial files of killed runs: they may contain a part of a key.
fn sweep(cx: &Context) -> Result<(), StepError> {
    for path in cx.journal.state().files.keys() {
        cx.files.remove_file(temporary(path))?;
    }
    Ok(())
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

fn interrupted(cx: &Context, name: &str) -> Exit {
    let what = format!("stopped by {name}; no file is half-written");
    let error = StepError::new(what).exit(Exit::TryAgain).hint("run `nodeinit up` again to resume");
    cx.report.failed("up", &error);
    error.exit
}

fn tell(cx: &Context, outcome: Outcome) -> Exit {
    if let Some((step, error)) = &outcome.failure {
        // The failure itself is reported below, even if the journal cannot be written.
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
                        "{name} is ready and the cluster {} works, but these failed: {}. Fix the errors above, then run \
                         `nodeinit up` again ({seconds:.2} s)",
                        cx.cluster.name,
                        failed.join(", ")
                    )
                }
                0 => format!("{name} is up to date; nothing to do ({seconds:.2} s)"),
                _ => format!("{name} is ready: {} of cluster {} ({seconds:.2} s)", cx.node.role, cx.cluster.name),
            };
            if cx.node.role != Role::FirstMaster {
                // They were sent for this run only. If they cannot be removed, a reboot does it: they are in memory.
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
        // The kernel reports KiB.
        peak_memory_bytes: usage.as_ref().map_or(0, |u| u.max_rss() as u64 * 1024),
    }
}

/// Prints what `up` would do.
pub(super) async fn plan(args: Run) -> Exit {
    let report = args.common.printing.report();
    match look(&args).await {
        Ok(exit) => exit,
        Err((step, error)) => {
            report.failed(&step, &error);
            error.exit
        }
    }
}

async fn look(args: &Run) -> Result<Exit, (String, StepError)> {
    let start = |e| ("start".to_owned(), e);
    let cx = setup::context(&args.common, Access::Look).map_err(start)?;
    can_reach_others(&cx, &args.reach()).map_err(start)?;
    setup::refuse_changes(&cx).map_err(start)?;
    let steps = plan::for_role(&cx, &args.reach(), Permit::None).map_err(|e| start(e.into()))?;
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
