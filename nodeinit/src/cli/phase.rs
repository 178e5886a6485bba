//! `phase`: lists the steps, and runs a single one.

use super::{
    Common, Output, load, print,
    setup::{self, Access},
};
use crate::{
    engine::{
        error::{Exit, StepError},
        plan::PlanNode,
        runner,
        step::State,
    },
    plan,
    steps::etcd::Permit,
};
use clap::{Args, Subcommand};
use serde_json::json;

#[derive(Subcommand)]
pub(super) enum Phase {
    /// List the steps of this machine's role in order; JSON output includes their dependencies
    List(Common),
    /// Run one step; its dependencies must be done
    Run(Run),
}

#[derive(Args)]
pub(super) struct Run {
    /// The step's name, as `phase list` shows it
    name: String,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(phase: Phase) -> Exit {
    let (common, name) = match &phase {
        Phase::List(common) => (common, None),
        Phase::Run(run) => (&run.common, Some(run.name.as_str())),
    };
    let result = match name {
        None => list(common),
        Some(name) => one(common, name).await,
    };
    result.unwrap_or_else(|error| {
        common.printing.report().failed(name.unwrap_or("phase list"), &error);
        error.exit
    })
}

fn list(common: &Common) -> Result<Exit, StepError> {
    let cx = setup::context(common, Access::Look)?;
    for PlanNode { step, id, after } in plan::for_role(&cx, &plan::Reach::Everywhere, Permit::None)?.nodes() {
        print(&match common.printing.output {
            Output::Json => {
                let needs: Vec<String> = after.iter().map(ToString::to_string).collect();
                format!("{}\n", json!({"step": id.name(), "title": step.title(), "needs": needs}))
            }
            Output::Text => format!("{id:31} {}\n", step.title()),
        })?;
    }
    Ok(Exit::Done)
}

async fn one(common: &Common, name: &str) -> Result<Exit, StepError> {
    let _lock = setup::lock()?;
    let cx = setup::context(common, Access::Change)?;
    setup::refuse_changes(&cx)?;
    let plan = plan::for_role(&cx, &plan::Reach::Everywhere, Permit::None)?;
    let Some(wanted) = plan.named(name) else {
        let names: Vec<String> = plan.nodes().iter().map(|node| node.id.to_string()).collect();
        let error = StepError::new(format!("there is no step {name:?}; the steps are {}", names.join(", ")));
        return Err(error.exit(Exit::Usage));
    };
    for PlanNode { step, id, .. } in plan.nodes().iter().filter(|node| wanted.after.contains(&node.id)) {
        if let State::Needed(changes) = step.check(&cx).await? {
            let error = StepError::new(format!("{name} depends on {id}, which is not done: {}", changes.join(", ")));
            return Err(error.hint(format!("run `nodeinit phase run {id}` first")));
        }
    }
    let changed = runner::step(wanted.step.as_ref(), &cx).await.map_err(|error| load::located(&cx, error))?;
    if !changed {
        cx.report.note(name, "nothing to do");
    }
    Ok(Exit::Done)
}
