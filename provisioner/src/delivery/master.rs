//! A master, over SSH: the first one, or another one that leads a replacement.

use super::{
    Delivery,
    state::{self, State},
};
use crate::{
    error::Error,
    permit::{self, Permission},
    resources::{Found, Kind, Part},
    userdata::Inputs,
};
use futures_util::future;
use nodeinit_base::{Wait, with_causes};
use nodeinit_config::{
    Cluster, Secret,
    cluster::{Machine, Role},
};
use nodeinit_protocol::{
    Event, Exit, Line,
    paths::{CONFIG, PROGRAM, SECRETS, SENT_SECRETS},
};
use nodeinit_ssh::{
    COMMAND, ClientKey, Executable, LockWait, NotReached, Output, Ran, Reconnects, RemoteFile, Session, SshError,
    Target, Wanted, Way, hex_word, run_limit,
};
use serde_json::json;
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    fs::File,
    io,
    net::{IpAddr, SocketAddr},
    ops::ControlFlow,
    path::Path,
    time::Duration,
};
use tokio::sync::Notify;

const ADMIN: &str = "/etc/kubernetes/admin.conf";

/// Between two looks for the program.
const LOOK: Duration = Duration::from_secs(1);

/// How long a master that is up already may take to let us in.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the nodeinit program that is sent to the machines.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn open_program(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(program: &Path, error: &io::Error) -> Error {
    Error::Configuration {
        what: format!("openstack.binary: cannot read {}: {error}", program.display()),
        remedy: "build nodeinit, or set `openstack.binary` to its path".to_owned(),
    }
}

/// A master that lets us in.
pub(super) struct Master<'a> {
    work: &'a Delivery<'a>,
    way: Way,
    session: Session,
}

impl<'a> Master<'a> {
    /// Logs in as soon as it lets us in.
    ///
    /// # Errors
    /// After `limit`; at once where another machine answers.
    pub(super) async fn reach(
        work: &'a Delivery<'a>,
        master: &Machine,
        inputs: &Inputs,
        host_keys: &BTreeMap<String, Vec<String>>,
        limit: Duration,
    ) -> Result<Self, Error> {
        let cluster = &work.loaded.cluster;
        let key = ClientKey::parse(work.secrets.ssh_key.expose()).map_err(|e| Error::Configuration {
            what: format!("cannot use the SSH key of the secrets bundle: {e}"),
            remedy: "make another bundle with `nodeinit secrets generate`".to_owned(),
        })?;
        let keys = host_keys.get(&master.name).cloned().unwrap_or_default();
        let target = Target::machine(master, &cluster.ssh, address(work, master, inputs)?, keys);
        let jump = jump_host(work, inputs, host_keys)?.filter(|jump| jump.name != master.name);
        let way = Way { key, target, jump };
        work.output.begin(&master.name, "accepts an SSH login");
        let session = connect(&way, limit).await;
        work.output.end(&master.name);
        Ok(Self { session: session?, work, way })
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.way.target.name
    }

    /// Its name and address, and the way to it.
    pub(super) fn shown(&self) -> String {
        let Way { target, jump, .. } = &self.way;
        let through = jump.as_ref().map(|jump| format!(" through {} at {}", jump.name, jump.address));
        format!("{} at {}{}", target.name, target.address, through.unwrap_or_default())
    }

    /// Brings program and configuration, as far as they differ.
    pub(super) async fn equip(&self, config: &str) -> Result<(), Error> {
        let executable = match &self.work.cloud.binary.file {
            Some(file) => {
                Some(open_program(file).and_then(|opened| Executable::read(opened).map_err(|e| unreadable(file, &e)))?)
            }
            None => {
                self.wait_for_program().await?;
                None
            }
        };
        let executable = executable.iter().map(|executable| Wanted::executable(PROGRAM, executable));
        self.place(&executable.chain([wanted(CONFIG, 0o600, config)]).collect::<Vec<_>>()).await
    }

