//! The upgrade to another version of Kubernetes.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step::Step,
        step_id::StepId as Id,
    },
    plan::Reach,
    steps::{
        addons,
        agent::AgentService,
        artifacts,
        cluster::Objects,
        cluster_ready::Ready,
        containerd::ContainerRuntime,
        fanout::{self, Host},
        fetched::Fetched,
        images,
        rollout::{End, Own, Rollout},
        rollout_begin,
        static_pods::ApiServerConfig,
        upgrade::{
            check::Check,
            drain::{Drain, Uncordon},
            etcd_downgrade::EtcdDowngrade,
            etcd_first::{EtcdFirst, image_step},
            kubelet::ReplaceKubelet,
            machine::{EtcdFirstOn, UpgradeMachine},
            record::{Begin, Version},
            replace::ReplaceControlPlane,
            snapshot::TakeSnapshot,
        },
    },
};
use nodeinit_config::{
    Cluster,
    cluster::{Cni, Node, Role},
};
use std::rc::Rc;

/// The settings of an upgrade.
pub struct Upgrade {
    /// The checks before it.
    pub check: Check,
    /// What is recorded at its end.
    pub version: Version,
    /// Whether nodes are drained.
    pub drain: bool,
}

/// Copies images to all machines, then upgrades this machine, then the other ones one after the other, masters first. With
/// [`Reach::Here`], only this machine.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn plan(cluster: &Cluster, node: &Node, reach: &Reach, upgrade: Upgrade) -> Result<Plan, PlanError> {
    let (Upgrade { check, version, drain }, role) = (upgrade, node.role);
    let mut plan = PlanBuilder::default();
    prepare(&mut plan, cluster, role, check);
    if role == Role::Worker || *reach == Reach::Here {
        plan.add_last(Begin { leads_back: false });
        machine(&mut plan, cluster, role);
        plan.add_last(version);
        return plan.build();
    }
    let hosts = fanout::upgrades(cluster, &node.name);
    begin(&mut plan, hosts.stages);
    plan.add_last(EtcdDowngrade);
    begin_rollout(&mut plan, cluster, &hosts.rollout);
    etcd_first(&mut plan, cluster, role);
    if cluster.release.etcd_before_upgrade.is_some() {
        hosts.etcds.into_iter().for_each(|etcd| plan.add_last(EtcdFirstOn(etcd)));
    }
    own(&mut plan, cluster, node, drain);
    plan.add_last(Own(hosts.rollout.clone()));
    let (workers, masters) = by_role(hosts.machines);
    for master in masters {
        others(&mut plan, vec![master], drain);
    }
    objects(&mut plan, cluster);
    // A node whose kube-proxy restarts does not notice that pods end on a node that is drained.
    plan.add_last(Ready { rolled_out: true });
    others(&mut plan, workers, drain);
    end(&mut plan, cluster, version, hosts.rollout);
    plan.build()
}

/// Copies images to all machines, then returns the workers, the shared objects, the other masters and this one to the former version: no
/// kubelet or kube-proxy is newer than an API server. Source: Kubernetes' version skew policy.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn rollback(cluster: &Cluster, node: &Node, upgrade: Upgrade) -> Result<Plan, PlanError> {
    let Upgrade { check, version, drain } = upgrade;
    let mut plan = PlanBuilder::default();
    prepare(&mut plan, cluster, node.role, check);
    let hosts = fanout::upgrades(cluster, &node.name);
    begin(&mut plan, hosts.stages);
    plan.add_last(Begin { leads_back: true });
    hosts.rollout.own_last();
    let (workers, masters) = by_role(hosts.machines);
    others(&mut plan, workers, drain);
    objects(&mut plan, cluster);
    // Controllers that do not act must not delay their own replacement.
    plan.add_last(Ready { rolled_out: false });
    plan.add_last(EtcdDowngrade);
    for master in masters {
        others(&mut plan, vec![master], drain);
    }
    begin_rollout(&mut plan, cluster, &hosts.rollout);
    own(&mut plan, cluster, node, drain);
    plan.add_last(Own(hosts.rollout.clone()));
    end(&mut plan, cluster, version, hosts.rollout);
    plan.build()
}

