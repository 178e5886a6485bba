//! Makes a further master a member of etcd.

use super::{
    aside,
    bootstrap::{self, Action, OtherMasters, Permit},
    data::{self, Data},
    decide::{self, Next, Own, next},
    evidence::others,
    health::Watch,
    marker,
    pod::{end_api_server, manifest, manifest_path, membership},
    view::{self, Peers, View, shown, url},
};
use crate::{
    api::{
        cri::{self, Cri},
        etcd::{Etcd, EtcdError, Member, Members, PEER_PORT, Past, Refusal},
    },
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::{EtcdHistory, Record},
        step::{State, Step},
        step_id::StepId,
    },
    host::{failpoint, processes},
    render::static_pod::Membership,
    steps::{
        encryption_config, kubelet, lead,
        static_pods::{back_off::BackOffWatch, command, explain, keeps, restart},
    },
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use nodeinit_config::{Cluster, Component, cluster::Role, versions::KubernetesVersion};
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

const ID: StepId = StepId::EtcdMember;

/// Step `etcd-member`: this machine is a voting member of the masters' etcd.
///
/// It adds itself as a learner, which does not count for the quorum, starts its etcd, and becomes a voting member when it has caught
/// up. Every poll lists the members again and decides from the result, so an error or a killed run needs no special case.
///
/// The first master bootstraps a new etcd if `bootstrap` finds proof that there was none; otherwise it joins the others. It also does so
/// later, if they removed it in the meantime.
pub struct EtcdMember {
    role: Role,
    permit: Permit,
    /// The result of `other-masters`; `None` if that step is not in the plan.
    action: Option<bootstrap::Shared>,
}

impl EtcdMember {
    /// Returns the step of a further master.
    #[must_use]
    pub fn of_master() -> Self {
        Self { role: Role::Master, permit: Permit::None, action: None }
    }

    /// Returns the step of the first master, and the step that asks the other masters if there are any.
    #[must_use]
    pub fn of_first_master(cluster: &Cluster, permit: Permit) -> (Option<OtherMasters>, Self) {
        if cluster.masters.len() < 2 {
            return (None, Self { role: Role::FirstMaster, permit, action: None });
        }
        let action = bootstrap::Shared::default();
        let others = OtherMasters::new(permit, action.clone());
        (Some(others), Self { role: Role::FirstMaster, permit, action: Some(action) })
    }

    /// Whether `bootstrap` must decide because the first master's data does not.
    fn must_decide(&self, cx: &Context) -> Result<bool, StepError> {
        Ok(self.role == Role::FirstMaster && (data::look(cx)? == Data::None || self.permit == Permit::Operator))
    }
}

/// Returns what this machine has of its etcd member.
pub(super) fn own(cx: &Context) -> Result<Own, StepError> {
    let peer_url = url(cx.node.address, PEER_PORT);
    let (data, placed) = (data::look(cx)?, cx.files.exists(manifest_path()));
    // A reset ends what an interrupted run began: it removes the journal, and keeps the data that was moved aside.
    let unfinished = data == Data::None && !placed && cx.journal.etcd().history.has_cluster();
    let aside = if unfinished { aside::identities(cx)? } else { Vec::new() };
    Ok(Own { name: cx.node.name.clone(), peer_url, data, placed, aside })
}

/// Whether the other masters removed or replaced this machine, which bootstrapped their etcd. Asks them only if its own etcd, which was
/// healthy before, does not answer.
async fn is_former(cx: &Context) -> Result<bool, StepError> {
    let has_cluster = cx.journal.etcd().history.has_cluster() && others(cx).next().is_some();
    if !has_cluster || Peers::new(cx, [cx.node.address])?.members().await.is_ok() {
        return Ok(false);
    }
    match Peers::of_others(cx)?.members().await {
        Ok((_, members)) => Ok(decide::is_former(&own(cx)?, &members)),
        Err(_) => Ok(false),
    }
}

