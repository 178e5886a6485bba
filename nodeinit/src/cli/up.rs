//! `up`, `plan`, `master add` and `worker add`.

use super::{
    Common, execute,
    permit::Permits,
    remove,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        report::{Event, LOCK},
        runner,
    },
    pki::bundle::SENT_SECRETS,
    plan::{self, Reach},
    steps::{etcd::Permit, fanout, upgrade::replace},
};
use clap::{Args, Subcommand};
use nodeinit_base::atomic_file::temporary;
use nodeinit_config::{Made, cluster::Role};
use std::{net::IpAddr, sync::Arc};

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
    bring_up(&args.run.common, args.run.reach(), args.permits, args.run.accept_clock).await
}

/// Adds one other machine to the cluster.
pub(super) async fn add(args: Add, role: Role) -> Exit {
    let report = args.common.printing.report();
    match setup::context(&args.common, Access::Look).and_then(|cx| listed(&cx, &args.name, role)) {
        Ok(()) => {
            bring_up(&args.common, Reach::Only { name: args.name, address: args.address }, Permits::default(), false)
                .await
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

async fn bring_up(common: &Common, reach: Reach, permits: Permits, accept_clock: bool) -> Exit {
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
    for name in replace::bring_back(&cx).await? {
        cx.report.note("start", format!("an interrupted upgrade had stopped {name}; restored its manifest"));
    }
    setup::refuse_changes(&cx)?;
    let permit = permits.given(&cx)?;
    execute::begin(&cx, "up", accept_clock)?;
    sweep(&cx)?;
    let steps = plan::for_role(&cx, reach, permit)?;
    let done = format!("{} is ready: {} of cluster {}", cx.node.name, cx.node.role, cx.cluster.name);
    let exit = execute::run(&cx, "up", &steps, &done).await;
    if cx.node.role != Role::FirstMaster && exit == Exit::Done {
        // They were sent for this run only. If they cannot be removed, a reboot does it: they are in memory.
        let _ = cx.files.remove_file(SENT_SECRETS);
    }
    Ok(exit)
}

/// Checks, before anything changes, that there is an SSH key for the other machines.
fn can_reach_others(cx: &Context, reach: &Reach) -> Result<(), StepError> {
    let others = cx.node.role == Role::FirstMaster && !fanout::hosts(&cx.cluster).is_empty();
    if others && *reach != Reach::Here {
        fanout::read_key(&cx.files, &cx.cluster, cx.clock.now())?;
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
