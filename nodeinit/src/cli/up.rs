//! `up`, `plan`, and `add` and `replace` of masters and workers.

use super::{
    Common, execute, load,
    permit::Permits,
    remove,
    setup::{self, Access},
};
use crate::{
    context::{Context, RolloutOptions},
    engine::{
        error::{Exit, StepError},
        led::Led,
        report::{Event, LOCK},
        runner,
        step::{State, Step},
    },
    host::failpoint,
    pki::bundle::SENT_SECRETS,
    plan::{self, Reach},
    steps::{
        etcd::Permit,
        fanout, lead, os, removal, static_pods,
        upgrade::{replace, takeover},
        virtual_address::PlaceKubeVip,
    },
};
use clap::{Args, Subcommand};
use nodeinit_base::atomic_file::temporary;
use nodeinit_config::{
    Made,
    cluster::{Role, Share},
};
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
    #[arg(long, conflicts_with = "lead")]
    local: bool,
    /// Bring up the other machines, too, from any master; the first master does so without this option
    #[arg(long)]
    lead: bool,
    /// Use this master's configuration although another master has a newer one
    #[arg(long, requires = "lead")]
    insist: bool,
    /// Cordon workers whose kubelet restarts with changed settings, but do not evict their pods
    #[arg(long)]
    no_drain: bool,
    /// Restart the kubelets of this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`
    #[arg(long, value_name = "NUMBER|PERCENT")]
    parallel: Option<Share>,
    /// Keep this master's static pods if they are healthy, and restart nothing on other machines, even if settings changed; nodeinit.service uses this
    #[arg(long)]
    at_boot: bool,
    /// Accept this machine's clock although an earlier run recorded a later time
    #[arg(long)]
    accept_clock: bool,
    /// The lease of the leading master, which runs this here
    #[arg(long, hide = true)]
    led: Option<Led>,
    #[command(flatten)]
    common: Common,
}

impl Run {
    fn context(&self, access: Access) -> Result<Context, StepError> {
        let mut cx = setup::context(&self.common, access)?;
        let Self { no_drain, parallel, at_boot, .. } = *self;
        cx.rollout = RolloutOptions { evict: !no_drain, parallel, at_boot, ..RolloutOptions::default() };
        Ok(cx)
    }

    fn reach(&self, role: Role) -> Result<Reach, StepError> {
        match role {
            _ if self.local => Ok(Reach::Here),
            Role::FirstMaster => Ok(Reach::Everywhere),
            Role::Master if self.lead => Ok(Reach::Everywhere),
            Role::Worker | Role::Bastion if self.lead => {
                Err(StepError::new(format!("a master leads, but this machine is a {role}")).exit(Exit::Usage))
            }
            Role::Master | Role::Worker | Role::Bastion => Ok(Reach::Here),
        }
    }
}

/// The subcommands of `master` and `worker`.
#[derive(Subcommand)]
pub(super) enum MachineCommand {
    /// Add one configured machine to the cluster; run this on any master
    Add(Add),
    /// Drain a machine, remove its etcd member, node and tokens; run this on another master
    Remove(remove::Remove),
    /// Replace a machine by a new or wiped one: remove the former from the cluster, then add the new one; run this on another master
    Replace(Replace),
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

#[derive(Args)]
pub(super) struct Replace {
    /// The machine's name in the configuration, which has the address of the new machine
    name: String,
    /// Delete pods without a controller; keep trying to evict pods that a PodDisruptionBudget protects until `timeouts.node`
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: Common,
}

/// Brings this machine to the configured state.
pub(super) async fn up(args: Up) -> Exit {
    bring_up(&args.run.common, &args.run, args.permits).await
}

/// Adds one other machine to the cluster.
pub(super) async fn add(args: Add, role: Role) -> Exit {
    other(&args.common, "add", &Other { name: &args.name, role, address: args.address, replace: None }).await
}

/// Replaces another machine of the cluster.
pub(super) async fn replace(args: Replace, role: Role) -> Exit {
    other(&args.common, "replace", &Other { name: &args.name, role, address: None, replace: Some(args.force) }).await
}

/// A machine to add or to replace.
struct Other<'a> {
    name: &'a str,
    role: Role,
    address: Option<IpAddr>,
    /// Whether it replaces a former machine, and whether pods without a controller are deleted.
    replace: Option<bool>,
}

