//! The ledger: which token IDs were ever valid, for which worker, and their current state.
//!
//! Kubernetes deletes the Secret of an expired token, so the Secrets alone do not tell whether an ID was valid before. The
//! ledger is the ConfigMap `kube-system/nodeinit-tokens`, one entry per ID. It never contains the secret part of a token.

use crate::{
    api::kube::{ApiError, FIELD_MANAGER},
    context::Context,
    engine::error::StepError,
    pki::expiry::date,
    steps::cluster::client,
};
use nodeinit_base::Wait;
use serde_json::{Map, Value, json};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::ControlFlow,
    time::{Duration, SystemTime},
};
use tokio::sync::Mutex;

const NAME: &str = "nodeinit-tokens";
const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";

/// How long the ledger keeps the details of a closed token.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Maximum size of the ledger; a ConfigMap may have 1 MiB.
const LARGEST: usize = 800_000;

/// The state of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its Secret is about to be created; a run that was killed here may complete it, with the same expiry.
    Pending,
    /// Its Secret was created.
    Valid,
    /// Its worker has joined.
    Used,
    /// It was not used in time.
    Expired,
    /// It was deleted or replaced.
    Revoked,
}

impl State {
    const ALL: [Self; 5] = [Self::Pending, Self::Valid, Self::Used, Self::Expired, Self::Revoked];

    /// Whether the token may be valid.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Valid)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Valid => "valid",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        })
    }
}

/// The origin of a token's secret part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The secrets bundle, which keeps it.
    Bundle,
    /// Random, and stored nowhere but on its worker.
    Random,
}

/// One token of the ledger, as text `WORKER STATE TIME ORIGIN`; only `STATE` for a token of the bundle that was closed long ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The only worker that may join with it; `None`: any machine.
    pub worker: Option<String>,
    /// Its state.
    pub state: State,
    /// The expiry of an open token, or when a closed one was closed. RFC 3339 in UTC; empty if no longer known.
    pub time: String,
    /// The origin of its secret part.
    pub origin: Origin,
}

impl Entry {
    fn text(&self) -> String {
        if self.time.is_empty() {
            return self.state.to_string();
        }
        let worker = self.worker.as_deref().unwrap_or("-");
        let origin = match self.origin {
            Origin::Bundle => "bundle",
            Origin::Random => "random",
        };
        format!("{worker} {} {} {origin}", self.state, self.time)
    }

    /// Parses an entry. An invalid one counts as revoked: its ID is never valid again.
    fn parse(text: &str) -> Self {
        let state = |text: &str| State::ALL.into_iter().find(|known| known.to_string() == text);
        let read = || {
            let [worker, word, time, origin] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
            Some(Self {
                worker: (worker != "-").then(|| worker.to_owned()),
                state: state(word)?,
                time: time.to_owned(),
                origin: if origin == "random" { Origin::Random } else { Origin::Bundle },
            })
        };
        let closed = state(text).filter(|state| !state.is_open()).unwrap_or(State::Revoked);
        read().unwrap_or_else(|| Self::short(closed))
    }

    fn short(state: State) -> Self {
        Self { worker: None, state, time: String::new(), origin: Origin::Bundle }
    }

    fn close(&mut self, state: State, now: &str) {
        if self.state.is_open() {
            (self.state, self.time) = (state, now.to_owned());
        }
    }

    fn size(&self, id: &str) -> usize {
        // Quotes, colon and comma of JSON.
        id.len() + self.text().len() + 6
    }
}

/// One change of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new entry. An ID that the ledger knows keeps its entry.
    Open(String, Entry),
    /// The Secret of a pending token exists.
    Created(String),
    /// Closes a token. A token without an entry gets one, for this worker.
    Close(String, Option<String>, State),
    /// The same for all tokens of a worker.
    CloseAllOf(String, State),
}

/// All entries, as read at one version of the ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    version: Option<Value>,
    /// By token ID.
    pub entries: BTreeMap<String, Entry>,
}

impl Ledger {
    fn of(config_map: &Value) -> Self {
        let data = config_map["data"].as_object().into_iter().flatten();
        Self {
            version: Some(config_map["metadata"]["resourceVersion"].clone()),
            entries: data.map(|(id, text)| (id.clone(), Entry::parse(text.as_str().unwrap_or_default()))).collect(),
        }
    }

