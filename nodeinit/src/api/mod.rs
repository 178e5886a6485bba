//! The only code that speaks HTTP.

pub mod connection;
pub mod cri;
pub mod download;
pub mod etcd;
mod grpc;
pub mod http;
pub mod kube;
pub mod lent;
pub mod oci;
pub mod registry;

#[cfg(test)]
mod testing;
