//! The only code that touches this machine: files, commands, systemd, the kernel, the clock.

pub mod archive;
pub mod clock;
pub mod commands;
pub mod containerd;
pub mod disk;
pub mod facts;
pub mod files;
pub mod kernel;
pub mod limits;
pub mod load;
pub mod lock;
pub mod net;
pub mod own_program;
pub mod processes;
pub mod remove;
pub mod section;
pub mod systemd;

/// A point at which a test may kill this process, with its name and subject. Does nothing without the feature `failpoints`.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn failpoint(_name: &str, _subject: impl std::fmt::Display) {}

/// Kills this process with SIGKILL at the first point that the file `NODEINIT_FAILPOINTS` does not list, after adding the point
/// to the file. Consecutive runs therefore die once at each point, in any order, and the last one completes.
/// Digits are removed from a point, so that a name that contains the time is the same in each run. With `NODEINIT_FAILPOINTS_OF`,
/// only points whose names start with one of its values, which are separated by commas, count.
///
/// # Panics
/// If that file cannot be read or written.
#[cfg(feature = "failpoints")]
#[allow(clippy::expect_used, reason = "a test cannot continue without its list")]
pub fn failpoint(name: &str, subject: impl std::fmt::Display) {
    use std::{fs, io::Write};
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let Some(list) = std::env::var_os("NODEINIT_FAILPOINTS") else { return };
    if std::env::var("NODEINIT_FAILPOINTS_OF").is_ok_and(|all| !all.split(',').any(|start| name.starts_with(start))) {
        return;
    }
    let _guard = ONE_AT_A_TIME.lock();
    let point = format!("{name} {subject}").replace(|c: char| c.is_ascii_digit(), "");
    let mut list = fs::OpenOptions::new().read(true).append(true).create(true).open(list).expect("the list of points");
    let known = std::io::read_to_string(&list).expect("the list of points");
    if !known.lines().any(|line| line == point) {
        writeln!(list, "{point}").expect("the list of points");
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}
