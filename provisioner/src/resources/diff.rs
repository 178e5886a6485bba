//! What there is against what should be: a pure function. It decides; others do.

use super::{
    Found, Kind, Part, Snapshot,
    desired::{Spec, Want},
    facts::{self, Facts},
    quota,
    rules::{MASTERS, NODES},
};
use ipnet::IpNet;
use nodeinit_config::{Cluster, OpenStack, openstack::CloudNetwork};
use serde_json::Value;
use std::{collections::BTreeSet, fmt, net::IpAddr};

/// What happens to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is as it should be.
    Keep,
    /// It is not there.
    Create,
    /// It is there, and differs.
    Change(Vec<Fix>),
    /// It is there, and of no use: it is deleted and made anew.
    Replace(String),
    /// It is ours, and should not be there.
    Delete(String),
    /// It is ours and in no configuration any more; it is left alone.
    Left,
    /// It is not as it should be, and cannot be mended from here.
    Refuse {
        /// What is wrong.
        what: String,
        /// What a person can do.
        remedy: String,
    },
}

/// How a part is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Its settings are written again; with what differs.
    Update(String),
    /// An action of Nova, such as `os-start`; with the state that made it necessary.
    Act(&'static str, String),
    /// The router's port is put into the router.
    Attach,
    /// It is being made or changed already.
    Wait(String),
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Update(what) => f.write_str(what),
            Self::Act(action, state) => write!(f, "is {state}: {}", action.trim_start_matches("os-")),
            Self::Attach => f.write_str("is in no router: attach"),
            Self::Wait(state) => write!(f, "is {state}: wait"),
        }
    }
}

/// One line of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Which part.
    pub part: Part,
    /// What happens to it.
    pub action: Action,
    /// What should be; `None` for what should not be there.
    pub want: Option<Want>,
    /// What is there.
    pub found: Option<Found>,
}

/// Something that would make `apply` fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What is missing or too small.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// Where the machines are: ids of the network and the subnet, where they are there already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The network's id.
    pub network: Option<String>,
    /// The subnet's id.
    pub subnet: Option<String>,
    /// Its addresses.
    pub cidr: Option<IpNet>,
    /// The external network's id, where one is needed.
    pub external: Option<String>,
    /// The address of a balancer that is there: one that replaces it keeps it.
    pub balancer: Option<IpAddr>,
}

/// Everything that `apply` would do, and what stands against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of a report.
    pub items: Vec<Item>,
    /// All at once.
    pub obstacles: Vec<Obstacle>,
    /// Where the machines are.
    pub place: Place,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.items.iter().all(|item| matches!(item.action, Action::Keep | Action::Left))
    }

    /// Whether `apply` would refuse.
    pub fn is_blocked(&self) -> bool {
        !self.obstacles.is_empty() || self.items.iter().any(|item| matches!(item.action, Action::Refuse { .. }))
    }
}

