//! The other machines: each is reached by SSH, given the program, its configuration and its secrets, and brings itself up.
//!
//! Everything on such a machine is done by nodeinit there (`up`, or a command of an upgrade), which goes on even if this process or the network dies; the
//! next run here finds it as it is then.

mod depot;
mod fleet;
mod key;
mod payload;
mod reboot;
mod remote;

/// The server of nodeinit-ssh's own tests.
#[cfg(test)]
#[allow(dead_code, clippy::disallowed_methods, reason = "a test starts sshd; nodeinit-ssh's tests use all of it")]
#[path = "../../../ssh/tests/ssh/server.rs"]
pub(crate) mod server;

use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::JOURNAL,
        led::Led,
        step::{State, Step},
        step_id::StepId,
    },
    host::failpoint,
    steps::{
        lead,
        rollout::{BeforeWorkers, Empty, Rollout, Turn, node},
        source,
    },
};
use async_trait::async_trait;
pub(super) use fleet::Fleet;
use fleet::Program;
use key::keys_of_master;
pub use key::{FanOutKey, forget, read_key};
use nodeinit_config::cluster::{Cluster, Machine, Role};
use nodeinit_protocol::{WorkerSecrets, paths::CONFIG};
use nodeinit_ssh::{LockWait, Reconnects, Target, run_limit};
pub use payload::{is_unedited, master_config};
use remote::{Ended, Remote, Task};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};
use tokio::sync::{Mutex, OwnedSemaphorePermit, SemaphorePermit};

/// How long a look may wait for a machine to let us in.
const LOOK: Duration = Duration::from_secs(5);

/// How long a machine that is replaced may take to let us in.
const REACH: Duration = Duration::from_secs(30);

/// What is done on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// It is brought to the configured state.
    Up,
    /// It gets the images of an upgrade. Nothing that runs there changes.
    Stage,
    /// Its etcd is brought to the version that the upgrade needs.
    Etcd,
    /// It is upgraded.
    Upgrade,
}

/// Where a machine finds the configuration of an upgrade that has not begun there.
const STAGED: &str = "/var/lib/nodeinit/upgrade.yaml";

/// Step `host-NAME` or `stage-NAME`: work on another machine.
pub struct Host {
    work: Work,
    machine: Machine,
    role: Role,
    fleet: Rc<Fleet>,
    /// Lets workers wait for this master.
    before_workers: Cell<Option<BeforeWorkers>>,
    /// Its turn to restart what runs there, if it needs one.
    turn: RefCell<Option<Turn>>,
    /// The connection of the look that found work, which the work goes on with.
    looked: RefCell<Option<(Remote, OwnedSemaphorePermit)>>,
    /// Whether this run has rebooted it.
    rebooted: Cell<bool>,
    /// The wait for another run there. It goes on when the connection breaks.
    locked: Mutex<LockWait>,
}

/// The steps of all nodes that the master `own` reaches: all other masters, and the workers that have an address; and their order.
#[must_use]
pub fn hosts(cluster: &Cluster, own: &str) -> (Vec<Host>, Rc<Rollout>) {
    let fleet = Rc::new(Fleet::new(cluster));
    (all(cluster, own, &fleet, Work::Up), fleet.rollout.clone())
}

/// Whether the master `own` reaches other machines.
#[must_use]
pub fn reaches(cluster: &Cluster, own: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
    cluster
        .machines()
        .any(|(machine, _)| machine.name != own && is_wanted(&machine.name) && fleet::address(machine).is_some())
}

/// The steps that upgrade the same machines.
pub struct Upgrades {
    /// Copies images to each machine.
    pub stages: Vec<Host>,
    /// Brings the etcd of each master to the version that the upgrade needs.
    pub etcds: Vec<Host>,
    /// Upgrades each machine.
    pub machines: Vec<Host>,
    /// The order of the machines.
    pub rollout: Rc<Rollout>,
}

/// Returns the steps of an upgrade.
#[must_use]
pub fn upgrades(cluster: &Cluster, own: &str) -> Upgrades {
    let fleet = Rc::new(Fleet::new(cluster));
    let all = |work| all(cluster, own, &fleet, work);
    let mut etcds = all(Work::Etcd);
    etcds.retain(|host| host.role.is_master());
    Upgrades { stages: all(Work::Stage), etcds, machines: all(Work::Upgrade), rollout: fleet.rollout.clone() }
}