/// Prepares the other machines, and takes a snapshot.
fn begin(plan: &mut PlanBuilder, stages: Vec<Host>) {
    stages.into_iter().for_each(|stage| plan.add(stage, [Id::Fetch]));
    plan.add_last(TakeSnapshot);
}

fn begin_rollout(plan: &mut PlanBuilder, cluster: &Cluster, rollout: &Rc<Rollout>) {
    if let Some(begin) = rollout_begin::Begin::of(cluster, rollout) {
        plan.add_last(begin);
    }
}

/// Brings this master to the version.
fn own(plan: &mut PlanBuilder, cluster: &Cluster, node: &Node, drain: bool) {
    plan.add_last(Drain { evict: drain });
    machine(plan, cluster, node.role);
    plan.add_last(Uncordon { node: node.name.clone() });
}

fn by_role(machines: Vec<Host>) -> (Vec<Host>, Vec<Host>) {
    machines.into_iter().partition(|host| host.role() == Role::Worker)
}

/// Brings other machines to the version, as many at a time as the rollout lets.
fn others(plan: &mut PlanBuilder, hosts: Vec<Host>, drain: bool) {
    let after = plan.all();
    for host in hosts {
        let node = host.machine().to_owned();
        plan.add(UpgradeMachine { host, evict: drain }, after.clone());
        plan.add(Uncordon { node: node.clone() }, [Id::Host(node)]);
    }
}

/// Records the version, ends the rollout, and applies the addons, after the last machine.
fn end(plan: &mut PlanBuilder, cluster: &Cluster, version: Version, rollout: Rc<Rollout>) {
    plan.add_last(version);
    plan.add_last(End(rollout));
    for addon in addons::wanted(cluster) {
        plan.add(addon, [Id::RolloutEnd]);
    }
}

/// Copies images to this machine, and changes nothing that runs.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn stage(cluster: &Cluster, role: Role, check: Check) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    prepare(&mut plan, cluster, role, check);
    plan.build()
}

/// Brings this master's etcd to the version that the upgrade needs.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn etcd(cluster: &Cluster, role: Role, check: Check) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    prepare(&mut plan, cluster, role, check);
    etcd_first(&mut plan, cluster, role);
    plan.build()
}

fn etcd_first(plan: &mut PlanBuilder, cluster: &Cluster, role: Role) {
    plan.add_last(Begin { leads_back: false });
    if role.is_master() && cluster.release.etcd_before_upgrade.is_some() {
        plan.add_last(EtcdFirst);
    }
}

fn prepare(plan: &mut PlanBuilder, cluster: &Cluster, role: Role, check: Check) {
    plan.add(check, []);
    plan.add(Fetched, [Id::UpgradeCheck]);
    let before = image_step(cluster).filter(|_| role.is_master());
    let images = images::steps(cluster, role).into_iter().chain(before);
    // One after the other: etcd serves from the same disk.
    plan.add_chain(images.map(|image| Box::new(image) as Box<dyn Step>), Id::Fetch);
}

/// Upgrades this machine.
fn machine(plan: &mut PlanBuilder, cluster: &Cluster, role: Role) {
    plan.add_last(ContainerRuntime);
    match role {
        Role::Worker => plan.add_last(ReplaceKubelet),
        _ => {
            plan.add_last(ApiServerConfig);
            plan.add_last(ReplaceControlPlane);
        }
    }
    let [_, binaries] = artifacts::steps(cluster);
    plan.add_last(binaries);
    if role.is_master() {
        plan.add_last(AgentService);
    }
}

