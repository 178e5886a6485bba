//! Machines' SSH host keys, as they show them on their console: only the cloud and the machine itself can write there.

use super::Delivery;
use crate::{
    error::Error,
    machine,
    output::write_private,
    resources::{Found, Kind},
};
use futures_util::future::try_join_all;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// How often a console is read.
const LOOK: Duration = Duration::from_secs(1);

/// The host keys of these machines: those that an earlier run has read of the same server, else what its console shows.
///
/// # Errors
/// A console that shows none at the deadline.
pub(super) async fn host_keys(work: &Delivery<'_>, names: &[&str]) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let known = read(&std::fs::read_to_string(&work.known_hosts).unwrap_or_default());
    let servers = || work.found.iter().filter(|found| found.part.kind == Kind::Server);
    let server = |name: &str| servers().find(|server| server.part.name == name);
    let each = names.iter().filter_map(|name| Some((*name, server(name)?))).map(async |(name, server)| {
        match known.get(&server.id) {
            Some(keys) => Ok((name, &server.id, keys.clone())),
            None => {
                work.output.begin(name, "boots until its console shows its SSH host keys");
                let keys = watch(work, name, server).await;
                work.output.end(name);
                keys.map(|keys| (name, &server.id, keys))
            }
        }
    });
    let all = try_join_all(each).await?;
    let others = servers().filter(|server| !names.contains(&server.part.name.as_str()));
    let others =
        others.filter_map(|server| Some((server.part.name.as_str(), &server.id, known.get(&server.id)?.clone())));
    let lines = |(name, id, keys): &(&str, &String, Vec<String>)| -> String {
        keys.iter().map(|key| format!("{name} {key} {id}\n")).collect()
    };
    let text: String = others.collect::<Vec<_>>().iter().chain(&all).map(lines).collect();
    write_private(&work.known_hosts, &text)?;
    Ok(all.into_iter().map(|(name, _, keys)| (name.to_owned(), keys)).collect())
}

/// What was read is not what answers: the next run reads the consoles again.
pub(super) fn forget(work: &Delivery<'_>) {
    let _ = std::fs::remove_file(&work.known_hosts);
}

/// Our own file: as OpenSSH's known_hosts, with the server's id as the comment.
fn read(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        if let [_, kind, key, id] = line.split_whitespace().collect::<Vec<_>>()[..] {
            all.entry(id.to_owned()).or_default().push(format!("{kind} {key}"));
        }
    }
    all
}

async fn watch(work: &Delivery<'_>, name: &str, server: &Found) -> Result<Vec<String>, Error> {
    let (begun, limit) = (Instant::now(), work.patience);
    loop {
        let log = machine::console(work.client, server).await?;
        let keys = machine::host_keys(&log);
        if !keys.is_empty() {
            return Ok(keys);
        }
        if begun.elapsed() > limit {
            return Err(Error::Deadline {
                thing: format!("server/{name}"),
                what: "its console shows its SSH host keys, which cloud-init writes there".to_owned(),
                seconds: limit.as_secs(),
                last: log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("an empty console").to_owned(),
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_known_by_the_servers_id() {
        let known = read("m1 ssh-ed25519 AAAA 17\nm1 ecdsa-sha2-nistp256 BBBB 17\nm2 ssh-ed25519 CCCC 18\nnonsense\n");
        assert_eq!(known["17"], ["ssh-ed25519 AAAA", "ecdsa-sha2-nistp256 BBBB"]);
        assert_eq!(known.len(), 2);
    }
}
