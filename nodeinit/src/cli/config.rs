//! `config`: write a configuration, check it, show it, and describe it to editors.

use super::{Output, Printing, load, print};
use crate::{
    engine::{
        error::{Exit, StepError},
        journal::Journal,
        led::Led,
        report::ConfigProblem,
    },
    host::{commands::Commands, facts, files::Files},
    steps::{fanout, lead, preflight},
};
use clap::{ArgAction, Args as ClapArgs, Subcommand};
use nodeinit_config::{Loaded, Origin, Problem, Problems, cluster::Role};
use nodeinit_protocol::paths::CONFIG;
use nodeinit_screen::tell;
use serde_json::json;
use std::{path::PathBuf, time::SystemTime};

mod diff;
mod draft;
mod host_keys;
mod import;
mod init;
mod terminal;
mod wizard;

/// Writes, checks and shows the configuration.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Write a configuration file with the settings that matter; on a terminal, ask for them
    Init(init::Init),
    /// Check the configuration and report every problem
    Validate(Validate),
    /// Show the merged configuration and the file that set each value
    Show(Show),
    /// Show what differs between two configurations, and where each value is set; exit code 2 if there are differences
    Diff(diff::Diff),
    /// Print a configuration translated from a file of kubeadm or k0sctl; list on standard error what has no counterpart
    Import(import::Import),
    /// Print the JSON Schema (draft 2020-12) of the configuration
    Schema,
    /// Print the digest of what all masters share of the configuration, if this machine admits the leading master, which runs this
    #[command(hide = true)]
    Admit(Admit),
}

#[derive(ClapArgs)]
pub(super) struct Show {
    /// Write the file and the line that set a value after it, as a comment
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    origin: bool,
    /// Show what this machine applies: the values of its role and of its entry are merged over those of all machines
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Print what masters receive, for their /etc/nodeinit/config.yaml: with password hashes, without defaults and comments
    #[arg(long, conflicts_with_all = ["machine", "output"])]
    raw: bool,
    #[command(flatten)]
    source: load::Source,
    #[command(flatten)]
    printing: Printing,
}

#[derive(ClapArgs)]
pub(super) struct Admit {
    /// The lease of the leading master
    led: Led,
    /// This machine is a master, which has the same configuration
    #[arg(long)]
    master: bool,
}

#[derive(ClapArgs)]
pub(super) struct Validate {
    /// Files to check, as with --config
    #[arg(value_name = "FILE", conflicts_with = "cluster")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: load::Source,
    #[command(flatten)]
    printing: Printing,
}

/// Runs one of the commands.
pub(super) async fn run(command: Command) -> Exit {
    let (result, printing) = match command {
        Command::Init(args) => (init::run(&args).await.map(|()| Exit::Done), Printing::default()),
        Command::Validate(args) => (validate(&args).await, args.printing),
        Command::Show(args) => (show(&args).map(|()| Exit::Done), args.printing),
        Command::Diff(args) => (diff::diff(&args), args.printing),
        Command::Import(args) => (import::import(&args).map(|()| Exit::Done), Printing::default()),
        Command::Admit(args) => (admit(&args).map(|()| Exit::Done), Printing::default()),
        Command::Schema => {
            let schema = format!("{:#}\n", nodeinit_config::json_schema());
            (print(&schema).map(|()| Exit::Done), Printing::default())
        }
    };
    result.unwrap_or_else(|error| {
        printing.report().failed("config", &error);
        error.exit
    })
}

