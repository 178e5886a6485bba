//! What can go wrong: what was tried, why it failed, and what to do about it.

use std::process::ExitCode;

/// Failed, and how that is told to a person and to the shell.
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
    /// A service refused, or did not answer.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// A wait came to its end.
    #[error("{thing}: waited {seconds} s until {what}; last seen: {last}")]
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
    #[error("{thing}: the cloud could not make it: {fault}")]
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
    #[error("{failed} of {all} failed or were not begun; the rest is done")]
    Partly {
        /// How many failed.
        failed: usize,
        /// Of how many.
        all: usize,
    },
    /// Another task has failed before.
    #[error("not begun: {0} failed")]
    NotBegun(String),
    /// A machine could not be reached, or did not do what it should.
    #[error("{what}")]
    Machine {
        /// Which, and why.
        what: String,
        /// How nodeinit there ended, or what fits.
        code: u8,
    },
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// A defect of ours.
    #[error("{0}: a defect of the provisioner, please report it")]
    Defect(String),
}

/// What a service of the cloud said, or that it said nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// An answer that is a refusal.
    #[error("{request}: answered {status}: {message}")]
    Answer {
        /// Method, service and path.
        request: String,
        /// The HTTP status.
        status: u16,
        /// The service's own words.
        message: String,
    },
    /// No answer at all.
    #[error("{request}: no answer: {cause}")]
    NoAnswer {
        /// Method, service and path.
        request: String,
        /// Why.
        cause: String,
    },
    /// The service's certificate is not good. Waiting does not change a certificate.
    #[error("{request}: {cause}")]
    Untrusted {
        /// Method, service and path.
        request: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The catalogue has no such service.
    #[error("the cloud's catalogue has no service {service} (interface {interface}{})", .region.as_ref().map(|r| format!(", region {r}")).unwrap_or_default())]
    NoService {
        /// Its type.
        service: &'static str,
        /// The interface that was asked for.
        interface: String,
        /// The region that was asked for.
        region: Option<String>,
    },
    /// An answer that cannot be read.
    #[error("{request}: the answer cannot be read: {cause}")]
    Unreadable {
        /// Method, service and path.
        request: String,
        /// Why.
        cause: String,
    },
}

impl ApiError {
    /// The HTTP status, where there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answer { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether trying again may help.
    pub fn may_heal(&self) -> bool {
        match self {
            Self::Answer { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            Self::NoAnswer { .. } => true,
            Self::NoService { .. } | Self::Unreadable { .. } | Self::Untrusted { .. } => false,
        }
    }
}

impl Error {
    /// A lower-case sentence that tells what to do, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Configuration { remedy, .. } | Self::Refused { remedy, .. } | Self::Busy { remedy, .. } => {
                Some(remedy.clone())
            }
            Self::Api(ApiError::Answer { status: 401, .. }) => {
                Some("look at user, password, project and domain in clouds.yaml or in the OS_* variables".to_owned())
            }
            Self::Api(ApiError::Answer { status: 403 | 413, message, .. })
                if message.to_lowercase().contains("quota") =>
            {
                Some("ask for a larger quota, or make fewer or smaller machines".to_owned())
            }
            Self::Api(ApiError::Untrusted { .. }) => {
                Some("name the authority's certificate as `cacert` in clouds.yaml (OS_CACERT)".to_owned())
            }
            Self::Api(ApiError::NoService { service: "load-balancer", .. }) => {
                Some("set `openstack.loadBalancer.enabled: false` and `controlPlane.virtualAddress`".to_owned())
            }
            Self::Api(error) if error.may_heal() => Some("run it again: it goes on where it ended".to_owned()),
            Self::Deadline { .. } => {
                Some("run it again: it goes on where it ended; `openstack.timeouts` are longer on request".to_owned())
            }
            Self::Fault { .. } => Some("run it again: what could not be made is deleted and made anew".to_owned()),
            Self::Machine { .. } => Some(
                "mend the cause, which `journalctl -t nodeinit` there tells, too, and run it again: it goes on where it ended".to_owned(),
            ),
            Self::Partly { .. } => Some("run it again: it goes on where it ended".to_owned()),
            _ => None,
        }
    }

    /// Source: sysexits.h, and DESIGN.md for 2 and 3.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Configuration { .. } => 78,
            Self::Api(ApiError::Answer { status: 401 | 403, .. }) => 77,
            Self::Api(error) if error.may_heal() => 75,
            Self::Deadline { .. } | Self::Busy { .. } => 75,
            Self::Partly { .. } => 3,
            Self::Machine { code, .. } => *code,
            Self::Usage(_) => 64,
            Self::Defect(_) => 70,
            Self::Api(_) | Self::Fault { .. } | Self::Refused { .. } | Self::NotBegun(_) => 1,
        })
    }
}

/// An error with all that led to it.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
