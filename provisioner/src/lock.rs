//! One `apply` or `destroy` of a cluster at a time.
//!
//! The lock is an empty security group with the cluster's mark, because Neutron lets its description be written in the
//! call that creates it. Neutron does not refuse a second one, so that after creating, the list is read: the run that sees
//! an older one deletes its own and ends, and the run that sees a younger one waits until that is gone.
//!
//! The holder writes a heartbeat into the description. A lock is taken over where its process is certainly dead, where the
//! taker itself has seen no heartbeat for [`Times::silence`], or with `--break-lock`. Taking over deletes the lock and makes
//! another, so that the former holder finds its own gone; and a holder that gets no heartbeat through stops long before
//! anybody may take over.

mod holder;

use crate::{
    error::Error,
    openstack::{Client, Method, backoff},
    resources::{Found, Kind, Marker, Part, body::collection, observe},
};
use holder::{Holder, State};
use nix::time::{ClockId, clock_gettime};
use nodeinit_base::Backoff;
use serde_json::json;
use std::{cell::RefCell, collections::HashMap, future::poll_fn, task::Poll, time::Duration};
use tokio::time::Instant;

/// What holders and takers keep to; a test has its own.
#[derive(Clone, Copy)]
struct Times {
    /// Between two heartbeats.
    beat: Duration,
    /// After so long without one that came through, the holder stops writing.
    stop: Duration,
    /// After so long without one that the taker saw, it takes over. More than `stop` and a request's time together.
    silence: Duration,
    /// Between two looks of a taker.
    look: Duration,
    /// Between two lines about the wait.
    tell: Duration,
    /// How long a run that came at the same time is given to go away.
    give_way: Duration,
    /// Between two looks at whether it has.
    pause: Duration,
}

const TIMES: Times = Times {
    beat: Duration::from_secs(30),
    stop: Duration::from_secs(180),
    silence: Duration::from_secs(300),
    look: Duration::from_secs(5),
    tell: Duration::from_secs(30),
    give_way: Duration::from_secs(10),
    pause: Duration::from_millis(500),
};

/// The lock while it is held.
pub struct Lock<'a> {
    client: &'a Client,
    id: String,
    holder: Holder,
    /// The mark, which each heartbeat writes again.
    mark: String,
    /// When it was asked for, by [`clock`].
    since: Duration,
    times: Times,
}

/// Takes the lock, and waits where only time can tell whether its holder is alive. `broken`: the operator says that it is
/// dead. `tell` receives progress messages.
///
/// # Errors
/// Where another run holds it.
pub async fn take<'a>(
    client: &'a Client,
    marker: &Marker,
    broken: bool,
    tell: impl Fn(&str),
) -> Result<Lock<'a>, Error> {
    take_within(client, marker, broken, tell, TIMES).await
}

async fn take_within<'a>(
    client: &'a Client,
    marker: &Marker,
    broken: bool,
    tell: impl Fn(&str),
    times: Times,
) -> Result<Lock<'a>, Error> {
    remove_abandoned(client, marker, broken, tell, times).await?;
    let mark = marker.description(&Part::new(Kind::Lock, "apply"));
    let (holder, since) = (Holder::of_this_run()?, clock());
    let id = create(client, marker, &holder, &mark).await?;
    let lock = Lock { client, id, holder, mark, since, times };
    if let Some(rival) = alone(client, marker, &lock.id, times).await? {
        lock.release().await?;
        return Err(held(&rival));
    }
    Ok(lock)
}

