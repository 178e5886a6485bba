//! What the cloud must have for a plan: networks, images, flavours, zones. Everything that is missing is in one report.

use super::PAIRS;
use crate::resources::{
    Found, Kind, Part, Snapshot,
    desired::{PUBLIC, Spec, Want},
    facts::{self, Facts, PickError},
    plan::{Action, Fix, Item, Obstacle, ObstacleKind, Place},
};
use nodeinit_config::{Cluster, OpenStack, openstack::CloudNetwork};
use std::collections::BTreeSet;

/// Where the machines will be; what is missing for it becomes an obstacle.
pub(super) fn place(cloud: &OpenStack, snapshot: &Snapshot, wants: &[Want], obstacles: &mut Vec<Obstacle>) -> Place {
    let facts = &snapshot.facts;
    let balancer = snapshot.of_kind(Kind::Balancer).next().and_then(Found::address);
    let mut place = Place { balancer, ..Place::default() };
    match &cloud.network {
        CloudNetwork::Made(made) => {
            place.cidr = Some(made.cidr);
            // One from before it was in another network is no address of this one.
            let is_outside = wants.iter().any(|want| want.spec == Spec::Balancer { network: PUBLIC });
            let net = made.public.filter(|_| is_outside).unwrap_or(made.cidr);
            place.balancer = balancer.filter(|address| net.contains(address));
        }
        CloudNetwork::Existing { network, subnet } => {
            match facts::pick(&facts.networks, |one| &one.named, network, "network") {
                Ok(one) => {
                    let named = &one.named;
                    place.network = Some(named.id.clone());
                    place.foreign = one.project != facts.project && !facts.is_admin;
                    place.open = one.open;
                    let inside: Vec<_> = facts.subnets.iter().filter(|one| one.network == named.id).cloned().collect();
                    let chosen = match (subnet, &inside[..]) {
                        (Some(asked), _) => facts::pick(&inside, |one| &one.named, asked, "subnet"),
                        (None, [one]) => Ok(one),
                        (None, all) => Err(PickError::None(format!("the network {network} has {} subnets", all.len()))),
                    };
                    match chosen {
                        Ok(one) => (place.subnet, place.cidr) = (Some(one.named.id.clone()), Some(one.cidr)),
                        Err(error) => {
                            let there = names(inside.iter().map(|subnet| &subnet.named.name));
                            obstacles.push(unpicked(
                                error,
                                format!("set `openstack.network.subnet` to one of them: {there}"),
                            ));
                        }
                    }
                }
                Err(error) => obstacles.push(unpicked(error, has(facts.networks.iter().map(|one| &one.named.name)))),
            }
        }
    }
    if wants.iter().any(|want| matches!(want.spec, Spec::Router | Spec::FloatingIp { .. })) {
        let external: Vec<_> = facts.networks.iter().filter(|one| one.external).map(|one| one.named.clone()).collect();
        let chosen = match (&cloud.external_network, &external[..]) {
            (Some(asked), _) => facts::pick(&external, |named| named, asked, "external network"),
            (None, [one]) => Ok(one),
            (None, all) => Err(PickError::None(format!(
                "the cloud has {} external networks, and `openstack.externalNetwork` names none",
                all.len()
            ))),
        };
        match chosen {
            Ok(named) => place.external = Some(named.id.clone()),
            Err(error) => obstacles.push(unpicked(error, has(external.iter().map(|named| &named.name)))),
        }
    }
    place
}

