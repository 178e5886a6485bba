//! Undoes what the journal says was made on this machine, and nothing else.

mod files;
mod machine;

pub use files::{Files, Journal};
pub use machine::{Images, Kernel, Kubelet, Mounts, Network, Pods};

use crate::{engine::step::Plan, steps::etcd::leave::Leave};

/// Everything that `up` made, in the order in which it can be taken away. The journal goes last, so that a reset that was
/// killed goes on. With `force`, the other masters' etcd may lose its quorum.
#[must_use]
pub fn plan(force: bool) -> Plan {
    vec![
        Box::new(Leave { force }),
        Box::new(Kubelet),
        Box::new(Pods),
        Box::new(Mounts),
        Box::new(Network),
        Box::new(Kernel),
        Box::new(Images),
        Box::new(Files),
        Box::new(Journal),
    ]
}
