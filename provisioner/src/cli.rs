//! The command line: arguments in, a command chosen.

mod by_hand;
mod init;
mod machines;
mod status;

use crate::{
    apply::Apply,
    cloud,
    delivery::Delivery,
    destroy,
    error::{Error, PARTLY},
    lock::{self, Lock},
    openstack::Client,
    output::{Format, Output},
    permit, report,
    resources::{
        Found, Kind, Marker, Part, Snapshot, desired,
        diff::{self, Action, Obstacle, Plan},
        observe,
    },
    secrets::Secrets,
    userdata::{self, UserDataError},
};
use clap::{Args, Parser, Subcommand};
use machines::Machine;
use nodeinit_config::{Cluster, Layer, Loaded, OpenStack, cluster::Role, load};
use nodeinit_screen::tell;
use serde_json::json;
use std::{
    io::{BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

/// `plan` found changes to make. Source: docs/reference/cli.md.
const PENDING: u8 = 2;
/// The command line requests an unsupported feature. Source: sysexits.h.
pub const USAGE: u8 = 64;

/// Create a cluster's OpenStack resources and give each machine its role's configuration
#[derive(Parser)]
#[command(name = "provisioner", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the configuration of a new cluster, with a new cluster ID; on a terminal, ask for each missing value
    Init(init::Init),
    /// Show what `apply` would create, change and delete; exit codes: 0 no changes, 2 changes, 3 only an unhealthy server, 78 a conflict
    Plan(Source),
    /// Create missing resources, repair drift, and bring up the cluster on its machines
    Apply {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        operator: Operator,
        /// Take over the cluster's lock; use it only if the run that holds the lock is dead
        #[arg(long)]
        break_lock: bool,
        /// Replace a load balancer in ERROR; clients cannot reach the API until the new one is ACTIVE
        #[arg(long)]
        replace_balancer: bool,
    },
    /// Show the resources, and each machine's node, etcd member and load balancer state
    Status {
        #[command(flatten)]
        source: Source,
        /// Show the cloud's resources only; contact no machine
        #[arg(long)]
        resources_only: bool,
    },
    /// Delete the cluster's resources
    Destroy {
        #[command(flatten)]
        source: Source,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
        /// Take over the cluster's lock; use it only if the run that holds the lock is dead
        #[arg(long)]
        break_lock: bool,
    },
    /// Print the user-data of one machine; needs no cloud
    Userdata {
        /// The machine's name in the configuration
        name: String,
        #[command(flatten)]
        source: Source,
    },
    /// Print the secrets of one machine, for its /etc/nodeinit/secrets.yaml; needs no cloud
    Bundle {
        /// The machine's name in the configuration
        name: String,
        /// Write the secrets to this file, mode 0600, instead of printing them
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        source: Source,
    },
    /// Add or remove masters
    #[command(subcommand)]
    Master(Machine),
    /// Add or remove workers
    #[command(subcommand)]
    Worker(Machine),
}

#[derive(Args)]
struct Source {
    /// Configuration file; may be repeated, later files override earlier ones
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    config: Vec<PathBuf>,
    /// Secrets bundle; `apply` generates it for a new cluster
    #[arg(long, value_name = "FILE", default_value = "secrets.yaml")]
    secrets: PathBuf,
    /// Output format: text, or one JSON object per line
    #[arg(long, value_enum, default_value_t)]
    output: Format,
}

/// Files on the operator's machine.
#[derive(Args, Default)]
struct Operator {
    /// Where to write the administrator's kubeconfig; by default CLUSTER.kubeconfig
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Manage the resources only, not the machines
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
            Command::Init(args) => init::run(&args),
            Command::Plan(source) => plan(&source).await,
            Command::Apply { source, operator, break_lock, replace_balancer } => {
                apply(&source, &operator, break_lock, replace_balancer).await
            }
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
    replace_balancer: bool,
}

impl Session {
    async fn open(source: &Source) -> Result<Self, Error> {
        let loaded = read(source)?;
        let cloud = loaded.cluster.openstack.clone().ok_or_else(|| Error::Configuration {
            what: "the configuration has no section `openstack`".to_owned(),
            remedy: "describe the cloud (`provisioner init` writes an example), or run `nodeinit up` on machines that are there already".to_owned(),
        })?;
        let variables = |name: &str| std::env::var(name).ok();
        let credentials = cloud::find(cloud.cloud.as_deref(), &variables)?;
        let client = Client::connect(credentials, cloud.parallel, cloud.timeouts.request).await?;
        let marker = Marker::new(&cloud.cluster_id, &loaded.cluster.name);
        let (secrets, output) = (source.secrets.clone(), Output::new(source.output));
        Ok(Self { loaded, marker, client, cloud, secrets, output, replace_balancer: false })
    }

    async fn plan(&self) -> Result<(Snapshot, Plan), Error> {
        let snapshot = observe::snapshot(&self.client, &self.marker, &self.cloud).await?;
        self.tell_unread();
        let plan = self.compare(&snapshot);
        Ok((snapshot, plan))
    }

    fn compare(&self, snapshot: &Snapshot) -> Plan {
        let cluster = &self.loaded.cluster;
        let mut plan = diff::plan(cluster, &self.cloud, desired::of(cluster, &self.cloud), snapshot);
        if self.replace_balancer {
            diff::replace_balancer(&mut plan);
        }
        let servers = plan.items.iter().filter(|item| item.part.kind == Kind::Server && item.action == Action::Create);
        // `apply` generates a bundle that does not exist; everything else can be reported without one.
        let secrets = self.secrets.exists().then(|| Secrets::read(&self.secrets)).transpose();
        let told = servers.zip(secrets.iter().flatten().cycle()).filter_map(|(item, secrets)| {
            userdata::of(&self.loaded, &item.part.name, &userdata::Inputs::default(), secrets).err()
        });
        let obstacle = |error: UserDataError| Obstacle { what: error.to_string(), remedy: error.remedy().to_owned() };
        let obstacles: Vec<Obstacle> = told.map(obstacle).collect();
        plan.obstacles.extend(obstacles);
        plan.obstacles.extend(
            secrets.err().map(|error| Obstacle { what: error.to_string(), remedy: error.hint().unwrap_or_default() }),
        );
        plan
    }

    /// Takes the cluster's lock, and reports a wait for it.
    async fn lock(&self, break_lock: bool) -> Result<Lock<'_>, Error> {
        let tell = |text: &str| self.output.tell(text, || json!({ "event": "note", "what": text }));
        lock::take(&self.client, &self.marker, break_lock, tell).await
    }

    /// What is the cluster's in the cloud.
    async fn ours(&self) -> Result<Vec<Found>, Error> {
        let ours = observe::ours(&self.client, &self.marker, &self.cloud).await?;
        self.tell_unread();
        Ok(ours)
    }

    fn tell_unread(&self) {
        for (what, why) in self.client.unread() {
            let note = format!("{what} cannot be read and are not checked: {why}");
            self.output.tell(&format!("note     {note}"), || json!({ "event": "note", "what": note }));
        }
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
        (false, true) if plan.is_unhealthy() => ExitCode::from(PARTLY),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(PENDING),
    })
}