/// What the cloud would need, and has not.
pub(super) fn missing(cloud: &OpenStack, place: &Place, items: &[Item], facts: &Facts) -> Vec<Obstacle> {
    let mut all = Vec::new();
    let mut told = BTreeSet::new();
    let mut say = |obstacle: Obstacle| {
        if told.insert(obstacle.what.clone()) {
            all.push(obstacle);
        }
    };
    let made = |kind: Kind| {
        items.iter().any(|i| i.part.kind == kind && matches!(i.action, Action::Create | Action::Replace(_)))
    };
    let specs = || {
        let made = items.iter().filter(|item| matches!(item.action, Action::Create | Action::Replace(_)));
        made.filter_map(|item| item.want.as_ref()).map(|want| &want.spec)
    };
    for (kind, what) in [(Kind::Volume, facts::IMAGES), (Kind::Server, facts::FLAVORS)] {
        if let Some(why) = facts.unread.get(what).filter(|_| made(kind)) {
            let what = format!("{what} cannot be read: {why}");
            say(Obstacle::new(ObstacleKind::Unreachable, what, "ask for a role that may read them"));
        }
    }
    for spec in specs() {
        let Spec::Volume { size, image: asked, .. } = spec else { continue };
        if facts.unread.contains_key(facts::IMAGES) {
            break;
        }
        match facts::pick(&facts.images, |image| &image.named, asked, "image") {
            Err(error) => say(unpicked(error, "upload it, or name another one".to_owned())),
            Ok(image) if image.status != "active" => say(Obstacle::new(
                ObstacleKind::Conflict,
                format!("the image {asked} is {}", image.status),
                "wait until it is active",
            )),
            Ok(image) if image.min_disk > i64::from(*size) => say(Obstacle::new(
                ObstacleKind::Conflict,
                format!("the image {asked} needs {} GiB, and `openstack.volume.size` is {size}", image.min_disk),
                format!("write at least {}", image.min_disk),
            )),
            Ok(_) => {}
        }
    }
    let is_read = |what: &str| !facts.unread.contains_key(what);
    if let Some(kind) = cloud.volume.kind.as_ref().filter(|_| made(Kind::Volume) && is_read(facts::VOLUME_TYPES))
        && let Err(error) = facts::pick(&facts.volume_types, |named| named, kind, "volume type")
    {
        say(unpicked(error, has(facts.volume_types.iter().map(|named| &named.name))));
    }
    for spec in specs() {
        let Spec::Server { flavor, zone, .. } = spec else { continue };
        if is_read(facts::FLAVORS)
            && let Err(error) = facts::pick(&facts.flavors, |one| &one.named, flavor, "flavour")
        {
            say(unpicked(error, has(facts.flavors.iter().map(|flavor| &flavor.named.name))));
        }
        if let Some(zone) = zone.as_ref().filter(|zone| is_read(facts::ZONES) && !facts.zones.contains(zone)) {
            let what = format!("the cloud has no availability zone {zone}");
            say(Obstacle::new(ObstacleKind::Missing, what, has(facts.zones.iter())));
        }
    }
    if let Some(keypair) =
        cloud.keypair.as_ref().filter(|keypair| made(Kind::Server) && !facts.keypairs.contains(keypair))
        && is_read(facts::KEYPAIRS)
    {
        let what = format!("you have no keypair {keypair}");
        say(Obstacle::new(
            ObstacleKind::Missing,
            what,
            format!("use one of your keypairs: {}", names(facts.keypairs.iter())),
        ));
    }
    if place.open && cloud.load_balancer.provider.as_deref() != Some("ovn") && made(Kind::Balancer) {
        say(Obstacle::new(
            ObstacleKind::Conflict,
            "the network has no port security, which Octavia's amphorae need for the load balancer's address",
            "set `openstack.loadBalancer.enabled: false`, or use the provider ovn or a network with port security",
        ));
    }
    if cloud.load_balancer.enabled && !facts.balancing {
        say(Obstacle::new(
            ObstacleKind::Missing,
            "the cloud's catalogue has no load balancing (Octavia)",
            "set `openstack.loadBalancer.enabled: false` and `controlPlane.virtualAddress`, or an endpoint of your own",
        ));
    }
    all
}

