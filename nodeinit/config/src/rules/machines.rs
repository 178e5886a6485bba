//! Machines: each its own name and address, outside the cluster's ranges, reachable where others need them.

use super::{Verdict, listed, refuse_twice};
use crate::{format, node::Node, problem::Findings};
use std::{collections::HashMap, net::IpAddr};

/// The prefixes under which a kubelet may label its own node, and the rest of those that it may use.
/// Source: `staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go`.
const KUBELET_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const KUBELET_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.kubernetes.io/zone",
    "failure-domain.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
];

pub(super) fn check(tree: &Node, verdict: &mut Verdict) {
    let (masters, workers) = (listed(tree, "masters"), listed(tree, "workers"));
    let errors = &mut verdict.errors;
    let (mut names, mut addresses) = (HashMap::new(), HashMap::new());
    for (path, machine) in masters.iter().chain(&workers) {
        refuse_twice(&mut names, format!("{path}.name"), machine.get("name"), errors);
        refuse_twice(&mut addresses, format!("{path}.address"), machine.get("address"), errors);
        if let Some((address, at)) = machine.read("address", format::address) {
            outside_of_ranges(tree, address, |what, remedy| {
                errors.add(at, &format!("{path}.address"), what, remedy);
            });
        }
        taints(path, machine, errors);
    }
    for (path, machine) in &masters {
        if let Some(flag) = machine.get("ssh.enabled").filter(|flag| flag.scalar() == Some("false")) {
            let what = "only a worker can join on its own";
            errors.add(flag.at, &format!("{path}.ssh.enabled"), what, "remove it");
        }
    }
    for (path, machine) in &workers {
        labels(path, machine, errors);
    }
    if let Some((endpoint, at)) = tree.read("controlPlane.endpoint", format::endpoint)
        && let Ok(address) = endpoint.host.parse::<IpAddr>()
    {
        outside_of_ranges(tree, address, |what, remedy| errors.add(at, "controlPlane.endpoint", what, remedy));
    }
    if let Some((address, at)) = tree.read("controlPlane.virtualAddress", format::address) {
        let key = "controlPlane.virtualAddress";
        outside_of_ranges(tree, address, |what, remedy| errors.add(at, key, what, remedy));
        if let Some(what) = outside_of_masters_network(address, &masters) {
            errors.add(at, key, what, "choose a free address of the masters' network");
        }
        for (path, machine) in masters.iter().chain(&workers) {
            for of in ["address", "ssh.address"] {
                if machine.read(of, format::address).is_some_and(|(own, _)| own == address) {
                    let what = format!("{address} belongs to a machine: it is {path}.{of}");
                    errors.add(at, key, what, "choose a free address of the masters' network");
                }
            }
        }
    }
    reachable(tree, &masters, &workers, errors);
    several_masters(tree, &masters, &mut verdict.warnings);
}

/// Why the masters cannot hold a virtual address: they announce it by ARP in their own network.
fn outside_of_masters_network(address: IpAddr, masters: &[(String, &Node)]) -> Option<String> {
    let private = |address: &IpAddr| match address {
        IpAddr::V4(a) => a.is_private(),
        IpAddr::V6(a) => a.is_unique_local(),
    };
    let mut own = masters.iter().filter_map(|(_, machine)| machine.read("address", format::address));
    let (master, _) = own.find(|(master, _)| private(master))?;
    (!private(&address)).then(|| format!("{address} is public, and the masters' network, with {master}, is private"))
}

/// A machine inside a range that the cluster hands out would lose its own traffic.
fn outside_of_ranges(tree: &Node, address: IpAddr, mut report: impl FnMut(String, &'static str)) {
    for range in ["network.podCIDR", "network.serviceCIDR"] {
        if let Some((net, _)) = tree.read(range, format::cidr)
            && net.contains(&address)
        {
            report(format!("{address} lies inside {range} {net}"), "choose a range that holds no machine");
        }
    }
    if let Some((net, _)) = tree.read("network.serviceCIDR", format::cidr)
        && net.addr().is_ipv4() != address.is_ipv4()
    {
        let what = format!("{address} and network.serviceCIDR {net} are of different families");
        report(what, "use IPv4 for both, or IPv6 for both");
    }
}

fn taints(path: &str, machine: &Node, errors: &mut Findings) {
    let mut seen: Vec<(String, String)> = Vec::new();
    let items = machine.get("taints").map_or(&[][..], Node::items);
    for (index, item) in items.iter().enumerate() {
        let Some(taint) = item.scalar().and_then(|t| format::taint(t).ok()) else { continue };
        let pair = (taint.key, taint.effect);
        if seen.contains(&pair) {
            let what = format!("a second taint with the key {} and the effect {}", pair.0, pair.1);
            errors.add(item.at, &format!("{path}.taints[{index}]"), what, "keep one of the two");
        }
        seen.push(pair);
    }
}

/// A worker's kubelet labels its own node, and is refused what belongs to Kubernetes itself.
fn labels(path: &str, machine: &Node, errors: &mut Findings) {
    for entry in machine.get("labels").map_or(&[][..], Node::entries) {
        let Some((prefix, _)) = entry.key.split_once('/') else { continue };
        let within = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
        let reserved = within("kubernetes.io") || within("k8s.io");
        let allowed = KUBELET_LABELS.contains(&entry.key.as_str()) || KUBELET_PREFIXES.into_iter().any(within);
        if reserved && !allowed {
            let what = format!("{prefix} belongs to Kubernetes: a kubelet may not give its node this label");
            let path = crate::node::below(&format!("{path}.labels"), &entry.key);
            errors.add(entry.at, &path, what, "use a prefix of your own, or node.kubernetes.io");
        }
    }
}

/// Other machines must know where to go.
fn reachable(tree: &Node, masters: &[(String, &Node)], workers: &[(String, &Node)], errors: &mut Findings) {
    // A cloud assigns the addresses that the configuration leaves open.
    if tree.get("openstack").is_some() {
        return;
    }
    let without = masters.iter().filter(|(_, machine)| machine.get("address").is_none());
    if masters.len() > 1 {
        for (path, machine) in without {
            let what = "missing: the other masters must reach this one";
            errors.add(machine.at, &format!("{path}.address"), what, "write its address");
        }
    } else if !has_endpoint(tree)
        && masters.first().is_none_or(|(_, machine)| machine.get("address").is_none())
        && let Some((path, worker)) = workers.first()
    {
        let what = "no worker can know where the API is";
        errors.add(worker.at, path, what, "set controlPlane.endpoint, or the address of the first of masters");
    }
}

fn several_masters(tree: &Node, masters: &[(String, &Node)], warnings: &mut Findings) {
    let Some(list) = tree.get("masters").filter(|_| masters.len() > 1) else { return };
    if masters.len().is_multiple_of(2) {
        let (count, fewer) = (masters.len(), masters.len() - 1);
        let what = format!("{count} masters survive the loss of no more machines than {fewer} do");
        warnings.add(list.at, "masters", what, "use an odd number");
    }
    if !has_endpoint(tree) {
        let what = "missing: without it all depends on the first master";
        warnings.add(
            list.at,
            "controlPlane.endpoint",
            what,
            "name a load balancer or a DNS name for all masters, or set controlPlane.virtualAddress",
        );
    }
}

fn has_endpoint(tree: &Node) -> bool {
    let balanced = tree.get("openstack.loadBalancer.enabled").is_some_and(|node| node.scalar() == Some("true"));
    balanced || ["controlPlane.endpoint", "controlPlane.virtualAddress"].into_iter().any(|key| tree.get(key).is_some())
}
