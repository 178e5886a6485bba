//! Address ranges: large enough, small enough, and apart from each other.

use crate::{
    format,
    node::Node,
    problem::{Findings, Mark},
};
use ipnet::IpNet;

/// The API server and the controller manager keep a bitmap of each range.
/// Source: `cmd/kube-apiserver/app/options/validation.go`.
const SERVICE_BITS: u8 = 20;
/// Source: `pkg/controller/nodeipam/ipam/cidrset/cidr_set.go`.
const NODE_BITS: u8 = 16;

pub(super) fn check(tree: &Node, errors: &mut Findings) {
    let pods = tree.read("network.podCIDR", format::cidr);
    let services = tree.read("network.serviceCIDR", format::cidr);
    if let Some((net, at)) = services {
        service_range(net, at, errors);
    }
    if let Some((net, at)) = pods {
        pod_range(tree, net, at, errors);
        let flannel = tree.get("addons.cni").and_then(Node::scalar) == Some("flannel");
        if flannel && net.addr().is_ipv6() {
            let what = "flannel, as nodeinit applies it, carries IPv4 only";
            errors.add(at, "network.podCIDR", what, "set addons.cni to `none` or to a directory of manifests");
        }
    }
    if let (Some((pods, at)), Some((services, other))) = (pods, services) {
        // The message stands where the user wrote something, which need not be the pods' range.
        let (at, path, here, there) = match at == Mark::DEFAULT {
            true => (other, "network.serviceCIDR", services, format!("network.podCIDR {pods}")),
            false => (at, "network.podCIDR", pods, format!("network.serviceCIDR {services}")),
        };
        if pods.addr().is_ipv4() != services.addr().is_ipv4() {
            let what = format!("{here} and {there} are of different families");
            errors.add(at, path, what, "use IPv4 for both, or IPv6 for both");
        } else if overlap(pods, services) {
            errors.add(at, path, format!("{here} overlaps {there}"), "choose ranges that share no address");
        }
    }
}

fn service_range(net: IpNet, at: Mark, errors: &mut Findings) {
    let path = "network.serviceCIDR";
    let bits = net.max_prefix_len() - net.prefix_len();
    if bits < 4 {
        let what = format!("{net} is too small: the cluster's DNS has the tenth address of it");
        errors.add(at, path, what, format!("use /{} or larger", net.max_prefix_len() - 4));
    } else if bits > SERVICE_BITS {
        let what = format!("{net} is larger than kube-apiserver takes");
        errors.add(at, path, what, format!("use /{} or smaller", net.max_prefix_len() - SERVICE_BITS));
    }
}

fn pod_range(tree: &Node, net: IpNet, at: Mark, errors: &mut Findings) {
    let path = "network.podCIDR";
    let mask = node_mask(tree, net);
    let nodes = |list: &str| tree.get(list).map_or(0, |node| node.items().len());
    let wanted = nodes("masters").max(1) + nodes("workers");
    if net.prefix_len() > mask {
        let what = format!("{net} is too small: each node takes a /{mask} of it");
        errors.add(at, path, what, format!("use /{} or larger", mask.saturating_sub(8)));
    } else if mask - net.prefix_len() > NODE_BITS {
        let what = format!("{net} is larger than kube-controller-manager can cut into a /{mask} for each node");
        errors.add(at, path, what, format!("use /{} or smaller", mask - NODE_BITS));
    } else if wanted > 1 << (mask - net.prefix_len()) {
        let has = 1 << (mask - net.prefix_len());
        let what = format!("{net} is too small: it holds a /{mask} for {has} of {wanted} nodes");
        errors.add(at, path, what, "use a larger range");
    }
}

/// How large a node's part is: the controller manager's flag, or else its default.
fn node_mask(tree: &Node, net: IpNet) -> u8 {
    let (family, default) =
        if net.addr().is_ipv4() { ("node-cidr-mask-size-ipv4", 24) } else { ("node-cidr-mask-size-ipv6", 64) };
    let told = |flag: &str| tree.get("controllerManager.extraArgs")?.get(flag)?.scalar()?.parse::<u8>().ok();
    told(family).or_else(|| told("node-cidr-mask-size")).filter(|m| *m <= net.max_prefix_len()).unwrap_or(default)
}

fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}