    /// Reads the ledger; `None` if no token was ever recorded.
    ///
    /// # Errors
    /// If the API refuses.
    pub async fn read(cx: &Context) -> Result<Option<Self>, StepError> {
        let found = client(cx)?.find(&format!("{CONFIG_MAPS}/{NAME}")).await;
        let found = found.map_err(|e| StepError::caused(format!("cannot read ConfigMap kube-system/{NAME}"), e))?;
        Ok(found.as_ref().map(Self::of))
    }

    /// Returns the ledger after these changes at the time `now`. `bundle`: the IDs of the secrets bundle, if known.
    fn after(&self, changes: &[Change], now: SystemTime, bundle: Option<&BTreeSet<String>>) -> Self {
        let mut entries = self.entries.clone();
        let today = date(now);
        for entry in entries.values_mut().filter(|entry| entry.state.is_open() && entry.time < today) {
            entry.state = State::Expired;
        }
        for change in changes {
            match change {
                Change::Open(id, entry) => {
                    entries.entry(id.clone()).or_insert_with(|| entry.clone());
                }
                Change::Created(id) => {
                    let pending = entries.get_mut(id).filter(|entry| entry.state == State::Pending);
                    pending.into_iter().for_each(|entry| entry.state = State::Valid);
                }
                Change::Close(id, worker, state) => {
                    let closed =
                        || Entry { worker: worker.clone(), state: *state, time: today.clone(), origin: Origin::Bundle };
                    entries.entry(id.clone()).or_insert_with(closed).close(*state, &today);
                }
                Change::CloseAllOf(worker, state) => {
                    let of_worker = entries.values_mut().filter(|entry| entry.worker.as_ref() == Some(worker));
                    of_worker.for_each(|entry| entry.close(*state, &today));
                }
            }
        }
        shrink(&mut entries, &date(now - KEPT), bundle);
        Self { version: self.version.clone(), entries }
    }

    /// Returns the merge patch to `after`, which fails if somebody else has changed the ledger; `None` if nothing differs.
    fn patch(&self, after: &Self) -> Option<Value> {
        let gone =
            self.entries.keys().filter(|id| !after.entries.contains_key(*id)).map(|id| (id.clone(), Value::Null));
        let new = after.entries.iter().filter(|(id, entry)| self.entries.get(*id) != Some(*entry));
        let data: Map<String, Value> = gone.chain(new.map(|(id, entry)| (id.clone(), json!(entry.text())))).collect();
        (!data.is_empty()).then(|| json!({"metadata": {"resourceVersion": self.version}, "data": data}))
    }
}

/// Shortens tokens that were closed before `oldest`, and removes what no longer protects anything:
///
/// - Random tokens that were closed before `oldest`: nothing stores their secret part, so nothing can create them again.
/// - If the ledger is too large, the oldest closed entries: random ones, then those of machines whose token the secrets
///   bundle no longer contains. Only an older bundle could make one of these valid again. An ID of `bundle` always stays.
fn shrink(entries: &mut BTreeMap<String, Entry>, oldest: &str, bundle: Option<&BTreeSet<String>>) {
    let is_old = |entry: &Entry| !entry.state.is_open() && entry.time.as_str() <= oldest;
    entries.retain(|_, entry| entry.origin == Origin::Bundle || !is_old(entry));
    entries.values_mut().filter(|entry| is_old(entry)).for_each(|entry| *entry = Entry::short(entry.state));
    let mut size: usize = entries.iter().map(|(id, entry)| entry.size(id)).sum();
    if size <= LARGEST {
        return;
    }
    let mut spare: Vec<(bool, String, String)> = entries
        .iter()
        .filter(|(id, entry)| match entry.origin {
            _ if entry.state.is_open() => false,
            Origin::Random => true,
            Origin::Bundle => bundle.is_some_and(|bundle| !bundle.contains(*id)),
        })
        .map(|(id, entry)| (entry.origin == Origin::Bundle, entry.time.clone(), id.clone()))
        .collect();
    spare.sort_unstable();
    for (_, _, id) in spare {
        if size <= LARGEST {
            return;
        }
        size -= entries.remove(&id).map_or(0, |entry| entry.size(&id));
    }
}

