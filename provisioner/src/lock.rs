//! One `apply` or `destroy` of a cluster at a time.
//!
//! The lock is an empty security group with the cluster's mark, because Neutron lets its description be written in the
//! call that creates it. Neutron does not refuse a second one, so that after creating, the list is read: whoever sees an
//! older one deletes his own and goes away, and whoever sees a younger one waits until that is gone. A lock whose process
//! was killed is taken over at once where that process was on this machine; elsewhere nobody can know, and a person says so
//! with `--break-lock`.

use crate::{
    error::Error,
    openstack::{Client, backoff::Backoff},
    resources::{Found, Kind, Marker, Part, body::collection, observe},
};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// How long one who came at the same time is given to go away.
const GIVE_WAY: Duration = Duration::from_secs(10);
/// Between two looks at whether he has.
const PAUSE: Duration = Duration::from_millis(500);

/// The lock while it is held.
pub struct Lock<'a> {
    client: &'a Client,
    id: String,
}

/// Takes the lock. `broken`: whoever holds it is known to be gone. The text tells of a lock that was taken over.
///
/// # Errors
/// Where another one holds it.
pub async fn take<'a>(client: &'a Client, marker: &Marker, broken: bool) -> Result<(Lock<'a>, Option<String>), Error> {
    let mut told = None;
    for other in observe::of_kind(client, marker, Kind::Lock).await? {
        let holder = holder(&other);
        if !broken && !is_dead(&holder) {
            return Err(held(&holder, other.text("created_at")));
        }
        client.delete(collection(Kind::Lock).0, &format!("{}/{}", collection(Kind::Lock).1, other.id)).await?;
        told = Some(format!("took over the lock that {holder} left behind"));
    }
    let lock = Lock { client, id: create(client, marker).await? };
    if let Some(rival) = alone(client, marker, &lock.id).await? {
        lock.release().await?;
        return Err(held(&holder(&rival), rival.text("created_at")));
    }
    Ok((lock, told))
}

