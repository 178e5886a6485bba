//! `reset`: undoes everything that nodeinit did on this machine.

use super::{
    Common, print,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        report::Event,
        runner,
    },
    plan::reset,
    steps::os,
};
use clap::Args;
use nodeinit_config::cluster::Role;
use std::io::IsTerminal;

#[derive(Args)]
pub(super) struct Reset {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Proceed even if the other masters' etcd loses quorum or does not answer
    #[arg(long)]
    force: bool,
    /// Also delete etcd data that was moved aside (`nodeinit etcd aside list`)
    #[arg(long)]
    remove_aside: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(args: Reset) -> Exit {
    let report = args.common.printing.report();
    match attempt(&args).await {
        Ok(exit) => exit,
        Err((step, error)) => {
            report.failed(&step, &error);
            error.exit
        }
    }
}

async fn attempt(args: &Reset) -> Result<Exit, (String, StepError)> {
    let start = |e| ("start".to_owned(), e);
    let _lock = setup::lock().map_err(start)?;
    let cx = setup::context(&args.common, Access::Change).map_err(start)?;
    for text in os::refuse_unmounted(&cx).await.map_err(start)? {
        cx.report.note("reset", text);
    }
    let plan = reset::plan(args.force, args.remove_aside).map_err(|e| start(e.into()))?;
    if !args.yes && !agreed(&cx, runner::look(&plan, &cx).await?).map_err(start)? {
        return Ok(Exit::Done);
    }
    let outcome = runner::run(&plan, &cx).await;
    match outcome.failure {
        Some(failure) => Err(failure),
        None => {
            cx.report.note("reset", format!("{} is back in the state that it had before nodeinit", cx.node.name));
            Ok(Exit::Done)
        }
    }
}

fn agreed(cx: &Context, pending: Vec<(String, Vec<String>)>) -> Result<bool, StepError> {
    for (step, changes) in pending {
        cx.report.tell(&Event::Planned { step, changes });
    }
    if !std::io::stdin().is_terminal() {
        let error = StepError::new(
            "reset removes this node's part of the cluster and needs a confirmation, but standard input is not a terminal",
        );
        return Err(error.exit(Exit::Usage).hint("add --yes"));
    }
    let effect = match cx.node.role {
        Role::FirstMaster | Role::Master | Role::Worker => "deletes the cluster's data",
        Role::Bastion => "ends the private network's access to the outside",
    };
    print(&format!("\nReset {effect} on {}. Continue? Type the machine's name: ", cx.node.name))?;
    let mut answer = String::new();
    // No answer means no.
    let asked = std::io::stdin().read_line(&mut answer);
    let yes = asked.is_ok() && answer.trim() == cx.node.name;
    if !yes {
        print("nothing was changed\n")?;
    }
    Ok(yes)
}