fn all(cluster: &Cluster, own: &str, fleet: &Rc<Fleet>, work: Work) -> Vec<Host> {
    cluster
        .machines()
        .filter(|(machine, _)| machine.name != own && fleet::address(machine).is_some())
        .map(|(machine, role)| Host {
            work,
            machine: machine.clone(),
            role,
            before_workers: Cell::new((work == Work::Up && role.is_master()).then(|| fleet.rollout.before_workers())),
            turn: RefCell::default(),
            fleet: fleet.clone(),
            looked: RefCell::default(),
            rebooted: Cell::new(false),
            locked: Mutex::new(LockWait::new(&machine.name, run_limit(&cluster.timeouts))),
        })
        .collect()
}

/// Returns the names of the machines that the master `own` does not reach.
#[must_use]
pub fn alone<'a>(cluster: &'a Cluster, own: &str) -> Vec<&'a str> {
    let alone = cluster.machines().filter(|(machine, _)| machine.name != own && fleet::address(machine).is_none());
    alone.map(|(machine, _)| machine.name.as_str()).collect()
}

/// Whether nodeinit has not worked yet on a machine, which takes the place of another one.
///
/// # Errors
/// If it does not let us in.
pub async fn is_new(cx: &Context, name: &str) -> Result<bool, StepError> {
    let Some((machine, _)) = cx.cluster.machines().find(|(machine, _)| machine.name == name) else { return Ok(false) };
    let session = Fleet::new(&cx.cluster).connect(cx, machine, REACH).await?;
    let output = session.output(&format!("[ -e {JOURNAL} ] || echo new"), LOOK).await;
    let output = output.map_err(|e| StepError::caused(format!("cannot look at {name}"), e).exit(Exit::TryAgain))?;
    Ok(output.lines().any(|line| line == "new"))
}

/// Where all machines but the first master listen for SSH, each with the host keys that the configuration has of it.
#[must_use]
pub fn targets(cluster: &Cluster) -> Vec<Target> {
    let (ssh, machines) = (&cluster.ssh, cluster.masters.iter().skip(1).chain(&cluster.workers));
    let target = |machine: &Machine| {
        let target = Target::machine(machine, ssh, fleet::address(machine)?, machine.host_keys.clone());
        Some(Target { trust_on_first_use: ssh.trust_on_first_use, ..target })
    };
    machines.filter_map(target).collect()
}

