//! What a cluster should consist of: a pure function of its configuration.

use super::{
    Kind, Part,
    rules::{self, BASTION, MASTERS, NODES, Rule, gateway},
};
use ipnet::IpNet;
use nodeinit_config::{
    Cluster, OpenStack,
    cluster::{Cni, Machine},
    openstack::{AntiAffinity, Bastion, CloudNetwork, FloatingIps, MadeNetwork},
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A part, what it should be, and what must be there before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Want {
    /// Which part.
    pub part: Part,
    /// What it should be.
    pub spec: Spec,
    /// What it is made with.
    pub needs: Vec<Part>,
}

/// What a part should be; names are the configuration's, not the cloud's ids.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// A network.
    Network {
        /// Its name.
        name: String,
    },
    /// A subnet.
    Subnet {
        /// Its name.
        name: String,
        /// How it is configured.
        made: MadeNetwork,
    },
    /// A router to the external network.
    Router,
    /// The router's port, with the gateway's address.
    RouterPort {
        /// The gateway's address.
        address: IpAddr,
    },
    /// A security group.
    SecurityGroup,
    /// One rule.
    Rule(Rule),
    /// A server group.
    ServerGroup {
        /// Nova's name for it.
        policy: &'static str,
    },
    /// A machine's port.
    Port {
        /// The network that it is in.
        network: &'static str,
        /// Its fixed address. `None`: the cloud chooses.
        address: Option<IpAddr>,
        /// The security groups that it is of. None: port security is off, because it forwards.
        groups: &'static [&'static str],
        /// What it may send from beside.
        pairs: Vec<IpNet>,
    },
    /// A machine's disk.
    Volume {
        /// In GiB.
        size: u32,
        /// What it is made from: name or id.
        image: String,
        /// Where. `None`: the cloud chooses.
        zone: Option<String>,
    },
    /// A machine.
    Server {
        /// Name or id.
        flavor: String,
        /// Where. `None`: the cloud chooses.
        zone: Option<String>,
        /// The server group that it is of, where such are made.
        group: Option<String>,
        /// Its ports, the outer one first.
        ports: Vec<Part>,
    },
    /// A floating IP of a port or of the balancer.
    FloatingIp {
        /// Whose.
        of: Part,
    },
    /// The balancer.
    Balancer {
        /// The network that it is in.
        network: &'static str,
    },
    /// Its listener.
    Listener {
        /// Who may connect, beside the machines' subnet.
        access: Vec<IpNet>,
    },
    /// Its pool.
    Pool,
    /// Its health monitor.
    Monitor,
    /// The first master behind it. The others become members when they are of the control plane.
    Member {
        /// Its machine's port.
        port: Part,
        /// Its address, where it is known already.
        address: Option<IpAddr>,
    },
}

/// The name of the parts of which there is one, and of the machines' network.
pub const API: &str = "api";
/// The name of the second network, where there is one: of the bastion and the balancer.
pub const PUBLIC: &str = "public";

/// All parts of a cluster, in the order of a report.
pub fn of(cluster: &Cluster, cloud: &OpenStack) -> Vec<Want> {
    let mut wants = network(cluster, cloud);
    wants.extend(security(cluster, cloud));
    let machines = machines(cluster);
    wants.extend(server_groups(cluster, cloud));
    wants.extend(machines.iter().map(|machine| machine.port(cluster, cloud)));
    wants.extend(
        machines
            .iter()
            .filter(|machine| machine.floats(cloud))
            .map(|machine| floating_ip(cloud, &machine.machine.name, API)),
    );
    wants.extend(cloud.bastion.iter().flat_map(|own| bastion(own, cluster, cloud)));
    wants.extend(balancer(cluster, cloud));
    wants.extend(machines.iter().map(|machine| machine.volume(cloud)));
    wants.extend(machines.iter().map(|machine| machine.server(cluster, cloud)));
    wants
}

