//! The first master: it begins the cluster.

use crate::{
    engine::step::Plan,
    plan::{Reach, master},
    render::kubelet::requests_serving_certificate,
    steps::{
        addons,
        agent::AgentService,
        cluster::Objects,
        cluster_ready::Ready,
        etcd::{EtcdMember, Permit},
        fanout,
        node::Node,
        static_pods::{Component, Healthy, Manifest},
        tokens::Tokens,
        verify_kubelets::VerifyKubelets,
        virtual_address,
    },
};
use nodeinit_config::{
    Cluster,
    cluster::{Cni, Role},
};

/// Keys, binaries and images side by side; then the kubelet with etcd and the API server, and the two others when etcd is
/// healthy; then, when the API answers, everything in it at once. With `masters_last`, workers are finished before the other masters
/// begin.
#[must_use]
pub fn plan(cluster: &Cluster, reach: &Reach, permit: Permit, masters_last: bool) -> Plan {
    let mut plan = master::prepared(cluster);
    let (others, member) = EtcdMember::of_first_master(cluster, permit);
    plan.extend(others.map(|step| Box::new(step) as _));
    plan.push(Box::new(member));
    for component in Component::ALL {
        plan.extend([
            Box::new(Manifest(component, Role::FirstMaster)) as _,
            Box::new(Healthy(component, Role::FirstMaster)) as _,
        ]);
    }
    plan.extend([
        Box::new(Objects::Bootstrap) as _,
        Box::new(Tokens) as _,
        Box::new(Node) as _,
        Box::new(AgentService { after: "cluster-config" }) as _,
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
    let mut others = fanout::hosts(cluster);
    others.retain(|host| match reach {
        Reach::Everywhere => true,
        Reach::Only { name, .. } => host.machine() == name,
        Reach::Here => false,
    });
    if masters_last {
        fanout::masters_last(&mut others);
    }
    plan.extend(others.into_iter().map(|host| Box::new(host) as _));
    if requests_serving_certificate(cluster) {
        plan.push(Box::new(VerifyKubelets { needs: plan.iter().map(|step| step.name()).collect() }));
    }
    plan.push(Box::new(Ready { needs: plan.iter().map(|step| step.name()).collect() }));
    plan.extend(addons::steps(cluster));
    plan
}

#[cfg(test)]
mod tests {
    use crate::{
        context::testing::context_of,
        host::files::NewFile,
        plan::{Reach, for_role},
        steps::etcd::Permit,
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
            for step in for_role(&cx, &Reach::Everywhere, Permit::None) {
                for need in step.needs() {
                    assert!(before.contains(&need), "{addons}: {} needs {need}", step.name());
                }
                assert!(before.insert(step.name()), "{addons}: {} stands twice", step.name());
            }
        }
    }

    /// A master whose API server an `up` without the agent started.
    #[tokio::test]
    async fn when_the_agent_is_switched_on_masters_follow_the_workers() {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (_dir, cx) = context_of(&format!(
            "{head}masters: [{{name: m1, address: 10.0.0.11}}, {{name: m2, address: 10.0.0.12}}]\nworkers: [{{name: w1, address: 10.0.0.21}}]\n"
        ));
        let order = || {
            let plan = for_role(&cx, &Reach::Everywhere, Permit::None);
            let names: Vec<String> = plan.iter().map(|step| step.name()).collect();
            assert!(plan.iter().all(|step| step.needs().iter().all(|need| names.contains(need))));
            let master = plan.iter().find(|step| step.name() == "host-m2").unwrap();
            (master.needs().contains(&"host-w1".to_owned()), cx.renderer().verify_kubelets)
        };
        let manifest = |text| vec![NewFile::private("/etc/kubernetes/manifests/kube-apiserver.yaml", text)];
        assert_eq!(order(), (false, true), "a new cluster");
        cx.place(manifest("    - --profiling=false\n")).await.unwrap();
        assert_eq!(order(), (true, false));
        cx.place(manifest("    - --kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt\n")).await.unwrap();
        assert_eq!(order(), (false, true));
    }
}
