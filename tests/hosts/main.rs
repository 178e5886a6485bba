//! nodeinit on real hosts, with real Kubernetes: `make test` runs it, with root and the lab.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it expects")]

mod addons;
mod artifacts;
mod at_once;
mod bootstrap;
mod cluster;
mod configuration;
mod disk;
mod etcd;
mod fanout;
mod kill;
mod power;
mod reset;
mod secrets;
mod slow;
mod unfit;
mod virtual_address;
mod worker;