impl Host {
    /// The machine's name.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.machine.name
    }

    /// The machine's role.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Returns the order in which machines restart their components.
    #[must_use]
    pub fn rollout(&self) -> &Rollout {
        &self.fleet.rollout
    }

    /// Lets workers not wait for this master, because it waits for them.
    pub fn follows_workers(&self) {
        self.before_workers.take();
    }

    /// Waits for the machine's turn if nodeinit would restart what runs there. Returns `false` if it must not.
    async fn may_restart(&self, cx: &Context, remote: &Remote, program: &Program) -> Result<bool, StepError> {
        if self.turn.borrow().is_some() {
            return Ok(true);
        }
        let name = &self.machine.name;
        match remote.restarts(program).await? {
            Ok(true) => {}
            Ok(false) => return Ok(true),
            Err(why) if self.role == Role::Worker && node::is_ready(cx, name).await? => {
                let what = format!("cannot tell what would restart on {name}: {why}");
                let hint = "see `nodeinit plan` on that machine; its node is Ready and was left as it is";
                return Err(StepError::new(what).exit(Exit::TryAgain).hint(hint));
            }
            // Nothing runs there that could be disturbed, or a master whose API server does not answer.
            Err(_) => return Ok(true),
        }
        if cx.rollout.at_boot && self.fleet.rollout.can_ask(cx).await? && node::is_ready(cx, name).await? {
            let note = format!("{name} would restart its kubelet or static pods: run `nodeinit up` when you want that");
            cx.report.note(&self.name(), note);
            return Ok(false);
        }
        cx.report.detail(&self.name(), "waiting for its turn");
        let empty = match self.role {
            Role::Worker => Empty::IfReady { evict: cx.rollout.evict },
            Role::FirstMaster | Role::Master | Role::Bastion => Empty::No,
        };
        let turn = self.fleet.rollout.turn(cx, name, self.role, empty).await?;
        self.turn.replace(turn);
        failpoint("host-turn", format!("{} {name}", self.role));
        Ok(true)
    }

    /// `None` while it cannot be told yet, as there is no CA.
    fn config(&self, cx: &Context) -> Result<Option<String>, StepError> {
        match self.role {
            Role::Worker => payload::worker_config(cx, &self.machine.name),
            _ => Ok(Some(master_config(cx))),
        }
    }

    async fn reach(&self, cx: &Context, limit: Duration) -> Result<Remote, StepError> {
        let session = self.fleet.connect(cx, &self.machine, limit).await?;
        Ok(Remote { name: self.machine.name.clone(), step: self.name(), task: self.task(cx), session })
    }

    /// What nodeinit does there.
    fn task(&self, cx: &Context) -> Task {
        let version = cx.cluster.version;
        let led = format!(" --led {}", Self::led(cx));
        let change = cx.rollout.upgrade_command(version);
        let upgrade = |command: String, failure| Task {
            look: match cx.rollout.back {
                true => format!("{change} --local --plan"),
                false => format!("upgrade plan {version} --local"),
            },
            command,
            failure,
        };
        match self.work {
            Work::Up => Task {
                look: "plan --local".to_owned(),
                command: format!("up --local{led}"),
                failure: "did not come up",
            },
            Work::Stage => {
                upgrade(format!("upgrade stage {version} {STAGED}{led}"), "cannot be prepared for the version")
            }
            Work::Etcd => {
                upgrade(format!("upgrade etcd {version} {STAGED}{led}"), "did not get another version of etcd")
            }
            Work::Upgrade if cx.rollout.back => upgrade(format!("{change} --local{led}"), "was not rolled back"),
            Work::Upgrade => upgrade(format!("{change} --local{led}"), "was not upgraded"),
        }
    }

    /// What it is sent about the leading master.
    fn led(cx: &Context) -> Led {
        // An address of the command line may have changed the configuration since the lease was taken.
        let led = cx.led.clone().unwrap_or_else(|| lead::without_lease(cx));
        Led { sha256: lead::digest(&cx.loaded), ..led }
    }

    /// Whether its own configuration, which the operator may have written, is the same as this machine's.
    ///
    /// # Errors
    /// If it refuses this leading master.
    async fn keeps_config(&self, cx: &Context, remote: &Remote, program: &Program) -> Result<bool, StepError> {
        let digest = remote.admission(program, &Self::led(cx), self.role.is_master()).await?;
        Ok(self.role == Role::FirstMaster && digest == Some(lead::digest(&cx.loaded)))
    }

    /// A place among the machines that are worked on at once. Masters need none: workers that wait for them may have all.
    async fn place(&self) -> Option<SemaphorePermit<'_>> {
        match self.role {
            Role::Worker => self.fleet.places.acquire().await.ok(),
            Role::FirstMaster | Role::Master | Role::Bastion => None,
        }
    }

    /// Looks what is to be done there.
    async fn look(&self, cx: &Context) -> Result<State, StepError> {
        let Some(config) = self.config(cx)? else { return Ok(State::needed(self.title())) };
        let _place = self.place().await;
        let remote = match self.reach(cx, LOOK).await {
            Ok(remote) => remote,
            Err(e) if e.exit == Exit::TryAgain => return Ok(State::needed(format!("{}: {e}", self.title()))),
            Err(e) => return Err(e),
        };
        let program = self.fleet.program().await?;
        let config = (!self.keeps_config(cx, &remote, program).await?).then_some(config.as_str());
        let keys = match self.role.is_master() && self.work == Work::Up {
            true => keys_of_master(cx)?,
            false => Vec::new(),
        };
        let mut planned = remote.plan(program, config, &payload::releases(cx), keys).await?;
        if planned.is_none() && self.work == Work::Upgrade {
            // With its former configuration, it cannot tell that nothing is to be done.
            planned =
                remote.plan(program, None, &payload::releases(cx), Vec::new()).await?.filter(|all| !all.is_empty());
        }
        if let Some(changes) = &mut planned
            && self.is_to_reboot(cx, &remote).await
        {
            changes.push(format!("{}: reboot, as its distribution asks for it", self.machine.name));
        }
        let state = match planned {
            Some(changes) if self.work != Work::Stage || changes.is_empty() => State::of(changes),
            Some(_) => State::needed(self.title()),
            None => State::needed(self.title()),
        };
        if let (State::Needed(_), Ok(place)) = (&state, self.fleet.kept.clone().try_acquire_owned()) {
            self.looked.replace(Some((remote, place)));
        }
        Ok(state)
    }

    /// Brings it up, over as many connections as it takes.
    async fn work(&self, cx: &Context) -> Result<(), StepError> {
        let Some(config) = self.config(cx)? else {
            return Err(StepError::new("there is no CA").exit(Exit::Defect));
        };
        let _place = self.place().await;
        let mut reconnects = Reconnects::new(&self.machine.name);
        loop {
            let error = match self.attempt(cx, &config).await? {
                Ended::Well => return Ok(()),
                Ended::Rebooted => continue,
                Ended::Lost(error) => error,
            };
            let note = reconnects.count(&error).map_err(|e| {
                StepError::new(e.to_string())
                    .exit(Exit::TryAgain)
                    .hint("fix the network between the two machines, then run the same command again")
            })?;
            cx.report.note(&self.name(), note);
        }
    }

    /// Brings it up over one connection.
    async fn attempt(&self, cx: &Context, config: &str) -> Result<Ended, StepError> {
        let looked = self.looked.take().map(|(remote, _)| remote);
        let remote = match looked.filter(|remote| !remote.session.is_closed()) {
            Some(remote) => remote,
            None => self.reach(cx, cx.cluster.timeouts.ssh).await?,
        };
        let program = self.fleet.program().await?;
        let context = cx.clone();
        let needed = blocking(move || source::needed(&context)).await?;
        let keeps_config = self.keeps_config(cx, &remote, program).await?;
        let place = match self.work {
            Work::Stage | Work::Etcd => Some(STAGED),
            Work::Up | Work::Upgrade => (!keeps_config).then_some(CONFIG),
        };
        let found = remote.equip(program, place.map(|path| (path, config)), &payload::releases(cx), &needed).await?;
        if found.lacks {
            remote.lend(cx, self.fleet.depot(cx).await?).await?;
        }
        failpoint("host-equipped", &self.machine.name);
        if self.work == Work::Up && found.runs && !self.may_restart(cx, &remote, program).await? {
            remote.forget().await?;
            self.fleet.rollout.leave(&self.machine.name);
            return Ok(Ended::Well);
        }
        let mut locked = self.locked.lock().await;
        let ended = match self.role {
            _ if self.work != Work::Up => remote.run(cx, program, &mut locked).await?,
            Role::Worker => {
                let sending = Cell::new(false);
                let (up, let_in) = (remote.run(cx, program, &mut locked), self.let_in(cx, &remote, &sending));
                tokio::pin!(up, let_in);
                tokio::select! {
                    ended = &mut up => {
                        // It had joined before. What is on its way arrives, or it would be there after all was forgotten.
                        if sending.get() {
                            let _ = let_in.await;
                        }
                        ended?
                    }
                    result = &mut let_in => {
                        result?;
                        up.await?
                    }
                }
            }
            _ => {
                remote.send(&payload::master_secrets(cx)?).await?;
                failpoint("host-trusted", &self.machine.name);
                remote.run(cx, program, &mut locked).await?
            }
        };
        if let Ended::Well = ended {
            failpoint("host-up", &self.machine.name);
            remote.forget().await?;
            if self.role == Role::Worker && self.work == Work::Up {
                self.fleet.tokens.used(cx, &self.machine.name).await?;
            }
            // A machine that is new runs first: the other masters may not have their etcd yet.
            if found.runs && self.is_to_reboot(cx, &remote).await && self.reboot(cx, &remote).await? {
                return Ok(Ended::Rebooted);
            }
        }
        Ok(ended)
    }

    /// Gives it a token as soon as that is good for something. Until then it prepares itself, and waits for it. Not to be
    /// dropped while it is `sending`.
    async fn let_in(&self, cx: &Context, remote: &Remote, sending: &Cell<bool>) -> Result<(), StepError> {
        self.fleet.open(cx).await?;
        let token = self.fleet.tokens.issue(cx, &self.machine.name).await?;
        failpoint("host-token", &self.machine.name);
        sending.set(true);
        remote.send(&WorkerSecrets { bootstrap_token: token }.text()).await
    }
}

