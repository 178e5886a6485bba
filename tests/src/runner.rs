//! Runs tests on hosts: two at a time, the longest first, each in a process of its own and within its budget.

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

/// What the budgets of `make test` may add up to, two at a time, in minutes. A budget is about twice what its test takes, so that
/// the tests on hosts take half of this.
const SHARE: u32 = 44;

/// Multiplies all budgets, for a machine that is slow or has other work to do.
const PATIENCE: &str = "NODEINIT_LAB_PATIENCE";

/// What budgets are multiplied with otherwise: machines of CI differ by a factor of two.
const USUAL_PATIENCE: u32 = 2;

/// Set by CI, where a test that fails runs once more: one race among the hundred bootstraps of a run must not hide what the others
/// show. The test counts as flaky then, and the run ends with its reason.
const CI: &str = "CI";

/// A run with more flaky tests fails.
const FLAKY: usize = 2;

/// No reason of a failure is longer, in lines.
const REASON: usize = 40;

/// With a test's name behind it, this process is that test.
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
    /// A test of `make test`, which may run at the same time as another one. It fails if it takes more than [`USUAL_PATIENCE`] times
    /// `seconds`.
    #[must_use]
    pub const fn new(name: &'static str, run: fn(), seconds: u32) -> Self {
        Self { name, run, seconds, alone: false, long: false }
    }

    /// Runs it while no other test has hosts on this machine: for what depends on speed.
    #[must_use]
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Leaves it out of `make test`; it has a target of its own.
    #[must_use]
    pub const fn long(self) -> Self {
        Self { long: true, ..self }
    }
}

/// How long a test took, and why it failed.
struct Taken {
    test: Test,
    seconds: f64,
    /// Of the first try, if there were two.
    failure: Option<String>,
    passed: bool,
}

/// The program of tests: takes the arguments of Rust's own test programs, runs what they select, and prints a table of times.
/// `logs` is where each test's output goes.
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
            let begun = Instant::now();
            let (failure, result) = tried(again, |attempt| in_a_process(test, logs.as_deref(), attempt));
            let seconds = begun.elapsed().as_secs_f64();
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
        println!("no test has such a name");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Those that need the whole machine, then the longest first, so that both lanes end at about the same time.
fn in_order(tests: &[Test]) -> Vec<Test> {
    let mut tests = tests.to_vec();
    tests.sort_by_key(|test| (!test.alone, std::cmp::Reverse(test.seconds)));
    tests
}

/// Runs a test, and once more if it fails and `again` is set. Returns why the first try failed, and the result of the last one.
fn tried(again: bool, run: impl Fn(u32) -> Result<(), Failed>) -> (Option<String>, Result<(), Failed>) {
    let first = run(1);
    let failure = first.as_ref().err().map(|failed| reason(failed.message().unwrap_or_default()));
    let last = if again && failure.is_some() { run(2) } else { first };
    (failure, last)
}

/// Runs a test and waits for its end. The log of a first try is `NAME.log`, and of a second one `NAME.2.log`. A process of its own can be ended, and its hosts are removed once it is gone.
fn in_a_process(test: Test, logs: Option<&Path>, attempt: u32) -> Result<(), Failed> {
    // A test must not outlive what holds its slot.
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
        None => format!(
            "exceeded its budget of {} s; on a machine that has other work to do, set {PATIENCE}=4",
            budget.as_secs()
        ),
    };
    Err(format!("{said}{removed}{}: {how}", test.name).into())
}

/// The minutes that `make test` takes if each of its tests uses up its budget.
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
            "the budgets add up to {minutes} minutes, two tests at a time, and {SHARE} are allowed: shorten a test, or list it as `.long()` and give it a target in the Makefile"
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
    // Last, because logs of CI are read from their end.
    for Taken { test, failure, passed, .. } in taken {
        if let Some(failure) = failure {
            println!("\n{} {}\n{failure}", if *passed { "FLAKY" } else { "FAILED" }, test.name);
        }
    }
}

/// What a failed test says itself, without the logs of its hosts, and how its process ended.
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
    fn a_failure_is_told_without_the_logs_of_the_hosts() {
        let output =
            format!("up\nthread 'main' panicked at a.rs:1:\nleft: 1\n{}\nlog\nlog\na::b: exit 101", crate::host::LOGS);
        assert_eq!(reason(&output), "  thread 'main' panicked at a.rs:1:\n  left: 1\n  a::b: exit 101\n");
        assert_eq!(reason("exceeded"), "  exceeded\n");
    }

    #[test]
    fn a_test_that_fails_runs_once_more_only_where_asked() {
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
    fn tests_that_run_alone_come_first_and_then_the_longest() {
        let order = in_order(&[of(2), of(5), of(1).alone(), of(3)]);
        assert_eq!(order.iter().map(|test| test.seconds / 60).collect::<Vec<_>>(), [1, 5, 3, 2]);
    }

    #[test]
    fn two_tests_share_the_machine_unless_they_run_alone_and_longer_ones_do_not_count() {
        assert_eq!(minutes(&[of(2), of(4), of(1).alone(), of(300).long()]), 4);
    }

    #[test]
    fn budgets_that_exceed_the_share_of_the_hour_fail() {
        assert!(check(&[of(2 * SHARE)]).is_ok());
        assert!(check(&[of(2 * SHARE), of(1)]).unwrap_err().contains("shorten a test"));
    }
}
