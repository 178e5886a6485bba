//! A worker: it joins a cluster, which may still be starting.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step_id::StepId as Id,
    },
    plan::machine,
    steps::{join::JoinCluster, worker_node::WorkerReady},
};
use nodeinit_config::{Cluster, cluster::Role};

/// Returns the plan. The worker joins in parallel with the preparation of its kubelet, which starts when both have ended.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub(super) fn plan(cluster: &Cluster) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    let prepared = machine::prepare(&mut plan, None);
    plan.add(JoinCluster, [prepared]);
    machine::install(&mut plan, cluster, Role::Worker);
    machine::kubelet(&mut plan, Id::Join);
    plan.add_last(WorkerReady);
    plan.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    #[test]
    fn a_worker_has_no_step_of_a_master() {
        let (_dir, cx) = context();
        let plan = plan(&cx.cluster).unwrap();
        for name in ["pki", "kubeconfig", "image-etcd", "image-kube-apiserver", "etcd"] {
            assert!(plan.named(name).is_none(), "{name}");
        }
        assert!(plan.named("image-pause").is_some() && plan.named("image-kube-proxy").is_some());
    }
}
