//! A worker: it joins a cluster that is there, or is about to be.

use crate::{
    engine::step::Plan,
    steps::{
        artifacts,
        containerd::ContainerRuntime,
        fetched::Fetched,
        images,
        join::{self, Join},
        kubelet::{KubeletConfig, KubeletHealthy, KubeletService},
        metadata::MetadataRule,
        os_prepare::OsPrepare,
        preflight::Preflight,
        worker_node::WorkerReady,
    },
};
use nodeinit_config::{Cluster, cluster::Role};

/// It joins beside all that its kubelet needs; the kubelet starts when both are there, and waits for no image.
#[must_use]
pub fn plan(cluster: &Cluster) -> Plan {
    let mut plan: Plan = vec![
        Box::new(Preflight),
        Box::new(Fetched),
        Box::new(OsPrepare),
        Box::new(ContainerRuntime),
        Box::new(MetadataRule),
        Box::new(KubeletConfig),
        Box::new(Join),
    ];
    plan.extend(artifacts::steps(cluster));
    plan.extend(images::steps(cluster, Role::Worker));
    plan.extend([Box::new(KubeletService { credentials: join::NAME }) as _, Box::new(KubeletHealthy) as _]);
    plan.push(Box::new(WorkerReady { needs: plan.iter().map(|step| step.name()).collect() }));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;
    use std::collections::BTreeSet;

    #[test]
    fn each_step_stands_behind_those_that_it_needs_and_none_is_a_masters() {
        let (_dir, cx) = context();
        let mut before = BTreeSet::new();
        for step in plan(&cx.cluster) {
            assert!(step.needs().iter().all(|need| before.contains(need)), "{}", step.name());
            assert!(before.insert(step.name()), "{} stands twice", step.name());
        }
        for name in ["pki", "kubeconfig", "image-etcd", "image-kube-apiserver", "etcd"] {
            assert!(!before.contains(name), "{name}");
        }
        assert!(before.contains("image-pause") && before.contains("image-kube-proxy"));
    }
}
