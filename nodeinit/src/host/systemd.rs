//! systemd's units, through `systemctl`.

use super::commands::{CommandError, Commands};
use std::time::Duration;

/// `systemctl` answers in milliseconds; this is for a machine under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// How long a unit may take to start or stop: systemd's own default (`DefaultTimeoutStopSec`), and some.
const JOB_LIMIT: Duration = Duration::from_secs(100);

/// Whether systemd knows a unit of this name.
///
/// # Errors
/// Where `systemctl` cannot be run.
async fn is_known(commands: &Commands, unit: &str) -> Result<bool, CommandError> {
    let state = commands.run(&["systemctl", "show", "--property=LoadState", "--value", unit], LIMIT).await?;
    Ok(state.trim() == "loaded")
}

/// Makes systemd read its unit files again.
///
/// # Errors
/// Where `systemctl` fails.
pub async fn reload(commands: &Commands) -> Result<(), CommandError> {
    commands.run(&["systemctl", "daemon-reload"], LIMIT).await.map(drop)
}

/// Lets a unit start at boot. All units are read again at the next boot, and not now as `systemctl enable` does by itself: each
/// of systemd's generators would run.
///
/// # Errors
/// Where `systemctl` fails.
pub async fn enable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    commands.run(&["systemctl", "enable", "--quiet", "--no-reload", unit], LIMIT).await.map(drop)
}

/// Takes a unit from the boot. A missing unit is fine.
///
/// # Errors
/// Where `systemctl` fails.
pub async fn disable(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !is_known(commands, unit).await? {
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

/// Stops a unit. A missing unit is fine.
///
/// # Errors
/// Where `systemctl` fails, or the unit does not end in time.
pub async fn stop(commands: &Commands, unit: &str) -> Result<(), CommandError> {
    if !is_known(commands, unit).await? {
        return Ok(());
    }
    commands.run(&["systemctl", "stop", unit], JOB_LIMIT).await.map(drop)
}
