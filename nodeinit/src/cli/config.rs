//! `config`: write a configuration, check it, show it, and describe it to editors.

use super::{Output, load, print};
use crate::{
    engine::error::{Exit, StepError},
    host::{commands::Commands, facts, files::Files},
    steps::{fanout, preflight},
};
use clap::{Args as ClapArgs, Subcommand};
use nodeinit_config::{Loaded, Origin, Problem, Problems, cluster::Role};
use nodeinit_screen::tell;
use serde_json::{Value, json};
use std::{path::PathBuf, time::SystemTime};

mod init;
mod wizard;

/// Writes, checks and shows the configuration.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Write a configuration file that explains every key; on a terminal, ask for the settings that matter
    Init(init::Init),
    /// Check the configuration and report every problem
    Validate(Source),
    /// Show the merged configuration and the file that set each value
    Show(Source),
    /// Print the JSON Schema (draft 2020-12) of the configuration
    Schema,
}

/// Which configuration is meant, and how the answer is printed.
#[derive(ClapArgs)]
pub(super) struct Source {
    /// A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    output: Output,
}

/// Runs one of the commands.
pub(super) async fn run(command: Command) -> Exit {
    let done = match command {
        Command::Init(args) => init::run(&args),
        Command::Validate(source) => return validate(&source).await,
        Command::Show(source) => show(&source),
        Command::Schema => print(&format!("{:#}\n", nodeinit_config::json_schema())),
    };
    match done {
        Ok(()) => Exit::Done,
        Err(error) => fail(&error),
    }
}

fn fail(error: &StepError) -> Exit {
    tell(&format!("error: {error}"));
    error.causes().iter().for_each(|cause| tell(&format!("  cause: {cause}")));
    error.advice().iter().for_each(|hint| tell(&format!("  hint:  {hint}")));
    error.exit
}

async fn validate(source: &Source) -> Exit {
    let layers = match load::layers(&Files::of_machine(), &source.config) {
        Ok(layers) if layers.is_empty() => return fail(&load::none()),
        Ok(layers) => layers,
        Err(error) => return fail(&error),
    };
    let (problems, warnings) = match nodeinit_config::load(&layers) {
        Ok(loaded) => (of_this_machine(&loaded).await, loaded.warnings),
        Err(Problems(problems)) => (problems, Vec::new()),
    };
    let exit = if problems.is_empty() { Exit::Done } else { Exit::BadConfig };
    let told = match (source.output, exit) {
        (Output::Json, _) => {
            let list = |problems: &[Problem]| problems.iter().map(as_json).collect::<Vec<_>>();
            let ok = problems.is_empty();
            print(&format!("{}\n", json!({ "ok": ok, "problems": list(&problems), "warnings": list(&warnings) })))
        }
        (Output::Text, Exit::Done) => {
            load::warn(&warnings);
            let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
            print(&format!("the configuration is good: {}\n", names.join(", ")))
        }
        (Output::Text, _) => {
            tell(&format!("error: {}", Problems(problems)));
            Ok(())
        }
    };
    told.map_or_else(|error| fail(&error), |()| exit)
}

/// What a good configuration lacks: a machine; and where this is one of its machines, what it names there.
async fn of_this_machine(loaded: &Loaded) -> Vec<Problem> {
    let (files, cluster) = (Files::of_machine(), &loaded.cluster);
    if let Some(none) = loaded.no_machines() {
        return vec![none];
    }
    let Ok(node) = cluster.node(&facts::local(), None) else { return Vec::new() };
    let here = |path: &str, what: String, remedy: String| Problem {
        origin: Origin { source: format!("this machine, {}", node.name), line: 0, column: 0 },
        path: path.to_owned(),
        what,
        remedy,
    };
    let mut problems = Vec::new();
    if node.role == Role::FirstMaster && !fanout::hosts(cluster).is_empty() {
        let key = fanout::read_key(&files, cluster, SystemTime::now()).map(drop);
        problems.extend(key.err().map(|e| here("ssh", e.to_string(), e.advice().unwrap_or_default().to_owned())));
    }
    let findings =
        [preflight::sysctls_of(&files, cluster), preflight::images_of(&files, &Commands, cluster, node.role).await];
    problems.extend(findings.concat().into_iter().map(|finding| here("", finding.what, finding.remedy)));
    problems
}

fn as_json(problem: &Problem) -> Value {
    let origin = &problem.origin;
    json!({
        "file": origin.source, "line": origin.line, "column": origin.column,
        "path": problem.path, "what": problem.what, "remedy": problem.remedy,
    })
}

fn show(source: &Source) -> Result<(), StepError> {
    let layers = load::layers(&Files::of_machine(), &source.config)?;
    let loaded = nodeinit_config::load(&layers).map_err(bad)?;
    load::warn(&loaded.warnings);
    match source.output {
        Output::Text => print(&loaded.text()),
        Output::Json => print(&format!("{}\n", loaded.json())),
    }
}

fn bad(problems: Problems) -> StepError {
    StepError::new(problems.to_string()).exit(Exit::BadConfig)
}
