//! The steps of an upgrade to another version of Kubernetes. `plan/upgrade.rs` has their order.

pub mod check;
pub mod drain;
pub mod etcd_first;
mod former;
pub mod kubelet;
pub mod machine;
pub mod record;
pub mod replace;
pub mod snapshot;
pub mod takeover;

use nodeinit_config::versions::KubernetesVersion;

/// The hint of an error after which the upgrade can go on.
fn rerun(version: KubernetesVersion) -> String {
    format!("fix the cause, then run `nodeinit upgrade apply {version}` again, which resumes the upgrade")
}
