//! The command line: parses arguments, chooses the plan, reports the outcome.

mod addons;
mod agent;
mod artifacts;
mod certs;
mod completion;
mod config;
mod etcd;
mod execute;
mod help;
mod load;
mod logging;
mod mistyped;
mod permit;
mod phase;
mod preflight;
mod remove;
mod reset;
mod secrets;
mod setup;
mod status;
mod timeline;
mod token;
mod up;
mod upgrade;
mod version;

use crate::{
    engine::{
        error::{Exit, StepError},
        report::{Report, Style},
    },
    host::{limits, own_program},
};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use nodeinit_config::cluster::Role;
use nodeinit_screen::{tell, visible};
use std::io::{self, Write};

/// Turn this machine into a Kubernetes master or worker, or a bastion.
#[derive(Parser)]
#[command(name = "nodeinit", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 a step failed, 2 changes pending (plan), 3 some hosts failed, 64 usage, \
69 preflight failed, 70 a defect of nodeinit, 75 try again, 77 no permission, 78 bad configuration

The pages that `--help` of a command names are in the repository; a package has them in /usr/share/doc/nodeinit";

#[derive(Subcommand)]
enum Command {
    /// Bring this machine to the configured state; an interrupted run resumes
    Up(up::Up),
    /// Show what `up` would do, without changing anything; exit code 2 if there are changes
    Plan(up::Run),
    /// Report every problem of this machine with its fix; changes nothing
    Preflight(Common),
    /// Show steps, component health, nodes and certificate expiry
    Status(status::Status),
    /// Draw a timeline of a past run: when each step started and ended, on all machines of the run
    Timeline(timeline::Timeline),
    /// Undo everything that nodeinit did on this machine
    Reset(reset::Reset),
    /// Approve kubelets' certificate requests until stopped; the service nodeinit-agent on masters runs it
    Agent(agent::Agent),
    /// Print the version of nodeinit and the supported versions of Kubernetes
    Version(version::Version),
    /// Print a completion script for a shell
    Completion(completion::Completion),
    /// Write, check and show the configuration
    #[command(subcommand)]
    Config(config::Command),
    /// List, fetch, export and bundle the programs and images that a cluster needs
    #[command(subcommand)]
    Artifacts(artifacts::Artifacts),
    /// Generate and inspect the cluster's secrets bundle
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    /// Manage bootstrap tokens
    #[command(subcommand)]
    Token(token::Token),
    /// Manage optional addons
    #[command(subcommand)]
    Addons(addons::Addons),
    /// Check and renew certificates
    #[command(subcommand)]
    Certs(certs::Certs),
    /// Inspect and maintain etcd
    #[command(subcommand)]
    Etcd(etcd::Etcd),
    /// Upgrade the cluster to another version of Kubernetes
    #[command(subcommand)]
    Upgrade(upgrade::Command),
    /// Add, remove or replace masters
    #[command(subcommand)]
    Master(up::MachineCommand),
    /// Add, remove or replace workers
    #[command(subcommand)]
    Worker(up::MachineCommand),
    /// Run a single step (debugging)
    #[command(subcommand)]
    Phase(phase::Phase),
}

/// Options of all commands that work on this machine.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) source: load::Source,
    /// This machine's role; by default taken from the configuration
    #[arg(long, value_enum)]
    pub(crate) role: Option<RoleName>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Options for the output of results and progress.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Printing {
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: Output,
    #[command(flatten)]
    verbosity: Verbosity,
}

impl Printing {
    /// Returns a report in this format on standard output.
    pub(crate) fn report(self) -> Report {
        let Verbosity { verbose, quiet } = self.verbosity;
        let report = Report::stdout(self.output.into());
        match (quiet, logging::is_verbose(verbose)) {
            (true, _) => report.quiet(),
            // Debug lines would be overwritten.
            (_, true) => report.plain(),
            _ => report,
        }
    }
}