fn want(kind: Kind, name: &str, spec: Spec, needs: Vec<Part>) -> Want {
    Want { part: Part::new(kind, name), spec, needs }
}

fn network(cluster: &Cluster, cloud: &OpenStack) -> Vec<Want> {
    let CloudNetwork::Made(made) = &cloud.network else { return Vec::new() };
    let own = |name: &Option<String>| name.clone().unwrap_or_else(|| cluster.name.clone());
    let mut inner = made.clone();
    if gateway(cluster, cloud).is_some_and(|role| role.dns) {
        inner.dns_servers = vec![made.gateway];
    }
    let mut networks = vec![(API, own(&made.name), own(&made.subnet), inner)];
    networks.extend(made.public.and_then(|cidr| {
        let name = format!("{}-{PUBLIC}", cluster.name);
        let gateway = cidr.hosts().next()?;
        let written = [cloud.bastion.as_ref().and_then(|own| own.address), cloud.load_balancer.address];
        let pools = without(cidr, written.into_iter().flatten().chain([gateway]));
        Some((PUBLIC, name.clone(), name, MadeNetwork { cidr, gateway, pools, ..made.clone() }))
    }));
    let (mut wants, mut ports) = (Vec::new(), Vec::new());
    for (part, network, subnet, made) in networks {
        let port = Spec::RouterPort { address: made.gateway };
        let needs = vec![Part::new(Kind::Router, API), Part::new(Kind::Subnet, part)];
        // The bastion that is the gateway has the gateway's address.
        if part == PUBLIC || gateway(cluster, cloud).is_none() {
            ports.push(want(Kind::RouterPort, part, port, needs));
        }
        wants.push(want(Kind::Network, part, Spec::Network { name: network }, Vec::new()));
        let spec = Spec::Subnet { name: subnet, made };
        wants.push(want(Kind::Subnet, part, spec, vec![Part::new(Kind::Network, part)]));
    }
    if made.router {
        wants.push(want(Kind::Router, API, Spec::Router, Vec::new()));
        wants.extend(ports);
    }
    wants
}

/// The ranges of a network's hosts that hold none of these addresses: the cloud gives out at random, and what is written may
/// come later than what is not.
fn without(net: IpNet, taken: impl Iterator<Item = IpAddr>) -> Vec<(IpAddr, IpAddr)> {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    let address = |number: u128| match net {
        IpNet::V4(_) => u32::try_from(number).map_or(net.addr(), |number| Ipv4Addr::from(number).into()),
        IpNet::V6(_) => Ipv6Addr::from(number).into(),
    };
    let (mut next, end) = (number(net.network()) + 1, number(net.broadcast()));
    let mut ranges = Vec::new();
    let mut taken: Vec<u128> = taken.map(number).chain([end]).collect();
    taken.sort_unstable();
    for one in taken {
        if next < one {
            ranges.push((address(next), address(one - 1)));
        }
        next = next.max(one.saturating_add(1));
    }
    ranges
}

/// The network of what is reached from outside.
fn facing(cloud: &OpenStack) -> &'static str {
    match &cloud.network {
        CloudNetwork::Made(MadeNetwork { public: Some(_), .. }) => PUBLIC,
        _ => API,
    }
}

/// The subnet that is made, if one is: a thing in it needs it.
fn subnet(cloud: &OpenStack, network: &'static str) -> Vec<Part> {
    matches!(cloud.network, CloudNetwork::Made(_)).then(|| Part::new(Kind::Subnet, network)).into_iter().collect()
}

/// A floating IP needs the way out.
fn way_out(cloud: &OpenStack, network: &'static str) -> Vec<Part> {
    let made = matches!(&cloud.network, CloudNetwork::Made(made) if made.router);
    made.then(|| Part::new(Kind::RouterPort, network)).into_iter().collect()
}

