//! What there is against what should be: a pure function. It decides; others do.

use super::{
    Found, Kind, Part, Snapshot,
    desired::{API, Spec, Want},
    groups,
    part::never_attached,
    plan::{Action, Fix, Item, Place, Plan},
    quota,
    rules::gateway,
};
use ipnet::IpNet;
use nodeinit_config::{Cluster, OpenStack};
use serde_json::Value;
use std::{collections::BTreeSet, net::IpAddr};

mod needs;

#[cfg(test)]
mod tests;

/// The argument that allows a balancer in ERROR to be replaced.
pub const REPLACE_BALANCER: &str = "--replace-balancer";
/// The setting of a port that lets it send from other addresses.
const PAIRS: &str = "allowed address pairs";
/// The address of a port.
pub const ADDRESS: &str = "address";
/// Whether a thing is switched on.
const ADMIN_STATE: &str = "admin state";
/// The value of a setting that has none.
const NONE: &str = "none";

/// Compares.
pub fn plan(cluster: &Cluster, cloud: &OpenStack, wants: Vec<Want>, snapshot: &Snapshot) -> Plan {
    let mut obstacles = Vec::new();
    let place = needs::place(cloud, snapshot, &wants, &mut obstacles);
    let compare = Compare { cluster, snapshot, place: &place };
    let wants = groups::split(without_repetition(wants, place.cidr), snapshot);
    let wanted: BTreeSet<Part> = wants.iter().map(|want| want.part.clone()).collect();
    let mut items: Vec<Item> = wants.into_iter().map(|want| compare.item(want)).collect();
    items.extend(compare.surplus(&wanted, &items));
    leave_disks_of_unhealthy(&mut items);
    obstacles.extend(needs::missing(cloud, &place, &items, &snapshot.facts));
    obstacles.extend(needs::way_in(cluster, cloud, &items));
    obstacles.extend(quota::shortfalls(&items, &snapshot.facts));
    let mut notes = compare.foreign_rules(&items);
    notes.extend(needs::reserved(&place, &items));
    notes.extend(needs::differences(cloud, &place));
    Plan { items, obstacles, place, notes }
}

/// Replaces a balancer in ERROR, with all that is below it: clients cannot reach the API meanwhile.
pub fn replace_balancer(plan: &mut Plan) {
    for item in plan.items.iter_mut().filter(|item| item.part.kind == Kind::Balancer) {
        if item.found.as_ref().is_some_and(|found| found.state() == "ERROR") {
            item.action = Action::Replace("is in the state ERROR".to_owned());
        }
    }
    begin_below_anew(&mut plan.items);
}

/// A balancer that is deleted takes all with it that is below.
fn begin_below_anew(items: &mut [Item]) {
    let balancer = items.iter().find(|item| item.part.kind == Kind::Balancer);
    let Some(part) = balancer.filter(|item| matches!(item.action, Action::Replace(_))).map(|item| item.part.clone())
    else {
        return;
    };
    for item in items {
        match (item.part.kind, item.want.as_ref().map(|want| &want.spec)) {
            (Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member, Some(_)) => item.action = Action::Create,
            (_, Some(Spec::FloatingIp { of })) if *of == part && item.found.is_some() => {
                item.action = Action::update("attached to", format!("the old {part}"), format!("the new {part}"));
            }
            _ => {}
        }
    }
}

/// The volume of a shelved server is reserved for it: there is nothing to wait for.
fn leave_disks_of_unhealthy(items: &mut [Item]) {
    let unhealthy = items.iter().filter(|item| matches!(item.action, Action::Unhealthy { .. }));
    let disks: Vec<Part> = unhealthy.map(|item| Part::new(Kind::Volume, &item.part.name)).collect();
    for item in items.iter_mut().filter(|item| disks.contains(&item.part) && matches!(item.action, Action::Change(_))) {
        item.action = Action::Keep;
    }
}

