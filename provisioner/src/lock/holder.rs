//! Who holds the lock, as its description says.

use crate::error::Error;
use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use nodeinit_base::hex;
use ring::{
    digest,
    rand::{SecureRandom as _, SystemRandom},
};
use std::fmt;

/// A longer host name is cut: Neutron takes 255 characters.
const HOST: usize = 30;

/// A run that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Random, for each run: nothing else tells two runs apart for certain.
    pub(super) id: String,
    process: Option<Process>,
    /// For a terminal or a log.
    host: String,
}

/// A process, as others in its PID namespace find it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    /// In clock ticks since boot: a number that is used again has another one.
    start: String,
    /// Digest of the boot, the PID namespace and the time namespace.
    place: String,
}

/// What is known of a holder without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its process is in our PID namespace, and runs.
    Alive,
    /// Its process was in our PID namespace, and does not run any more.
    Dead,
    /// It may be anywhere.
    Unknown,
}

impl Holder {
    /// This run.
    pub(super) fn of_this_run() -> Result<Self, Error> {
        let mut id = [0; 8];
        SystemRandom::new()
            .fill(&mut id)
            .map_err(|_| Error::Defect("the kernel gives no random numbers".to_owned()))?;
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        Ok(Self { id: hex(&id), process: Process::current(), host: host.chars().filter(plain).take(HOST).collect() })
    }

    /// From a lock's description. `None`: an earlier version wrote it, which has no heartbeat.
    pub(super) fn read(description: &str) -> Option<Self> {
        let field = |key: &str| description.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        field("beat")?;
        Some(Self {
            id: field("holder")?.to_owned(),
            process: field("process").and_then(Process::read),
            host: field("host").unwrap_or_default().to_owned(),
        })
    }

    /// What follows the mark in a lock's description, with the number of heartbeats so far.
    pub(super) fn description(&self, beat: u64) -> String {
        let process = self.process.as_ref().map_or_else(|| "-".to_owned(), Process::written);
        format!("holder={} beat={beat} process={process} host={}", self.id, self.host)
    }

    pub(super) fn state(&self) -> State {
        let Some(process) = self.process.as_ref().filter(|process| Some(&process.place) == place().as_ref()) else {
            return State::Unknown;
        };
        // /proc may hide other users' processes: only the kernel's own answer means that there is none.
        if kill(Pid::from_raw(process.pid), None) == Err(Errno::ESRCH) {
            return State::Dead;
        }
        match stat(&process.pid.to_string()) {
            Some(stat) if stat.start == process.start && !stat.ended => State::Alive,
            Some(_) => State::Dead,
            None => State::Unknown,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pid = self.process.as_ref().map_or_else(|| "a process".to_owned(), |p| format!("process {}", p.pid));
        write!(f, "{pid} on {} (run {})", self.host, self.id)
    }
}

impl Process {
    /// `None` where /proc is not that of our PID namespace, and proves nothing.
    fn current() -> Option<Self> {
        let own = stat("self")?;
        let pid = i32::try_from(std::process::id()).ok().filter(|pid| *pid == own.pid)?;
        Some(Self { pid, start: own.start, place: place()? })
    }

    fn written(&self) -> String {
        format!("{}:{}:{}", self.pid, self.start, self.place)
    }

    fn read(text: &str) -> Option<Self> {
        let [pid, start, place] = text.split(':').collect::<Vec<_>>()[..] else { return None };
        let pid = pid.parse().ok().filter(|pid| *pid > 0)?;
        Some(Self { pid, start: start.to_owned(), place: place.to_owned() })
    }
}

/// What /proc says of a process.
struct Stat {
    pid: i32,
    start: String,
    /// It is dead, and its parent has not asked for its end yet.
    ended: bool,
}

fn stat(process: &str) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may hold anything.
    let rest: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    Some(Stat {
        pid: text.split(' ').next()?.parse().ok()?,
        // Fields 3 and 22 of proc_pid_stat(5).
        ended: matches!(*rest.first()?, "Z" | "X"),
        start: (*rest.get(19)?).to_owned(),
    })
}

/// Where a process number and a start time have one meaning. Containers share the boot, and clones the machine's id.
fn place() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().filter(|id| !id.trim().is_empty())?;
    let namespace = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).ok();
    let (processes, time) = (namespace("pid")?, namespace("time").unwrap_or_default());
    let all = format!("{}\n{}\n{}", boot.trim(), processes.display(), time.display());
    Some(hex(&digest::digest(&digest::SHA256, all.as_bytes()).as_ref()[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This run's holder with another process.
    fn with(process: &str) -> Holder {
        let own = Holder::of_this_run().unwrap();
        Holder::read(&format!("mark holder={} beat=1 process={process} host=h", own.id)).unwrap()
    }

    #[test]
    fn a_description_is_read_as_it_was_written() {
        let own = Holder::of_this_run().unwrap();
        assert_eq!(Holder::read(&format!("mark {}", own.description(7))), Some(own.clone()));
        assert_ne!(own.id, Holder::of_this_run().unwrap().id);
        assert_eq!(Holder::read("mark holder=12@host/boot"), None);
        let longest = "x".repeat(64);
        let host = Holder { host: longest.chars().take(HOST).collect(), ..own };
        assert!(host.description(99_999).len() < 255 - 140, "{}", host.description(99_999));
    }

    #[test]
    fn only_a_process_of_this_pid_namespace_is_known_to_be_dead() {
        let own = Process::current().unwrap();
        let state = |pid: i32, start: &str, place: &str| with(&format!("{pid}:{start}:{place}")).state();
        assert_eq!(state(own.pid, &own.start, &own.place), State::Alive);
        assert_eq!(state(4_194_305, &own.start, &own.place), State::Dead);
        // The number is used again.
        assert_eq!(state(own.pid, "1", &own.place), State::Dead);
        // Another boot, or another container: the number means another process there.
        assert_eq!(state(4_194_305, &own.start, "0123456789abcdef"), State::Unknown);
        assert_eq!(with("-").state(), State::Unknown);
        assert_eq!(with(&format!("-1:{}:{}", own.start, own.place)).state(), State::Unknown);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a process that ends at once")]
    fn a_process_that_has_ended_and_was_not_asked_for_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let begun = std::time::Instant::now();
        while !stat(&pid.to_string()).unwrap().ended && begun.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let start = stat(&pid.to_string()).unwrap().start;
        assert_eq!(with(&format!("{pid}:{start}:{}", place().unwrap())).state(), State::Dead);
        child.wait().unwrap();
    }
}