/// Removes each lock whose holder is dead, or that `--break-lock` covers, until there is none.
async fn remove_abandoned(
    client: &Client,
    marker: &Marker,
    broken: bool,
    tell: impl Fn(&str),
    times: Times,
) -> Result<(), Error> {
    // By our own clock alone: machines' clocks differ.
    let mut seen: HashMap<String, (String, Instant)> = HashMap::new();
    let mut told: Option<Instant> = None;
    // Each lock that is there now is removed or held by then; more time is only for those that other runs take meanwhile.
    let mut backoff = Backoff::new(times.look, times.look).within(2 * times.silence);
    loop {
        let mut waits = None;
        for lock in observe::of_kind(client, marker, Kind::Lock).await? {
            let description = lock.text("description");
            let holder = Holder::read(description);
            let (first, since) =
                seen.entry(lock.id.clone()).or_insert_with(|| (description.to_owned(), Instant::now()));
            let silent = since.elapsed();
            let why = match (&holder, holder.as_ref().map(Holder::state)) {
                _ if broken => "--break-lock was given".to_owned(),
                (_, Some(State::Dead)) => "its process does not run any more".to_owned(),
                (Some(_), Some(State::Unknown)) if first == description => {
                    if silent < times.silence {
                        waits = Some((lock, silent));
                        continue;
                    }
                    format!("no heartbeat for {} s", silent.as_secs())
                }
                // Alive here, or a heartbeat came; an earlier version's has none, and may be alive.
                _ => return Err(held(&lock)),
            };
            let (service, path, _) = collection(Kind::Lock);
            client.delete(service, &format!("{path}/{}", lock.id)).await?;
            tell(&format!("took over the lock of {}: {why}", shown(&lock)));
        }
        let Some((lock, silent)) = waits else { return Ok(()) };
        if told.is_none_or(|told| told.elapsed() >= times.tell) {
            told = Some(Instant::now());
            tell(&format!(
                "{} holds the cluster's lock, but sent no heartbeat for {} s; after {} s without a heartbeat, this run takes over the lock (if you know that the other run is dead, use --break-lock to take it over at once)",
                shown(&lock),
                silent.as_secs(),
                times.silence.as_secs()
            ));
        }
        if !backoff.pause().await {
            return Err(held(&lock));
        }
    }
}

/// Waits until no other run has a lock, and returns the one that our own has to give way to.
///
/// Neutron tells whole seconds. The younger of two of the same second may have been first to look, when ours was not there
/// yet: then it works, and stays.
async fn alone(client: &Client, marker: &Marker, own: &str, times: Times) -> Result<Option<Found>, Error> {
    let mut backoff = Backoff::new(times.pause, times.pause).within(times.give_way);
    loop {
        let all = observe::of_kind(client, marker, Kind::Lock).await?;
        let (mine, rivals): (Vec<Found>, Vec<Found>) = all.into_iter().partition(|found| found.id == own);
        let age = |found: &Found| (found.text("created_at").to_owned(), found.id.clone());
        let Some(first) = rivals.into_iter().min_by_key(age) else { return Ok(None) };
        let is_older = mine.first().is_none_or(|mine| age(&first) < age(mine));
        if is_older || !backoff.pause().await {
            return Ok(Some(first));
        }
    }
}

/// Removes the locks of dead runs of this machine, for a run that has nothing to do and needs no lock.
///
/// # Errors
/// As the service says.
pub async fn clear(client: &Client, ours: &[Found]) -> Result<(), Error> {
    let dead =
        |lock: &Found| Holder::read(lock.text("description")).is_some_and(|holder| holder.state() == State::Dead);
    for left in ours.iter().filter(|found| found.part.kind == Kind::Lock && dead(found)) {
        client.delete(collection(Kind::Lock).0, &format!("{}/{}", collection(Kind::Lock).1, left.id)).await?;
    }
    Ok(())
}