#[async_trait(?Send)]
impl Step for EtcdMember {
    fn id(&self) -> StepId {
        ID
    }

    fn title(&self) -> String {
        "make this machine a member of the masters' etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if self.must_decide(cx)? {
            return Ok(State::needed(self.title()));
        }
        let membership = membership(cx)?;
        let mut changes = Vec::new();
        if lacks_marker(cx)? {
            changes.push("write the marker of etcd's data".to_owned());
        }
        if membership.joined.is_none() {
            let bootstrapped = self.role == Role::FirstMaster && !is_former(cx).await?;
            return Ok(if bootstrapped { State::of(changes) } else { State::needed(self.title()) });
        }
        let manifest = manifest(cx, &membership)?;
        if !keeps(cx, &manifest.path) {
            changes.extend(cx.differing(&[manifest])?);
        }
        // A voting member answers for all; a learner refuses.
        if let Err(why) = Peers::new(cx, [cx.node.address])?.members().await {
            changes.push(format!("become a voting member: {why}"));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if lacks_marker(cx)? {
            let cx = cx.clone();
            blocking(move || marker::write(&cx)).await?;
        }
        if self.must_decide(cx)? {
            let decided = self.action.as_ref().and_then(|action| action.take());
            let action = match decided {
                Some(action) => action,
                None => bootstrap::action(cx, self.permit).await?,
            };
            match action {
                Action::Keep => return Ok(()),
                Action::Bootstrap => {
                    let lent = cx.clone();
                    blocking(move || bootstrap::record(&lent)).await?;
                    return mark(cx).await;
                }
                Action::Join => cx.report.note(&ID.name(), "the other masters have an etcd: this machine joins it"),
            }
        } else if self.role == Role::FirstMaster && membership(cx)?.joined.is_none() && !is_former(cx).await? {
            return Ok(());
        }
        Joining::new(cx)?.run().await
    }
}

/// How long a learner waits with its promotion for others to be added. After a promotion, etcd refuses new members for 5 s
/// (`HealthInterval`), because it requires that the voters have been connected that long: this costs at most one second and may
/// save four.
const COURTESY: Duration = Duration::from_secs(1);

/// How long one member may take to be added.
const TURN: Duration = Duration::from_millis(100);

/// The state of one run that joins etcd.
struct Joining<'a> {
    cx: &'a Context,
    peers: Peers,
    watch: BackOffWatch,
    health: Watch,
    /// Since when this machine's etcd should be starting.
    starting: Option<Instant>,
    /// The last known members, and since when they are unchanged.
    known: (Members, Instant),
    /// The last report, so that it is not repeated.
    last_message: String,
    /// Whether this machine has the others' encryption keys, and their version of Kubernetes.
    has_their_keys: bool,
}

impl<'a> Joining<'a> {
    fn new(cx: &'a Context) -> Result<Self, StepError> {
        let watch = BackOffWatch::new(Component::Etcd);
        let known = (Members::default(), Instant::now());
        Ok(Self {
            cx,
            peers: Peers::of_others(cx)?,
            watch,
            health: Watch::new(ID),
            starting: None,
            known,
            last_message: String::new(),
            has_their_keys: false,
        })
    }

    async fn run(mut self) -> Result<(), StepError> {
        let wait = Wait::new("membership in the masters' etcd", self.cx.cluster.timeouts.join);
        let look = async || match self.advance().await {
            Ok(flow) => flow.map_break(Ok),
            Err(e) => ControlFlow::Break(Err(e)),
        };
        match wait.until(look).await {
            Ok(Ok(())) => self.place(None).await,
            Ok(Err(e)) => Err(e),
            Err(late) => {
                self.withdraw().await;
                let hint = "see `nodeinit etcd members` on another master, then run the same command again here";
                Err(self.health.error(StepError::from(late).hint(hint)))
            }
        }
    }

