//! The command line: arguments in, a command chosen, its failure told.

mod apply;
mod by_hand;
mod confirm;
mod destroy;
mod folder;
mod init;
mod listed;
mod logging;
mod machines;
mod plan;
mod replace;
mod session;
mod status;
mod timeline;

use crate::{
    error::Error,
    output::{self, Format, Output},
};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use machines::Machine;
use nodeinit_config::{Layer, Loaded, cluster::Role, load};
use nodeinit_protocol::{Exit, version};
use nodeinit_screen::tell;
use std::path::{Path, PathBuf};

/// The file of the configuration, if none is named.
const FILES: &str = "cluster.yaml";

/// What `--help` prints below the options: an example, and the page that explains more.
macro_rules! example {
    ($example:literal) => {
        concat!("Example:\n  ", $example, "\n\nMore: docs/reference/openstack.md")
    };
}
use example;

/// Create a cluster's OpenStack resources and give each machine its role's configuration
#[derive(Parser)]
#[command(name = "provisioner", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 changes pending (plan), 3 some parts failed or are unhealthy, 64 usage, \
70 a defect of the provisioner, 75 try again, 77 no permission, 78 bad configuration or a conflict";

#[derive(Subcommand)]
enum Command {
    /// Write the configuration of a new cluster, with a new cluster ID; on a terminal, ask for each missing value
    #[command(after_help = example!("provisioner init --name demo --image debian-12 --flavor m1.medium --access 192.0.2.0/24"))]
    Init(init::Init),
    /// Show what `apply` would create, change and delete; exit codes: 0 no changes, 2 changes, 3 no changes but an unhealthy server, 78 a conflict
    #[command(after_help = example!("provisioner plan --config cluster.yaml"))]
    Plan(Source),
    /// Create missing resources, repair drift, and bring up the cluster on its machines; show the plan and ask first
    #[command(after_help = example!("provisioner apply --config cluster.yaml --yes"))]
    Apply(apply::Arguments),
    /// Show the resources, and each machine's node, etcd member and load balancer state
    #[command(after_help = example!("provisioner status -o json"))]
    Status {
        #[command(flatten)]
        source: Source,
        /// Show the cloud's resources only; contact no machine
        #[arg(long)]
        resources_only: bool,
    },
    /// Draw a timeline of a past run: when each part started and ended, in the cloud and on all machines
    #[command(after_help = example!("provisioner timeline -o svg >timeline.svg"))]
    Timeline(timeline::Timeline),
    /// Delete the cluster's resources; show them and ask first
    #[command(after_help = example!("provisioner destroy --config cluster.yaml"))]
    Destroy(destroy::Arguments),
    /// Print the user-data of one machine; needs no cloud
    #[command(after_help = example!("provisioner userdata m1"))]
    Userdata {
        /// The machine's name in the configuration
        name: String,
        #[command(flatten)]
        source: Source,
    },
    /// Print the secrets of one machine, for its /etc/nodeinit/secrets.yaml; needs no cloud
    #[command(after_help = example!("provisioner bundle m1 --out m1-secrets.yaml"))]
    Bundle {
        /// The machine's name in the configuration
        name: String,
        /// Write the secrets to this file, mode 0600, instead of printing them
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        source: Source,
    },
    /// Add, replace or remove masters
    #[command(subcommand)]
    Master(Machine),
    /// Add, replace or remove workers
    #[command(subcommand)]
    Worker(Machine),
    /// Print the version of the provisioner and the supported versions of Kubernetes
    #[command(after_help = example!("provisioner version -o json"))]
    Version {
        /// Output format
        #[arg(short, long, value_enum, default_value_t)]
        output: Format,
    },
    /// Print a completion script for a shell
    #[command(after_help = example!("provisioner completion bash >/etc/bash_completion.d/provisioner"))]
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// Which cluster is meant.
#[derive(Args)]
struct Configuration {
    /// Configuration file; may be repeated, later files override earlier ones
    #[arg(long, value_name = "FILE", default_value = FILES)]
    config: Vec<PathBuf>,
    /// Read environments/defaults.yaml, environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and
    /// hosts/HOST.DOMAIN.yaml in this order, where DOMAIN follows the first dot of NAME; only clusters/NAME.yaml must exist, and it has the
    /// clusterID. The secrets bundle is clusters/NAME.secrets.yaml
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = nodeinit_config::folder::name)]
    cluster: Option<String>,
}

impl Configuration {
    fn read(&self) -> Result<Loaded, Error> {
        match &self.cluster {
            Some(name) => {
                let loaded = read(&folder::layers(Path::new(""), name)?)?;
                folder::owns_its_id(name, &loaded)?;
                Ok(loaded)
            }
            None => read(&self.config.iter().map(|path| layer(path)).collect::<Result<Vec<_>, Error>>()?),
        }
    }
}

#[derive(Args)]
struct Source {
    #[command(flatten)]
    configuration: Configuration,
    /// Secrets bundle; `apply` generates it for a new cluster
    #[arg(long, value_name = "FILE", default_value = "secrets.yaml", conflicts_with = "cluster")]
    secrets: PathBuf,
    /// Output format: text, or one JSON object per line
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

impl Source {
    fn read(&self) -> Result<Loaded, Error> {
        self.configuration.read()
    }

    /// The file of the secrets bundle.
    fn secrets(&self) -> PathBuf {
        self.configuration.cluster.as_deref().map_or_else(|| self.secrets.clone(), folder::secrets)
    }

