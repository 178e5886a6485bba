//! A further master becomes a member of etcd.

use super::{
    data::{self, Data},
    decide::{self, Next, Own, next},
    view::{Peers, View, shown, url},
};
use crate::{
    api::{
        cri::{self, ContainerState, Cri},
        etcd::{Etcd, EtcdError, Member, Members, PEER_PORT, Refusal},
    },
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        wait::Wait,
    },
    host::{failpoint, files::NewFile, processes},
    render::{self, static_pod},
    steps::{
        kubelet,
        static_pods::{BackOffWatch, Component, explain},
    },
};
use async_trait::async_trait;
use nodeinit_config::{cluster::Role, yaml};
use serde_json::Value;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The step's name.
pub const NAME: &str = "etcd-member";

/// Step `etcd-member`: this machine is a voting member of the masters' etcd.
///
/// It adds itself as a learner, which no quorum counts, starts its etcd, and votes once it has caught up. Every look lists
/// the members anew and decides from what is there: so an error, a killed run and a run before this one make no difference.
///
/// The first master begins an etcd of its own, unless the others have one: then it was replaced, and joins them.
pub struct EtcdMember(pub Role);

/// How long the first master, where nothing of etcd's is on its disk, asks the others for theirs.
const SEARCH_LIMIT: Duration = Duration::from_secs(1);

fn manifest_path() -> PathBuf {
    Path::new(render::paths::STATIC_PODS).join("etcd.yaml")
}

/// The members with which etcd on this machine began, where it joined others. They were written once: etcd reads them at its
/// first start only, and whoever comes later must not make it restart.
pub(in crate::steps) fn initial_cluster(cx: &Context) -> Result<Option<String>, StepError> {
    let Some(text) = cx.files.read_text(manifest_path())? else { return Ok(None) };
    // What cannot be read is written anew.
    let pod = yaml::document(&text).unwrap_or_default();
    let command = pod.pointer("/spec/containers/0/command").and_then(Value::as_array);
    let flags: Vec<&str> = command.into_iter().flatten().filter_map(Value::as_str).collect();
    let cluster = flags.iter().find_map(|flag| flag.strip_prefix("--initial-cluster="));
    let joined = flags.contains(&"--initial-cluster-state=existing");
    Ok(cluster.filter(|_| joined).map(str::to_owned))
}

fn manifest(cx: &Context, initial_cluster: &str) -> Result<NewFile, StepError> {
    let pod = static_pod::joining_etcd(&cx.renderer(), initial_cluster)?;
    Ok(NewFile::private(manifest_path(), pod.text))
}

fn own(cx: &Context) -> Result<Own, StepError> {
    let peer_url = url(cx.node.address, PEER_PORT);
    let placed = cx.files.exists(manifest_path());
    Ok(Own { name: cx.node.name.clone(), peer_url, data: data::look(cx)?, placed })
}

#[async_trait(?Send)]
impl Step for EtcdMember {
    fn name(&self) -> String {
        NAME.into()
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = ["kubeconfig", "image-pause", "image-etcd", "kubelet-config"].map(String::from).to_vec();
        if self.0 != Role::FirstMaster {
            needs.push("kubelet".into());
        }
        needs
    }

    fn title(&self) -> String {
        "make this machine a member of the masters' etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let Some(cluster) = initial_cluster(cx)? else {
            return Ok(match self.0 == Role::FirstMaster && has_begun(cx)? {
                true => State::Done,
                false => State::needed(self.title()),
            });
        };
        let mut changes = cx.differing(&[manifest(cx, &cluster)?])?;
        // A member that votes answers for all; a learner refuses.
        if let Err(why) = Peers::new(cx, [cx.node.address])?.members().await {
            changes.push(format!("become a voting member: {why}"));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if self.0 == Role::FirstMaster && initial_cluster(cx)?.is_none() && !search(cx).await? {
            return Ok(());
        }
        Joining::new(cx)?.run().await
    }
}

/// Whether the first master has no reason to look for another etcd than its own.
fn has_begun(cx: &Context) -> Result<bool, StepError> {
    Ok(cx.cluster.masters.len() < 2 || cx.files.exists(manifest_path()) || data::look(cx)? != Data::None)
}

/// Whether other masters have an etcd already.
async fn search(cx: &Context) -> Result<bool, StepError> {
    let peers = Peers::of_others(cx)?;
    match tokio::time::timeout(SEARCH_LIMIT, peers.members()).await {
        Ok(Ok(_)) => {
            cx.report.note(NAME, "the other masters have an etcd already: this machine joins it");
            Ok(true)
        }
        Ok(Err(_)) | Err(_) => match peers.stranger() {
            None => Ok(false),
            Some(address) => {
                let what =
                    format!("{address} runs an etcd of another CA than this machine's: a cluster is there already");
                Err(StepError::new(what).hint(
                    "to bring this machine back into it: `nodeinit reset`, put that cluster's secrets at \
                     /etc/nodeinit/secrets.yaml, then `nodeinit up`; to begin anew: reset the other masters",
                ))
            }
        },
    }
}

