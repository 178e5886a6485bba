//! The provisioner creates a cluster's OpenStack resources, and hands each machine the binary and its role's
//! configuration.
//!
//! Data goes one way: configuration → what should be ([`resources::desired`]) and what is ([`resources::observe`]) →
//! the difference ([`resources::diff`], pure) → [`apply`] or [`destroy`].

pub mod apply;
pub mod balancer;
pub mod cli;
pub mod cloud;
pub mod delivery;
pub mod destroy;
pub mod error;
pub mod gone;
pub mod lock;
pub mod machine;
pub mod openstack;
pub mod output;
pub mod permit;
pub mod replace;
pub mod report;
pub mod resources;
pub mod secrets;
#[cfg(test)]
mod testing;
pub mod timeline;
pub mod userdata;
