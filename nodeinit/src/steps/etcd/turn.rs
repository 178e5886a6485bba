//! The turn to restart etcd or the API server: one master after the other, so that the quorum holds and the API answers.

use super::{
    health, leave,
    view::{Peers, View, shown},
};
use crate::{
    api::etcd::{self, EtcdError},
    context::Context,
    engine::error::StepError,
    steps::cluster,
};
use nodeinit_base::Wait;
use nodeinit_config::Component;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// The turn of a machine that is gone expires after so many seconds. A turn covers the time until the others notice that this member
/// is down; from then on they wait for its health.
const LASTS: i64 = 60;

/// How often a turn is renewed while its holder waits.
const RENEWAL: Duration = Duration::from_secs(5);

/// If etcd has no quorum for this long (longer than an election or the restart of another member), one more restart does no harm.
const WITHOUT_QUORUM: Duration = Duration::from_secs(30);

/// Pause between two polls of all members.
const PAUSE: Duration = Duration::from_millis(500);

/// etcd's answer to each write when its database is full.
const FULL: &str = "database space exceeded";

/// The turn of this machine to restart components of which each master runs one.
pub(in crate::steps) struct Turn {
    components: &'static [Component],
    peers: Peers,
    /// `None`: no turn could be taken, or there is no other master.
    lease: Option<i64>,
    renewed: Instant,
}

impl Turn {
    /// Waits until it is this machine's turn and the other masters do without its components.
    ///
    /// # Errors
    /// If the turn does not come in time: names the master that is not healthy.
    pub(in crate::steps) async fn take(cx: &Context, components: &'static [Component]) -> Result<Self, StepError> {
        let peers = Peers::of_all(cx)?;
        let lease = if cx.cluster.masters.len() < 2 { None } else { take(cx, components, &peers).await? };
        Ok(Self { components, peers, lease, renewed: Instant::now() })
    }

    /// Lets the turn last while the restart has not started. Call it often.
    pub(in crate::steps) async fn renew(&mut self) {
        if let Some(lease) = self.lease
            && self.renewed.elapsed() > RENEWAL
            && let Ok(view) = self.peers.look().await
            && view.asked.renew_lease(lease).await.is_ok()
        {
            self.renewed = Instant::now();
        }
    }

    /// Waits, for etcd, until this machine's member takes part in the quorum again.
    ///
    /// # Errors
    /// If it does not in time.
    pub(in crate::steps) async fn succeeded(&self, cx: &Context) -> Result<(), StepError> {
        if !self.components.contains(&Component::Etcd) || cx.cluster.masters.len() < 2 {
            return Ok(());
        }
        let again = Wait::new("this machine's member of etcd to be healthy again", cx.cluster.timeouts.etcd);
        let look = async || match self.peers.look().await {
            Ok(view) => failure(&view, &cx.node.name).map_or(ControlFlow::Break(()), ControlFlow::Continue),
            Err(why) => ControlFlow::Continue(why),
        };
        Ok(again.at_most_every(PAUSE).until(look).await?)
    }

    /// Lets the other masters go on. If this fails, the turn expires.
    pub(in crate::steps) async fn end(self) {
        if let Some(lease) = self.lease
            && let Ok(view) = self.peers.look().await
        {
            let _ = view.asked.end_lease(lease).await;
        }
    }
}

