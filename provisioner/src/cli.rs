//! The command line: arguments in, a command chosen.

mod by_hand;
mod machines;
mod status;

use crate::{
    apply::Apply,
    cloud,
    delivery::Delivery,
    destroy,
    error::Error,
    lock::{self, Lock},
    openstack::Client,
    output::{Format, Output},
    report,
    resources::{
        Found, Kind, Marker, Snapshot, desired,
        diff::{self, Action, Obstacle, Plan},
        observe,
    },
    secrets::Secrets,
    userdata::{self, UserDataError},
};
use clap::{Args, Parser, Subcommand};
use machines::Machine;
use nodeinit_config::{Layer, Loaded, OpenStack, cluster::Role, load};
use serde_json::json;
use std::{
    io::{BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

/// Something is to be done (`plan`). Source: DESIGN.md.
const PENDING: u8 = 2;
/// The command line asks for what this version has not. Source: sysexits.h.
pub const USAGE: u8 = 64;

/// Creates a cluster's OpenStack resources and hands each machine its role's configuration.
#[derive(Parser)]
#[command(name = "provisioner", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What `apply` would create, change and delete; exit 0: nothing, 2: something, 78: something stands in the way
    Plan(Source),
    /// Create what is missing, mend what was changed, and bring up the cluster on its machines
    Apply {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        operator: Operator,
        /// Whoever holds the cluster's lock is known to be dead
        #[arg(long)]
        break_lock: bool,
    },
    /// What there is, with each machine's node, part in etcd and place behind the balancer
    Status {
        #[command(flatten)]
        source: Source,
        /// Tell of the cloud's resources only, and ask no machine
        #[arg(long)]
        resources_only: bool,
    },
    /// Delete what this cluster owns
    Destroy {
        #[command(flatten)]
        source: Source,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Whoever holds the cluster's lock is known to be dead
        #[arg(long)]
        break_lock: bool,
    },
    /// The user-data of one machine, without the cloud
    Userdata {
        /// The machine's name in the configuration
        name: String,
        #[command(flatten)]
        source: Source,
    },
    /// The secrets of one machine, without the cloud: what belongs at /etc/nodeinit/secrets.yaml there
    Bundle {
        /// The machine's name in the configuration
        name: String,
        /// Write them into this file, mode 0600, instead of printing them
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        source: Source,
    },
    /// The other masters
    #[command(subcommand)]
    Master(Machine),
    /// The workers
    #[command(subcommand)]
    Worker(Machine),
}

#[derive(Args)]
struct Source {
    /// A configuration file; repeat it, the later wins
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    config: Vec<PathBuf>,
    /// The secrets bundle; made where it is missing and needed
    #[arg(long, value_name = "FILE", default_value = "secrets.yaml")]
    secrets: PathBuf,
    /// Text for people, or one JSON object a line
    #[arg(long, value_enum, default_value_t)]
    output: Format,
}

/// What lies on the operator's side.
#[derive(Args, Default)]
struct Operator {
    /// Where the administrator's kubeconfig is written; CLUSTER.kubeconfig if unset
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// See to the resources only, and leave the machines to themselves
    #[arg(long)]
    resources_only: bool,
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// What went wrong, for `main` to tell.
    pub async fn run(self) -> Result<ExitCode, Error> {
        match self.command {
            Command::Plan(source) => plan(&source).await,
            Command::Apply { source, operator, break_lock } => apply(&source, &operator, break_lock).await,
            Command::Status { source, resources_only } => status::run(&source, resources_only).await,
            Command::Destroy { source, yes, break_lock } => destroy(&source, yes, break_lock).await,
            Command::Userdata { name, source } => by_hand::user_data(&source, &name),
            Command::Bundle { name, out, source } => by_hand::bundle(&source, &name, out.as_deref()),
            Command::Master(machine) => machines::run(&machine, Role::Master).await,
            Command::Worker(machine) => machines::run(&machine, Role::Worker).await,
        }
    }
}

/// What every command that speaks to the cloud begins with.
struct Session {
    loaded: Loaded,
    cloud: OpenStack,
    marker: Marker,
    client: Client,
    secrets: PathBuf,
    output: Output,
}

impl Session {
    async fn open(source: &Source) -> Result<Self, Error> {
        let loaded = read(source)?;
        let cloud = loaded.cluster.openstack.clone().ok_or_else(|| Error::Configuration {
            what: "the configuration has no section `openstack`".to_owned(),
            remedy: "describe the cloud (docs/examples/openstack.yaml), or run `nodeinit up` on machines that are there already".to_owned(),
        })?;
        let variables = |name: &str| std::env::var(name).ok();
        let credentials = cloud::find(cloud.cloud.as_deref(), &variables)?;
        let client = Client::connect(credentials, cloud.parallel, cloud.timeouts.request).await?;
        let marker = Marker::new(&cloud.cluster_id);
        let (secrets, output) = (source.secrets.clone(), Output::new(source.output));
        Ok(Self { loaded, marker, client, cloud, secrets, output })
    }

    async fn plan(&self) -> Result<(Snapshot, Plan), Error> {
        let snapshot = observe::snapshot(&self.client, &self.marker, &self.cloud).await?;
        let plan = self.compare(&snapshot);
        Ok((snapshot, plan))
    }

    fn compare(&self, snapshot: &Snapshot) -> Plan {
        let cluster = &self.loaded.cluster;
        let mut plan = diff::plan(cluster, &self.cloud, desired::of(cluster, &self.cloud), snapshot);
        let servers = plan.items.iter().filter(|item| item.part.kind == Kind::Server && item.action == Action::Create);
        // Before there is a bundle, all else can be told.
        let secrets = self.secrets.exists().then(|| Secrets::open(&self.secrets, None).ok()).flatten();
        let told = servers.zip(secrets.iter().cycle()).filter_map(|(item, secrets)| {
            userdata::of(&self.loaded, &item.part.name, &userdata::Inputs::default(), secrets).err()
        });
        let obstacle = |error: UserDataError| Obstacle { what: error.to_string(), remedy: error.remedy().to_owned() };
        let obstacles: Vec<Obstacle> = told.map(obstacle).collect();
        plan.obstacles.extend(obstacles);
        plan
    }

    /// Takes the cluster's lock, and tells where it was another's.
    async fn lock(&self, break_lock: bool) -> Result<Lock<'_>, Error> {
        let (lock, told) = lock::take(&self.client, &self.marker, break_lock).await?;
        if let Some(told) = told {
            self.output.tell(&told, || json!({ "event": "note", "what": told }));
        }
        Ok(lock)
    }

    fn told(&self) {
        let count = self.client.count();
        self.output.tell(
            &format!("{} reading and {} writing requests", count.reads, count.writes),
            || json!({ "event": "requests", "reads": count.reads, "writes": count.writes }),
        );
    }
}

