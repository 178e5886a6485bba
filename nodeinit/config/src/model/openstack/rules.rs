//! The rules for the section `openstack` and its relation to the machines.

use super::{FloatingIps, OpenStack, network::Create};
use crate::{
    model::{
        cluster_id::{fresh_cluster_id, is_documented},
        declare::{Verdict, place::Place},
        machines::Machine,
        network::overlap,
    },
    problem::{Findings, Mark},
};
use ipnet::IpNet;
use std::net::IpAddr;

pub(crate) fn check(section: &Place<'_, OpenStack>, verdict: &mut Verdict<'_>) {
    let all = section.all();
    let machines: Vec<_> = all.masters().items().into_iter().chain(all.workers().items()).collect();
    if section.written().is_none() {
        return without(&machines, &mut verdict.warnings);
    }
    let errors = &mut verdict.errors;
    let id = section.cluster_id();
    if id.written().is_none() {
        let fresh = fresh_cluster_id();
        let remedy =
            format!("write `clusterID: {fresh}`, which was just generated; it marks all resources of this cluster");
        errors.add(section.at(), &id.path, "missing", remedy);
    }
    if section.image().written().is_none() {
        errors.add(section.at(), &section.image().path, "missing", "set the boot image of the machines");
    }
    if let Some(text) = id.value().filter(|id| is_documented(id)) {
        let what = format!("{text} is from the documentation: clusters that copied it would share their resources");
        id.report(errors, what, format!("write `clusterID: {}`, which was just generated", fresh_cluster_id()));
    }
    if section.flavor().written().is_none() {
        for machine in machines.iter().filter(|machine| machine.flavor().written().is_none()) {
            let what = "missing: this machine has no flavor";
            let remedy = "set it, or set `openstack.flavor` for all machines";
            errors.add(machine.at(), &machine.flavor().path, what, remedy);
        }
    }
    if all.masters().items().is_empty() {
        let what = "missing: a cluster in a cloud needs masters";
        errors.add(section.at(), &all.masters().path, what, "list at least one");
    }
    let names = machines.iter().map(Place::<Machine>::name).chain([section.bastion().name()]);
    for name in names.filter(|name| name.value().as_deref() == Some("api")) {
        let what = "the name `api` is reserved for the floating IP of the load balancer";
        name.report(errors, what, "choose another name");
    }
    network(section, &machines, errors);
    bastion(section, &machines, errors);
    binary(section, errors);
    gateway(section, verdict);
    given_out(section, &machines, &mut verdict.warnings);
    reachability(section, &mut verdict.warnings);
}