    /// Looks once, and makes one move.
    async fn advance(&mut self) -> Result<ControlFlow<(), String>, StepError> {
        let (etcd, members) = match self.peers.members().await {
            Ok(found) => found,
            Err(why) => {
                self.health.look(self.cx).await;
                return Ok(ControlFlow::Continue(format!("no other master's etcd answers: {why}")));
            }
        };
        if self.known.0 != members {
            self.known = (members.clone(), Instant::now());
        }
        let own = own(self.cx)?;
        let next = next(&own, &members);
        // A machine that cannot join removes no member either.
        if matches!(next, Next::Remove { .. } | Next::RemoveNamesake(_))
            && let Err(e) = self.can_join(&etcd, &members).await?
        {
            return Ok(self.wait(shown(&e)));
        }
        match next {
            Next::Add => self.add(&own, etcd, members).await,
            Next::Start(id) => self.start(&own, id, etcd).await,
            Next::Yield(id) => {
                let removed = etcd.remove(id).await;
                Ok(self.outcome("another member was added at the same moment and goes first", removed))
            }
            Next::Promote(id) => {
                if self.others_may_come() {
                    return Ok(ControlFlow::Continue("other masters may be added first".into()));
                }
                failpoint("etcd-promote", &own.name);
                let promoted = etcd.promote(id).await;
                failpoint("etcd-promoted", &own.name);
                Ok(self.outcome("it is a voting member", promoted))
            }
            Next::Votes => Ok(ControlFlow::Break(())),
            Next::Remove { id, why } => {
                let view = self.peers.view(etcd, members).await;
                self.remove(&own, &view, id, why).await
            }
            Next::RemoveNamesake(id) => {
                let view = self.peers.view(etcd, members).await;
                let namesake = view.members.members.iter().find(|member| member.id == id);
                if let Some(namesake) = namesake.filter(|namesake| view.complaint(namesake).is_none()) {
                    let urls = namesake.peer_urls.join(", ");
                    let what = format!("another machine is the etcd member {} and answers at {urls}", own.name);
                    return Err(StepError::new(what).hint("rename this machine, or reset the other one"));
                }
                self.remove(&own, &view, id, "it was at another address, and does not answer there").await
            }
            Next::MoveAside(id) => self.move_aside(&etcd, &members, id).await,
            Next::Wait(why) => Ok(self.wait(why)),
            Next::Refuse { what, hint } => Err(StepError::new(what).hint(hint)),
        }
    }

    /// Moves the data of a former member aside. A member that is not in the list is not enough proof: two clusters of the same
    /// masters can have the same ID. `etcd` confirmed the list with a quorum, so it also knows every removal.
    async fn move_aside(
        &mut self,
        etcd: &Etcd,
        members: &Members,
        id: u64,
    ) -> Result<ControlFlow<(), String>, StepError> {
        match view::past(self.cx, etcd, members.cluster_id, id).await? {
            Ok(Past::Removed) => {}
            Ok(Past::Unknown) => {
                let what = format!(
                    "the etcd data on this machine belongs to another cluster: it is the data of member {id:x}, which the other masters' cluster never had, although both clusters have the same ID ({:x})",
                    members.cluster_id
                );
                return Err(StepError::new(what).hint(decide::REJECTED));
            }
            Err(why) => return Ok(self.wait(format!("cannot ask etcd whether it removed member {id:x}: {why}"))),
        }
        if let Err(e) = lead::may_return(self.cx, etcd).await? {
            return Ok(self.wait(shown(&e)));
        }
        stop(self.cx).await?;
        let cx = self.cx.clone();
        let aside = blocking(move || aside::move_aside(&cx)).await?;
        let moved = format!(
            "etcd member {id:x} was removed from the cluster; moved its data aside: {} in {}, {} MiB",
            aside.name,
            self.cx.cluster.etcd.data_directory.display(),
            aside.mebibytes()
        );
        self.tell(moved);
        Ok(ControlFlow::Continue("the data of the former member was moved aside".into()))
    }

