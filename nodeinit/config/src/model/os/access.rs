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
const NOT_HERE: [&str; 4] = ["match", "include", "port", "listenaddress"];

pub(super) fn sshd(place: &Place<'_, Dict<SshdOption, Argument>>, verdict: &mut Verdict<'_>) {
    let login = login(place);
    let user = login.as_deref();
    for entry in place.entries() {
        let (key, value) = (entry.key.to_lowercase(), entry.node.scalar().unwrap_or_default().to_lowercase());
        let option = place.value_of(&entry.key);
        let names = |user: &str| value.split_whitespace().any(|word| word.split('@').next() == Some(user));
        let locks_out = match key.as_str() {
            "pubkeyauthentication" => value == "no",
            "permitrootlogin" => user == Some("root") && matches!(value.as_str(), "no" | "forced-commands-only"),
            "authenticationmethods" => value != "any" && !value.split_whitespace().any(|method| method == "publickey"),
            "authorizedkeysfile" => !value.contains(".ssh/authorized_keys"),
            "allowusers" => user.is_some_and(|user| !names(user)),
            "denyusers" => user.is_some_and(names),
            "allowgroups" | "denygroups" | "forcecommand" | "chrootdirectory" => true,
            _ => false,
        };
        if NOT_HERE.contains(&key.as_str()) {
            option.report(
                &mut verdict.errors,
                format!("nodeinit does not set {}", entry.key),
                "edit /etc/ssh/sshd_config on the machine instead",
            );
        } else if locks_out {
            let user = user.unwrap_or("the user of `ssh.user`");
            let what = format!("locks nodeinit out: the leading master logs in as {user} with a key");
            option.report(
                &mut verdict.errors,
                what,
                format!("remove it, or choose a value that allows {user} to log in with a key"),
            );
        }
    }
}
