//! The first master: it begins the cluster.

use crate::{
    engine::step::Plan,
    plan::{Reach, master},
    steps::{
        addons,
        bootstrap_token::FirstToken,
        cluster::Objects,
        cluster_ready::Ready,
        etcd::EtcdMember,
        fanout,
        node::Node,
        static_pods::{Component, Healthy, Manifest},
        virtual_address,
        worker_token::WorkerTokens,
    },
};
use nodeinit_config::{
    Cluster,
    cluster::{Cni, Role},
};

/// Keys, binaries and images side by side; then the kubelet with etcd and the API server, and the two others when etcd is
/// healthy; then, when the API answers, everything in it at once.
#[must_use]
pub fn plan(cluster: &Cluster, reach: &Reach) -> Plan {
    let mut plan = master::prepared(cluster);
    plan.push(Box::new(EtcdMember(Role::FirstMaster)));
    for component in Component::ALL {
        plan.extend([
            Box::new(Manifest(component, Role::FirstMaster)) as _,
            Box::new(Healthy(component, Role::FirstMaster)) as _,
        ]);
    }
    plan.extend([
        Box::new(Objects::Bootstrap) as _,
        Box::new(FirstToken) as _,
        Box::new(WorkerTokens) as _,
        Box::new(Node) as _,
    ]);
    let address = cluster.control_plane.virtual_address;
    if let Some(address) = address {
        plan.push(Box::new(virtual_address::Manifest::after(&plan)));
        plan.push(Box::new(virtual_address::Answers(address)));
    }
    // Their pods come to the API by its endpoint.
    let behind_the_endpoint = |step| match address {
        Some(_) => Box::new(virtual_address::Behind(step)) as _,
        None => step,
    };
    if cluster.addons.kube_proxy {
        plan.push(behind_the_endpoint(Box::new(Objects::KubeProxy)));
    }
    if cluster.addons.cni != Cni::None {
        plan.push(behind_the_endpoint(Box::new(Objects::Cni)));
    }
    if cluster.addons.coredns {
        plan.push(Box::new(Objects::CoreDns));
    }
    let others = fanout::hosts(cluster).into_iter().filter(|host| match reach {
        Reach::Everywhere => true,
        Reach::Only(name) => host.machine() == name,
        Reach::Here => false,
    });
    plan.extend(others.map(|host| Box::new(host) as _));
    plan.push(Box::new(Ready { needs: plan.iter().map(|step| step.name()).collect() }));
    plan.extend(addons::steps(cluster));
    plan
}

#[cfg(test)]
mod tests {
    use crate::{
        context::testing::context_of,
        plan::{Reach, for_role},
    };
    use std::collections::BTreeSet;

    #[test]
    fn each_step_stands_behind_those_that_it_needs() {
        for addons in [
            "{}\ncontrolPlane: {virtualAddress: 10.0.0.10}",
            "{}",
            "{cni: none}",
            "{cni: none, coreDNS: false, kubeProxy: false}",
            "{cni: {directory: /cni}}",
        ] {
            let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
            let (_dir, cx) = context_of(&format!(
                "{head}addons: {addons}\nmasters: [{{name: m1, address: 10.0.0.11}}, {{name: m2, address: 10.0.0.12}}]\n\
                        workers: [{{name: w1, address: 10.0.0.21}}, {{name: w2}}]\n"
            ));
            let mut before = BTreeSet::new();
            for step in for_role(&cx, &Reach::Everywhere) {
                for need in step.needs() {
                    assert!(before.contains(&need), "{addons}: {} needs {need}", step.name());
                }
                assert!(before.insert(step.name()), "{addons}: {} stands twice", step.name());
            }
        }
    }
}
