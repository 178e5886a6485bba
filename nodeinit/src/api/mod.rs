//! The only code that speaks HTTP.

pub mod connection;
pub mod cri;
pub mod kube;
pub mod http;
