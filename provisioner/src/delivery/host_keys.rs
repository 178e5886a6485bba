//! Machines' SSH host keys. The console shows them once; from then on they are pinned in the operator's file and in the
//! metadata of each server, signed with the bundle.

use super::Delivery;
use crate::{
    error::Error,
    machine,
    openstack::{Method, Service},
    output::write_private,
    resources::{Found, Kind, Part},
    secrets::Secrets,
};
use futures_util::future::join_all;
use nodeinit_base::Backoff;
use nodeinit_protocol::Exit;
use serde_json::json;
use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::Path,
    time::{Duration, Instant},
};

/// The item of a server's metadata that holds its host key.
const ITEM: &str = "nodeinit-host-key";
/// The longest value of such an item. Source: Nova's API reference, "Server metadata".
const ITEM_MAX: usize = 255;
/// The shortest and the longest pause between two looks at a console.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// Host keys by machine, each `type base64`.
pub(super) type HostKeys = BTreeMap<String, Vec<String>>;

/// The host keys of these machines: those of the configuration or the bundle, else the pinned ones, else those that the
/// console shows, which are then pinned in the operator's file. A machine whose key is unknown is left out, with a note.
///
/// # Errors
/// A machine of `needed` whose key is unknown.
pub(super) async fn host_keys(work: &Delivery<'_>, names: &[&str], needed: &[&str]) -> Result<HostKeys, Error> {
    let mut all: HostKeys = names.iter().filter_map(|name| Some(((*name).to_owned(), given(work, name)?))).collect();
    let text = text(&work.known_hosts)?;
    let file = read(&text);
    let servers = names.iter().filter(|name| !all.contains_key(**name)).filter_map(|name| server(work, name));
    let each = servers.map(async |server| match file.get(&server.id).cloned().or_else(|| in_metadata(work, server)) {
        Some(keys) => (server, Ok(keys)),
        None => {
            if server.body["metadata"][ITEM].is_string() {
                work.tell(&format!(
                    "the host key in the metadata of {} is ignored: this bundle did not sign it",
                    server.part
                ));
            }
            (server, on_console(work, server).await)
        }
    });
    let mut pinned = Vec::new();
    for (server, keys) in join_all(each).await {
        match keys {
            Ok(keys) => pinned.push((server, keys)),
            Err(error) if needed.contains(&server.part.name.as_str()) => {
                write_private(&work.known_hosts, &merged(&text, &pinned))?;
                return Err(error);
            }
            Err(error) => work.tell(&error.to_string()),
        }
    }
    write_private(&work.known_hosts, &merged(&text, &pinned))?;
    all.extend(pinned.into_iter().map(|(server, keys)| (server.part.name.clone(), keys)));
    Ok(all)
}

/// Replaces the pinned keys of one machine, which shows another key, if its server's metadata or its console has another
/// key, too. Otherwise they stay.
pub(super) async fn renew(work: &Delivery<'_>, name: &str) -> Option<Vec<String>> {
    let server = server(work, name).filter(|_| given(work, name).is_none())?;
    let text = std::fs::read_to_string(&work.known_hosts).ok()?;
    let old = read(&text).remove(&server.id)?;
    let is_new = |keys: &Vec<String>| !keys.is_empty() && !keys.iter().all(|key| old.contains(key));
    let (keys, whence) = match in_metadata(work, server).filter(is_new) {
        Some(keys) => (keys, "the metadata of its server has"),
        None => {
            let log = machine::console(work.client, server).await.ok()?;
            (Some(machine::host_keys(&log)).filter(is_new)?, "its console shows")
        }
    };
    work.tell(&format!(
        "the host key of {name} differs from the pinned one; {whence} a new host key, which replaces the pinned one"
    ));
    write_private(&work.known_hosts, &merged(&text, &[(server, keys.clone())])).ok()?;
    Some(keys)
}

/// Pins these host keys in the metadata of their servers, where they are not there yet.
pub(super) async fn keep(work: &Delivery<'_>, host_keys: &HostKeys) {
    let each = host_keys.iter().filter(|(name, _)| given(work, name).is_none()).filter_map(|(name, keys)| {
        let server = server(work, name).filter(|server| server.state() == "ACTIVE")?;
        let is_there = in_metadata(work, server).is_some_and(|there| there.iter().all(|key| keys.contains(key)));
        Some((server, portable(work.secrets, server, keys).filter(|_| !is_there)?))
    });
    let writes = each.map(async |(server, value)| {
        let body = json!({ "metadata": { ITEM: value } });
        let path = format!("/servers/{}/metadata", server.id);
        if let Err(error) = work.client.send(Method::POST, Service::Compute, &path, Some(&body)).await {
            let file = work.known_hosts.display();
            work.tell(&format!(
                "the host key of {} was saved only in {file}, not in the metadata of its server: {error}",
                server.part.name
            ));
        }
    });
    join_all(writes).await;
}

