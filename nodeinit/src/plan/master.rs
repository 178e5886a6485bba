//! A further master: it joins the control plane of the first one.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step_id::{ImageName, StepId as Id},
    },
    plan::machine,
    render::kubelet::requests_serving_certificate,
    steps::{
        agent::AgentService,
        encryption_config::EncryptionConfig,
        etcd::EtcdMember,
        fanout::FanOutKey,
        first_api_server::FirstApiServer,
        kubeconfig::Kubeconfigs,
        node::RegisterNode,
        node_ready::NodeReady,
        pki::Pki,
        rollout_begin::Begin,
        static_pods::{ApiServerConfig, Healthy, PlaceManifest},
        verify_kubelets::VerifyKubelets,
        virtual_address,
    },
};
use nodeinit_config::{
    Cluster,
    Component::{self, ApiServer, ControllerManager, Etcd, Scheduler},
    cluster::{KubernetesImage, Role},
};

/// Runs everything that does not need the other masters first, so that only the etcd membership waits for its turn. The control plane
/// starts when this machine is a voting member and the first master's API answers. The first master manages the cluster's objects.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub(super) fn plan(cluster: &Cluster) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    join(&mut plan, cluster, None);
    if requests_serving_certificate(cluster) {
        plan.add_last(VerifyKubelets);
    }
    plan.add_last(NodeReady);
    plan.build()
}

/// Adds everything up to this master's node.
pub(super) fn join(plan: &mut PlanBuilder, cluster: &Cluster, begin: Option<Begin>) {
    prepare(plan, cluster, begin);
    plan.add(EtcdMember::of_master(), member([Id::Kubelet]));
    plan.add(FirstApiServer, [Id::Kubeconfig, Id::EtcdMember]);
    // `etcd-member` places etcd's manifest.
    plan.add(Healthy(Etcd), [Id::EtcdMember, Id::Kubelet]);
    // The API server exits if etcd rejects it, and a learner rejects all clients.
    manifest(plan, ApiServer, [Id::ApiServerConfig, Id::EtcdMember, Id::FirstApiServer]);
    plan.add(Healthy(ApiServer), [Id::Manifest(ApiServer), Id::Kubelet, Id::Healthy(Etcd)]);
    for late in [ControllerManager, Scheduler] {
        // They are not leaders yet, so they leave the processor to the API server.
        manifest(plan, late, [Id::Healthy(ApiServer)]);
        plan.add(Healthy(late), [Id::Manifest(late), Id::Kubelet, Id::Healthy(ApiServer)]);
    }
    if cluster.control_plane.virtual_address.is_some() {
        kube_vip(plan);
    }
    plan.add(RegisterNode, [Id::Healthy(ApiServer)]);
    plan.add(AgentService, [Id::Kubeconfig, Id::Healthy(ApiServer)]);
}

/// Adds the steps of every master that do not need the other masters: keys, programs, images, and the kubelet.
pub(super) fn prepare(plan: &mut PlanBuilder, cluster: &Cluster, begin: Option<Begin>) {
    let prepared = machine::prepare(plan, begin);
    machine::install(plan, cluster, Role::Master);
    plan.add(Pki, [Id::Preflight]);
    plan.add(Kubeconfigs, [Id::Pki, prepared]);
    plan.add(EncryptionConfig, [Id::Preflight]);
    plan.add(FanOutKey, [Id::Preflight]);
    plan.add(ApiServerConfig, [Id::KubeletConfig, Id::EncryptionConfig]);
    machine::kubelet(plan, Id::Kubeconfig);
}

/// Returns the dependencies of the step `etcd-member` on every master, and `also`.
pub(super) fn member(also: impl IntoIterator<Item = Id>) -> Vec<Id> {
    let mut after =
        vec![Id::Kubeconfig, image(KubernetesImage::Pause), image(KubernetesImage::Etcd), Id::KubeletConfig];
    after.extend(also);
    // The step compares the digest of the encryption keys with those of the other masters, or publishes it.
    after.push(Id::EncryptionConfig);
    after
}

/// Adds the component's static pod. In addition to `also`, it depends on its images, and on `kubelet-config`, which claims directories
/// before anything is written there.
pub(super) fn manifest(plan: &mut PlanBuilder, component: Component, also: impl IntoIterator<Item = Id>) {
    let own = match component {
        Etcd => KubernetesImage::Etcd,
        ApiServer => KubernetesImage::ApiServer,
        ControllerManager => KubernetesImage::ControllerManager,
        Scheduler => KubernetesImage::Scheduler,
    };
    let mut after = vec![Id::Kubeconfig, image(KubernetesImage::Pause), image(own)];
    after.extend(also);
    after.push(Id::KubeletConfig);
    plan.add(PlaceManifest(component), after);
}

/// Adds kube-vip's static pod, which depends on its image if a step imports it.
pub(super) fn kube_vip(plan: &mut PlanBuilder) {
    let image_step = Id::Image(ImageName::of("kube-vip"));
    let mut after = vec![Id::Kubeconfig, Id::KubeletConfig, image(KubernetesImage::Pause)];
    after.extend(plan.has(&image_step).then_some(image_step));
    plan.add(virtual_address::PlaceKubeVip, after);
}

fn image(image: KubernetesImage) -> Id {
    Id::Image(image.into())
}
