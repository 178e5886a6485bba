//! Files and units that the user adds.

use super::super::{
    declare::{
        Verdict, keys,
        place::{Place, refuse_twice},
    },
    format::template,
    texts::{AnyText, FileMode, FileSource, Owner, UnitName},
};
use std::{collections::HashMap, path::PathBuf};

keys! {
    /// A file on the machine.
    pub struct OsFile {
        /// Where it is.
        "path" path: PathBuf = required, to all;
        /// Its content.
        "content" content: Option<String> as Option<AnyText>, else "none", example "hello", to all;
        /// Whether `${name}`, `${fullName}`, `${address}`, `${role}` and `${cluster}` in `content` are replaced.
        "template" template: bool, else "`false`" (|_| Some(false)), example "true", to all;
        /// Where its content comes from: a file of the machine, or a URL.
        "source" source: Option<String> as Option<FileSource>, else "none", example "\"https://files.example.org/agent.conf\"", to all;
        /// The SHA-256 of its content. Required for a source.
        "sha256" sha256: Option<[u8; 32]>, else "none", example "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", to all;
        /// Its mode.
        "mode" mode: u32 as FileMode, else "`0644`" (|_| Some(0o644)), example "0600", to all;
        /// Its owner: a user, or a user and a group.
        "owner" owner: Option<String> as Option<Owner>, else "`root`", example "\"daemon:adm\"", to all;
    }
}

/// Files that decide who can log in or what nodeinit knows, and what to use instead.
const RESERVED: [(&str, &str); 17] = [
    ("/etc/sudoers", "`os.users[].sudo`"),
    ("/etc/sudoers.d", "`os.users[].sudo`"),
    ("/etc/ssh", "`os.sshd` and `os.users[].keys`"),
    ("/etc/pam.d", "the tools of the distribution"),
    ("/etc/passwd", "`os.users`"),
    ("/etc/shadow", "`os.users`"),
    ("/etc/group", "`os.users[].groups`"),
    ("/etc/fstab", "`os.disks`"),
    ("/etc/hosts", "`os.hosts`"),
    ("/etc/hostname", "`os.hostName`"),
    ("/etc/resolv.conf", "`os.dns`"),
    ("/etc/nodeinit", "`--config`, or write it yourself"),
    ("/etc/kubernetes", "the keys of the components"),
    ("/var/lib/nodeinit", "another directory"),
    ("/var/lib/kubelet", "`kubelet.config`"),
    ("/var/lib/etcd", "another directory"),
    ("/proc", "`os.sysctls`"),
];

pub(super) fn files(place: &Place<'_, Vec<OsFile>>, verdict: &mut Verdict<'_>) {
    let (mut paths, errors) = (HashMap::new(), &mut verdict.errors);
    for file in place.items() {
        let (content, source, sha256) = (file.content(), file.source(), file.sha256());
        refuse_twice(&mut paths, &file.path(), errors);
        if let Some((_, key)) =
            file.path().value().and_then(|path| RESERVED.iter().find(|(start, _)| path.starts_with(start)))
        {
            file.path().report(errors, "other programs, or nodeinit itself, write this file", format!("use {key}"));
        }
        if content.is_written() == source.is_written() {
            file.report(errors, "needs either `content` or `source`", "write exactly one of them");
        }
        if source.is_written() != sha256.is_written() {
            let what = "`source` and `sha256` need each other";
            file.report(errors, what, "write both, or neither; `sha256sum FILE` prints the digest");
        }
        if file.template().value() == Some(true)
            && let Err(flaw) = template(&content.value().unwrap_or_default())
        {
            content.report(errors, flaw.what, flaw.remedy);
        }
    }
}

keys! {
    /// A systemd unit.
    pub struct OsUnit {
        /// Its name.
        "name" name: String as UnitName = required, to all;
        /// The unit file. Without it, the unit must exist on the machine.
        "content" content: Option<String> as Option<AnyText>, else "that of the machine", example "\"[Service]\\nExecStart=/usr/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n\"", to all;
        /// Whether it is started, now and at each boot.
        "enabled" enabled: bool, else "`true`" (|_| Some(true)), example "false", to all;
    }
}

/// Units without which nobody reaches the machine, and those of nodeinit.
const RESERVED_UNITS: [&str; 13] = [
    "ssh.service",
    "ssh.socket",
    "sshd.service",
    "sshd.socket",
    "dbus.service",
    "networking.service",
    "NetworkManager.service",
    "systemd-networkd.service",
    "systemd-logind.service",
    "kubelet.service",
    "containerd.service",
    "nodeinit.service",
    "nodeinit-agent.service",
];

pub(super) fn units(place: &Place<'_, Vec<OsUnit>>, verdict: &mut Verdict<'_>) {
    let mut names = HashMap::new();
    for unit in place.items() {
        let name = unit.name();
        refuse_twice(&mut names, &name, &mut verdict.errors);
        if name.value().is_some_and(|name| RESERVED_UNITS.contains(&name.as_str())) {
            let what = "the machine, or nodeinit itself, needs this unit as it is";
            name.report(&mut verdict.errors, what, "use another unit; a drop-in in `os.files` can change this one");
        }
    }
}
