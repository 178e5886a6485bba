//! Packages of the distribution: updates, once, and further packages.

use super::{
    item::Item,
    want::{Run, Want},
};
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::Files,
    os::{PackageManager, distribution},
};
use nodeinit_config::cluster::Updates;
use std::{collections::BTreeSet, path::Path, time::Duration};

/// Limits for the lists of packages and for updates, with the wait for the lock.
const REFRESH_LIMIT: Duration = Duration::from_secs(600);
const UPDATE_LIMIT: Duration = Duration::from_secs(3600);

pub(super) const UPDATES: Item = Item { name: "os-updates", title: "install updates", wants: updates };
pub(super) const PACKAGES: Item = Item { name: "os-packages", title: "install packages", wants: packages };

fn manager(cx: &Context) -> Result<&'static PackageManager, StepError> {
    let none = || StepError::new("os.packages: this distribution has no package manager").hint("remove `os.packages`");
    distribution(&cx.files)?.packages.as_ref().ok_or_else(none)
}

fn run(cx: &Context, manager: &'static PackageManager, argv: &[&str], limit: Duration) -> Result<Want, StepError> {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let mirrors: Vec<String> = mirrors(&cx.files, manager.sources)?.into_iter().collect();
    let hint = format!(
        "check that {} reaches its mirrors ({}), then run the same command again",
        manager.program,
        mirrors.join(", ")
    );
    Ok(Want::Run(Run { argv, on_undo: false, limit, hint, manager: Some(manager), of: None }))
}

fn updates(cx: &Context) -> Result<Vec<Want>, StepError> {
    let wanted = cx.cluster.os.packages.updates;
    if wanted == Updates::None {
        return Ok(Vec::new());
    }
    let manager = manager(cx)?;
    let command = if wanted == Updates::All { manager.update } else { manager.update_security };
    Ok(vec![run(cx, manager, manager.refresh, REFRESH_LIMIT)?, run(cx, manager, command, UPDATE_LIMIT)?])
}

fn packages(cx: &Context) -> Result<Vec<Want>, StepError> {
    let names = &cx.cluster.os.packages.install;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let manager = manager(cx)?;
    let mut wants = vec![run(cx, manager, manager.refresh, REFRESH_LIMIT)?];
    wants.extend(names.iter().map(|name| Want::set(format!("package {name}"), "installed")));
    Ok(wants)
}

/// Returns a URL without a user name and a password.
fn without_login(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{scheme}://{}{path}", authority.rsplit('@').next().unwrap_or_default())
}

/// Returns the URLs of the mirrors in the configuration of a package manager.
fn mirrors(files: &Files, sources: &[&str]) -> Result<BTreeSet<String>, StepError> {
    let mut all = BTreeSet::new();
    for source in sources.iter().map(Path::new) {
        let mut paths = vec![source.to_path_buf()];
        if !files.is_file(source) {
            paths = files.list(source)?.into_iter().map(|name| source.join(name)).collect();
        }
        for path in paths {
            let text = files.read_text(&path)?.unwrap_or_default();
            let words = text
                .lines()
                .filter(|line| !line.trim_start().starts_with('#'))
                .flat_map(|line| line.split(['=', ' ', '\t', ',']));
            all.extend(
                words.filter(|word| word.starts_with("http://") || word.starts_with("https://")).map(without_login),
            );
        }
    }
    Ok(all)
}