async fn validate(args: &Validate) -> Result<Exit, StepError> {
    let mut source = args.source.clone();
    source.config.extend(args.files.iter().cloned());
    let layers = load::layers(&Files::of_machine(), &source)?;
    if layers.is_empty() {
        return Err(load::none());
    }
    let (problems, warnings) = match nodeinit_config::load(&layers) {
        Ok(loaded) => (of_this_machine(&loaded).await, loaded.warnings),
        Err(Problems { errors, warnings }) => (errors, warnings),
    };
    let exit = if problems.is_empty() { Exit::Done } else { Exit::BadConfig };
    match (args.printing.output, exit) {
        (Output::Json, _) => {
            let list = |problems: &[Problem]| problems.iter().map(ConfigProblem::from).collect::<Vec<_>>();
            let ok = problems.is_empty();
            print(&format!("{}\n", json!({ "ok": ok, "problems": list(&problems), "warnings": list(&warnings) })))?;
        }
        (Output::Text, Exit::Done) => {
            load::warn(&warnings);
            let used = layers.iter().filter(|layer| layer.is_used());
            let names: Vec<&str> = used.map(|layer| layer.name.as_str()).collect();
            print(&format!("the configuration is good: {}\n", names.join(", ")))?;
        }
        (Output::Text, _) => {}
    }
    if exit != Exit::Done {
        tell(&format!("error: {}", Problems { errors: problems, warnings }));
    }
    Ok(exit)
}

/// What a valid configuration can still lack: a machine; and, on a machine that it lists, the files that it refers to.
async fn of_this_machine(loaded: &Loaded) -> Vec<Problem> {
    if let Some(none) = loaded.no_machines() {
        return vec![none];
    }
    let Ok(node) = loaded.cluster.node(&facts::local(), None) else { return Vec::new() };
    let (files, cluster) = match loaded.of_machine(&node.name) {
        Ok(own) => (Files::of_machine(), own.cluster),
        Err(problems) => return problems.errors,
    };
    let here = |path: &str, what: String, remedy: String| Problem {
        origin: Origin { source: format!("this machine, {}", node.name), line: 0, column: 0 },
        path: path.to_owned(),
        what,
        remedy,
    };
    let mut problems = Vec::new();
    if node.role == Role::FirstMaster && fanout::reaches(&cluster, &node.name, |_| true) {
        let key = fanout::read_key(&files, &cluster, SystemTime::now()).map(drop);
        problems.extend(key.err().map(|e| here("ssh", e.to_string(), e.advice().unwrap_or_default().to_owned())));
    }
    if node.role == Role::Bastion {
        // It uses neither the kernel parameters nor the images of nodes.
        return problems;
    }
    let findings = [
        preflight::sysctls_of(&files, &cluster),
        preflight::images_of(&files, &Commands::default(), &cluster, node.role).await,
    ];
    problems.extend(findings.concat().into_iter().map(|finding| here("", finding.what, finding.remedy)));
    problems
}

fn admit(args: &Admit) -> Result<(), StepError> {
    let files = Files::of_machine();
    // A configuration that cannot be read is replaced.
    let loaded =
        load::layers(&files, &load::Source::default()).ok().and_then(|layers| nodeinit_config::load(&layers).ok());
    let own = loaded.map(|loaded| lead::digest(&loaded));
    let last = Journal::read_only(&files)?.state().led;
    // A run may have died, or stopped, after it sent this configuration and before it was applied here.
    let is_sent = files.read_text(CONFIG)?.is_some_and(|text| fanout::is_unedited(&text));
    lead::admit(last.as_ref(), &args.led, own.as_deref().filter(|_| args.master && !is_sent))?;
    print(&format!("{}\n", own.unwrap_or_default()))
}

fn show(Show { origin, machine, raw, source, printing }: &Show) -> Result<(), StepError> {
    let layers = load::layers(&Files::of_machine(), source)?;
    let loaded = nodeinit_config::load(&layers)?;
    load::warn(&loaded.warnings);
    let loaded = of_machine(loaded, machine.as_deref())?;
    match printing.output {
        _ if *raw => print(&loaded.master_config()),
        Output::Text if *origin => print(&loaded.text()),
        Output::Text => print(&loaded.plain_text()),
        Output::Json => print(&format!("{}\n", loaded.json())),
    }
}

/// Returns the configuration, or what the machine with this name applies of it.
fn of_machine(loaded: Loaded, name: Option<&str>) -> Result<Loaded, StepError> {
    let Some(name) = name else { return Ok(loaded) };
    if !loaded.cluster.has_machine(name) {
        let what = format!("no machine has the name {name}");
        return Err(StepError::new(what)
            .exit(Exit::Usage)
            .hint("name an entry of `masters` or `workers`, or the bastion"));
    }
    Ok(loaded.of_machine(name)?)
}