fn security(cluster: &Cluster, cloud: &OpenStack) -> Vec<Want> {
    let group = |name| want(Kind::SecurityGroup, name, Spec::SecurityGroup, Vec::new());
    let rule = |rule: Rule| {
        let mut needs = vec![Part::new(Kind::SecurityGroup, rule.group)];
        match rule.from {
            rules::From::Group(other) if other != rule.group => needs.push(Part::new(Kind::SecurityGroup, other)),
            _ => {}
        }
        Want { part: rule.part(), needs, spec: Spec::Rule(rule) }
    };
    let groups = [NODES, MASTERS].into_iter().chain(cloud.bastion.as_ref().map(|_| BASTION));
    groups.map(group).chain(rules::of(cluster, cloud).into_iter().map(rule)).collect()
}

fn server_groups(cluster: &Cluster, cloud: &OpenStack) -> Vec<Want> {
    let policy = match cloud.anti_affinity {
        AntiAffinity::Soft => "soft-anti-affinity",
        AntiAffinity::Hard => "anti-affinity",
        AntiAffinity::None => return Vec::new(),
    };
    let of = [("masters", cluster.masters.len()), ("workers", cluster.workers.len())];
    let some = of.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(name, _)| want(Kind::ServerGroup, name, Spec::ServerGroup { policy }, Vec::new())).collect()
}

fn balancer(cluster: &Cluster, cloud: &OpenStack) -> Vec<Want> {
    if !cloud.load_balancer.enabled {
        return Vec::new();
    }
    let part = |kind| Part::new(kind, API);
    // The gateway lets nothing in that comes from outside, and the machines need no gateway to the API.
    let network = if gateway(cluster, cloud).is_some() { API } else { facing(cloud) };
    let mut wants = vec![
        want(Kind::Balancer, API, Spec::Balancer { network }, subnet(cloud, network)),
        want(Kind::Listener, API, Spec::Listener { access: cloud.access.api.clone() }, vec![part(Kind::Balancer)]),
        want(Kind::Pool, API, Spec::Pool, vec![part(Kind::Listener)]),
        want(Kind::Monitor, API, Spec::Monitor, vec![part(Kind::Pool)]),
    ];
    if let Some(first) = cluster.masters.first() {
        let port = Part::new(Kind::Port, &first.name);
        let spec = Spec::Member { port: port.clone(), address: first.address };
        wants.push(want(Kind::Member, &first.name, spec, vec![part(Kind::Pool), port]));
    }
    if cloud.load_balancer.floating_ip {
        let mut needs = way_out(cloud, network);
        needs.push(part(Kind::Balancer));
        wants.push(want(Kind::FloatingIp, API, Spec::FloatingIp { of: part(Kind::Balancer) }, needs));
    }
    wants
}

/// The floating IP of a port.
fn floating_ip(cloud: &OpenStack, name: &str, network: &'static str) -> Want {
    let of = Part::new(Kind::Port, name);
    let mut needs = way_out(cloud, network);
    needs.push(of.clone());
    want(Kind::FloatingIp, name, Spec::FloatingIp { of }, needs)
}

/// The bastion is made as machines are, and waits for nothing of theirs. As the gateway, it has a second port with the gateway's address.
fn bastion(own: &Bastion, cluster: &Cluster, cloud: &OpenStack) -> Vec<Want> {
    let (name, zone) = (own.name.as_str(), cloud.availability_zones.first().cloned());
    let part = |kind| Part::new(kind, name);
    let network = facing(cloud);
    let mut needs = subnet(cloud, network);
    needs.push(Part::new(Kind::SecurityGroup, BASTION));
    let port = Spec::Port { network, address: own.address, groups: &[BASTION], pairs: Vec::new() };
    let image = own.image.clone().unwrap_or_else(|| cloud.image.clone());
    let volume = Spec::Volume { size: cloud.volume.size, image, zone: zone.clone() };
    let flavor = own.flavor.clone().or_else(|| cloud.flavor.clone()).unwrap_or_default();
    let mut ports = vec![want(Kind::Port, name, port, needs)];
    if let (Some(_), CloudNetwork::Made(made)) = (gateway(cluster, cloud), &cloud.network) {
        let inner = Spec::Port { network: API, address: Some(made.gateway), groups: &[], pairs: Vec::new() };
        ports.push(want(Kind::Port, API, inner, subnet(cloud, API)));
    }
    let attached: Vec<Part> = ports.iter().map(|want| want.part.clone()).collect();
    let needs = attached.iter().cloned().chain([part(Kind::Volume)]).collect();
    let server = Spec::Server { flavor, zone, group: None, ports: attached };
    ports.extend([
        floating_ip(cloud, name, network),
        want(Kind::Volume, name, volume, Vec::new()),
        want(Kind::Server, name, server, needs),
    ]);
    ports
}

