//! The other machines: each is reached by SSH, given the program, its configuration and its secrets, and brings itself up.
//!
//! Everything on such a machine is done by `nodeinit up` there, which goes on even if this process or the network dies; the
//! next run here finds it as it is then.

mod depot;
mod fleet;
mod payload;
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
        step::{State, Step},
        step_id::StepId,
    },
    host::failpoint,
    steps::source,
};
use async_trait::async_trait;
pub(super) use fleet::Fleet;
pub use fleet::read_key;
use nodeinit_config::cluster::{Cluster, Machine, Role};
use nodeinit_protocol::WorkerSecrets;
use nodeinit_ssh::{LockWait, Reconnects, Target, run_limit};
use remote::{Ended, Remote};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};
use tokio::sync::{Mutex, OwnedSemaphorePermit};

/// How long a look may wait for a machine to let us in.
const LOOK: Duration = Duration::from_secs(5);

/// Step `host-NAME`: another machine is as described.
pub struct Host {
    machine: Machine,
    role: Role,
    fleet: Rc<Fleet>,
    /// The connection of the look that found work, which the work goes on with.
    looked: RefCell<Option<(Remote, OwnedSemaphorePermit)>>,
    /// The wait for another run there. It goes on when the connection breaks.
    locked: Mutex<LockWait>,
}

/// The steps of all machines that this one reaches: all other masters, and the workers that have an address.
#[must_use]
pub fn hosts(cluster: &Cluster) -> Vec<Host> {
    let fleet = Rc::new(Fleet::new(cluster));
    let masters = cluster.masters.iter().skip(1).map(|machine| (machine, Role::Master));
    let workers = cluster.workers.iter().map(|machine| (machine, Role::Worker));
    masters
        .chain(workers)
        .filter(|(machine, _)| fleet::address(machine).is_some())
        .map(|(machine, role)| Host {
            machine: machine.clone(),
            role,
            fleet: fleet.clone(),
            looked: RefCell::default(),
            locked: Mutex::new(LockWait::new(&machine.name, run_limit(&cluster.timeouts))),
        })
        .collect()
}

/// Where the same machines listen for SSH, each with the host keys that the configuration has of it.
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

    /// `None` while it cannot be told yet, as there is no CA.
    fn config(&self, cx: &Context) -> Result<Option<String>, StepError> {
        match self.role {
            Role::Worker => payload::worker_config(cx, &self.machine.name),
            _ => Ok(Some(payload::master_config(cx))),
        }
    }

    async fn reach(&self, cx: &Context, limit: Duration) -> Result<Remote, StepError> {
        let session = self.fleet.connect(cx, &self.machine, limit).await?;
        Ok(Remote { name: self.machine.name.clone(), step: self.name(), session })
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
        if remote.equip(program, config, &payload::releases(cx), &needed).await? {
            remote.lend(cx, self.fleet.depot(cx).await?).await?;
        }
        failpoint("host-equipped", &self.machine.name);
        let mut locked = self.locked.lock().await;
        let ended = match self.role {
            Role::Worker => {
                let sending = Cell::new(false);
                let (up, let_in) = (remote.up(cx, program, &mut locked), self.let_in(cx, &remote, &sending));
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
                remote.up(cx, program, &mut locked).await?
            }
        };
        if let Ended::Well = ended {
            failpoint("host-up", &self.machine.name);
            remote.forget().await?;
            if self.role == Role::Worker {
                self.fleet.tokens.used(cx, &self.machine.name).await?;
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
        StepId::Host(self.machine.name.clone())
    }

    fn title(&self) -> String {
        format!("bring up {} as {} over SSH", self.machine.name, self.role)
    }

    fn is_remote(&self) -> bool {
        true
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let Some(config) = self.config(cx)? else { return Ok(State::needed(self.title())) };
        let _place = self.fleet.places.acquire().await;
        let remote = match self.reach(cx, LOOK).await {
            Ok(remote) => remote,
            Err(e) if e.exit == Exit::TryAgain => return Ok(State::needed(format!("{}: {e}", self.title()))),
            Err(e) => return Err(e),
        };
        let state = match remote.plan(self.fleet.program().await?, &config, &payload::releases(cx)).await? {
            Some(changes) => State::of(changes),
            None => State::needed(self.title()),
        };
        if let (State::Needed(_), Ok(place)) = (&state, self.fleet.kept.clone().try_acquire_owned()) {
            self.looked.replace(Some((remote, place)));
        }
        Ok(state)
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let Some(config) = self.config(cx)? else {
            return Err(StepError::new("there is no CA").exit(Exit::Defect));
        };
        let _place = self.fleet.places.acquire().await;
        let mut reconnects = Reconnects::new(&self.machine.name);
        while let Ended::Lost(error) = self.attempt(cx, &config).await? {
            let note = reconnects.count(&error).map_err(|e| {
                StepError::new(e.to_string())
                    .exit(Exit::TryAgain)
                    .hint("fix the network between the two machines, then run `nodeinit up` again")
            })?;
            cx.report.note(&self.name(), note);
        }
        Ok(())
    }
}