/// A configured range may be that of the subnet, and Neutron takes no rule twice.
fn without_repetition(wants: Vec<Want>, subnet: Option<IpNet>) -> Vec<Want> {
    let mut seen: Vec<(&'static str, Value)> = Vec::new();
    let mut fresh = |want: &Want| {
        let Spec::Rule(rule) = &want.spec else { return true };
        let from = if let super::rules::From::Group(name) = rule.from { name } else { "" };
        let content = (rule.group, rule.content(from, subnet));
        let first = !seen.contains(&content);
        seen.push(content);
        first
    };
    wants.into_iter().filter(|want| fresh(want)).collect()
}

struct Compare<'a> {
    cluster: &'a Cluster,
    snapshot: &'a Snapshot,
    place: &'a Place,
}

impl Compare<'_> {
    fn item(&self, want: Want) -> Item {
        let found = match &want.spec {
            Spec::Rule(rule) => self.rule(rule),
            Spec::Member { address, port } => self.member(address.or_else(|| self.snapshot.find(port)?.address())),
            _ => self.snapshot.find(&want.part).cloned(),
        };
        let action = found.as_ref().map_or(Action::Create, |found| self.action(&want, found));
        Item { part: want.part.clone(), action, want: Some(want), found }
    }

    fn id(&self, kind: Kind, name: &str) -> Option<&str> {
        self.snapshot.find(&Part::new(kind, name)).map(|found| found.id.as_str())
    }

    /// An equal rule, by any creator: Neutron refuses a second one.
    fn rule(&self, rule: &super::rules::Rule) -> Option<Found> {
        let group = self.snapshot.find(&Part::new(Kind::SecurityGroup, rule.group))?;
        let from = match rule.from {
            super::rules::From::Group(name) => self.id(Kind::SecurityGroup, name),
            _ => None,
        };
        let all = group.body["security_group_rules"].as_array()?;
        let same = all.iter().find(|body| rule.is(body, from, self.place.cidr))?;
        Found::new(rule.part(), same.clone())
    }

    fn member(&self, address: Option<IpAddr>) -> Option<Found> {
        let address = address?;
        self.snapshot.of_kind(Kind::Member).find(|member| member.address() == Some(address)).cloned()
    }

    fn action(&self, want: &Want, found: &Found) -> Action {
        match &want.spec {
            Spec::Server { ports, .. } => self.server(found, ports),
            Spec::Volume { size, .. } => volume(found, *size),
            Spec::Port { address, groups, pairs, .. } => self.port(found, *address, groups, pairs),
            Spec::RouterPort { .. } if found.text("device_id").is_empty() => Action::Change(vec![Fix::Attach]),
            Spec::Router if found.body["external_gateway_info"].is_null() => {
                Action::update("external gateway", NONE, self.external_network())
            }
            Spec::FloatingIp { of } => self.floating_ip(found, of),
            Spec::Listener { access } => self.listener(found, access),
            Spec::Balancer { .. } => balancer(found),
            Spec::Pool | Spec::Monitor | Spec::Member { .. } if found.state() == "ERROR" => broken(found),
            Spec::Subnet { made, .. } => subnet(found, made),
            _ => Action::Keep,
        }
    }

    fn server(&self, found: &Found, ports: &[Part]) -> Action {
        let state = found.state();
        let act = |action| Action::Change(vec![Fix::Act(action, state.to_owned())]);
        let has = |port: &&Part| self.snapshot.find(port).is_some_and(|port| port.text("device_id") == found.id);
        match state {
            "ACTIVE" => match ports.iter().skip(1).find(|port| !has(port)) {
                Some(port) => Action::Unhealthy {
                    what: format!("it does not have {port}"),
                    remedy: format!("delete the server {} (its volume and its ports stay), then apply again", found.id),
                },
                None => Action::Keep,
            },
            "BUILD" | "REBOOT" | "HARD_REBOOT" | "MIGRATING" | "RESIZE" | "REVERT_RESIZE" | "REBUILD" | "PASSWORD" => {
                wait(state, "ACTIVE")
            }
            "SHUTOFF" => act("os-start"),
            "PAUSED" => act("unpause"),
            "SUSPENDED" => act("resume"),
            // A server that never ran holds nothing.
            "ERROR" if found.body["OS-SRV-USG:launched_at"].is_null() => {
                Action::Replace(format!("could not be made: {}", fault(&found.body)))
            }
            _ => unhealthy(found),
        }
    }

    fn port(&self, found: &Found, address: Option<IpAddr>, groups: &[&str], pairs: &[IpNet]) -> Action {
        let mut fixes = Vec::new();
        if let Some(address) = address.filter(|address| !found.has_address(*address)) {
            let own = found.address().map_or(NONE.to_owned(), |own| own.to_string());
            // What has run from the volume knows the former address.
            let volume = self.snapshot.find(&Part::new(Kind::Volume, &found.part.name));
            let knows = self.cluster.machines().any(|(machine, _)| machine.name == found.part.name);
            let has_run = knows && volume.is_some_and(|volume| !never_attached(volume));
            if !found.text("device_id").is_empty() || has_run {
                return self.moved(&found.part, &own, address);
            }
            fixes.push(Fix::update(ADDRESS, own, address.to_string()));
        }
        let wanted: BTreeSet<&str> = groups.iter().filter_map(|name| self.id(Kind::SecurityGroup, name)).collect();
        let has: BTreeSet<&str> = texts(&found.body["security_groups"]).collect();
        // Groups that somebody added stay; ours that are gone come back.
        if self.place.open {
            // Neutron takes neither groups nor pairs there.
        } else if wanted.len() < groups.len() || !wanted.is_subset(&has) {
            let has: BTreeSet<&str> = has.iter().map(|id| self.group_name(id)).collect();
            let after = has.iter().chain(groups).copied().collect::<BTreeSet<_>>();
            fixes.push(Fix::update("security groups", list(has), list(after)));
        }
        let pair = |pair: &Value| {
            pair["ip_address"]
                .as_str()?
                .parse::<IpNet>()
                .or_else(|_| pair["ip_address"].as_str().unwrap_or_default().parse::<IpAddr>().map(IpNet::from))
                .ok()
        };
        let allowed: Vec<IpNet> = found.body["allowed_address_pairs"]
            .as_array()
            .map(|all| all.iter().filter_map(pair).collect())
            .unwrap_or_default();
        if !self.place.open && pairs.iter().any(|pair| !allowed.contains(pair)) {
            let after: BTreeSet<&IpNet> = allowed.iter().chain(pairs).collect();
            fixes.push(Fix::update(PAIRS, list(&allowed), list(after)));
        }
        if groups.is_empty() && found.body["port_security_enabled"] != false {
            fixes.push(Fix::update("port security", "on", "off"));
        }
        if found.body["admin_state_up"] == false {
            fixes.push(Fix::update(ADMIN_STATE, "down", "up"));
        }
        if fixes.is_empty() { Action::Keep } else { Action::Change(fixes) }
    }

    /// A port with another address than it should have, which a server uses.
    fn moved(&self, port: &Part, own: &str, address: IpAddr) -> Action {
        let name = &port.name;
        let what = format!("{port} has the address {own}, and should have {address}");
        let machine = self.cluster.machines().find(|(machine, _)| machine.name == *name);
        let remedy = match machine {
            Some((_, role)) => format!(
                "set its `address` to {own}, or run `provisioner {} replace {name}`, which creates a new server with the address {address}",
                role.kind()
            ),
            None => format!("set its `address` to {own}, or delete the server of {name} and apply again"),
        };
        Action::Refuse { what, remedy }
    }

    fn has_gateway(&self) -> bool {
        self.cluster.openstack.as_ref().is_some_and(|cloud| gateway(self.cluster, cloud).is_some())
    }

    fn is_ovn(&self) -> bool {
        let provider = self.cluster.openstack.as_ref().and_then(|cloud| cloud.load_balancer.provider.as_deref());
        is_ovn(provider, self.snapshot.find(&Part::new(Kind::Balancer, API)))
    }

    fn floating_ip(&self, found: &Found, of: &Part) -> Action {
        let target = self.snapshot.find(of);
        let id = target.map(|target| if of.kind == Kind::Balancer { target.text("vip_port_id") } else { &target.id });
        if id.is_none_or(|id| found.text("port_id") != id) {
            return Action::update("attached to", self.holder(found.text("port_id")), of.to_string());
        }
        let leads_to: Option<IpAddr> = found.body["fixed_ip_address"].as_str().and_then(|text| text.parse().ok());
        let port = target.filter(|_| of.kind == Kind::Port);
        let stale = || port.filter(|port| port.fixed_addresses().all(|own| Some(own) != leads_to))?.address();
        match (leads_to, self.new_address(of).or_else(stale)) {
            (Some(before), Some(after)) if before != after => {
                Action::update("leads to", before.to_string(), after.to_string())
            }
            _ => Action::Keep,
        }
    }

    /// The address that a port of a machine does not have yet.
    fn new_address(&self, port: &Part) -> Option<IpAddr> {
        let found = self.snapshot.find(port).filter(|_| port.kind == Kind::Port)?;
        let (machine, _) = self.cluster.machines().find(|(machine, _)| machine.name == port.name)?;
        machine.address.filter(|address| !found.has_address(*address))
    }

    /// What a port is of, or its ID; nothing where the ID is empty.
    fn holder(&self, port: &str) -> String {
        let is_it = |found: &&Found| match found.part.kind {
            Kind::Port => found.id == port,
            Kind::Balancer => found.text("vip_port_id") == port,
            _ => false,
        };
        match self.snapshot.ours.iter().filter(|_| !port.is_empty()).find(is_it) {
            Some(found) => found.part.to_string(),
            None if port.is_empty() => NONE.to_owned(),
            None => port.to_owned(),
        }
    }

    /// The name of one of our security groups, or the ID of another one.
    fn group_name<'n>(&'n self, id: &'n str) -> &'n str {
        let group = self.snapshot.of_kind(Kind::SecurityGroup).find(|group| group.id == id);
        group.map_or(id, |group| group.part.name.as_str())
    }

    /// The name of the external network, or its ID.
    fn external_network(&self) -> String {
        let id = self.place.external.as_deref().unwrap_or_default();
        let network = self.snapshot.facts.networks.iter().find(|network| network.named.id == id);
        network.map_or(id, |network| network.named.name.as_str()).to_owned()
    }

    fn listener(&self, found: &Found, access: &[IpNet]) -> Action {
        let wanted: BTreeSet<String> = allowed(access, self.place.cidr).into_iter().collect();
        if found.state() == "ERROR" {
            return broken(found);
        }
        let has: BTreeSet<String> = texts(&found.body["allowed_cidrs"]).map(str::to_owned).collect();
        if found.body["admin_state_up"] == false {
            return Action::update(ADMIN_STATE, "down", "up");
        }
        if self.is_ovn() {
            return Action::Keep;
        }
        if wanted == has { Action::Keep } else { Action::update("allowed CIDRs", list(has), list(wanted)) }
    }

    /// What is ours and should not be there.
    fn surplus(&self, wanted: &BTreeSet<Part>, items: &[Item]) -> Vec<Item> {
        let used: BTreeSet<&str> =
            items.iter().filter_map(|item| item.found.as_ref()).map(|found| found.id.as_str()).collect();
        let addresses: BTreeSet<IpAddr> = self
            .cluster
            .masters
            .iter()
            .filter_map(|m| self.snapshot.find(&Part::new(Kind::Port, &m.name))?.address().or(m.address))
            .collect();
        let extra = self
            .snapshot
            .ours
            .iter()
            .filter(|found| found.part.kind != Kind::Lock && !used.contains(found.id.as_str()));
        extra
            .filter_map(|found| {
                let action = match found.part.kind {
                    Kind::Rule => Action::Delete("nothing asks for it".to_owned()),
                    // The other masters are members once they are of the control plane.
                    Kind::Member if found.address().is_some_and(|address| addresses.contains(&address)) => return None,
                    Kind::Member => Action::Delete("no master has this address".to_owned()),
                    Kind::RouterPort if found.part.name == API && self.has_gateway() => Action::Refuse {
                        what: format!("{} is a way out of the private network past the bastion", found.part),
                        remedy: "destroy the cluster first, or remove the section `bastion`".to_owned(),
                    },
                    Kind::Port if found.part.name == API && !self.has_gateway() => Action::Refuse {
                        what: format!(
                            "{} is the way out of the private network, and the section `bastion` is missing",
                            found.part
                        ),
                        remedy: "restore the section `bastion`, or destroy the cluster first".to_owned(),
                    },
                    _ if wanted.contains(&found.part) => self.duplicate(found),
                    _ => Action::Left,
                };
                Some(Item { part: found.part.clone(), action, want: None, found: Some(found.clone()) })
            })
            .collect()
    }

    /// Two things with one part's mark: a request that was under way when its sender was killed.
    fn duplicate(&self, found: &Found) -> Action {
        let is_free = match found.part.kind {
            Kind::Volume => matches!(found.state(), "available" | "error") && never_attached(found),
            Kind::Port => found.text("device_id").is_empty(),
            Kind::FloatingIp => found.text("port_id").is_empty(),
            Kind::ServerGroup => found.body["members"].as_array().is_some_and(Vec::is_empty),
            _ => false,
        };
        let all: Vec<&str> =
            self.snapshot.ours.iter().filter(|one| one.part == found.part).map(|one| one.id.as_str()).collect();
        let (count, ids, id) = (all.len(), all.join(", "), &found.id);
        match is_free {
            true => Action::Delete(format!("{id} is one of {count} ({ids}), and nothing uses it")),
            false => Action::Duplicate {
                what: format!(
                    "there are {count} of {}: {ids}; {id} is too many, and is in use or may hold data",
                    found.part
                ),
                remedy: "delete the one that is not wanted, then apply again".to_owned(),
            },
        }
    }

    /// Rules in our groups that somebody else made: told, and left alone, for a cloud controller makes some too.
    fn foreign_rules(&self, items: &[Item]) -> Vec<String> {
        let known: BTreeSet<&str> =
            items.iter().filter_map(|item| item.found.as_ref()).map(|found| found.id.as_str()).collect();
        let mut notes = Vec::new();
        for group in self.snapshot.of_kind(Kind::SecurityGroup) {
            for rule in group.body["security_group_rules"].as_array().map_or(&[][..], Vec::as_slice) {
                let id = rule["id"].as_str().unwrap_or_default();
                if rule["direction"] == "ingress" && !known.contains(id) {
                    notes.push(format!("{} has a rule {id} that is not ours; it is left alone", group.part));
                }
            }
        }
        notes
    }
}