/// Compares.
pub fn plan(cluster: &Cluster, cloud: &OpenStack, wants: Vec<Want>, snapshot: &Snapshot) -> Plan {
    let mut obstacles = Vec::new();
    let place = place(cloud, snapshot, &wants, &mut obstacles);
    let compare = Compare { cluster, snapshot, place: &place };
    let wants = without_repetition(wants, place.cidr);
    let wanted: BTreeSet<Part> = wants.iter().map(|want| want.part.clone()).collect();
    let mut items: Vec<Item> = wants.into_iter().map(|want| compare.item(want)).collect();
    begin_below_anew(&mut items);
    items.extend(compare.surplus(&wanted, &items));
    obstacles.extend(missing(cloud, &items, &snapshot.facts));
    obstacles.extend(quota::shortfalls(&items, &snapshot.facts, cloud));
    let notes = compare.foreign_rules(&items);
    Plan { items, obstacles, place, notes }
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
                item.action = update("leads to the old balancer")
            }
            _ => {}
        }
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

    /// A rule that says the same, whoever made it: Neutron takes no second one.
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
            Spec::Server { .. } => self.server(found),
            Spec::Volume { size, .. } => volume(found, *size),
            Spec::Port { address, master, pairs } => self.port(found, *address, *master, pairs),
            Spec::RouterPort { .. } if found.text("device_id").is_empty() => Action::Change(vec![Fix::Attach]),
            Spec::Router if found.body["external_gateway_info"].is_null() => update("leads to no external network"),
            Spec::FloatingIp { of } => self.floating_ip(found, of),
            Spec::Listener { access } => self.listener(found, access),
            Spec::Balancer => balancer(found),
            Spec::Pool | Spec::Monitor | Spec::Member { .. } if found.state() == "ERROR" => broken(found),
            Spec::Subnet { made, .. } => subnet(found, made),
            _ => Action::Keep,
        }
    }

    fn server(&self, found: &Found) -> Action {
        let state = found.state();
        let act = |action| Action::Change(vec![Fix::Act(action, state.to_owned())]);
        match state {
            "ACTIVE" => Action::Keep,
            "BUILD" | "REBOOT" | "HARD_REBOOT" | "MIGRATING" | "RESIZE" | "REBUILD" => wait(state),
            "SHUTOFF" => act("os-start"),
            "PAUSED" => act("unpause"),
            "SUSPENDED" => act("resume"),
            // A server that never ran holds nothing.
            "ERROR" if found.body["OS-SRV-USG:launched_at"].is_null() => {
                Action::Replace(format!("could not be made: {}", fault(&found.body)))
            }
            _ => Action::Refuse {
                what: format!("{} is {state}: {}", found.part, fault(&found.body)),
                remedy: format!(
                    "repair it, or delete the server {} (its volume and its port stay), and apply again",
                    found.id
                ),
            },
        }
    }

    fn port(&self, found: &Found, address: Option<IpAddr>, master: bool, pairs: &[IpNet]) -> Action {
        let has = found.address();
        if let Some(address) = address.filter(|address| has != Some(*address)) {
            let what = format!(
                "{} has the address {}, and should have {address}",
                found.part,
                has.map(|a| a.to_string()).unwrap_or_default()
            );
            let remedy = "a machine's address cannot change: remove the machine and add it again".to_owned();
            return Action::Refuse { what, remedy };
        }
        let mut fixes = Vec::new();
        let wanted: BTreeSet<&str> = [Some(NODES), master.then_some(MASTERS)]
            .into_iter()
            .flatten()
            .filter_map(|name| self.id(Kind::SecurityGroup, name))
            .collect();
        let groups: BTreeSet<&str> = texts(&found.body["security_groups"]).collect();
        // Groups that somebody added stay; ours that are gone come back.
        if wanted.len() < 1 + usize::from(master) || !wanted.is_subset(&groups) {
            fixes.push(Fix::Update("lacks a security group".to_owned()));
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
        if pairs.iter().any(|pair| !allowed.contains(pair)) {
            fixes.push(Fix::Update("lacks an allowed address pair".to_owned()));
        }
        if found.body["admin_state_up"] == false {
            fixes.push(Fix::Update("is switched off".to_owned()));
        }
        if fixes.is_empty() { Action::Keep } else { Action::Change(fixes) }
    }

    fn floating_ip(&self, found: &Found, of: &Part) -> Action {
        let target = self.snapshot.find(of);
        let id = target.map(|target| if of.kind == Kind::Balancer { target.text("vip_port_id") } else { &target.id });
        match id {
            Some(id) if found.text("port_id") == id => Action::Keep,
            _ => update("leads elsewhere"),
        }
    }

    fn listener(&self, found: &Found, access: &[IpNet]) -> Action {
        let wanted: BTreeSet<String> = allowed(access, self.place.cidr).into_iter().collect();
        if found.state() == "ERROR" {
            return broken(found);
        }
        let has: BTreeSet<String> = texts(&found.body["allowed_cidrs"]).map(str::to_owned).collect();
        if found.body["admin_state_up"] == false {
            return update("is switched off");
        }
        if wanted == has { Action::Keep } else { update("lets in others than `access.api`") }
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
                    _ if wanted.contains(&found.part) => twice(found),
                    _ => Action::Left,
                };
                Some(Item { part: found.part.clone(), action, want: None, found: Some(found.clone()) })
            })
            .collect()
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

