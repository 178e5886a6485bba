//! The section `openstack`: what must be there, and what must fit the machines.

use super::{Verdict, listed};
use crate::{
    assemble,
    cluster_id::{fresh_cluster_id, is_documented},
    format,
    node::Node,
    problem::{Findings, Mark},
};
use ipnet::IpNet;
use std::net::IpAddr;

pub(super) fn check(tree: &Node, verdict: &mut Verdict) {
    let Some(section) = tree.get("openstack") else {
        return without(tree, &mut verdict.warnings);
    };
    let errors = &mut verdict.errors;
    let mut need = |path: &str, remedy: String| {
        if section.get(path).is_none() {
            errors.add(section.at, &format!("openstack.{path}"), "missing", remedy);
        }
    };
    need(
        "clusterID",
        format!(
            "write `clusterID: {}`, which is new; it marks everything that belongs to this cluster",
            fresh_cluster_id()
        ),
    );
    need("image", "name the image that machines boot from".to_owned());
    if let Some((id, at)) = section.read("clusterID", format::uuid).filter(|(id, _)| is_documented(id)) {
        let what =
            format!("{id} is from the documentation: every cluster that copied it would own the others' machines");
        let remedy = format!("write `clusterID: {}`, which is new", fresh_cluster_id());
        errors.add(at, "openstack.clusterID", what, remedy);
    }
    let machines: Vec<_> = listed(tree, "masters").into_iter().chain(listed(tree, "workers")).collect();
    if section.get("flavor").is_none() {
        for (path, machine) in machines.iter().filter(|(_, machine)| machine.get("flavor").is_none()) {
            let what = "missing: nothing says how large this machine is";
            errors.add(machine.at, &format!("{path}.flavor"), what, "write it, or `openstack.flavor` for all");
        }
    }
    if tree.get("masters").is_none_or(|masters| masters.items().is_empty()) {
        errors.add(section.at, "masters", "missing: a cluster in a cloud needs a list of them", "name at least one");
    }
    let bastion_named = section.get("bastion").map(|own| ("openstack.bastion".to_owned(), own));
    for (path, machine) in machines.iter().chain(&bastion_named) {
        if let Some(name) = machine.get("name").filter(|name| name.scalar() == Some("api")) {
            let what = "the floating IP of the API servers' balancer is marked `api`, and a machine's with its name";
            errors.add(name.at, &format!("{path}.name"), what, "choose another name");
        }
    }
    network(tree, section, &machines, errors);
    if let Some(own) = section.get("bastion") {
        bastion(tree, section, own, &machines, errors);
    }
    binary(section, errors);
    given_out(section, &machines, &mut verdict.warnings);
    reachability(tree, section, &mut verdict.warnings);
}

/// Keys of machines that mean nothing without a cloud.
fn without(tree: &Node, warnings: &mut Findings) {
    for (path, machine) in listed(tree, "masters").into_iter().chain(listed(tree, "workers")) {
        for key in ["flavor", "availabilityZone"] {
            if let Some(node) = machine.get(key) {
                let what = "no effect: there is no section `openstack`";
                warnings.add(node.at, &format!("{path}.{key}"), what, "leave it out, or describe the cloud");
            }
        }
    }
}

