//! Decides about the tokens of the secrets bundle and those of workers that have joined. Pure.

use super::{
    Live,
    ledger::{Change, Entry, Ledger, Origin, State},
};
use nodeinit_config::Secret;
use std::collections::BTreeSet;

/// A token of the secrets bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The only worker that may join with it; `None`: any machine.
    pub(super) worker: Option<String>,
    pub(super) token: Secret<String>,
}

impl Given {
    pub(super) fn id(&self) -> &str {
        super::id(&self.token)
    }
}

/// The input of the decision.
pub(super) struct Seen<'a> {
    /// `None` if there is no ledger yet.
    pub(super) ledger: Option<&'a Ledger>,
    /// Whether an earlier run on this machine issued the bundle's tokens.
    pub(super) ran_before: bool,
    /// The Secrets of workers' tokens.
    pub(super) live: &'a [Live],
    /// The tokens that this run issued to the machines that it starts. A machine that was reset or rebuilt needs its new
    /// token although its old Node is Ready: the control plane notices only after 40 s.
    pub(super) issued: &'a BTreeSet<String>,
    /// The Ready nodes.
    pub(super) ready: &'a BTreeSet<String>,
    /// The bundle's tokens.
    pub(super) given: &'a [Given],
    /// The current time, RFC 3339 in UTC.
    pub(super) now: &'a str,
    /// The expiry of a token that becomes valid now.
    pub(super) until: &'a str,
}

/// The work, in this order: write `changes`, create and delete Secrets, record those that were created.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) changes: Vec<Change>,
    /// Tokens to create, if the ledger then has them as pending.
    pub(super) create: Vec<Given>,
    /// The IDs of Secrets to delete.
    pub(super) delete: Vec<String>,
    /// A description of each change.
    pub(super) messages: Vec<String>,
}

impl Decision {
    pub(super) fn of(seen: &Seen<'_>) -> Self {
        let mut decision = Self::default();
        if seen.ledger.is_none() {
            decision.messages.push("create the ledger of bootstrap tokens".into());
        }
        seen.live.iter().filter(|live| !seen.issued.contains(&live.id)).for_each(|live| decision.end(seen, live));
        seen.given.iter().for_each(|given| decision.begin(seen, given));
        decision
    }

    /// Decides whether to delete an existing Secret.
    fn end(&mut self, seen: &Seen<'_>, live: &Live) {
        let known = seen.ledger.and_then(|ledger| ledger.entries.get(&live.id));
        let (state, why) = match &live.worker {
            None => {
                (State::Revoked, "was created by an earlier version of nodeinit, which bound it to no worker".into())
            }
            Some(worker) if seen.ready.contains(worker) => {
                (State::Used, format!("belongs to {worker}, which has joined"))
            }
            Some(worker) => match known {
                Some(entry) if !entry.state.is_open() => {
                    (entry.state, format!("belongs to {worker} and is {}", entry.state))
                }
                _ => return,
            },
        };
        self.changes.push(Change::Close(live.id.clone(), live.worker.clone(), state));
        self.delete.push(live.id.clone());
        self.messages.push(format!("delete the bootstrap token {}: it {why}", live.id));
    }