/// A server in a state that somebody chose, or from which the provisioner cannot bring it back.
fn unhealthy(found: &Found) -> Action {
    let (state, id) = (found.state(), &found.id);
    let repair = match state {
        "RESCUE" => format!("end the rescue with `openstack server unrescue {id}`"),
        "SHELVED" | "SHELVED_OFFLOADED" => format!("start it with `openstack server unshelve {id}`"),
        "VERIFY_RESIZE" => {
            format!("end the resize with `openstack server resize confirm {id}` or `resize revert {id}`")
        }
        "SOFT_DELETED" => format!("get it back with `openstack server restore {id}`"),
        _ => format!("repair it, or delete the server {id} (its volume and its port stay)"),
    };
    let reason = found.body["fault"]["message"].as_str().filter(|text| !text.is_empty());
    Action::Unhealthy {
        what: format!("it is {state}{}", reason.map(|text| format!(" ({text})")).unwrap_or_default()),
        remedy: format!("{repair}, then apply again"),
    }
}

fn wait(state: &str, after: &'static str) -> Action {
    Action::Change(vec![Fix::Wait { before: state.to_owned(), after }])
}

/// What a setting has several of.
fn list(all: impl IntoIterator<Item: ToString>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    if all.is_empty() { NONE.to_owned() } else { all.join(", ") }
}

