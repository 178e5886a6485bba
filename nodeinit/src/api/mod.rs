//! The only code that speaks HTTP.

pub mod connection;
pub mod cri;
pub mod download;
pub mod http;
pub mod kube;
pub mod registry;
