//! Who can log in: users, their SSH keys, and options of sshd. Refuses what would lock nodeinit out.

use super::super::{
    declare::{
        Dict, Verdict, keys,
        place::{Place, refuse_twice},
    },
    texts::{Argument, AuthorizedKey, SshdOption, User},
};
use std::{collections::HashMap, path::PathBuf};

keys! {
    /// A user of the machine.
    pub struct OsUser {
        /// The login name.
        "name" name: String as User = required, to all;
        /// SSH keys that can log in. Other keys of the user stay.
        "keys" keys: Vec<String> as Vec<AuthorizedKey>, else "none", example "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo]", to all;
        /// Groups that the user joins.
        "groups" groups: Vec<String> as Vec<User>, else "none", example "[adm]", to all;
        /// Whether the user can run every command as root without a password.
        "sudo" sudo: bool, else "`false`" (|_| Some(false)), example "true", to all;
        /// The login shell.
        "shell" shell: Option<PathBuf>, else "the default of the machine", example "/bin/bash", to all;
        /// Whether to remove the user. The home directory stays.
        "remove" remove: bool, else "`false`" (|_| Some(false)), example "true", to all;
    }
}

/// The user with which the leading master logs in; `None` on a worker, whose configuration does not name it.
fn login(place: &Place<'_, impl super::super::declare::Form>) -> Option<String> {
    let all = place.all();
    (!all.masters().items().is_empty()).then(|| all.ssh().user().value())?
}

pub(super) fn users(place: &Place<'_, Vec<OsUser>>, verdict: &mut Verdict<'_>) {
    let mut names = HashMap::new();
    let login = login(place);
    for user in place.items() {
        let name = user.name();
        refuse_twice(&mut names, &name, &mut verdict.errors);
        let removed = user.remove();
        if removed.value() == Some(true) {
            let name = name.value().unwrap_or_default();
            if name == "root" || login.as_ref() == Some(&name) {
                let what = format!("nodeinit needs the user {name}");
                removed.report(&mut verdict.errors, what, "remove another user, or change `ssh.user` first");
            }
        }
    }
}

/// Options that nodeinit does not set: some end the part of the file that applies to everyone, others move the server.
const NOT_HERE: [&str; 5] = ["match", "include", "port", "listenaddress", "hostkey"];

/// What nodeinit's SSH client knows of each list of algorithms (`nodeinit/ssh/src/algorithms.rs`).
const ALGORITHMS: [(&str, &[&str]); 4] = [
    ("kexalgorithms", &["mlkem768x25519-sha256", "curve25519-sha256", "ecdh-sha2-nistp256"]),
    ("ciphers", &["aes256-gcm@openssh.com", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"]),
    ("pubkeyacceptedalgorithms", &["ssh-ed25519", "ecdsa-sha2-nistp256"]),
    ("hostkeyalgorithms", &["ssh-ed25519", "ecdsa-sha2-nistp256"]),
];

pub(super) fn sshd(place: &Place<'_, Dict<SshdOption, Argument>>, verdict: &mut Verdict<'_>) {
    let (login, all) = (login(place), place.all());
    let user = login.as_deref();
    let leads = user.is_some() && all.masters().items().len() + all.workers().items().len() > 1;
    for entry in place.entries() {
        // sshd also accepts quotes and an equals sign.
        let value = entry.node.scalar().unwrap_or_default().to_lowercase().replace(['"', '='], " ");
        let words: Vec<&str> = value.split_whitespace().collect();
        let is = |all: &[&str]| words.first().is_some_and(|word| all.contains(word));
        let denies = |user: &str| {
            words.iter().any(|word| word.contains(['*', '?', '!']) || word.split('@').next() == Some(user))
        };
        let key = entry.key.to_lowercase();
        let lacks = |known: &[&str]| {
            !value.trim().starts_with(['+', '^', '-']) && !value.split([',', ' ']).any(|word| known.contains(&word))
        };
        let locks_out = match key.as_str() {
            "pubkeyauthentication" => is(&["no"]),
            "permitrootlogin" => user == Some("root") && is(&["no", "forced-commands-only"]),
            "authenticationmethods" => !words.iter().any(|word| ["any", "publickey"].contains(word)),
            "authorizedkeysfile" => {
                !words.iter().any(|word| [".ssh/authorized_keys", "%h/.ssh/authorized_keys"].contains(word))
            }
            "allowusers" => user.is_some_and(|user| !words.contains(&user)),
            "denyusers" => user.is_some_and(denies),
            "allowgroups" | "denygroups" | "forcecommand" | "chrootdirectory" => true,
            "maxsessions" => is(&["0"]),
            key => ALGORITHMS.iter().any(|(option, known)| *option == key && lacks(known)),
        };
        let forbids_forwarding = match key.as_str() {
            "allowtcpforwarding" => leads && is(&["no", "local"]),
            "disableforwarding" => leads && is(&["yes"]),
            _ => false,
        };
        let (name, option) = (user.unwrap_or("the user of `ssh.user`"), place.value_of(&entry.key));
        let (what, remedy) = match () {
            () if NOT_HERE.contains(&key.as_str()) => (
                format!("nodeinit does not set {}", entry.key),
                "edit /etc/ssh/sshd_config on the machine instead".into(),
            ),
            () if locks_out => (
                format!("locks nodeinit out: the leading master logs in as {name} with a key"),
                format!("remove it, or choose a value that allows {name} to log in with a key"),
            ),
            () if forbids_forwarding => (
                "the other machines get programs and images from the leading master through a forwarded port".into(),
                "remove it, or write `AllowTcpForwarding: remote`".into(),
            ),
            () => continue,
        };
        option.report(&mut verdict.errors, what, remedy);
    }
}
