//! What can go wrong: what was tried, why it failed, and what to do about it.

use std::{process::ExitCode, time::Duration};

/// Some machines failed, the rest is healthy. Source: docs/reference/cli.md; nodeinit exits with it, too.
pub const PARTLY: u8 = 3;

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
    #[error("{failed} of {all} failed or were not started; the others are done")]
    Partly {
        /// How many failed.
        failed: usize,
        /// Of how many.
        all: usize,
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
        code: u8,
    },
    /// A machine's SSH host key is unknown, or is not the pinned one.
    #[error("{what}")]
    HostKey {
        /// The machine.
        machine: String,
        /// What is wrong.
        what: String,
        /// As an exit code: 1, or 75 where the console may show the key later.
        code: u8,
    },
    /// Some servers are not ACTIVE and cannot be repaired by the provisioner; each was reported.
    #[error("{} unhealthy: {}; {rest}", if .machines.len() == 1 { "1 machine is".to_owned() } else { format!("{} machines are", .machines.len()) }, .machines.join(", "))]
    Unhealthy {
        /// Such as `w2 (SHELVED)`.
        machines: Vec<String>,
        /// What became of the others.
        rest: &'static str,
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
        /// How long the service asks its clients to wait.
        retry_after: Option<Duration>,
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
    /// The service redirects to where its token must not go.
    #[error("{request}: {cause}")]
    Redirected {
        /// Method, service and path.
        request: String,
        /// From where to where.
        cause: String,
    },
    /// An answer that is not read to its end.
    #[error("{request}: the answer of {url} is longer than {} MiB", limit >> 20)]
    TooLong {
        /// Method, service and path.
        request: String,
        /// Where it came from.
        url: String,
        /// The most that is read, in bytes.
        limit: usize,
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
    /// The cloud has several regions, and nothing names one.
    #[error("the cloud has the regions {}, and none is chosen", .0.join(", "))]
    Regions(Vec<String>),
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

    /// How long the service asks its clients to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answer { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the service has more requests than it can handle. Cinder's quota is a 413 too, and asks nobody to wait.
    pub fn is_overload(&self) -> bool {
        match self {
            Self::Answer { status: 413, retry_after, .. } => retry_after.is_some_and(|pause| !pause.is_zero()),
            Self::Answer { status, .. } => matches!(status, 429 | 503),
            _ => false,
        }
    }

    /// Whether trying again may help.
    pub fn may_heal(&self) -> bool {
        match self {
            _ if self.is_overload() => true,
            Self::Answer { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            Self::NoAnswer { .. } => true,
            Self::NoService { .. }
            | Self::Regions(_)
            | Self::Unreadable { .. }
            | Self::Untrusted { .. }
            | Self::Redirected { .. }
            | Self::TooLong { .. } => false,
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
                Some("check user, password, project and domain in clouds.yaml or in the OS_* variables".to_owned())
            }
            Self::Api(ApiError::Answer { status: 403 | 413, message, .. })
                if message.to_lowercase().contains("quota") =>
            {
                Some("request a larger quota, or use fewer or smaller machines".to_owned())
            }
            Self::Api(ApiError::Answer { status: 403, request, .. }) if request.contains("loadbalancer") => {
                Some("request the role load-balancer_member, or set `openstack.loadBalancer.enabled: false`".to_owned())
            }
            Self::Api(ApiError::Regions(_)) => {
                Some("name one as `region_name` in clouds.yaml, or as OS_REGION_NAME".to_owned())
            }
            Self::Api(ApiError::Untrusted { .. }) => {
                Some("set `cacert` to the CA's certificate in clouds.yaml (OS_CACERT)".to_owned())
            }
            Self::Api(ApiError::Redirected { .. }) => Some(
                "name the service's own address: `auth_url` in clouds.yaml (OS_AUTH_URL), or the endpoint in the cloud's catalogue"
                    .to_owned(),
            ),
            Self::Api(ApiError::NoService { service: "load-balancer", .. }) => {
                Some("set `openstack.loadBalancer.enabled: false` and `controlPlane.virtualAddress`".to_owned())
            }
            Self::Api(error) if error.may_heal() => Some("run it again to resume".to_owned()),
            Self::Deadline { .. } => {
                Some("run it again to resume; to wait longer, increase `openstack.timeouts`".to_owned())
            }
            Self::Fault { .. } => Some("run it again: it deletes and recreates what failed".to_owned()),
            Self::Machine { .. } => Some(
                "fix the cause (`journalctl -t nodeinit` on the machine shows it, too), then run it again to resume".to_owned(),
            ),
            Self::HostKey { machine, .. } => Some(format!(
                "compare the key with the machine itself (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` there) and write it \
                 under `hostKeys` of {machine} in the configuration, or under `hostKeys: {{{machine}: [...]}}` in the secrets bundle"
            )),
            Self::Unhealthy { .. } => Some("repair each as reported above, then run it again".to_owned()),
            Self::Partly { .. } => Some("run it again to resume".to_owned()),
            _ => None,
        }
    }

    /// Source: sysexits.h; docs/reference/cli.md for 2 and 3.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Configuration { .. } | Self::Api(ApiError::Regions(_)) => 78,
            Self::Api(ApiError::Answer { status: 401 | 403, .. }) => 77,
            Self::Api(error) if error.may_heal() => 75,
            Self::Deadline { .. } | Self::Busy { .. } => 75,
            Self::Partly { .. } | Self::Unhealthy { .. } => PARTLY,
            Self::Machine { code, .. } | Self::HostKey { code, .. } => *code,
            Self::Usage(_) => 64,
            Self::Defect(_) => 70,
            Self::Api(_) | Self::Fault { .. } | Self::Refused { .. } | Self::NotBegun(_) => 1,
        })
    }
}
