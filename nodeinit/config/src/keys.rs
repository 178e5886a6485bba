//! The keys of `cluster.yaml`.

pub use crate::{model::API_VERSION, model::CLUSTER, model::KIND};
