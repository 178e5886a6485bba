//! Kills at evenly distributed times of a bootstrap of three masters and a worker: the next `up` converges, with the same
//! CA and the same data.

use nodeinit_tests::{Cluster, Counter, Host, Output, Running};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Ten kills, two in each of five bootstraps. The `up` after the second one converges.
pub(crate) fn ten_kills_spread_over_a_bootstrap() {
    kills(0, 10, 2, 1);
}

/// `NODEINIT_LAB_KILLS` kills, each in a separate bootstrap on new hosts; two bootstraps run at a time.
/// The first one is number `NODEINIT_LAB_KILLS_FROM`, to continue an interrupted run.
pub(crate) fn many_kills_spread_over_a_bootstrap() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    kills(number("NODEINIT_LAB_KILLS_FROM", 0), number("NODEINIT_LAB_KILLS", 200), 1, 2);
}

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// `up` on the first master, with `kill -9`.
    Up,
    /// The remote run on another machine, with `kill -9`.
    RemoteRun,
    /// The power of the first master.
    FirstMaster,
    /// The power of another machine.
    Other,
}

/// One kill.
#[derive(Clone, Copy, Debug)]
struct Kill {
    number: usize,
    /// When, as a fraction of an undisturbed bootstrap.
    share: f64,
    kind: Kind,
}