async fn plan(source: &Source) -> Result<ExitCode, Error> {
    let session = Session::open(source).await?;
    let (_, plan) = session.plan().await?;
    report::plan(&plan, &session.output);
    session.told();
    Ok(match (plan.is_blocked(), plan.is_empty()) {
        (true, _) => ExitCode::from(78),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(PENDING),
    })
}

async fn apply(source: &Source, operator: &Operator, break_lock: bool) -> Result<ExitCode, Error> {
    let session = Session::open(source).await?;
    create(&session, operator, break_lock, None).await
}

/// Makes all, or one machine `only`.
async fn create(
    session: &Session,
    operator: &Operator,
    break_lock: bool,
    only: Option<(&str, Role)>,
) -> Result<ExitCode, Error> {
    let alone = only.map(|(name, _)| name);
    let begun = Instant::now();
    let (snapshot, mut first) = session.plan().await?;
    restrict(&mut first, alone);
    if first.is_blocked() {
        report::plan(&first, &session.output);
        return Err(Error::Configuration {
            what: "something stands in the way; nothing was done".to_owned(),
            remedy: "mend what is told above".to_owned(),
        });
    }
    let secrets = Secrets::open(&session.secrets, program(&session.loaded))?;
    let found = if first.is_empty() {
        lock::clear(&session.client, &snapshot.ours).await?;
        snapshot.ours
    } else {
        let lock = session.lock(break_lock).await?;
        let done = session.output.live(locked(session, &secrets, snapshot, alone)).await;
        lock.release().await?;
        done?
    };
    if !operator.resources_only {
        session.output.live(delivery(session, operator, &secrets, found, begun).run(only)).await?;
    }
    session.output.tell_timeline();
    session.output.tell("all is as it should be", || json!({ "event": "finished" }));
    session.told();
    Ok(ExitCode::SUCCESS)
}

