//! Turns a bare machine into a Kubernetes master or worker.
//!
//! Data goes one way: configuration → [`plan`] (a list of steps for a role) → [`engine`] (runs them, keeps the journal)
//! → [`steps`] (each checks and changes one thing, with the pure rooms [`render`] and [`pki`] and the effects [`host`],
//! [`api`] and [`nodeinit_ssh`]).

pub mod agent;
pub mod api;
pub mod bundle;
pub mod cli;
pub mod context;
pub mod engine;
pub mod fetch;
pub mod host;
pub mod join;
pub mod pki;
pub mod plan;
pub mod render;
pub mod steps;
