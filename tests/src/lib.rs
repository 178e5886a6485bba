//! What the tests on real hosts are written with: a host of `tests/lab`, what runs on it, what lies on its disk; the cloud of
//! `tests/openstack`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests end where something is not as they expect, and run programs of the lab"
)]

mod cloud;
mod cluster;
mod host;
mod listing;
mod output;

pub use cloud::Cloud;
pub use cluster::Cluster;
pub use host::{Host, Server, lab_directory};
pub use listing::{Listing, difference};
pub use output::{Output, Running};
