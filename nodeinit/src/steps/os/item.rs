//! An item of `os`: a step that compares what is wanted with the machine, applies the difference, and undoes what is no longer
//! wanted. The journal records each change with the value before.

use super::{
    OsStep, accounts,
    authorized_keys::{DROP_IN, drop_in},
    fetched, program, secret, setting,
    want::{Run, Want, digest},
};
use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::{OsChange, OsChanges, Record},
        step::{State, Step},
        step_id::StepId,
    },
    steps::undo,
};
use async_trait::async_trait;
use nodeinit_base::{sha256_hex, with_causes};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// Limit for a program that runs after an undo.
const UNDO_LIMIT: Duration = Duration::from_secs(120);

/// An item.
pub struct Item {
    /// The step's name.
    pub(super) name: &'static str,
    /// The step's title.
    pub(super) title: &'static str,
    /// Returns what is wanted; empty if the keys are not configured.
    pub(super) wants: fn(&Context) -> Result<Vec<Want>, StepError>,
}

#[async_trait(?Send)]
impl Step for Item {
    fn id(&self) -> StepId {
        StepId::Os(self.name)
    }

    fn title(&self) -> String {
        self.title.into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let wants = match self.read(cx).await {
            Ok(wants) => wants,
            // In a plan, an earlier step has not yet installed what this one needs. `apply` reports the error.
            Err(error) => return Ok(State::needed(format!("{}; at present: {error}", self.title))),
        };
        let known = self.known(cx)?;
        let stale = stale(&known, &wants);
        refuse_unmount(cx, &stale).await?;
        let mut changes = describe_undo(cx, &stale).await?;
        if changes.is_empty() && !stale.is_empty() {
            // Otherwise, a later `up` would undo what somebody else changes.
            changes.push("forget what is no longer configured".into());
        }
        for want in &wants {
            changes.extend(difference(cx, want).await?);
        }
        if !changes.is_empty() || digest(&wants) != known.ran {
            let due = self.due(cx, &wants)?;
            let runs = wants.iter().filter_map(|want| if let Want::Run(run) = want { Some(run) } else { None });
            let runs = runs.filter(|run| run.of.as_ref().is_none_or(|file| due.contains_key(file)));
            changes.extend(runs.map(|run| format!("run `{}`", run.argv.join(" "))));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (wants, known) = (self.read(cx).await?, self.known(cx)?);
        let mut due = self.due(cx, &wants)?;
        let not_run = |item: String| Record::OsRan { item, state: String::new() };
        let own = (!known.ran.is_empty()).then(|| not_run(self.name.into()));
        self.record(cx, own.into_iter().chain(due.keys().map(|file| not_run(self.of(file)))).collect()).await?;
        let stale = stale(&known, &wants);
        refuse_unmount(cx, &stale).await?;
        for (key, error) in self.undo_keys(cx, stale).await? {
            match key.starts_with("mounted ") {
                true => return Err(error),
                false => cx.report.note(self.name, format!("not undone: {error}; the next run tries it again")),
            }
        }
        let state = digest(&wants);
        for want in wants {
            if let Some(key) = want.key() {
                let after = want.value().map(|value| sha256_hex(value.as_bytes()));
                let known = known.set.iter().find(|known| known.key == key);
                if known.is_none_or(|known| known.after != after) {
                    let before = match known {
                        Some(known) => known.before.clone(),
                        None if is_setting(&key) => setting::now(cx, &key).await?,
                        None => None,
                    };
                    let before = secret::hide(cx, &key, before).await?;
                    self.record(cx, vec![Record::OsSet { item: self.name.into(), key, before, after }]).await?;
                }
            }
            let file = if let Want::Run(run) = &want { run.of.clone() } else { None };
            let Some(file) = file else {
                self.apply_one(cx, want).await?;
                continue;
            };
            if let Some(state) = due.remove(&file) {
                self.apply_one(cx, want).await?;
                self.record(cx, vec![Record::OsRan { item: self.of(&file), state }]).await?;
            }
        }
        match state.is_empty() {
            true => Ok(()),
            false => self.record(cx, vec![Record::OsRan { item: self.name.into(), state }]).await,
        }
    }
}

#[async_trait(?Send)]
impl OsStep for Item {
    async fn left(&self, cx: &Context) -> Result<Vec<String>, StepError> {
        describe_undo(cx, &self.known(cx)?.set).await
    }