fn volume(found: &Found, size: u32) -> Action {
    let state = found.state();
    match state {
        "available" | "in-use" if found.body["size"].as_i64() < Some(i64::from(size)) => Action::Refuse {
            what: format!("{} has {} GiB, and should have {size}", found.part, found.body["size"]),
            remedy: "write the size that it has, or remove the machine and add it again".to_owned(),
        },
        "available" | "in-use" => Action::Keep,
        "creating" | "downloading" | "attaching" | "detaching" | "reserved" | "uploading" => wait(state, "available"),
        "error" if never_attached(found) => Action::Replace("is in the state error".to_owned()),
        state => Action::Refuse {
            what: format!("{} is in the state {state}, and may hold data", found.part),
            remedy: format!("repair the volume {}; if its data is not needed, delete it; then apply again", found.id),
        },
    }
}

fn balancer(found: &Found) -> Action {
    match found.state() {
        "ACTIVE" if found.body["admin_state_up"] == false => Action::update(ADMIN_STATE, "down", "up"),
        "ACTIVE" => Action::Keep,
        "ERROR" => Action::Refuse {
            what: format!("{} is in the state ERROR", found.part),
            remedy: format!(
                "have it repaired (`openstack loadbalancer failover {}`), or replace it by one with the same address: \
                 `provisioner apply {REPLACE_BALANCER}`",
                found.id
            ),
        },
        state => wait(state, "ACTIVE"),
    }
}