/// For how long a member that could vote lets others be added first. From then on etcd lets nobody in for 5 s
/// (`HealthInterval`), for it counts how long those that vote have been connected: a second lost at most, or four won.
const COURTESY: Duration = Duration::from_secs(1);

/// Adding a member takes less.
const TURN: Duration = Duration::from_millis(100);

/// One run's way to membership.
struct Joining<'a> {
    cx: &'a Context,
    peers: Peers,
    watch: BackOffWatch,
    /// Since when our etcd should be starting.
    starting: Option<Instant>,
    /// The members as they were last, and since when.
    known: (Members, Instant),
    /// What was last told, so that it is told once.
    told: String,
}

impl<'a> Joining<'a> {
    fn new(cx: &'a Context) -> Result<Self, StepError> {
        let watch = BackOffWatch::new(Component::Etcd);
        let known = (Members::default(), Instant::now());
        Ok(Self { cx, peers: Peers::of_others(cx)?, watch, starting: None, known, told: String::new() })
    }

    async fn run(mut self) -> Result<(), StepError> {
        let wait = Wait::new("membership in the masters' etcd", self.cx.cluster.timeouts.join);
        let look = async || match self.advance().await {
            Ok(flow) => flow.map_break(Ok),
            Err(e) => ControlFlow::Break(Err(e)),
        };
        match wait.until(look).await {
            Ok(ended) => ended,
            Err(late) => {
                self.withdraw().await;
                let hint = "see `nodeinit etcd members` on another master, then run `nodeinit up` again here";
                Err(StepError::from(late).hint(hint))
            }
        }
    }

    /// One look, and one move.
    async fn advance(&mut self) -> Result<ControlFlow<(), String>, StepError> {
        let (etcd, members) = match self.peers.members().await {
            Ok(found) => found,
            Err(why) => return Ok(ControlFlow::Continue(format!("no other master's etcd answers: {why}"))),
        };
        if self.known.0 != members {
            self.known = (members.clone(), Instant::now());
        }
        let own = own(self.cx)?;
        match next(&own, &members) {
            Next::Add => self.add(&own, etcd, members).await,
            Next::Start(id) => self.start(&own, id, &members).await,
            Next::Yield(id) => {
                let removed = etcd.remove(id).await;
                Ok(self.outcome("another was added in the same moment, and goes first", removed))
            }
            Next::Promote(id) => {
                if self.others_may_come() {
                    return Ok(ControlFlow::Continue("other masters may be added first".into()));
                }
                failpoint("etcd-promote", &own.name);
                let promoted = etcd.promote(id).await;
                failpoint("etcd-promoted", &own.name);
                Ok(self.outcome("it votes", promoted))
            }
            Next::Votes => {
                self.place(&own, &members).await?;
                Ok(ControlFlow::Break(()))
            }
            Next::Remove { id, why } => {
                let view = self.peers.view(etcd, members).await;
                self.remove(&own, &view, id, why).await
            }
            Next::RemoveNamesake(id) => {
                let view = self.peers.view(etcd, members).await;
                let namesake = view.members.members.iter().find(|member| member.id == id);
                if let Some(namesake) = namesake.filter(|namesake| view.complaint(namesake).is_none()) {
                    let urls = namesake.peer_urls.join(", ");
                    let what = format!("another machine is etcd's member {}, at {urls}, and answers there", own.name);
                    return Err(StepError::new(what).hint("give this machine another name, or reset the other one"));
                }
                self.remove(&own, &view, id, "it was at another address, and does not answer there").await
            }
            Next::Discard(why) => {
                self.tell(format!("etcd's data on this machine is removed: {why}"));
                self.stop().await?;
                let cx = self.cx.clone();
                blocking(move || data::discard(&cx)).await?;
                Ok(ControlFlow::Continue("the former data was removed".into()))
            }
            Next::Wait(why) => Ok(self.wait(why)),
            Next::Refuse { what, hint } => Err(StepError::new(what).hint(hint)),
        }
    }

