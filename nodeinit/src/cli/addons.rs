//! `addons`: lists, applies and removes optional addons.

use super::{
    Common, Output, print,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::Step,
    },
    steps::addons::{self, OWN, Objects, Source},
};
use clap::{Args, Subcommand};
use nodeinit_config::Addon;
use serde_json::{Value, json};

#[derive(Subcommand)]
pub(super) enum Addons {
    /// List addons, whether the configuration enables them, and their status
    List(Common),
    /// Apply an addon and wait until it is ready; without a name, all enabled addons
    Apply(Apply),
    /// Delete only the objects that nodeinit applied for an addon
    Remove(Remove),
}

#[derive(Args)]
pub(super) struct Apply {
    /// The addon's name, as `addons list` shows it
    name: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Remove {
    /// The addon's name, as `addons list` shows it
    name: String,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Addons) -> Exit {
    let (result, printing) = match &command {
        Addons::List(common) => (list(common).await, common.printing),
        Addons::Apply(args) => (apply(args).await, args.common.printing),
        Addons::Remove(args) => (remove(args).await, args.common.printing),
    };
    result.map_or_else(
        |error| {
            printing.report().failed("addons", &error);
            error.exit
        },
        |()| Exit::Done,
    )
}

/// Returns all possible addons: those of nodeinit, and the user's manifests if the configuration names them.
fn known(cx: &Context) -> Vec<Objects> {
    let own = cx.cluster.addons.manifests.clone().map(|path| Objects(Source::Directory(path)));
    Addon::ALL.into_iter().map(|addon| Objects(Source::BuiltIn(addon))).chain(own).collect()
}

async fn list(common: &Common) -> Result<(), StepError> {
    let cx = setup::context(common, Access::Look)?;
    let wanted = addons::wanted(&cx.cluster);
    let mut applied = addons::applied(&cx).await?;
    let mut rows = Vec::new();
    for addon in known(&cx) {
        let name = addon.addon();
        let is_applied = applied.iter().any(|other| other == name);
        applied.retain(|other| other != name);
        let lacking = match is_applied {
            true => addon.lacking(&cx).await.unwrap_or_else(|e| vec![e.to_string()]),
            false => Vec::new(),
        };
        rows.push(row(name, wanted.contains(&addon), is_applied, &lacking));
    }
    // For addons that the configuration no longer contains, it is only known that they were applied.
    rows.extend(applied.iter().map(|name| row(name, false, true, &[])));
    print(&rows.iter().map(|row| shown(row, common.printing.output)).collect::<String>())
}

fn row(name: &str, configured: bool, applied: bool, lacking: &[String]) -> Value {
    let state = match (applied, lacking) {
        (false, _) => "absent",
        (true, []) => "applied",
        (true, _) => "incomplete",
    };
    json!({"addon": name, "configured": configured, "state": state, "lacking": lacking})
}

fn shown(row: &Value, output: Output) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    match output {
        Output::Json => format!("{row}\n"),
        Output::Text => {
            let configured = if row["configured"] == true { "configured" } else { "" };
            let lacking = row["lacking"].as_array().into_iter().flatten();
            let reasons: String =
                lacking.filter_map(Value::as_str).map(|reason| format!("                  - {reason}\n")).collect();
            format!("{:15} {:11} {configured}\n{reasons}", text("addon"), text("state"))
        }
    }
}

async fn apply(args: &Apply) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let chosen = match &args.name {
        None => addons::wanted(&cx.cluster),
        Some(name) => {
            let found = known(&cx).into_iter().find(|addon| addon.addon() == name);
            vec![found.ok_or_else(|| unknown(&cx, name))?]
        }
    };
    for addon in chosen {
        cx.report.note(addon.addon(), addon.title());
        addon.apply(&cx).await?;
        cx.report.note(addon.addon(), "runs");
    }
    Ok(())
}

fn unknown(cx: &Context, name: &str) -> StepError {
    if name == OWN {
        let error =
            StepError::new("addons.manifests is not set: the configuration names no directory with your manifests");
        return error.exit(Exit::Usage).hint("set addons.manifests to that directory");
    }
    let names: Vec<&str> = known(cx).iter().map(Objects::addon).collect();
    StepError::new(format!("unknown addon {name:?}; known addons: {}", names.join(", "))).exit(Exit::Usage)
}

async fn remove(args: &Remove) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let count = addons::remove(&cx, &args.name).await?;
    cx.report.note(&args.name, format!("deleted {count} objects"));
    if addons::wanted(&cx.cluster).iter().any(|addon| addon.addon() == args.name) {
        cx.report.note(&args.name, "the configuration still enables it: the next `up` applies it again");
    }
    Ok(())
}