/// Applies what all masters share, after the last master.
fn objects(plan: &mut PlanBuilder, cluster: &Cluster) {
    plan.add_last(Objects::Bootstrap);
    if cluster.addons.kube_proxy {
        plan.add(Objects::KubeProxy, [Id::ClusterConfig]);
    }
    if cluster.addons.cni != Cni::None {
        plan.add(Objects::Cni, [Id::ClusterConfig]);
    }
    if cluster.addons.coredns {
        plan.add(Objects::CoreDns, [Id::ClusterConfig]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context_of, steps::upgrade::check::Scope};

    fn steps(role: Role, reach: &Reach) -> Plan {
        planned(role, |cluster, node, upgrade| plan(cluster, node, reach, upgrade))
    }

    fn planned(role: Role, plan: impl Fn(&Cluster, &Node, Upgrade) -> Result<Plan, PlanError>) -> Plan {
        let (_dir, cx) = context_of(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.36.4}\n\
             masters: [{name: m1, address: 10.0.0.11}, {name: m2, address: 10.0.0.12}]\nworkers: [{name: w1, address: 10.0.0.21}]\n",
        );
        let upgrade = Upgrade {
            check: Check { from: cx.cluster.version, scope: Scope::Cluster { drain: true } },
            version: Version { configured: cx.cluster.version, written: None },
            drain: true,
        };
        plan(&cx.cluster, &Node { role, ..(*cx.node).clone() }, upgrade).unwrap()
    }

    fn names(plan: &Plan) -> Vec<String> {
        plan.nodes().iter().map(|node| node.id.to_string()).collect()
    }

    #[test]
    fn masters_are_upgraded_first_one_after_the_other() {
        let all = steps(Role::FirstMaster, &Reach::Everywhere);
        let order = [
            "upgrade-check",
            "stage-m2",
            "etcd-snapshot",
            "upgrade-begin",
            "drain",
            "upgrade-control-plane",
            "uncordon-m1",
            "host-m2",
            "uncordon-m2",
            "cluster-config",
            "ready",
            "host-w1",
            "version",
        ];
        in_order(&all, &order);
        for copied in ["image-kube-apiserver", "stage-w1"] {
            assert!(waits_for(&all, "upgrade-begin", copied), "{copied}");
        }
    }

    fn in_order(plan: &Plan, order: &[&str]) {
        for pair in order.windows(2) {
            assert!(waits_for(plan, pair[1], pair[0]), "{} does not wait for {}: {:?}", pair[1], pair[0], names(plan));
        }
    }

    /// Whether a step starts only after another one has ended.
    fn waits_for(plan: &Plan, step: &str, earlier: &str) -> bool {
        let node = plan.nodes().iter().find(|node| node.id.to_string() == step).unwrap_or_else(|| panic!("no {step}"));
        node.after.iter().map(ToString::to_string).any(|after| after == earlier || waits_for(plan, &after, earlier))
    }

    #[test]
    fn a_rollback_begins_with_the_workers_and_ends_with_the_leading_master() {
        let order = [
            "upgrade-check",
            "stage-m2",
            "etcd-snapshot",
            "upgrade-begin",
            "host-w1",
            "uncordon-w1",
            "cluster-config",
            "ready",
            "etcd-downgrade",
            "host-m2",
            "uncordon-m2",
            "drain",
            "upgrade-control-plane",
            "version",
        ];
        in_order(&planned(Role::FirstMaster, rollback), &order);
    }

    #[test]
    fn a_machine_that_is_upgraded_alone_changes_nothing_elsewhere() {
        let elsewhere = ["host-", "stage-", "etcd-first-", "uncordon-", "rollout-", "cluster-config", "drain"];
        let master = names(&steps(Role::Master, &Reach::Here));
        assert!(!master.iter().any(|step| elsewhere.iter().any(|start| step.starts_with(start))), "{master:?}");
        let worker = names(&steps(Role::Worker, &Reach::Here));
        assert!(worker.iter().all(|step| !step.contains("etcd") && !step.contains("apiserver")), "{worker:?}");
        assert!(worker.contains(&"upgrade-kubelet".to_owned()) && worker.contains(&"version".to_owned()), "{worker:?}");
    }
}