/// Waits until nobody else has a lock, and returns whom our own has to give way to.
///
/// Neutron tells whole seconds. The younger of two of the same second may have been first to look, when ours was not there
/// yet: then he works, and stays.
async fn alone(client: &Client, marker: &Marker, own: &str) -> Result<Option<Found>, Error> {
    let given_up = Instant::now() + GIVE_WAY;
    loop {
        let all = observe::of_kind(client, marker, Kind::Lock).await?;
        let (mine, rivals): (Vec<Found>, Vec<Found>) = all.into_iter().partition(|found| found.id == own);
        let age = |found: &Found| (found.text("created_at").to_owned(), found.id.clone());
        let Some(first) = rivals.into_iter().min_by_key(age) else { return Ok(None) };
        let is_older = mine.first().is_none_or(|mine| age(&first) < age(mine));
        if is_older || Instant::now() >= given_up {
            return Ok(Some(first));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes away what dead runs of this machine have left, for one who has nothing to do and needs no lock.
///
/// # Errors
/// As the service says.
pub async fn clear(client: &Client, ours: &[Found]) -> Result<(), Error> {
    for left in ours.iter().filter(|found| found.part.kind == Kind::Lock && is_dead(&holder(found))) {
        client.delete(collection(Kind::Lock).0, &format!("{}/{}", collection(Kind::Lock).1, left.id)).await?;
    }
    Ok(())
}

impl Lock<'_> {
    /// Gives the lock back.
    ///
    /// # Errors
    /// As the service says.
    pub async fn release(self) -> Result<(), Error> {
        let (service, path, _) = collection(Kind::Lock);
        Ok(self.client.delete(service, &format!("{path}/{}", self.id)).await?)
    }
}

async fn create(client: &Client, marker: &Marker) -> Result<String, Error> {
    let part = Part::new(Kind::Lock, "apply");
    let description = format!("{} holder={}", marker.description(&part), myself());
    let body = json!({ "security_group": { "name": "nodeinit-lock", "description": description } });
    let (service, path, key) = collection(Kind::Lock);
    let mut backoff = Backoff::new(client.limit());
    loop {
        match client.once(service, path, &body).await {
            Ok(answer) => {
                let id = answer[key]["id"].as_str().map(str::to_owned);
                return id.ok_or_else(|| Error::Defect("the lock has no id".to_owned()));
            }
            Err(error) if error.may_heal() && backoff.pause().await => {}
            Err(error) => return Err(error.into()),
        }
        // The answer may be lost, and the lock made.
        let made = observe::of_kind(client, marker, Kind::Lock).await?;
        if let Some(own) = made.into_iter().find(|found| holder(found) == myself()) {
            return Ok(own.id);
        }
    }
}

/// Who holds a lock: `process 12 on HOST (BOOT)`, without blanks as it is written.
fn holder(found: &Found) -> String {
    let description = found.text("description");
    description.split_once(" holder=").map_or_else(|| "somebody".to_owned(), |(_, holder)| holder.to_owned())
}

fn myself() -> String {
    format!("{}@{}", std::process::id(), machine())
}

/// This machine since it was started: a process number of before means nothing.
fn machine() -> String {
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{host}/{}", boot.trim())
}

/// Whether the holder was a process of this machine, and is gone.
fn is_dead(holder: &str) -> bool {
    let Some((process, place)) = holder.split_once('@') else { return false };
    let (host, _) = place.split_once('/').unwrap_or((place, ""));
    let here = machine();
    if here == place {
        return process.parse::<u32>().is_ok_and(|id| !std::path::Path::new(&format!("/proc/{id}")).exists());
    }
    // The same machine, started anew: nothing of before is running.
    here.split_once('/').is_some_and(|(name, _)| name == host)
}

fn held(holder: &str, since: &str) -> Error {
    Error::Busy {
        what: format!("another run is at work on this cluster: {holder}, since {since}"),
        remedy: "wait until it has ended; if it is certain that it is dead, use --break-lock".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        ID,
        listener::{Request, with_cloud},
    };
    use std::cell::Cell;

    /// Locks of the same second, one letter each; ours is `b`. `looks`: what each list has, the last one for ever.
    fn with_rivals(looks: [&'static str; 3], taken: bool, deletes: usize) {
        let marker = Marker::new(ID);
        let description = format!("{} holder=1@elsewhere/abc", marker.description(&Part::new(Kind::Lock, "apply")));
        let look = Cell::new(0);
        let script = |request: &Request| match request.method.as_str() {
            "POST" => Some((201, json!({ "security_group": { "id": "b" } }))),
            "DELETE" => Some((204, json!({}))),
            _ => {
                let ids = looks[look.get().min(2)].chars();
                look.set(look.get() + 1);
                let lock =
                    |id: char| json!({ "id": id, "description": description, "created_at": "2026-11-22T08:00:00Z" });
                Some((200, json!({ "security_groups": ids.map(lock).collect::<Vec<_>>() })))
            }
        };
        with_cloud(script, |client, seen| async move {
            let marker = Marker::new(ID);
            assert_eq!(take(&client, &marker, false).await.is_ok(), taken);
            assert_eq!(seen.borrow().iter().filter(|request| request.method == "DELETE").count(), deletes);
        });
    }

    #[test]
    fn of_two_of_the_same_second_one_works() {
        with_rivals(["", "b", "b"], true, 0);
        with_rivals(["", "bc", "b"], true, 0);
        with_rivals(["", "ab", "ab"], false, 1);
        // He did not see ours, and works.
        with_rivals(["", "bc", "bc"], false, 1);
    }

    #[test]
    fn only_the_dead_of_this_machine_are_known_to_be_dead() {
        assert!(!is_dead(&myself()));
        assert!(is_dead(&format!("4194305@{}", machine())));
        assert!(!is_dead("12@elsewhere/abc") && !is_dead("somebody"));
        let host = machine().split_once('/').map(|(host, _)| host.to_owned()).unwrap();
        assert!(is_dead(&format!("1@{host}/another-boot")));
    }
}