/// Two things with one part's mark: a request that was under way when its sender was killed.
fn twice(found: &Found) -> Action {
    let free = match found.part.kind {
        Kind::Volume => found.state() != "in-use",
        Kind::Port => found.text("device_id").is_empty(),
        Kind::FloatingIp => found.text("port_id").is_empty(),
        Kind::ServerGroup => found.body["members"].as_array().is_some_and(Vec::is_empty),
        _ => false,
    };
    match free {
        true => Action::Delete("a second one, which nothing uses".to_owned()),
        false => Action::Refuse {
            what: format!("there are two of {}, and the second ({}) is in use", found.part, found.id),
            remedy: "delete the one that is not wanted, and apply again".to_owned(),
        },
    }
}

fn update(what: &str) -> Action {
    Action::Change(vec![Fix::Update(what.to_owned())])
}

fn wait(state: &str) -> Action {
    Action::Change(vec![Fix::Wait(state.to_owned())])
}

fn volume(found: &Found, size: u32) -> Action {
    let state = found.state();
    match state {
        "available" | "in-use" if found.body["size"].as_i64() < Some(i64::from(size)) => Action::Refuse {
            what: format!("{} has {} GiB, and should have {size}", found.part, found.body["size"]),
            remedy: "write the size that it has, or remove the machine and add it again".to_owned(),
        },
        "available" | "in-use" => Action::Keep,
        "creating" | "downloading" | "attaching" | "detaching" | "reserved" | "uploading" => wait(state),
        state if state.starts_with("error") && found.body["attachments"].as_array().is_none_or(Vec::is_empty) => {
            Action::Replace(format!("is in the state {state}"))
        }
        state => Action::Refuse {
            what: format!("{} is in the state {state}", found.part),
            remedy: format!("repair or delete the volume {}, and apply again", found.id),
        },
    }
}

fn balancer(found: &Found) -> Action {
    match found.state() {
        "ACTIVE" if found.body["admin_state_up"] == false => update("is switched off"),
        "ACTIVE" => Action::Keep,
        "ERROR" => Action::Replace("is in the state ERROR".to_owned()),
        state => wait(state),
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
        return update("has other name servers");
    }
    if found.body["enable_dhcp"].as_bool() != Some(made.dhcp) {
        return update("has another setting of DHCP");
    }
    Action::Keep
}

/// The cloud's own words for what went wrong.
pub fn fault(body: &Value) -> String {
    let told = body["fault"]["message"].as_str().filter(|text| !text.is_empty());
    told.unwrap_or("the cloud tells no reason").to_owned()
}

/// Who may connect to the balancer.
pub fn allowed(access: &[IpNet], subnet: Option<IpNet>) -> Vec<String> {
    access.iter().copied().chain(subnet).map(|range| range.to_string()).collect()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str)
}

