//! Exit codes.

/// The exit codes of the command line. Source: sysexits.h, and `docs/reference/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything is up to date.
    Done = 0,
    /// A step failed permanently.
    Failed = 1,
    /// `plan`: changes are pending.
    Pending = 2,
    /// Some hosts failed, but the rest is healthy.
    Partly = 3,
    /// The command line is invalid.
    Usage = 64,
    /// The machine fails preflight.
    Unfit = 69,
    /// A defect of nodeinit.
    Defect = 70,
    /// A wait timed out, or another run holds the lock: try again.
    TryAgain = 75,
    /// Permission denied.
    NoPermission = 77,
    /// The configuration is invalid.
    BadConfig = 78,
}

impl Exit {
    /// All exit codes, in order.
    pub const ALL: [Self; 10] = [
        Self::Done,
        Self::Failed,
        Self::Pending,
        Self::Partly,
        Self::Usage,
        Self::Unfit,
        Self::Defect,
        Self::TryAgain,
        Self::NoPermission,
        Self::BadConfig,
    ];

    /// Returns the exit code of a command on another machine. Every number that nodeinit does not use is a failure.
    #[must_use]
    pub fn of(code: u32) -> Self {
        Self::ALL.into_iter().find(|exit| u32::from(*exit as u8) == code).unwrap_or(Self::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_the_same_on_both_sides() {
        Exit::ALL.into_iter().for_each(|exit| assert_eq!(Exit::of(u32::from(exit as u8)), exit));
        assert_eq!(Exit::of(137), Exit::Failed);
    }
}
