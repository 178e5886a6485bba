//! Rules over several values of the merged tree. A value that was reported already is left out of them.

use crate::{
    node::Node,
    problem::{Findings, Mark},
    releases::Releases,
};
use std::collections::{HashMap, hash_map::Entry};

pub(crate) mod artifacts;
mod machines;
mod network;
mod openstack;
mod release;

/// Where the checks put what they find.
pub(crate) struct Verdict {
    pub(crate) errors: Findings,
    pub(crate) warnings: Findings,
}

/// Checks the merged tree. `first`: the first layer that is not empty, else the first; `None` for the defaults alone.
pub(crate) fn check(tree: &Node, first: Option<usize>, releases: &Releases, verdict: &mut Verdict) {
    if let Some(layer) = first {
        header(tree, layer, &mut verdict.errors);
    }
    release::check(tree, releases, verdict);
    network::check(tree, &mut verdict.errors);
    machines::check(tree, verdict);
    artifacts::check(tree, &mut verdict.errors);
    host(tree, verdict);
    container_runtime(tree, &mut verdict.errors);
    openstack::check(tree, verdict);
}

/// A file of another format must not be taken for one of ours, so that one of the layers has to say what they are.
fn header(tree: &Node, layer: usize, errors: &mut Findings) {
    let first = Mark { layer, line: 1, column: 1 };
    for (key, value) in [("apiVersion", crate::keys::API_VERSION), ("kind", crate::keys::KIND)] {
        if tree.get(key).is_none() {
            errors.add(first, key, "missing", format!("begin the file with `{key}: {value}`"));
        }
    }
}

fn host(tree: &Node, verdict: &mut Verdict) {
    let text = |path: &str| tree.read(path, |t| Ok(t.to_owned()));
    if let Some((directory, at)) = text("etcd.dataDirectory")
        && directory.split('/').filter(|part| !part.is_empty()).count() < 2
    {
        let what = format!("{directory:?} is no directory of etcd's own");
        verdict.errors.add(at, "etcd.dataDirectory", what, "write one such as /var/lib/etcd");
    }
    let health = ["http://127.0.0.1:2381", "http://0.0.0.0:2381", "http://[::]:2381", "http://:2381"];
    if let Some((urls, at)) = text("etcd.extraArgs.listen-metrics-urls")
        && !urls.split(',').any(|url| health.contains(&url.trim_end_matches('/')))
    {
        let what = "nodeinit asks for etcd's health at 127.0.0.1:2381, where etcd would not listen";
        let remedy = format!("write {urls},http://127.0.0.1:2381");
        verdict.errors.add(at, "etcd.extraArgs.listen-metrics-urls", what, remedy);
    }
    if let Some((swap, at)) = text("os.swap")
        && swap == "keep"
        && tree.get("kubelet.config.failSwapOn").is_none_or(|n| n.json() != serde_json::Value::Bool(false))
    {
        let what = "the kubelet refuses to start where swap is on";
        verdict.errors.add(at, "os.swap", what, "set `failSwapOn: false` in `kubelet.config` too");
    }
    if let Some((delivery, at)) = text("secretsDelivery")
        && delivery == "user-data"
    {
        let what =
            "every process on a machine, and every user of the cloud who can read its user-data, can read its secrets";
        verdict.warnings.add(at, "secretsDelivery", what, "leave it at `ssh` unless no machine can be reached by SSH");
    }
}

fn container_runtime(tree: &Node, errors: &mut Findings) {
    let mut registries = HashMap::new();
    for (path, mirrors) in listed(tree, "images.mirrors") {
        refuse_twice(&mut registries, format!("{path}.registry"), mirrors.get("registry"), errors);
    }
    if tree.get("containerRuntime.manage").is_none_or(|node| node.json() != serde_json::Value::Bool(false)) {
        return;
    }
    let settings = ["images.mirrors", "containerRuntime.proxy.http", "containerRuntime.proxy.https"];
    for (path, node) in settings.into_iter().filter_map(|path| Some((path, tree.get(path)?))) {
        if !node.items().is_empty() || node.scalar().is_some() {
            let what =
                "nodeinit does not write this into containerd's configuration where containerRuntime.manage is false";
            errors.add(node.at, path, what, "set containerRuntime.manage to true, or configure containerd yourself");
        }
    }
}

/// The machines of a list, each with its path.
fn listed<'t>(tree: &'t Node, list: &str) -> Vec<(String, &'t Node)> {
    let items = tree.get(list).map_or(&[][..], Node::items);
    items.iter().enumerate().map(|(index, item)| (format!("{list}[{index}]"), item)).collect()
}

/// Two entries of a list that must differ do not.
fn refuse_twice<'t>(seen: &mut HashMap<&'t str, String>, path: String, node: Option<&'t Node>, errors: &mut Findings) {
    let Some((value, at)) = node.and_then(|n| n.scalar().map(|text| (text, n.at))) else { return };
    match seen.entry(value) {
        Entry::Occupied(first) => {
            errors.add(at, &path, format!("{value} is already set in {}", first.get()), "give each its own");
        }
        Entry::Vacant(free) => drop(free.insert(path)),
    }
}
