//! Health of etcd as a whole: a quorum that agrees, and space in its database. Names the missing members and the fix.

use super::view::{Peers, Survey, View};
use crate::{
    api::etcd::{Etcd, Member},
    context::Context,
    engine::{
        error::{Exit, StepError},
        step_id::StepId,
    },
};
use serde::Serialize;
use std::{cell::RefCell, time::Duration};
use tokio::time::Instant;

/// etcd's state, as far as this machine can determine it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether a quorum of the voting members answers and agrees on a leader.
    pub quorum: bool,
    /// The number of voting members; if no member answers, the number of configured masters.
    pub voters: usize,
    /// How many of them make a quorum.
    pub needed: usize,
    /// The voting members that answer.
    pub answering: Vec<String>,
    /// Those that do not.
    pub missing: Vec<Missing>,
    /// The members whose database is full (NOSPACE alarm).
    pub full: Vec<String>,
}

/// A voting member that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Its name, or its peer URL if it has no name yet.
    pub name: String,
    /// Why it does not answer.
    pub reason: String,
}

impl Health {
    fn of(view: &View, confirmed: bool) -> Self {
        let answers = |member: &Member| match view.answers.get(&member.id) {
            Some(Ok(_)) => Ok(()),
            Some(Err(why)) => Err(why.clone()),
            None => Err("it has not started yet".to_owned()),
        };
        let mut health = Self { quorum: confirmed, ..Self::default() };
        for member in view.voters() {
            match answers(member) {
                Ok(()) => health.answering.push(member.shown().to_owned()),
                Err(reason) => health.missing.push(Missing { name: member.shown().to_owned(), reason }),
            }
        }
        let is_full = |member: &&Member| matches!(view.answers.get(&member.id), Some(Ok(s)) if s.is_full(member.id));
        health.full = view.members.members.iter().filter(is_full).map(|member| member.shown().to_owned()).collect();
        health.counted()
    }

    /// No member answers: the masters of the configuration are all that is known.
    fn silent(masters: impl Iterator<Item = String>, reason: &str) -> Self {
        let missing = |name| Missing { name, reason: reason.to_owned() };
        Self { missing: masters.map(missing).collect(), ..Self::default() }.counted()
    }

    fn counted(mut self) -> Self {
        self.voters = self.answering.len() + self.missing.len();
        self.needed = self.voters / 2 + 1;
        self
    }

    /// Returns what keeps etcd from working, in one line, and the fix. Lost quorum comes first: nothing can be repaired
    /// without a quorum.
    #[must_use]
    pub fn problem(&self) -> Option<(String, String)> {
        if !self.quorum {
            return Some(self.lost_quorum());
        }
        if self.full.is_empty() {
            return None;
        }
        let what = format!("etcd is full and rejects all writes: NOSPACE alarm of {}", self.full.join(", "));
        let hint = "free space, on one master: `nodeinit etcd defrag --compact` discards former revisions and shrinks the \
                    databases one by one, then `nodeinit etcd alarms disarm` allows writes again; to raise the limit: \
                    `quota-backend-bytes` in `etcd.extraArgs`";
        Some((what, hint.to_owned()))
    }

    fn lost_quorum(&self) -> (String, String) {
        let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let missing: Vec<String> = self.missing.iter().map(|m| format!("{} ({})", m.name, m.reason)).collect();
        let found = format!(
            "{} of {} voting members answer: {}; missing: {}",
            self.answering.len(),
            self.voters,
            list(&self.answering),
            list(&missing)
        );
        match self.needed.saturating_sub(self.answering.len()) {
            0 => (
                format!("etcd has no leader, although {found}"),
                "if this lasts for more than a few seconds, the members cannot reach each other: check port 2380 between the masters, their clocks and their disks (logs: /var/log/pods/kube-system_etcd-*)"
                    .to_owned(),
            ),
            more => {
                let names: Vec<String> = self.missing.iter().map(|m| m.name.clone()).collect();
                (
                    format!("etcd has no quorum, {more} more must answer: {found}"),
                    format!(
                        "start at least {more} of {}; etcd then continues on its own. Until then, do not reset a master and \
                         do not delete its data: without a quorum, each copy may be the last",
                        names.join(", ")
                    ),
                )
            }
        }
    }

    /// Returns lost quorum as an error.
    #[must_use]
    pub fn lost(&self) -> Option<StepError> {
        if self.quorum { None } else { self.error() }
    }

    /// Returns [`Self::problem`] as an error that may be retried.
    #[must_use]
    pub fn error(&self) -> Option<StepError> {
        self.problem().map(|(what, hint)| StepError::new(what).exit(Exit::TryAgain).hint(hint))
    }
}

