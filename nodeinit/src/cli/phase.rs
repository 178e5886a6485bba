//! `phase`: the steps, one by one.

use super::{
    Common, Output, print,
    setup::{self, Access},
};
use crate::{
    engine::{
        error::{Exit, StepError},
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
    for step in plan::for_role(&cx, &plan::Reach::Everywhere, Permit::None) {
        print(&match common.printing.output {
            Output::Json => {
                format!("{}\n", json!({"step": step.name(), "title": step.title(), "needs": step.needs()}))
            }
            Output::Text => format!("{:31} {}\n", step.name(), step.title()),
        })?;
    }
    Ok(Exit::Done)
}

async fn one(common: &Common, name: &str) -> Result<Exit, StepError> {
    let _lock = setup::lock()?;
    let cx = setup::context(common, Access::Change)?;
    plan::fixed::refuse_changes(&cx)?;
    let steps = plan::for_role(&cx, &plan::Reach::Everywhere, Permit::None);
    let names: Vec<String> = steps.iter().map(|step| step.name()).collect();
    let Some(wanted) = steps.iter().find(|step| step.name() == name) else {
        let error = StepError::new(format!("there is no step {name:?}; there are {}", names.join(", ")));
        return Err(error.exit(Exit::Usage));
    };
    for step in steps.iter().filter(|step| wanted.needs().contains(&step.name())) {
        if let State::Needed(changes) = step.check(&cx).await? {
            let error =
                StepError::new(format!("{name} needs {}, which is not done: {}", step.name(), changes.join(", ")));
            return Err(error.hint(format!("run `nodeinit phase run {}` first", step.name())));
        }
    }
    let changed = runner::step(wanted.as_ref(), &cx).await?;
    if !changed {
        cx.report.note(name, "nothing to do");
    }
    Ok(Exit::Done)
}
