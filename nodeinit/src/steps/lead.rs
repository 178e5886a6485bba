//! The master that leads an operation on other machines: its lease in etcd, and the generation of the configuration.
//!
//! Every master can lead, one at a time. The epoch of the lease grows with each leading master; the machines that it works on refuse an
//! older one. The generation tells which of two differing configurations is newer. Both also grow after etcd was restored from a snapshot.

use super::etcd::{Peers, has_data};
use crate::{
    api::etcd::{Etcd, EtcdError, Stored},
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::{Record, State},
        led::Led,
    },
};
use nodeinit_base::{Wait, sha256_hex};
use nodeinit_config::Loaded;
use serde::{Deserialize, Serialize};
use std::{
    ops::ControlFlow,
    time::{Duration, Instant, SystemTime},
};

/// The lease of a master that is gone ends after so many seconds.
const LASTS: i64 = 20;

/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long to wait for a lease: that of a master that is gone ends in this time.
const PATIENCE: Duration = Duration::from_secs(25);

/// Without a quorum for this long (longer than an election), a master leads without a lease, or the quorum could not be restored.
const WITHOUT_QUORUM: Duration = Duration::from_secs(5);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Where etcd has the lease.
const LEASE_KEY: &str = "/nodeinit/leading-master";

/// Where etcd has the configuration on which the leading masters agree.
const CONFIGURATION_KEY: &str = "/nodeinit/configuration";

/// The holder of the lease, as etcd has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Holder {
    machine: String,
    command: String,
    /// Seconds since 1970.
    since: u64,
}

/// The newest configuration, as etcd has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Newest {
    generation: u64,
    sha256: String,
    /// The master that changed it.
    machine: String,
    /// The last epoch.
    epoch: i64,
}

/// The lease of this machine. It ends with [`Lead::end`], or by itself.
pub struct Lead {
    peers: Peers,
    lease: i64,
    /// What the other machines receive.
    pub led: Led,
}

impl Lead {
    /// Renews the lease until this is dropped. Returns an error if another master may have it.
    async fn keep(&self) -> StepError {
        loop {
            tokio::time::sleep(RENEWAL).await;
            // While etcd has no quorum, no other master gets the lease, and it does not end.
            if let Ok(view) = self.peers.look().await
                && let Err(EtcdError::LeaseEnded) = view.asked.renew_lease(self.lease).await
            {
                let what = "the lease of this master has ended, so another master may lead";
                return StepError::new(what).exit(Exit::TryAgain).hint("run the same command again");
            }
        }
    }

    /// Lets another master lead.
    pub async fn end(self) {
        if let Ok(view) = self.peers.look().await {
            let _ = view.asked.end_lease(self.lease).await;
        }
    }
}

/// Takes the lease for `command`, and settles the generation of the configuration. With `insist`, this machine's is the newest in any case.
/// `None`: there is no other master, or no etcd that could hold a lease.
///
/// # Errors
/// If another master leads, or if the configuration of another master is newer than this machine's.
pub async fn take(cx: &Context, command: &str, insist: bool) -> Result<Option<Lead>, StepError> {
    if cx.cluster.masters.len() < 2 || !has_data(cx) {
        return Ok(None);
    }
    let peers = Peers::of_all(cx)?;
    let since = u64::try_from(now(cx)).unwrap_or_default();
    let holder = Holder { machine: cx.node.name.clone(), command: command.to_owned(), since };
    let mut lost: Option<Instant> = None;
    let look = async || match peers.look().await {
        Ok(view) => {
            lost = None;
            match attempt(&view.asked, &holder).await {
                Ok(Ok(taken)) => ControlFlow::Break(Some(taken)),
                Ok(Err(held)) => ControlFlow::Continue(held),
                Err(e) => ControlFlow::Continue(e.to_string()),
            }
        }
        Err(why) if lost.get_or_insert_with(Instant::now).elapsed() < WITHOUT_QUORUM => ControlFlow::Continue(why),
        Err(why) => {
            cx.report.note(command, format!("etcd has no quorum ({why}): this machine leads without a lease"));
            ControlFlow::Break(None)
        }
    };
    let wait = Wait::new("the lease of the leading master", PATIENCE).at_most_every(PAUSE);
    let hint = "if another master leads, wait until its command has ended, or stop it there; otherwise see `nodeinit etcd members`; then run the same \
                command again";
    let taken = wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))?;
    let Some(lease) = taken else { return Ok(None) };
    match settle(cx, &peers, insist).await {
        Ok(Newest { generation, sha256, epoch, .. }) => {
            let led = Led { machine: cx.node.name.clone(), epoch, generation, sha256 };
            cx.journal.intend(vec![Record::Led(led.clone())])?;
            Ok(Some(Lead { peers, lease, led }))
        }
        Err(error) => {
            if let Ok(view) = peers.look().await {
                let _ = view.asked.end_lease(lease).await;
            }
            Err(error)
        }
    }
}