/// Warns about keys of machines that have no effect without a cloud.
fn without(machines: &[Place<'_, Machine>], warnings: &mut Findings) {
    for machine in machines {
        for key in [machine.flavor(), machine.availability_zone()].iter().filter(|key| key.written().is_some()) {
            let what = "no effect: there is no section `openstack`";
            key.report(warnings, what, "remove it, or add the section `openstack`");
        }
    }
}

fn network(section: &Place<'_, OpenStack>, machines: &[Place<'_, Machine>], errors: &mut Findings) {
    let (all, network) = (section.all(), section.network());
    let made = network.create();
    if !made.is_written() {
        if network.name().written().is_none() {
            let remedy =
                "write `network: {name: NAME}` for an existing network, or `network: {create: {cidr: 10.0.0.0/24}}`";
            errors.add(section.at(), &network.path, "missing: the machines need a network", remedy);
        }
        return;
    }
    let (own, public) = (made.cidr(), made.public_cidr());
    let Some(cidr) = own.value() else {
        if own.written().is_none() {
            let remedy = "set the range of the machines' addresses, such as 10.0.0.0/24";
            errors.add(made.at(), &own.path, "missing", remedy);
        }
        return;
    };
    let facing = if public.value().is_some() { &public } else { &own };
    let mut apart = |here: &Place<'_, IpNet>, other: &Place<'_, IpNet>| {
        if let (Some(net), Some(range)) = (here.value(), other.value())
            && overlap(net, range)
        {
            let what = format!("{net} overlaps {} {range}", other.path);
            here.report(errors, what, "choose ranges that do not overlap");
        }
    };
    for range in [all.network().pod_cidr(), all.network().service_cidr()] {
        apart(&own, &range);
        apart(&public, &range);
    }
    apart(&public, &own);
    if let Some(net) = public.value() {
        if net.addr().is_ipv4() != cidr.addr().is_ipv4() {
            let what = format!("{net} and {} {cidr} are in different address families", own.path);
            // The rule for the bastion refuses IPv6.
            let has_bastion = section.bastion().written().is_some();
            let remedy = if has_bastion { "use IPv4 for both" } else { "use IPv4 for both, or IPv6 for both" };
            public.report(errors, what, remedy);
        }
        if made.router().value() == Some(false) {
            let what = format!("without a router, there is no route from {} to the machines", public.path);
            made.router().report(errors, what, "remove one of the two");
        }
    }
    let mut inside = |place: &Place<'_, IpAddr>, range: &Place<'_, IpNet>| {
        if let (Some(address), Some(net)) = (place.value(), range.value())
            && !net.contains(&address)
        {
            let what = format!("{address} is outside {} {net}", range.path);
            place.report(errors, what, "choose an address of that range");
        }
    };
    for address in [made.gateway(), made.first_address(), made.last_address()] {
        inside(&address, &own);
    }
    // The bastion that is the gateway does not forward external connections, so that the balancer is inside.
    let balancer = if has_gateway(section) { &own } else { facing };
    inside(&section.load_balancer().address(), balancer);
    inside(&section.bastion().address(), facing);
    inside(&all.control_plane().virtual_address(), &own);
    machines.iter().for_each(|machine| inside(&machine.address(), &own));
    taken(section, (&made, cidr), machines, errors);
}

