//! The first master: it starts the cluster.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step_id::StepId as Id,
    },
    plan::{Reach, master},
    render::kubelet::requests_serving_certificate,
    steps::{
        addons,
        agent::AgentService,
        cluster::Objects,
        cluster_ready::Ready,
        etcd::{EtcdMember, Permit},
        fanout::{self, Host},
        node::RegisterNode,
        rollout::{End, Own, Rollout},
        rollout_begin::Begin,
        static_pods::Healthy,
        tokens::Tokens,
        verify_kubelets::VerifyKubelets,
        virtual_address,
    },
};
use nodeinit_config::{
    Cluster,
    Component::{self, ApiServer, ControllerManager, Etcd, Scheduler},
    cluster::{Cni, Role},
};
use std::rc::Rc;

/// Prepares keys, programs and images in parallel; then starts the kubelet with etcd and the API server, and the two other components when
/// etcd is healthy; then, when the API answers, applies all objects in parallel. With `masters_last`, workers finish before the other
/// masters start.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub(super) fn plan(
    cluster: &Cluster,
    own: &str,
    reach: &Reach,
    permit: Permit,
    masters_last: bool,
) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    let (hosts, rollout) = fanout::hosts(cluster, own);
    master::prepare(&mut plan, cluster, Begin::of(cluster, &rollout));
    control_plane(&mut plan, cluster, permit);
    plan.add(RegisterNode, [Id::Healthy(ApiServer)]);
    if cluster.control_plane.virtual_address.is_some() {
        master::kube_vip(&mut plan);
    }
    objects(&mut plan, cluster);
    plan.add(AgentService, [Id::Kubeconfig, Id::ClusterConfig]);
    finish(plan, cluster, hosts, rollout, reach, masters_last)
}

/// The plan of a further master that leads: it brings itself up as usual, and then does for the cluster and the other machines what the
/// first master does.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub(super) fn leading(cluster: &Cluster, own: &str, reach: &Reach, masters_last: bool) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    let (hosts, rollout) = fanout::hosts(cluster, own);
    master::join(&mut plan, cluster, Begin::of(cluster, &rollout));
    objects(&mut plan, cluster);
    finish(plan, cluster, hosts, rollout, reach, masters_last)
}

/// Adds the other machines, and what waits for all of them.
fn finish(
    mut plan: PlanBuilder,
    cluster: &Cluster,
    hosts: Vec<Host>,
    rollout: Rc<Rollout>,
    reach: &Reach,
    masters_last: bool,
) -> Result<Plan, PlanError> {
    if *reach != Reach::Here {
        let healthy = Component::ALL.map(Id::Healthy).into_iter().chain([Id::KubeletHealthy]);
        plan.add(Own(rollout.clone()), healthy);
        other_machines(&mut plan, hosts, reach, masters_last);
    }
    if *reach == Reach::Everywhere {
        plan.add_last(End(rollout));
    }
    if requests_serving_certificate(cluster) {
        plan.add_last(VerifyKubelets);
    }
    plan.add_last(Ready { rolled_out: false });
    for addon in addons::wanted(cluster) {
        plan.add(addon, [Id::Ready]);
    }
    plan.build()
}

fn control_plane(plan: &mut PlanBuilder, cluster: &Cluster, permit: Permit) {
    let (others, member) = EtcdMember::of_first_master(cluster, permit);
    let has_others = others.is_some();
    if let Some(others) = others {
        plan.add(others, [Id::Pki]);
    }
    let mut after = master::member([]);
    after.extend(has_others.then_some(Id::OtherMasters));
    plan.add(member, after);
    // Only then is it known whether this etcd is new.
    master::manifest(plan, Etcd, [Id::EtcdMember]);
    plan.add(Healthy(Etcd), [Id::Manifest(Etcd), Id::Kubelet]);
    master::manifest(plan, ApiServer, [Id::ApiServerConfig]);
    plan.add(Healthy(ApiServer), [Id::Manifest(ApiServer), Id::Kubelet, Id::Healthy(Etcd)]);
    for late in [ControllerManager, Scheduler] {
        // Until then, etcd and the API server, on which everything depends, have the processor to themselves.
        master::manifest(plan, late, [Id::Healthy(Etcd)]);
        plan.add(Healthy(late), [Id::Manifest(late), Id::Kubelet, Id::Healthy(ApiServer)]);
    }
}

