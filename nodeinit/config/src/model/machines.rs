//! The machines, their common rules, and this machine's role.

use super::{
    Document, Os,
    declare::{
        Dict, Over, Verdict, keys,
        place::{Place, refuse_twice},
    },
    texts::{CloudName, HostKey, LabelKey, LabelValue, NodeName, User},
    values::{Endpoint, Taint},
};
use crate::{problem::Findings, text::tree::below};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::IpAddr,
};

/// The prefixes with which a kubelet may label its own node, and the other labels that it may use.
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

keys! {
    /// A machine of the cluster.
    pub struct Machine {
        /// The node's name, and the machine's host name; a suffix such as `.novalocal` on the machine is ignored.
        "name" name: String as NodeName = required, to all;
        /// The address at which other machines reach it. The node has this address (`--node-ip`); an interface of the machine must have it.
        "address" address: Option<IpAddr>,
            else "found on the machine itself; required if other machines must reach it", example "10.0.0.11", to all;
        /// Labels of the node.
        "labels" labels: BTreeMap<String, String> as Dict<LabelKey, LabelValue>, else "none", example "{example.org/zone: north}", to all;
        /// Taints of the node, in addition to that of the control plane.
        "taints" taints: Vec<Taint>, else "none", example "[dedicated=db:NoSchedule]", to all;
        /// Its SSH host keys, as in its /etc/ssh/ssh_host_*_key.pub; one match is enough.
        "hostKeys" host_keys: Vec<String> as Vec<HostKey>,
            else "those in the secrets bundle", example "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo]", to masters;
        /// SSH settings of this machine that differ from `ssh`.
        "ssh" ssh: MachineSsh, to masters;
        /// Values of `os` for this machine. They override those of `os` and of `roles`: maps are merged, lists and single values replaced.
        "os" os: Map<String, Value> as Over<Os>, else "none", example "{timezone: Etc/UTC}", to masters;
        /// The flavor of the server, by name or id.
        "flavor" flavor: Option<String> as Option<CloudName>, else "`openstack.flavor`", example "m1.large", to nobody;
        /// The availability zone of the server.
        "availabilityZone" availability_zone: Option<String> as Option<CloudName>,
            else "one of `openstack.availabilityZones`, in turn", example "nova-1", to nobody;
    }
}

keys! {
    /// SSH access to one machine.
    #[derive(Eq)]
    pub struct MachineSsh {
        /// Whether the first master sets up this worker over SSH. If `false`, the worker joins on its own, like one without an address.
        "enabled" enabled: bool, else "`true`" (|_| Some(true)), example "false", to masters;
        /// Address of its SSH server.
        "address" address: Option<IpAddr>, else "the machine's address", example "192.168.0.11", to masters;
        /// The port of its SSH server.
        "port" port: Option<u16>, else "`ssh.port`", example "2222", to masters;
        /// Login user.
        "user" user: Option<String> as Option<User>, else "`ssh.user`", example "debian", to masters;
    }
}

impl Default for MachineSsh {
    fn default() -> Self {
        Self { enabled: true, address: None, port: None, user: None }
    }
}

/// The role of a machine in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `first-master`: starts the cluster.
    FirstMaster,
    /// `master`: joins the control plane.
    Master,
    /// `worker`: runs pods.
    Worker,
    /// `bastion`: jump host and gateway of the private network. Not a node.
    Bastion,
}

impl Role {
    /// Returns the word of the commands for machines of this role: `worker`, `bastion`, or `master`, also for the first one.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::FirstMaster | Self::Master => "master",
            Self::Worker => "worker",
            Self::Bastion => "bastion",
        }
    }

    /// Whether it runs a control plane.
    #[must_use]
    pub const fn is_master(self) -> bool {
        match self {
            Self::FirstMaster | Self::Master => true,
            Self::Worker | Self::Bastion => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstMaster => "first-master",
            Self::Master => "master",
            Self::Worker => "worker",
            Self::Bastion => "bastion",
        })
    }
}

/// The machine that this process runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The node's name.
    pub name: String,
    /// Its address; of a bastion, the one in the private network.
    pub address: IpAddr,
    /// Its role.
    pub role: Role,
    /// Its labels and taints.
    pub machine: Machine,
}

/// Applies the rules of both lists: each machine has a unique name and address, outside the cluster's ranges, and is reachable if
/// others need it.
pub(super) fn check(masters: &Place<'_, Vec<Machine>>, verdict: &mut Verdict<'_>) {
    let (all, errors) = (masters.all(), &mut verdict.errors);
    let (masters, workers) = (masters.items(), all.workers().items());
    let (mut names, mut addresses) = (HashMap::new(), HashMap::new());
    for machine in masters.iter().chain(&workers) {
        refuse_twice(&mut names, &machine.name(), errors);
        refuse_twice(&mut addresses, &machine.address(), errors);
        outside_of_ranges(&machine.address(), machine.address().value(), errors);
        taints(&machine.taints(), errors);
    }
    for machine in &masters {
        let flag = machine.ssh().enabled();
        if flag.value() == Some(false) {
            flag.report(errors, "only a worker can join on its own", "remove it");
        }
    }
    workers.iter().for_each(|worker| labels(&worker.labels(), errors));
    reachable(&all, &masters, &workers, errors);
    several_masters(&all, &masters, &mut verdict.warnings);
}

pub(super) fn endpoint(place: &Place<'_, Endpoint>, verdict: &mut Verdict<'_>) {
    let address = place.value().and_then(|endpoint| endpoint.host.parse().ok());
    outside_of_ranges(place, address, &mut verdict.errors);
}

