//! The configuration of a cluster: as written, merged, validated. This crate does no I/O.
//!
//! Data goes one way: the files' text → merged values with their origins → [`Cluster`], which cannot be wrong.
//! The provisioner and `nodeinit` use the same types.

mod addon;
mod assemble;
mod check;
pub mod cluster;
mod cluster_id;
mod component;
pub mod defaults;
mod emit;
pub mod format;
mod identify;
mod json_schema;
pub mod keys;
mod load;
mod logins;
mod merge;
mod names;
mod node;
pub mod openstack;
mod parse;
mod part;
mod problem;
pub mod releases;
mod rules;
pub mod schema;
pub mod secret;
mod show;
mod suggest;
mod template;
pub mod upstream;
pub mod versions;
pub mod yaml;

pub use addon::Addon;
pub use cluster::Cluster;
pub use cluster_id::fresh_cluster_id;
pub use component::Component;
pub use identify::{Local, UnknownMachine};
pub use json_schema::json_schema;
pub use load::{Layer, Loaded, load};
pub use logins::{DOCKER_HUB, Logins};
pub use openstack::OpenStack;
pub use part::{Made, Trust};
pub use problem::{Origin, Problem, Problems};
pub use releases::Release;
pub use secret::Secret;
pub use template::template;
