//! What the two programs and the machines of a cluster exchange, as types: events, status, exit codes, permits, secrets, tokens.
//!
//! Machines of one cluster may run different versions. So every reader ignores keys that it does not know, and a key that an older
//! version does not write has a default. `docs/cli.md` documents what is printed for other programs.

pub mod event;
pub mod exit;
pub mod paths;
pub mod permit;
pub mod status;
pub mod token;

pub use event::{Event, Line, PathPart};
pub use exit::Exit;
pub use permit::Permit;
