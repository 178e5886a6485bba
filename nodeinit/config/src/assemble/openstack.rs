//! The section `openstack`.

use super::{flag, list, text};
use crate::{format, node::Node, openstack::*};
use ipnet::IpNet;
use std::{net::IpAddr, path::PathBuf};

/// `None` only for a section that holds something which was reported as wrong.
pub(super) fn openstack(node: &Node) -> Option<OpenStack> {
    let balancer = node.get("loadBalancer")?;
    Some(OpenStack {
        cloud: text(node, "cloud"),
        cluster_id: node.read("clusterID", format::uuid)?.0,
        image: text(node, "image")?,
        flavor: text(node, "flavor"),
        keypair: text(node, "keypair"),
        availability_zones: list(node.get("availabilityZones")),
        anti_affinity: match text(node, "antiAffinity")?.as_str() {
            "soft" => AntiAffinity::Soft,
            "hard" => AntiAffinity::Hard,
            _ => AntiAffinity::None,
        },
        config_drive: flag(node, "configDrive")?,
        volume: Volume { size: node.read("volume.size", format::gibibytes)?.0, kind: text(node, "volume.type") },
        network: network(node.get("network")?)?,
        external_network: text(node, "externalNetwork"),
        floating_ips: match text(node, "floatingIPs")?.as_str() {
            "first-master" => FloatingIps::FirstMaster,
            "masters" => FloatingIps::Masters,
            _ => FloatingIps::None,
        },
        load_balancer: LoadBalancer {
            enabled: flag(balancer, "enabled")?,
            floating_ip: flag(balancer, "floatingIP")?,
            address: address(balancer, "address"),
            provider: text(balancer, "provider"),
        },
        bastion: match node.get("bastion") {
            Some(bastion) => Some(Bastion {
                name: text(bastion, "name")?,
                address: address(bastion, "address"),
                flavor: text(bastion, "flavor"),
                image: text(bastion, "image"),
            }),
            None => None,
        },
        access: access(node.get("access")?),
        allowed_address_pairs: ranges(node.get("allowedAddressPairs")),
        binary: binary(node.get("binary")?),
        parallel: node.read("parallel", format::count)?.0,
        timeouts: timeouts(node.get("timeouts")?)?,
    })
}

fn network(node: &Node) -> Option<CloudNetwork> {
    let name = text(node, "name");
    let Some((cidr, _)) = node.read("create.cidr", format::cidr) else {
        return Some(CloudNetwork::Existing { network: name?, subnet: text(node, "subnet") });
    };
    let made = node.get("create")?;
    let pools = match (address(made, "firstAddress"), address(made, "lastAddress")) {
        (None, None) => Vec::new(),
        (first, last) => {
            let mut hosts = cidr.hosts().filter(|host| Some(*host) != gateway(made, cidr));
            let first = first.or_else(|| hosts.next())?;
            vec![(first, last.unwrap_or_else(|| last_host(cidr)))]
        }
    };
    Some(CloudNetwork::Made(MadeNetwork {
        name,
        subnet: text(node, "subnet"),
        gateway: gateway(made, cidr)?,
        pools,
        dhcp: flag(made, "dhcp").unwrap_or(true),
        dns_servers: list(made.get("dnsServers")).iter().filter_map(|a| format::address(a).ok()).collect(),
        router: flag(made, "router").unwrap_or(true),
        public: made.read("publicCIDR", format::cidr).map(|(cidr, _)| cidr),
        cidr,
    }))
}

/// The router's address: what is written, or the first.
pub(crate) fn gateway(made: &Node, cidr: IpNet) -> Option<IpAddr> {
    address(made, "gateway").or_else(|| cidr.hosts().next())
}

fn last_host(cidr: IpNet) -> IpAddr {
    match cidr {
        IpNet::V4(net) => IpAddr::V4((u32::from(net.broadcast()).saturating_sub(1)).into()),
        IpNet::V6(net) => IpAddr::V6(net.broadcast()),
    }
}

fn access(node: &Node) -> Access {
    Access {
        ssh: ranges(node.get("ssh")),
        api: ranges(node.get("api")),
        ingress: ranges(node.get("ingress")),
        node_ports: ranges(node.get("nodePorts")),
        between_nodes: list(node.get("betweenNodes")).iter().filter_map(|o| format::opening(o).ok()).collect(),
    }
}

fn binary(node: &Node) -> BinaryDelivery {
    BinaryDelivery {
        urls: list(node.get("urls")),
        sha256: node.read("sha256", format::sha256).map(|(digest, _)| digest),
        file: text(node, "file").map(PathBuf::from),
    }
}

fn timeouts(node: &Node) -> Option<CloudTimeouts> {
    let read = |key| node.read(key, format::duration).map(|(duration, _)| duration);
    Some(CloudTimeouts {
        request: read("request")?,
        volume: read("volume")?,
        server: read("server")?,
        load_balancer: read("loadBalancer")?,
        deletion: read("deletion")?,
    })
}

fn address(node: &Node, path: &str) -> Option<IpAddr> {
    node.read(path, format::address).map(|(address, _)| address)
}

fn ranges(node: Option<&Node>) -> Vec<IpNet> {
    list(node).iter().filter_map(|range| format::cidr(range).ok()).collect()
}
