//! SSH: commands and files on other machines, to a host whose key is known, with a time limit on everything; and nodeinit there.
//!
//! A [`Session`] is one connection, possibly through another one (a jump host). Host keys are compared before anything
//! but the key exchange is sent. Nothing secret is ever part of a command: it goes by standard input. [`Way`] waits for a machine,
//! [`Session::place`] sends what differs, [`Session::nodeinit`] runs nodeinit there and follows its events.

mod algorithms;
mod client_key;
mod command;
mod content;
mod error;
mod host_key;
mod machine;
mod nodeinit;
mod place;
mod session;
mod signature;
mod upload;

pub use client_key::{ClientKey, ClientKeyError};
pub use command::{Output, hex_word, quoted};
pub use content::Content;
pub use error::{Phase, SshError};
pub use host_key::fingerprint;
pub use machine::{NotReached, Way};
pub use nodeinit::{BrokeTooOften, LockWait, Ran, Reconnects, run_limit};
pub use place::{COMMAND, Executable, Placed, UPLOAD, Wanted, digest_command};
pub use session::Session;
pub use signature::{FileSignature, SignatureError};
pub use upload::RemoteFile;

use std::net::SocketAddr;

/// A machine to be reached by SSH.
#[derive(Clone, Debug)]
pub struct Target {
    /// The machine's name; in every error.
    pub name: String,
    /// Where its SSH server listens; seen from the jump host, where there is one.
    pub address: SocketAddr,
    /// Who logs in. Anybody but root needs sudo without a password.
    pub user: String,
    /// Its known host keys, each `type base64`, a comment may follow; one match is enough.
    pub host_keys: Vec<String>,
    /// Whether to accept what it shows where `host_keys` is empty. A known key is never overruled.
    pub trust_on_first_use: bool,
}