async fn other(common: &Common, command: &str, other: &Other<'_>) -> Exit {
    let attempt = async || {
        let _lock = setup::lock()?;
        let cx = setup::context(common, Access::Change)?;
        listed(&cx, other)?;
        start(&cx).await?;
        let kind = other.role.kind();
        let command = format!("{kind} {command} {}", other.name);
        let reach = Reach::Only { name: other.name.to_owned(), address: other.address };
        can_reach_others(&cx, &reach)?;
        let made = made(cx.clone(), other)?;
        // A worker that joins on its own only needs its token.
        let joins_alone = made.cluster.workers.iter().any(|worker| worker.name == other.name && !worker.ssh.enabled);
        let is_reached = fanout::reaches(&made.cluster, &made.node.name, |name| name == other.name);
        if !is_reached && (other.replace.is_some() || !joins_alone) {
            let what = format!("{} has no address at which this machine reaches it over SSH", other.name);
            let hint = "write its `address` to the configuration; a worker that joins on its own is removed with `nodeinit worker remove`";
            return Err(StepError::new(what).exit(Exit::BadConfig).hint(hint));
        }
        // The generation is that of the configuration on the disk.
        let lead = lead::take(&cx, &command, false).await?;
        let cx = Context { led: lead.as_ref().map(|lead| lead.led.clone()), ..made };
        let work = async {
            load::keep_for_boot(&cx, &common.source).await?;
            execute::begin(&cx, &command, false)?;
            if let Some(force) = other.replace {
                fanout::forget(&cx, other.name).await?;
                // The new machine of an interrupted replacement is not removed.
                if fanout::is_new(&cx, other.name).await? {
                    removal::former(&cx, other.name, other.role, force).await?;
                    failpoint("replace", "removed");
                }
            }
            run(&cx, &command, &reach, Permit::None).await
        };
        execute::under(&cx, lead, &command, work).await
    };
    attempt().await.unwrap_or_else(|error: StepError| {
        common.printing.report().failed(command, &error);
        error.exit
    })
}

/// Gives a machine without a configured address the one of the command line.
fn made(mut cx: Context, other: &Other) -> Result<Context, StepError> {
    if let Some(address) = other.address {
        let made = Made { addresses: [(other.name.to_owned(), address)].into(), ..Made::default() };
        let loaded = cx.loaded.made(&made);
        let loaded = loaded.map_err(|e| StepError::caused("cannot use --address", e).exit(Exit::Usage))?;
        cx.cluster = Arc::new(loaded.of_machine(&cx.node.name)?.cluster);
        cx.loaded = Arc::new(loaded);
    }
    Ok(cx)
}

