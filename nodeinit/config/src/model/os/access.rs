//! Who can log in: users, their SSH keys, and options of sshd. Refuses what would lock nodeinit out.

use super::super::{
    declare::{
        Dict, Machines, Verdict, keys,
        place::{Place, refuse_twice},
    },
    texts::{Argument, AuthorizedKey, SshdOption, User},
};
use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
};

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

/// The users with which the leading master logs in to these machines; none on a worker, whose configuration does not name them.
fn logins(place: &Place<'_, impl super::super::declare::Form>, of: Machines) -> BTreeSet<String> {
    let all = place.all();
    let (masters, workers) = (all.masters().items(), all.workers().items());
    if masters.is_empty() {
        return BTreeSet::new();
    }
    let (jump, bastion) = (all.ssh().jump_host(), all.bastion());
    let has_own_user = of == Machines::Bastion && jump.user().written().is_some();
    let own = masters.iter().chain(&workers).filter_map(|machine| machine.ssh().user().value());
    let own = own.chain(all.ssh().user().value()).filter(|_| !has_own_user);
    // The jump host may be a machine that nodeinit does not set up.
    let differs = jump.address().value().zip(bastion.address().value()).is_some_and(|(jump, bastion)| jump != bastion);
    let is_bastion = bastion.written().is_some() && !differs;
    own.chain(jump.user().value().filter(|_| is_bastion && of != Machines::Nodes)).collect()
}

/// Users of the system without which nobody can log in.
const SYSTEM: [&str; 5] = ["root", "sshd", "messagebus", "systemd-network", "systemd-resolve"];

pub(super) fn users(place: &Place<'_, Vec<OsUser>>, verdict: &mut Verdict<'_>) {
    let mut names = HashMap::new();
    let logins = logins(place, verdict.machines);
    for user in place.items() {
        let name = user.name();
        refuse_twice(&mut names, &name, &mut verdict.errors);
        let removed = user.remove();
        if removed.value() == Some(true) {
            let name = name.value().unwrap_or_default();
            if SYSTEM.contains(&name.as_str()) || logins.contains(&name) {
                let what = format!("the machine needs the user {name} for logins");
                removed.report(
                    &mut verdict.errors,
                    what,
                    "remove another user, or change `ssh.user` or `ssh.jumpHost.user` first",
                );
            }
        }
    }
}

/// Options that nodeinit does not set: some end the part of the file that applies to everyone, others move the server.
const NOT_HERE: [&str; 8] =
    ["match", "include", "port", "listenaddress", "addressfamily", "hostkey", "revokedkeys", "authorizedkeysfile"];

/// What nodeinit's SSH client knows of each list of algorithms (`nodeinit/ssh/src/algorithms.rs`).
const ALGORITHMS: [(&str, &[&str]); 5] = [
    ("kexalgorithms", &["mlkem768x25519-sha256", "curve25519-sha256", "ecdh-sha2-nistp256"]),
    ("ciphers", &["aes256-gcm@openssh.com", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"]),
    ("pubkeyacceptedalgorithms", &["ssh-ed25519", "ecdsa-sha2-nistp256"]),
    ("pubkeyacceptedkeytypes", &["ssh-ed25519", "ecdsa-sha2-nistp256"]),
    ("hostkeyalgorithms", &["ssh-ed25519", "ecdsa-sha2-nistp256"]),
];

pub(super) fn sshd(place: &Place<'_, Dict<SshdOption, Argument>>, verdict: &mut Verdict<'_>) {
    let (users, all) = (logins(place, verdict.machines), place.all());
    let leads = !users.is_empty() && all.masters().items().len() + all.workers().items().len() > 1;
    // Through a jump host, the leading master opens forwarded ports in the other direction.
    let jumps = all.bastion().written().is_some() || all.ssh().jump_host().address().written().is_some();
    for entry in place.entries() {
        // sshd also accepts quotes and an equals sign.
        let value = entry.node.scalar().unwrap_or_default().to_lowercase().replace(['"', '='], " ");
        let words: Vec<&str> = value.split_whitespace().collect();
        let is = |all: &[&str]| words.first().is_some_and(|word| all.contains(word));
        let denies = |user: &String| {
            words.iter().any(|word| word.contains(['*', '?', '!']) || word.split('@').next() == Some(user.as_str()))
        };
        let key = entry.key.to_lowercase();
        let lacks = |known: &[&str]| match value.trim().chars().next() {
            Some('+' | '^') => false,
            Some('-') => value.contains(['*', '?']),
            _ => !value.split([',', ' ']).any(|word| known.contains(&word)),
        };
        let locks_out = match key.as_str() {
            "pubkeyauthentication" | "dsaauthentication" | "usepam" => is(&["no"]),
            "permitrootlogin" => users.contains("root") && is(&["no", "forced-commands-only"]),
            "authenticationmethods" => !words.iter().any(|word| ["any", "publickey"].contains(word)),
            "allowusers" => users.iter().any(|user| !words.contains(&user.as_str())),
            "denyusers" => users.iter().any(denies),
            "allowgroups" | "denygroups" | "forcecommand" | "chrootdirectory" => true,
            "maxsessions" | "maxauthtries" => is(&["0"]),
            // 0 is no limit; a login over a slow network takes seconds.
            "logingracetime" => {
                value.trim().trim_end_matches('s').parse().is_ok_and(|seconds| (1..10).contains(&seconds))
            }
            key => ALGORITHMS.iter().any(|(option, known)| *option == key && lacks(known)),
        };
        let forbids_forwarding = match key.as_str() {
            "allowtcpforwarding" => leads && (is(&["no", "local"]) || jumps && is(&["remote"])),
            "disableforwarding" => leads && is(&["yes"]),
            // The leading master listens on any free port of the machine.
            "permitlisten" => leads && !words.iter().any(|word| ["any", "*", "*:*", "127.0.0.1:*"].contains(word)),
            "permitopen" => leads && jumps && is(&["none"]),
            _ => false,
        };
        let names = users.iter().map(String::as_str).collect::<Vec<_>>().join(" and ");
        let name = if names.is_empty() { "the user of `ssh.user`" } else { &names };
        let option = place.value_of(&entry.key);
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
                "the leading master reaches the other machines through forwarded ports".into(),
                match key.as_str() {
                    "allowtcpforwarding" if !jumps => "remove it, or write `AllowTcpForwarding: remote`",
                    "permitlisten" => "remove it, or add 127.0.0.1:*",
                    _ => "remove it",
                }
                .into(),
            ),
            () => continue,
        };
        option.report(&mut verdict.errors, what, remedy);
    }
}
