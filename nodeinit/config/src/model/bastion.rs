//! The bastion: jump host and gateway of a private network, not a node.

use super::{
    Document, Os,
    declare::{Over, Verdict, keys, place::Place},
    network::overlap,
    texts::NodeName,
};
use crate::{problem::Findings, text::tree::Value};
use ipnet::IpNet;
use serde_json::{Map, Value as Json};
use std::net::IpAddr;

keys! {
    /// The bastion of a private network. See `docs/how-to/bastion.md`.
    #[derive(Eq)]
    pub struct Bastion {
        /// Its host name, different from every node's.
        "name" name: String as NodeName, else "`openstack.bastion.name` if the provisioner creates the bastion; otherwise required" (made_name), example "bastion", to masters;
        /// The address at which the first master reaches its SSH server. If it is set, `ssh.jumpHost` uses it. Not allowed if the provisioner
        /// creates the bastion.
        "address" address: Option<IpAddr>, else "none; the first master then connects directly", example "10.0.0.1", to masters;
        /// The private network, which reaches the outside through the bastion. One of its interfaces has an address in it, and the default
        /// route uses another interface.
        "network" network: IpNet, else "`openstack.network.create.cidr` if the provisioner creates the bastion; otherwise required" (made_network), example "10.0.0.0/24", to masters;
        /// New SSH connections per minute that it accepts from one outside address (IPv6: from one /64).
        "sshRate" ssh_rate: usize = "30", to masters;
        /// Whether it answers DNS for the private network, with systemd-resolved or dnsmasq.
        "dns" dns: bool = "false", to masters;
        /// Whether it answers NTP for the private network, with chrony.
        "ntp" ntp: bool = "false", to masters;
        /// Values of `os` for the bastion. They override those of `os` and of `roles.bastion`.
        "os" os: Map<String, Json> as Over<Os>, else "none", example "{timezone: Etc/UTC}", to masters;
    }
}

/// Returns the name of the bastion that nodeinit sets up.
pub(crate) fn name(all: &Place<'_, Document>) -> Option<String> {
    all.bastion().written()?;
    all.bastion().name().value().or_else(|| made_name(all))
}

/// Returns the name of the bastion that the provisioner creates.
pub(super) fn made_name(all: &Place<'_, Document>) -> Option<String> {
    let made = all.openstack().bastion();
    made.written().and_then(|_| made.name().value())
}

/// Returns the private network of the bastion that the provisioner creates.
pub(super) fn made_network(all: &Place<'_, Document>) -> Option<IpNet> {
    all.openstack().bastion().written()?;
    all.openstack().network().create().cidr().value()
}

/// The bastion is a machine of its own, and its network shares no address with the cluster's ranges.
pub(super) fn check(place: &Place<'_, Bastion>, verdict: &mut Verdict<'_>) {
    if place.written().is_none_or(|node| node.value == Value::Bad) {
        return;
    }
    limited(place, &mut verdict.warnings);
    let (all, errors) = (place.all(), &mut verdict.errors);
    let (name, address, network) = (place.name(), place.address(), place.network());
    if all.openstack().bastion().written().is_some() {
        return made(place, errors);
    }
    if name.written().is_none() {
        errors.add(place.at(), &name.path, "missing", "set the host name of the bastion");
    }
    if network.written().is_none() {
        let remedy = "set the address range of the private network, such as 10.0.0.0/24";
        errors.add(place.at(), &network.path, "missing", remedy);
    }
    for machine in all.masters().items().iter().chain(&all.workers().items()) {
        if let Some(text) = name.value().filter(|text| Some(text) == machine.name().value().as_ref()) {
            name.report(errors, format!("{text} is {}'s name", machine.path), "use different names");
        }
        if let Some(text) = address.value().filter(|text| Some(*text) == machine.address().value()) {
            address.report(errors, format!("{text} is {}'s address", machine.path), "use different addresses");
        }
    }
    for range in [all.network().pod_cidr(), all.network().service_cidr()] {
        let Some((own, net)) = network.value().zip(range.value()) else { continue };
        if overlap(own, net) {
            let what = format!("{own} overlaps {} {net}", range.path);
            network.report(errors, what, "choose ranges that do not overlap");
        }
    }
}

/// The section `openstack` determines name, address and network of the bastion that the provisioner creates.
fn made(place: &Place<'_, Bastion>, errors: &mut Findings) {
    let (all, remedy) = (place.all(), "remove this key");
    let cloud = all.openstack();
    let (name, network) = (cloud.bastion().name(), cloud.network().create().cidr());
    if let (Some(own), Some(other)) = (place.name().value(), name.value())
        && own != other
    {
        place.name().report(errors, format!("{own} is not {} {other}", name.path), remedy);
    }
    if let (Some(own), Some(other)) = (place.network().value(), network.value())
        && own != other
    {
        place.network().report(errors, format!("{own} is not {} {other}", network.path), remedy);
    }
    if place.address().written().is_some() {
        let what = "not allowed with `openstack.bastion`: the masters are in the private network";
        place.address().report(errors, what, remedy);
    }
}

