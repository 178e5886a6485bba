//! The master that leads an operation on other machines: its lease in etcd, and the generation of the configuration.
//!
//! Every master can lead, one at a time. The epoch of the lease grows with each leading master; the machines that it works on refuse an
//! older one. The generation tells which of two differing configurations is newer.

use super::etcd::{Peers, has_data};
use crate::{
    api::etcd::{Etcd, EtcdError, Stored},
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::Record,
        led::Led,
    },
};
use nodeinit_base::{Wait, sha256_hex};
use nodeinit_config::Loaded;
use serde::{Deserialize, Serialize};
use std::{
    convert::Infallible,
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
}

/// The lease of this machine. It ends with [`Lead::end`], or by itself.
pub struct Lead {
    peers: Peers,
    lease: i64,
    /// What the other machines receive.
    pub led: Led,
}

impl Lead {
    /// Renews the lease until this is dropped.
    pub async fn keep(&self) -> Infallible {
        loop {
            tokio::time::sleep(RENEWAL).await;
            // While etcd does not answer, no other master gets the lease. If it has ended, the machines refuse the older epoch.
            if let Ok(view) = self.peers.look().await {
                let _ = view.asked.renew_lease(self.lease).await;
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

/// How an attempt to lead ended.
pub enum Taken {
    /// This machine leads.
    Lead(Lead),
    /// There is no other master, or no etcd that could hold a lease.
    Alone,
    /// Another master leads.
    Held(StepError),
}

/// Takes the lease for `command`, and settles the generation of the configuration. With `insist`, this machine's is the newest in any case.
///
/// # Errors
/// If the configuration of another master is newer than this machine's.
pub async fn take(cx: &Context, command: &str, insist: bool) -> Result<Taken, StepError> {
    if cx.cluster.masters.len() < 2 || !has_data(cx) {
        return Ok(Taken::Alone);
    }
    let peers = Peers::of_all(cx)?;
    let since = cx.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
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
    let (lease, epoch) = match wait.until(look).await {
        Ok(Some(taken)) => taken,
        Ok(None) => return Ok(Taken::Alone),
        Err(late) => {
            let hint = "wait until that command has ended, or stop it; then run this command again";
            return Ok(Taken::Held(StepError::from(late).hint(hint)));
        }
    };
    match settle(cx, &peers, insist).await {
        Ok(newest) => {
            let led =
                Led { machine: cx.node.name.clone(), epoch, generation: newest.generation, sha256: newest.sha256 };
            cx.journal.intend(vec![Record::Led(led.clone())])?;
            Ok(Taken::Lead(Lead { peers, lease, led }))
        }
        Err(error) => {
            if let Ok(view) = peers.look().await {
                let _ = view.asked.end_lease(lease).await;
            }
            Err(error)
        }
    }
}

/// Returns the lease and its epoch, or who holds it.
async fn attempt(etcd: &Etcd, holder: &Holder) -> Result<Result<(i64, i64), String>, EtcdError> {
    let Stored { value, revision } = etcd.stored(LEASE_KEY).await?;
    let other = value.and_then(|text| serde_json::from_str::<Holder>(&text).ok());
    if let Some(other) = other.filter(|other| other.machine != holder.machine) {
        let seconds = holder.since.saturating_sub(other.since);
        return Ok(Err(format!("{} leads `{}` since {seconds} s", other.machine, other.command)));
    }
    let lease = etcd.grant_lease(LASTS).await?;
    let text = serde_json::to_string(holder).unwrap_or_default();
    match etcd.store(LEASE_KEY, &text, Some(lease), revision).await? {
        Some(epoch) => Ok(Ok((lease, epoch))),
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
    let (own, last) = (digest(&cx.loaded), cx.journal.state().led);
    let newest = newest(&cx.node.name, &own, last.as_ref(), agreed.as_ref(), insist)?;
    if agreed.as_ref() != Some(&newest) {
        let text = serde_json::to_string(&newest).unwrap_or_default();
        let stored = view.asked.store(CONFIGURATION_KEY, &text, None, revision).await.map_err(failed)?;
        stored.ok_or_else(|| unable("another master changed it".to_owned()).exit(Exit::TryAgain))?;
    }
    Ok(newest)
}

/// Returns the SHA-256, in hex, of what all masters share of a configuration.
#[must_use]
pub fn digest(loaded: &Loaded) -> String {
    sha256_hex(loaded.shared_config().as_bytes())
}

/// Decides which configuration is the newest: `own` is this machine's, `last` is what it last worked with.
fn newest(
    machine: &str,
    own: &str,
    last: Option<&Led>,
    agreed: Option<&Newest>,
    insist: bool,
) -> Result<Newest, StepError> {
    let of = |generation| Newest { generation, sha256: own.to_owned(), machine: machine.to_owned() };
    let Some(agreed) = agreed else { return Ok(of(1)) };
    if agreed.sha256 == own {
        return Ok(agreed.clone());
    }
    // A machine that has not worked under a lease yet has the first configuration.
    if insist || last.map_or(1, |last| last.generation) == agreed.generation {
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
        "copy /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d from {0} to this machine, and repeat your changes there; or run the \
         command on {0}. If {0} is gone for good, `nodeinit up --lead --insist` makes this machine's configuration the newest",
        agreed.machine
    );
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

/// Records under whom this machine works. `shares_configuration`: it is a master, which has the same configuration.
///
/// # Errors
/// If another master has led since, or the configuration of this machine differs.
pub fn accept(cx: &Context, led: &Led, shares_configuration: bool) -> Result<(), StepError> {
    if let Some(newer) = cx.journal.state().led.filter(|newer| newer.epoch > led.epoch) {
        let what = format!(
            "{} has led since (epoch {}): this command of {} (epoch {}) is too late, and nothing was changed",
            newer.machine, newer.epoch, led.machine, led.epoch
        );
        return Err(StepError::new(what));
    }
    if shares_configuration && digest(&cx.loaded) != led.sha256 {
        let what = format!("the configuration of this machine differs from that of {}, which leads", led.machine);
        return Err(StepError::new(what).exit(Exit::BadConfig).hint(format!(
            "files in /etc/nodeinit/conf.d of {} change it: move their keys to the configuration of {}, and remove them",
            cx.node.name, led.machine
        )));
    }
    Ok(cx.journal.intend(vec![Record::Led(led.clone())])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(generation: u64, sha256: &str) -> Led {
        Led { machine: "m1".into(), epoch: 7, generation, sha256: sha256.into() }
    }

    fn agreed(generation: u64, sha256: &str) -> Newest {
        Newest { generation, sha256: sha256.into(), machine: "m1".into() }
    }

    #[test]
    fn a_changed_configuration_is_the_next_generation_only_where_the_newest_was() {
        let decide = |own, last: Option<Led>, agreed: Option<Newest>| {
            newest("m2", own, last.as_ref(), agreed.as_ref(), false).map(|newest| (newest.generation, newest.machine))
        };
        assert_eq!(decide("a", None, None).unwrap(), (1, "m2".into()));
        assert_eq!(decide("a", None, Some(agreed(4, "a"))).unwrap(), (4, "m1".into()));
        assert_eq!(decide("b", None, Some(agreed(1, "a"))).unwrap(), (2, "m2".into()));
        assert_eq!(decide("b", Some(led(4, "a")), Some(agreed(4, "a"))).unwrap(), (5, "m2".into()));
        let behind = decide("a", Some(led(3, "a")), Some(agreed(4, "b"))).unwrap_err();
        assert_eq!(behind.to_string(), "the configuration of this machine is older than that of m1");
        let both = decide("c", Some(led(3, "a")), Some(agreed(4, "b"))).unwrap_err();
        assert!(both.to_string().starts_with("the configuration was changed on m2, and"), "{both}");
        let insisted = newest("m2", "c", Some(&led(3, "a")), Some(&agreed(4, "b")), true).unwrap();
        assert_eq!((insisted.generation, insisted.sha256.as_str()), (5, "c"));
    }
}
