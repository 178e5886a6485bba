//! The data that the two programs and the machines of a cluster exchange, as types: events, status, exit codes, permits, secrets, tokens.
//!
//! Machines of one cluster may run different versions. So every reader ignores keys that it does not know, and a key that an older
//! version does not write has a default. `docs/reference/cli.md` documents what is printed for other programs.

pub mod bundle;
mod bundle_error;
pub mod event;
pub mod exit;
mod map;
pub mod paths;
pub mod permit;
pub mod run;
pub mod status;
pub mod token;
pub mod version;
pub mod worker;

pub use bundle::Bundle;
pub use bundle_error::BundleError;
pub use event::{Event, Line, PathPart};
pub use exit::Exit;
pub use permit::Permit;
pub use worker::WorkerSecrets;