/// Warns about a first master outside of the private network: it opens a connection for each other machine.
fn limited(place: &Place<'_, Bastion>, warnings: &mut Findings) {
    let (all, rate) = (place.all(), place.ssh_rate());
    let machines = all.masters().items().len() + all.workers().items().len();
    let Some((network, limit)) = place.network().value().zip(rate.value()) else { return };
    let first = all.masters().items().first().and_then(|first| first.address().value());
    let is_outside = address(&all).is_some() && first.is_some_and(|first| !network.contains(&first));
    if is_outside && machines > limit {
        let what = format!("the first master is outside of {network} and connects to {} machines", machines - 1);
        rate.report(warnings, what, "set it at least to the number of machines, or setting them up takes longer");
    }
}

/// Returns the address of the bastion, for keys that default to it.
pub(super) fn address(all: &Place<'_, Document>) -> Option<IpAddr> {
    all.bastion().address().value()
}

#[cfg(test)]
mod tests {
    use crate::{Layer, load};

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n\
        masters: [{name: m1, address: 10.0.0.11}]\nworkers: [{name: w1, address: 10.0.0.21}]\n";

    fn problems(text: &str) -> String {
        match load(&[Layer::file("cluster.yaml", format!("{HEAD}{text}"))]) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn a_bastion_exists_if_it_is_configured() {
        let cluster = load(&[Layer::file("cluster.yaml", HEAD)]).unwrap().cluster;
        assert_eq!((cluster.bastion, cluster.ssh.jump_host), (None, None));
        let text = format!("{HEAD}bastion: {{name: gate, network: 10.0.0.0/24}}\n");
        let loaded = load(&[Layer::file("cluster.yaml", text)]).unwrap();
        let own = loaded.cluster.bastion.as_ref().unwrap();
        assert_eq!((own.name.as_str(), own.address, own.ssh_rate, own.dns, own.ntp), ("gate", None, 30, false, false));
        assert_eq!(loaded.cluster.ssh.jump_host, None, "its address is not known");
        let again = load(&[Layer::file("cluster.yaml", loaded.text())]).unwrap();
        assert_eq!(again.cluster, loaded.cluster, "the shown configuration has the same meaning");
    }

    #[test]
    fn wrong_values_are_reported_with_their_place_and_remedy() {
        for (own, found) in [
            ("{name: gate}", "bastion.network: missing"),
            ("{network: 10.0.0.0/24}", "bastion.name: missing"),
            ("{name: w1, network: 10.0.0.0/24}", "bastion.name: w1 is workers[0]'s name"),
            ("{name: gate, network: 10.0.0.0/24, address: 10.0.0.11}", "10.0.0.11 is masters[0]'s address"),
            ("{name: gate, network: 10.244.7.0/24}", "10.244.7.0/24 overlaps network.podCIDR 10.244.0.0/16"),
            ("{name: gate, network: 10.0.0.1/24}", "bastion.network: "),
            ("{name: gate, network: 10.0.0.0/24, sshRate: 0}", "bastion.sshRate: "),
            ("{name: gate, network: 10.0.0.0/24, nat: true}", "bastion.nat: unknown key"),
        ] {
            let text = problems(&format!("bastion: {own}\n"));
            assert!(text.contains(found) && text.contains("cluster.yaml:5"), "{own}: {text}");
        }
        for own in ["bastion: true\n", "ssh: {jumpHost: true}\n"] {
            let text = problems(own);
            assert!(text.contains("has 1 problem\n") && text.contains("expected a map"), "{text}");
        }
    }

    #[test]
    fn a_first_master_outside_of_the_network_may_need_a_higher_rate() {
        let warned = |network: &str, rate: &str| {
            let own = format!("{{name: gate, address: 10.0.0.1, network: {network}{rate}}}");
            let loaded = load(&[Layer::file("cluster.yaml", format!("{HEAD}bastion: {own}\n"))]).unwrap();
            loaded.warnings.iter().any(|warning| warning.path == "bastion.sshRate")
        };
        assert!(warned("10.7.0.0/24", ", sshRate: 1"));
        assert!(!warned("10.7.0.0/24", "") && !warned("10.0.0.0/24", ", sshRate: 1"));
    }

    #[test]
    fn the_bastion_is_the_jump_host_unless_another_one_is_set() {
        let jump = |ssh: &str| {
            let text = format!("{HEAD}bastion: {{name: gate, address: 10.0.0.1, network: 10.0.0.0/24}}\nssh: {ssh}\n");
            let found = load(&[Layer::file("cluster.yaml", text)]).unwrap().cluster.ssh.jump_host.unwrap();
            (found.address.to_string(), found.port, found.user)
        };
        assert_eq!(jump("{user: debian}"), ("10.0.0.1".into(), 22, "debian".into()));
        assert_eq!(jump("{jumpHost: {port: 2222}}"), ("10.0.0.1".into(), 2222, "root".into()));
        assert_eq!(jump("{jumpHost: {address: 192.0.2.1}}").0, "192.0.2.1");
        let none = problems("bastion: {name: gate, network: 10.0.0.0/24}\nssh: {jumpHost: {port: 2222}}\n");
        assert!(none.contains("ssh.jumpHost.address: missing"), "{none}");
    }
}
