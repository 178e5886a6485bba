//! The steps of an upgrade to another version of Kubernetes. `plan/upgrade.rs` has their order.

pub mod check;
pub mod drain;
pub mod etcd_downgrade;
pub mod etcd_first;
pub mod kubelet;
pub mod machine;
pub mod record;
pub mod replace;
pub mod snapshot;
pub mod takeover;

use crate::context::Context;

/// The hint of an error after which it can go on.
fn rerun(cx: &Context) -> String {
    format!("fix the cause, then run the same command again, which resumes the {}", cx.rollout.change())
}