async fn apply(
    source: &Source,
    operator: &Operator,
    break_lock: bool,
    replace_balancer: bool,
) -> Result<ExitCode, Error> {
    let session = Session { replace_balancer, ..Session::open(source).await? };
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
            what: "the plan has conflicts; nothing was changed".to_owned(),
            remedy: "fix the conflicts listed above".to_owned(),
        });
    }
    report::unhealthy(&first, &session.output);
    let secrets = secrets(&snapshot.ours, &session.secrets, program(&session.loaded))?;
    let found = if first.is_empty() {
        lock::clear(&session.client, &snapshot.ours).await?;
        snapshot.ours
    } else {
        let lock = session.lock(break_lock).await?;
        session.output.live(lock.hold(locked(session, &secrets, snapshot, operator, alone))).await?
    };
    if operator.resources_only {
        permit::leave_to_operator(&session.client, &found).await?;
    }
    let (unhealthy, is_closed) = unhealthy(&session.loaded.cluster, &found, alone);
    if !operator.resources_only && !is_closed {
        session.output.live(delivery(session, operator, &secrets, found, begun).run(only)).await?;
    }
    session.output.tell_timeline();
    if unhealthy.is_empty() {
        session.output.tell("all is as it should be", || json!({ "event": "finished" }));
    }
    session.told();
    let rest = match is_closed && !operator.resources_only {
        true => "no other machine was reached",
        false => "the rest is up to date",
    };
    match unhealthy.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Error::Unhealthy { machines: unhealthy, rest }),
    }
}

/// The cluster's secrets. A bundle is generated only for a new cluster: machines, and disks that a machine has used, have the CA of a
/// bundle that exists.
fn secrets(ours: &[Found], path: &Path, nodeinit: Option<&Path>) -> Result<Secrets, Error> {
    match permit::is_new(ours) {
        true => Secrets::open(path, nodeinit),
        false => Secrets::existing(path),
    }
}