/// A part of a balancer that Octavia could not make or change.
fn broken(found: &Found) -> Action {
    Action::Refuse {
        what: format!("{} is in the state ERROR", found.part),
        remedy: "have the balancer repaired, or delete it, and apply again".to_owned(),
    }
}

fn subnet(found: &Found, made: &nodeinit_config::openstack::MadeNetwork) -> Action {
    if found.text("cidr").parse::<IpNet>() != Ok(made.cidr) {
        return Action::Refuse {
            what: format!("{} is {}, and should be {}", found.part, found.text("cidr"), made.cidr),
            remedy: "a subnet's range cannot change: destroy the cluster first, or write the old range".to_owned(),
        };
    }
    let servers: Vec<IpAddr> = texts(&found.body["dns_nameservers"]).filter_map(|text| text.parse().ok()).collect();
    if servers != made.dns_servers {
        return Action::update("DNS servers", list(servers), list(&made.dns_servers));
    }
    if found.body["enable_dhcp"].as_bool() != Some(made.dhcp) {
        let (before, after) = if made.dhcp { ("off", "on") } else { ("on", "off") };
        return Action::update("DHCP", before, after);
    }
    Action::Keep
}

/// The cloud's own words for what went wrong.
pub fn fault(body: &Value) -> String {
    let told = body["fault"]["message"].as_str().filter(|text| !text.is_empty());
    told.unwrap_or("the cloud tells no reason").to_owned()
}

/// Whether a balancer is of OVN's driver: the one that is asked for, or the cloud's default.
pub fn is_ovn(asked: Option<&str>, balancer: Option<&Found>) -> bool {
    let provider = balancer.map(|found| found.text("provider")).filter(|provider| !provider.is_empty());
    provider.or(asked) == Some("ovn")
}

/// Who may connect to the balancer.
pub fn allowed(access: &[IpNet], subnet: Option<IpNet>) -> Vec<String> {
    access.iter().copied().chain(subnet).map(|range| range.to_string()).collect()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str)
}