    /// Brings the secrets bundle; from now on the machine goes on by itself over reboots.
    pub(super) async fn entrust(&self, bundle: &Secret<String>) -> Result<(), Error> {
        self.bring_secrets(bundle).await?;
        self.enable().await
    }

    /// From now on nodeinit runs at each boot.
    pub(super) async fn enable(&self) -> Result<(), Error> {
        self.must("systemctl daemon-reload; systemctl enable nodeinit.service").await.map(drop)
    }

    /// Brings the secrets bundle, where it differs.
    pub(super) async fn bring_secrets(&self, bundle: &Secret<String>) -> Result<(), Error> {
        self.place(&[wanted(SECRETS, 0o600, bundle.expose())]).await
    }

    /// Runs a command of nodeinit there with the secrets bundle, which is lent in memory: it contains the host keys of the
    /// machines as they are now.
    pub(super) async fn nodeinit_with(&mut self, bundle: &Secret<String>, command: &str) -> Result<(), Error> {
        let file = RemoteFile { path: SENT_SECRETS, mode: 0o600, directory: Some(0o700) };
        let placed = self.place(&[Wanted::new(file, bundle.expose().as_bytes().to_vec().into())]).await;
        let ended = match placed {
            Ok(()) => self.nodeinit(command).await,
            Err(error) => Err(error),
        };
        let taken_back = self.take_back_secrets().await;
        ended.and(taken_back)
    }

    /// Removes what was lent; over another connection if this one is broken.
    async fn take_back_secrets(&mut self) -> Result<(), Error> {
        let command = format!("rm -f {SENT_SECRETS}");
        match self.session.output(&command, COMMAND).await {
            Err(SshError::Broken { .. }) => {
                self.session = connect(&self.way, self.work.patience.min(PATIENCE)).await?;
                self.must(&command).await.map(drop)
            }
            other => other.map(drop).map_err(|e| self.failed(&e)),
        }
    }