/// Distributes `count` kills over bootstraps of `each` kills, in `lanes` clusters at a time; starts with bootstrap number `from`.
fn kills(from: usize, count: usize, each: usize, lanes: usize) {
    let bootstraps = count.div_ceil(each);
    let (next, failures) = (AtomicUsize::new(from), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                let mut length = undisturbed();
                while let Some(bootstrap) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < bootstraps)
                {
                    let kills: Vec<Kill> =
                        (bootstrap..count).step_by(bootstraps).map(|number| kill(number, count)).collect();
                    if catch_unwind(AssertUnwindSafe(|| bootstrap_with(&kills, &mut length))).is_err() {
                        failures.lock().unwrap().push(kills);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {bootstraps} bootstraps failed, with the kills {failures:#?}", failures.len());
}

/// Returns the kill of that number. Each kind is distributed evenly, too.
fn kill(number: usize, count: usize) -> Kill {
    let kind = [Kind::Up, Kind::FirstMaster, Kind::RemoteRun, Kind::Other][number % 4];
    Kill { number, share: (number as f64 + 0.5) / count as f64, kind }
}

/// Returns the seconds that a bootstrap takes without kills.
fn undisturbed() -> f64 {
    let cluster = Cluster::with_images(3, 1);
    let counter = Counter::of(&cluster);
    let seconds = cluster.up().seconds;
    eprintln!("an undisturbed bootstrap takes {seconds:.1} s; the counter reached {}", counter.end());
    seconds
}

/// Bootstraps new hosts with these kills. If one comes too late, repeats the bootstrap with earlier ones, because
/// `length`, in seconds, was too long.
fn bootstrap_with(kills: &[Kill], length: &mut f64) {
    for _ in 0..5 {
        let cluster = Cluster::with_images(3, 1);
        let counter = Counter::of(&cluster);
        let (mut ca, mut passed, mut run) = (None, 0.0, None);
        let in_time = kills.iter().all(|kill| {
            let moment = kill.share * *length;
            let current = run.take().unwrap_or_else(|| Run::of(cluster.first(), passed));
            let in_time;
            (in_time, run) = killed(&cluster, *kill, moment, current);
            passed = moment;
            let now = fs::read(cluster.first().on_disk("etc/kubernetes/pki/ca.crt")).ok();
            let known = if now.is_some() { "the CA exists" } else { "no CA yet, so there is none to compare" };
            let counted = counter.acknowledged();
            eprintln!(
                "kill {}: {:?} at {moment:.1} of {length:.1} s: {known}; the counter is {counted}",
                kill.number, kill.kind
            );
            assert!(ca.is_none() || ca == now, "the CA was generated again");
            ca = now;
            in_time
        });
        let over = run.as_ref().map_or(*length, Run::now);
        if let Some(run) = run {
            eprintln!("`up` continued and ended with {}", run.up.wait().code);
        }
        if in_time {
            converges(&cluster, ca, counter);
            return;
        }
        eprintln!("nothing was left to kill: this bootstrap is repeated with earlier kills");
        drop(counter);
        *length = 0.9 * length.min(over);
    }
    panic!("five bootstraps were over before the kill");
}

/// `up` on the first master.
struct Run {
    up: Running,
    started: Instant,
    /// The seconds of the bootstrap before its start.
    before: f64,
}

impl Run {
    fn of(first: &Host, before: f64) -> Self {
        Self { up: first.start("nodeinit up"), started: Instant::now(), before }
    }

    /// Returns the elapsed seconds of the bootstrap.
    fn now(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Waits for a time of the bootstrap, and restarts `up` if it fails before because of the previous kill.
    /// Returns whether `up` still runs.
    fn wait_for(&mut self, moment: f64, first: &Host) -> bool {
        while self.now() < moment {
            match self.up.ended() {
                None => thread::sleep(Duration::from_millis(50)),
                Some(0) => return false,
                Some(code) => {
                    eprintln!("`up` ended with {code} and is started again");
                    *self = Self::of(first, self.now());
                }
            }
        }
        self.up.ended() != Some(0)
    }
}

/// Kills something at a time of the bootstrap. Returns whether there was something to kill, and `up` if it continues.
fn killed(cluster: &Cluster, kill: Kill, moment: f64, mut run: Run) -> (bool, Option<Run>) {
    // Not the agent, and not the shell that runs this.
    const KILL: &str = "pkill -9 -f 'nodeinit [u]p'";
    let first = cluster.first();
    let others: Vec<&Host> = cluster.hosts().skip(1).collect();
    let other = others[kill.number / 4 % others.len()];
    let power_cut = |host: &Host| {
        host.cut_power();
        host.boot();
        true
    };
    let in_time = run.wait_for(moment, first)
        && match kill.kind {
            Kind::Up => first.run(KILL).code == 0,
            // Its run may not have started yet.
            Kind::RemoteRun => {
                other.run(&format!("for try in $(seq 300); do {KILL} && exit; sleep 0.1; done; exit 1")).code == 0
            }
            Kind::FirstMaster => power_cut(first),
            Kind::Other => power_cut(other),
        };
    if matches!(kill.kind, Kind::RemoteRun | Kind::Other) || !in_time {
        return (in_time, Some(run));
    }
    eprintln!("`up` ended with {}", run.up.wait().code);
    (in_time, None)
}

/// The next `up` converges: the same CA everywhere, every master votes, every node is Ready, and the counter is not behind.
fn converges(cluster: &Cluster, ca: Option<Vec<u8>>, counter: Counter) {
    let first = cluster.first();
    let up = up_after_others(first);
    eprintln!("the next `up` took {:.1} s", up.seconds);
    let ready = "[ $(kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | awk '$2 == \"Ready\"' | wc -l) = 4 ]";
    first.until("four Ready nodes", 60.0, ready);
    let plan = first.nodeinit("plan");
    if plan.code == 2 {
        // `up` does not wait for workers: one that joins after it leaves its token to the next `up`.
        let left: Vec<&str> = plan.stdout.lines().filter(|line| line.starts_with("  - ")).collect();
        let is_token = |line: &&str| line.contains("delete the bootstrap token");
        assert!(!left.is_empty() && left.iter().all(is_token), "{}", plan.text());
        first.up();
    }
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
    let of = |host: &Host| fs::read(host.on_disk("etc/kubernetes/pki/ca.crt")).unwrap();
    let expected = ca.unwrap_or_else(|| of(first));
    for host in cluster.hosts() {
        assert!(of(host) == expected, "{} has another CA", host.name());
    }
    let members = first.must("nodeinit etcd members --output json");
    let votes = |line: &&str| line.contains("\"voter\":true") && line.contains("\"healthy\":true");
    assert_eq!(members.lines().filter(votes).count(), 3, "{members}");
    assert_eq!(members.lines().count(), 3, "{members}");
    eprintln!("the counter is {}, and was never behind", counter.end());
}

/// Runs `up` after the run that the boot or a killed `up` may have left.
fn up_after_others(first: &Host) -> Output {
    let started = Instant::now();
    loop {
        let up = first.nodeinit("up");
        if up.code != 75 || !up.text().contains("another nodeinit") || started.elapsed().as_secs() > 120 {
            return up.exits(0);
        }
        thread::sleep(Duration::from_secs(1));
    }
}