/// Waits until it is this machine's turn and the others have a quorum without it. `None`: no turn can be taken, and none is needed.
async fn take(cx: &Context, components: &[Component], peers: &Peers) -> Result<Option<i64>, StepError> {
    let mut lost = None;
    let look = async || {
        let view = match peers.look().await {
            Ok(view) => view,
            Err(why) => {
                let since: Instant = *lost.get_or_insert_with(Instant::now);
                return if since.elapsed() > WITHOUT_QUORUM {
                    ControlFlow::Break(None)
                } else {
                    ControlFlow::Continue(why)
                };
            }
        };
        lost = None;
        if let Some(why) = obstacle(cx, components, &view).await {
            return ControlFlow::Continue(why);
        }
        let lease = match view.asked.take_turn(&cx.node.name, LASTS).await {
            Ok(etcd::Turn::Ours(lease)) => lease,
            Ok(etcd::Turn::Of(other)) => return ControlFlow::Continue(format!("{other} restarts first")),
            Err(EtcdError::Refused { words, .. }) if words.contains(FULL) => return ControlFlow::Break(None),
            Err(e) => return ControlFlow::Continue(shown(&e)),
        };
        // Another master may have had its turn since the last poll.
        let obstacle = match peers.look().await {
            Ok(view) => match obstacle(cx, components, &view).await {
                None => leaves_lead(cx, components, peers, &view).await.err(),
                why => why,
            },
            Err(why) => Some(why),
        };
        match obstacle {
            None => ControlFlow::Break(Some(lease)),
            Some(why) => {
                let _ = view.asked.end_lease(lease).await;
                ControlFlow::Continue(why)
            }
        }
    };
    let limit = cx.cluster.timeouts.etcd * u32::try_from(cx.cluster.masters.len()).unwrap_or(u32::MAX);
    let names: Vec<&str> = components.iter().map(|component| component.name()).collect();
    let what = format!("the turn of this machine's {} to restart", names.join(" and "));
    let wait = Wait::new(what, limit).at_most_every(PAUSE);
    match wait.until(look).await {
        Ok(turn) => Ok(turn),
        Err(late) => {
            let hint = "repair that master, or remove it if it is gone for good (`nodeinit master remove NAME`), then run \
                        the command again";
            Err(health::health(cx).await?.1.lost().unwrap_or_else(|| StepError::from(late).hint(hint)))
        }
    }
}

/// Lets another member of etcd lead before this machine's one restarts, so that no election interrupts clients.
async fn leaves_lead(cx: &Context, components: &[Component], peers: &Peers, view: &View) -> Result<(), String> {
    let own = view.voters().find(|member| member.shown() == cx.node.name);
    match own.filter(|_| components.contains(&Component::Etcd)) {
        Some(own) => leave::hand_over(cx, peers, view, own).await.map(drop),
        None => Ok(()),
    }
}

/// Returns why this machine's components must not restart now.
async fn obstacle(cx: &Context, components: &[Component], view: &View) -> Option<String> {
    if components.contains(&Component::Etcd)
        && let Some(why) = hindrance(&voters(view), &cx.node.name)
    {
        return Some(why);
    }
    if !components.contains(&Component::ApiServer) {
        return None;
    }
    for other in cx.cluster.masters.iter().filter(|other| other.name != cx.node.name) {
        if let Some(address) = other.address
            && let ControlFlow::Continue(why) = cluster::ready_at(cx, address).await
        {
            return Some(format!("the {} of {} is not ready: {why}", Component::ApiServer.name(), other.name));
        }
    }
    None
}

/// Returns the names of the voting members, each with its failure if it has one.
fn voters(view: &View) -> Vec<(&str, Option<String>)> {
    view.voters().map(|member| (member.shown(), view.failure(member))).collect()
}

/// Returns the failure of this machine's member.
fn failure(view: &View, own: &str) -> Option<String> {
    let found = voters(view).into_iter().find(|(name, _)| *name == own);
    found.map_or_else(|| Some(format!("{own} is not a voting member")), |(_, failure)| failure)
}

