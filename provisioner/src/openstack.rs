//! The cloud's services: requests with their retries, tokens, and waits. Knows nothing of clusters.

pub mod backoff;
mod catalogue;
pub mod client;
pub mod listing;
mod transport;

#[cfg(test)]
mod tests;

pub use catalogue::Service;
pub use client::{Client, Method};
