//! What a cluster consists of: parts, what each should be, and what there is.

pub mod body;
pub mod desired;
pub mod diff;
pub mod facts;
pub mod groups;
pub mod observe;
pub mod part;
pub mod plan;
pub mod quota;
pub mod rules;
pub mod snapshot;

pub use part::{Kind, Marker, Part};
pub use snapshot::{Found, Snapshot};
