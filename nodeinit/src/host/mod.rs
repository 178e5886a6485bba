//! The only code that touches this machine: files, commands, systemd, the kernel, the clock.

pub mod clock;
pub mod commands;
pub mod containerd;
pub mod disk;
pub mod facts;
pub mod files;
pub mod kernel;
pub mod net;
pub mod processes;
pub mod systemd;

/// Kills this process with SIGKILL where a test asked for it: `NODEINIT_FAILPOINT=NAME` or `NAME:N` for the N-th pass.
///
/// Without the feature `failpoints` this is nothing.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn failpoint(_name: &str) {}

/// Kills this process with SIGKILL where a test asked for it: `NODEINIT_FAILPOINT=NAME` or `NAME:N` for the N-th pass.
/// `any:N` counts every point. With `NODEINIT_FAILPOINT_LOG` each pass is written to that file.
#[cfg(feature = "failpoints")]
pub fn failpoint(name: &str) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static PASSED: AtomicUsize = AtomicUsize::new(0);
    let Ok(wanted) = std::env::var("NODEINIT_FAILPOINT") else { return };
    let (point, pass) = wanted.rsplit_once(':').map_or((wanted.as_str(), 1), |(p, n)| (p, n.parse().unwrap_or(1)));
    if (point == "any" || point == name) && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == pass {
        eprintln!("failpoint {name}: killed");
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}