impl Lock<'_> {
    /// Does `work` with a heartbeat beside it, then gives the lock back. Where the lock is lost, `work` ends at once.
    ///
    /// # Errors
    /// As `work` says; or that the lock is lost.
    pub async fn hold<T>(self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let last = RefCell::new((self.since, String::new()));
        let done = tokio::select! {
            // Everything that writes is polled behind these two: also where the process or the machine was asleep,
            // nothing is written before the age of the last heartbeat was looked at.
            biased;
            () = self.silent(&last) => {
                let (at, why) = last.into_inner();
                let seconds = (clock() - at).as_secs();
                return Err(lost(format!("the heartbeat of the cluster's lock has failed for {seconds} s{why}")));
            }
            () = self.beat(&last) => return Err(lost("another run has taken over the cluster's lock".to_owned())),
            done = work => done,
        };
        let released = self.release().await;
        let done = done?;
        released.map(|()| done)
    }

    /// Ends where the last heartbeat is too old.
    async fn silent(&self, last: &RefCell<(Duration, String)>) {
        poll_fn(|_| match clock() - last.borrow().0 >= self.times.stop {
            true => Poll::Ready(()),
            // Whatever wakes the task comes by here, the heartbeat's own clock for one.
            false => Poll::Pending,
        })
        .await
    }

    /// Writes a heartbeat again and again, and ends where the lock is gone.
    async fn beat(&self, last: &RefCell<(Duration, String)>) {
        let (service, path, key) = collection(Kind::Lock);
        for number in 1.. {
            tokio::time::sleep(self.times.beat).await;
            let sent = clock();
            let body = json!({ key: { "description": format!("{} {}", self.mark, self.holder.description(number)) } });
            match self.client.send(Method::PUT, service, &format!("{path}/{}", self.id), Some(&body)).await {
                Ok(_) => *last.borrow_mut() = (sent, String::new()),
                Err(error) if error.status() == Some(404) => return,
                Err(error) => last.borrow_mut().1 = format!(": {error}"),
            }
        }
    }

    /// Gives the lock back.
    async fn release(self) -> Result<(), Error> {
        let (service, path, _) = collection(Kind::Lock);
        Ok(self.client.delete(service, &format!("{path}/{}", self.id)).await?)
    }
}

async fn create(client: &Client, marker: &Marker, holder: &Holder, mark: &str) -> Result<String, Error> {
    let description = format!("{mark} {}", holder.description(0));
    let body = json!({ "security_group": { "name": "nodeinit-lock", "description": description } });
    let (service, path, key) = collection(Kind::Lock);
    let mut backoff = backoff::within(client.limit());
    loop {
        match client.post_without_retry(service, path, &body).await {
            Ok(answer) => {
                let id = answer[key]["id"].as_str().map(str::to_owned);
                return id.ok_or_else(|| Error::Defect("the lock has no id".to_owned()));
            }
            Err(error) if error.may_heal() && backoff.pause().await => {}
            Err(error) => return Err(error.into()),
        }
        // The answer may be lost, and the lock made.
        let made = observe::of_kind(client, marker, Kind::Lock).await?;
        let own = |found: &Found| Holder::read(found.text("description")).is_some_and(|other| other.id == holder.id);
        if let Some(own) = made.into_iter().find(own) {
            return Ok(own.id);
        }
    }
}

/// Time since boot, sleep included.
fn clock() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
}

fn shown(lock: &Found) -> String {
    match Holder::read(lock.text("description")) {
        Some(holder) => holder.to_string(),
        None => "an earlier version's run".to_owned(),
    }
}

fn held(lock: &Found) -> Error {
    Error::Busy {
        what: format!("another run holds the cluster's lock: {}, since {}", shown(lock), lock.text("created_at")),
        remedy: "wait until it has ended; if you know that it is dead, use --break-lock".to_owned(),
    }
}

