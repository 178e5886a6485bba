//! The security groups' rules: who may connect to what. Nothing else is open.

use super::{Kind, Part};
use ipnet::IpNet;
use nodeinit_config::{
    Addon, Cluster, OpenStack,
    cluster::{API_PORT, Bastion, Cni},
    openstack::{CloudNetwork, Opening},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The group of every machine.
pub const NODES: &str = "nodes";
/// The group of masters, beside that of every machine.
pub const MASTERS: &str = "masters";
/// The group of the bastion, which is in no other.
pub const BASTION: &str = "bastion";

/// Where connections come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// Addresses.
    Range(IpNet),
    /// The machines of a group.
    Group(&'static str),
    /// The machines' subnet, in which a balancer has its addresses.
    Subnet,
}

/// What may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whose rule it is: [`NODES`], [`MASTERS`] or [`BASTION`].
    pub group: &'static str,
    /// The protocol and its ports.
    pub opening: Opening,
    /// Who comes.
    pub from: From,
    /// Why, for people.
    pub reason: &'static str,
}

impl Rule {
    /// Its name holds all that it says, so that another rule is another part.
    pub fn part(&self) -> Part {
        let from = match &self.from {
            From::Range(range) => range.to_string(),
            From::Group(group) => (*group).to_owned(),
            From::Subnet => "subnet".to_owned(),
        };
        Part::new(Kind::Rule, format!("{}:{}:{from}", self.group, self.opening))
    }

    /// What Neutron compares, with ids in place of names.
    pub fn content(&self, group: &str, subnet: Option<IpNet>) -> Value {
        let range = match &self.from {
            From::Range(range) => Some(*range),
            From::Subnet => subnet,
            From::Group(_) => None,
        };
        let family = if range.or(subnet).is_some_and(|range| range.addr().is_ipv6()) { "IPv6" } else { "IPv4" };
        json!({
            "direction": "ingress",
            "ethertype": family,
            "protocol": self.opening.protocol,
            "port_range_min": self.opening.ports.map(|ports| ports.0),
            "port_range_max": self.opening.ports.map(|ports| ports.1),
            "remote_ip_prefix": range.map(|range| range.to_string()),
            "remote_group_id": matches!(self.from, From::Group(_)).then_some(group),
        })
    }

    /// Whether a rule that is there says the same.
    pub fn is(&self, body: &Value, group: Option<&str>, subnet: Option<IpNet>) -> bool {
        let wanted = self.content(group.unwrap_or("not created yet"), subnet);
        // A range of everything may be told as none.
        let range =
            |value: &Value| value.as_str().filter(|range| !matches!(*range, "0.0.0.0/0" | "::/0")).map(str::to_owned);
        let same = |key: &str| body[key] == wanted[key];
        ["direction", "ethertype", "protocol", "port_range_min", "port_range_max", "remote_group_id"]
            .into_iter()
            .all(same)
            && range(&body["remote_ip_prefix"]) == range(&wanted["remote_ip_prefix"])
    }
}

/// The role of the bastion that is the only way between the two networks.
pub fn gateway<'c>(cluster: &'c Cluster, cloud: &OpenStack) -> Option<&'c Bastion> {
    cluster.bastion.as_ref().filter(|_| cloud.bastion.is_some())
}

