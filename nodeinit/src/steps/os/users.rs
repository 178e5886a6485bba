//! Users, their keys and groups, and root's password.

use super::{accounts, item::Item, want::Want};
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
            wants.extend(account(cx, user)?);
        }
    }
    wants.extend(cx.cluster.os.root_password_hash.as_ref().map(|hash| Want::set("password root", hash)));
    Ok(wants)
}

fn account(cx: &Context, user: &OsUser) -> Result<Vec<Want>, StepError> {
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
        let home = accounts::account(&cx.files, name)?.map_or_else(|| format!("/home/{name}"), |account| account.home);
        let directory = Path::new(&home).join(".ssh");
        let file = directory.join("authorized_keys");
        // A user could lead root to a file of somebody else.
        if let Some(link) = [&directory, &file].into_iter().find(|path| cx.files.link_target(path).is_some()) {
            let what = format!("os.users: {} is a symbolic link", link.display());
            return Err(StepError::new(what).hint(format!("replace it with a file or a directory of {name}")));
        }
        let keys: String = user.keys.iter().map(|key| format!("{key}\n")).collect();
        let owner = accounts::complete(&cx.files, name)?;
        wants.push(Want::set(format!("section {}", file.display()), keys));
        wants.extend([directory, file].map(|path| Want::set(format!("owner {}", path.display()), &owner)));
    }
    Ok(wants)
}