    async fn add(&mut self, own: &Own, etcd: Etcd, members: Members) -> Result<ControlFlow<(), String>, StepError> {
        // Until this is recorded, the machine that bootstrapped etcd would do so again if it lost its data.
        if members.members.len() == 1 && !etcd.is_settled().await.unwrap_or_default() {
            return Ok(ControlFlow::Continue("the first master has not recorded yet that its etcd is healthy".into()));
        }
        if let Err(e) = self.can_join(&etcd, &members).await? {
            return Ok(self.wait(shown(&e)));
        }
        let view = self.peers.view(etcd, members).await;
        if let Some(complaint) = view.unhealthy() {
            return Ok(self.wait(complaint));
        }
        if self.known.1.elapsed() < self.turn() {
            return Ok(ControlFlow::Continue("masters that are listed before it in the configuration go first".into()));
        }
        failpoint("etcd-add", &own.name);
        let added = view.asked.add_learner(&own.peer_url).await;
        failpoint("etcd-added", &own.name);
        let learners: Vec<&str> =
            view.members.members.iter().filter(|member| member.learner).map(Member::shown).collect();
        match &added {
            Err(e) if e.refusal() == Some(Refusal::TooManyLearners) => {
                Ok(self.wait(format!("{} goes first: it is not a voting member yet", learners.join(", "))))
            }
            Err(e) if e.refusal() == Some(Refusal::Unhealthy) => {
                Ok(self.wait("etcd adds a member after all voters have been connected for 5 s".into()))
            }
            _ => Ok(self.outcome("it is a learner", added)),
        }
    }

    /// Verifies that this machine has the others' version of Kubernetes and their encryption keys, and no older configuration.
    async fn can_join(&mut self, etcd: &Etcd, members: &Members) -> Result<Result<(), EtcdError>, StepError> {
        if let Err(e) = lead::may_return(self.cx, etcd).await? {
            return Ok(Err(e));
        }
        if !self.has_their_keys {
            match etcd.kubernetes_version().await {
                Ok(theirs) => has_their_version(theirs, self.cx.cluster.version)?,
                Err(e) => return Ok(Err(e)),
            }
            if let Err(e) = encryption_config::verify(self.cx, etcd, members).await? {
                return Ok(Err(e));
            }
            self.has_their_keys = true;
        }
        Ok(Ok(()))
    }

    async fn remove(
        &mut self,
        own: &Own,
        view: &View,
        id: u64,
        why: &str,
    ) -> Result<ControlFlow<(), String>, StepError> {
        if let Some(loss) = view.loss_of_quorum(id) {
            return Ok(self.wait(format!("the former member {} cannot be removed ({why}): {loss}", own.name)));
        }
        self.tell(format!("the former member {} is removed: {why}", own.name));
        failpoint("etcd-remove", &own.name);
        let removed = view.asked.remove(id).await;
        failpoint("etcd-removed", &own.name);
        Ok(self.outcome("the former member is removed", removed))
    }

