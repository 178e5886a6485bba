//! `etcd`: manages members, databases, alarms, and data that was moved aside.

use super::{
    Common, Output, execute, print,
    setup::{self, Access},
};
use crate::{
    engine::error::{Exit, StepError},
    steps::etcd::{
        View,
        aside::{self, Aside},
        health, leave,
        maintenance::{self, Defragmented},
        snapshot,
    },
};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::{io::IsTerminal, path::PathBuf};

#[derive(Subcommand)]
pub(super) enum Etcd {
    /// List members: voters, leader, health
    Members(Common),
    /// Remove a member whose machine is gone, or a member that was added but never started
    Remove(RemoveMember),
    /// Write a snapshot of etcd's data to a file on this machine
    Snapshot(TakeSnapshot),
    /// Shrink the members' databases, one member at a time, the leader last
    Defrag(Defrag),
    /// List etcd's alarms, or disarm those of full databases
    Alarms(Alarms),
    /// Manage etcd data on this machine that nodeinit moved aside
    #[command(subcommand)]
    Aside(AsideCommand),
}

#[derive(Args)]
pub(super) struct RemoveMember {
    /// The member's name, or its ID as `nodeinit etcd members` prints it
    member: String,
    /// Remove it even if it is healthy, or if etcd would lose its quorum
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct TakeSnapshot {
    /// The file to create; it must not exist. It contains all Secrets of the cluster, and only root may read it
    file: PathBuf,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Defrag {
    /// First compact: discard all old revisions; API servers and controllers then list all objects again
    #[arg(long)]
    compact: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Alarms {
    /// What to do
    #[arg(value_enum, default_value = "list")]
    action: AlarmAction,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum AlarmAction {
    /// Print the alarms
    List,
    /// Allow writes again after space was freed
    Disarm,
}

#[derive(Subcommand)]
pub(super) enum AsideCommand {
    /// List the data that was moved aside, with its size and the member that wrote it
    List(Common),
    /// Delete data that was moved aside; it cannot be restored
    Remove(RemoveAside),
}

#[derive(Args)]
pub(super) struct RemoveAside {
    /// The name, as `nodeinit etcd aside list` prints it
    name: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Etcd) -> Exit {
    let (result, printing) = match &command {
        Etcd::Members(common) => (members(common).await, common.printing),
        Etcd::Remove(args) => (remove_member(args).await, args.common.printing),
        Etcd::Snapshot(args) => (take_snapshot(args).await, args.common.printing),
        Etcd::Defrag(args) => (defragment(args).await, args.common.printing),
        Etcd::Alarms(args) => (alarms(args).await, args.common.printing),
        Etcd::Aside(AsideCommand::List(common)) => (list_aside(common), common.printing),
        Etcd::Aside(AsideCommand::Remove(args)) => (remove_aside(args), args.common.printing),
    };
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            printing.report().failed("etcd", &error);
            error.exit
        }
    }
}

fn list_aside(common: &Common) -> Result<(), StepError> {
    let cx = setup::context(common, Access::Look)?;
    let found = aside::list(&cx)?;
    print(&match common.printing.output {
        Output::Json => found.iter().map(|aside| format!("{}\n", json!(aside))).collect::<String>(),
        Output::Text if found.is_empty() => "no etcd data was moved aside on this machine\n".to_owned(),
        Output::Text => found.iter().map(|aside| format!("{}\n", aside_line(aside))).collect(),
    })
}

/// Describes data that was moved aside in one line of text.
pub(super) fn aside_line(aside: &Aside) -> String {
    let origin = match (&aside.member, &aside.cluster) {
        (Some(member), Some(cluster)) => format!("member {member} of cluster {cluster}"),
        _ => "cannot be read".to_owned(),
    };
    format!("{:32} {:>6} MiB  {origin}", aside.name, aside.mebibytes())
}

fn remove_aside(args: &RemoveAside) -> Result<(), StepError> {
    let _lock = setup::lock()?;
    let cx = setup::context(&args.common, Access::Look)?;
    let name = &args.name;
    if !args.yes && !confirmed(name)? {
        return print("nothing was changed\n");
    }
    aside::remove(&cx, name)?;
    print(&format!("deleted {name}\n"))
}

/// Asks on the terminal whether to delete data.
fn confirmed(name: &str) -> Result<bool, StepError> {
    if !std::io::stdin().is_terminal() {
        let error = StepError::new("cannot ask for confirmation: standard input is not a terminal");
        return Err(error.exit(Exit::Usage).hint("add --yes"));
    }
    print(&format!("{name} may be the only copy of a cluster's data. Delete it? Type `yes`: "))?;
    let mut answer = String::new();
    // No answer means no.
    let asked = std::io::stdin().read_line(&mut answer);
    Ok(asked.is_ok() && answer.trim() == "yes")
}

async fn members(common: &Common) -> Result<(), StepError> {
    let cx = setup::context(common, Access::Look)?;
    let (view, health) = health::health(&cx).await?;
    // Programs rely on this list, so JSON output contains only what a quorum confirmed.
    let shown = view.filter(|_| health.quorum || common.printing.output == Output::Text);
    if let Some(view) = shown {
        print(&rendered(&view, common.printing.output))?;
    }
    if common.printing.output == Output::Json && health.problem().is_some() {
        print(&format!("{}\n", json!(health)))?;
    }
    health.error().map_or(Ok(()), Err)
}

async fn remove_member(args: &RemoveMember) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let removed = leave::remove_member(&cx, &args.member, args.force).await?;
    print(&match args.common.printing.output {
        Output::Json => format!("{}\n", json!({"removed": removed})),
        Output::Text => format!("removed etcd member {removed}\n"),
    })
}

async fn take_snapshot(args: &TakeSnapshot) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let path =
        std::path::absolute(&args.file).map_err(|e| StepError::caused("cannot find the working directory", e))?;
    let snapshot = tokio::select! {
        saved = snapshot::save(&cx, &path) => saved?,
        name = execute::stopped() => {
            let what = format!("stopped by {name}; there is no snapshot");
            return Err(StepError::new(what).exit(Exit::TryAgain).hint("run the command again"));
        }
    };
    print(&match args.common.printing.output {
        Output::Json => format!("{}\n", json!(snapshot)),
        Output::Text => format!(
            "{}: {} KiB, all writes up to revision {}, from etcd {}\n",
            snapshot.file.display(),
            snapshot.bytes >> 10,
            snapshot.revision,
            snapshot.etcd_version
        ),
    })
}

