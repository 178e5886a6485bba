//! The steps of every role.

use crate::{
    engine::{plan::PlanBuilder, step::Step, step_id::StepId as Id},
    steps::{
        artifacts,
        containerd::ContainerRuntime,
        fetched::Fetched,
        images,
        kubelet::{KubeletConfig, KubeletHealthy, KubeletService},
        os,
        preflight::Preflight,
        rollout_begin::Begin,
    },
};
use nodeinit_config::{Cluster, cluster::Role};

/// Checks the machine, then prepares it: everything else starts after `preflight`. What restarts the kubelet or static pods waits for `begin`.
/// Returns the last step that prepares the operating system: what writes below a directory in which a disk may be mounted waits for it.
pub(super) fn prepare(plan: &mut PlanBuilder, begin: Option<Begin>) -> Id {
    plan.add(Preflight, []);
    let mut restarts = Id::Preflight;
    if let Some(begin) = begin {
        plan.add(begin, [Id::Preflight]);
        restarts = Id::RolloutBegin;
    }
    let before = plan.add_chain(os::steps().into_iter().map(|step| step as Box<dyn Step>), Id::Preflight);
    // Name servers, proxies and CAs are set before downloads.
    plan.add(Fetched, [restarts.clone(), before.clone()]);
    plan.add(ContainerRuntime, [Id::Fetch]);
    plan.add(KubeletConfig, [restarts, before.clone()]);
    before
}

/// Installs programs and images.
pub(super) fn install(plan: &mut PlanBuilder, cluster: &Cluster, role: Role) {
    let [kubelet, others] = artifacts::steps(cluster);
    plan.add(kubelet, [Id::Fetch]);
    // `kubelet-config` claims the directories of the pod network, whose plugins are installed here; `containerd` installs some of the
    // same programs.
    plan.add(others, [Id::KubeletConfig, Id::Containerd]);
    for image in images::steps(cluster, role) {
        plan.add(image, [Id::Containerd]);
    }
}

/// Starts the kubelet, which needs no image. The step `credentials` writes its kubeconfig.
pub(super) fn kubelet(plan: &mut PlanBuilder, credentials: Id) {
    // containerd waits for the steps that prepare the operating system.
    plan.add(KubeletService, [Id::KubeletConfig, Id::KubeletBinary, credentials, Id::Containerd]);
    plan.add(KubeletHealthy, [Id::Kubelet]);
}
