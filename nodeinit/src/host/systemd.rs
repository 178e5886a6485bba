//! systemd's units, through `systemctl`.

use super::commands::{CommandError, Commands};
use std::time::Duration;

/// `systemctl` answers in milliseconds; this is for a machine under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// How long a unit may take to start or stop: systemd's own default (`DefaultTimeoutStopSec`), and some.
const JOB_LIMIT: Duration = Duration::from_secs(100);

/// What systemd knows of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// Whether there is such a unit (`LoadState`).
    pub loaded: bool,
    /// `ActiveState`, such as `active` or `failed`.
    pub active: String,
    /// `SubState`, such as `running` or `auto-restart`.
    pub sub: String,
    /// Whether it starts at boot (`UnitFileState`).
    pub enabled: bool,
    /// Whether its file changed since systemd read it.
    pub needs_reload: bool,
    /// How often systemd restarted it by itself.
    pub restarts: u32,
    /// When it last became active, in microseconds of the monotonic clock; 0 for never.
    pub active_since: u64,
}

impl UnitState {
    /// Whether it runs and starts at boot.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.enabled && self.active == "active" && !self.needs_reload
    }
}

/// What systemd knows of `unit`; an unknown unit is not an error.
///
/// # Errors
/// Where `systemctl` cannot be run.
pub async fn state(commands: &Commands, unit: &str) -> Result<UnitState, CommandError> {
    const SHOWN: &str =
        "-pLoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,NRestarts,ActiveEnterTimestampMonotonic";
    Ok(parse(&commands.run(&["systemctl", "show", SHOWN, unit], LIMIT).await?))
}

fn parse(text: &str) -> UnitState {
    let mut state = UnitState::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match key {
            "LoadState" => state.loaded = value == "loaded",
            "ActiveState" => state.active = value.into(),
            "SubState" => state.sub = value.into(),
            "UnitFileState" => state.enabled = value == "enabled",
            "NeedDaemonReload" => state.needs_reload = value == "yes",
            "NRestarts" => state.restarts = value.parse().unwrap_or(0),
            "ActiveEnterTimestampMonotonic" => state.active_since = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    state
}

/// Makes systemd read its unit files again.
///
/// # Errors
/// Where `systemctl` fails.
pub async fn reload(commands: &Commands) -> Result<(), CommandError> {
    commands.run(&["systemctl", "daemon-reload"], LIMIT).await.map(drop)
}

/// Lets a unit start at boot. Reads unit files again, as `systemctl enable` does.
///
/// # Errors
/// Where `systemctl` fails.
pub async fn enable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "enable", "--quiet", unit], LIMIT).await.map(drop)
}

/// Takes a unit from the boot. A missing unit is fine.
///
/// # Errors
/// Where `systemctl` fails.
pub async fn disable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !state(commands, unit).await?.loaded {
        return Ok(());
    }
    commands.run(&["systemctl", "disable", "--quiet", unit], LIMIT).await.map(drop)
}

/// Starts a unit, or restarts it where it runs; returns when its start has ended.
///
/// # Errors
/// Where `systemctl` fails, or the unit does not start in time.
pub async fn restart(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "restart", unit], JOB_LIMIT).await.map(drop)
}

/// Starts a unit; nothing happens where it runs.
///
/// # Errors
/// Where `systemctl` fails, or the unit does not start in time.
pub async fn start(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "start", unit], JOB_LIMIT).await.map(drop)
}

/// Stops a unit. A missing unit is fine.
///
/// # Errors
/// Where `systemctl` fails, or the unit does not end in time.
pub async fn stop(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !state(commands, unit).await?.loaded {
        return Ok(());
    }
    commands.run(&["systemctl", "stop", unit], JOB_LIMIT).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemctl_shows_is_understood() {
        let state = parse(
            "LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nNeedDaemonReload=no\n\
             NRestarts=2\nActiveEnterTimestampMonotonic=5000\n",
        );
        assert!(state.is_up());
        assert_eq!((state.restarts, state.active_since), (2, 5000));
        let missing = parse("LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\n");
        assert!(!missing.loaded && !missing.is_up());
    }
}
