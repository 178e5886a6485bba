//! Addresses inside the cluster.

use super::{
    Document,
    addons::Cni,
    declare::{Verdict, keys, place::Place},
    texts::Subdomain,
};
use crate::problem::Mark;
use ipnet::IpNet;
use std::net::IpAddr;

/// Limits of the ranges, of which the API server and the controller manager keep bitmaps.
/// Source: `cmd/kube-apiserver/app/options/validation.go`.
const SERVICE_BITS: u8 = 20;
/// Source: `pkg/controller/nodeipam/ipam/cidrset/cidr_set.go`.
const NODE_BITS: u8 = 16;

keys! {
    /// Addresses inside the cluster.
    pub struct Network {
        /// The pods' addresses. Each node takes a /24 of it (IPv6: a /64), so the size limits the number of nodes.
        "podCIDR" pod_cidr: IpNet = "10.244.0.0/16", to all, immutable => pod_range;
        /// The services' addresses. The Service of the API gets the first address, the cluster DNS the tenth.
        "serviceCIDR" service_cidr: IpNet = "10.96.0.0/12", to all, immutable => service_range;
        /// The domain of the cluster's DNS.
        "dnsDomain" dns_domain: String as Subdomain = "cluster.local", to all, immutable;
        /// `false`: drops the traffic of pods to the cloud's metadata service, where user-data can be read. See `docs/reference/security.md`.
        "podsMayReadMetadata" pods_may_read_metadata: bool,
            else "`false` on OpenStack, else `true`" (without_cloud), example "false", to all;
    }
}

impl Network {
    /// Returns the address of the `kubernetes` service: the first of the service range.
    #[must_use]
    pub fn api_service(&self) -> IpAddr {
        nth(self.service_cidr, 1)
    }

    /// Returns the address of the cluster's DNS service: the tenth of the service range, as in kubeadm.
    #[must_use]
    pub fn dns_service(&self) -> IpAddr {
        nth(self.service_cidr, 10)
    }
}

/// Returns the network's address plus `n`. Validation has refused ranges that are too small.
fn nth(net: IpNet, n: u8) -> IpAddr {
    match net.network() {
        IpAddr::V4(a) => IpAddr::V4((u32::from(a).wrapping_add(u32::from(n))).into()),
        IpAddr::V6(a) => IpAddr::V6((u128::from(a).wrapping_add(u128::from(n))).into()),
    }
}

/// Without a cloud, nothing answers at the metadata address, and the rule needs `nft`.
fn without_cloud(all: &Place<'_, Document>) -> Option<bool> {
    Some(all.openstack().written().is_none())
}

fn service_range(place: &Place<'_, IpNet>, verdict: &mut Verdict<'_>) {
    let Some(net) = place.value() else { return };
    let bits = net.max_prefix_len() - net.prefix_len();
    if bits < 4 {
        let what = format!("{net} is too small: the cluster DNS needs the tenth address of this range");
        place.report(&mut verdict.errors, what, format!("use /{} or larger", net.max_prefix_len() - 4));
    } else if bits > SERVICE_BITS {
        let what = format!("{net} is larger than kube-apiserver allows");
        place.report(&mut verdict.errors, what, format!("use /{} or smaller", net.max_prefix_len() - SERVICE_BITS));
    }
}

fn pod_range(place: &Place<'_, IpNet>, verdict: &mut Verdict<'_>) {
    let (Some(net), all, errors) = (place.value(), place.all(), &mut verdict.errors) else { return };
    let mask = node_mask(&all, net);
    let wanted = all.masters().items().len().max(1) + all.workers().items().len();
    if net.prefix_len() > mask {
        let what = format!("{net} is too small: each node takes a /{mask} of it");
        place.report(errors, what, format!("use /{} or larger", mask.saturating_sub(8)));
    } else if mask - net.prefix_len() > NODE_BITS {
        let what = format!("{net} is too large for kube-controller-manager to assign a /{mask} to each node");
        place.report(errors, what, format!("use /{} or smaller", mask - NODE_BITS));
    } else if wanted > 1 << (mask - net.prefix_len()) {
        let has = 1 << (mask - net.prefix_len());
        let what = format!(
            "{net} is too small: each node needs a /{mask}; the range has enough for {has} nodes, but the cluster has {wanted}"
        );
        place.report(errors, what, "use a larger range");
    }
    if all.addons().fixed().cni().value() == Some(Cni::Flannel) && net.addr().is_ipv6() {
        let what = "nodeinit's configuration of flannel supports IPv4 only";
        place.report(errors, what, "set addons.cni to `none` or to a directory of manifests");
    }
}

/// Returns the prefix length of a node's range: the controller manager's flag, else its default.
fn node_mask(all: &Place<'_, Document>, net: IpNet) -> u8 {
    let (family, default) =
        if net.addr().is_ipv4() { ("node-cidr-mask-size-ipv4", 24) } else { ("node-cidr-mask-size-ipv6", 64) };
    let flags = all.controller_manager().extra_args().value().unwrap_or_default();
    let mask_size = |flag: &str| flags.get(flag)?.parse::<u8>().ok();
    mask_size(family)
        .or_else(|| mask_size("node-cidr-mask-size"))
        .filter(|m| *m <= net.max_prefix_len())
        .unwrap_or(default)
}

/// Checks that the two ranges do not overlap. The message points to the value that the user wrote.
pub(super) fn apart(place: &Place<'_, Network>, verdict: &mut Verdict<'_>) {
    let (pods, services) = (place.pod_cidr(), place.service_cidr());
    let (Some(pod_net), Some(service_net)) = (pods.value(), services.value()) else { return };
    let (here, net, other) = match pods.at() == Mark::DEFAULT {
        true => (&services, service_net, format!("{} {pod_net}", pods.path)),
        false => (&pods, pod_net, format!("{} {service_net}", services.path)),
    };
    if pod_net.addr().is_ipv4() != service_net.addr().is_ipv4() {
        let what = format!("{net} and {other} are in different address families");
        here.report(&mut verdict.errors, what, "use IPv4 for both, or IPv6 for both");
    } else if overlap(pod_net, service_net) {
        here.report(&mut verdict.errors, format!("{net} overlaps {other}"), "choose ranges that do not overlap");
    }
}

/// Whether two ranges share an address.
pub(super) fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}