/// The machines of the configuration, or one machine `only`, whose servers are not ACTIVE; and whether that keeps the
/// others from being reached, or leaves nothing to do on machines.
fn unhealthy(cluster: &Cluster, found: &[Found], only: Option<&str>) -> (Vec<String>, bool) {
    let is_listed = |name: &str| userdata::role(cluster, name).is_some() || userdata::is_bastion(cluster, name);
    let servers = found.iter().filter(|one| one.part.kind == Kind::Server && is_listed(&one.part.name));
    let all: Vec<&Found> = servers.filter(|server| server.state() != "ACTIVE").collect();
    let is_gate = |name: &str| {
        userdata::role(cluster, name) == Some(Role::FirstMaster)
            || userdata::is_bastion(cluster, name)
            || only == Some(name)
    };
    let is_closed = all.iter().any(|server| is_gate(&server.part.name));
    let told = all.iter().filter(|server| only.is_none_or(|only| is_closed || only == server.part.name));
    (told.map(|server| format!("{} ({})", server.part.name, server.state())).collect(), is_closed)
}

/// Somebody else may have worked until the lock was ours, so that what is ours is looked at again.
async fn locked(
    session: &Session,
    secrets: &Secrets,
    mut snapshot: Snapshot,
    operator: &Operator,
    only: Option<&str>,
) -> Result<Vec<Found>, Error> {
    snapshot.ours = observe::ours(&session.client, &session.marker, &session.cloud).await?;
    let mut plan = session.compare(&snapshot);
    restrict(&mut plan, only);
    let parts = (&session.loaded, &session.cloud, secrets);
    let apply = Apply::new(&session.client, &session.marker, parts, &snapshot, &plan, session.output.clone());
    // Where the machines are left to the operator, nobody here knows what became of their etcd.
    if operator.resources_only || only.is_some() { apply.run().await } else { apply.permitting().run().await }
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
    let own = plan.items.iter().filter(|item| item.part.name == name).filter_map(|item| item.want.as_ref());
    let groups: Vec<Part> =
        own.flat_map(|want| &want.needs).filter(|need| need.kind == Kind::ServerGroup).cloned().collect();
    let others = plan.items.iter_mut().filter(|item| item.part.name != name && !groups.contains(&item.part));
    for item in others.filter(|item| item.action != Action::Keep) {
        item.action = Action::Left;
    }
}

async fn destroy(source: &Source, yes: bool, break_lock: bool) -> Result<ExitCode, Error> {
    let session = Session::open(source).await?;
    let ours = session.ours().await?;
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
        output.live(lock.hold(destroy::run(&session.client, &session.marker, &session.cloud, output))).await?;
    }
    let unread = session.client.unread();
    if !unread.is_empty() {
        let reasons: Vec<String> = unread.iter().map(|(what, why)| format!("{what}: {why}")).collect();
        let text = format!("nothing else of this cluster is left, as far as it could be read: {}", reasons.join("; "));
        session.output.tell(&text, || json!({ "event": "finished", "unread": unread }));
        session.told();
        return Ok(ExitCode::from(PARTLY));
    }
    session.output.tell("nothing of this cluster is left", || json!({ "event": "finished" }));
    session.told();
    Ok(ExitCode::SUCCESS)
}

/// The user types the cluster's name; without a terminal, `--yes` is required.
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
        tell(&format!("warning: {warning}\n  hint:  {}", warning.remedy));
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::part::{ATTACHED, NEVER, ONCE},
        testing::{alter, applied, sized},
    };

    #[test]
    fn beside_disks_that_were_used_no_bundle_is_generated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.yaml");
        let told = |attached: &str| {
            let body = json!({ "id": "v", "metadata": { ATTACHED: attached } });
            let volume = Found::new(Part::new(Kind::Volume, "m1"), body).unwrap();
            secrets(&[volume], &path, Some(Path::new("/not/there"))).unwrap_err().to_string()
        };
        assert!(told(ONCE).starts_with("there is no secrets bundle"), "{}", told(ONCE));
        assert!(!told(NEVER).starts_with("there is no secrets bundle"), "{}", told(NEVER));
    }

    #[test]
    fn an_unhealthy_server_ends_the_way_to_the_others_only_if_it_is_on_that_way() {
        let cluster = sized(2, 2, "  bastion: {name: gate}\n");
        let told = |part: &str, only: Option<&str>| {
            let mut snapshot = applied(&cluster);
            alter(&mut snapshot, part, |body| body["status"] = json!("SHELVED"));
            unhealthy(&cluster, &snapshot.ours, only)
        };
        let one = |name: &str| vec![format!("{name} (SHELVED)")];
        assert_eq!(told("server/w1", None), (one("w1"), false));
        assert_eq!(told("server/m2", None), (one("m2"), false));
        assert_eq!(told("server/m1", None), (one("m1"), true));
        assert_eq!(told("server/gate", Some("w2")), (one("gate"), true));
        assert_eq!(told("server/w1", Some("w1")), (one("w1"), true));
        assert_eq!(told("server/w1", Some("w2")), (Vec::new(), false));
        let error = Error::Unhealthy { machines: told("server/w1", None).0, rest: "the rest is up to date" };
        assert_eq!(error.to_string(), "1 machine is unhealthy: w1 (SHELVED); the rest is up to date");
    }
}
