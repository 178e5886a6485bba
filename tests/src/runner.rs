//! Runs tests on hosts: two at a time, the longest first, each in a separate process and within its budget.

use crate::{
    output::start,
    slot::{SLOTS, Slot},
};
use libtest_mimic::{Arguments, Failed, Trial};
use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// The limit for the total of the budgets of `make test`, in minutes, with two tests at a time. A budget is about twice the
/// duration of its test, so the tests on hosts take half of this.
const SHARE: u32 = 44;

/// The environment variable whose value multiplies all budgets, for a slow or busy machine.
const PATIENCE: &str = "NODEINIT_LAB_PATIENCE";

/// The default factor of the budgets: CI machines differ in speed by a factor of two.
const USUAL_PATIENCE: u32 = 2;

/// The environment variable that CI sets. In CI, a failed test runs once more, so that one race among the hundred bootstraps of a
/// run does not hide the other results. The test then counts as flaky, and its failure is printed at the end.
const CI: &str = "CI";

/// The maximum number of flaky tests; a run with more of them fails.
const FLAKY: usize = 2;

/// The maximum length of a printed failure, in lines.
const REASON: usize = 40;

/// The argument that makes this process run the one test named after it.
const ONE: &str = "--one-test-in-this-process";

/// A test on hosts.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    name: &'static str,
    run: fn(),
    seconds: u32,
    alone: bool,
    long: bool,
}

/// A [`Test`] by the path of its function and its budget in seconds.
#[macro_export]
macro_rules! test {
    ($run:path, $seconds:expr) => {
        $crate::Test::new(stringify!($run), $run, $seconds)
    };
}

impl Test {
    /// Creates a test of `make test` that may run beside another one. It fails if it takes longer than [`USUAL_PATIENCE`] times
    /// `seconds`.
    #[must_use]
    pub const fn new(name: &'static str, run: fn(), seconds: u32) -> Self {
        Self { name, run, seconds, alone: false, long: false }
    }

    /// Runs the test while no other test has hosts on this machine, because it depends on speed.
    #[must_use]
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Excludes the test from `make test`; a separate target runs it.
    #[must_use]
    pub const fn long(self) -> Self {
        Self { long: true, ..self }
    }
}

/// The duration of a test, and the reason of its failure.
struct Taken {
    test: Test,
    seconds: f64,
    /// The failure of the first try, if there were two tries.
    failure: Option<String>,
    passed: bool,
}

