//! Files and units that the user adds.

use super::super::{
    Document,
    declare::{
        Verdict, keys,
        place::{Place, refuse_twice},
    },
    format::template,
    texts::{AnyText, FileMode, FileSource, Owner, UnitName},
};
use crate::problem::Mark;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

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
const RESERVED: [(&str, &str); 20] = [
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
    ("/etc/systemd/system/kubelet.service", "`kubelet.config`"),
    ("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf", "another file in the directory"),
    ("/usr/bin/kubelet", "`artifacts`"),
];

/// Directories in which nodeinit writes files with `nodeinit` in their names.
const OWN: [&str; 11] = [
    "/etc/apt/apt.conf.d",
    "/etc/cloud",
    "/etc/dnsmasq.d",
    "/etc/chrony",
    "/etc/logrotate.d",
    "/etc/modules-load.d",
    "/etc/NetworkManager",
    "/etc/profile.d",
    "/etc/security",
    "/etc/sysctl.d",
    "/etc/systemd",
];

/// Returns what to use instead of a file that another program or another step of nodeinit writes.
fn instead(path: &Path, all: &Place<'_, Document>) -> Option<String> {
    if let Some((_, key)) = RESERVED.iter().find(|(start, _)| path.starts_with(start)) {
        return Some(format!("use {key}"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_of_ssh = path.parent().and_then(Path::file_name).is_some_and(|directory| directory == ".ssh");
    if is_of_ssh && ["authorized_keys", "authorized_keys2", "rc"].contains(&&*name) {
        return Some("use `os.users[].keys`".into());
    }
    if name.contains("nodeinit") && OWN.iter().any(|directory| path.starts_with(directory)) {
        return Some("use a name without `nodeinit`".into());
    }
    let is_managed = all.container_runtime().manage().value() != Some(false);
    if is_managed && path == Path::new("/etc/containerd/config.toml") {
        return Some("use `containerRuntime` and `images`, or write `containerRuntime.manage: false` as well".into());
    }
    let os = all.os();
    let of_keys: [(Place<'_, ()>, &[&str]); 6] = [
        (os.messages().issue().cast(), &["/etc/issue"]),
        (os.messages().motd().cast(), &["/etc/motd"]),
        (os.time_servers().cast(), &["/etc/chrony.conf", "/etc/chrony/chrony.conf"]),
        (os.locale().cast(), &["/etc/default/locale", "/etc/locale.conf"]),
        (os.timezone().cast(), &["/etc/timezone", "/etc/localtime"]),
        (os.keymap().cast(), &["/etc/vconsole.conf", "/etc/default/keyboard"]),
    ];
    let has_no_servers = os.time_servers().items().is_empty();
    let is_set = |place: &Place<'_, ()>| {
        place.at() != Mark::DEFAULT && !(has_no_servers && place.path == os.time_servers().path)
    };
    let set = of_keys.iter().find(|(key, files)| is_set(key) && files.iter().any(|file| path == Path::new(file)));
    let binaries = all.artifacts().binaries();
    let is_program = || binaries.items().iter().any(|binary| binary.to().value().as_deref() == Some(path));
    let key = set.map(|(key, _)| key.path.clone()).or_else(|| is_program().then(|| binaries.path.clone()))?;
    Some(format!("use `{key}` only"))
}

pub(super) fn files(place: &Place<'_, Vec<OsFile>>, verdict: &mut Verdict<'_>) {
    let (mut paths, errors) = (HashMap::new(), &mut verdict.errors);
    for file in place.items() {
        let (content, source, sha256) = (file.content(), file.source(), file.sha256());
        refuse_twice(&mut paths, &file.path(), errors);
        if let Some(remedy) = file.path().value().and_then(|path| instead(&path, &place.all())) {
            file.path().report(errors, "other programs, or nodeinit itself, write this file", remedy);
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
