//! Controls systemd units through `systemctl`.

use super::{
    commands::{CommandError, Commands},
    files::Files,
};
use std::{
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Limit for one call of `systemctl`, which takes milliseconds except under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// Limit for a unit to start or stop: systemd's default (`DefaultTimeoutStopSec`) and a margin.
const JOB_LIMIT: Duration = Duration::from_secs(100);

/// Where packages and administrators put units.
const DIRECTORIES: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// Whether the machine has the file of a unit. Does not ask systemd.
#[must_use]
pub fn has_file(files: &Files, unit: &str) -> bool {
    DIRECTORIES.iter().any(|directory| files.exists(Path::new(directory).join(unit)))
}

/// Whether systemd knows a unit of this name.
///
/// # Errors
/// If `systemctl` cannot be run.
async fn is_known(commands: &Commands, unit: &str) -> Result<bool, CommandError> {
    let state = commands.run(&["systemctl", "show", "--property=LoadState", "--value", unit], LIMIT).await?;
    Ok(state.trim() == "loaded")
}

/// Makes systemd read its unit files again.
///
/// # Errors
/// If `systemctl` fails.
pub async fn reload(commands: &Commands) -> Result<(), CommandError> {
    commands.run(&["systemctl", "daemon-reload"], LIMIT).await.map(drop)
}

/// Returns the symbolic link that enables one of nodeinit's units: all of them belong to `multi-user.target`.
#[must_use]
pub fn enabled(unit: &str) -> PathBuf {
    Path::new("/etc/systemd/system/multi-user.target.wants").join(unit)
}

/// Enables a unit for the next boot, without the reload of all units that `systemctl enable` does by default: it would run all
/// generators of systemd.
///
/// # Errors
/// If `systemctl` fails.
pub async fn enable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "enable", "--quiet", "--no-reload", unit], LIMIT).await.map(drop)
}

/// Disables a unit. A missing unit is fine.
///
/// # Errors
/// If `systemctl` fails.
pub async fn disable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !is_known(commands, unit).await? {
        return Ok(());
    }
    commands.run(&["systemctl", "disable", "--quiet", unit], LIMIT).await.map(drop)
}

/// Starts a unit, or restarts it if it runs; returns when it has started.
///
/// # Errors
/// If `systemctl` fails, or the unit does not start in time.
pub async fn restart(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "restart", unit], JOB_LIMIT).await.map(drop)
}

/// Restarts a unit if it runs.
///
/// # Errors
/// If `systemctl` fails, or the unit does not start in time.
pub async fn restart_if_active(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "try-restart", unit], JOB_LIMIT).await.map(drop)
}

/// Makes a unit read its configuration again if it runs.
///
/// # Errors
/// If `systemctl` fails, or the unit rejects its configuration.
pub async fn reload_if_active(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "try-reload-or-restart", unit], JOB_LIMIT).await.map(drop)
}

/// Returns the first of these names that systemd knows, else the last one.
///
/// # Errors
/// If `systemctl` cannot be run.
pub async fn first_known<'a>(commands: &Commands, units: &[&'a str]) -> Result<&'a str, CommandError> {
    for unit in units {
        if is_known(commands, unit).await? {
            return Ok(unit);
        }
    }
    Ok(units.last().copied().unwrap_or_default())
}

/// Stops a unit. A missing unit is fine.
///
/// # Errors
/// If `systemctl` fails, or the unit does not stop in time.
pub async fn stop(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !is_known(commands, unit).await? {
        return Ok(());
    }
    commands.run(&["systemctl", "stop", unit], JOB_LIMIT).await.map(drop)
}

/// The state of a unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Whether it runs.
    pub active: bool,
    /// The start time of its process.
    pub since: Option<SystemTime>,
    /// Its process.
    pub pid: Option<u32>,
    /// Its own status text.
    pub status: String,
}

/// Returns a unit's state.
///
/// # Errors
/// If `systemctl` fails.
pub async fn unit(commands: &Commands, unit: &str) -> Result<Unit, CommandError> {
    let properties = "ActiveState,ExecMainStartTimestamp,MainPID,StatusText";
    // `--timestamp=unix` needs systemd 251.
    let text = commands.run(&["env", "TZ=UTC", "systemctl", "show", unit, "-p", properties], LIMIT).await?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    Ok(Unit {
        active: value("ActiveState=") == "active",
        since: timestamp(value("ExecMainStartTimestamp=")),
        pid: value("MainPID=").parse().ok().filter(|pid| *pid != 0),
        status: value("StatusText=").to_owned(),
    })
}

/// Parses a time as systemd shows it in UTC: `Sun 2026-11-22 21:53:56 UTC`. Returns `None` for an empty one: the unit never started.
fn timestamp(text: &str) -> Option<SystemTime> {
    let [_, date, time, "UTC"] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    OffsetDateTime::parse(&format!("{date}T{time}Z"), &Rfc3339).ok().map(SystemTime::from)
}

/// Reports that this service has started, for a unit with `Type=notify`. Does nothing if systemd did not start it.
pub fn ready() {
    send("READY=1");
}

/// The longest status line, in bytes.
const STATUS_LIMIT: usize = 1000;

/// Sets the status line in `systemctl status` of this service. Does nothing if systemd did not start it.
pub fn status(text: &str) {
    send(&format!("STATUS={}", one_line(text)));
}

/// Makes a status line of a text: a line break would start another assignment of sd_notify(3).
fn one_line(text: &str) -> String {
    let end = text.floor_char_boundary(STATUS_LIMIT);
    text[..end].replace(char::is_control, " ")
}

fn send(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    // If this fails, systemd lacks the status, or restarts the service after its time limit.
    let _ = notify(&socket, state);
}

/// Source: sd_notify(3).
fn notify(socket: &OsStr, state: &str) -> io::Result<usize> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(Path::new(OsStr::from_bytes(path)))?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_one_short_line() {
        assert_eq!(one_line("etcd:\nMAINPID=1\t\u{1b}[31m…"), "etcd: MAINPID=1  [31m…");
        let long = format!("x{}", "é".repeat(STATUS_LIMIT));
        assert_eq!(one_line(&long).len(), STATUS_LIMIT - 1);
    }

    #[test]
    fn a_time_is_read_as_systemd_shows_it() {
        let seconds = |text| timestamp(text).map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(seconds("Thu 1970-01-01 00:01:40 UTC"), Some(100));
        assert_eq!(seconds("Sun 2026-11-22 21:53:56 UTC"), Some(1_795_384_436));
        for unusable in ["", "n/a", "Sun 2026-11-22 22:53:56 CET"] {
            assert_eq!(seconds(unusable), None, "{unusable}");
        }
    }
}
