//! Options of sshd: written only if sshd accepts them together with the rest of its configuration, then reloaded.

use super::{
    accounts::{self, DROP_IN},
    item::Item,
    want::Want,
};
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::{FileError, Files},
    os::distribution,
};
use std::path::{Path, PathBuf};

const CONFIG: &str = "/etc/ssh/sshd_config";
const DIRECTORY: &str = "/etc/ssh/sshd_config.d";
/// The options and the rest of the configuration, to test.
const CANDIDATE: &str = "/etc/ssh/sshd_config.nodeinit-test";

pub(super) const ITEM: Item = Item { name: "os-sshd", title: "configure sshd", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let options = &cx.cluster.os.sshd;
    // Keys of a user as whom nodeinit logs in stay, although they are no longer configured.
    let has_keys = cx.cluster.os.users.iter().any(|user| !user.remove && !user.keys.is_empty())
        || accounts::logs_in_with(cx, &format!("file {DROP_IN}")).is_some();
    if options.is_empty() && !has_keys {
        return Ok(Vec::new());
    }
    let config = cx.files.read_text(CONFIG)?.unwrap_or_default();
    let mut words = config.lines().map(str::split_whitespace);
    let is_included = words.any(|mut line| {
        line.next().is_some_and(|word| word.eq_ignore_ascii_case("include"))
            && line.any(|path| path.starts_with(DIRECTORY))
    });
    if !is_included {
        let hint = format!(
            "write `Include {DIRECTORY}/*.conf` at the start of {CONFIG}, or remove `os.sshd` and the keys in `os.users`"
        );
        return Err(StepError::new(format!(
            "os.sshd and the keys in os.users have no effect: {CONFIG} does not include {DIRECTORY}"
        ))
        .hint(hint));
    }
    let mut lines: String = options.iter().map(|(option, value)| format!("{option} {value}\n")).collect();
    if has_keys {
        // This value hides that of the other files, so it must contain theirs.
        let others = value(&cx.files, Path::new(CONFIG), "authorizedkeysfile")?;
        let others = others.unwrap_or_else(|| ".ssh/authorized_keys .ssh/authorized_keys2".to_owned());
        let others = if others.eq_ignore_ascii_case("none") { String::new() } else { format!("{others} ") };
        lines += &format!("AuthorizedKeysFile {others}{}/%u\n", accounts::KEYS);
    }
    let text = format!("# Written by nodeinit.\n{lines}");
    let rejected = "sshd rejects the options in `os.sshd`: fix them; sshd was not changed";
    Ok(vec![
        // Debian's sshd needs it, and it is missing while a socket starts sshd.
        Want::run(&["install", "-d", "-m", "0755", "/run/sshd"], rejected),
        Want::file(CANDIDATE, format!("{text}Include {CONFIG}\n")),
        Want::run(&["/usr/sbin/sshd", "-t", "-f", CANDIDATE], rejected),
        Want::file(DROP_IN, text),
        Want::reload(distribution(&cx.files)?.sshd),
    ])
}

/// Returns the value of an option that applies to all users without nodeinit's own file: the first one. Source: sshd_config(5).
fn value(files: &Files, path: &Path, option: &str) -> Result<Option<String>, FileError> {
    let text = files.read_text(path)?.unwrap_or_default().replace(['=', '"'], " ");
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "match" => return Ok(None),
            "include" => {
                for pattern in words {
                    for included in matching(files, &Path::new("/etc/ssh").join(pattern))? {
                        if let Some(found) = value(files, &included, option)? {
                            return Ok(Some(found));
                        }
                    }
                }
            }
            name if name == option => return Ok(Some(words.collect::<Vec<_>>().join(" "))),
            _ => {}
        }
    }
    Ok(None)
}

/// Returns the files whose names match a pattern with at most one `*`, in the order in which sshd reads them, without nodeinit's own.
fn matching(files: &Files, pattern: &Path) -> Result<Vec<PathBuf>, FileError> {
    let (directory, name) =
        (pattern.parent().unwrap_or(pattern), pattern.file_name().unwrap_or_default().to_string_lossy());
    let Some((start, end)) = name.split_once('*') else { return Ok(vec![pattern.to_path_buf()]) };
    let mut names = files.list(directory)?;
    names.retain(|name| name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end));
    names.sort();
    let own = Path::new(DROP_IN);
    Ok(names.into_iter().map(|name| directory.join(name)).filter(|path| path != own && files.is_file(path)).collect())
}