fn server<'w>(work: &'w Delivery<'_>, name: &str) -> Option<&'w Found> {
    let part = Part::new(Kind::Server, name);
    work.found.iter().find(|found| found.part == part)
}

/// The keys that the operator has written down.
fn given(work: &Delivery<'_>, name: &str) -> Option<Vec<String>> {
    let cluster = &work.loaded.cluster;
    let machine = cluster.masters.iter().chain(&cluster.workers).find(|machine| machine.name == name);
    let configured = machine.map(|machine| machine.host_keys.clone());
    [configured, Some(work.secrets.host_keys(name))].into_iter().flatten().find(|keys| !keys.is_empty())
}

/// The key in a server's metadata, if a provisioner with this bundle wrote it for this server.
fn in_metadata(work: &Delivery<'_>, server: &Found) -> Option<Vec<String>> {
    let value = server.body["metadata"][ITEM].as_str()?;
    Some(vec![work.secrets.verified_host_key(&server.id, value)?])
}

/// The signed key that goes into a server's metadata; RSA keys are too long for it.
fn portable(secrets: &Secrets, server: &Found, keys: &[String]) -> Option<String> {
    let signed = keys.iter().map(|key| secrets.signed_host_key(&server.id, key));
    signed.min_by_key(String::len).filter(|value| value.len() <= ITEM_MAX)
}

/// The keys that a server's console shows, as soon as it shows them.
async fn on_console(work: &Delivery<'_>, server: &Found) -> Result<Vec<String>, Error> {
    let name = &server.part.name;
    let unknown = |what: String| Error::HostKey { machine: name.clone(), what, exit: Exit::TryAgain };
    if server.state() != "ACTIVE" {
        return Err(unknown(format!("no host key of {name} is known, and its server is {}", server.state())));
    }
    work.output.begin(name, "boots and shows its SSH host keys on its console");
    let keys = shown_keys(work, server).await.map_err(|why| unknown(format!("no host key of {name} is known: {why}")));
    work.output.end(name);
    keys
}

/// Looks at a server's console until it shows keys. `Err`: why there are none.
async fn shown_keys(work: &Delivery<'_>, server: &Found) -> Result<Vec<String>, String> {
    let (begun, limit) = (Instant::now(), work.patience);
    let mut backoff = Backoff::new(PAUSES.0, PAUSES.0).within(limit);
    loop {
        let log = machine::console(work.client, server).await.map_err(|error| error.to_string())?;
        let keys = machine::host_keys(&log);
        if !keys.is_empty() {
            return Ok(keys);
        }
        backoff.grow_to(pause(begun.elapsed()));
        if !backoff.pause().await {
            let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("an empty console");
            return Err(format!(
                "its console showed no host key within {} s; the last console line is: {last}",
                limit.as_secs()
            ));
        }
    }
}

/// How long until the next look: in proportion to the time waited so far.
fn pause(waited: Duration) -> Duration {
    (waited / 8).clamp(PAUSES.0, PAUSES.1)
}

/// The operator's file, which is written again with more keys.
fn text(path: &Path) -> Result<String, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(Error::Refused {
            what: format!("cannot read the machines' pinned host keys in {}: {e}", path.display()),
            remedy: "make it readable, or restore it from a backup".to_owned(),
        }),
    }
}

/// The operator's file, by the server's id: as OpenSSH's known_hosts, with the id as the comment.
fn read(text: &str) -> HostKeys {
    let mut all = HostKeys::new();
    for line in text.lines() {
        if let [_, kind, key, id] = line.split_whitespace().collect::<Vec<_>>()[..] {
            all.entry(id.to_owned()).or_default().push(format!("{kind} {key}"));
        }
    }
    all
}

/// The operator's file with these keys in the place of those of the same machines; other lines stay.
fn merged(text: &str, pinned: &[(&Found, Vec<String>)]) -> String {
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let is_pinned = |line: &&str| pinned.iter().any(|(server, _)| server.part.name == name(line));
    let others = text.lines().filter(|line| !is_pinned(line)).map(|line| format!("{line}\n"));
    let line = |server: &Found, key: &String| format!("{} {key} {}\n", server.part.name, server.id);
    let own = pinned.iter().flat_map(|(server, keys)| keys.iter().map(move |key| line(server, key)));
    others.chain(own).collect()
}

#[cfg(test)]
mod tests;