/// Writes changes and returns the resulting ledger. Other masters and commands may write at the same time.
///
/// # Errors
/// If the API refuses until the deadline.
pub async fn write(cx: &Context, changes: &[Change], bundle: Option<&BTreeSet<String>>) -> Result<Ledger, StepError> {
    let api = client(cx)?;
    let path = format!("{CONFIG_MAPS}/{NAME}");
    let once = async || -> Result<Ledger, ApiError> {
        let before = api.find(&path).await?.as_ref().map(Ledger::of);
        let after = before.clone().unwrap_or_default().after(changes, cx.clock.now(), bundle);
        match before {
            None => {
                let data = Ledger::default().patch(&after).map_or(json!({}), |patch| patch["data"].clone());
                let metadata = json!({"name": NAME, "namespace": "kube-system"});
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
                api.create(&format!("{CONFIG_MAPS}?fieldManager={FIELD_MANAGER}"), &object).await.map(drop)?;
            }
            Some(before) => {
                if let Some(patch) = before.patch(&after) {
                    api.merge(&path, &patch).await.map(drop)?;
                }
            }
        }
        Ok(after)
    };
    let attempt = async || match once().await {
        Ok(after) => ControlFlow::Break(Ok(after)),
        // For example a conflict: the next attempt reads what the other writer wrote.
        Err(e) if e.is_passing() => ControlFlow::Continue(e.to_string()),
        Err(e) => ControlFlow::Break(Err(e)),
    };
    let wait = Wait::new(format!("ConfigMap kube-system/{NAME} to be written"), cx.cluster.timeouts.control_plane);
    let written = wait.at_most_every(Duration::from_millis(500)).until(attempt).await?;
    written.map_err(|e| StepError::caused(format!("cannot write ConfigMap kube-system/{NAME}"), e))
}

/// Writes the changes of many concurrent tasks with few requests: changes that arrive during one write go into the next.
#[derive(Default)]
pub struct Batch {
    next: Cell<u64>,
    waiting: RefCell<Vec<(u64, Change)>>,
    /// The changes that another task has written.
    written: Mutex<BTreeSet<u64>>,
}

impl Batch {
    /// Writes a change, together with others.
    ///
    /// # Errors
    /// As [`write()`].
    pub async fn write(&self, cx: &Context, change: Change) -> Result<(), StepError> {
        let number = self.next.get();
        self.next.set(number + 1);
        self.waiting.borrow_mut().push((number, change.clone()));
        let mut written = self.written.lock().await;
        if written.remove(&number) {
            return Ok(());
        }
        let mut batch = self.waiting.take();
        // A task that took it and then failed or was dropped has not written it.
        if !batch.iter().any(|(other, _)| *other == number) {
            batch.push((number, change));
        }
        let (numbers, changes): (Vec<u64>, Vec<Change>) = batch.into_iter().unzip();
        write(cx, &changes, None).await?;
        written.extend(numbers.into_iter().filter(|other| *other != number));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(day * 24 * 3600)
    }

    fn entry(worker: &str, state: State, day: u64, origin: Origin) -> Entry {
        Entry { worker: Some(worker.into()), state, time: date(at(day)), origin }
    }

    fn of(entries: &[(&str, Entry)]) -> Ledger {
        let entries = entries.iter().map(|(id, entry)| ((*id).to_owned(), entry.clone())).collect();
        Ledger { version: Some(json!("7")), entries }
    }

    #[test]
    fn entries_survive_their_text_and_unknown_ones_are_revoked() {
        for state in State::ALL {
            let entry = entry("w1.example", state, 3, Origin::Random);
            assert_eq!(Entry::parse(&entry.text()), entry);
        }
        let any = Entry { worker: None, ..entry("", State::Valid, 3, Origin::Bundle) };
        assert_eq!(any.text(), "- valid 1970-01-04T00:00:00Z bundle");
        assert_eq!(Entry::parse(&any.text()), any);
        assert_eq!(Entry::parse("used"), Entry::short(State::Used));
        for text in ["", "w1", "valid", "w1 borrowed 1970-01-04T00:00:00Z bundle", "w1 valid"] {
            assert_eq!(Entry::parse(text).state, State::Revoked, "{text}");
        }
    }