/// Runs the test program: takes the arguments of Rust's test programs, runs the selected tests, and prints a table of durations.
/// `logs` is the directory for the output of each test.
#[must_use]
pub fn main(tests: &'static [Test], logs: &str) -> ExitCode {
    if let [_, flag, name] = &env::args().collect::<Vec<_>>()[..]
        && flag == ONE
    {
        let test = tests.iter().find(|test| test.name == name).unwrap();
        (test.run)();
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SLOTS);
    let logs = (!arguments.nocapture).then(|| PathBuf::from(logs));
    logs.iter().for_each(|logs| fs::create_dir_all(logs).unwrap());

    let again = env::var(CI).is_ok_and(|set| !["", "0", "false"].contains(&set.as_str()));
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut trials = vec![Trial::test("the_tests_fit_into_the_hour", || Ok(check(tests)?))];
    for test in in_order(tests) {
        let (taken, logs) = (Arc::clone(&taken), logs.clone());
        let run = move || {
            let _slot = Slot::take(test.alone);
            let started = Instant::now();
            let (failure, result) = tried(again, |attempt| in_a_process(test, logs.as_deref(), attempt));
            let seconds = started.elapsed().as_secs_f64();
            taken.lock().unwrap().push(Taken { test, seconds, failure, passed: result.is_ok() });
            result
        };
        trials.push(Trial::test(test.name, run).with_ignored_flag(test.long));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let taken = taken.lock().unwrap();
    print_table(&taken);
    if taken.iter().filter(|taken| taken.passed && taken.failure.is_some()).count() > FLAKY {
        println!("more than {FLAKY} tests are flaky");
        return ExitCode::FAILURE;
    }
    if !arguments.list && conclusion.num_passed + conclusion.num_failed + conclusion.num_ignored == 0 {
        println!("no test matches these arguments");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Orders the tests: first those that need the whole machine, then the longest, so that both lanes end at about the same time.
fn in_order(tests: &[Test]) -> Vec<Test> {
    let mut tests = tests.to_vec();
    tests.sort_by_key(|test| (!test.alone, std::cmp::Reverse(test.seconds)));
    tests
}

/// Runs a test, and once more if it fails and `again` is set. Returns the failure of the first try and the result of the last one.
fn tried(again: bool, run: impl Fn(u32) -> Result<(), Failed>) -> (Option<String>, Result<(), Failed>) {
    let first = run(1);
    let failure = first.as_ref().err().map(|failed| reason(failed.message().unwrap_or_default()));
    let last = if again && failure.is_some() { run(2) } else { first };
    (failure, last)
}

/// Runs a test in a separate process, which can be killed, and then removes its hosts. The log of the first try is `NAME.log`, that of the second one `NAME.2.log`.
fn in_a_process(test: Test, logs: Option<&Path>, attempt: u32) -> Result<(), Failed> {
    // A test must not outlive the process that holds its slot.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(env::current_exe().unwrap()).args([ONE, test.name]);
    let suffix = if attempt == 1 { String::new() } else { format!(".{attempt}") };
    let log = logs.map(|logs| logs.join(format!("{}{suffix}.log", test.name.replace("::", "-"))));
    if let Some(log) = &log {
        let file = File::create(log).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
    }
    let mut child = command.spawn().map_err(|e| format!("cannot start setpriv: {e}"))?;
    let patience = env::var(PATIENCE).map_or(USUAL_PATIENCE, |times| times.parse().unwrap());
    let budget = Duration::from_secs(test.seconds.into()) * patience;
    let end = Instant::now() + budget;
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() < end => thread::sleep(Duration::from_millis(100)),
            None => break None,
        }
    };
    if ended.is_some_and(|status: ExitStatus| status.success()) {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    let removed = start("host.sh gc", 60, &[&crate::host::lab("host.sh"), "gc"]).wait().text();
    let said = log.map(|log| fs::read_to_string(log).unwrap_or_default()).unwrap_or_default();
    let how = match ended {
        Some(status) => format!("{status}"),
        None => format!("exceeded its budget of {} s; on a busy machine, set {PATIENCE}=4", budget.as_secs()),
    };
    Err(format!("{said}{removed}{}: {how}", test.name).into())
}

/// Returns the minutes that `make test` takes if each test uses its whole budget.
fn minutes(tests: &[Test]) -> u32 {
    let of = |alone| tests.iter().filter(|test| !test.long && test.alone == alone).map(|test| test.seconds).sum();
    let (alone, shared): (u32, u32) = (of(true), of(false));
    (alone + shared.div_ceil(SLOTS as u32)).div_ceil(60)
}

/// Fails if the budgets of `make test` exceed their share of the hour, or if a test is not listed.
fn check(tests: &[Test]) -> Result<(), String> {
    let minutes = minutes(tests);
    println!("the budgets of the tests of `make test` add up to {minutes} of {SHARE} minutes, two at a time");
    if minutes > SHARE {
        return Err(format!(
            "the budgets add up to {minutes} minutes, two tests at a time, and the limit is {SHARE}: shorten a test, or list it as `.long()` and give it a target in the Makefile"
        ));
    }
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts")).unwrap() {
        let path = file.unwrap().path();
        if fs::read_to_string(&path).unwrap().lines().any(|line| line.trim() == "#[test]") {
            return Err(format!(
                "`#[test]` has no effect in {}: write `pub(crate) fn` and list the test in hosts/main.rs",
                path.display()
            ));
        }
    }
    Ok(())
}

fn print_table(taken: &[Taken]) {
    if taken.is_empty() {
        return;
    }
    println!("seconds  budget  test");
    for Taken { test, seconds, .. } in taken {
        println!("{seconds:7.0} {:7}  {}{}", test.seconds, test.name, if test.alone { " (alone)" } else { "" });
    }
    let seconds: f64 = taken.iter().map(|taken| taken.seconds).sum();
    println!("{seconds:7.0} {:7}  all", taken.iter().map(|taken| taken.test.seconds).sum::<u32>());
    // Failures come last because CI logs are read from the end.
    for Taken { test, failure, passed, .. } in taken {
        if let Some(failure) = failure {
            println!("\n{} {}\n{failure}", if *passed { "FLAKY" } else { "FAILED" }, test.name);
        }
    }
}

/// Returns the panic message of a failed test without the logs of its hosts, and how its process ended.
fn reason(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let begin = lines.iter().position(|line| line.contains("panicked at")).unwrap_or(lines.len());
    let said = lines[begin..].iter().take_while(|line| !line.starts_with(crate::host::LOGS));
    let ended = lines.last();
    said.take(REASON).chain(ended).map(|line| format!("  {}\n", line.chars().take(500).collect::<String>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(minutes: u32) -> Test {
        Test::new("", || (), minutes * 60)
    }

    #[test]
    fn a_reason_omits_the_logs_of_the_hosts() {
        let output =
            format!("up\nthread 'main' panicked at a.rs:1:\nleft: 1\n{}\nlog\nlog\na::b: exit 101", crate::host::LOGS);
        assert_eq!(reason(&output), "  thread 'main' panicked at a.rs:1:\n  left: 1\n  a::b: exit 101\n");
        assert_eq!(reason("exceeded"), "  exceeded\n");
    }

    #[test]
    fn a_failed_test_is_retried_only_on_request() {
        let fails_up_to = |count: u32| move |attempt: u32| if attempt <= count { Err("no".into()) } else { Ok(()) };
        let outcome = |again, count| {
            let (failure, result) = tried(again, fails_up_to(count));
            (failure.is_some(), result.is_ok())
        };
        assert_eq!(outcome(true, 0), (false, true));
        assert_eq!(outcome(true, 1), (true, true), "flaky");
        assert_eq!(outcome(true, 2), (true, false));
        assert_eq!(outcome(false, 1), (true, false));
    }

    #[test]
    fn the_order_is_alone_first_then_longest() {
        let order = in_order(&[of(2), of(5), of(1).alone(), of(3)]);
        assert_eq!(order.iter().map(|test| test.seconds / 60).collect::<Vec<_>>(), [1, 5, 3, 2]);
    }

    #[test]
    fn the_total_counts_two_lanes_and_omits_long_tests() {
        assert_eq!(minutes(&[of(2), of(4), of(1).alone(), of(300).long()]), 4);
    }

    #[test]
    fn budgets_above_the_limit_are_refused() {
        assert!(check(&[of(2 * SHARE)]).is_ok());
        assert!(check(&[of(2 * SHARE), of(1)]).unwrap_err().contains("shorten a test"));
    }
}
