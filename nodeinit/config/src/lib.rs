//! The configuration of a cluster: as written, merged, validated. This crate does no I/O.
//!
//! Data goes one way: the files' text → merged values with their origins → [`Cluster`], which cannot be wrong.
//! The provisioner and `nodeinit` use the same types.

pub mod cluster;
pub mod secret;
pub mod versions;

pub use cluster::Cluster;
pub use secret::Secret;