    async fn undo(&self, cx: &Context) -> Result<(), StepError> {
        // The journal must not be removed while something is left to undo.
        match self.undo_keys(cx, self.known(cx)?.set).await?.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

impl Item {
    async fn read(&self, cx: &Context) -> Result<Vec<Want>, StepError> {
        let (cx, wants) = (cx.clone(), self.wants);
        blocking(move || wants(&cx)).await
    }

    fn known(&self, cx: &Context) -> Result<OsChanges, StepError> {
        let mut known = cx.journal.state().os.remove(self.name).unwrap_or_default();
        for OsChange { key, before, .. } in &mut known.set {
            *before = secret::reveal(cx, key, before.take())?;
        }
        Ok(known)
    }

    /// The name under which the journal records the program that runs after a change of one file.
    fn of(&self, file: &Path) -> String {
        format!("{} {}", self.name, file.display())
    }

    /// Returns the files whose programs have to run, with the digests of what is wanted in them.
    fn due(&self, cx: &Context, wants: &[Want]) -> Result<BTreeMap<PathBuf, String>, StepError> {
        let (mut due, ran) = (BTreeMap::new(), cx.journal.state().os);
        let of =
            |path: &PathBuf| wants.iter().any(|want| matches!(want, Want::Run(run) if run.of.as_ref() == Some(path)));
        for want in wants {
            let Want::File(file) = want else { continue };
            if !of(&file.path) {
                continue;
            }
            let state = sha256_hex(&file.content);
            let has_run = ran.get(&self.of(&file.path)).is_some_and(|known| known.ran == state);
            if !has_run || !cx.differing(std::slice::from_ref(file))?.is_empty() {
                due.insert(file.path.clone(), state);
            }
        }
        Ok(due)
    }

    async fn record(&self, cx: &Context, records: Vec<Record>) -> Result<(), StepError> {
        let cx = cx.clone();
        blocking(move || Ok(cx.journal.intend(records)?)).await
    }

    async fn apply_one(&self, cx: &Context, want: Want) -> Result<(), StepError> {
        match want {
            Want::File(file) => {
                refuse_link(cx, &file.path)?;
                cx.place(vec![file]).await.map(drop)
            }
            Want::Fetched { path, mode, source, sha256 } => {
                refuse_link(cx, &path)?;
                fetched::place(cx, self.name, &path, mode, &source, sha256).await
            }
            Want::Set(key, value) => match setting::now(cx, &key).await? {
                now if now == value => Ok(()),
                _ => setting::set(cx, &key, value.as_deref()).await,
            },
            Want::Run(Run { argv, limit, hint, manager, .. }) => {
                let words: Vec<&str> = argv.iter().map(String::as_str).collect();
                program::run(cx, manager, &words, limit).await.map_err(|error| {
                    let exit = if manager.is_some() { Exit::TryAgain } else { error.exit };
                    error.exit(exit).hint(hint)
                })
            }
        }
    }

    /// Undoes changes, the last one first; then runs the programs that apply this. Returns what could not be undone.
    async fn undo_keys(&self, cx: &Context, changes: Vec<OsChange>) -> Result<BTreeMap<String, StepError>, StepError> {
        let mut failed = BTreeMap::new();
        for change in changes.iter().rev() {
            let OsChange { key, before, .. } = change;
            if let Some(user) = accounts::logs_in_with(cx, key) {
                cx.report.note(self.name, format!("kept: nodeinit logs in as {user} ({key})"));
                if key.strip_prefix("file ") == Some(DROP_IN) {
                    // Of nodeinit's options of sshd, only the places of the keys stay.
                    cx.place(vec![drop_in(&cx.files, "", true)?]).await?;
                }
            } else if let Some(path) = key.strip_prefix("file ") {
                let (context, id, path) = (cx.clone(), self.id(), PathBuf::from(path));
                blocking(move || undo::undo(&context, &id, &[path])).await?;
            } else if is_setting(key) && setting::now(cx, key).await? != *before {
                if !is_as_set(cx, change).await? {
                    cx.report.note(self.name, format!("kept: somebody has changed it since ({key})"));
                    continue;
                }
                if key.starts_with("mounted ") {
                    let (item, key, before) = (self.name.into(), key.clone(), before.clone());
                    self.record(cx, vec![Record::OsSet { item, key, before, after: None }]).await?;
                }
                let Err(error) = setting::set(cx, key, before.as_deref()).await else { continue };
                if ["sysctl ", "package "].iter().any(|kind| key.starts_with(kind)) {
                    // The kernel never takes back some parameters, but the next boot does. Other packages may need this one by now.
                    cx.report.note(self.name, format!("kept: {}", with_causes(&error)));
                } else {
                    failed.insert(key.clone(), error);
                }
            }
        }
        for OsChange { key, .. } in &changes {
            if let Some(program) = key.strip_prefix("run ") {
                let words: Vec<&str> = program.split(' ').collect();
                if let Err(error) = cx.commands.run(&words, UNDO_LIMIT).await {
                    cx.report.note(self.name, error.to_string());
                }
            }
        }
        let undone = changes.into_iter().map(|change| change.key).filter(|key| !failed.contains_key(key));
        let undone = undone.map(|key| Record::OsUndone { item: self.name.into(), key });
        self.record(cx, undone.collect()).await?;
        Ok(failed)
    }
}

/// Refuses to unmount a disk while the machine is in use: the data of etcd or of pods may be on it.
async fn refuse_unmount(cx: &Context, stale: &[OsChange]) -> Result<(), StepError> {
    for OsChange { key, before, .. } in stale {
        if let Some(directory) = key.strip_prefix("mounted ")
            && before.is_none()
            && setting::now(cx, key).await?.is_some()
        {
            let what = format!("{directory} is mounted, but no disk in `os.disks` has this directory any more");
            return Err(StepError::new(what).hint("add the disk again; or stop what uses it, and unmount it yourself"));
        }
    }
    Ok(())
}

/// Whether a key of the journal is a setting, and not a file or a program.
fn is_setting(key: &str) -> bool {
    !key.starts_with("file ") && !key.starts_with("run ")
}

/// Returns the changes that are no longer wanted.
fn stale(known: &OsChanges, wants: &[Want]) -> Vec<OsChange> {
    let wanted: Vec<String> = wants.iter().filter_map(Want::key).collect();
    known.set.iter().filter(|change| !wanted.contains(&change.key)).cloned().collect()
}

/// Whether a setting has the value that nodeinit gave it.
async fn is_as_set(cx: &Context, OsChange { key, after, .. }: &OsChange) -> Result<bool, StepError> {
    let Some(after) = after else { return Ok(true) };
    let now = setting::now(cx, key).await?;
    Ok(now.is_some_and(|now| sha256_hex(now.as_bytes()) == *after))
}

/// Describes the difference between the machine and what is wanted.
async fn difference(cx: &Context, want: &Want) -> Result<Option<String>, StepError> {
    Ok(match want {
        Want::File(file) => cx.differing(std::slice::from_ref(file))?.pop(),
        Want::Fetched { path, mode, source, sha256 } => {
            let is_same = fetched::is_same(cx, path, *mode, sha256)?;
            (!is_same).then(|| format!("write {} from {source}", path.display()))
        }
        Want::Set(key, value) if setting::now(cx, key).await? != *value => {
            Some(setting::describe(key, value.as_deref()))
        }
        Want::Set(..) | Want::Run(_) => None,
    })
}

async fn describe_undo(cx: &Context, undone: &[OsChange]) -> Result<Vec<String>, StepError> {
    let (mut changes, mut programs) = (Vec::new(), Vec::new());
    for change in undone.iter().rev() {
        let OsChange { key, before, .. } = change;
        if accounts::logs_in_with(cx, key).is_some() {
            continue;
        }
        if let Some(path) = key.strip_prefix("file ") {
            if !undo::is_undone(cx, path.as_ref())? {
                changes.push(format!("remove {path}, or restore its original"));
            }
        } else if let Some(program) = key.strip_prefix("run ") {
            // An undo that was killed has not run it.
            programs.push(format!("run `{program}`"));
        } else if setting::now(cx, key).await? != *before && is_as_set(cx, change).await? {
            changes.push(setting::describe(key, before.as_deref()));
        }
    }
    Ok([changes, programs].concat())
}

/// A link may lead to a file of another program, and `reset` could not restore it.
fn refuse_link(cx: &Context, path: &Path) -> Result<(), StepError> {
    match cx.files.link_target(path) {
        Some(target) => {
            let what = format!("{} is a symbolic link to {}", path.display(), target.display());
            Err(StepError::new(what)
                .hint("another program manages it: remove the key from `os`, or replace the link with a file"))
        }
        None => Ok(()),
    }
}