    async fn place(&self, files: &[Wanted<'_>]) -> Result<(), Error> {
        let placed = self.session.place("", files).await.map_err(|e| self.failed(&e))?;
        placed.uploaded.iter().for_each(|path| self.work.tell(&format!("{path} is on {}", self.name())));
        Ok(())
    }

    /// Until the image's, or the one that cloud-init fetches, is there.
    async fn wait_for_program(&self) -> Result<(), Error> {
        let thing = format!("nodeinit on {}", self.name());
        let command = "command -v nodeinit || { journalctl -u nodeinit-fetch -n 1 -o cat --no-pager 2>/dev/null; \
                       cloud-init status --long 2>&1 | tail -n 3; exit 1; }";
        let look = async || match self.run(command).await {
            Ok(Output { code: 0, .. }) => ControlFlow::Break(Ok(())),
            Ok(output) => ControlFlow::Continue(output.stdout.trim().to_owned()),
            Err(error) => ControlFlow::Break(Err(error)),
        };
        let wait = Wait::new(&thing, self.work.loaded.cluster.timeouts.download).first_pause(LOOK);
        wait.until(look).await.unwrap_or_else(|late| {
            let what = "nodeinit is on the machine, from the image or `openstack.binary`".to_owned();
            Err(Error::Deadline { thing, what, seconds: late.limit.as_secs(), last: late.seen })
        })
    }

    /// Takes the permit to bootstrap etcd if this very server has it and no run has taken it before. The machine ID is written
    /// before the machine gets the keys, so that one that is installed again later gets no permit.
    pub(super) async fn take_permit(&self) -> Result<Option<String>, Error> {
        let work = self.work;
        let (Some(group), Some(server)) =
            (self.find(&permit::part()), self.find(&Part::new(Kind::Server, self.name())))
        else {
            return Ok(None);
        };
        let group = permit::current(work.client, group).await?;
        let permission = Permission::of(&group);
        if permission != Permission::New && !permission.is_for(&server.id) {
            return Ok(None);
        }
        let id = machine_id(&self.must("cat /etc/machine-id").await?)?;
        let permission = Permission::Permitted { server: server.id.clone(), machine: Some(id.clone()) };
        permit::write(work.client, &group, &permission).await?;
        Ok(Some(permit::line(&work.loaded.cluster.name, &server.id, &id)))
    }

    /// Runs `nodeinit up` there, with the permit if this run has taken it, and writes down that etcd was bootstrapped as soon as it
    /// is healthy.
    pub(super) async fn up(&mut self, permit: Option<String>) -> Result<(), Error> {
        let group = match self.find(&permit::part()) {
            Some(group) => Some(permit::current(self.work.client, group).await?),
            None => None,
        };
        let group = group.filter(|group| Permission::of(group) != Permission::Bootstrapped);
        match permit {
            Some(line) => self.run_nodeinit("up --permit-stdin", line.as_bytes(), group.as_ref()).await,
            None => self.run_nodeinit("up", b"", group.as_ref()).await,
        }
    }

    fn find(&self, part: &Part) -> Option<&Found> {
        self.work.found.iter().find(|found| found.part == *part)
    }

    /// Runs a command of nodeinit there and reports what it reports.
    pub(super) async fn nodeinit(&mut self, command: &str) -> Result<(), Error> {
        self.run_nodeinit(command, b"", None).await
    }

    /// As [`Self::nodeinit`], with this on its standard input. It continues there even if the connection breaks: then it is
    /// found again. `group`: where it is written that etcd was bootstrapped, as soon as it is healthy.
    async fn run_nodeinit(&mut self, command: &str, input: &[u8], group: Option<&Found>) -> Result<(), Error> {
        let cluster = &self.work.loaded.cluster;
        let limit = fleet_limit(cluster);
        let mut locked = LockWait::new(self.name(), 2 * run_limit(&cluster.timeouts));
        let mut reconnects = Reconnects::new(self.name());
        loop {
            let (is_healthy, healthy) = (Cell::new(false), Notify::new());
            let each = |line: &Line| {
                if matches!(&line.event, Event::Done { step, .. } if step == "etcd" && line.host.is_none()) {
                    is_healthy.set(true);
                    healthy.notify_one();
                }
                self.relay(line);
            };
            let line = format!("nodeinit {command}");
            let running = async {
                let tell = |note: String| self.work.tell(&note);
                let ran = self.session.nodeinit(&line, input, limit, &mut locked, tell, each).await;
                healthy.notify_one();
                ran
            };
            // Not to be dropped when `up` ends first: without the record, another machine could get the permit.
            let recorded = async {
                healthy.notified().await;
                match group.filter(|_| is_healthy.get()) {
                    Some(group) => permit::write(self.work.client, group, &Permission::Bootstrapped).await.map(drop),
                    None => Ok(()),
                }
            };
            let (ran, written) = future::join(running, recorded).await;
            written?;
            match ran.map_err(|e| self.failed(&e))? {
                Ran::Done => return Ok(()),
                Ran::Locked(late) => {
                    return Err(Error::Deadline {
                        thing: format!("nodeinit on {}", self.name()),
                        what: "the other nodeinit run on that machine ends".to_owned(),
                        seconds: late.limit.as_secs(),
                        last: late.seen,
                    });
                }
                Ran::Failed { code, why } => {
                    let what = format!("`nodeinit {command}` on {} ended with {code}: {why}", self.name());
                    return Err(Error::Machine { what, exit: Exit::of(code) });
                }
                Ran::Lost(error) => {
                    let note = reconnects
                        .count(&error)
                        .map_err(|e| Error::Machine { what: e.to_string(), exit: Exit::TryAgain })?;
                    self.work.tell(&note);
                    self.session = connect(&self.way, self.work.patience).await?;
                }
            }
        }
    }

    /// The machine that a line is about.
    fn host<'l>(&'l self, line: &'l Line) -> &'l str {
        line.host.as_deref().unwrap_or(self.name())
    }

    fn relay(&self, line: &Line) {
        let host = self.host(line);
        let Some(step) = line.event.step() else { return };
        let row = format!("{host}: {step}");
        match &line.event {
            // The other machines tell their own steps.
            _ if step.starts_with("host-") => {}
            Event::Started { title, .. } => self.work.output.begin(&row, title),
            Event::Done { .. } => self.work.output.end(&row),
            Event::Failed { .. } => self.work.output.end_as(&row, true),
            _ => {}
        }
        let said = match &line.event {
            Event::Done { changed: true, seconds, .. } => format!("done ({seconds:.1} s)"),
            Event::Note { text, .. } => text.clone(),
            Event::Failed { error, hint: Some(hint), .. } => format!("FAILED: {error}; {hint}"),
            Event::Failed { error, .. } => format!("FAILED: {error}"),
            _ => return,
        };
        let at = self.work.begun.elapsed().as_secs_f64();
        let text = format!("{at:6.1} s  {row}: {said}");
        self.work.output.tell(&text, || json!({ "event": "machine", "machine": host, "at": at, "said": line }));
    }

    /// The nodes that are Ready.
    pub(super) async fn ready_nodes(&self) -> Result<BTreeSet<String>, Error> {
        Ok(State::read(&self.run("nodeinit status --output json").await?.stdout).ready())
    }

    /// What it knows of the cluster's machines.
    pub(super) async fn state(&self) -> Result<State, Error> {
        let both = "nodeinit status --output json; nodeinit etcd members --output json";
        Ok(State::read(&self.run(both).await?.stdout))
    }

    /// The IDs of the bootstrap tokens that are valid.
    pub(super) async fn valid_tokens(&self) -> Result<BTreeSet<String>, Error> {
        Ok(state::valid_tokens(&self.must("nodeinit token list --output json").await?))
    }

    /// Deletes the bootstrap tokens of workers that have joined.
    pub(super) async fn delete_spent_tokens(&self) -> Result<(), Error> {
        self.must("nodeinit token delete --spent").await.map(drop)
    }

    /// Takes a machine out of the cluster; a machine that is not in it is not an error.
    pub(super) async fn remove(&mut self, name: &str, role: Role, force: bool) -> Result<(), Error> {
        let force = if force { " --force" } else { "" };
        let refused = match self.nodeinit(&format!("{role} remove {name}{force}")).await {
            Err(error @ Error::Machine { .. }) => error,
            other => return other,
        };
        match self.state().await?.is_without(name, self.name()) {
            true => Ok(()),
            false => Err(refused),
        }
    }

    /// The administrator's kubeconfig.
    pub(super) async fn admin(&self) -> Result<Secret<String>, Error> {
        self.must(&format!("cat {ADMIN}")).await.map(Secret::new)
    }

    async fn run(&self, command: &str) -> Result<Output, Error> {
        self.session.run(command, b"", COMMAND).await.map_err(|e| self.failed(&e))
    }

    async fn must(&self, command: &str) -> Result<String, Error> {
        self.session.output(command, COMMAND).await.map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &SshError) -> Error {
        match error {
            SshError::Upload { .. } | SshError::Failed { .. } => {
                Error::Machine { what: error.to_string(), exit: Exit::Failed }
            }
            error => Error::Machine {
                what: format!("the connection to {} failed: {}", self.name(), with_causes(error)),
                exit: Exit::TryAgain,
            },
        }
    }
}

/// Longer than a run on a master that leads may take: it brings up itself, then the other machines, one after another if they restart.
fn fleet_limit(cluster: &Cluster) -> Duration {
    let machines = u32::try_from(cluster.machines().count()).unwrap_or(u32::MAX);
    run_limit(&cluster.timeouts).saturating_mul(machines.saturating_add(1))
}

/// A file that the master must have.
fn wanted<'a>(path: &'a str, mode: u32, text: &str) -> Wanted<'a> {
    Wanted::new(RemoteFile { path, mode, directory: Some(0o755) }, text.as_bytes().to_vec().into())
}

