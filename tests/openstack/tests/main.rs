//! Tests of the provisioner on a real OpenStack API: `make test` runs some of them, `make test-openstack` all. They need root and
//! the lab. A test may leave the resources of its cluster to the next one; the last one by name leaves nothing.
#![allow(clippy::unwrap_used, clippy::disallowed_macros, reason = "a test panics on an unexpected value, and prints")]

mod at_once;
mod bastion;
mod come_and_go;
mod faults;
mod killed;
mod machines;
mod refused;
mod replace;
mod states;
mod terminal;
mod whole;