/// Somebody else may have worked until the lock was ours, so that what is ours is looked at again.
async fn locked(
    session: &Session,
    secrets: &Secrets,
    mut snapshot: Snapshot,
    only: Option<&str>,
) -> Result<Vec<Found>, Error> {
    snapshot.ours = observe::ours(&session.client, &session.marker).await?;
    let mut plan = session.compare(&snapshot);
    restrict(&mut plan, only);
    let parts = (&session.loaded, &session.cloud, secrets);
    Apply::new(&session.client, &session.marker, parts, &snapshot, &plan, session.output.clone()).run().await
}

fn delivery<'s>(
    session: &'s Session,
    operator: &Operator,
    secrets: &'s Secrets,
    found: Vec<Found>,
    begun: Instant,
) -> Delivery<'s> {
    let beside = |end: &str| PathBuf::from(format!("{}.{end}", session.loaded.cluster.name));
    Delivery {
        found,
        client: &session.client,
        marker: &session.marker,
        loaded: &session.loaded,
        cloud: &session.cloud,
        secrets,
        kubeconfig: operator.kubeconfig.clone().unwrap_or_else(|| beside("kubeconfig")),
        known_hosts: beside("known_hosts"),
        patience: session.loaded.cluster.timeouts.ssh,
        output: session.output.clone(),
        begun,
    }
}

/// The nodeinit that machines get, where it lies on this side.
fn program(loaded: &Loaded) -> Option<&Path> {
    loaded.cluster.openstack.as_ref()?.binary.file.as_deref()
}

/// Leaves what is not this machine's as it is.
fn restrict(plan: &mut Plan, only: Option<&str>) {
    let Some(name) = only else { return };
    for item in plan.items.iter_mut().filter(|item| item.part.name != name && item.action != Action::Keep) {
        item.action = Action::Left;
    }
}

async fn destroy(source: &Source, yes: bool, break_lock: bool) -> Result<ExitCode, Error> {
    let session = Session::open(source).await?;
    let ours = observe::ours(&session.client, &session.marker).await?;
    let doomed = destroy::doomed(&ours);
    report::doomed(&doomed, &session.output);
    // A lock may be all that a killed run has left.
    if !ours.is_empty() {
        if !doomed.is_empty() && !yes && !confirmed(&session, doomed.len())? {
            session.output.text("nothing was deleted");
            return Ok(ExitCode::from(1));
        }
        let lock = session.lock(break_lock).await?;
        let output = &session.output;
        output.live(destroy::run(&session.client, &session.marker, &session.cloud, output)).await?;
        lock.release().await?;
    }
    session.output.tell("nothing of this cluster is left", || json!({ "event": "finished" }));
    session.told();
    Ok(ExitCode::SUCCESS)
}

/// A person types the cluster's name; where nobody can, it was a mistake to leave `--yes` out.
fn confirmed(session: &Session, count: usize) -> Result<bool, Error> {
    let name = &session.loaded.cluster.name;
    if !std::io::stdin().is_terminal() {
        return Err(Error::Usage(
            "`destroy` asks before it deletes, and nobody is there to answer; add --yes".to_owned(),
        ));
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "delete these {count} for good? type the cluster's name ({name}): ");
    let _ = err.flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && answer.trim() == name)
}

fn read(source: &Source) -> Result<Loaded, Error> {
    let wrong = |what: String, remedy: &str| Error::Configuration { what, remedy: remedy.to_owned() };
    let layer = |path: &PathBuf| {
        let bytes = std::fs::read(path)
            .map_err(|e| wrong(format!("cannot read {}: {e}", path.display()), "name it with --config"))?;
        Ok(Layer::file(path.display().to_string(), bytes))
    };
    let layers = source.config.iter().map(layer).collect::<Result<Vec<_>, Error>>()?;
    let loaded = load(&layers).map_err(|problems| wrong(problems.to_string(), ""))?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}\n  hint:  {}", warning.remedy);
    }
    Ok(loaded)
}
