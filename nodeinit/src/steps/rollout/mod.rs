//! The rolling order of what restarts control planes or kubelets: one master after the other, then workers, a few at a time.

mod hooks;
pub mod node;

use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    steps::cluster,
};
use async_trait::async_trait;
use hooks::Hook;
use nodeinit_base::Wait;
use nodeinit_config::cluster::Role;
use std::{
    cell::{Cell, RefCell},
    ops::ControlFlow,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, watch};

/// If no API server answers on the leading master for so long, longer than its own restart takes, other masters do not wait.
const WITHOUT_API: Duration = Duration::from_secs(60);

/// Shared by the steps of one plan that change other machines.
pub struct Rollout {
    /// Whether the leading master has its own changes, and is healthy.
    own: watch::Sender<bool>,
    /// How many other masters have work that has not ended.
    masters: watch::Sender<usize>,
    /// Held while a master is changed.
    master_place: Arc<Semaphore>,
    /// Held while a worker is changed.
    worker_places: OnceCell<Arc<Semaphore>>,
    /// Filled by the first machine.
    begun: OnceCell<()>,
    /// Whether the hook before the leading master has run, and the one after it has not.
    own_hook: Cell<bool>,
    /// The machine where the change failed.
    failed: RefCell<Option<String>>,
    /// The machines that are not as described.
    unfinished: RefCell<Vec<String>>,
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            own: watch::Sender::new(false),
            masters: watch::Sender::new(0),
            master_place: Arc::new(Semaphore::new(1)),
            worker_places: OnceCell::new(),
            begun: OnceCell::new(),
            own_hook: Cell::new(false),
            failed: RefCell::default(),
            unfinished: RefCell::default(),
        }
    }
}

/// Another master whose work has not ended. Workers wait until it is dropped.
pub(in crate::steps) struct BeforeWorkers(Rc<Rollout>);

impl Drop for BeforeWorkers {
    fn drop(&mut self) {
        self.0.masters.send_modify(|left| *left -= 1);
    }
}

/// What happens to a node before its machine is changed.
#[derive(Clone, Copy, Debug)]
pub(in crate::steps) enum Empty {
    /// Nothing.
    No,
    /// If it is Ready, it is cordoned, and its pods are evicted if `evict` is set. Otherwise there is nothing to protect.
    IfReady { evict: bool },
    /// It is cordoned, and its pods are evicted if `evict` is set.
    Always { evict: bool },
}

/// The turn of one machine to be changed.
pub(in crate::steps) struct Turn {
    machine: String,
    role: Role,
    _place: OwnedSemaphorePermit,
}

impl Rollout {
    /// Lets workers wait for another master.
    pub(in crate::steps) fn before_workers(self: &Rc<Self>) -> BeforeWorkers {
        self.masters.send_modify(|left| *left += 1);
        BeforeWorkers(self.clone())
    }

    /// Lets the other machines have their turns before the leading master, which changes last.
    pub fn own_last(&self) {
        self.own.send_replace(true);
    }

    /// Waits for the turn of a machine, then empties its node. `None`: no API server answers on this master, so that another master must
    /// not wait: the quorum of etcd may need it.
    ///
    /// # Errors
    /// If the change failed on another machine, the API is not ready, a hook fails, or the node cannot be drained.
    pub(in crate::steps) async fn turn(
        &self,
        cx: &Context,
        machine: &str,
        role: Role,
        empty: Empty,
    ) -> Result<Option<Turn>, StepError> {
        let place = async {
            self.own_changes(cx).await?;
            let places = match role {
                Role::Worker => {
                    // It ends with the sender, which is here.
                    let _ = self.masters.subscribe().wait_for(|left| *left == 0).await;
                    self.worker_places(cx).await
                }
                Role::FirstMaster | Role::Master | Role::Bastion => self.master_place.clone(),
            };
            let closed = |_| StepError::new("the rollout has ended").exit(Exit::Defect);
            places.acquire_owned().await.map_err(closed)
        };
        let place = tokio::select! {
            place = place => place?,
            () = without_api(cx), if role.is_master() => {
                cx.report.note("rollout", format!("no API server answers here, so {machine} does not wait for its turn"));
                return Ok(None);
            }
        };
        if let Some(other) = &*self.failed.borrow() {
            let what = format!("{machine} was left as it is, because the change failed on {other}");
            return Err(StepError::new(what)
                .exit(Exit::TryAgain)
                .hint("fix the cause there, then run the command again"));
        }
        let prepared = async {
            let ready = Wait::new("a ready API server on this master", cx.cluster.timeouts.control_plane);
            ready.until(async || cluster::ready(cx).await).await?;
            self.begin(cx).await?;
            hooks::run(cx, Hook::BeforeMachine, Some((machine, role))).await?;
            let evict = match empty {
                Empty::No => return Ok(()),
                Empty::IfReady { .. } if !node::is_ready(cx, machine).await? => return Ok(()),
                Empty::IfReady { evict } | Empty::Always { evict } => evict,
            };
            node::empty(cx, machine, evict).await
        };
        prepared.await.inspect_err(|_| self.stop(machine))?;
        Ok(Some(Turn { machine: machine.to_owned(), role, _place: place }))
    }