    async fn add(&mut self, own: &Own, etcd: Etcd, members: Members) -> Result<ControlFlow<(), String>, StepError> {
        let view = self.peers.view(etcd, members).await;
        if let Some(complaint) = view.unhealthy() {
            return Ok(self.wait(complaint));
        }
        if self.known.1.elapsed() < self.turn() {
            return Ok(ControlFlow::Continue("masters that stand before it in the configuration go first".into()));
        }
        failpoint("etcd-add", &own.name);
        let added = view.asked.add_learner(&own.peer_url).await;
        failpoint("etcd-added", &own.name);
        let learners: Vec<&str> =
            view.members.members.iter().filter(|member| member.learner).map(Member::shown).collect();
        match &added {
            Err(e) if e.refusal() == Some(Refusal::TooManyLearners) => {
                Ok(self.wait(format!("it is the turn of {}, which cannot vote yet", learners.join(", "))))
            }
            Err(e) if e.refusal() == Some(Refusal::Unhealthy) => {
                Ok(self.wait("etcd adds a member when all that vote have been connected for 5 s".into()))
            }
            _ => Ok(self.outcome("it is a learner", added)),
        }
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

    /// For how long the others may go first, since the members last changed: all wait for the same moment.
    fn turn(&self) -> Duration {
        let before = self.cx.cluster.masters.iter().position(|master| master.name == self.cx.node.name);
        TURN * u32::try_from(before.unwrap_or_default().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Whether configured masters are no members yet, and the members have changed a moment ago.
    fn others_may_come(&self) -> bool {
        let members = &self.known.0.members;
        let is_member = |address| members.iter().any(|member| member.peer_urls.contains(&url(address, PEER_PORT)));
        let missing = self.cx.cluster.masters.iter().filter_map(|m| m.address).any(|address| !is_member(address));
        missing && self.known.1.elapsed() < COURTESY
    }

    /// A call that failed may have done its work: the next look tells.
    fn outcome(&mut self, done: &str, result: Result<(), EtcdError>) -> ControlFlow<(), String> {
        let what = result.map_or_else(|e| shown(&e), |()| done.to_owned());
        self.wait(what)
    }

    fn wait(&mut self, what: String) -> ControlFlow<(), String> {
        self.tell(what.clone());
        ControlFlow::Continue(what)
    }

    fn tell(&mut self, what: String) {
        if self.told != what {
            self.cx.report.note(NAME, &what);
            self.told = what;
        }
    }

    /// Places the manifest; one with which etcd began already keeps the members of then.
    async fn place(&self, own: &Own, members: &Members) -> Result<(), StepError> {
        let former = if own.data == Data::None { None } else { initial_cluster(self.cx)? };
        let manifest = manifest(self.cx, &former.unwrap_or_else(|| decide::initial_cluster(own, members)))?;
        self.cx.place(vec![manifest]).await.map(drop)
    }

    async fn start(&mut self, own: &Own, id: u64, members: &Members) -> Result<ControlFlow<(), String>, StepError> {
        self.place(own, members).await?;
        let command = Component::Etcd.command(self.cx)?;
        if self.starting.is_none() && !processes::runs(&self.cx.files, &command) {
            self.end_api_server().await;
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
            let hint = "see /var/log/pods/kube-system_etcd-* and `journalctl -u kubelet`, then run `nodeinit up` again";
            return Err(StepError::new(what).exit(Exit::TryAgain).hint(hint));
        }
        self.watch.mend(self.cx, &command).await?;
        let state = match processes::runs(&self.cx.files, &command) {
            true => "runs, and has not joined yet",
            false => "does not run yet",
        };
        Ok(ControlFlow::Continue(format!("etcd on this machine {state}")))
    }

    /// Ends an API server of this machine that was left without its etcd: the kubelet asks it before it starts a static pod, and it
    /// answers nobody. The kubelet starts another.
    async fn end_api_server(&self) {
        let end = async {
            let cri = Cri::connect(cri::SOCKET).await?;
            let mut containers = Component::ApiServer.containers().await?;
            containers.retain(|container| container.state == ContainerState::Running);
            for container in containers {
                self.cx.report.note(NAME, "an API server without its etcd is ended");
                cri.kill_container(&container.id).await?;
            }
            Ok::<_, cri::CriError>(())
        };
        if let Err(e) = end.await {
            self.cx.report.note(NAME, e.to_string());
        }
    }

    /// Removes our member if it has not started: it would keep others from being added. Its manifest goes first, since the
    /// next run adds another member.
    async fn withdraw(&self) {
        let withdraw = async {
            let Ok(own) = own(self.cx) else { return Ok(()) };
            let Ok((etcd, members)) = self.peers.members().await else { return Ok(()) };
            let unstarted = |m: &&Member| m.peer_urls.contains(&own.peer_url) && m.name.is_empty();
            let Some(member) = members.members.iter().find(unstarted) else { return Ok(()) };
            self.stop().await?;
            etcd.remove(member.id).await.map_err(|e| StepError::caused("cannot remove the member again", e))
        };
        if let Err(e) = withdraw.await {
            self.cx.report.note(NAME, format!("{e}: {}", e.causes().join(": ")));
        }
    }

    /// Ends our etcd's pod. A kubelet that is just starting it, as after a boot, would go on although the manifest is gone: only
    /// another one knows nothing of it.
    async fn stop(&self) -> Result<(), StepError> {
        let cx = self.cx.clone();
        blocking(move || Ok(cx.files.remove_file(manifest_path())?)).await?;
        kubelet::restart_if_begun(self.cx).await?;
        let ended = Wait::new("the end of etcd's pod on this machine", Duration::from_secs(60));
        let look = async || match end_pod(&self.cx.node.name).await {
            Ok(()) => ControlFlow::Break(()),
            Err(e) => ControlFlow::Continue(e.to_string()),
        };
        Ok(ended.until(look).await?)
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