/// Options for the amount of output. All commands accept these flags, also in front of the command.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Verbosity {
    /// Also write debug detail to standard error and to systemd's journal, as NODEINIT_LOG=debug does
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Do not report progress: print only results and failures
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RoleName {
    FirstMaster,
    Master,
    Worker,
    Bastion,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::FirstMaster => Self::FirstMaster,
            RoleName::Master => Self::Master,
            RoleName::Worker => Self::Worker,
            RoleName::Bastion => Self::Bastion,
        }
    }
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Plain text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

impl From<Output> for Style {
    fn from(output: Output) -> Self {
        match output {
            Output::Text => Self::Text,
            Output::Json => Self::Json,
        }
    }
}

/// Prints to standard output, without control characters. A closed pipe (`| head`) is not an error; `println!` would
/// panic.
fn print(text: &str) -> Result<(), StepError> {
    let mut out = io::stdout().lock();
    match out.write_all(visible(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(StepError::caused("cannot print", e)),
        _ => Ok(()),
    }
}

/// Reports how a command ended.
fn ended(report: Report, command: &str, result: Result<(), StepError>) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            report.failed(command, &error);
            error.exit
        }
    }
}

/// The command line as it is described to clap: `docs/reference/cli.md` is made from it.
#[must_use]
pub fn command() -> clap::Command {
    help::with_examples(Cli::command())
}

/// Turns a panic, which is a defect of nodeinit, into its exit code and a message.
pub fn report_defects() {
    std::panic::set_hook(Box::new(|panic| {
        tell(&format!(
            "error: a defect of nodeinit: {panic}\n  hint:  please report this; the journal contains all changes so far"
        ));
        std::process::exit(Exit::Defect as i32);
    }));
}

/// Reads the command line and runs the command.
#[must_use]
pub fn run() -> Exit {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() => {
            tell(mistyped::explained(&e).trim_end());
            return Exit::Usage;
        }
        Err(e) => {
            // If the terminal is closed, the error cannot be printed.
            let _ = e.print();
            return Exit::Done;
        }
    };
    logging::start(cli.verbosity.verbose);
    limits::raise_open_files();
    // Before a step merges a system extension.
    let _ = own_program::path();
    // One thread waits; digests and disk I/O run on separate threads.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(e) => {
            tell(&format!("error: cannot start: {e}"));
            return Exit::TryAgain;
        }
    };
    match cli.command {
        Command::Up(args) => runtime.block_on(up::up(args)),
        Command::Plan(args) => runtime.block_on(up::plan(args)),
        Command::Preflight(common) => runtime.block_on(preflight::run(common)),
        Command::Status(args) => runtime.block_on(status::run(args)),
        Command::Timeline(args) => timeline::run(&args),
        Command::Version(args) => ended(args.printing.report(), "version", version::run(&args)),
        Command::Completion(args) => ended(Printing::default().report(), "completion", completion::run(&args)),
        Command::Reset(args) => runtime.block_on(reset::run(args)),
        Command::Config(command) => runtime.block_on(config::run(command)),
        Command::Artifacts(command) => runtime.block_on(artifacts::run(command)),
        Command::Secrets(command) => secrets::run(command),
        Command::Token(command) => runtime.block_on(token::run(command)),
        Command::Agent(args) => runtime.block_on(agent::run(args)),
        Command::Addons(command) => runtime.block_on(addons::run(command)),
        Command::Certs(command) => runtime.block_on(certs::run(command)),
        Command::Etcd(command) => runtime.block_on(etcd::run(command)),
        Command::Upgrade(command) => runtime.block_on(upgrade::run(command)),
        Command::Master(up::MachineCommand::Add(args)) => runtime.block_on(up::add(args, Role::Master)),
        Command::Master(up::MachineCommand::Replace(args)) => runtime.block_on(up::replace(args, Role::Master)),
        Command::Master(up::MachineCommand::Remove(args)) => runtime.block_on(remove::run(args, Role::Master)),
        Command::Worker(up::MachineCommand::Add(args)) => runtime.block_on(up::add(args, Role::Worker)),
        Command::Worker(up::MachineCommand::Replace(args)) => runtime.block_on(up::replace(args, Role::Worker)),
        Command::Worker(up::MachineCommand::Remove(args)) => runtime.block_on(remove::run(args, Role::Worker)),
        Command::Phase(phase) => runtime.block_on(phase::run(phase)),
    }
}