/// Checks that no machine has the address of the gateway or the load balancer.
fn taken(
    section: &Place<'_, OpenStack>,
    (made, cidr): (&Place<'_, Create>, IpNet),
    machines: &[Place<'_, Machine>],
    errors: &mut Findings,
) {
    let gateway = made.gateway_of(cidr).map(|address| (address, "the gateway"));
    let second = made.public_cidr().value().and_then(|net| net.hosts().next()).map(|address| (address, "the gateway"));
    let balancer = section.load_balancer().address().value().map(|address| (address, "the balancer"));
    let mut refuse = |place: &Place<'_, IpAddr>, others: [Option<(IpAddr, &str)>; 2]| {
        let Some(own) = place.value() else { return };
        for (_, whose) in others.into_iter().flatten().filter(|(address, _)| *address == own) {
            place.report(errors, format!("{own} is {whose}'s address"), "use different addresses");
        }
    };
    refuse(&section.load_balancer().address(), [gateway, second]);
    refuse(&section.bastion().address(), [gateway, second]);
    refuse(&section.all().control_plane().virtual_address(), [gateway, balancer]);
    machines.iter().for_each(|machine| refuse(&machine.address(), [gateway, balancer]));
}

/// Warns about machines' addresses in the allocation pool: the cloud may assign them to something else first.
fn given_out(section: &Place<'_, OpenStack>, machines: &[Place<'_, Machine>], warnings: &mut Findings) {
    let made = section.network().create();
    let Some((cidr, at)) = made.cidr().read() else { return };
    let (balancer, bastion) = (section.load_balancer(), section.bastion());
    // Resources in the second network take no address of the first one.
    let is_only = made.public_cidr().written().is_none();
    let has_balancer = is_only || has_gateway(section);
    let balancer_takes =
        has_balancer && balancer.enabled().value() == Some(true) && balancer.address().written().is_none();
    let bastion_takes = is_only && bastion.written().is_some() && bastion.address().written().is_none();
    let taker = balancer_takes.then_some("the balancer").or(bastion_takes.then_some("the bastion"));
    let (written_first, written_last) = (made.first_address().read(), made.last_address().value());
    if written_first.is_none() && written_last.is_none() && taker.is_none() {
        return;
    }
    let (first, at): (IpAddr, Mark) = written_first.unwrap_or((cidr.network(), at));
    let last = written_last.unwrap_or(cidr.broadcast());
    let is_inside = |address: &Place<'_, IpAddr>| address.value().is_some_and(|a| (first..=last).contains(&a));
    let inside = machines.iter().filter(|machine| is_inside(&machine.address()));
    let mut names: Vec<String> = inside.filter_map(|machine| machine.name().value()).collect();
    let fixed = [(bastion.address(), "the bastion"), (balancer.address(), "the balancer")];
    names.extend(fixed.iter().filter(|(address, _)| is_inside(address)).map(|(_, whose)| (*whose).to_owned()));
    let shown = match &names[..] {
        [] => return,
        [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", names.len() - 3),
        _ => names.join(", "),
    };
    let taker = taker.unwrap_or("something else");
    let what = format!("the cloud assigns {first} to {last} automatically: {taker} may get the address of {shown}");
    let remedy = "set `firstAddress` and `lastAddress` to a range without the machines' addresses";
    warnings.add(at, &made.path, what, remedy);
}

/// The bastion differs from all other machines and is the only SSH access.
fn bastion(section: &Place<'_, OpenStack>, machines: &[Place<'_, Machine>], errors: &mut Findings) {
    let (all, own) = (section.all(), section.bastion());
    if own.written().is_none() {
        return;
    }
    if section.flavor().written().is_none() && own.flavor().written().is_none() {
        let what = "missing: the bastion has no flavor";
        errors.add(own.at(), &own.flavor().path, what, "set it, or set `openstack.flavor` for all machines");
    }
    let made = section.network().create();
    let facing = if made.public_cidr().is_written() { made.public_cidr() } else { made.cidr() };
    if let Some(net) = facing.value().filter(|net| net.addr().is_ipv6()) {
        let what = format!("{net} is IPv6, but the bastion needs a floating IP, and those lead to IPv4 addresses only");
        facing.report(errors, what, "use IPv4 ranges, or remove the bastion");
    }
    let (name, address) = (own.name(), own.address());
    let mut same_address = |other: &Place<'_, IpAddr>, whose: &str| {
        if let Some(text) = address.value().filter(|text| Some(*text) == other.value()) {
            address.report(errors, format!("{text} is {whose}'s address"), "use different addresses");
        }
    };
    for machine in machines {
        same_address(&machine.address(), &machine.path);
    }
    same_address(&section.load_balancer().address(), "the balancer");
    let virtual_address = all.control_plane().virtual_address();
    same_address(&virtual_address, &virtual_address.path);
    for machine in machines {
        if let Some(text) = name.value().filter(|text| Some(text) == machine.name().value().as_ref()) {
            name.report(errors, format!("{text} is {}'s name", machine.path), "use different names");
        }
    }
    let jump = all.ssh().jump_host();
    if jump.address().written().is_some() {
        let what = "not allowed with `openstack.bastion`, which is the jump host already";
        jump.report(errors, what, "remove one of the two");
    }
}

/// Whether the bastion that the provisioner creates also has the role of the section `bastion`.
fn has_gateway(section: &Place<'_, OpenStack>) -> bool {
    section.bastion().written().is_some() && section.all().bastion().written().is_some()
}

