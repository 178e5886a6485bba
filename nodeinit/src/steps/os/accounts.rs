//! Reads the users and groups of a machine from its files.

use super::authorized_keys::{DROP_IN, KEYS};
use crate::{
    context::Context,
    host::files::{FileError, Files},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Returns the users with which nodeinit logs in to machines, and the one who has logged in to run it.
pub(super) fn logs_in(cx: &Context) -> BTreeSet<String> {
    let machines = cx.cluster.machines().filter_map(|(machine, _)| machine.ssh.user.clone());
    let own = std::env::var("SUDO_USER").ok();
    machines.chain(own).chain([cx.cluster.ssh.user.clone()]).collect()
}

/// Returns the user who could not log in without what a key of the journal stands for, if nodeinit logs in as this user.
pub(in crate::steps) fn logs_in_with(cx: &Context, key: &str) -> Option<String> {
    let (kind, of) = key.split_once(' ').unwrap_or((key, ""));
    let has_keys = |user: &str| key_files(cx).any(|path| path == Path::new(KEYS).join(user));
    logs_in(cx).into_iter().find(|user| match kind {
        "file" if of == DROP_IN => has_keys(user),
        "file" => of == format!("{KEYS}/{user}") || of == format!("/etc/sudoers.d/nodeinit-{user}"),
        "user" | "shell" => of == user,
        "member" => of.split(' ').nth(1) == Some(user),
        _ => false,
    })
}

/// Whether nodeinit has written SSH keys of a user that are still there.
pub(super) fn have_keys(cx: &Context) -> bool {
    key_files(cx).next().is_some()
}

fn key_files(cx: &Context) -> impl Iterator<Item = PathBuf> {
    let written = cx.journal.state().files.into_keys();
    written.filter(|path| path.starts_with(KEYS) && cx.files.exists(path))
}

/// A line of `/etc/passwd`.
pub(super) struct Account {
    pub(super) shell: String,
    group: String,
}

/// Returns the fields of the line that has `value` in a field.
fn line(files: &Files, path: &str, field: usize, value: &str) -> Result<Option<Vec<String>>, FileError> {
    let text = files.read_text(path)?.unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
    Ok(lines.find(|fields| fields.get(field).is_some_and(|found| found == value)))
}

/// Returns a user; `None` if there is none with this name.
pub(super) fn account(files: &Files, name: &str) -> Result<Option<Account>, FileError> {
    let fields = line(files, "/etc/passwd", 0, name)?;
    let field = |fields: &[String], n: usize| fields.get(n).cloned().unwrap_or_default();
    Ok(fields.map(|all| Account { group: field(&all, 3), shell: field(&all, 6) }))
}

/// Returns the password hash of a user.
pub(super) fn password(files: &Files, name: &str) -> Result<Option<String>, FileError> {
    Ok(line(files, "/etc/shadow", 0, name)?.and_then(|fields| fields.into_iter().nth(1)))
}

/// Whether a user is listed in a group.
pub(super) fn is_member(files: &Files, group: &str, user: &str) -> Result<bool, FileError> {
    let fields = line(files, "/etc/group", 0, group)?;
    Ok(fields.and_then(|all| all.into_iter().nth(3)).is_some_and(|members| members.split(',').any(|each| each == user)))
}

/// Returns the owner of a file as `user:group`; `None` if the file does not exist.
pub(super) fn owner(files: &Files, path: &Path) -> Result<Option<String>, FileError> {
    let Some((user, group)) = files.owner(path) else { return Ok(None) };
    let name = |path: &str, id: u32| -> Result<String, FileError> {
        let fields = line(files, path, 2, &id.to_string())?;
        Ok(fields.and_then(|all| all.into_iter().next()).unwrap_or_else(|| id.to_string()))
    };
    Ok(Some(format!("{}:{}", name("/etc/passwd", user)?, name("/etc/group", group)?)))
}

/// Returns the ids of `user:group`; `None` if one of them does not exist.
pub(super) fn ids(files: &Files, owner: &str) -> Result<Option<(u32, u32)>, FileError> {
    let (user, group) = owner.split_once(':').unwrap_or((owner, owner));
    let id = |path: &str, name: &str| -> Result<Option<u32>, FileError> {
        let known = line(files, path, 0, name)?.and_then(|fields| fields.get(2)?.parse().ok());
        Ok(known.or_else(|| name.parse().ok()))
    };
    Ok(id("/etc/passwd", user)?.zip(id("/etc/group", group)?))
}

/// Returns `user:group` for a user without a group: the group of the user.
pub(super) fn complete(files: &Files, owner: &str) -> Result<String, FileError> {
    if owner.contains(':') {
        return Ok(owner.to_owned());
    }
    let id = account(files, owner)?.map(|account| account.group).unwrap_or_default();
    let group = line(files, "/etc/group", 2, &id)?.and_then(|fields| fields.into_iter().next());
    Ok(format!("{owner}:{}", group.unwrap_or_else(|| owner.to_owned())))
}
