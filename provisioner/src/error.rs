//! What can go wrong: what was tried, why it failed, and what to do about it.

mod api;
mod causes;

pub use api::ApiError;
pub use causes::{Cause, Causes};
use nodeinit_base::WaitError;
use nodeinit_config::Problems;
use nodeinit_protocol::{Exit, event::ConfigProblem};
use std::fmt::Display;

/// A failure, its message and its exit code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration, or how to get into the cloud, is wrong.
    #[error("{what}")]
    Configuration {
        /// What is wrong.
        what: String,
        /// What to write instead.
        remedy: String,
    },
    /// The configuration is not valid.
    #[error("{0}")]
    Invalid(#[from] Problems),
    /// A service refused, or did not answer.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// A wait came to its end.
    #[error("{thing}: timed out after {seconds} s waiting until {what}; last state: {last}")]
    Deadline {
        /// Such as `server/m1`.
        thing: String,
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What was last seen.
        last: String,
    },
    /// The cloud made it, and could not.
    #[error("{thing}: the cloud could not create it: {fault}")]
    Fault {
        /// Such as `server/m1`.
        thing: String,
        /// The cloud's own words.
        fault: String,
    },
    /// Something is in the way that is not ours to change.
    #[error("{what}")]
    Refused {
        /// What is in the way.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// Somebody else is at work on the same cluster.
    #[error("{what}")]
    Busy {
        /// Who, since when.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// Some of it failed; each failure was told when it happened.
    #[error("{failed} of {all} operations failed or were not started; the others are done")]
    Partly {
        /// How many failed.
        failed: usize,
        /// Of how many.
        all: usize,
        /// What failed first; the rest failed because of it.
        causes: Vec<Cause>,
    },
    /// Another task has failed before.
    #[error("not started: {0} failed")]
    NotBegun(String),
    /// A machine could not be reached, or did not do what it should.
    #[error("{what}")]
    Machine {
        /// Which, and why.
        what: String,
        /// How nodeinit there ended, or what fits.
        exit: Exit,
    },
    /// A machine's SSH host key is unknown, or is not the pinned one.
    #[error("{what}")]
    HostKey {
        /// The machine.
        machine: String,
        /// What is wrong.
        what: String,
        /// [`Exit::Failed`], or [`Exit::TryAgain`] where the console may show the key later.
        exit: Exit,
    },
    /// Some servers are not ACTIVE and cannot be repaired by the provisioner; each was reported.
    #[error("{} unhealthy: {}; {rest}", if .machines.len() == 1 { "1 machine is".to_owned() } else { format!("{} machines are", .machines.len()) }, .machines.join(", "))]
    Unhealthy {
        /// Such as `w2 (SHELVED)`.
        machines: Vec<String>,
        /// What became of the others.
        rest: &'static str,
    },
    /// A machine is replaced. Something failed afterwards, and the same command would replace the machine again.
    #[error("{machine} is replaced, but the run failed afterwards: {what}")]
    Replaced {
        /// The machine.
        machine: String,
        /// What failed.
        what: String,
    },
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// A defect of ours.
    #[error("{0}: a defect of the provisioner, please report it")]
    Defect(String),
}

impl Error {
    /// A wait for something of `thing` came to its end.
    pub fn timed_out(thing: impl Display, wait: WaitError) -> Self {
        Self::Deadline { thing: thing.to_string(), what: wait.what, seconds: wait.limit.as_secs(), last: wait.seen }
    }

    /// Whether nodeinit on a machine ended with [`Exit::Partly`]: that machine is ready, and some of those that it leads failed.
    pub fn is_partly(&self) -> bool {
        matches!(self, Self::Machine { exit: Exit::Partly, .. })
    }

    /// A lower-case sentence that tells what to do, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Configuration { remedy, .. } | Self::Refused { remedy, .. } | Self::Busy { remedy, .. } => {
                Some(remedy.clone())
            }
            Self::Api(error) => error.hint(),
            Self::Deadline { .. } => {
                Some("run the same command again to resume; to wait longer, increase `openstack.timeouts`".to_owned())
            }
            Self::Fault { .. } => {
                Some("run the same command again, which deletes and recreates the failed resource".to_owned())
            }
            Self::Machine { .. } => Some(
                "fix the cause (`journalctl -t nodeinit` on the machine shows it, too), then run the same `provisioner` command here again, which resumes"
                    .to_owned(),
            ),
            Self::HostKey { machine, .. } => Some(format!(
                "compare the key with the machine itself (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` there) and write it \
                 under `hostKeys` of {machine} in the configuration, or under `hostKeys: {{{machine}: [...]}}` in the secrets bundle"
            )),
            Self::Unhealthy { .. } => {
                Some("repair each unhealthy machine as reported above, then run the same command again".to_owned())
            }
            Self::Partly { .. } => Some("run the same command again to resume".to_owned()),
            Self::Replaced { machine, .. } => Some(format!(
                "do not run the same command again, which would replace {machine} again; fix the cause, then run `provisioner apply`, \
                 which tells the other machines its new address and host key"
            )),
            _ => None,
        }
    }

    /// What failed first, if this is the end of a run of many parts.
    pub fn causes(&self) -> &[Cause] {
        match self {
            Self::Partly { causes, .. } => causes,
            _ => &[],
        }
    }

    /// What is wrong with the configuration, if that is the failure.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        match self {
            Self::Invalid(problems) => problems.errors.iter().map(ConfigProblem::from).collect(),
            _ => Vec::new(),
        }
    }

    /// How the program ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Configuration { .. } | Self::Invalid(_) | Self::Api(ApiError::Regions(_)) => Exit::BadConfig,
            Self::Api(error) if matches!(error.status(), Some(401 | 403)) => Exit::NoPermission,
            Self::Api(error) if error.may_heal() => Exit::TryAgain,
            Self::Deadline { .. } | Self::Busy { .. } => Exit::TryAgain,
            Self::Partly { .. } | Self::Unhealthy { .. } => Exit::Partly,
            Self::Machine { exit, .. } | Self::HostKey { exit, .. } => *exit,
            Self::Usage(_) => Exit::Usage,
            Self::Defect(_) => Exit::Defect,
            Self::Api(_) | Self::Fault { .. } | Self::Refused { .. } | Self::Replaced { .. } | Self::NotBegun(_) => {
                Exit::Failed
            }
        }
    }
}