    #[test]
    fn a_change_patches_only_what_differs_at_the_version_that_was_read() {
        let before = of(&[
            ("aaaaaa", entry("w1", State::Valid, 9, Origin::Bundle)),
            ("bbbbbb", entry("w1", State::Valid, 9, Origin::Random)),
            ("cccccc", entry("w2", State::Pending, 9, Origin::Bundle)),
        ]);
        let changes = [
            Change::CloseAllOf("w1".into(), State::Used),
            Change::Created("cccccc".into()),
            // A closed token stays closed, and an ID keeps its entry.
            Change::Close("aaaaaa".into(), None, State::Revoked),
            Change::Open("aaaaaa".into(), entry("w3", State::Valid, 9, Origin::Random)),
        ];
        let patch = before.patch(&before.after(&changes, at(8), None)).unwrap();
        assert_eq!(
            patch,
            json!({
                "metadata": {"resourceVersion": "7"},
                "data": {
                    "aaaaaa": "w1 used 1970-01-09T00:00:00Z bundle",
                    "bbbbbb": "w1 used 1970-01-09T00:00:00Z random",
                    "cccccc": "w2 valid 1970-01-10T00:00:00Z bundle",
                },
            })
        );
        assert_eq!(before.patch(&before.after(&[], at(8), None)), None);
    }

    #[test]
    fn expired_tokens_are_closed_and_after_a_month_shortened_or_forgotten() {
        let before = of(&[
            ("aaaaaa", entry("w1", State::Valid, 9, Origin::Bundle)),
            ("bbbbbb", entry("w2", State::Valid, 9, Origin::Random)),
        ]);
        let after = before.after(&[Change::CloseAllOf("w1".into(), State::Used)], at(10), None);
        assert_eq!(after.entries["aaaaaa"], entry("w1", State::Expired, 9, Origin::Bundle));
        let later = after.after(&[], at(50), None);
        assert_eq!(later.entries.keys().collect::<Vec<_>>(), ["aaaaaa"]);
        let patch = after.patch(&later).unwrap();
        assert_eq!(patch["data"], json!({"aaaaaa": "expired", "bbbbbb": null}));
    }

    #[test]
    fn the_ledger_fits_into_a_config_map_and_keeps_the_tokens_of_the_bundle() {
        let many = |first: u32, origin| {
            (first..first + 9_000).map(move |n| {
                let worker = format!("worker-with-a-rather-long-name-{n:06}");
                (format!("{n:06}"), entry(&worker, State::Used, u64::from(n % 25) + 1, origin))
            })
        };
        let entries = many(0, Origin::Bundle).chain(many(9_000, Origin::Random)).collect();
        let before = Ledger { version: None, entries };
        let size = |ledger: &Ledger| ledger.entries.iter().map(|(id, entry)| entry.size(id)).sum::<usize>();
        let count = |ledger: &Ledger, origin| ledger.entries.values().filter(|entry| entry.origin == origin).count();
        assert!(size(&before) > 1 << 20);
        // Without the bundle, its former tokens stay.
        let random_go = before.after(&[], at(26), None);
        assert!(size(&random_go) <= LARGEST && count(&random_go, Origin::Bundle) == 9_000);
        let twice = many(18_000, Origin::Bundle).chain(random_go.entries).collect();
        let bundle = many(0, Origin::Bundle).map(|(id, _)| id).collect();
        let after = Ledger { version: None, entries: twice }.after(&[], at(26), Some(&bundle));
        assert!(size(&after) <= LARGEST && bundle.iter().all(|id| after.entries.contains_key(id)));
        assert_eq!(count(&after, Origin::Random), 0);
        // After a month there is room for many more.
        let entries = (0..48_000).map(|n| (format!("{n:06}"), entry("w", State::Used, 1, Origin::Bundle))).collect();
        assert_eq!(Ledger { version: None, entries }.after(&[], at(50), Some(&bundle)).entries.len(), 48_000);
    }
}