/// With the section `bastion`, the bastion is the only way between the machines and the outside.
fn gateway(section: &Place<'_, OpenStack>, verdict: &mut Verdict<'_>) {
    let (all, made) = (section.all(), section.network().create());
    let own = all.bastion();
    if !has_gateway(section) {
        return;
    }
    let errors = &mut verdict.errors;
    if made.public_cidr().written().is_none() {
        let what = format!("the bastion is the gateway between two networks: {} is missing", made.public_cidr().path);
        own.report(errors, what, "set it, or remove the section `bastion` if a jump host is enough");
    }
    if made.dhcp().value() == Some(false) {
        let what = "without DHCP, the configuration drive would name the bastion's own address as its default route";
        made.dhcp().report(errors, what, "remove this key");
    }
    if section.config_drive().value() == Some(false) {
        let what = "the metadata service does not answer in a network without a router";
        section.config_drive().report(errors, what, "remove this key");
    }
    let outside = "not allowed with the section `bastion`: no router connects the machines to the outside";
    if section.floating_ips().value().is_some_and(|which| which != FloatingIps::None) {
        section.floating_ips().report(errors, outside, "set it to `none`");
    }
    if section.load_balancer().floating_ip().value() == Some(true) {
        let remedy = "remove this key; reach the API through the bastion, such as with `ssh -L`";
        section.load_balancer().floating_ip().report(errors, outside, remedy);
    }
    let access = section.access();
    for range in [access.api(), access.ingress(), access.node_ports()].iter().filter(|range| range.written().is_some())
    {
        let what = "no effect: the bastion accepts no external connections for the machines";
        range.report(&mut verdict.warnings, what, "remove it");
    }
}

fn binary(section: &Place<'_, OpenStack>, errors: &mut Findings) {
    let (urls, digest) = (section.binary().urls(), section.binary().sha256());
    if !urls.items().is_empty() && digest.written().is_none() {
        let what = "missing: downloads must be verified";
        errors.add(urls.at(), &digest.path, what, "set the digest that `sha256sum nodeinit` prints");
    }
}