/// The machine ID in an answer of the machine's shell.
fn machine_id(answer: &str) -> Result<String, Error> {
    let missing = || Error::Machine {
        what: "the first master has no machine ID in /etc/machine-id".to_owned(),
        exit: Exit::Failed,
    };
    hex_word(answer, 32).map(str::to_owned).ok_or_else(missing)
}

/// The machine through which a master is reached, where there is one.
fn jump_host(
    work: &Delivery<'_>,
    inputs: &Inputs,
    host_keys: &BTreeMap<String, Vec<String>>,
) -> Result<Option<Target>, Error> {
    let ssh = &work.loaded.cluster.ssh;
    if let Some(jump) = &ssh.jump_host {
        return Ok(Some(Target::jump_host(jump, jump.host_keys.clone())));
    }
    let Some(bastion) = &work.cloud.bastion else { return Ok(None) };
    let address = inputs.bastion.ok_or_else(|| Error::Refused {
        what: format!("{} has no floating IP", bastion.name),
        remedy: "run `provisioner apply` again, which creates the missing floating IP".to_owned(),
    })?;
    Ok(Some(Target {
        name: bastion.name.clone(),
        address: SocketAddr::new(address, ssh.port),
        user: ssh.user.clone(),
        host_keys: host_keys.get(&bastion.name).cloned().unwrap_or_default(),
        trust_on_first_use: false,
    }))
}