    /// Returns how long the others may go first after the members last changed: all masters wait for the same moment.
    fn turn(&self) -> Duration {
        let before = self.cx.cluster.masters.iter().position(|master| master.name == self.cx.node.name);
        TURN * u32::try_from(before.unwrap_or_default().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Whether configured masters are not members yet and the members changed a moment ago.
    fn others_may_come(&self) -> bool {
        let members = &self.known.0.members;
        let is_member = |address| members.iter().any(|member| member.peer_urls.contains(&url(address, PEER_PORT)));
        let missing = self.cx.cluster.masters.iter().filter_map(|m| m.address).any(|address| !is_member(address));
        missing && self.known.1.elapsed() < COURTESY
    }

    /// Describes the result of a call. A failed call may still have taken effect: the next poll shows it.
    fn outcome(&mut self, done: &str, result: Result<(), EtcdError>) -> ControlFlow<(), String> {
        let what = result.map_or_else(|e| shown(&e), |()| done.to_owned());
        self.wait(what)
    }

    fn wait(&mut self, what: String) -> ControlFlow<(), String> {
        self.tell(what.clone());
        ControlFlow::Continue(what)
    }

    fn tell(&mut self, what: String) {
        if self.last_message != what {
            self.cx.report.note(&ID.name(), &what);
            self.last_message = what;
        }
    }

    /// Writes the manifest; that of an etcd that has started keeps its original members and token. Waits for this machine's
    /// turn if etcd must restart.
    async fn place(&self, token: Option<String>) -> Result<(), StepError> {
        let own = own(self.cx)?;
        let former = match own.data {
            Data::None => Membership { marked: true, ..Membership::default() },
            Data::Of(_) | Data::Unreadable => membership(self.cx)?,
        };
        let token = former.token.clone().or(token);
        let joined = former.joined.clone().unwrap_or_else(|| decide::initial_cluster(&own, &self.known.0));
        let manifest = manifest(self.cx, &Membership { token: token.clone(), joined: Some(joined), ..former })?;
        let cx = self.cx.clone();
        blocking(move || record_join(&cx, token)).await?;
        if own.data == Data::None {
            mark(self.cx).await?;
        }
        restart::place(self.cx, Component::Etcd, manifest).await
    }

    async fn start(&mut self, own: &Own, id: u64, etcd: Etcd) -> Result<ControlFlow<(), String>, StepError> {
        let token = match own.data {
            Data::None => etcd.cluster_token().await,
            Data::Of(_) | Data::Unreadable => Ok(None),
        };
        match token {
            Ok(token) => self.place(token).await?,
            Err(e) => return Ok(self.wait(shown(&e))),
        }
        let command = command(self.cx, Component::Etcd)?;
        if self.starting.is_none() && !processes::runs(&self.cx.files, &command) {
            end_api_server(self.cx).await;
        }
        let since = *self.starting.get_or_insert_with(Instant::now);
        let limit = self.cx.cluster.timeouts.etcd;
        if since.elapsed() > limit {
            explain(self.cx, Component::Etcd).await;
            self.withdraw().await;
            let what = format!(
                "etcd on this machine, added as member {id:x}, did not start within {} s; it was removed again",
                limit.as_secs()
            );
            let hint =
                "see /var/log/pods/kube-system_etcd-* and `journalctl -u kubelet`, then run the same command again";
            return Err(StepError::new(what).exit(Exit::TryAgain).hint(hint));
        }
        self.watch.restart_if_due(self.cx, &command).await?;
        let state = match processes::runs(&self.cx.files, &command) {
            true => "runs, but has not joined yet",
            false => "does not run yet",
        };
        Ok(ControlFlow::Continue(format!("etcd on this machine {state}")))
    }

    /// Removes this machine's member if it has not started: it would keep others from being added. The manifest is removed
    /// first, because the next run adds another member.
    async fn withdraw(&self) {
        let withdraw = async {
            let Ok(own) = own(self.cx) else { return Ok(()) };
            let Ok((etcd, members)) = self.peers.members().await else { return Ok(()) };
            let unstarted = |m: &&Member| m.peer_urls.contains(&own.peer_url) && m.name.is_empty();
            let Some(member) = members.members.iter().find(unstarted) else { return Ok(()) };
            stop(self.cx).await?;
            etcd.remove(member.id).await.map_err(|e| StepError::caused("cannot remove the member again", e))
        };
        if let Err(e) = withdraw.await {
            self.cx.report.note(&ID.name(), format!("{e}: {}", e.causes().join(": ")));
        }
    }
}

/// Stops this machine's etcd pod and removes its manifest. A kubelet that is just starting the pod, as after a boot, would continue
/// without the manifest; a restart makes it forget the pod.
async fn stop(cx: &Context) -> Result<(), StepError> {
    let lent = cx.clone();
    blocking(move || Ok(lent.files.remove_file(manifest_path())?)).await?;
    kubelet::restart_if_started(cx).await?;
    let ended = Wait::new("etcd's pod on this machine to stop", Duration::from_secs(60));
    let look = async || match end_pod(&cx.node.name).await {
        Ok(()) => ControlFlow::Break(()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    Ok(ended.until(look).await?)
}

/// Whether this machine has etcd data without the marker that its pod mounts: the data was restored by hand.
fn lacks_marker(cx: &Context) -> Result<bool, StepError> {
    Ok(matches!(data::look(cx)?, Data::Of(_)) && !marker::exists(cx) && membership(cx)?.marked)
}

/// Writes the marker for an etcd that starts without data. If the pod of a former etcd waits for the marker, it must not start with
/// it: it has the flags of the lost member.
async fn mark(cx: &Context) -> Result<(), StepError> {
    if marker::exists(cx) {
        return Ok(());
    }
    if cx.files.exists(manifest_path()) {
        stop(cx).await?;
    }
    let cx = cx.clone();
    blocking(move || marker::write(&cx)).await
}

/// Records that etcd on this machine joins others, before it does. From then on, no new cluster is bootstrapped here.
fn record_join(cx: &Context, token: Option<String>) -> Result<(), StepError> {
    let known = cx.journal.etcd();
    if known.history == EtcdHistory::Member && known.token == token {
        return Ok(());
    }
    Ok(cx.journal.intend(vec![Record::EtcdJoin { token }])?)
}

/// Refuses to bring another version of Kubernetes and etcd into a cluster, as a rebuilt master without a configured version would.
fn has_their_version(theirs: Option<String>, ours: KubernetesVersion) -> Result<(), StepError> {
    let Some(theirs) = theirs.filter(|theirs| *theirs != ours.to_string()) else { return Ok(()) };
    let what = format!("the cluster runs Kubernetes {theirs}, and kubernetes.version is {ours} here");
    let hint =
        format!("write `kubernetes: {{version: {theirs}}}` in the configuration, then run the same command again");
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

/// Records that the etcd that was bootstrapped here is healthy, publishes the digest of this machine's encryption keys in etcd, and
/// only then lets other masters join: they join an etcd that holds its token, and compare their keys.
///
/// # Errors
/// If the journal cannot be written, or etcd does not store a value.
pub(in crate::steps) async fn settle(cx: &Context) -> Result<(), StepError> {
    let records = cx.journal.etcd();
    if records.history == EtcdHistory::Bootstrapping {
        let lent = cx.clone();
        failpoint("etcd-healthy", "record");
        blocking(move || Ok(lent.journal.intend(vec![Record::EtcdHealthy])?)).await?;
    }
    let peers = Peers::new(cx, [cx.node.address])?;
    if let Some(digest) = encryption_config::digest(cx)? {
        let publish = async || peers.publish_encryption_digest(&cx.node.name, &digest).await;
        stored(cx, "the digest of the encryption keys", publish).await?;
    }
    let (true, Some(token)) = (records.history.is_bootstrap(), records.token) else { return Ok(()) };
    failpoint("etcd-settle", "token");
    stored(cx, "its cluster's token", async || peers.put_cluster_token(&token).await).await
}

/// Waits until etcd has stored something.
async fn stored(cx: &Context, what: &str, store: impl AsyncFn() -> Result<(), String>) -> Result<(), StepError> {
    let look = async || match store().await {
        Ok(()) => ControlFlow::Break(()),
        Err(why) => ControlFlow::Continue(why),
    };
    Ok(Wait::new(format!("etcd to store {what}"), cx.cluster.timeouts.etcd).until(look).await?)
}

/// Whether [`settle`] has nothing left to do.
pub(in crate::steps) fn is_settled(cx: &Context) -> bool {
    let state = cx.journal.state();
    match state.etcd.history {
        EtcdHistory::None | EtcdHistory::Member => true,
        EtcdHistory::Bootstrapping => false,
        EtcdHistory::Bootstrapped => state.ended.contains(Component::Etcd.name()),
    }
}

async fn end_pod(node: &str) -> Result<(), cri::CriError> {
    let pod = format!("{}-{node}", Component::Etcd.name());
    let cri = Cri::connect(cri::SOCKET).await?;
    for sandbox in cri.sandboxes().await? {
        if sandbox.namespace == "kube-system" && sandbox.pod == pod {
            cri.remove_sandbox(&sandbox.id).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::data::{Identity, tests::put_log},
        *,
    };
    use crate::{
        context::testing::{context, context_of},
        host::files::NewFile,
    };

    #[tokio::test]
    async fn only_a_first_master_whose_etcd_was_healthy_asks_whether_it_is_still_a_member() {
        let masters = "masters: [{name: m1, address: 10.0.0.11}, {name: m2, address: 10.0.0.12}]";
        let (_dir, cx) = context_of(&format!("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n{masters}\n"));
        let (_, step) = EtcdMember::of_first_master(&cx.cluster, Permit::None);
        put_log(&cx, "member", 1);
        cx.journal.intend(vec![Record::EtcdBootstrap { token: "t".into() }]).unwrap();
        assert_eq!(step.check(&cx).await.unwrap(), State::Done);
        cx.journal.intend(vec![Record::EtcdHealthy]).unwrap();
        let error = step.check(&cx).await.unwrap_err().to_string();
        assert!(error.contains("etcd/ca.crt is missing"), "it connects to etcd: {error}");
    }

    #[test]
    fn data_that_was_moved_aside_counts_until_etcd_is_placed_again() {
        let (_dir, cx) = context();
        let aside = || own(&cx).unwrap().aside;
        cx.journal.intend(vec![Record::EtcdJoin { token: None }]).unwrap();
        put_log(&cx, "member", 7);
        assert_eq!(aside(), []);
        aside::move_aside(&cx).unwrap();
        assert_eq!(aside(), [Identity { member: 7, cluster: 8 }]);
        std::fs::create_dir_all(cx.files.real(manifest_path().parent().unwrap())).unwrap();
        cx.files.write(&[NewFile::private(manifest_path(), "")]).unwrap();
        assert_eq!(aside(), [], "this machine joined as another member, and lost its data");
    }

    #[test]
    fn after_a_reset_the_member_here_is_this_machines_own_whatever_was_moved_aside_before() {
        let (_dir, cx) = context();
        put_log(&cx, "member", 7);
        aside::move_aside(&cx).unwrap();
        let lost = || {
            let own = own(&cx).unwrap();
            let peer_urls = vec![own.peer_url.clone()];
            let member = Member { id: 9, name: own.name.clone(), peer_urls, ..Member::default() };
            next(&own, &Members { cluster_id: 8, members: vec![member] })
        };
        assert!(matches!(lost(), Next::Remove { id: 9, .. }), "{:?}", lost());
        cx.journal.intend(vec![Record::EtcdJoin { token: None }]).unwrap();
        assert!(matches!(lost(), Next::Refuse { .. }), "without a reset: {:?}", lost());
    }

    #[test]
    fn another_version_than_the_clusters_is_refused() {
        let ours = "v1.37.1".parse().unwrap();
        assert!(has_their_version(None, ours).is_ok() && has_their_version(Some("v1.37.1".into()), ours).is_ok());
        let error = has_their_version(Some("v1.34.4".into()), ours).unwrap_err();
        assert_eq!(error.to_string(), "the cluster runs Kubernetes v1.34.4, and kubernetes.version is v1.37.1 here");
        assert!(error.exit == Exit::BadConfig && error.advice().unwrap().contains("{version: v1.34.4}"));
    }
}