fn network(tree: &Node, section: &Node, machines: &[(String, &Node)], errors: &mut Findings) {
    let Some(made) = section.get("network.create").filter(|made| !made.entries().is_empty()) else {
        if section.get("network.name").is_none() {
            let remedy =
                "write `network: {name: NAME}` for one that is there, or `network: {create: {cidr: 10.0.0.0/24}}`";
            errors.add(section.at, "openstack.network", "missing: the machines need a network", remedy);
        }
        return;
    };
    let Some((cidr, at)) = made.read("cidr", format::cidr) else {
        if made.get("cidr").is_none() {
            let remedy = "write it: the machines' addresses, such as 10.0.0.0/24";
            errors.add(made.at, "openstack.network.create.cidr", "missing", remedy);
        }
        return;
    };
    let public = made.read("publicCIDR", format::cidr);
    let own = ("openstack.network.create.cidr", cidr);
    let facing = public.map_or(own, |(net, _)| ("openstack.network.create.publicCIDR", net));
    let mut apart = |(key, net): (&str, IpNet), at: Mark, (range, other): (&str, IpNet)| {
        if other.contains(&net.network()) || net.contains(&other.network()) {
            errors.add(at, key, format!("{net} overlaps {range} {other}"), "choose ranges that share no address");
        }
    };
    for range in ["network.podCIDR", "network.serviceCIDR"] {
        let Some((other, _)) = tree.read(range, format::cidr) else { continue };
        apart(own, at, (range, other));
        if let Some((_, at)) = public {
            apart(facing, at, (range, other));
        }
    }
    if let Some((net, at)) = public {
        apart(facing, at, own);
        if net.addr().is_ipv4() != cidr.addr().is_ipv4() {
            let what = format!("{net} and {} {cidr} are of different families", own.0);
            errors.add(at, facing.0, what, "use IPv4 for both, or IPv6 for both");
        }
        if let Some(router) = made.get("router").filter(|router| router.scalar() == Some("false")) {
            let what = format!("without a router nothing leads from {} to the machines", facing.0);
            errors.add(router.at, "openstack.network.create.router", what, "leave one of the two out");
        }
    }
    let mut inside = |path: String, node: &Node, key: &str, (name, net): (&str, IpNet)| {
        if let Some((address, at)) = node.read(key, format::address)
            && !net.contains(&address)
        {
            let what = format!("{address} lies outside of {name} {net}");
            errors.add(at, &path, what, "choose an address of that range");
        }
    };
    for key in ["gateway", "firstAddress", "lastAddress"] {
        inside(format!("openstack.network.create.{key}"), made, key, own);
    }
    for key in ["loadBalancer.address", "bastion.address"] {
        inside(format!("openstack.{key}"), section, key, facing);
    }
    inside("controlPlane.virtualAddress".to_owned(), tree, "controlPlane.virtualAddress", own);
    for (path, machine) in machines {
        inside(format!("{path}.address"), machine, "address", own);
    }
    taken(tree, section, (made, cidr), machines, errors);
}

/// The gateway's and the balancer's address are nobody else's.
fn taken(
    tree: &Node,
    section: &Node,
    (made, cidr): (&Node, IpNet),
    machines: &[(String, &Node)],
    errors: &mut Findings,
) {
    let gateway = assemble::gateway(made, cidr).map(|address| (address, "the gateway"));
    let second = made.read("publicCIDR", format::cidr).and_then(|(net, _)| net.hosts().next());
    let second = second.map(|address| (address, "the gateway"));
    let balancer = section.read("loadBalancer.address", format::address).map(|(address, _)| (address, "the balancer"));
    let virtual_address = tree.read("controlPlane.virtualAddress", format::address);
    let mut refuse = |path: &str, own: Option<(IpAddr, Mark)>, others: &[Option<(IpAddr, &str)>]| {
        let Some((own, at)) = own else { return };
        for (address, whose) in others.iter().flatten() {
            if *address == own {
                errors.add(at, path, format!("{own} is {whose}'s address"), "give each its own");
            }
        }
    };
    let own = section.read("loadBalancer.address", format::address);
    refuse("openstack.loadBalancer.address", own, &[gateway, second]);
    refuse("openstack.bastion.address", section.read("bastion.address", format::address), &[gateway, second]);
    refuse("controlPlane.virtualAddress", virtual_address, &[gateway, balancer]);
    for (path, machine) in machines {
        refuse(&format!("{path}.address"), machine.read("address", format::address), &[gateway, balancer]);
    }
}