/// A machine's own SSH address, its floating IP, or its address; the bastion leads to the last alone.
fn address(work: &Delivery<'_>, machine: &Machine, inputs: &Inputs) -> Result<IpAddr, Error> {
    let floating = inputs.floating.get(&machine.name).filter(|_| work.cloud.bastion.is_none());
    let addresses =
        [machine.ssh.address, floating.copied(), machine.address, inputs.addresses.get(&machine.name).copied()];
    addresses.into_iter().flatten().next().ok_or_else(|| Error::Refused {
        what: format!("{} has no address", machine.name),
        remedy: "run `provisioner apply` again, which creates the missing port".to_owned(),
    })
}

/// Logs in as soon as the master lets us in: until cloud-init has created the user, nobody may log in.
async fn connect(way: &Way, limit: Duration) -> Result<Session, Error> {
    // Without trust on first use, no key is accepted that would have to be stored.
    let trust = async |_: &Target, _: &str| Ok::<(), Infallible>(());
    way.connect(limit, trust).await.map_err(|error| match error {
        NotReached::Late(late) => Error::Deadline {
            thing: format!("SSH to {} at {}", way.target.name, way.target.address),
            what: "it accepts an SSH login (check its security group and floating IP, or configure a bastion or `ssh.jumpHost`)"
                .to_owned(),
            seconds: late.limit.as_secs(),
            last: late.seen,
        },
        NotReached::Ssh(error) => {
            let what = with_causes(&error);
            match error {
                SshError::WrongHostKey { name, .. } | SshError::UnknownHostKey { name, .. } => {
                    Error::HostKey { machine: name, what, exit: Exit::Failed }
                }
                _ => Error::Machine { what, exit: Exit::Failed },
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{fleet_limit, machine_id};
    use crate::testing::sized;
    use nodeinit_ssh::run_limit;

    #[test]
    fn a_master_that_leads_has_time_for_every_machine_of_a_rollout() {
        let cluster = sized(3, 20, "");
        assert_eq!(fleet_limit(&cluster), 24 * run_limit(&cluster.timeouts));
    }

    #[test]
    fn what_a_shell_prints_before_the_machine_id_is_skipped() {
        const ID: &str = "0123456789abcdef0123456789abcdef";
        for answer in [format!("{ID}\n"), format!("Welcome to m1!\n\n{ID}\n")] {
            assert_eq!(machine_id(&answer).unwrap(), ID);
        }
        for answer in ["", "uninitialized\n", "Welcome to m1!\n"] {
            assert!(machine_id(answer).is_err());
        }
    }
}