/// Checks that this machine can add or replace the other one.
fn listed(cx: &Context, other: &Other) -> Result<(), StepError> {
    let name = other.name;
    if !cx.node.role.is_master() {
        let what = format!("a master adds and replaces machines, but this machine is a {}", cx.node.role);
        return Err(StepError::new(what).exit(Exit::Usage));
    }
    if *name == cx.node.name {
        return Err(StepError::new(format!("{name} is this machine"))
            .exit(Exit::Usage)
            .hint("run this on another master"));
    }
    let (list, machines) = match other.role {
        Role::Worker => ("workers", &cx.cluster.workers),
        _ => ("masters", &cx.cluster.masters),
    };
    if machines.iter().any(|machine| machine.name == name) {
        return Ok(());
    }
    if let Some((_, role)) = cx.cluster.machines().find(|(machine, _)| machine.name == name) {
        let kind = role.kind();
        let error = StepError::new(format!("{name} is a {kind}")).exit(Exit::Usage);
        return Err(error.hint(format!("run `nodeinit {kind} …` with the same arguments")));
    }
    let what = format!("{name} is not listed under `{list}`");
    let hint = "add it with its address to the configuration, then run the same command again";
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

async fn bring_up(common: &Common, args: &Run, permits: Permits) -> Exit {
    let report = common.printing.report();
    let _lock = match setup::lock() {
        Ok(lock) => lock,
        Err(error) => {
            report.failed(LOCK, &error);
            return error.exit;
        }
    };
    match attempt(args, permits).await {
        Ok(exit) => exit,
        Err(error) => {
            report.failed("start", &error);
            error.exit
        }
    }
}

async fn attempt(args: &Run, permits: Permits) -> Result<Exit, StepError> {
    let mut cx = args.context(Access::Change)?;
    let mut reach = args.reach(cx.node.role)?;
    can_reach_others(&cx, &reach)?;
    start(&cx).await?;
    cx.rollout.keeps_static_pods = args.at_boot && keeps_static_pods(&cx).await?;
    let permit = permits.given(&cx)?;
    if let Some(led) = &args.led {
        lead::accept(&cx, led, cx.node.role.is_master())?;
    }
    let command = if args.lead { "up --lead" } else { "up" };
    let (mut lead, mut unable) = (None, None);
    if reach != Reach::Here {
        match lead::take(&cx, command, args.insist).await {
            Ok(taken) => lead = taken,
            Err(error) if args.lead => return Err(error),
            // This also runs at every boot of the first master, which must come up in any case.
            Err(error) => (reach, unable) = (Reach::Here, Some(error)),
        }
    }
    cx.led = lead.as_ref().map(|lead| lead.led.clone());
    let is_first = reach != Reach::Here && lead.is_none();
    let work = async {
        if unable.is_none() && args.led.is_none() {
            load::keep_for_boot(&cx, &args.common.source).await?;
        }
        execute::begin(&cx, command, args.accept_clock)?;
        run(&cx, command, &reach, permit).await
    };
    let exit = execute::under(&cx, lead, command, work).await?;
    if is_first && exit == Exit::Done {
        settle(&cx).await;
    }
    match unable {
        Some(error) if exit == Exit::Done => {
            cx.report.note("up", "this machine is up; the other machines were left alone");
            Err(error)
        }
        _ => Ok(exit),
    }
}

/// Whether this machine's static pods are healthy although manifests differ. Reports it.
async fn keeps_static_pods(cx: &Context) -> Result<bool, StepError> {
    let has_address = cx.cluster.control_plane.virtual_address.is_some() && cx.node.role.is_master();
    let differs = has_address && PlaceKubeVip.check(cx).await? != State::Done;
    let kube_vip = differs.then_some("kube-vip").into_iter().collect();
    let differing = static_pods::healthy_with_other_manifests(cx, kube_vip).await?;
    if !differing.is_empty() {
        let names = differing.join(", ");
        let note = format!("left {names} as is, although the manifest differs; run `nodeinit up` to apply it");
        cx.report.note("start", note);
    }
    Ok(!differing.is_empty())
}

/// After a run that started the cluster, records the first generation of the configuration.
async fn settle(cx: &Context) {
    match lead::take(cx, "up", false).await {
        Ok(Some(lead)) => lead.end().await,
        Ok(None) => {}
        Err(error) => cx.report.note("up", error.to_string()),
    }
}

/// Repairs what an interrupted run left, and refuses a configuration that cannot be applied in place.
async fn start(cx: &Context) -> Result<(), StepError> {
    replace::resume(cx).await?;
    takeover::take_over(cx).await?;
    setup::refuse_changes(cx)
}

async fn run(cx: &Context, command: &str, reach: &Reach, permit: Permit) -> Result<Exit, StepError> {
    sweep(cx)?;
    let steps = plan::for_role(cx, reach, permit)?;
    let other = match reach {
        Reach::Only { name, .. } => Some(name.as_str()),
        Reach::Everywhere | Reach::Here => None,
    };
    let (name, role) = match other {
        Some(name) => {
            let role = cx.cluster.machines().find(|(machine, _)| machine.name == name).map(|(_, role)| role);
            (name, role.unwrap_or(Role::Worker))
        }
        None => (cx.node.name.as_str(), cx.node.role),
    };
    let done = format!("{name} is ready: {role} of cluster {}", cx.cluster.name);
    let exit = execute::run(cx, command, &steps, &done, other).await;
    if exit == Exit::Done {
        // They were sent for this run only. If they cannot be removed, a reboot does it: they are in memory.
        let _ = cx.files.remove_file(SENT_SECRETS);
        if let Some(text) = os::finished(cx) {
            // Without a console, the report is enough.
            let _ = cx.files.print("/dev/console".as_ref(), &text);
            cx.report.note(command, text);
        }
        if *reach != Reach::Here
            && let Some(note) = os::reboot_note(cx).await
        {
            cx.report.note(command, note);
        }
    }
    Ok(exit)
}

/// Checks, before anything changes, that there is an SSH key for the other machines.
fn can_reach_others(cx: &Context, reach: &Reach) -> Result<(), StepError> {
    let others = cx.node.role.is_master() && fanout::reaches(&cx.cluster, &cx.node.name, |_| true);
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
    let cx = args.context(Access::Look).map_err(start)?;
    let reach = args.reach(cx.node.role).map_err(start)?;
    can_reach_others(&cx, &reach).map_err(start)?;
    match takeover::is_due(&cx).await.map_err(start)? {
        true => setup::refuse_other_changes(&cx),
        false => setup::refuse_changes(&cx),
    }
    .map_err(start)?;
    let steps = plan::for_role(&cx, &reach, Permit::None).map_err(|e| start(e.into()))?;
    let pending = runner::look(&steps, &cx).await.map_err(|(step, error)| (step, load::located(&cx, error)))?;
    for (step, changes) in &pending {
        cx.report.tell(&Event::Planned { step: step.clone(), changes: changes.clone() });
    }
    if pending.is_empty() {
        cx.report.note("plan", "nothing to do");
        return Ok(Exit::Done);
    }
    Ok(Exit::Pending)
}
