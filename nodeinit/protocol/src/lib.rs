//! The data that the two programs and the machines of a cluster exchange, as types: events, status, exit codes, permits, secrets, tokens.
//!
//! Machines of one cluster may run different versions. Therefore every reader ignores unknown keys, and a key that an older
//! version does not write has a default. `docs/cli.md` documents the output for other programs.

pub mod bundle;
mod bundle_error;
pub mod event;
pub mod exit;
mod map;
pub mod paths;
pub mod permit;
pub mod status;
pub mod token;
pub mod worker;

pub use bundle::Bundle;
pub use bundle_error::BundleError;
pub use event::{Event, Line, PathPart};
pub use exit::Exit;
pub use permit::Permit;
pub use worker::WorkerSecrets;