/// What a network of another project reserves for its owner, where the cloud did not change the policy. Source: Neutron's default
/// policy, `create_port:*`.
pub(super) fn reserved(place: &Place, items: &[Item]) -> Vec<String> {
    if !place.foreign {
        return Vec::new();
    }
    let (mut addressed, mut paired) = (Vec::new(), Vec::new());
    for item in items {
        let Some(Spec::Port { address, pairs, .. }) = item.want.as_ref().map(|want| &want.spec) else { continue };
        let name = &item.part.name;
        match &item.action {
            Action::Create => {
                addressed.extend(address.map(|_| name));
                paired.extend((!pairs.is_empty() && !place.open).then_some(name));
            }
            Action::Change(fixes) if fixes.iter().any(|fix| matches!(fix, Fix::Update { field: PAIRS, .. })) => {
                paired.push(name)
            }
            _ => {}
        }
    }
    let network = "the network belongs to another project. By Neutron's default policy, only that project may";
    let mut all = Vec::new();
    if !addressed.is_empty() {
        all.push(format!(
            "{network} choose addresses in it: the cloud may reject {} with 403. Then leave `address` out: machines take the \
             addresses that the cloud assigns",
            names(addressed.into_iter())
        ));
    }
    if !paired.is_empty() {
        all.push(format!(
            "{network} set allowed address pairs in it: the cloud may reject {} with 403. Then use flannel, leave \
             `openstack.allowedAddressPairs` out, and use a load balancer instead of `controlPlane.virtualAddress`; or ask \
             the owner for ports with address pairs",
            names(paired.into_iter())
        ));
    }
    all
}

/// What a cloud does otherwise than the configuration may suggest.
pub(super) fn differences(cloud: &OpenStack, place: &Place) -> Vec<String> {
    let mut notes = Vec::new();
    if place.open {
        notes.push(
            "the network has no port security: its ports get no security groups, and nothing enforces `openstack.access`"
                .to_owned(),
        );
    }
    if !place.open && cloud.load_balancer.enabled && cloud.load_balancer.provider.as_deref() == Some("ovn") {
        notes.push(
            "the load balancer provider ovn balances by SOURCE_IP_PORT and takes no CIDRs: the masters' security group \
             enforces `openstack.access.api`"
                .to_owned(),
        );
    }
    notes
}

/// The first master is brought its secrets by SSH, and into a network that is made nobody comes by himself.
pub(super) fn way_in(cluster: &Cluster, cloud: &OpenStack, items: &[Item]) -> Option<Obstacle> {
    let first = cluster.masters.first()?;
    // One that is in no configuration any more is used, too.
    let floating = Part::new(Kind::FloatingIp, &first.name);
    let has_one = matches!(cloud.network, CloudNetwork::Existing { .. })
        || cloud.bastion.is_some()
        || cluster.ssh.jump_host.is_some()
        || first.ssh.address.is_some()
        || items.iter().any(|item| item.part == floating);
    (!has_one).then(|| {
        Obstacle::new(
            ObstacleKind::Unreachable,
            format!(
                "{} cannot be reached: it has no floating IP, and there is neither a bastion nor a jump host",
                first.name
            ),
            "set `openstack.floatingIPs: first-master`, `openstack.bastion` or `ssh.jumpHost`; or set the `ssh.address` of this machine if there is a route to it",
        )
    })
}

/// A name that leads to nothing; `remedy` is for one that nothing has.
fn unpicked(error: PickError, remedy: String) -> Obstacle {
    match error {
        PickError::None(what) => Obstacle::new(ObstacleKind::Missing, what, remedy),
        PickError::Several(what) => {
            Obstacle::new(ObstacleKind::Duplicate, what, "write the ID of one of them instead of the name")
        }
    }
}

fn has<'n>(all: impl Iterator<Item = &'n String>) -> String {
    format!("use one of those that exist: {}", names(all))
}

fn names<'n>(all: impl Iterator<Item = &'n String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).take(20).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
