//! The way to a machine: its SSH server, the jump host before it, and our key.

use super::{ClientKey, Session, SshError, Target};
use nodeinit_base::{Wait, WaitError, with_causes};
use nodeinit_config::cluster::{JumpHost, Machine, Ssh};
use nodeinit_protocol::bundle::JUMP_HOST;
use std::{
    net::{IpAddr, SocketAddr},
    ops::ControlFlow,
    time::Duration,
};

/// How long each phase of one attempt to log in may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The first and the longest pause between two attempts. Servers penalize clients that fail more often.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));

impl Target {
    /// A machine of the configuration at this address: its own port and user, else those of `ssh`. An unknown host key is rejected.
    #[must_use]
    pub fn machine(machine: &Machine, ssh: &Ssh, address: IpAddr, host_keys: Vec<String>) -> Self {
        Self {
            name: machine.name.clone(),
            address: SocketAddr::new(address, machine.ssh.port.unwrap_or(ssh.port)),
            user: machine.ssh.user.clone().unwrap_or_else(|| ssh.user.clone()),
            host_keys,
            trust_on_first_use: false,
        }
    }

    /// The jump host of the configuration. An unknown host key is rejected.
    #[must_use]
    pub fn jump_host(jump: &JumpHost, host_keys: Vec<String>) -> Self {
        Self {
            name: JUMP_HOST.into(),
            address: SocketAddr::new(jump.address, jump.port),
            user: jump.user.clone(),
            host_keys,
            trust_on_first_use: false,
        }
    }
}

/// What it takes to log in to a machine.
#[derive(Clone, Debug)]
pub struct Way {
    /// The key with which we log in, also to the jump host.
    pub key: ClientKey,
    /// The machine.
    pub target: Target,
    /// The machine through which it is reached. `None`: directly.
    pub jump: Option<Target>,
}

/// Why a machine was not reached. `E` is the caller's error about a host key.
#[derive(Debug)]
pub enum NotReached<E> {
    /// It did not let us in before the deadline.
    Late(WaitError),
    /// An attempt failed; [`SshError::is_temporary`] tells whether another one may succeed.
    Ssh(SshError),
    /// The caller rejected a host key, or could not store it.
    HostKey(E),
}

impl Way {
    /// One attempt to log in. `trust` receives each host key that was accepted on first use, before the connection is used; it
    /// stores the key, or rejects it.
    ///
    /// # Errors
    /// [`NotReached`], but not [`NotReached::Late`].
    pub async fn attempt<E>(
        &self,
        trust: impl AsyncFn(&Target, &str) -> Result<(), E>,
    ) -> Result<Session, NotReached<E>> {
        self.attempt_through(&mut None, &trust).await
    }

    /// One attempt through the jump host's session `via`, which is opened if it does not exist or is closed.
    async fn attempt_through<E>(
        &self,
        via: &mut Option<Session>,
        trust: &impl AsyncFn(&Target, &str) -> Result<(), E>,
    ) -> Result<Session, NotReached<E>> {
        via.take_if(|session| session.is_closed());
        if let (Some(jump), None) = (&self.jump, &via) {
            *via = Some(self.log_in(jump, None, trust).await?);
        }
        self.log_in(&self.target, via.as_ref(), trust).await
    }

    async fn log_in<E>(
        &self,
        target: &Target,
        via: Option<&Session>,
        trust: &impl AsyncFn(&Target, &str) -> Result<(), E>,
    ) -> Result<Session, NotReached<E>> {
        let session = Session::connect(target, via, &self.key, ATTEMPT).await.map_err(NotReached::Ssh)?;
        if target.host_keys.is_empty() {
            trust(target, session.host_key()).await.map_err(NotReached::HostKey)?;
        }
        Ok(session)
    }

    /// Logs in as soon as the machine lets us in, within `limit`; `trust` as for [`Self::attempt`].
    ///
    /// # Errors
    /// [`NotReached::Late`] at the deadline; the others at once, because waiting does not help.
    pub async fn connect<E>(
        &self,
        limit: Duration,
        trust: impl AsyncFn(&Target, &str) -> Result<(), E>,
    ) -> Result<Session, NotReached<E>> {
        let what = format!("SSH to {} at {}", self.target.name, self.target.address);
        // One connection for all attempts: the jump host may limit new ones.
        let mut via = None;
        let attempt = async || match self.attempt_through(&mut via, &trust).await {
            Ok(session) => ControlFlow::Break(Ok(session)),
            Err(NotReached::Ssh(error)) if error.is_temporary() => ControlFlow::Continue(with_causes(&error)),
            Err(error) => ControlFlow::Break(Err(error)),
        };
        let wait = Wait::new(what, limit).first_pause(PAUSES.0).at_most_every(PAUSES.1);
        wait.until(attempt).await.unwrap_or_else(|late| Err(NotReached::Late(late)))
    }
}