/// Returns the lease, or who holds it.
async fn attempt(etcd: &Etcd, holder: &Holder) -> Result<Result<i64, String>, EtcdError> {
    let Stored { value, revision } = etcd.stored(LEASE_KEY).await?;
    let other = value.and_then(|text| serde_json::from_str::<Holder>(&text).ok());
    if let Some(other) = other.filter(|other| other.machine != holder.machine) {
        let seconds = holder.since.saturating_sub(other.since);
        let what =
            format!("{} leads with `nodeinit {}`, which began {seconds} s earlier", other.machine, other.command);
        return Ok(Err(what));
    }
    let lease = etcd.grant_lease(LASTS).await?;
    let text = serde_json::to_string(holder).unwrap_or_default();
    match etcd.store(LEASE_KEY, &text, Some(lease), revision).await? {
        Some(_) => Ok(Ok(lease)),
        None => {
            etcd.end_lease(lease).await?;
            Ok(Err("another master was faster".to_owned()))
        }
    }
}

/// Returns the newest configuration, which is this machine's; if it was changed here, with the next generation.
async fn settle(cx: &Context, peers: &Peers, insist: bool) -> Result<Newest, StepError> {
    let unable = |why: String| StepError::new(format!("cannot read the generation of the configuration: {why}"));
    let view = peers.look().await.map_err(|why| unable(why).exit(Exit::TryAgain))?;
    let failed = |e: EtcdError| unable(e.to_string()).exit(Exit::TryAgain);
    let Stored { value, revision } = view.asked.stored(CONFIGURATION_KEY).await.map_err(failed)?;
    let agreed = value.and_then(|text| serde_json::from_str::<Newest>(&text).ok());
    let (own, state) = (digest(&cx.loaded), cx.journal.state());
    let mut newest = newest(&cx.node.name, &own, &state, agreed.as_ref(), insist)?;
    // The time is later than any epoch that etcd may have lost.
    newest.epoch = now(cx).max(newest.epoch + 1).max(state.led.map_or(0, |last| last.epoch + 1));
    let (generation, sha256) = (newest.generation, newest.sha256.clone());
    cx.journal.intend(vec![Record::Settles { generation, sha256 }])?;
    let text = serde_json::to_string(&newest).unwrap_or_default();
    let stored = view.asked.store(CONFIGURATION_KEY, &text, None, revision).await.map_err(failed)?;
    stored.ok_or_else(|| unable("another master changed it".to_owned()).exit(Exit::TryAgain))?;
    Ok(newest)
}

/// Returns why [`take`] would refuse the configuration of this machine. `None`, too, if that is unknown.
pub async fn outdated(cx: &Context) -> Option<StepError> {
    if cx.cluster.masters.len() < 2 || !has_data(cx) {
        return None;
    }
    let (etcd, _) = Peers::of_all(cx).ok()?.members().await.ok()?;
    refused(cx, &agreed(&etcd).await.ok()??)
}

/// Refuses to let this machine, which was a member of etcd before, join again with an older configuration: the newer one may not list it.
/// The inner error: etcd does not answer.
///
/// # Errors
/// If the configuration of another master is newer than this machine's.
pub(super) async fn may_return(cx: &Context, etcd: &Etcd) -> Result<Result<(), EtcdError>, StepError> {
    match agreed(etcd).await {
        Ok(agreed) => agreed.map_or(Ok(()), |agreed| admit_former(cx, &agreed)).map(Ok),
        Err(e) => Ok(Err(e)),
    }
}

