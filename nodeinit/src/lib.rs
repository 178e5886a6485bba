//! Turns a bare machine into a Kubernetes master or worker.
//!
//! Data flows in one direction: configuration → `plan` (the steps of a role) → `engine` (runs them, keeps the journal) → `steps` (each
//! checks and changes one thing, with the pure modules `render` and `pki` and the effects `host`, `api` and [`nodeinit_ssh`]).
//! `docs/architecture.md` lists which module may call which.

#![allow(unreachable_pub, reason = "here `pub` means: for the whole crate; the exports for other crates are below")]

mod agent;
mod api;
mod bundle;
pub mod cli;
mod context;
mod engine;
mod fetch;
mod host;
mod join;
mod os;
mod pki;
mod plan;
mod render;
mod steps;

// For the tests of the whole, the benchmarks and the documentation. What is not listed is dead if this crate does not use it.
pub use api::kube::KubeClient;
pub use host::{archive::index as image_index, section::Section};
pub use join::{JoinError, JoinRequest, Joined, MachineIdentity, Trust};
pub use pki::{
    Key,
    bundle::{generate as generate_secrets, parse as parse_secrets},
    random::bootstrap_token as random_bootstrap_token,
};
pub use plan::of_first_master;
pub use render::cluster_objects::{BootstrapToken, NODE_TOKEN_GROUP, WORKER_TOKEN_GROUP, bootstrap_token};
