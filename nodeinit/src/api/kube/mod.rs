//! A small client of the Kubernetes API over one HTTP/2 connection. `client` sends requests, `watch` reads events, `discovery` finds the path
//! of an object, `types` has what is read of the objects.
//!
//! Source: Kubernetes API concepts.

mod client;
mod discovery;
mod error;
#[cfg(test)]
mod tests;
mod tls;
pub mod types;
mod watch;

pub use client::{FIELD_MANAGER, KubeClient, local_api};
pub use error::ApiError;
pub use tls::{client_tls, roots};
pub use watch::{Event, LONGEST_OBJECT};
