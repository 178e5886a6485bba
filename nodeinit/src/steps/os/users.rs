//! Users, their keys and groups, and root's password.

use super::{authorized_keys::KEYS, item::Item, want::Want};
use crate::{context::Context, engine::error::StepError, host::files::NewFile};
use nodeinit_config::cluster::OsUser;
use std::path::Path;

pub(super) const ITEM: Item = Item { name: "os-users", title: "set up users", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let mut wants = Vec::new();
    for user in &cx.cluster.os.users {
        if user.remove {
            wants.push(Want::Set(format!("user {}", user.name), None));
        } else {
            wants.extend(account(user));
        }
    }
    wants.extend(cx.cluster.os.root_password_hash.as_ref().map(|hash| Want::set("password root", hash)));
    Ok(wants)
}

fn account(user: &OsUser) -> Vec<Want> {
    let name = &user.name;
    let mut wants = vec![Want::set(format!("user {name}"), "present")];
    if let Some(shell) = &user.shell {
        wants.push(Want::set(format!("shell {name}"), shell.to_string_lossy()));
    }
    wants.extend(user.groups.iter().map(|group| Want::set(format!("member {group} {name}"), "yes")));
    if user.sudo {
        let rule = format!("# Written by nodeinit.\n{name} ALL=(ALL:ALL) NOPASSWD: ALL\n");
        wants.push(Want::File(NewFile {
            mode: 0o440,
            ..NewFile::public(format!("/etc/sudoers.d/nodeinit-{name}"), rule)
        }));
    }
    if !user.keys.is_empty() {
        let keys: String = user.keys.iter().map(|key| format!("{key}\n")).collect();
        wants.push(Want::file(Path::new(KEYS).join(name), keys));
    }
    wants
}