    /// Decides whether a token of the bundle becomes valid.
    fn begin(&mut self, seen: &Seen<'_>, given: &Given) {
        let (id, worker) = (given.id(), &given.worker);
        let whose = worker.as_ref().map_or_else(String::new, |worker| format!(" of {worker}"));
        let known = seen.ledger.and_then(|ledger| ledger.entries.get(id));
        let has_joined = worker.as_ref().is_some_and(|worker| seen.ready.contains(worker));
        match known {
            Some(entry) if entry.state == State::Pending && entry.time.as_str() > seen.now => {
                match seen.live.iter().any(|live| live.id == id) {
                    true => self.changes.push(Change::Created(id.into())),
                    false => self.create.push(given.clone()),
                }
                self.messages.push(format!("finish issuing the bootstrap token {id}{whose}"));
            }
            Some(_) => {}
            // Deleted just now.
            None if self.delete.iter().any(|deleted| deleted == id) => {}
            // The earlier version kept no ledger: it issued all tokens.
            None if seen.ledger.is_none() && seen.ran_before => {
                self.changes.push(Change::Close(id.into(), worker.clone(), State::Expired));
                self.messages
                    .push(format!("record the bootstrap token {id}{whose}, which already exists in the cluster"));
            }
            None if has_joined => {
                self.changes.push(Change::Close(id.into(), worker.clone(), State::Used));
                self.messages
                    .push(format!("record that the bootstrap token {id}{whose} is not needed: the worker has joined"));
            }
            None => {
                let (state, origin) = (State::Pending, Origin::Bundle);
                let entry = Entry { worker: worker.clone(), state, time: seen.until.into(), origin };
                self.changes.push(Change::Open(id.into(), entry));
                self.create.push(given.clone());
                self.messages.push(format!("issue the bootstrap token {id}{whose}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "2026-01-01T00:00:00Z";
    const NOW: &str = "2026-01-02T00:00:00Z";
    const UNTIL: &str = "2026-01-03T00:00:00Z";
    const ISSUED: &str = "ffffff";

    fn given(worker: &str, id: &str) -> Given {
        let worker = Some(worker.to_owned()).filter(|worker| worker != "-");
        Given { worker, token: Secret::new(format!("{id}.0123456789abcdef")) }
    }

    fn live(worker: &str, id: &str) -> Live {
        let worker = Some(worker.to_owned()).filter(|worker| worker != "-");
        Live { id: id.into(), worker, expires: UNTIL.into(), description: String::new() }
    }

    fn ledger(entries: &[(&str, &str, State, &str)]) -> Ledger {
        let entry = |worker: &str, state, time: &str| Entry {
            worker: Some(worker.into()),
            state,
            time: time.into(),
            origin: Origin::Bundle,
        };
        let mut ledger = Ledger::default();
        for (id, worker, state, time) in entries {
            ledger.entries.insert((*id).into(), entry(worker, *state, time));
        }
        ledger
    }

    fn decide(ledger: Option<&Ledger>, ran_before: bool, live: &[Live], ready: &[&str], given: &[Given]) -> Decision {
        let ready = ready.iter().map(|name| (*name).to_owned()).collect();
        Decision::of(&Seen {
            ledger,
            ran_before,
            live,
            issued: &BTreeSet::from([ISSUED.into()]),
            ready: &ready,
            given,
            now: NOW,
            until: UNTIL,
        })
    }

    fn open(worker: Option<&str>, id: &str) -> Change {
        let worker = worker.map(str::to_owned);
        let entry = Entry { worker, state: State::Pending, time: UNTIL.into(), origin: Origin::Bundle };
        Change::Open(id.into(), entry)
    }

    #[test]
    fn a_token_of_the_bundle_becomes_valid_once() {
        let given = [given("w1", "aaaaaa"), given("-", "bbbbbb")];
        let first = decide(None, false, &[], &[], &given);
        assert_eq!(first.changes, [open(Some("w1"), "aaaaaa"), open(None, "bbbbbb")]);
        assert_eq!((first.create.as_slice(), first.delete.len()), (&given[..], 0));
        // In every state, and although its Secret is gone.
        for state in [State::Valid, State::Used, State::Expired, State::Revoked] {
            for time in [BEFORE, UNTIL] {
                let known = ledger(&[("aaaaaa", "w1", state, time), ("bbbbbb", "w1", state, time)]);
                assert_eq!(decide(Some(&known), true, &[], &[], &given), Decision::default(), "{state} {time}");
                assert_eq!(decide(Some(&known), true, &[], &["w1"], &given), Decision::default(), "{state} {time}");
            }
        }
    }

    #[test]
    fn an_interrupted_run_is_completed_until_the_expiry_that_it_recorded() {
        let given = [given("w1", "aaaaaa")];
        let pending = |until| ledger(&[("aaaaaa", "w1", State::Pending, until)]);
        let not_created = decide(Some(&pending(UNTIL)), false, &[], &[], &given);
        assert_eq!((not_created.create.as_slice(), not_created.changes.len()), (&given[..], 0));
        let created = decide(Some(&pending(UNTIL)), false, &[live("w1", "aaaaaa")], &[], &given);
        assert_eq!((created.create.len(), created.changes), (0, vec![Change::Created("aaaaaa".into())]));
        assert_eq!(decide(Some(&pending(BEFORE)), false, &[], &[], &given), Decision::default());
    }

    #[test]
    fn tokens_are_deleted_when_their_worker_is_ready() {
        let live = [live("w1", "aaaaaa"), live("w2", "bbbbbb")];
        let known = ledger(&[("aaaaaa", "w1", State::Valid, UNTIL), ("bbbbbb", "w2", State::Valid, UNTIL)]);
        let decision = decide(Some(&known), true, &live, &["w1"], &[]);
        assert_eq!(decision.changes, [Change::Close("aaaaaa".into(), Some("w1".into()), State::Used)]);
        assert_eq!(decision.delete, ["aaaaaa"]);
        // A run that was killed between the ledger and the Secret.
        let revoked = ledger(&[("bbbbbb", "w2", State::Revoked, BEFORE)]);
        assert_eq!(decide(Some(&revoked), true, &live[1..], &[], &[]).delete, ["bbbbbb"]);
    }

    #[test]
    fn a_token_that_this_run_issued_stays_although_the_old_node_is_ready() {
        let known = ledger(&[("aaaaaa", "w1", State::Valid, UNTIL), (ISSUED, "w1", State::Valid, UNTIL)]);
        let live = [live("w1", "aaaaaa"), live("w1", ISSUED)];
        assert_eq!(decide(Some(&known), true, &live, &["w1"], &[]).delete, ["aaaaaa"]);
    }

    #[test]
    fn a_worker_that_joined_otherwise_needs_no_token() {
        let decision = decide(Some(&ledger(&[])), true, &[], &["w1"], &[given("w1", "aaaaaa")]);
        assert_eq!(decision.changes, [Change::Close("aaaaaa".into(), Some("w1".into()), State::Used)]);
        assert!(decision.create.is_empty());
    }

    #[test]
    fn a_token_of_an_earlier_version_does_not_become_valid_again() {
        let given = [given("w1", "aaaaaa"), given("w2", "bbbbbb")];
        // Its Secrets have the label and no annotation.
        let decision = decide(None, true, &[live("-", "aaaaaa"), live("-", "cccccc")], &[], &given);
        let close = |id: &str, worker: Option<&str>, state| Change::Close(id.into(), worker.map(str::to_owned), state);
        assert_eq!(
            decision.changes,
            [
                close("aaaaaa", None, State::Revoked),
                close("cccccc", None, State::Revoked),
                close("bbbbbb", Some("w2"), State::Expired),
            ]
        );
        assert_eq!(
            (decision.create.len(), decision.delete.as_slice()),
            (0, &["aaaaaa".to_owned(), "cccccc".to_owned()][..])
        );
    }
}