fn place(cloud: &OpenStack, snapshot: &Snapshot, wants: &[Want], obstacles: &mut Vec<Obstacle>) -> Place {
    let facts = &snapshot.facts;
    let balancer = snapshot.of_kind(Kind::Balancer).next().and_then(Found::address);
    let mut place = Place { balancer, ..Place::default() };
    match &cloud.network {
        CloudNetwork::Made(made) => place.cidr = Some(made.cidr),
        CloudNetwork::Existing { network, subnet } => {
            match facts::pick(&facts.networks, |(named, _)| named, network, "network") {
                Ok((named, _)) => {
                    place.network = Some(named.id.clone());
                    let inside: Vec<_> = facts.subnets.iter().filter(|one| one.network == named.id).cloned().collect();
                    let chosen = match (subnet, &inside[..]) {
                        (Some(asked), _) => facts::pick(&inside, |one| &one.named, asked, "subnet")
                            .map_err(|what| (what, "openstack.network.subnet")),
                        (None, [one]) => Ok(one),
                        (None, all) => Err((
                            format!("the network {network} has {} subnets", all.len()),
                            "openstack.network.subnet",
                        )),
                    };
                    match chosen {
                        Ok(one) => (place.subnet, place.cidr) = (Some(one.named.id.clone()), Some(one.cidr)),
                        Err((what, key)) => obstacles.push(Obstacle {
                            what,
                            remedy: format!("name one by `{key}`: {}", names(inside.iter().map(|s| &s.named.name))),
                        }),
                    }
                }
                Err(what) => obstacles.push(Obstacle {
                    what,
                    remedy: format!("it has: {}", names(facts.networks.iter().map(|(n, _)| &n.name))),
                }),
            }
        }
    }
    if wants.iter().any(|want| matches!(want.spec, Spec::Router | Spec::FloatingIp { .. })) {
        let external: Vec<_> =
            facts.networks.iter().filter(|(_, external)| *external).map(|(named, _)| named.clone()).collect();
        let chosen = match (&cloud.external_network, &external[..]) {
            (Some(asked), _) => facts::pick(&external, |named| named, asked, "external network"),
            (None, [one]) => Ok(one),
            (None, all) => Err(format!(
                "the cloud has {} external networks, and `openstack.externalNetwork` names none",
                all.len()
            )),
        };
        match chosen {
            Ok(named) => place.external = Some(named.id.clone()),
            Err(what) => obstacles
                .push(Obstacle { what, remedy: format!("it has: {}", names(external.iter().map(|n| &n.name))) }),
        }
    }
    place
}

/// What the cloud would need, and has not.
fn missing(cloud: &OpenStack, items: &[Item], facts: &Facts) -> Vec<Obstacle> {
    let mut all = Vec::new();
    let mut told = BTreeSet::new();
    let mut say = |what: String, remedy: String| {
        if told.insert(what.clone()) {
            all.push(Obstacle { what, remedy });
        }
    };
    let made = |kind: Kind| {
        items.iter().any(|i| i.part.kind == kind && matches!(i.action, Action::Create | Action::Replace(_)))
    };
    if made(Kind::Volume) {
        match facts::pick(&facts.images, |image| &image.named, &cloud.image, "image") {
            Err(what) => say(what, "upload it, or set `openstack.image`".to_owned()),
            Ok(image) if image.status != "active" => {
                say(format!("the image {} is {}", cloud.image, image.status), "wait until it is active".to_owned())
            }
            Ok(image) if image.min_disk > i64::from(cloud.volume.size) => say(
                format!(
                    "the image {} needs {} GiB, and `openstack.volume.size` is {}",
                    cloud.image, image.min_disk, cloud.volume.size
                ),
                format!("write at least {}", image.min_disk),
            ),
            Ok(_) => {}
        }
        if let Some(kind) = &cloud.volume.kind
            && let Err(what) = facts::pick(&facts.volume_types, |named| named, kind, "volume type")
        {
            say(what, format!("it has: {}", names(facts.volume_types.iter().map(|n| &n.name))));
        }
    }
    for item in items.iter().filter(|item| matches!(item.action, Action::Create | Action::Replace(_))) {
        let Some(Want { spec: Spec::Server { flavor, zone, .. }, .. }) = &item.want else { continue };
        if let Err(what) = facts::pick(&facts.flavors, |one| &one.named, flavor, "flavour") {
            say(what, format!("it has: {}", names(facts.flavors.iter().map(|f| &f.named.name))));
        }
        if let Some(zone) = zone.as_ref().filter(|zone| !facts.zones.contains(zone)) {
            say(format!("the cloud has no availability zone {zone}"), format!("it has: {}", names(facts.zones.iter())));
        }
    }
    if let Some(keypair) =
        cloud.keypair.as_ref().filter(|keypair| made(Kind::Server) && !facts.keypairs.contains(keypair))
    {
        say(format!("you have no keypair {keypair}"), format!("you have: {}", names(facts.keypairs.iter())));
    }
    if cloud.load_balancer.enabled && !facts.balancing {
        say(
            "the cloud's catalogue has no load balancing (Octavia)".to_owned(),
            "set `openstack.loadBalancer.enabled: false` and `controlPlane.virtualAddress`, or an endpoint of your own"
                .to_owned(),
        );
    }
    all
}

