//! The steps of an upgrade to another version of Kubernetes. `plan/upgrade.rs` has their order.

pub mod check;
pub mod drain;
pub mod etcd_downgrade;
pub mod etcd_first;
mod former;
pub mod kubelet;
pub mod machine;
pub mod record;
pub mod replace;
pub mod snapshot;
pub mod takeover;

use crate::context::Context;

/// The command that resumes what is under way.
fn command(cx: &Context) -> String {
    let subcommand = if cx.rollout.back { "rollback" } else { "apply" };
    format!("nodeinit upgrade {subcommand} {}", cx.cluster.version)
}

/// The hint of an error after which it can go on.
fn rerun(cx: &Context) -> String {
    format!("fix the cause, then run `{}` again, which resumes", command(cx))
}