async fn defragment(args: &Defrag) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let kib = |bytes: i64| bytes >> 10;
    let done = |member: &Defragmented| {
        print(&match args.common.printing.output {
            Output::Json => format!("{}\n", json!(member)),
            Output::Text => {
                let (before, after) = (kib(member.before_bytes), kib(member.after_bytes));
                format!("{:16} {before} KiB -> {after} KiB\n", member.name)
            }
        })
    };
    maintenance::defragment(&cx, args.compact, done).await
}

async fn alarms(args: &Alarms) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let (found, none) = match args.action {
        AlarmAction::List => (maintenance::alarms(&cx).await?, "no alarms\n"),
        AlarmAction::Disarm => (maintenance::disarm(&cx).await?, "no alarms to disarm\n"),
    };
    let verb = if matches!(args.action, AlarmAction::Disarm) { "disarmed " } else { "" };
    print(&match args.common.printing.output {
        Output::Json => found.iter().map(|alarm| format!("{}\n", json!(alarm))).collect(),
        Output::Text if found.is_empty() => none.to_owned(),
        Output::Text => found.iter().map(|a| format!("{verb}{:16} {}\n", a.member, a.alarm)).collect::<String>(),
    })
}

fn rendered(view: &View, output: Output) -> String {
    let leader = view.leader();
    let objects = view.members.members.iter().map(|member| {
        let complaint = view.complaint(member);
        let db_size = view.answers.get(&member.id).and_then(|a| a.as_ref().ok()).map(|status| status.db_size);
        json!({
            "name": member.name,
            "id": format!("{:x}", member.id),
            "peerURLs": member.peer_urls,
            "voter": !member.learner,
            "leader": leader == Some(member.id),
            "healthy": complaint.is_none(),
            "complaint": complaint,
            "dbSizeBytes": db_size,
        })
    });
    match output {
        Output::Json => objects.map(|object| format!("{object}\n")).collect(),
        Output::Text => objects.map(|object| line(&object)).collect(),
    }
}

/// Formats one member as text.
fn line(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let role = match (object["leader"] == true, object["voter"] == true) {
        (true, _) => "leader",
        (false, true) => "voter",
        (false, false) => "learner",
    };
    let name = if text("name").is_empty() { "(not started)".into() } else { text("name") };
    let health = if object["healthy"] == true { "healthy".into() } else { text("complaint") };
    let size = object["dbSizeBytes"].as_i64().map_or_else(String::new, |bytes| format!("{} KiB", bytes >> 10));
    let urls: Vec<&str> = object["peerURLs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("{name:16} {role:8} {:16} {:32} {size:>10}  {health}\n", text("id"), urls.join(","))
}