fn names<'n>(all: impl Iterator<Item = &'n String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).take(20).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alter, applied, cluster, facts, plan, sized};
    use serde_json::json;

    const MORE: &str = "  floatingIPs: masters\n  loadBalancer: {floatingIP: true}\n  access: {ssh: [192.0.2.0/24], api: [10.0.0.0/16]}\n";

    fn action(plan: &Plan, part: &str) -> Action {
        plan.items
            .iter()
            .find(|item| item.part.to_string() == part)
            .map(|item| item.action.clone())
            .unwrap_or_else(|| panic!("no {part}"))
    }

    #[test]
    fn what_was_asked_for_is_what_is_wanted() {
        let cluster = cluster(MORE);
        let plan = plan(&cluster, &applied(&cluster));
        let other: Vec<&Item> = plan.items.iter().filter(|item| item.action != Action::Keep).collect();
        assert!(plan.is_empty() && other.is_empty() && plan.obstacles.is_empty(), "{other:#?} {:?}", plan.obstacles);
    }

    #[test]
    fn nothing_there_means_all_is_made() {
        let cluster = cluster(MORE);
        let plan = plan(&cluster, &Snapshot { ours: Vec::new(), facts: facts() });
        assert!(plan.items.iter().all(|item| item.action == Action::Create) && !plan.is_blocked());
        // The API's range is that of the subnet: Neutron would refuse the second rule.
        assert_eq!(plan.items.iter().filter(|item| item.part.name.contains("6443")).count(), 1);
    }

    #[test]
    fn drift_is_seen() {
        let cluster = cluster(MORE);
        let mut snapshot = applied(&cluster);
        alter(&mut snapshot, "server/m1", |body| body["status"] = json!("SHUTOFF"));
        alter(&mut snapshot, "server/m2", |body| {
            *body = json!({ "id": body["id"], "status": "ERROR", "fault": { "message": "No valid host" } })
        });
        alter(&mut snapshot, "server/m3", |body| {
            body["status"] = json!("ERROR");
            body["OS-SRV-USG:launched_at"] = json!("2026-01-01");
        });
        alter(&mut snapshot, "server/w1", |body| body["status"] = json!("BUILD"));
        alter(&mut snapshot, "port/w1", |body| body["security_groups"] = json!(["another"]));
        alter(&mut snapshot, "port/w2", |body| body["fixed_ips"][0]["ip_address"] = json!("10.0.9.9"));
        alter(&mut snapshot, "floating-ip/m1", |body| body["port_id"] = json!(null));
        alter(&mut snapshot, "router-port/api", |body| body["device_id"] = json!(""));
        alter(&mut snapshot, "listener/api", |body| body["allowed_cidrs"] = json!(null));
        alter(&mut snapshot, "security-group/nodes", |body| {
            body["security_group_rules"] = json!([{ "id": "x", "direction": "ingress", "protocol": "tcp" }]);
        });
        let plan = plan(&cluster, &snapshot);
        let is = |part: &str| action(&plan, part);
        assert_eq!(is("server/m1"), Action::Change(vec![Fix::Act("os-start", "SHUTOFF".into())]));
        assert_eq!(is("server/m2"), Action::Replace("could not be made: No valid host".into()));
        assert!(matches!(is("server/m3"), Action::Refuse { .. }));
        assert_eq!(is("server/w1"), Action::Change(vec![Fix::Wait("BUILD".into())]));
        assert_eq!(is("port/w1"), Action::Change(vec![Fix::Update("lacks a security group".into())]));
        assert!(matches!(is("port/w2"), Action::Refuse { .. }));
        assert_eq!(is("floating-ip/m1"), update("leads elsewhere"));
        assert_eq!(is("router-port/api"), Action::Change(vec![Fix::Attach]));
        assert!(matches!(is("listener/api"), Action::Change(_)));
        assert_eq!(is("rule/nodes:tcp/22:192.0.2.0/24"), Action::Create);
        assert!(plan.notes.iter().any(|note| note.contains("rule x that is not ours")), "{:?}", plan.notes);
    }

    #[test]
    fn a_broken_balancer_takes_all_below_with_it_and_keeps_its_address() {
        let cluster = cluster(MORE);
        let mut snapshot = applied(&cluster);
        alter(&mut snapshot, "balancer/api", |body| body["provisioning_status"] = json!("ERROR"));
        let plan = plan(&cluster, &snapshot);
        assert!(matches!(action(&plan, "balancer/api"), Action::Replace(_)));
        for part in ["listener/api", "pool/api", "monitor/api", "member/m1"] {
            assert_eq!(action(&plan, part), Action::Create, "{part}");
        }
        assert_eq!(action(&plan, "floating-ip/api"), update("leads to the old balancer"));
        assert_eq!(plan.place.balancer, "10.0.200.1".parse().ok());
    }

    #[test]
    fn other_masters_stay_members_and_strangers_go() {
        let cluster = cluster(MORE);
        let mut snapshot = applied(&cluster);
        let member = |name: &str, address: &str| {
            Found::new(Part::new(Kind::Member, name), json!({ "id": address, "address": address })).unwrap()
        };
        snapshot.ours.extend([member("m2", "10.0.0.12"), member("x", "10.0.0.99")]);
        let plan = plan(&cluster, &snapshot);
        let members: Vec<_> = plan
            .items
            .iter()
            .filter(|item| item.part.kind == Kind::Member)
            .map(|item| (item.part.name.as_str(), &item.action))
            .collect();
        assert_eq!(members, [("m1", &Action::Keep), ("x", &Action::Delete("no master has this address".into()))]);
    }

    #[test]
    fn a_machine_that_is_described_no_more_is_left_alone() {
        let snapshot = applied(&sized(3, 3, MORE));
        let plan = plan(&sized(3, 2, MORE), &snapshot);
        assert_eq!(action(&plan, "server/w3"), Action::Left);
        assert!(plan.is_empty());
    }

    #[test]
    fn a_second_volume_is_deleted_where_nothing_uses_it() {
        let cluster = cluster(MORE);
        let mut snapshot = applied(&cluster);
        let second = |id: &str, status: &str| {
            Found::new(Part::new(Kind::Volume, "m1"), json!({ "id": id, "status": status })).unwrap()
        };
        snapshot.ours.push(second("second", "available"));
        let deleted = |plan: &Plan| {
            plan.items
                .iter()
                .any(|i| matches!(i.action, Action::Delete(_)) && i.found.as_ref().is_some_and(|f| f.id == "second"))
        };
        assert!(deleted(&plan(&cluster, &snapshot)));
        snapshot.ours.push(second("third", "in-use"));
        assert!(plan(&cluster, &snapshot).is_blocked());
    }

    #[test]
    fn all_that_is_missing_comes_in_one_report() {
        let cluster = cluster("  keypair: me\n  volume: {type: fast}\n  availabilityZones: [az9]\n");
        let mut facts = facts();
        facts.images.clear();
        facts.flavors.clear();
        facts.networks.clear();
        facts.balancing = false;
        facts.quotas.insert("volumes", crate::resources::facts::Quota { limit: Some(10), used: 6 });
        facts.quotas.insert("ports", crate::resources::facts::Quota { limit: None, used: 600 });
        let plan = plan(&cluster, &Snapshot { ours: Vec::new(), facts });
        let told: Vec<&str> = plan.obstacles.iter().map(|obstacle| obstacle.what.as_str()).collect();
        assert_eq!(
            told,
            [
                "the cloud has 0 external networks, and `openstack.externalNetwork` names none",
                "the cloud has no image node-image",
                "the cloud has no volume type fast",
                "the cloud has no flavour small",
                "the cloud has no availability zone az9",
                "you have no keypair me",
                "the cloud's catalogue has no load balancing (Octavia)",
                "quota: 5 volumes are needed, and 4 of 10 are free",
            ]
        );
    }

    #[test]
    fn a_hundred_workers_are_compared_at_once() {
        let cluster = sized(3, 100, MORE);
        let snapshot = applied(&cluster);
        let begun = std::time::Instant::now();
        assert!(plan(&cluster, &snapshot).is_empty());
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
