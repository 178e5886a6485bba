//! Frees space in etcd's databases, one member at a time, and disarms the alarms that a full database raised.

use super::{
    health::{self, quorate},
    view::{Peers, View, shown},
};
use crate::{
    api::etcd::{Alarm, AlarmKind, Etcd, Member},
    context::Context,
    engine::error::{Exit, StepError},
};
use nodeinit_base::Wait;
use serde::Serialize;
use std::{ops::ControlFlow, time::Duration};

/// A defragmented member becomes healthy within this time, or something is wrong.
const HEALTHY_LIMIT: Duration = Duration::from_secs(60);

/// The result of defragmenting one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Defragmented {
    /// The member's name.
    pub name: String,
    /// The size of its database before, in bytes.
    pub before_bytes: i64,
    /// The size after.
    pub after_bytes: i64,
}

/// Defragments all members, the leader last; before each one, all voting members must be healthy. With `compact`, etcd first
/// discards all former revisions.
///
/// # Errors
/// If a member is not healthy, or does not become healthy again; those before it stay defragmented.
pub async fn defragment(
    cx: &Context,
    compact: bool,
    mut done: impl FnMut(&Defragmented) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let peers = Peers::of_all(cx)?;
    let view = quorate(cx).await?;
    if compact {
        view.asked.compact().await.map_err(|e| StepError::caused("cannot discard former revisions", e))?;
    }
    let mut defragmented = Vec::new();
    loop {
        let view = healthy(cx, &peers).await?;
        let Some(member) = next(&view, &defragmented) else { return Ok(()) };
        let size = |view: &View| match view.answers.get(&member.id) {
            Some(Ok(status)) => status.db_size,
            _ => 0,
        };
        let failed = |why| {
            let what = format!("cannot defragment etcd member {}: {why}", member.shown());
            StepError::new(what).exit(Exit::TryAgain).hint("see `nodeinit etcd members`, then run the command again")
        };
        let etcd = peers.connection(member).await.map_err(failed)?;
        etcd.defragment().await.map_err(|e| failed(shown(&e)))?;
        defragmented.push(member.id);
        let after = healthy(cx, &peers).await?;
        let name = member.shown().to_owned();
        done(&Defragmented { name, before_bytes: size(&view), after_bytes: size(&after) })?;
    }
}

/// Returns the next member to defragment, the leader last.
fn next<'a>(view: &'a View, defragmented: &[u64]) -> Option<&'a Member> {
    let left = || view.members.members.iter().filter(|m| !defragmented.contains(&m.id) && !m.client_urls.is_empty());
    left().find(|member| view.leader() != Some(member.id)).or_else(|| left().next())
}

/// Waits until all voting members are healthy; full databases are allowed.
async fn healthy(cx: &Context, peers: &Peers) -> Result<View, StepError> {
    let wait =
        Wait::new("all voting members of etcd to be healthy", HEALTHY_LIMIT).at_most_every(Duration::from_secs(1));
    let look = async || match peers.look().await {
        Err(why) => ControlFlow::Continue(why),
        Ok(view) => {
            let failure = |member: &Member| Some(format!("{}: {}", member.shown(), view.failure(member)?));
            let failed = view.voters().find_map(failure);
            failed.map_or(ControlFlow::Break(view), ControlFlow::Continue)
        }
    };
    match wait.until(look).await {
        Ok(view) => Ok(view),
        Err(late) => {
            let hint = "repair that member first, or remove it if it is gone for good (`nodeinit etcd remove`): a member \
                        does not answer while it is defragmented";
            let late = StepError::from(late).hint(hint);
            Err(health::health(cx).await?.1.lost().unwrap_or(late))
        }
    }
}

/// An alarm as it is printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownAlarm {
    /// The member's name.
    pub member: String,
    /// `NOSPACE`, `CORRUPT` or `unknown`.
    pub alarm: &'static str,
}

/// Lists all alarms.
///
/// # Errors
/// If etcd has no quorum.
pub async fn alarms(cx: &Context) -> Result<Vec<ShownAlarm>, StepError> {
    let view = quorate(cx).await?;
    Ok(raised(&view.asked).await?.into_iter().map(|alarm| named(&view, alarm)).collect())
}

/// Disarms the alarms of full databases. An alarm about corrupt data stays: disarming it repairs nothing.
///
/// # Errors
/// If etcd has no quorum, or if an alarm of another kind is left.
pub async fn disarm(cx: &Context) -> Result<Vec<ShownAlarm>, StepError> {
    let view = quorate(cx).await?;
    let (full, left): (Vec<Alarm>, Vec<Alarm>) =
        raised(&view.asked).await?.into_iter().partition(|alarm| alarm.kind == AlarmKind::Full);
    for alarm in &full {
        let disarmed = view.asked.disarm_full(alarm.member).await;
        disarmed.map_err(|e| StepError::caused("cannot disarm a NOSPACE alarm", e).exit(Exit::TryAgain))?;
    }
    if let Some(alarm) = left.first() {
        let alarm = named(&view, *alarm);
        let what = format!("the alarm {} of member {} stays: disarming it repairs nothing", alarm.alarm, alarm.member);
        return Err(StepError::new(what).hint("find out which member has wrong data, remove it and let it join again"));
    }
    Ok(full.into_iter().map(|alarm| named(&view, alarm)).collect())
}

async fn raised(etcd: &Etcd) -> Result<Vec<Alarm>, StepError> {
    etcd.alarms().await.map_err(|e| StepError::caused("cannot list etcd's alarms", e).exit(Exit::TryAgain))
}

fn named(view: &View, alarm: Alarm) -> ShownAlarm {
    let member = view.members.members.iter().find(|member| member.id == alarm.member);
    ShownAlarm {
        member: member.map_or_else(|| format!("{:x}", alarm.member), |member| member.shown().to_owned()),
        alarm: match alarm.kind {
            AlarmKind::Full => "NOSPACE",
            AlarmKind::Corrupt => "CORRUPT",
            AlarmKind::Other => "unknown",
        },
    }
}