    /// Waits for an API server on this master that can be asked for nodes. `false`: there is none.
    ///
    /// # Errors
    /// If this master's own changes do not end in time.
    pub(in crate::steps) async fn can_ask(&self, cx: &Context) -> Result<bool, StepError> {
        tokio::select! {
            own = self.own_changes(cx) => own.map(|()| true),
            () = without_api(cx) => Ok(false),
        }
    }

    /// Lets no further machine have its turn.
    pub(in crate::steps) fn stop(&self, machine: &str) {
        self.failed.borrow_mut().get_or_insert_with(|| machine.to_owned());
    }

    /// Keeps a machine's node cordoned, because the machine is not as described.
    pub(in crate::steps) fn leave(&self, machine: &str) {
        self.unfinished.borrow_mut().push(machine.to_owned());
    }

    /// Waits until this master has its own changes and is healthy.
    async fn own_changes(&self, cx: &Context) -> Result<(), StepError> {
        let timeouts = &cx.cluster.timeouts;
        // What its steps may take: artifacts, restarts in turn, and three hooks.
        let masters = u32::try_from(cx.cluster.masters.len()).unwrap_or(u32::MAX);
        let limit = timeouts.download
            + timeouts.image_import
            + timeouts.kubelet
            + timeouts.control_plane
            + timeouts.etcd.saturating_mul(masters)
            + 3 * timeouts.node;
        let look = async || match *self.own.borrow() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue("its steps have not ended".to_owned()),
        };
        let wait = Wait::new("this master's own changes", limit).at_most_every(Duration::from_millis(100));
        let hint = "fix the failed step of this master, then run the command again";
        wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))
    }

    async fn worker_places(&self, cx: &Context) -> Arc<Semaphore> {
        let new = async || {
            let share = cx.rollout.parallel.unwrap_or(cx.cluster.rollout.parallel);
            Arc::new(Semaphore::new(share.of(cx.cluster.workers.len())))
        };
        self.worker_places.get_or_init(new).await.clone()
    }

    /// Runs the first hook, once.
    async fn begin(&self, cx: &Context) -> Result<(), StepError> {
        self.begun.get_or_try_init(|| hooks::run(cx, Hook::Before, None)).await.copied()
    }

    /// Runs the hooks before the leading master changes.
    ///
    /// # Errors
    /// If one fails.
    pub(in crate::steps) async fn begin_own(&self, cx: &Context) -> Result<(), StepError> {
        self.begin(cx).await?;
        hooks::run(cx, Hook::BeforeMachine, Some((&cx.node.name, cx.node.role))).await?;
        self.own_hook.set(true);
        Ok(())
    }

    /// Lets the other machines have their turns: the leading master is healthy.
    async fn end_own(&self, cx: &Context) -> Result<(), StepError> {
        if self.own_hook.take() {
            hooks::run(cx, Hook::AfterMachine, Some((&cx.node.name, cx.node.role))).await?;
        }
        self.own.send_replace(true);
        Ok(())
    }
}

impl Turn {
    /// Lets the machine's node take pods again.
    ///
    /// # Errors
    /// If the API does not allow it in time, or the hook fails.
    pub(in crate::steps) async fn end(self, cx: &Context) -> Result<(), StepError> {
        node::uncordon(cx, &self.machine).await?;
        hooks::run(cx, Hook::AfterMachine, Some((&self.machine, self.role))).await
    }
}

/// Ends when no API server has answered on this master for some time.
async fn without_api(cx: &Context) {
    let mut since = Instant::now();
    while since.elapsed() < WITHOUT_API {
        if cluster::ready(cx).await.is_break() {
            since = Instant::now();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Step `rollout-own`: the leading master has its own changes, so that the other machines may have theirs.
pub struct Own(pub Rc<Rollout>);

#[async_trait(?Send)]
impl Step for Own {
    fn id(&self) -> StepId {
        StepId::RolloutOwn
    }

    fn title(&self) -> String {
        "run the hook after this master".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if self.0.own_hook.get() {
            return Ok(State::needed(self.title()));
        }
        self.0.end_own(cx).await.map(|()| State::Done)
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        self.0.end_own(cx).await
    }
}

/// Step `rollout-end`: no node is cordoned because of a rollout, and the last hook has run.
pub struct End(pub Rc<Rollout>);

#[async_trait(?Send)]
impl Step for End {
    fn id(&self) -> StepId {
        StepId::RolloutEnd
    }

    fn title(&self) -> String {
        "end the rollout".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if cx.rollout.at_boot {
            return Ok(State::Done);
        }
        // Without an API server there is no rollout.
        let mut changes = node::left_cordoned(cx).await.unwrap_or_default();
        if self.0.begun.initialized() && cx.cluster.rollout.hooks.after.is_some() {
            changes.push(self.title());
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let unfinished = self.0.unfinished.take();
        for name in node::cordoned(cx).await?.iter().filter(|name| !unfinished.contains(name)) {
            node::uncordon(cx, name).await?;
        }
        match self.0.begun.initialized() && unfinished.is_empty() {
            true => hooks::run(cx, Hook::After, None).await,
            false => Ok(()),
        }
    }
}