fn objects(plan: &mut PlanBuilder, cluster: &Cluster) {
    let api = Id::Healthy(ApiServer);
    plan.add(Objects::Bootstrap, [api.clone()]);
    plan.add(Tokens, [api.clone()]);
    // These pods connect to the API at its endpoint.
    let mut after_endpoint = vec![api.clone()];
    if let Some(address) = cluster.control_plane.virtual_address {
        // Before its role is bound, kube-vip may not take the lease.
        plan.add(virtual_address::Answers(address), [Id::KubeVipManifest, api.clone(), Id::ClusterConfig]);
        after_endpoint.push(Id::VirtualAddress);
    }
    if cluster.addons.kube_proxy {
        plan.add(Objects::KubeProxy, after_endpoint.clone());
    }
    if cluster.addons.cni != Cni::None {
        plan.add(Objects::Cni, after_endpoint);
    }
    if cluster.addons.coredns {
        plan.add(Objects::CoreDns, [api]);
    }
}

fn other_machines(plan: &mut PlanBuilder, hosts: Vec<Host>, reach: &Reach, masters_last: bool) {
    let hosts = hosts.into_iter().filter(|host| match reach {
        Reach::Everywhere => true,
        Reach::Only { name, .. } => host.machine() == name,
        Reach::Here => false,
    });
    let (workers, masters): (Vec<_>, Vec<_>) = hosts.partition(|host| host.role() == Role::Worker);
    let before: Vec<Id> = match masters_last {
        true => workers.iter().map(|host| Id::Host(host.machine().to_owned())).collect(),
        false => Vec::new(),
    };
    if masters_last {
        masters.iter().for_each(Host::follows_workers);
    }
    let masters = masters.into_iter().map(|host| {
        let after = before.iter().cloned().chain([Id::Pki, Id::Fetch, Id::EncryptionConfig]);
        (host, after.collect::<Vec<Id>>())
    });
    let workers = workers.into_iter().map(|host| (host, vec![Id::Pki, Id::Fetch]));
    let hosts: Vec<_> = match masters_last {
        true => workers.chain(masters).collect(),
        false => masters.chain(workers).collect(),
    };
    hosts.into_iter().for_each(|(host, after)| plan.add(host, after));
}

#[cfg(test)]
mod tests {
    use super::Id;
    use crate::{
        context::testing::context_of,
        host::files::NewFile,
        plan::{Reach, for_role},
        steps::etcd::Permit,
    };

    /// The API server of this master was started by an `up` without the agent.
    #[tokio::test]
    async fn if_the_agent_is_enabled_later_masters_follow_the_workers() {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (_dir, cx) = context_of(&format!(
            "{head}masters: [{{name: m1, address: 10.0.0.11}}, {{name: m2, address: 10.0.0.12}}]\nworkers: [{{name: w1, address: 10.0.0.21}}]\n"
        ));
        let order = || {
            let plan = for_role(&cx, &Reach::Everywhere, Permit::None).unwrap();
            let master = plan.named("host-m2").unwrap();
            (master.after.contains(&Id::Host("w1".into())), cx.renderer().verify_kubelets)
        };
        let manifest = |text| vec![NewFile::private("/etc/kubernetes/manifests/kube-apiserver.yaml", text)];
        assert_eq!(order(), (false, true), "a new cluster");
        cx.place(manifest("    - --profiling=false\n")).await.unwrap();
        assert_eq!(order(), (true, false));
        cx.place(manifest("    - --kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt\n")).await.unwrap();
        assert_eq!(order(), (false, true));
    }
}