/// Asks all masters.
///
/// # Errors
/// If this machine has no etcd client key.
pub async fn health(cx: &Context) -> Result<(Option<View>, Health), StepError> {
    let survey = Peers::of_all(cx)?.survey().await;
    Ok(match survey {
        Survey::Confirmed(view) => {
            let health = Health::of(&view, true);
            (Some(view), health)
        }
        Survey::Unconfirmed(view) => {
            let health = Health::of(&view, false);
            (Some(view), health)
        }
        Survey::Silent(why) => (None, Health::silent(cx.cluster.masters.iter().map(|m| m.name.clone()), &why)),
    })
}

/// Returns the members and their state, confirmed by a quorum.
///
/// # Errors
/// If the quorum is lost; names the missing members.
pub async fn quorate(cx: &Context) -> Result<View, StepError> {
    let (view, health) = health(cx).await?;
    match (view, health.lost()) {
        (Some(view), None) => Ok(view),
        (_, lost) => Err(lost.unwrap_or_else(|| StepError::new("no master's etcd answers").exit(Exit::TryAgain))),
    }
}

/// Reports a database that is full. Returns the connection to this machine's etcd, if it answers for a quorum.
///
/// # Errors
/// If the database is full.
pub async fn reject_full(cx: &Context) -> Result<Option<Etcd>, StepError> {
    let Ok(view) = Peers::new(cx, [cx.node.address])?.look().await else { return Ok(None) };
    let health = Health::of(&view, true);
    let full = if health.full.is_empty() { None } else { health.error() };
    full.map_or(Ok(Some(view.asked)), Err)
}

/// After this long, check whether etcd lost its quorum.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reports lost quorum while a step waits for etcd.
pub struct Watch {
    step: StepId,
    looked: RefCell<Instant>,
    problem: RefCell<Option<(String, String)>>,
}

impl Watch {
    /// For a step that begins to wait now.
    #[must_use]
    pub fn new(step: StepId) -> Self {
        Self { step, looked: RefCell::new(Instant::now()), problem: RefCell::default() }
    }

    /// Call while etcd does not work; asks the masters every few seconds.
    pub async fn look(&self, cx: &Context) {
        if self.looked.borrow().elapsed() < PATIENCE {
            return;
        }
        // Where no member answers, etcd may not have been bootstrapped yet.
        let problem = health(cx).await.ok().filter(|(view, _)| view.is_some()).and_then(|(_, health)| health.problem());
        *self.looked.borrow_mut() = Instant::now();
        if let Some((what, _)) = problem.as_ref().filter(|_| *self.problem.borrow() != problem) {
            cx.report.note(&self.step.name(), what);
        }
        *self.problem.borrow_mut() = problem;
    }

    /// Returns the error of a wait that timed out: etcd's problem if there is one, else `late`.
    #[must_use]
    pub fn error(&self, late: StepError) -> StepError {
        match self.problem.borrow().clone() {
            Some((what, hint)) => StepError::caused(what, late).exit(Exit::TryAgain).hint(hint),
            None => late,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(answering: &[&str], missing: &[&str]) -> Health {
        let missing = missing.iter().map(|name| Missing { name: (*name).into(), reason: "cannot reach it".into() });
        Health {
            answering: answering.iter().map(ToString::to_string).collect(),
            missing: missing.collect(),
            ..Health::default()
        }
        .counted()
    }

    #[test]
    fn lost_quorum_names_who_answers_who_is_missing_and_how_many_more_are_needed() {
        let (what, hint) = health(&["m1"], &["m2", "m3"]).problem().unwrap();
        assert_eq!(
            what,
            "etcd has no quorum, 1 more must answer: 1 of 3 voting members answer: m1; missing: m2 (cannot reach it), m3 \
             (cannot reach it)"
        );
        assert!(hint.starts_with("start at least 1 of m2, m3; "), "{hint}");
        let (what, _) = health(&[], &["m1"]).problem().unwrap();
        assert!(
            what.starts_with("etcd has no quorum, 1 more must answer: 0 of 1 voting members answer: none;"),
            "{what}"
        );
    }

    #[test]
    fn enough_members_that_follow_no_leader_are_another_problem() {
        let (what, hint) = health(&["m1", "m2"], &["m3"]).problem().unwrap();
        assert!(what.starts_with("etcd has no leader, although 2 of 3 voting members answer: m1, m2;"), "{what}");
        assert!(hint.contains("port 2380"), "{hint}");
    }

    #[test]
    fn a_full_database_is_reported_after_lost_quorum() {
        let full = Health { quorum: true, full: vec!["m2".into()], ..health(&["m1", "m2"], &["m3"]) };
        let (what, hint) = full.problem().unwrap();
        assert_eq!(what, "etcd is full and rejects all writes: NOSPACE alarm of m2");
        assert!(hint.contains("etcd defrag --compact") && hint.contains("etcd alarms disarm"), "{hint}");
        assert!(Health { quorum: false, ..full.clone() }.problem().unwrap().0.starts_with("etcd has no leader"));
        assert_eq!(Health { full: Vec::new(), ..full }.problem(), None);
    }
}
