//! Why something did not work on another machine, and whether trying again may help.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

/// What was under way when a limit passed or a connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Connecting to the server's port.
    Connect,
    /// The versions and the key exchange.
    Handshake,
    /// Logging in.
    Login,
    /// A command.
    Command,
    /// Sending a file.
    Upload,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Handshake => "the SSH handshake",
            Self::Login => "the login",
            Self::Command => "a command",
            Self::Upload => "an upload",
        })
    }
}

/// What did not work on the machine `name`.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// Nobody listens, or there is no way.
    #[error("cannot reach the SSH server of {name} at {address}")]
    Unreachable {
        /// The machine.
        name: String,
        /// Its SSH server.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The jump host gave no way to it.
    #[error("the jump host {via} cannot connect to {name} at {address}: {reason}")]
    NoTunnel {
        /// The machine.
        name: String,
        /// Its SSH server.
        address: SocketAddr,
        /// The jump host.
        via: String,
        /// Why.
        reason: String,
        /// Whether the jump host forbids it.
        forbidden: bool,
    },
    /// It may not reach a server of ours through the connection.
    #[error(
        "{name} cannot reach this machine through the SSH connection: its SSH server forbids it (`AllowTcpForwarding`)"
    )]
    NotLent {
        /// The machine.
        name: String,
    },
    /// What is sent cannot be read on this machine.
    #[error("cannot read the local content for {name}")]
    Input {
        /// The other machine.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The other side does not speak SSH, or none that we know.
    #[error("no SSH handshake with {name} at {address}")]
    Handshake {
        /// The machine.
        name: String,
        /// Its SSH server.
        address: SocketAddr,
        /// Why.
        source: Box<russh::Error>,
    },
    /// Another machine than the expected one.
    #[error(
        "{name} shows the host key {shown}, but {expected} is expected: another machine answers, or the host was \
         reinstalled; nothing was sent to it. If its console shows that key (`ssh-keygen -lf \
         /etc/ssh/ssh_host_ed25519_key.pub`), write it under `hostKeys`"
    )]
    WrongHostKey {
        /// The machine.
        name: String,
        /// The known keys' fingerprints.
        expected: String,
        /// The fingerprint of the key that it shows.
        shown: String,
    },
    /// No key of the machine is known.
    #[error(
        "no host key of {name} is known, and nothing was sent to it; it shows {fingerprint}. If its console shows the same fingerprint (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`), add `hostKeys: [{line}]` to the machine's entry, or accept unknown host keys at the first contact with `ssh.trustOnFirstUse: true`"
    )]
    UnknownHostKey {
        /// The machine.
        name: String,
        /// The fingerprint of the key that it shows.
        fingerprint: String,
        /// That key: `type base64`.
        line: String,
    },
    /// A known host key that is none.
    #[error(
        "the host key {line:?} of {name} is not of the form `type base64`, as in /etc/ssh/ssh_host_ed25519_key.pub"
    )]
    BadHostKey {
        /// The machine.
        name: String,
        /// What stands there.
        line: String,
    },
    /// All known host keys are of types that are not checked.
    #[error(
        "for {name}, only a host key of the type {kind} is known; add the content of its /etc/ssh/ssh_host_ed25519_key.pub to `hostKeys`"
    )]
    OldHostKey {
        /// The machine.
        name: String,
        /// The type.
        kind: String,
    },
    /// Our key is not accepted.
    #[error(
        "{name} refuses the login of {user} with the key `{public}`; add the key to {user}'s ~/.ssh/authorized_keys on that machine"
    )]
    Refused {
        /// The machine.
        name: String,
        /// Who tried to log in.
        user: String,
        /// The public half of our key.
        public: String,
    },
    /// Our key is accepted, but something else is wanted, too.
    #[error("{name} requires more than a key to log in as {user}: {methods}")]
    NotEnough {
        /// The machine.
        name: String,
        /// Who tried to log in.
        user: String,
        /// What it wants.
        methods: String,
    },
    /// The user may log in, but for nothing.
    #[error("{name} runs no commands for {user}: {says}; set `ssh.user`")]
    WrongUser {
        /// The machine.
        name: String,
        /// Who logged in.
        user: String,
        /// What the machine answers.
        says: String,
    },
    /// The user may not become root.
    #[error(
        "{user} cannot become root on {name}: {says}; allow it sudo without a password (`{user} ALL=(ALL) NOPASSWD: ALL`)"
    )]
    Sudo {
        /// The machine.
        name: String,
        /// Who logged in.
        user: String,
        /// What sudo says.
        says: String,
    },
    /// A limit passed.
    #[error("{name}: {phase} did not end within {} s", .limit.as_secs_f32())]
    TimedOut {
        /// The machine.
        name: String,
        /// What was under way.
        phase: Phase,
        /// How long it was given.
        limit: Duration,
    },
    /// The connection is there, but nothing more is started on it.
    #[error(
        "{name} refuses another command on this connection: {reason}; its SSH server limits the sessions of one connection (`MaxSessions`)"
    )]
    Busy {
        /// The machine.
        name: String,
        /// What it answers.
        reason: String,
    },
    /// The connection is gone.
    #[error("the connection to {name} broke during {phase}")]
    Broken {
        /// The machine.
        name: String,
        /// What was under way.
        phase: Phase,
        /// Why, where it is known.
        source: Option<Arc<russh::Error>>,
    },
    /// A command ended by a signal.
    #[error("a command on {name} was ended by the signal {signal}")]
    Killed {
        /// The machine.
        name: String,
        /// Its name without `SIG`.
        signal: String,
    },
    /// A command that must succeed did not.
    #[error("{name}: a command ended with {code}: {says}")]
    Failed {
        /// The machine.
        name: String,
        /// The command's exit code.
        code: u32,
        /// What the command printed.
        says: String,
    },
    /// A command wrote more than we take.
    #[error("a command on {name} wrote more than {} MiB", .limit >> 20)]
    TooMuch {
        /// The machine.
        name: String,
        /// What is taken, in bytes.
        limit: usize,
    },
    /// A file could not be written.
    #[error("cannot write {to} on {name}: {says}")]
    Upload {
        /// The machine.
        name: String,
        /// The file.
        to: String,
        /// What the machine answers.
        says: String,
    },
}

impl SshError {
    /// Whether waiting may help, as with a host that still boots: it does not listen yet, or has not been given our
    /// key. A wrong host key, a missing right or a full disk stays what it is.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Broken { .. } => true,
            Self::NoTunnel { forbidden, .. } => !forbidden,
            Self::Handshake { source, .. } => {
                use russh::Error::{Disconnect, HUP, IO};
                matches!(**source, IO(_) | Disconnect | HUP)
            }
            _ => false,
        }
    }
}