fn lost(what: String) -> Error {
    Error::Busy {
        what: format!("{what}; this run stopped, because two runs must not change one cluster"),
        remedy: "run the same command again when no other run is active; it continues where it stopped".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        ID,
        listener::{Answer, Request, Seen, with_cloud},
    };
    use serde_json::Value;
    use std::cell::Cell;

    const FAST: Times = Times {
        beat: Duration::from_millis(20),
        stop: Duration::from_millis(400),
        silence: Duration::from_millis(400),
        look: Duration::from_millis(20),
        tell: Duration::from_millis(200),
        give_way: Duration::from_millis(200),
        pause: Duration::from_millis(10),
    };

    /// Of a process that nobody here knows, on a machine that may have our name.
    const ELSEWHERE: &str = "holder=abc beat=1 process=12:99:0123456789abcdef host=debian";

    fn lock(id: &str, holder: &str) -> Value {
        let mark = Marker::new(ID, "demo").description(&Part::new(Kind::Lock, "apply"));
        json!({ "id": id, "description": format!("{mark} {holder}"), "created_at": "2026-11-22T08:00:00Z" })
    }

    fn count(seen: &Seen, method: &str) -> usize {
        seen.borrow().iter().filter(|request| request.method == method).count()
    }

    /// Neutron as far as locks go; each request goes by `first`, which may answer it.
    fn neutron(there: &RefCell<Vec<Value>>, first: impl Fn(&Request) -> Option<Answer>) -> impl Fn(&Request) -> Answer {
        move |request| {
            if let Some(answer) = first(request) {
                return answer;
            }
            let id = request.path.rsplit('/').next().unwrap_or_default();
            let mut there = there.borrow_mut();
            let at = there.iter().position(|lock| lock["id"] == id);
            Some(match (request.method.as_str(), at) {
                ("POST", _) => {
                    let mut made = request.body["security_group"].clone();
                    made["id"] = json!("own");
                    made["created_at"] = json!("2026-11-22T08:00:01Z");
                    there.push(made.clone());
                    (201, json!({ "security_group": made }))
                }
                ("PUT", Some(at)) => {
                    there[at]["description"] = request.body["security_group"]["description"].clone();
                    (200, json!({ "security_group": there[at] }))
                }
                ("DELETE", Some(at)) => {
                    there.remove(at);
                    (204, json!({}))
                }
                ("PUT" | "DELETE", None) => (404, json!({})),
                _ => (200, json!({ "security_groups": *there })),
            })
        }
    }

    /// Tries to take the lock that `holder` has, who gives `beats` heartbeats more. `Ok`: what was told.
    fn taken_from(holder: &str, beats: usize, broken: bool) -> Result<Vec<String>, String> {
        let (there, told, looks) = (RefCell::new(vec![lock("other", holder)]), RefCell::default(), Cell::new(0));
        let beating = |request: &Request| {
            if request.method == "GET" {
                looks.set(looks.get() + 1);
                let beat = format!(" beat={}", looks.get().min(beats + 1));
                for lock in there.borrow_mut().iter_mut().filter(|lock| lock["id"] == "other") {
                    lock["description"] =
                        json!(lock["description"].as_str().unwrap_or_default().replace(" beat=1", &beat));
                }
            }
            None
        };
        let result: RefCell<Result<(), String>> = RefCell::new(Ok(()));
        with_cloud(neutron(&there, beating), |client, _| {
            let (result, told) = (&result, &told);
            async move {
                let tell = |text: &str| Vec::push(&mut told.borrow_mut(), text.to_owned());
                let taken = take_within(&client, &Marker::new(ID, "demo"), broken, tell, FAST).await;
                *result.borrow_mut() = taken.map(drop).map_err(|error| error.to_string());
            }
        });
        let ids: Vec<Value> = there.borrow().iter().map(|lock| lock["id"].clone()).collect();
        let result = result.into_inner();
        assert_eq!(ids, [if result.is_ok() { "own" } else { "other" }], "{result:?}");
        result.map(|()| told.into_inner())
    }

    #[test]
    fn a_lock_is_taken_over_from_the_dead_alone() {
        let own = Holder::of_this_run().unwrap().description(0);
        let (_, process) = own.split_once("process=").unwrap();
        let dead = own.replace(process.split(':').next().unwrap(), "4194305");
        let told = taken_from(&dead, 0, false).unwrap();
        assert_eq!(told.len(), 1);
        assert!(told[0].ends_with(": its process does not run any more"), "{told:?}");

        // This very process: nobody has to wait for a heartbeat.
        let said = taken_from(&own, 0, false).unwrap_err();
        assert!(said.contains(&format!("process {} on ", std::process::id())), "{said}");

        // Another laptop of the same name, another CI runner, another container.
        let said = taken_from(ELSEWHERE, 1, false).unwrap_err();
        assert!(said.contains("process 12 on debian (run abc)"), "{said}");
        let told = taken_from(ELSEWHERE, 0, false).unwrap();
        assert!(
            told.len() >= 3 && told[0].contains("holds the cluster's lock, but sent no heartbeat for 0 s"),
            "{told:?}"
        );
        assert!(told[0].contains("--break-lock") && told.last().unwrap().contains(": no heartbeat for"), "{told:?}");
        assert_eq!(taken_from(ELSEWHERE, 5, true).unwrap().len(), 1);

        // An earlier version's has no heartbeat that could be missing.
        let earlier = "holder=12@debian/1b4e28ba-2fa1-41d2-883f-0016d3cca427";
        assert!(taken_from(earlier, 0, false).unwrap_err().contains("an earlier version's run"));
        assert!(taken_from(earlier, 0, true).is_ok());
    }

    /// Takes the lock and works with it until it is lost, or for a second.
    fn held_while(first: impl Fn(&Request, &mut Vec<Value>) -> Option<Answer>) -> (Result<(), String>, usize, usize) {
        let there = RefCell::default();
        let (result, counts) = (RefCell::new(Ok(())), Cell::new((0, 0)));
        with_cloud(neutron(&there, |request| first(request, &mut there.borrow_mut())), |client, seen| {
            let (result, counts) = (&result, &counts);
            async move {
                let lock = take_within(&client, &Marker::new(ID, "demo"), false, |_| {}, FAST).await.unwrap();
                let work = async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Ok(())
                };
                *result.borrow_mut() = lock.hold(work).await.map_err(|error| error.to_string());
                counts.set((count(&seen, "PUT"), count(&seen, "DELETE")));
            }
        });
        let (beats, deletes) = counts.get();
        (result.into_inner(), beats, deletes)
    }

    #[test]
    fn a_holder_shows_that_it_is_alive() {
        let (done, beats, deletes) = held_while(|_, _| None);
        assert_eq!((done, deletes), (Ok(()), 1));
        assert!(beats >= 5, "{beats} heartbeats");
    }

    #[test]
    fn a_holder_whose_lock_is_gone_stops() {
        let stolen = |request: &Request, there: &mut Vec<Value>| {
            if request.method == "PUT" {
                there.clear();
            }
            None
        };
        let (done, beats, deletes) = held_while(stolen);
        assert!(done.unwrap_err().starts_with("another run has taken over the cluster's lock; this run stopped"));
        assert_eq!((beats, deletes), (1, 0));
    }

    #[test]
    fn a_holder_whose_heartbeat_fails_stops() {
        for status in [403, 503] {
            let fails = |request: &Request, _: &mut Vec<Value>| {
                (request.method == "PUT").then(|| Some((status, json!({ "message": "no" }))))
            };
            let (done, _, deletes) = held_while(fails);
            let said = done.unwrap_err();
            assert!(said.starts_with("the heartbeat of the cluster's lock has failed for 0 s"), "{said}");
            assert_eq!(deletes, 0);
        }
    }

    /// Locks of the same second, one letter each; ours is `b`. `looks`: what each list has, the last one for ever.
    fn with_rivals(looks: [&'static str; 3], taken: bool, deletes: usize) {
        let look = Cell::new(0);
        let script = |request: &Request| match request.method.as_str() {
            "POST" => Some((201, json!({ "security_group": { "id": "b" } }))),
            "DELETE" => Some((204, json!({}))),
            _ => {
                let ids = looks[look.get().min(2)].chars();
                look.set(look.get() + 1);
                Some((
                    200,
                    json!({ "security_groups": ids.map(|id| lock(&id.to_string(), ELSEWHERE)).collect::<Vec<_>>() }),
                ))
            }
        };
        with_cloud(script, |client, seen| async move {
            assert_eq!(take_within(&client, &Marker::new(ID, "demo"), false, |_| {}, FAST).await.is_ok(), taken);
            assert_eq!(count(&seen, "DELETE"), deletes);
        });
    }

    #[test]
    fn of_two_of_the_same_second_one_works() {
        with_rivals(["", "b", "b"], true, 0);
        with_rivals(["", "bc", "b"], true, 0);
        with_rivals(["", "ab", "ab"], false, 1);
        // The other run did not see ours, and works.
        with_rivals(["", "bc", "bc"], false, 1);
    }
}