/// Returns why this machine's member must not restart now. It may if the others have a quorum without it, or if all are healthy: with
/// two members, a restart always interrupts the quorum.
fn hindrance(voters: &[(&str, Option<String>)], own: &str) -> Option<String> {
    let healthy = voters.iter().filter(|(name, failure)| *name != own && failure.is_none()).count();
    if healthy > voters.len() / 2 {
        return None;
    }
    let (name, why) = voters.iter().find_map(|(name, failure)| Some((name, failure.as_ref()?)))?;
    Some(format!("member {name} is not healthy: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::etcd::{Etcd, Keys, Turn},
        context::testing::context,
        render::parity::kubeadms,
        steps::pki::{Pki, certificate_path, key_path, testing::run},
    };
    use std::{
        path::PathBuf,
        process::{Child, Command, Stdio},
    };

    #[test]
    fn a_member_restarts_only_if_the_others_keep_a_quorum() {
        let hindrance = |down: &[&str], all: &[&'static str]| {
            let failure = |name: &&str| down.contains(name).then(|| "cannot reach it".to_owned());
            hindrance(&all.iter().map(|name| (*name, failure(name))).collect::<Vec<_>>(), "m1")
        };
        let (two, three, five) = (["m1", "m2"], ["m1", "m2", "m3"], ["m1", "m2", "m3", "m4", "m5"]);
        assert_eq!(hindrance(&[], &two), None, "it cannot be avoided");
        assert_eq!(hindrance(&["m2"], &two).unwrap(), "member m2 is not healthy: cannot reach it");
        assert_eq!(hindrance(&[], &three), None);
        assert_eq!(hindrance(&["m1"], &three), None, "the others are a quorum");
        assert!(hindrance(&["m3"], &three).is_some());
        assert_eq!(hindrance(&["m3"], &five), None);
        assert!(hindrance(&["m3", "m4"], &five).is_some());
    }

    /// Ends it with the test.
    struct Server(Child);

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// An earlier run on the same master may have been killed: the renewed turn must last while etcd restarts.
    #[tokio::test]
    #[ignore = "needs the etcd of the lab: make test"]
    #[allow(clippy::disallowed_methods, reason = "a test runs a program of the lab")]
    async fn a_turn_that_is_taken_again_lasts_its_full_time() {
        let kubeadms = kubeadms("a_turn_that_is_taken_again_lasts_its_full_time");
        let mut programs = kubeadms.iter().rev().map(|kubeadm| kubeadm.path.with_file_name("etcd"));
        let etcd = programs.find(|path| path.exists()).unwrap();
        let (directory, cx) = context();
        run(&Pki, &cx).await.unwrap();
        let real = |path: PathBuf| cx.files.real(&path).display().to_string();
        let ports = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let [client, peer] = ports.map(|listener| listener.local_addr().unwrap().port());
        let _server = Server(
            Command::new(etcd)
                .args(["--data-dir", directory.path().join("etcd").to_str().unwrap(), "--client-cert-auth"])
                .args([
                    "--cert-file",
                    &real(certificate_path("etcd/server")),
                    "--key-file",
                    &real(key_path("etcd/server")),
                ])
                .args(["--trusted-ca-file", &real(certificate_path("etcd/ca"))])
                .args(["--listen-client-urls", &format!("https://127.0.0.1:{client}")])
                .args(["--advertise-client-urls", &format!("https://127.0.0.1:{client}")])
                .args(["--listen-peer-urls", &format!("http://127.0.0.1:{peer}")])
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let read = |path| cx.files.read(path).unwrap().unwrap();
        let base = "apiserver-etcd-client";
        let keys = Keys::new(&read(certificate_path("etcd/ca")), &read(certificate_path(base)), &read(key_path(base)))
            .unwrap();
        let mut found = None;
        for _ in 0..300 {
            if let Ok(etcd) = Etcd::connect(([127, 0, 0, 1], client).into(), &keys).await
                && etcd.members().await.is_ok()
            {
                found = Some(etcd);
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let etcd = found.expect("etcd did not start");
        let Turn::Ours(lease) = etcd.take_turn("m1", 6).await.unwrap() else { panic!("nobody else was there") };
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(etcd.take_turn("m1", 6).await.unwrap(), Turn::Ours(lease));
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(etcd.take_turn("m2", 6).await.unwrap(), Turn::Of("m1".into()));
        etcd.end_lease(lease).await.unwrap();
        assert!(etcd.renew_lease(lease).await.is_err());
        assert!(matches!(etcd.take_turn("m2", 6).await.unwrap(), Turn::Ours(_)));
    }
}
