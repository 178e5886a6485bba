//! Where sshd reads the SSH keys of `os.users`, and those of the site.

use crate::host::files::{FileError, Files, NewFile};
use std::path::{Path, PathBuf};

/// The directory with the SSH keys of each user. Users cannot write to it, so that root follows no link of theirs.
pub(super) const KEYS: &str = "/etc/ssh/authorized_keys.d";

/// sshd's own configuration.
pub(super) const CONFIG: &str = "/etc/ssh/sshd_config";

/// nodeinit's options of sshd. The first value of an option takes precedence, so this file is read first.
pub(super) const DROP_IN: &str = "/etc/ssh/sshd_config.d/00-nodeinit.conf";

/// Returns nodeinit's options of sshd: these lines, and the places of keys if `has_keys`.
pub(super) fn drop_in(files: &Files, options: &str, has_keys: bool) -> Result<NewFile, FileError> {
    let mut text = format!("# Written by nodeinit.\n{options}");
    if has_keys {
        // This value hides that of the other files, so it must contain theirs.
        let others = value(files, Path::new(CONFIG), 0)?;
        let others = others.unwrap_or_else(|| ".ssh/authorized_keys .ssh/authorized_keys2".to_owned());
        let others = if others.eq_ignore_ascii_case("none") { String::new() } else { format!("{others} ") };
        text += &format!("AuthorizedKeysFile {others}{KEYS}/%u\n");
    }
    Ok(NewFile::public(DROP_IN, text))
}

/// Returns the places of keys of all users without nodeinit's own file: the first value counts. Source: sshd_config(5).
fn value(files: &Files, path: &Path, depth: usize) -> Result<Option<String>, FileError> {
    // Deeper than sshd reads.
    if depth > 16 {
        return Ok(None);
    }
    let text = files.read_text(path)?.unwrap_or_default().replace(['=', '"'], " ");
    for line in text.lines() {
        let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        match words.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "match" => return Ok(None),
            "include" => {
                for pattern in words {
                    for included in matching(files, &Path::new("/etc/ssh").join(pattern))? {
                        if let Some(found) = value(files, &included, depth + 1)? {
                            return Ok(Some(found));
                        }
                    }
                }
            }
            "authorizedkeysfile" => return Ok(Some(words.collect::<Vec<_>>().join(" "))),
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
