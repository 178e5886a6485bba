//! The configuration of a cluster: reads, merges and validates it. This crate does no I/O.
//!
//! Data flows in one direction: texts of files → merged values with their origins → [`Cluster`], which is always valid.
//! The provisioner and `nodeinit` use the same types.

pub mod cluster;
mod component;
pub mod folder;
mod identify;
pub mod import;
pub mod keys;
mod layer;
mod load;
mod logins;
mod model;
mod problem;
pub mod releases;
pub mod secret;
mod text;
pub mod upstream;
mod view;

pub use cluster::Cluster;
pub use component::Component;
pub use identify::{Local, UnknownMachine};
pub use layer::Layer;
pub use load::{Loaded, load};
pub use logins::{DOCKER_HUB, Logins};
pub use model::{
    addon::Addon,
    cluster_id::fresh_cluster_id,
    defaults, field as schema, format,
    openstack::{self, OpenStack},
    versions,
};
pub use problem::{Origin, Problem, Problems};
pub use releases::Release;
pub use secret::Secret;
pub use text::yaml;
pub use view::{
    diff::{Difference, Set},
    projection::{Made, Trust},
    schema::json_schema,
    template::{short_template, template},
};