pub(super) fn virtual_address(place: &Place<'_, IpAddr>, verdict: &mut Verdict<'_>) {
    let (Some(address), all, errors) = (place.value(), place.all(), &mut verdict.errors) else { return };
    let (masters, workers) = (all.masters().items(), all.workers().items());
    outside_of_ranges(place, Some(address), errors);
    if let Some(what) = outside_of_masters_network(address, &masters) {
        place.report(errors, what, "choose a free address of the masters' network");
    }
    for machine in masters.iter().chain(&workers) {
        for own in [machine.address(), machine.ssh().address()].iter().filter(|own| own.value() == Some(address)) {
            let what = format!("{address} is already the address of a machine, at {}", own.path);
            place.report(errors, what, "choose a free address of the masters' network");
        }
    }
}

/// Returns why the masters cannot hold a virtual address: they announce it with ARP in their own network.
fn outside_of_masters_network(address: IpAddr, masters: &[Place<'_, Machine>]) -> Option<String> {
    let private = |address: &IpAddr| match address {
        IpAddr::V4(a) => a.is_private(),
        IpAddr::V6(a) => a.is_unique_local(),
    };
    let mut own = masters.iter().filter_map(|machine| machine.address().value());
    let master = own.find(private)?;
    (!private(&address)).then(|| format!("{address} is public, but the masters' network, with {master}, is private"))
}

/// Refuses a machine inside a range of the cluster: it would lose its own traffic.
fn outside_of_ranges<F>(place: &Place<'_, F>, address: Option<IpAddr>, errors: &mut Findings) {
    let (Some(address), network) = (address, place.all().network()) else { return };
    for range in [network.pod_cidr(), network.service_cidr()] {
        if let Some(net) = range.value().filter(|net| net.contains(&address)) {
            let what = format!("{address} is inside {} {net}", range.path);
            place.report(errors, what, "choose a range without machines");
        }
    }
    let services = network.service_cidr();
    if let Some(net) = services.value().filter(|net| net.addr().is_ipv4() != address.is_ipv4()) {
        let what = format!("{address} and {} {net} are in different address families", services.path);
        place.report(errors, what, "use IPv4 for both, or IPv6 for both");
    }
}

fn taints(place: &Place<'_, Vec<Taint>>, errors: &mut Findings) {
    let mut seen: Vec<(String, String)> = Vec::new();
    for item in place.items() {
        let Some(taint) = item.value() else { continue };
        let pair = (taint.key, taint.effect);
        if seen.contains(&pair) {
            let what = format!("a second taint with the key {} and the effect {}", pair.0, pair.1);
            item.report(errors, what, "keep one of the two");
        }
        seen.push(pair);
    }
}

/// A worker's kubelet labels its own node, and may not use the labels of Kubernetes.
fn labels(place: &Place<'_, Dict<LabelKey, LabelValue>>, errors: &mut Findings) {
    for entry in place.entries() {
        let Some((prefix, _)) = entry.key.split_once('/') else { continue };
        let within = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
        let reserved = within("kubernetes.io") || within("k8s.io");
        let allowed = KUBELET_LABELS.contains(&entry.key.as_str()) || KUBELET_PREFIXES.into_iter().any(within);
        if reserved && !allowed {
            let what = format!("{prefix} belongs to Kubernetes: a kubelet may not give its node this label");
            let path = below(&place.path, &entry.key);
            errors.add(entry.at, &path, what, "use your own prefix, or node.kubernetes.io");
        }
    }
}

/// Checks that other machines know the addresses that they need.
fn reachable(
    all: &Place<'_, Document>,
    masters: &[Place<'_, Machine>],
    workers: &[Place<'_, Machine>],
    errors: &mut Findings,
) {
    // A cloud assigns addresses that are not configured.
    if all.openstack().written().is_some() {
        return;
    }
    let is_open = |machine: &&Place<'_, Machine>| machine.address().written().is_none();
    if masters.len() > 1 {
        for machine in masters.iter().filter(is_open) {
            let what = "missing: the other masters must reach this one";
            errors.add(machine.at(), &machine.address().path, what, "write its address");
        }
    } else if !has_endpoint(all)
        && masters.first().filter(|machine| !is_open(machine)).is_none()
        && let Some(worker) = workers.first()
    {
        let what = "workers cannot know the address of the API";
        worker.report(errors, what, "set controlPlane.endpoint, or the address of the first of masters");
    }
}

fn several_masters(all: &Place<'_, Document>, masters: &[Place<'_, Machine>], warnings: &mut Findings) {
    let (list, endpoint) = (all.masters(), all.control_plane().endpoint());
    if masters.len() < 2 {
        return;
    }
    if masters.len().is_multiple_of(2) {
        let (count, fewer) = (masters.len(), masters.len() - 1);
        let what = format!("{count} masters tolerate no more failures than {fewer}");
        list.report(warnings, what, "use an odd number");
    }
    if !has_endpoint(all) {
        let what = "missing: without it, everything depends on the first master";
        let remedy = "set a load balancer or a DNS name for all masters, or set controlPlane.virtualAddress";
        warnings.add(list.at(), &endpoint.path, what, remedy);
    }
}

fn has_endpoint(all: &Place<'_, Document>) -> bool {
    let plane = all.control_plane();
    all.openstack().load_balancer().enabled().value() == Some(true)
        || plane.endpoint().written().is_some()
        || plane.virtual_address().written().is_some()
}