#[async_trait(?Send)]
impl Step for Host {
    fn id(&self) -> StepId {
        let name = self.machine.name.clone();
        match self.work {
            Work::Stage => StepId::Stage(name),
            Work::Etcd => StepId::EtcdFirstOn(name),
            Work::Up | Work::Upgrade => StepId::Host(name),
        }
    }

    fn title(&self) -> String {
        let name = &self.machine.name;
        match self.work {
            Work::Up => format!("bring up {name} as {} over SSH", self.role),
            Work::Stage => format!("copy the images of the version to {name}"),
            Work::Etcd => format!("bring etcd on {name} to the version that the upgrade needs"),
            Work::Upgrade => format!("change the version of {name}"),
        }
    }

    fn is_remote(&self) -> bool {
        // An upgrade stops at the first machine that fails.
        self.work == Work::Up
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let state = self.look(cx).await;
        if let Ok(State::Done) | Err(_) = &state {
            self.before_workers.take();
        }
        state.inspect_err(|_| self.fleet.rollout.leave(&self.machine.name))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (rollout, name) = (&self.fleet.rollout, &self.machine.name);
        let worked = self.work(cx).await;
        let ended = match (worked, self.turn.take()) {
            (worked, None) => worked,
            (Ok(()), Some(turn)) => turn.end(cx).await.inspect_err(|_| rollout.stop(name)),
            (Err(e), Some(_)) => {
                rollout.stop(name);
                Err(e)
            }
        };
        // Only then: workers must not begin after a failure.
        self.before_workers.take();
        ended.inspect_err(|_| rollout.leave(name))
    }
}