/// Machines' addresses in the range from which the cloud takes what nobody has written: it may be faster.
fn given_out(section: &Node, machines: &[(String, &Node)], warnings: &mut Findings) {
    let Some(made) = section.get("network.create") else { return };
    let Some((cidr, at)) = made.read("cidr", format::cidr) else { return };
    let is_on = section.get("loadBalancer.enabled").is_some_and(|node| node.scalar() == Some("true"));
    let balancer = (is_on && section.get("loadBalancer.address").is_none()).then_some("the balancer");
    let bastion = section.get("bastion").filter(|own| own.get("address").is_none()).map(|_| "the bastion");
    // What is in the second network takes no address of the first.
    let taker = balancer.or(bastion).filter(|_| made.get("publicCIDR").is_none());
    let bound = |key: &str| made.read(key, format::address);
    let written = bound("firstAddress").is_some() || bound("lastAddress").is_some();
    if !written && taker.is_none() {
        return;
    }
    let (first, at) = bound("firstAddress").unwrap_or((cidr.network(), at));
    let last = bound("lastAddress").map_or(cidr.broadcast(), |(address, _)| address);
    let address = |machine: &Node| Some(machine.read("address", format::address)?.0);
    let inside = machines.iter().filter(|(_, machine)| address(machine).is_some_and(|a| (first..=last).contains(&a)));
    let mut names: Vec<&str> = inside.filter_map(|(_, machine)| machine.get("name").and_then(Node::scalar)).collect();
    let fixed = [("bastion.address", "the bastion"), ("loadBalancer.address", "the balancer")].into_iter();
    let fixed = fixed.filter_map(|(key, whose)| Some((section.read(key, format::address)?.0, whose)));
    names.extend(fixed.filter(|(address, _)| (first..=last).contains(address)).map(|(_, whose)| whose));
    let shown = match names[..] {
        [] => return,
        [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", names.len() - 3),
        _ => names.join(", "),
    };
    let taker = taker.unwrap_or("something else");
    let what = format!("the cloud assigns {first} to {last} automatically: {taker} may get the address of {shown}");
    let remedy = "write `firstAddress` and `lastAddress` of a range apart from the machines' addresses";
    warnings.add(at, "openstack.network.create", what, remedy);
}

/// The bastion is a machine beside the others, and the only way in.
fn bastion(tree: &Node, section: &Node, own: &Node, machines: &[(String, &Node)], errors: &mut Findings) {
    if section.get("flavor").or(own.get("flavor")).is_none() {
        let what = "missing: nothing says how large the bastion is";
        errors.add(own.at, "openstack.bastion.flavor", what, "write it, or `openstack.flavor` for all");
    }
    let mut refuse = |key: &str, other: Option<&Node>, whose: &str| {
        if let (Some(node), Some(other)) = (own.get(key), other)
            && node.scalar() == other.scalar()
            && let Some(text) = node.scalar()
        {
            errors.add(
                node.at,
                &format!("openstack.bastion.{key}"),
                format!("{text} is {whose}'s {key}"),
                "give each its own",
            );
        }
    };
    for (path, machine) in machines {
        refuse("name", machine.get("name"), path);
        refuse("address", machine.get("address"), path);
    }
    refuse("address", section.get("loadBalancer.address"), "the balancer");
    refuse("address", tree.get("controlPlane.virtualAddress"), "controlPlane.virtualAddress");
    if let Some(jump) = tree.get("ssh.jumpHost").filter(|jump| jump.get("address").is_some()) {
        let what = "a second way in: machines are reached through `openstack.bastion`";
        errors.add(jump.at, "ssh.jumpHost", what, "leave one of the two out");
    }
}

fn binary(section: &Node, errors: &mut Findings) {
    if let Some(urls) = section.get("binary.urls")
        && !urls.items().is_empty()
        && section.get("binary.sha256").is_none()
    {
        let what = "missing: nothing that is fetched is run unchecked";
        errors.add(urls.at, "openstack.binary.sha256", what, "write what `sha256sum nodeinit` prints");
    }
}

fn reachability(tree: &Node, section: &Node, warnings: &mut Findings) {
    let flag = |path: &str| section.get(path).is_some_and(|node| node.scalar() == Some("true"));
    let empty = |path: &str| section.get(path).is_none_or(|node| node.items().is_empty());
    if flag("loadBalancer.enabled") && flag("loadBalancer.floatingIP") && empty("access.api") {
        let what = "missing: the balancer has a floating IP, and nobody may use it";
        warnings.add(section.at, "openstack.access.api", what, "name the address ranges of those who may");
    }
    let floating = section.get("floatingIPs").and_then(Node::scalar).is_some_and(|text| text != "none");
    // Into a network that is made there is no other way, which `provisioner plan` tells.
    let made = section.get("network.create.cidr").is_some();
    if empty("access.ssh") && tree.get("ssh.jumpHost.address").is_none() {
        let what = "missing: nobody outside of the cluster reaches a machine by SSH, so that no secret can be brought";
        warnings.add(section.at, "openstack.access.ssh", what, "name the address range that you come from");
    } else if !floating && !made && section.get("bastion").is_none() && tree.get("ssh.jumpHost.address").is_none() {
        let what = "there is neither a floating IP for the first master, nor a bastion, nor a jump host";
        let remedy = "set `openstack.floatingIPs: first-master`, `openstack.bastion` or `ssh.jumpHost`, unless there is a route from here";
        warnings.add(section.at, "openstack.floatingIPs", what, remedy);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, load};

    const GOOD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: [{name: m1, address: 10.0.0.11}]\n";

    fn problems(section: &str) -> Vec<String> {
        let text = format!("{GOOD}openstack: {section}\n");
        let found = load(&[Layer::file("x", text)]).err().map(|p| p.0).unwrap_or_default();
        found.into_iter().map(|p| format!("{}: {} ({})", p.path, p.what, p.remedy)).collect()
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let found = problems("{}");
        for key in ["openstack.clusterID", "openstack.image", "masters[0].flavor", "openstack.network"] {
            assert!(found.iter().any(|p| p.starts_with(&format!("{key}: missing"))), "{key} in {found:#?}");
        }
        let proposed =
            found.iter().find_map(|p| p.split_once("clusterID: ").and_then(|(_, p)| p.split_once("clusterID: ")));
        let uuid = proposed.and_then(|(_, rest)| rest.split_once('`')).map(|(uuid, _)| uuid).unwrap();
        assert!(crate::format::UUID.accepts(uuid), "{uuid}");
        assert!(!problems("{}").iter().any(|p| p.contains(uuid)), "not fresh");
    }

    #[test]
    fn an_id_from_the_documentation_is_rejected() {
        for id in ["3a8e3e0c-5f0b-4d3f-9c55-2f6f1d0c7b11", "1B4E28BA-2FA1-41D2-883F-0016D3CCA427"] {
            let found = problems(&format!("{{clusterID: {id}, image: i, flavor: f, network: {{name: n}}}}"));
            let own = found.iter().find(|p| p.starts_with("openstack.clusterID: ")).unwrap();
            assert!(own.contains(&id.to_lowercase()) && own.contains("from the documentation"), "{own}");
            assert!(own.contains("write `clusterID: "), "{own}");
        }
    }

    #[test]
    fn addresses_must_fit() {
        let section = |network: &str| {
            format!(
                "{{clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, loadBalancer: {{address: 10.0.0.11}}, network: {network}}}"
            )
        };
        let all = |network: &str| problems(&section(network)).join("\n");
        assert!(all("{create: {cidr: 10.0.0.0/24}}").contains("masters[0].address: 10.0.0.11 is the balancer's"));
        assert!(all("{create: {cidr: 10.1.0.0/24}}").contains("masters[0].address: 10.0.0.11 lies outside"));
        assert!(all("{create: {cidr: 10.244.0.0/24}}").contains("overlaps network.podCIDR"));
        assert!(all("{create: {cidr: 10.0.0.0/24, gateway: 10.0.0.11}}").contains("is the gateway's"));
        assert!(all("{create: {dhcp: false}}").contains("create.cidr: missing"));
        assert!(all("{create: {cdir: 10.0.0.0/24}}").contains("did you mean `cidr`"));
    }

    #[test]
    fn machines_are_apart_from_what_the_cloud_gives_out() {
        let warned = |create: &str, balancer: &str| {
            let text = format!(
                "{GOOD}openstack: {{clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, \
                 loadBalancer: {{{balancer}}}, network: {{create: {{cidr: 10.0.0.0/24{create}}}}}}}\n"
            );
            let found = load(&[Layer::file("x", text)]).unwrap().warnings;
            let one = found.iter().find(|warning| warning.path == "openstack.network.create");
            one.map(|warning| warning.what.clone()).unwrap_or_default()
        };
        let all = "the cloud assigns 10.0.0.0 to 10.0.0.255 automatically: the balancer may get the address of m1";
        assert_eq!(warned("", ""), all);
        assert!(warned(", firstAddress: 10.0.0.5, lastAddress: 10.0.0.11", "").contains("10.0.0.5 to 10.0.0.11"));
        assert!(warned(", lastAddress: 10.0.0.11", "address: 10.0.0.2").contains("something else"));
        assert!(warned("", "address: 10.0.0.2}, bastion: {").contains("the bastion may get the address of m1"));
        assert_eq!(warned("", "}, bastion: {address: 10.0.0.3"), format!("{all}, the bastion"));
        for (create, balancer) in [
            (", firstAddress: 10.0.0.12", ""),
            ("", "address: 10.0.0.2"),
            ("", "enabled: false"),
            (", publicCIDR: 10.0.1.0/24", ""),
        ] {
            assert_eq!(warned(create, balancer), "", "{create} {balancer}");
        }
    }

    #[test]
    fn a_bastion_is_beside_the_machines_and_the_only_way_in() {
        let cloud = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, network: {create: {cidr: 10.0.0.0/24}}";
        let found = |bastion: &str, more: &str| {
            let found =
                problems(&format!("{{{cloud}, loadBalancer: {{address: 10.0.0.9}}, bastion: {bastion}}}\n{more}"));
            found.into_iter().filter(|p| !p.starts_with("masters[0].flavor")).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(found("{flavor: f}", ""), "");
        assert!(found("{}", "").contains("openstack.bastion.flavor: missing"));
        assert!(found("{flavor: f, name: m1}", "").contains("openstack.bastion.name: m1 is masters[0]'s name"));
        for (address, what) in [
            ("10.0.1.5", "10.0.1.5 lies outside of openstack.network.create.cidr 10.0.0.0/24"),
            ("10.0.0.1", "10.0.0.1 is the gateway's address"),
            ("10.0.0.9", "10.0.0.9 is the balancer's address"),
            ("10.0.0.11", "10.0.0.11 is masters[0]'s address"),
        ] {
            let found = found(&format!("{{flavor: f, address: {address}}}"), "");
            assert!(found.contains(&format!("openstack.bastion.address: {what}")), "{found}");
        }
        assert!(found("{flavor: f, name: api}", "").contains("openstack.bastion.name: the floating IP"));
        let both = found("{flavor: f}", "ssh: {jumpHost: {address: 192.0.2.1}}");
        assert!(both.starts_with("ssh.jumpHost: a second way in"), "{both}");
    }

    #[test]
    fn a_bastion_is_there_where_it_is_described() {
        let cluster = |bastion: &str| {
            let cloud = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, network: {name: n}";
            let loaded = load(&[Layer::file("x", format!("{GOOD}openstack: {{{cloud}{bastion}}}\n"))]).unwrap();
            // What is shown means the same.
            let again = load(&[Layer::file("x", loaded.text())]).unwrap();
            assert_eq!(again.cluster, loaded.cluster);
            loaded.cluster.openstack.unwrap().bastion.map(|bastion| bastion.name)
        };
        assert_eq!(cluster(""), None);
        assert_eq!(cluster(", bastion: {}").as_deref(), Some("bastion"));
        assert_eq!(cluster(", bastion: {name: gate}").as_deref(), Some("gate"));
    }

    #[test]
    fn a_second_network_is_apart_and_holds_bastion_and_balancer() {
        let found = |create: &str, more: &str| {
            let cloud = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f";
            problems(&format!("{{{cloud}, network: {{create: {{cidr: 10.0.0.0/24, {create}}}}}, {more}}}")).join("\n")
        };
        let second = "publicCIDR: 10.0.1.0/24";
        assert_eq!(found(second, "loadBalancer: {address: 10.0.1.9}, bastion: {address: 10.0.1.5}"), "");
        for (create, more, what) in [
            ("publicCIDR: 10.0.0.128/25", "", "publicCIDR: 10.0.0.128/25 overlaps openstack.network.create.cidr"),
            ("publicCIDR: 10.96.1.0/24", "", "publicCIDR: 10.96.1.0/24 overlaps network.serviceCIDR"),
            ("publicCIDR: fd00::/64", "", "are of different families"),
            ("publicCIDR: 10.0.1.0/24, router: false", "", "create.router: without a router nothing leads"),
            (second, "bastion: {address: 10.0.0.5}", "10.0.0.5 lies outside of openstack.network.create.publicCIDR"),
            (second, "loadBalancer: {address: 10.0.0.9}", "loadBalancer.address: 10.0.0.9 lies outside"),
            (second, "bastion: {address: 10.0.1.1}", "10.0.1.1 is the gateway's address"),
        ] {
            assert!(found(create, more).contains(what), "{what}: {}", found(create, more));
        }
    }

    #[test]
    fn what_is_fetched_has_a_digest() {
        assert!(
            problems("{binary: {urls: [\"https://a/b\"]}}").iter().any(|p| p.starts_with("openstack.binary.sha256"))
        );
    }

    #[test]
    fn no_section_means_no_cloud() {
        let text = format!("{GOOD}workers: [{{name: w1, flavor: large}}]\n");
        let loaded = load(&[Layer::file("x", text)]).unwrap();
        assert_eq!(loaded.cluster.openstack, None);
        assert!(!loaded.text().contains("openstack"));
        assert!(loaded.warnings.iter().any(|w| w.path == "workers[0].flavor"));
    }
}
