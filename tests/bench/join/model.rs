//! A model of the join of thousands of workers, with costs measured on hundreds.
//!
//! Workers start within nodeinit's spread. The processors of the control plane serve the joins in turn: first the handshake, then
//! the requests, then the work of the controllers. The approver and the signer each have a rate limit, as in client-go. If a
//! handshake takes longer than nodeinit's timeout, its work is lost, and the worker tries again after nodeinit's pause.

use serde_json::Value;
use std::{cmp::Reverse, collections::BinaryHeap};

/// The constants of `nodeinit::join`, in seconds.
const SPREAD: f64 = 0.2;
const CONNECT_LIMIT: f64 = 5.0;
const FIRST_PAUSE: f64 = 0.05;
const LONGEST_PAUSE: f64 = 5.0;
const LIMIT: f64 = 600.0;

/// The costs of a join, in processor seconds.
#[derive(Clone, Copy)]
struct Costs {
    handshake: f64,
    requests: f64,
    controllers: f64,
}

/// A control plane.
#[derive(Clone, Copy)]
struct Setting {
    processors: usize,
    /// `--kube-api-qps` and `--kube-api-burst` of kube-controller-manager.
    rate: f64,
    burst: f64,
}

struct Outcome {
    joined: usize,
    connections: usize,
    median: f64,
    last: f64,
}

/// Prints a table of the results with these costs and `count` workers, for several control planes.
pub(crate) fn print(file: &str, count: usize) {
    let measured: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cost = |key: &str| measured[key].as_f64().unwrap();
    let costs = Costs { handshake: cost("handshake"), requests: cost("requests"), controllers: cost("controllers") };
    println!("| processors | kube-api-qps / burst | joined | connections a worker | median | last |");
    println!("|---|---|---|---|---|---|");
    for (processors, rate, burst) in
        [(1, 50.0, 200.0), (2, 50.0, 200.0), (8, 50.0, 200.0), (2, 200.0, 1000.0), (8, 200.0, 1000.0)]
    {
        let outcome = simulate(count, costs, Setting { processors, rate, burst });
        println!(
            "| {processors} | {rate} / {burst} | {} of {count} | {:.2} | {:.1} s | {:.1} s |",
            outcome.joined,
            outcome.connections as f64 / count as f64,
            outcome.median,
            outcome.last,
        );
    }
}

/// Converts a time to microseconds, which can be ordered.
fn micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

/// A rate limit with a burst (the token bucket of client-go); calls must be in the order of time.
struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: f64,
}

impl Bucket {
    fn new(setting: Setting) -> Self {
        Self { rate: setting.rate, burst: setting.burst, tokens: setting.burst, at: 0.0 }
    }

    /// Returns the time when `wanted` tokens requested at `now` are available.
    fn take(&mut self, now: f64, wanted: f64) -> f64 {
        self.tokens = (self.tokens + (now - self.at).max(0.0) * self.rate).min(self.burst) - wanted;
        self.at = self.at.max(now);
        if self.tokens >= 0.0 { now } else { now - self.tokens / self.rate }
    }
}

/// The times when each processor is free again.
struct Processors(BinaryHeap<Reverse<u64>>);

impl Processors {
    /// Returns the time when work that arrives at `now` is done, first come, first served.
    fn work(&mut self, now: f64, seconds: f64) -> f64 {
        let free = self.0.pop().map_or(0, |Reverse(at)| at);
        let done = (free as f64 / 1e6).max(now) + seconds;
        self.0.push(Reverse(micros(done)));
        done
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Connect,
    Ask,
    Approve,
    Sign,
}

fn simulate(count: usize, costs: Costs, setting: Setting) -> Outcome {
    let mut random = Random(1);
    let mut processors = Processors((0..setting.processors).map(|_| Reverse(0)).collect());
    let (mut approver, mut signer) = (Bucket::new(setting), Bucket::new(setting));
    let mut pauses = vec![FIRST_PAUSE; count];
    let mut events: BinaryHeap<Reverse<(u64, Stage, usize)>> =
        (0..count).map(|worker| Reverse((micros(random.next() * SPREAD), Stage::Connect, worker))).collect();
    let (mut joined, mut connections) = (Vec::new(), 0);
    while let Some(Reverse((at, stage, worker))) = events.pop() {
        let now = at as f64 / 1e6;
        if now > LIMIT {
            continue;
        }
        let next = match stage {
            Stage::Connect => {
                connections += 1;
                let done = processors.work(now, costs.handshake);
                if done - now > CONNECT_LIMIT {
                    let pause = pauses[worker] * (0.5 + random.next() / 2.0);
                    pauses[worker] = (pauses[worker] * 2.0).min(LONGEST_PAUSE);
                    (now + CONNECT_LIMIT + pause, Stage::Connect)
                } else {
                    (done, Stage::Ask)
                }
            }
            Stage::Ask => (processors.work(now, costs.requests), Stage::Approve),
            // A SubjectAccessReview and the approval.
            Stage::Approve => (processors.work(approver.take(now, 2.0), costs.controllers / 2.0), Stage::Sign),
            Stage::Sign => {
                joined.push(processors.work(signer.take(now, 1.0), costs.controllers / 2.0));
                continue;
            }
        };
        events.push(Reverse((micros(next.0), next.1, worker)));
    }
    joined.sort_by(f64::total_cmp);
    let median = joined.get(joined.len() / 2).copied().unwrap_or(LIMIT);
    Outcome { joined: joined.len(), connections, median, last: joined.last().copied().unwrap_or(LIMIT) }
}

/// Pseudorandom numbers from 0 to 1, the same in each run (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
