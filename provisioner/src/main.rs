//! `provisioner`: creates a cluster's OpenStack resources.
fn main() {}