/// A machine with its place among its kind.
struct OneMachine<'c> {
    machine: &'c Machine,
    master: bool,
    index: usize,
}

fn machines(cluster: &Cluster) -> Vec<OneMachine<'_>> {
    let masters =
        cluster.masters.iter().enumerate().map(|(index, machine)| OneMachine { machine, master: true, index });
    let workers =
        cluster.workers.iter().enumerate().map(|(index, machine)| OneMachine { machine, master: false, index });
    masters.chain(workers).collect()
}

impl OneMachine<'_> {
    fn part(&self, kind: Kind) -> Part {
        Part::new(kind, &self.machine.name)
    }

    fn port(&self, cluster: &Cluster, cloud: &OpenStack) -> Want {
        let mut pairs = cloud.allowed_address_pairs.clone();
        // Flannel's packets carry the machines' own addresses; of others we know only the pods'.
        if pairs.is_empty() && cluster.addons.cni != Cni::Flannel {
            pairs.push(cluster.network.pod_cidr);
        }
        pairs.extend(cluster.control_plane.virtual_address.filter(|_| self.master).map(IpNet::from));
        let groups: &[&str] = if self.master { &[NODES, MASTERS] } else { &[NODES] };
        let mut needs = subnet(cloud, API);
        needs.extend(groups.iter().map(|group| Part::new(Kind::SecurityGroup, *group)));
        let spec = Spec::Port { network: API, address: self.machine.address, groups, pairs };
        Want { part: self.part(Kind::Port), spec, needs }
    }

    fn floats(&self, cloud: &OpenStack) -> bool {
        match cloud.floating_ips {
            FloatingIps::None => false,
            FloatingIps::FirstMaster => self.master && self.index == 0,
            FloatingIps::Masters => self.master,
        }
    }

    fn volume(&self, cloud: &OpenStack) -> Want {
        let spec = Spec::Volume { size: cloud.volume.size, image: cloud.image.clone(), zone: self.zone(cloud) };
        Want { part: self.part(Kind::Volume), spec, needs: Vec::new() }
    }

    fn server(&self, cluster: &Cluster, cloud: &OpenStack) -> Want {
        let mut needs = vec![self.part(Kind::Port), self.part(Kind::Volume)];
        let group = if self.master { "masters" } else { "workers" };
        let group = (cloud.anti_affinity != AntiAffinity::None).then(|| group.to_owned());
        needs.extend(group.iter().map(|group| Part::new(Kind::ServerGroup, group)));
        // The machine's configuration contains the masters' addresses.
        let unknown = cluster.masters.iter().filter(|master| master.address.is_none());
        let others = unknown.filter(|master| master.name != self.machine.name);
        needs.extend(others.map(|master| Part::new(Kind::Port, &master.name)));
        // The machine's configuration contains the balancer's address, which is known as soon as the balancer's creation starts.
        if cloud.load_balancer.enabled {
            needs.push(Part::new(Kind::Balancer, API));
            needs.extend(cloud.load_balancer.floating_ip.then(|| Part::new(Kind::FloatingIp, API)));
        }
        needs.extend(self.floats(cloud).then(|| self.part(Kind::FloatingIp)));
        let flavor = self.machine.flavor.clone().or_else(|| cloud.flavor.clone()).unwrap_or_default();
        let spec = Spec::Server { flavor, zone: self.zone(cloud), group, ports: vec![self.part(Kind::Port)] };
        Want { part: self.part(Kind::Server), spec, needs }
    }

    fn zone(&self, cloud: &OpenStack) -> Option<String> {
        let zones = &cloud.availability_zones;
        let in_turn = || (!zones.is_empty()).then(|| zones[self.index % zones.len()].clone());
        self.machine.availability_zone.clone().or_else(in_turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;
    use std::collections::BTreeSet;

    fn wants(more: &str) -> Vec<Want> {
        let cluster = cluster(more);
        of(&cluster, &cluster.openstack.clone().unwrap())
    }

    #[test]
    fn each_part_is_named_once_and_needs_what_is_made() {
        let wants = wants("  floatingIPs: masters\n  loadBalancer: {floatingIP: true}\n  bastion: {}\n");
        let parts: BTreeSet<&Part> = wants.iter().map(|want| &want.part).collect();
        assert_eq!(parts.len(), wants.len());
        for want in &wants {
            assert!(want.needs.iter().all(|need| parts.contains(need)), "{want:?}");
        }
    }

    #[test]
    fn what_is_written_is_not_given_out() {
        let left = |net: &str, taken: &[&str]| {
            let ranges = without(net.parse().unwrap(), taken.iter().map(|address| address.parse().unwrap()));
            ranges.iter().map(|(first, last)| format!("{first} {last}")).collect::<Vec<_>>()
        };
        let taken = ["10.1.0.4", "10.1.0.1", "10.1.0.14"];
        assert_eq!(left("10.1.0.0/28", &taken), ["10.1.0.2 10.1.0.3", "10.1.0.5 10.1.0.13"]);
        assert_eq!(left("10.1.0.0/30", &["10.1.0.1", "10.1.0.2"]), [""; 0]);
        assert_eq!(left("fd00::/120", &["fd00::1", "fd00::1"]), ["fd00::2 fd00::fe"]);
    }

    #[test]
    fn zones_are_taken_in_turn() {
        let wants = wants("  availabilityZones: [a, b]\n");
        let zones: Vec<_> = wants
            .iter()
            .filter_map(|w| if let Spec::Server { zone, .. } = &w.spec { zone.as_deref() } else { None })
            .collect();
        assert_eq!(zones, ["a", "b", "a", "a", "b"]);
    }

    #[test]
    fn a_bastion_is_no_machine_of_the_cluster() {
        let wants = wants("  bastion: {name: gate, flavor: tiny, image: plain, address: 10.0.0.5}\n");
        let own = |kind: Kind| wants.iter().find(|want| want.part == Part::new(kind, "gate")).unwrap();
        let address = "10.0.0.5".parse().ok();
        assert_eq!(own(Kind::Port).spec, Spec::Port { network: API, address, groups: &[BASTION], pairs: Vec::new() });
        assert_eq!(own(Kind::FloatingIp).spec, Spec::FloatingIp { of: Part::new(Kind::Port, "gate") });
        assert_eq!(own(Kind::Volume).spec, Spec::Volume { size: 20, image: "plain".into(), zone: None });
        assert_eq!(
            own(Kind::Server).spec,
            Spec::Server { flavor: "tiny".into(), zone: None, group: None, ports: vec![Part::new(Kind::Port, "gate")] }
        );
    }

    #[test]
    fn an_existing_network_is_left_alone() {
        let base = crate::testing::cluster("");
        let mut cloud = base.openstack.clone().unwrap();
        cloud.network = CloudNetwork::Existing { network: "private".into(), subnet: None };
        let kinds: BTreeSet<Kind> = of(&base, &cloud).iter().map(|want| want.part.kind).collect();
        assert!(!kinds.contains(&Kind::Subnet) && !kinds.contains(&Kind::Router));
        assert!(of(&base, &cloud).iter().all(|want| want.needs.iter().all(|need| kinds.contains(&need.kind))));
    }
}
