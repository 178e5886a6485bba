//! What the tests on hosts are written with: a host of `tests/lab`, what runs on it, what lies on its disk; the cloud of
//! `tests/openstack`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests panic on an unexpected value, run programs of the lab, and print"
)]

mod cloud;
mod cluster;
mod counter;
mod host;
mod listing;
mod output;
pub mod pages;
#[cfg(feature = "lab")]
mod runner;
mod slot;

pub use cloud::Cloud;
pub use cluster::Cluster;
pub use counter::Counter;
pub use host::{
    Host, Server, Upstream, build_addons, newest_version, release_directory, release_directory_of, supported_versions,
    version,
};
pub use listing::{Listing, difference};
pub use output::{Output, Running};
#[cfg(feature = "lab")]
pub use runner::{Test, main};