/// All rules of a cluster.
pub fn of(cluster: &Cluster, cloud: &OpenStack) -> Vec<Rule> {
    let tcp = |first: u16, last: u16| Opening { protocol: Some("tcp".to_owned()), ports: Some((first, last)) };
    let udp = |first: u16, last: u16| Opening { protocol: Some("udp".to_owned()), ports: Some((first, last)) };
    let rule = |group, opening, from, reason| Rule { group, opening, from, reason };
    let mut rules = vec![
        rule(MASTERS, tcp(2379, 2380), From::Group(MASTERS), "etcd"),
        rule(NODES, tcp(10250, 10250), From::Group(MASTERS), "kubelet"),
    ];
    // A balancer comes from addresses of its own, in the machines' subnet or its own; without one, only machines do.
    let inside = if cloud.load_balancer.enabled { From::Subnet } else { From::Group(NODES) };
    rules.push(rule(MASTERS, tcp(API_PORT, API_PORT), inside, "API"));
    let second = match &cloud.network {
        CloudNetwork::Made(made) if cloud.load_balancer.enabled && gateway(cluster, cloud).is_none() => {
            made.public.as_ref()
        }
        _ => None,
    };
    rules.extend(
        second
            .into_iter()
            .chain(&cloud.access.api)
            .map(|range| rule(MASTERS, tcp(API_PORT, API_PORT), From::Range(*range), "API")),
    );
    let inner = match &cloud.network {
        CloudNetwork::Made(made) if gateway(cluster, cloud).is_some() => Some(From::Range(made.gateway.into())),
        _ => None,
    };
    let outside = |group, port| {
        cloud.access.ssh.iter().map(move |range| rule(group, tcp(port, port), From::Range(*range), "SSH"))
    };
    for port in ssh_ports(cluster) {
        rules.push(rule(NODES, tcp(port, port), From::Group(MASTERS), "SSH"));
        match cloud.bastion {
            // The inner port of the gateway is in no group.
            Some(_) => {
                let from = inner.clone().unwrap_or(From::Group(BASTION));
                rules.push(rule(NODES, tcp(port, port), from, "SSH"));
            }
            None => rules.extend(outside(NODES, port)),
        }
    }
    if cloud.bastion.is_some() {
        rules.extend(outside(BASTION, cluster.ssh.port));
    }
    if cluster.addons.cni == Cni::Flannel {
        rules.push(rule(NODES, udp(8472, 8472), From::Group(NODES), "pod network"));
    }
    let scraped = |addon: Addon| cluster.addons.optional.contains(&addon);
    if scraped(Addon::MetricsServer) || scraped(Addon::Monitoring) {
        rules.push(rule(NODES, tcp(10250, 10250), From::Group(NODES), "metrics"));
    }
    if scraped(Addon::Monitoring) {
        rules.push(rule(NODES, tcp(9100, 9100), From::Group(NODES), "metrics"));
    }
    rules.extend(cloud.access.between_nodes.iter().map(|o| rule(NODES, o.clone(), From::Group(NODES), "betweenNodes")));
    for range in &cloud.access.ingress {
        rules.extend([80, 443].map(|port| rule(NODES, tcp(port, port), From::Range(*range), "ingress")));
    }
    for range in &cloud.access.node_ports {
        rules.extend([tcp, udp].map(|ports| rule(NODES, ports(30000, 32767), From::Range(*range), "node ports")));
    }
    let mut seen = BTreeSet::new();
    rules.retain(|rule| seen.insert(rule.part()));
    rules
}

fn ssh_ports(cluster: &Cluster) -> BTreeSet<u16> {
    let machines = cluster.masters.iter().chain(&cluster.workers);
    machines.map(|machine| machine.ssh.port.unwrap_or(cluster.ssh.port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    fn told(text: &str) -> Vec<String> {
        let cluster = cluster(text);
        let cloud = cluster.openstack.clone().unwrap();
        of(&cluster, &cloud).iter().map(|rule| rule.part().name).collect()
    }

    #[test]
    fn nothing_more_than_is_needed_is_open() {
        assert_eq!(
            told(""),
            [
                "masters:tcp/2379-2380:masters",
                "nodes:tcp/10250:masters",
                "masters:tcp/6443:subnet",
                "nodes:tcp/22:masters",
                "nodes:udp/8472:nodes",
            ]
        );
    }

    #[test]
    fn what_is_configured_is_open() {
        let told = told(
            "  access: {ssh: [192.0.2.0/24], api: [0.0.0.0/0], nodePorts: [192.0.2.0/24], betweenNodes: [tcp/179]}\n  loadBalancer: {enabled: false}\n",
        );
        for rule in [
            "nodes:tcp/22:192.0.2.0/24",
            "masters:tcp/6443:0.0.0.0/0",
            "masters:tcp/6443:nodes",
            "nodes:udp/30000-32767:192.0.2.0/24",
            "nodes:tcp/179:nodes",
        ] {
            assert!(told.iter().any(|t| t == rule), "{rule} in {told:?}");
        }
        assert!(!told.iter().any(|t| t.ends_with(":subnet")));
    }

    #[test]
    fn behind_a_bastion_machines_take_ssh_from_it_alone() {
        let told = told("  access: {ssh: [192.0.2.0/24]}\n  bastion: {}\n");
        let ssh: Vec<&str> = told.iter().filter(|t| t.contains("tcp/22:")).map(String::as_str).collect();
        assert_eq!(ssh, ["nodes:tcp/22:masters", "nodes:tcp/22:bastion", "bastion:tcp/22:192.0.2.0/24"]);
        assert!(told.iter().filter(|t| t.starts_with("bastion:")).count() == 1);
    }

    #[test]
    fn a_rule_is_known_by_what_it_says() {
        let cluster = cluster("");
        let rules = of(&cluster, &cluster.openstack.clone().unwrap());
        let body = rules[0].content("id-of-masters", None);
        assert!(rules[0].is(&body, Some("id-of-masters"), None));
        assert!(!rules[0].is(&body, Some("another"), None) && !rules[1].is(&body, Some("id-of-masters"), None));
    }
}
