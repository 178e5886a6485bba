//! Code that both programs use and that does not depend on clusters: waits, back-off, atomic files, digests, durations, the causes
//! of errors, the critical path.

pub mod atomic_file;
pub mod backoff;
pub mod causes;
pub mod critical_path;
pub mod digest;
pub mod directory;
pub mod duration;
pub mod wait;

pub use backoff::Backoff;
pub use causes::with_causes;
pub use digest::{hex, sha256_hex, sha256_of};
pub use wait::{Wait, WaitError};

/// The target of debug detail: events that `--verbose` shows. Their level is info, because lower ones are compiled out.
pub const DETAIL: &str = "detail";
