//! `provisioner`: creates a cluster's OpenStack resources, and hands each machine the binary and its role's
//! configuration. So far it reads its arguments and the configuration, and refuses what is not built yet.

use clap::{Args, Parser, Subcommand, error::ErrorKind};
use nodeinit_config::{Layer, Loaded, load};
use std::{path::PathBuf, process::ExitCode};

/// The command line is wrong, or asks for what this version has not. Source: sysexits.h.
const USAGE: u8 = 64;
/// The configuration is wrong.
const BAD_CONFIG: u8 = 78;

/// Creates a cluster's OpenStack resources and hands each machine its role's configuration.
#[derive(Parser)]
#[command(name = "provisioner", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What `apply` would create, change and delete
    Plan(Source),
    /// Create what is missing
    Apply(Source),
    /// What there is
    Status(Source),
    /// Delete what this cluster owns
    Destroy(Source),
    /// The user-data of one machine
    Userdata {
        /// The machine's name in the configuration
        name: String,
        #[command(flatten)]
        source: Source,
    },
    /// Add or remove a worker
    #[command(subcommand)]
    Worker(Worker),
}

#[derive(Subcommand)]
enum Worker {
    /// Create a worker's resources
    Add(Named),
    /// Delete a worker's resources
    Remove(Named),
}

#[derive(Args)]
struct Named {
    /// The worker's name in the configuration
    name: String,
    #[command(flatten)]
    source: Source,
}

#[derive(Args)]
struct Source {
    /// A configuration file; repeat it, the later wins
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    config: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(e) => {
            // Where the terminal is gone there is nobody to tell.
            let _ = e.print();
            let asked = matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked { ExitCode::SUCCESS } else { ExitCode::from(USAGE) };
        }
    };
    let (verb, machine, source) = match &command {
        Command::Plan(source) => ("plan", None, source),
        Command::Apply(source) => ("apply", None, source),
        Command::Status(source) => ("status", None, source),
        Command::Destroy(source) => ("destroy", None, source),
        Command::Userdata { name, source } => ("userdata", Some(name), source),
        Command::Worker(Worker::Add(named)) => ("worker add", Some(&named.name), &named.source),
        Command::Worker(Worker::Remove(named)) => ("worker remove", Some(&named.name), &named.source),
    };
    let cluster = match read(source) {
        Ok(loaded) => loaded.cluster,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(BAD_CONFIG);
        }
    };
    if let Some(name) = machine
        && !cluster.masters.iter().chain(&cluster.workers).any(|m| m.name == *name)
    {
        eprintln!("error: the configuration of {} has no machine {name}", cluster.name);
        return ExitCode::from(BAD_CONFIG);
    }
    eprintln!(
        "error: `provisioner {verb}` is not part of this version; nothing was done\n  \
         hint:  the configuration is good: `nodeinit up` takes it on machines that are there already"
    );
    ExitCode::from(USAGE)
}

fn read(source: &Source) -> Result<Loaded, String> {
    let layer = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        Ok(Layer::file(path.display().to_string(), bytes))
    };
    let layers = source.config.iter().map(layer).collect::<Result<Vec<_>, String>>()?;
    let loaded = load(&layers).map_err(|problems| problems.to_string())?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}\n  hint:  {}", warning.remedy);
    }
    Ok(loaded)
}
