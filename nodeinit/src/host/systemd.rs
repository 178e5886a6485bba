//! systemd's units, through `systemctl`.

use super::commands::{CommandError, Commands};
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

/// `systemctl` answers in milliseconds; this is for a machine under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// How long a unit may take to start or stop: systemd's own default (`DefaultTimeoutStopSec`), and some.
const JOB_LIMIT: Duration = Duration::from_secs(100);

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

/// The link that enabling one of our units makes: all of them belong to `multi-user.target`.
#[must_use]
pub fn enabled(unit: &str) -> PathBuf {
    Path::new("/etc/systemd/system/multi-user.target.wants").join(unit)
}

/// Lets a unit start at boot. All units are read again at the next boot, and not now as `systemctl enable` does by itself: each
/// of systemd's generators would run.
///
/// # Errors
/// If `systemctl` fails.
pub async fn enable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "enable", "--quiet", "--no-reload", unit], LIMIT).await.map(drop)
}

/// Takes a unit from the boot. A missing unit is fine.
///
/// # Errors
/// If `systemctl` fails.
pub async fn disable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !is_known(commands, unit).await? {
        return Ok(());
    }
    commands.run(&["systemctl", "disable", "--quiet", unit], LIMIT).await.map(drop)
}

/// Starts a unit, or restarts it where it runs; returns when its start has ended.
///
/// # Errors
/// If `systemctl` fails, or the unit does not start in time.
pub async fn restart(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "restart", unit], JOB_LIMIT).await.map(drop)
}

/// Stops a unit. A missing unit is fine.
///
/// # Errors
/// If `systemctl` fails, or the unit does not end in time.
pub async fn stop(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !is_known(commands, unit).await? {
        return Ok(());
    }
    commands.run(&["systemctl", "stop", unit], JOB_LIMIT).await.map(drop)
}

/// What systemd says of a unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Whether it runs.
    pub active: bool,
    /// When its process started.
    pub since: Option<SystemTime>,
    /// Its process.
    pub pid: Option<u32>,
    /// What it reports of itself.
    pub status: String,
}

/// Asks for a unit's state.
///
/// # Errors
/// If `systemctl` fails.
pub async fn unit(commands: &Commands, unit: &str) -> Result<Unit, CommandError> {
    let properties = "ActiveState,ExecMainStartTimestamp,MainPID,StatusText";
    // `--timestamp=unix` is new in systemd 251.
    let text = commands.run(&["env", "TZ=UTC", "systemctl", "show", unit, "-p", properties], LIMIT).await?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    Ok(Unit {
        active: value("ActiveState=") == "active",
        since: timestamp(value("ExecMainStartTimestamp=")),
        pid: value("MainPID=").parse().ok().filter(|pid| *pid != 0),
        status: value("StatusText=").to_owned(),
    })
}

/// A time as systemd shows it in UTC: `Sun 2026-11-22 21:53:56 UTC`. `None` for an empty one: it never started.
fn timestamp(text: &str) -> Option<SystemTime> {
    let [_, date, time, "UTC"] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    OffsetDateTime::parse(&format!("{date}T{time}Z"), &Rfc3339).ok().map(SystemTime::from)
}

/// Reports that this service has started, for a unit with `Type=notify`. Where systemd did not start it, nothing happens.
pub fn ready() {
    send("READY=1");
}

/// Sets the line that `systemctl status` shows for this service. Where systemd did not start it, nothing happens.
pub fn status(text: &str) {
    send(&format!("STATUS={text}"));
}

fn send(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    // Without it systemd knows less, or starts the service again after its time limit.
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
    fn a_time_is_read_as_systemd_shows_it() {
        let seconds = |text| timestamp(text).map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(seconds("Thu 1970-01-01 00:01:40 UTC"), Some(100));
        assert_eq!(seconds("Sun 2026-11-22 21:53:56 UTC"), Some(1_795_384_436));
        for unusable in ["", "n/a", "Sun 2026-11-22 22:53:56 CET"] {
            assert_eq!(seconds(unusable), None, "{unusable}");
        }
    }
}
