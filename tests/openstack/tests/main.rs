//! The provisioner on a real OpenStack API: `make test` runs some of it, `make test-openstack` all, with root and the lab.
//! Tests that end with a cluster's resources leave them to the next one; the last in the order of their names leaves nothing.
#![allow(clippy::unwrap_used, clippy::disallowed_macros, reason = "a test panics on an unexpected value, and prints")]

mod at_once;
mod bastion;
mod come_and_go;
mod faults;
mod killed;
mod machines;
mod refused;
mod states;
mod terminal;
mod whole;
