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
pub mod join;
pub mod pki;
mod plan;
mod render;
mod steps;

// For the integration tests and the documentation.
pub use api::kube::KubeClient;
pub use engine::journal::{hex, sha256};
pub use host::{archive, section::Section};
pub use plan::of_first_master;
pub use render::cluster_objects;