    /// How the paths of the files begin that `apply` writes for the cluster with this name in its configuration.
    fn beside(&self, name: &str) -> String {
        self.configuration.cluster.as_deref().map_or_else(|| name.to_owned(), folder::beside)
    }
}

/// Files on the operator's machine.
#[derive(Args, Default)]
struct Operator {
    /// Where to write the administrator's kubeconfig; by default NAME.kubeconfig, where NAME is the cluster's name; with --cluster, clusters/NAME.kubeconfig
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Manage the resources only, not the machines
    #[arg(long)]
    resources_only: bool,
}

/// How much is printed. All commands take these flags, also in front of the command.
#[derive(Args, Clone, Copy)]
struct Verbosity {
    /// Also write debug detail to standard error, such as each request to the cloud
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Do not report progress: print only results and failures
    #[arg(short, long, global = true)]
    quiet: bool,
}

impl Verbosity {
    fn applied(self, output: Output) -> Output {
        match self {
            Self { quiet: true, .. } => output.quiet(),
            // Its lines would be drawn over.
            Self { verbose: true, .. } => output.plain(),
            _ => output,
        }
    }
}

/// The command line as it is described to clap.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Reads the command line, runs the command, and reports its error.
#[must_use]
pub fn run() -> Exit {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(e) => {
            // Where the terminal is gone there is nobody to tell.
            let _ = e.print();
            return if e.use_stderr() { Exit::Usage } else { Exit::Done };
        }
    };
    logging::start(cli.verbosity.verbose);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            tell(&format!("error: cannot start: {e}"));
            return Exit::Failed;
        }
    };
    let format = cli.command.format();
    runtime.block_on(cli.run()).unwrap_or_else(|error| {
        output::failure(format, &error);
        error.exit()
    })
}

impl Cli {
    async fn run(self) -> Result<Exit, Error> {
        let verbosity = self.verbosity;
        match self.command {
            Command::Init(args) => init::run(&args),
            Command::Plan(source) => plan::run(&source, verbosity).await,
            Command::Apply(args) => apply::run(&args, verbosity).await,
            Command::Status { source, resources_only } => status::run(&source, resources_only, verbosity).await,
            Command::Timeline(args) => timeline::run(&args),
            Command::Destroy(args) => destroy::run(&args, verbosity).await,
            Command::Userdata { name, source } => by_hand::user_data(&source, &name),
            Command::Bundle { name, out, source } => by_hand::bundle(&source, &name, out.as_deref()),
            Command::Master(machine) => machines::run(&machine, Role::Master, verbosity).await,
            Command::Worker(machine) => machines::run(&machine, Role::Worker, verbosity).await,
            Command::Version { output } => {
                print_version(output);
                Ok(Exit::Done)
            }
            Command::Completion { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command(), "provisioner", &mut script);
                output::line(String::from_utf8_lossy(&script).trim_end());
                Ok(Exit::Done)
            }
        }
    }
}

impl Command {
    /// The format in which it reports its failure.
    fn format(&self) -> Format {
        match self {
            Self::Init(_) | Self::Timeline(_) | Self::Completion { .. } => Format::Text,
            Self::Version { output } => *output,
            Self::Apply(args) => args.source.output,
            Self::Destroy(args) => args.source.output,
            Self::Master(machine) | Self::Worker(machine) => machine.source().output,
            Self::Plan(source)
            | Self::Status { source, .. }
            | Self::Userdata { source, .. }
            | Self::Bundle { source, .. } => source.output,
        }
    }
}

fn print_version(format: Format) {
    let number = env!("CARGO_PKG_VERSION");
    output::line(&match format {
        Format::Text => version::text("provisioner", number).trim_end().to_owned(),
        Format::Json => version::object(number).to_string(),
    });
}

fn layer(path: &Path) -> Result<Layer, Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::Configuration {
        what: format!("cannot read {}: {e}", path.display()),
        remedy: "pass the configuration file with --config, or the cluster's name with --cluster".to_owned(),
    })?;
    Ok(Layer::file(path.display().to_string(), bytes))
}

fn read(layers: &[Layer]) -> Result<Loaded, Error> {
    let loaded = load(layers)?;
    for warning in &loaded.warnings {
        tell(&format!("warning: {warning}\n  hint:  {}", warning.remedy));
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_an_example_that_parses_and_a_page_that_exists() {
        let mut count = 0;
        each_leaf(&command(), &mut |leaf| {
            let name = leaf.get_name();
            let help = leaf.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_else(|| panic!("no example of {name}"));
            let (examples, page) = help.split_once("\n\nMore: ").unwrap();
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page).exists(), "{name}: no {page}");
            for example in examples.lines().skip(1) {
                let words = example.split_whitespace().take_while(|word| !word.starts_with('>'));
                let parsed = command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                count += 1;
            }
        });
        assert!(count > 14, "{count} examples");
    }

    fn each_leaf(command: &clap::Command, look: &mut impl FnMut(&clap::Command)) {
        for inner in command.get_subcommands() {
            if inner.has_subcommands() { each_leaf(inner, look) } else { look(inner) }
        }
    }

    #[test]
    fn flags_are_read_in_front_of_a_command_and_behind_it() {
        for line in ["provisioner -q plan -o json", "provisioner plan --output json -q"] {
            let matches = command().try_get_matches_from(line.split(' ')).unwrap();
            let cli = Cli::from_arg_matches(&matches).unwrap();
            assert!(cli.verbosity.quiet && !cli.verbosity.verbose, "{line}");
            assert_eq!(cli.command.format(), Format::Json);
        }
        assert!(command().try_get_matches_from(["provisioner", "plan", "-q", "-v"]).is_err());
    }
}