fn reachability(section: &Place<'_, OpenStack>, warnings: &mut Findings) {
    let (balancer, access, all) = (section.load_balancer(), section.access(), section.all());
    let is_public = balancer.enabled().value() == Some(true) && balancer.floating_ip().value() == Some(true);
    if is_public && access.api().items().is_empty() {
        let what = "missing: the load balancer has a floating IP, but no address range has access";
        warnings.add(section.at(), &access.api().path, what, "set the address ranges that may connect");
    }
    let floating = section.floating_ips();
    let is_floating = floating.value().is_some_and(|which| which != FloatingIps::None);
    // For a new network there is no other access, which `provisioner plan` reports.
    let is_made = section.network().create().cidr().written().is_some();
    let jump_hosts = [all.ssh().jump_host().address(), all.bastion().address()];
    let has_jump_host = jump_hosts.iter().any(|address| address.written().is_some());
    if access.ssh().items().is_empty() && !has_jump_host {
        let what = "missing: no address range has external SSH access, so secrets cannot be delivered";
        warnings.add(section.at(), &access.ssh().path, what, "set your own address range");
    } else if !is_floating && !is_made && section.bastion().written().is_none() && !has_jump_host {
        let what = "no SSH access: there is neither a floating IP for the first master, nor a bastion, nor a jump host";
        let remedy = "set `openstack.floatingIPs: first-master`, `openstack.bastion` or `ssh.jumpHost`, unless there is a route from here";
        warnings.add(section.at(), &floating.path, what, remedy);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, load};

    const GOOD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: [{name: m1, address: 10.0.0.11}]\n";

    fn problems(section: &str) -> Vec<String> {
        let text = format!("{GOOD}openstack: {section}\n");
        let found = load(&[Layer::file("x", text)]).err().map(|p| p.errors).unwrap_or_default();
        found.into_iter().map(|p| format!("{}: {} ({})", p.path, p.what, p.remedy)).collect()
    }

    #[test]
    fn all_missing_keys_are_reported_together() {
        let found = problems("{}");
        for key in ["openstack.clusterID", "openstack.image", "masters[0].flavor", "openstack.network"] {
            assert!(found.iter().any(|p| p.starts_with(&format!("{key}: missing"))), "{key} in {found:#?}");
        }
        let proposed =
            found.iter().find_map(|p| p.split_once("clusterID: ").and_then(|(_, p)| p.split_once("clusterID: ")));
        let uuid = proposed.and_then(|(_, rest)| rest.split_once('`')).map(|(uuid, _)| uuid).unwrap();
        assert!(crate::format::UUID.accepts(uuid), "{uuid}");
        assert!(!problems("{}").iter().any(|p| p.contains(uuid)), "a new ID each time");
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
    fn addresses_must_match_the_network() {
        let section = |network: &str| {
            format!(
                "{{clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, loadBalancer: {{address: 10.0.0.11}}, network: {network}}}"
            )
        };
        let all = |network: &str| problems(&section(network)).join("\n");
        assert!(all("{create: {cidr: 10.0.0.0/24}}").contains("masters[0].address: 10.0.0.11 is the balancer's"));
        assert!(all("{create: {cidr: 10.1.0.0/24}}").contains("masters[0].address: 10.0.0.11 is outside"));
        assert!(all("{create: {cidr: 10.244.0.0/24}}").contains("overlaps network.podCIDR"));
        assert!(all("{create: {cidr: 10.0.0.0/24, gateway: 10.0.0.11}}").contains("is the gateway's"));
        assert!(all("{create: {dhcp: false}}").contains("create.cidr: missing"));
        assert!(all("{create: {cdir: 10.0.0.0/24}}").contains("did you mean `cidr`"));
    }

    #[test]
    fn machines_in_the_allocation_pool_cause_a_warning() {
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
    fn a_bastion_is_a_separate_machine_and_the_only_jump_host() {
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
            ("10.0.1.5", "10.0.1.5 is outside openstack.network.create.cidr 10.0.0.0/24"),
            ("10.0.0.1", "10.0.0.1 is the gateway's address"),
            ("10.0.0.9", "10.0.0.9 is the balancer's address"),
            ("10.0.0.11", "10.0.0.11 is masters[0]'s address"),
        ] {
            let found = found(&format!("{{flavor: f, address: {address}}}"), "");
            assert!(found.contains(&format!("openstack.bastion.address: {what}")), "{found}");
        }
        assert!(found("{flavor: f, name: api}", "").contains("openstack.bastion.name: the name `api` is reserved"));
        let both = found("{flavor: f}", "ssh: {jumpHost: {address: 192.0.2.1}}");
        assert!(both.starts_with("ssh.jumpHost: not allowed with `openstack.bastion`"), "{both}");
    }

    #[test]
    fn a_bastion_exists_if_it_is_configured() {
        let cluster = |bastion: &str| {
            let cloud = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, network: {name: n}";
            let loaded = load(&[Layer::file("x", format!("{GOOD}openstack: {{{cloud}{bastion}}}\n"))]).unwrap();
            // The shown configuration has the same meaning.
            let again = load(&[Layer::file("x", loaded.text())]).unwrap();
            assert_eq!(again.cluster, loaded.cluster);
            loaded.cluster.openstack.unwrap().bastion.map(|bastion| bastion.name)
        };
        assert_eq!(cluster(""), None);
        assert_eq!(cluster(", bastion: {}").as_deref(), Some("bastion"));
        assert_eq!(cluster(", bastion: {name: gate}").as_deref(), Some("gate"));
    }

    #[test]
    fn a_second_network_is_separate_and_contains_bastion_and_load_balancer() {
        let found = |create: &str, more: &str| {
            let cloud = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f";
            problems(&format!("{{{cloud}, network: {{create: {{cidr: 10.0.0.0/24, {create}}}}}, {more}}}")).join("\n")
        };
        let second = "publicCIDR: 10.0.1.0/24";
        assert_eq!(found(second, "loadBalancer: {address: 10.0.1.9}, bastion: {address: 10.0.1.5}"), "");
        for (create, more, what) in [
            ("publicCIDR: 10.0.0.128/25", "", "publicCIDR: 10.0.0.128/25 overlaps openstack.network.create.cidr"),
            ("publicCIDR: 10.96.1.0/24", "", "publicCIDR: 10.96.1.0/24 overlaps network.serviceCIDR"),
            ("publicCIDR: fd00::/64", "", "are in different address families (use IPv4 for both, or IPv6 for both)"),
            ("publicCIDR: fd00::/64", "bastion: {}", "are in different address families (use IPv4 for both)"),
            ("publicCIDR: 10.0.1.0/24, router: false", "", "create.router: without a router, there is no route"),
            (second, "bastion: {address: 10.0.0.5}", "10.0.0.5 is outside openstack.network.create.publicCIDR"),
            (second, "loadBalancer: {address: 10.0.0.9}", "loadBalancer.address: 10.0.0.9 is outside"),
            (second, "bastion: {address: 10.0.1.1}", "10.0.1.1 is the gateway's address"),
            ("publicCIDR: fd00::/64", "bastion: {}", "create.publicCIDR: fd00::/64 is IPv6, but the bastion needs"),
        ] {
            assert!(found(create, more).contains(what), "{what}: {}", found(create, more));
        }
    }

    #[test]
    fn a_bastion_needs_an_ipv4_network() {
        let found = |bastion: &str| {
            let cloud = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f";
            problems(&format!("{{{cloud}, network: {{create: {{cidr: \"fd00::/64\"}}}}{bastion}}}")).join("\n")
        };
        assert!(!found("").contains("floating IP"), "{}", found(""));
        assert!(found(", bastion: {}").contains("openstack.network.create.cidr: fd00::/64 is IPv6"));
    }

    #[test]
    fn a_gateway_is_the_only_way_between_two_networks() {
        let found = |cloud: &str, role: &str| {
            let base = "clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, bastion: {name: gate}";
            problems(&format!("{{{base}, {cloud}}}\nbastion: {role}")).join("\n")
        };
        let create = |more: &str| format!("network: {{create: {{cidr: 10.0.0.0/24, publicCIDR: 10.0.1.0/24{more}}}}}");
        for role in ["{}", "{dns: true, name: gate, network: 10.0.0.0/24}"] {
            assert_eq!(found(&format!("{}, loadBalancer: {{address: 10.0.0.9}}", create("")), role), "");
        }
        let whole = create("");
        for (cloud, role, what) in [
            (
                "network: {create: {cidr: 10.0.0.0/24}}".to_owned(),
                "{}",
                "openstack.network.create.publicCIDR is missing",
            ),
            ("network: {name: n}".to_owned(), "{}", "openstack.network.create.publicCIDR is missing"),
            (create(", dhcp: false"), "{}", "openstack.network.create.dhcp: without DHCP"),
            (format!("{whole}, configDrive: false"), "{}", "openstack.configDrive: the metadata service"),
            (format!("{whole}, floatingIPs: masters"), "{}", "openstack.floatingIPs: not allowed with the section"),
            (format!("{whole}, loadBalancer: {{floatingIP: true}}"), "{}", "loadBalancer.floatingIP: not allowed with"),
            (format!("{whole}, loadBalancer: {{address: 10.0.1.9}}"), "{}", "10.0.1.9 is outside"),
            (whole.clone(), "{name: b1}", "bastion.name: b1 is not openstack.bastion.name gate"),
            (
                whole.clone(),
                "{network: 10.0.1.0/24}",
                "bastion.network: 10.0.1.0/24 is not openstack.network.create.cidr",
            ),
            (whole.clone(), "{address: 10.0.0.1}", "bastion.address: not allowed with `openstack.bastion`"),
        ] {
            assert!(found(&cloud, role).contains(what), "{what}: {}", found(&cloud, role));
        }
    }

    #[test]
    fn a_download_needs_a_digest() {
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
