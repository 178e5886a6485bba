//! What a machine has: paths, users, SSH host keys, kernel settings and modules.

use super::Format;
use crate::{model::names::verdict, problem::Flaw};
use std::path::PathBuf;

/// An absolute path.
pub static ABSOLUTE_PATH: Format =
    Format::new("an absolute path", "/opt/kubernetes", |t| absolute(t).map(drop)).pattern("^/");
/// A file of the machine on which the provisioner runs.
pub static LOCAL_PATH: Format = Format::new("a path", "./nodeinit", local_path);
/// A login name.
pub static USER: Format = Format::new("a user name", "debian", user).pattern("^[a-z_][a-z0-9_-]{0,31}$");
/// A line of an SSH public key.
pub static HOST_KEY: Format = Format::new(
    "an SSH host key",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo",
    |t| host_key(t).map(drop),
)
.pattern("^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]+=*( .*)?$");
/// A kernel parameter.
pub static SYSCTL: Format =
    Format::new("the name of a kernel parameter", "vm.swappiness", sysctl).pattern("^[a-z0-9][A-Za-z0-9._/-]*$");
/// A kernel module.
pub static MODULE: Format = Format::new("the name of a kernel module", "ip_vs", module).pattern("^[A-Za-z0-9_-]+$");

pub(crate) fn absolute(text: &str) -> Result<PathBuf, Flaw> {
    let fits = text.starts_with('/') && !has_odd_parts(&text[1..]);
    verdict(fits, text, "an absolute path", "write it with `/` at its start, and without `..`")?;
    Ok(PathBuf::from(text))
}

pub(super) fn has_odd_parts(path: &str) -> bool {
    path.chars().any(char::is_control) || path.split('/').any(|part| part == ".." || part == ".")
}

fn local_path(text: &str) -> Result<(), Flaw> {
    let fits = !text.is_empty() && !text.contains(char::is_control);
    verdict(fits, text, "a path", "write the path of the file")
}

pub(super) fn user(text: &str) -> Result<(), Flaw> {
    let start = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let body = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
    verdict(start && body && text.len() <= 32, text, "a user name", "use a-z, 0-9, `_` and `-`, such as debian")
}

/// Returns the key's type and its base64, without the comment.
pub(crate) fn host_key(text: &str) -> Result<String, Flaw> {
    let mut words = text.split_whitespace();
    let (kind, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let known = matches!(
        kind,
        "ssh-ed25519" | "ecdsa-sha2-nistp256" | "ecdsa-sha2-nistp384" | "ecdsa-sha2-nistp521" | "ssh-rsa"
    );
    let body = key.trim_end_matches('=').bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    let remedy =
        "write a line of the machine's /etc/ssh/ssh_host_ed25519_key.pub, or of `ssh-keyscan` without the name";
    verdict(
        known && body && key.starts_with("AAAA") && !text.contains(char::is_control),
        text,
        "an SSH host key",
        remedy,
    )?;
    Ok(format!("{kind} {key}"))
}

fn sysctl(text: &str) -> Result<(), Flaw> {
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b'-'));
    let parts = text.split(['.', '/']).all(|part| !part.is_empty());
    verdict(
        body && parts,
        text,
        "the name of a kernel parameter",
        "write it as `sysctl` prints it, such as vm.swappiness",
    )
}

fn module(text: &str) -> Result<(), Flaw> {
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    verdict(
        !text.is_empty() && body,
        text,
        "the name of a kernel module",
        "write it as `lsmod` prints it, such as ip_vs",
    )
}