fn admit_former(cx: &Context, agreed: &Newest) -> Result<(), StepError> {
    // A machine without a history is new, even with the name of a former one.
    let Some(older) = refused(cx, agreed).filter(|_| cx.journal.etcd().history.has_cluster()) else { return Ok(()) };
    let older = older.reworded(|older| format!("this machine cannot join etcd again: {older}"));
    Err(older.hint(format!(
        "undo changes of the configuration here that no command has applied, list {0} under `masters` on a master that works, and run \
         `nodeinit master add {0}` there; or, if {0} was removed for good, run `nodeinit reset` here",
        cx.node.name
    )))
}

/// Returns the configuration on which the leading masters agree.
async fn agreed(etcd: &Etcd) -> Result<Option<Newest>, EtcdError> {
    let value = etcd.stored(CONFIGURATION_KEY).await?.value;
    Ok(value.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Returns why this machine's configuration cannot become the newest after the `agreed` one.
fn refused(cx: &Context, agreed: &Newest) -> Option<StepError> {
    newest(&cx.node.name, &digest(&cx.loaded), &cx.journal.state(), Some(agreed), false).err()
}

/// Seconds since 1970.
fn now(cx: &Context) -> i64 {
    let now = cx.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or_default()
}

/// Runs a command under the lease, if there is one, and stops it if the lease ends. Then lets another master lead.
///
/// # Errors
/// Those of the command, or that the lease has ended.
pub async fn under<T>(lead: Option<Lead>, work: impl Future<Output = Result<T, StepError>>) -> Result<T, StepError> {
    let Some(lead) = lead else { return work.await };
    let result = tokio::select! {
        result = work => result,
        ended = lead.keep() => Err(ended),
    };
    lead.end().await;
    result
}

/// What a master sends that leads without a lease: the machines refuse an older configuration, and nothing else.
#[must_use]
pub fn without_lease(cx: &Context) -> Led {
    let generation = cx.journal.state().led.map_or(1, |last| last.generation);
    Led { machine: cx.node.name.clone(), epoch: 0, generation, sha256: digest(&cx.loaded) }
}

/// Returns the SHA-256, in hex, of what all masters share of a configuration.
#[must_use]
pub fn digest(loaded: &Loaded) -> String {
    sha256_hex(loaded.shared_config().as_bytes())
}

/// Decides which configuration is the newest: `own` is this machine's, `state` tells with which it last worked.
fn newest(machine: &str, own: &str, state: &State, agreed: Option<&Newest>, insist: bool) -> Result<Newest, StepError> {
    let last = state.led.as_ref();
    // A run that was killed before it led has written it.
    let wrote = agreed.filter(|agreed| state.settles == Some((agreed.generation, agreed.sha256.clone())));
    let known = wrote.map_or(last.map_or(0, |last| last.generation), |agreed| agreed.generation);
    let epoch = agreed.map_or(0, |agreed| agreed.epoch);
    let of = |generation| Newest { generation, sha256: own.to_owned(), machine: machine.to_owned(), epoch };
    // etcd may have been restored from a snapshot.
    let Some(agreed) = agreed.filter(|agreed| agreed.generation >= known) else {
        let changed = last.is_none_or(|last| last.sha256 != own);
        return Ok(of(known + u64::from(changed)));
    };
    if agreed.sha256 == own {
        return Ok(agreed.clone());
    }
    if insist || known == agreed.generation {
        return Ok(of(agreed.generation + 1));
    }
    let what = match last {
        Some(last) if last.sha256 != own => format!(
            "the configuration was changed on {machine}, and, after this machine last had it, on {}",
            agreed.machine
        ),
        _ => format!("the configuration of this machine is older than that of {}", agreed.machine),
    };
    let hint = format!(
        "copy /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d from {0} to this machine, run `nodeinit up --lead` here, and only then make \
         your changes again; or run the command on {0}. If {0} is gone for good, `nodeinit up --lead --insist` makes this machine's \
         configuration the newest",
        agreed.machine
    );
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

/// Refuses a leading master before it changes anything on this machine. `own` is the digest of a master's configuration.
///
/// # Errors
/// If another master has led since, if the configuration of the leading master is older than that which this machine had, or if this
/// machine's was changed here since.
pub fn admit(last: Option<&Led>, led: &Led, own: Option<&str>) -> Result<(), StepError> {
    let Some(last) = last else { return Ok(()) };
    if led.epoch != 0 && last.epoch > led.epoch {
        let what = format!(
            "{} has led since (epoch {}): this command of {} (epoch {}) is too late",
            last.machine, last.epoch, led.machine, led.epoch
        );
        return Err(StepError::new(what).hint("run the same command again"));
    }
    if last.generation > led.generation {
        let what = format!(
            "it has the configuration of {} (generation {}), which is newer than that of {} (generation {})",
            last.machine, last.generation, led.machine, led.generation
        );
        let hint = format!("run `nodeinit up --lead` on {}, or copy its configuration", last.machine);
        return Err(StepError::new(what).exit(Exit::BadConfig).hint(hint));
    }
    if own.is_some_and(|own| own != led.sha256 && own != last.sha256) {
        let what = "its configuration has changes that no command has applied";
        return Err(StepError::new(what)
            .exit(Exit::BadConfig)
            .hint("run `nodeinit up --lead` on that machine, or undo the changes there"));
    }
    Ok(())
}

/// Records under whom this machine works. `shares_configuration`: it is a master, which has the same configuration.
///
/// # Errors
/// As [`admit`], or if the configuration of this machine differs.
pub fn accept(cx: &Context, led: &Led, shares_configuration: bool) -> Result<(), StepError> {
    let last = cx.journal.state().led;
    admit(last.as_ref(), led, None)?;
    if shares_configuration && digest(&cx.loaded) != led.sha256 {
        let what = format!("the configuration of this machine differs from that of {}, which leads", led.machine);
        return Err(StepError::new(what).exit(Exit::BadConfig).hint(format!(
            "files in /etc/nodeinit/conf.d of {} change it: move their keys to the configuration of {}, and remove them",
            cx.node.name, led.machine
        )));
    }
    let epoch = last.map_or(0, |last| last.epoch).max(led.epoch);
    Ok(cx.journal.intend(vec![Record::Led(Led { epoch, ..led.clone() })])?)
}

/// Records under whom this machine works while its own configuration stays as it is.
///
/// # Errors
/// As [`admit`].
pub fn accept_before(cx: &Context, led: &Led) -> Result<(), StepError> {
    let last = cx.journal.state().led;
    admit(last.as_ref(), led, None)?;
    let Some(last) = last else { return Ok(()) };
    let (machine, epoch) = (led.machine.clone(), led.epoch.max(last.epoch));
    Ok(cx.journal.intend(vec![Record::Led(Led { machine, epoch, ..last })])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    fn led(generation: u64, sha256: &str) -> Led {
        Led { machine: "m1".into(), epoch: 7, generation, sha256: sha256.into() }
    }

    fn agreed(generation: u64, sha256: &str) -> Newest {
        Newest { generation, sha256: sha256.into(), machine: "m1".into(), epoch: 7 }
    }

    #[test]
    fn a_changed_configuration_is_the_next_generation_only_where_the_newest_was() {
        let state = |led: Option<Led>| {
            let mut state = State::default();
            state.led = led;
            state
        };
        let decide = |own, last: Option<Led>, agreed: Option<Newest>| {
            newest("m2", own, &state(last), agreed.as_ref(), false).map(|newest| (newest.generation, newest.machine))
        };
        assert_eq!(decide("a", None, None).unwrap(), (1, "m2".into()));
        assert_eq!(decide("a", None, Some(agreed(4, "a"))).unwrap(), (4, "m1".into()));
        assert!(decide("b", None, Some(agreed(1, "a"))).is_err(), "it has never had the newest");
        assert_eq!(
            decide("a", Some(led(6, "a")), Some(agreed(4, "a"))).unwrap(),
            (6, "m2".into()),
            "etcd was restored"
        );
        assert_eq!(decide("b", Some(led(4, "a")), Some(agreed(4, "a"))).unwrap(), (5, "m2".into()));
        let behind = decide("a", Some(led(3, "a")), Some(agreed(4, "b"))).unwrap_err();
        assert_eq!(behind.to_string(), "the configuration of this machine is older than that of m1");
        let both = decide("c", Some(led(3, "a")), Some(agreed(4, "b"))).unwrap_err();
        assert!(both.to_string().starts_with("the configuration was changed on m2, and"), "{both}");
        let insisted = newest("m2", "c", &state(Some(led(3, "a"))), Some(&agreed(4, "b")), true).unwrap();
        assert_eq!((insisted.generation, insisted.sha256.as_str()), (5, "c"));
        let former = newest("m1", "a", &state(Some(led(3, "a"))), Some(&agreed(4, "b")), false);
        assert!(former.is_err(), "the machine that m1 has replaced has the same name");
    }

    #[test]
    fn what_a_killed_run_has_written_is_known_to_its_machine() {
        let mut killed = State::default();
        (killed.led, killed.settles) = (Some(led(3, "a")), Some((4, "b".into())));
        let decide = |agreed| newest("m2", "c", &killed, Some(&agreed), false).map(|newest| newest.generation);
        assert_eq!(decide(agreed(4, "b")).unwrap(), 5);
        assert!(decide(agreed(4, "x")).is_err(), "another master was faster");
        assert!(decide(agreed(5, "b")).is_err(), "another master has led since");
    }

    #[test]
    fn a_machine_with_an_older_configuration_says_so_before_it_leads() {
        let (_dir, cx) = context();
        let own = digest(&cx.loaded);
        cx.journal.intend(vec![Record::Led(led(3, &own))]).unwrap();
        let told = |generation, sha256| refused(&cx, &agreed(generation, sha256)).map(|error| error.to_string());
        assert_eq!(told(3, own.as_str()), None);
        assert_eq!(told(4, "b").as_deref(), Some("the configuration of this machine is older than that of m1"));
        cx.journal.intend(vec![Record::Settles { generation: 4, sha256: "b".into() }]).unwrap();
        assert_eq!(told(4, "b"), None, "a killed run has written it");
    }

    #[test]
    fn a_removed_machine_joins_again_only_with_the_newest_configuration() {
        let (_dir, cx) = context();
        let own = digest(&cx.loaded);
        cx.journal.intend(vec![Record::Led(led(3, &own))]).unwrap();
        assert!(admit_former(&cx, &agreed(4, "b")).is_ok(), "a new machine");
        cx.journal.intend(vec![Record::EtcdJoin { token: None }]).unwrap();
        assert!(admit_former(&cx, &agreed(3, &own)).is_ok() && admit_former(&cx, &agreed(4, &own)).is_ok());
        let error = admit_former(&cx, &agreed(4, "b")).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("cannot join etcd again: the configuration of this machine is older than that of m1")
        );
        assert!(error.exit == Exit::BadConfig && error.advice().unwrap().contains("`nodeinit reset`"), "{error:?}");
    }

    /// The images of an upgrade arrive before the configuration does.
    #[test]
    fn a_prepared_machine_still_admits_the_leading_master() {
        let (_dir, cx) = context();
        cx.journal.intend(vec![Record::Led(led(1, "a"))]).unwrap();
        let next = Led { epoch: 9, ..led(2, "b") };
        accept_before(&cx, &next).unwrap();
        let last = cx.journal.state().led;
        assert!(admit(last.as_ref(), &next, Some("a")).is_ok());
        assert!(admit(last.as_ref(), &Led { epoch: 8, ..next }, Some("a")).is_err());
    }

    #[test]
    fn a_machine_refuses_what_is_older_and_keeps_changes_that_nobody_applied() {
        let last = led(4, "a");
        let admit = |epoch, generation, own| admit(Some(&last), &Led { epoch, ..led(generation, "b") }, own).is_ok();
        assert!(admit(7, 4, None) && admit(8, 5, None));
        assert!(!admit(6, 5, None), "another master has led since");
        assert!(admit(0, 4, None) && !admit(0, 3, None), "without a lease, only the generation counts");
        assert!(!admit(8, 3, None));
        assert!(admit(8, 5, Some("a")) && admit(8, 5, Some("b")) && !admit(8, 5, Some("c")));
        assert!(super::admit(None, &led(1, "b"), Some("c")).is_ok());
    }
}
