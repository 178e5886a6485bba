//! What there is against what should be, on a simulated cloud.

use super::*;
use crate::{
    replace,
    resources::{
        facts::Quota,
        part::{self, ATTACHED, NEVER},
        plan::ObstacleKind,
    },
    testing::{alter, applied, cluster, facts, plan, sized},
};
use nodeinit_config::openstack::CloudNetwork;
use serde_json::json;

const MORE: &str =
    "  floatingIPs: masters\n  loadBalancer: {floatingIP: true}\n  access: {ssh: [192.0.2.0/24], api: [10.0.0.0/16]}\n";

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
    alter(&mut snapshot, "port/w2", |body| {
        body["fixed_ips"][0]["ip_address"] = json!("10.0.9.9");
        body["device_id"] = json!("server/w2");
    });
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
    assert!(matches!(is("server/m3"), Action::Unhealthy { .. }));
    assert_eq!(is("server/w1"), wait("BUILD", "ACTIVE"));
    assert_eq!(is("port/w1"), Action::update("security groups", "another", "another, nodes"));
    assert!(matches!(is("port/w2"), Action::Refuse { .. }));
    assert_eq!(is("floating-ip/m1"), Action::update("attached to", "none", "port/m1"));
    assert_eq!(is("router-port/api"), Action::Change(vec![Fix::Attach]));
    assert_eq!(is("listener/api"), Action::update("allowed CIDRs", "none", "10.0.0.0/16"));
    assert_eq!(is("rule/nodes:tcp/22:192.0.2.0/24"), Action::Create);
    assert!(plan.notes.iter().any(|note| note.contains("rule x that is not ours")), "{:?}", plan.notes);
}

#[test]
fn a_port_gets_another_address_while_no_server_uses_it() {
    let cluster = cluster(MORE);
    let mut snapshot = applied(&cluster);
    let own = snapshot.find(&Part::new(Kind::Port, "m1")).unwrap().address().unwrap().to_string();
    alter(&mut snapshot, "port/m1", |body| {
        body["fixed_ips"][0]["ip_address"] = json!("10.0.9.9");
        body["device_id"] = json!("server/m1");
    });
    alter(&mut snapshot, "floating-ip/m1", |body| body["fixed_ip_address"] = json!("10.0.9.9"));
    let Action::Refuse { what, remedy } = action(&plan(&cluster, &snapshot), "port/m1") else {
        panic!("it is not refused")
    };
    assert_eq!(what, format!("port/m1 has the address 10.0.9.9, and should have {own}"));
    assert!(remedy.contains("`provisioner master replace m1`"), "{remedy}");
    let former = replace::former(&snapshot.ours, "m1");
    let plan = plan(&cluster, &replace::without(&snapshot, &former));
    assert_eq!(action(&plan, "port/m1"), Action::update("address", "10.0.9.9", &own));
    assert_eq!(action(&plan, "floating-ip/m1"), Action::update("leads to", "10.0.9.9", &own));
    // A run that was killed after it had moved the port.
    alter(&mut snapshot, "port/m1", |body| body["fixed_ips"][0]["ip_address"] = json!(own));
    let plan = crate::testing::plan(&cluster, &snapshot);
    assert_eq!(action(&plan, "port/m1"), Action::Keep);
    assert_eq!(action(&plan, "floating-ip/m1"), Action::update("leads to", "10.0.9.9", &own));
}

#[test]
fn a_server_that_the_operator_must_repair_does_not_stop_the_rest() {
    let cluster = cluster(MORE);
    let told = |state: &str| {
        let mut snapshot = applied(&cluster);
        alter(&mut snapshot, "server/w1", |body| {
            body["status"] = json!(state);
            body["OS-SRV-USG:launched_at"] = json!("2026-01-01");
        });
        // As Cinder says of a shelved server's.
        alter(&mut snapshot, "volume/w1", |body| body["status"] = json!("reserved"));
        let plan = plan(&cluster, &snapshot);
        assert!(!plan.is_blocked() && plan.is_empty() && plan.is_unhealthy(), "{state}");
        match action(&plan, "server/w1") {
            Action::Unhealthy { what, remedy } => format!("{what}: {remedy}"),
            other => panic!("{state}: {other:?}"),
        }
    };
    for state in ["RESCUE", "UNKNOWN", "ERROR", "SHELVED", "SHELVED_OFFLOADED", "VERIFY_RESIZE", "SOFT_DELETED"] {
        assert!(told(state).starts_with(&format!("it is {state}: ")));
    }
    assert!(told("RESCUE").contains("openstack server unrescue server/w1"));
    assert!(told("SHELVED_OFFLOADED").contains("openstack server unshelve server/w1"));
    // The others' volumes are waited for.
    let mut snapshot = applied(&cluster);
    alter(&mut snapshot, "volume/w2", |body| body["status"] = json!("reserved"));
    assert_eq!(action(&plan(&cluster, &snapshot), "volume/w2"), wait("reserved", "available"));
}

#[test]
fn a_broken_balancer_is_replaced_on_request_with_all_below_it_and_keeps_its_address() {
    let cluster = cluster(MORE);
    let mut snapshot = applied(&cluster);
    alter(&mut snapshot, "balancer/api", |body| body["provisioning_status"] = json!("ERROR"));
    let mut plan = plan(&cluster, &snapshot);
    let refused = action(&plan, "balancer/api");
    assert!(matches!(&refused, Action::Refuse { remedy, .. } if remedy.contains("--replace-balancer")), "{refused:?}");
    assert_eq!(action(&plan, "listener/api"), Action::Keep);
    replace_balancer(&mut plan);
    assert!(matches!(action(&plan, "balancer/api"), Action::Replace(_)));
    for part in ["listener/api", "pool/api", "monitor/api", "member/m1"] {
        assert_eq!(action(&plan, part), Action::Create, "{part}");
    }
    let moved = Action::update("attached to", "the old balancer/api", "the new balancer/api");
    assert_eq!(action(&plan, "floating-ip/api"), moved);
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
        let body = json!({ "id": id, "status": status, "metadata": { ATTACHED: NEVER } });
        Found::new(Part::new(Kind::Volume, "m1"), body).unwrap()
    };
    snapshot.ours.push(second("second", "available"));
    let deleted = |plan: &Plan| {
        plan.items
            .iter()
            .any(|i| matches!(i.action, Action::Delete(_)) && i.found.as_ref().is_some_and(|f| f.id == "second"))
    };
    assert!(deleted(&plan(&cluster, &snapshot)));
    snapshot.ours.push(second("third", "in-use"));
    let plan = plan(&cluster, &snapshot);
    assert!(plan.is_blocked());
    let told = plan.items.iter().find_map(|item| match &item.action {
        Action::Duplicate { what, .. } => Some(what.as_str()),
        _ => None,
    });
    let ids = "there are 3 of volume/m1: volume/m1, second, third; third is too many";
    assert!(told.is_some_and(|told| told.starts_with(ids)), "{told:?}");
}

#[test]
fn a_name_that_two_images_have_is_a_duplicate_with_their_ids() {
    let mut facts = facts();
    let mut second = facts.images[0].clone();
    second.named.id = "another-id".into();
    facts.images.push(second);
    let plan = plan(&cluster(MORE), &Snapshot { ours: Vec::new(), facts });
    let [obstacle] = &plan.obstacles[..] else { panic!("{:?}", plan.obstacles) };
    assert_eq!(obstacle.kind, ObstacleKind::Duplicate);
    assert_eq!(obstacle.what, "2 of the cloud's images are called node-image: id-of-node-image, another-id");
}

#[test]
fn all_that_is_missing_comes_in_one_report() {
    let cluster = cluster("  keypair: me\n  volume: {type: fast}\n  availabilityZones: [az9]\n");
    let mut facts = facts();
    facts.images.clear();
    facts.flavors.clear();
    facts.networks.clear();
    facts.balancing = false;
    facts.quotas.insert("volumes", Quota { limit: Some(10), used: 6 });
    facts.quotas.insert("ports", Quota { limit: None, used: 600 });
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
            "m1 cannot be reached: it has no floating IP, and there is neither a bastion nor a jump host",
            "quota: 5 volumes are needed, and 4 of 10 are free",
        ]
    );
    let kinds: Vec<&str> = plan.obstacles.iter().map(|obstacle| obstacle.kind.word()).collect();
    assert_eq!(kinds, [["MISSING"; 7].as_slice(), &["UNREACHABLE", "QUOTA"]].concat());
}

#[test]
fn a_read_that_failed_is_in_the_way_only_where_it_is_needed() {
    let cluster = cluster("  floatingIPs: first-master\n  keypair: me\n  availabilityZones: [az9]\n");
    let mut snapshot = applied(&cluster);
    snapshot.facts.zones.clear();
    for what in ["images", "flavors", "availability zones", "keypairs", "quotas of servers"] {
        snapshot.facts.unread.insert(what, "answered 403".into());
    }
    snapshot.facts.images.clear();
    snapshot.facts.flavors.clear();
    assert!(plan(&cluster, &snapshot).obstacles.is_empty());
    snapshot.ours.retain(|found| !["server/w1", "volume/w1"].contains(&found.part.to_string().as_str()));
    let told: Vec<String> = plan(&cluster, &snapshot).obstacles.into_iter().map(|obstacle| obstacle.what).collect();
    assert_eq!(told, ["images cannot be read: answered 403", "flavors cannot be read: answered 403"]);
}

#[test]
fn what_another_projects_network_rejects_is_told() {
    let of = |more: &str, addressed: bool, change: fn(&mut crate::resources::facts::Facts)| {
        let mut cluster = cluster(more);
        let cloud = cluster.openstack.as_mut().unwrap();
        cloud.network = CloudNetwork::Existing { network: "private".into(), subnet: None };
        if !addressed {
            cluster.masters.iter_mut().chain(&mut cluster.workers).for_each(|machine| machine.address = None);
        }
        let mut facts = facts();
        facts.project = "mine".into();
        facts.networks.iter_mut().for_each(|network| network.project = "theirs".into());
        change(&mut facts);
        let plan = plan(&cluster, &Snapshot { ours: Vec::new(), facts });
        (plan.obstacles.into_iter().map(|obstacle| obstacle.what).collect::<Vec<_>>(), plan.notes)
    };
    // Clouds may have another policy: no obstacles.
    let (told, notes) = of("  allowedAddressPairs: [10.244.0.0/16]\n", true, |_| ());
    assert!(told.is_empty() && notes.len() == 2, "{told:?} {notes:?}");
    assert!(notes[0].contains("choose addresses in it: the cloud may reject m1, m2, m3, w1, w2 with 403"), "{notes:?}");
    assert!(notes[1].contains("set allowed address pairs in it: the cloud may reject m1"), "{notes:?}");
    assert_eq!(of("", false, |_| ()), (Vec::new(), Vec::new()));
    assert!(of("", true, |facts| facts.project = "theirs".into()).1.is_empty());
    assert!(of("", true, |facts| facts.is_admin = true).1.is_empty());
    let (told, notes) = of("  allowedAddressPairs: [10.244.0.0/16]\n", false, |facts| {
        facts.networks.iter_mut().for_each(|network| network.open = true);
    });
    assert!(notes[0].starts_with("the network has no port security"), "{notes:?}");
    assert!(told.len() == 1 && told[0].contains("amphorae need"), "{told:?}");
}

#[test]
fn workers_are_split_into_groups_of_the_quotas_size() {
    let mut facts = facts();
    facts.quotas.insert("server group members", Quota { limit: Some(10), used: 0 });
    let plan = plan(&sized(3, 25, MORE), &Snapshot { ours: Vec::new(), facts });
    let groups = plan.items.iter().filter(|item| item.part.kind == Kind::ServerGroup);
    let names: Vec<&str> = groups.map(|item| item.part.name.as_str()).collect();
    assert_eq!(names, ["masters", "workers", "workers-2", "workers-3"]);
}

#[test]
fn a_bastion_is_kept_as_machines_are() {
    let cluster = cluster("  bastion: {image: plain}\n");
    let mut small = facts();
    small.quotas.insert("floating IPs", Quota { limit: Some(5), used: 5 });
    small.quotas.insert("servers", Quota { limit: Some(5), used: 0 });
    let nothing = plan(&cluster, &Snapshot { ours: Vec::new(), facts: small });
    let told: Vec<&str> = nothing.obstacles.iter().map(|obstacle| obstacle.what.as_str()).collect();
    assert_eq!(
        told,
        [
            "the cloud has no image plain",
            "quota: 1 floating IPs are needed, and 0 of 5 are free",
            "quota: 6 servers are needed, and 5 of 5 are free",
        ]
    );

    let cluster = self::cluster("  bastion: {}\n");
    let mut snapshot = applied(&cluster);
    assert!(plan(&cluster, &snapshot).is_empty());
    alter(&mut snapshot, "port/bastion", |body| body["security_groups"] = json!([]));
    alter(&mut snapshot, "server/bastion", |body| body["status"] = json!("SHUTOFF"));
    alter(&mut snapshot, "floating-ip/bastion", |body| body["port_id"] = json!("port/m1"));
    let repaired = plan(&cluster, &snapshot);
    assert_eq!(action(&repaired, "port/bastion"), Action::update("security groups", "none", "bastion"));
    assert_eq!(action(&repaired, "server/bastion"), Action::Change(vec![Fix::Act("os-start", "SHUTOFF".into())]));
    let moved = Action::update("attached to", "port/m1", "port/bastion");
    assert_eq!(action(&repaired, "floating-ip/bastion"), moved);

    // Described no more, it is left alone, and machines take SSH from it no longer.
    let without = plan(&self::cluster("  floatingIPs: masters\n"), &snapshot);
    assert_eq!(action(&without, "server/bastion"), Action::Left);
    assert_eq!(action(&without, "rule/nodes:tcp/22:bastion"), Action::Delete("nothing asks for it".into()));
}

#[test]
fn a_second_network_has_the_bastion_and_the_balancer() {
    let cluster = crate::testing::with_public_network("  bastion: {}\n  loadBalancer: {floatingIP: true}\n");
    let snapshot = applied(&cluster);
    assert!(plan(&cluster, &snapshot).is_empty());
    let body = |part: &str| snapshot.ours.iter().find(|found| found.part.to_string() == part).unwrap().body.clone();
    assert_eq!(body("subnet/public")["cidr"], "10.1.0.0/24");
    assert_eq!(body("router-port/public")["fixed_ips"][0]["ip_address"], "10.1.0.1");
    assert_eq!(body("router-port/api")["network_id"], "network/api");
    assert_eq!(body("port/bastion")["network_id"], "network/public");
    assert_eq!(body("balancer/api")["vip_subnet_id"], "subnet/public");
    for machine in ["m1", "w1"] {
        assert_eq!(body(&format!("port/{machine}"))["fixed_ips"][0]["subnet_id"], "subnet/api");
    }
    assert_eq!(body("member/m1")["subnet_id"], "subnet/api");
    for part in ["floating-ip/bastion", "floating-ip/api"] {
        let all = plan(&cluster, &Snapshot { ours: Vec::new(), facts: facts() }).items;
        let want = all.into_iter().find(|item| item.part.to_string() == part).and_then(|item| item.want).unwrap();
        assert!(want.needs.contains(&Part::new(Kind::RouterPort, "public")), "{want:?}");
    }
    let rules: Vec<String> = snapshot.of_kind(Kind::Rule).map(|rule| rule.part.name.clone()).collect();
    let api: Vec<&String> = rules.iter().filter(|rule| rule.contains("6443")).collect();
    assert_eq!(api, ["masters:tcp/6443:subnet", "masters:tcp/6443:10.1.0.0/24"]);
}

#[test]
fn the_gateway_is_between_the_networks_instead_of_a_router() {
    let cluster = crate::testing::behind_gateway("{dns: true}").cluster;
    let mut snapshot = applied(&cluster);
    assert!(plan(&cluster, &snapshot).is_empty());
    let body = |part: &str| snapshot.ours.iter().find(|found| found.part.to_string() == part).map(|found| &found.body);
    let inner = body("port/api").unwrap();
    assert_eq!(
        (&inner["network_id"], &inner["fixed_ips"][0]["ip_address"]),
        (&json!("network/api"), &json!("10.0.255.1"))
    );
    assert_eq!((&inner["port_security_enabled"], &inner["security_groups"]), (&json!(false), &json!([])));
    assert_eq!(body("port/bastion").unwrap()["network_id"], "network/public");
    let ports = json!([{ "port": "port/bastion" }, { "port": "port/api" }]);
    assert_eq!(body("server/bastion").unwrap()["networks"], ports);
    assert_eq!(body("subnet/api").unwrap()["dns_nameservers"], json!(["10.0.255.1"]));
    assert_eq!(body("subnet/public").unwrap()["dns_nameservers"], json!([]));
    assert_eq!(body("balancer/api").unwrap()["vip_subnet_id"], "subnet/api");
    assert!(body("router-port/public").is_some() && body("router-port/api").is_none());
    let rules: Vec<&str> = snapshot.of_kind(Kind::Rule).map(|rule| rule.part.name.as_str()).collect();
    assert!(rules.contains(&"nodes:tcp/22:10.0.255.1/32") && !rules.contains(&"nodes:tcp/22:bastion"), "{rules:?}");
    assert!(!rules.iter().any(|rule| rule.ends_with("10.1.0.0/24")), "{rules:?}");

    alter(&mut snapshot, "port/api", |body| body["port_security_enabled"] = json!(true));
    assert_eq!(action(&plan(&cluster, &snapshot), "port/api"), Action::update("port security", "on", "off"));
    alter(&mut snapshot, "port/api", |body| body["device_id"] = json!(""));
    let Action::Unhealthy { what, .. } = action(&plan(&cluster, &snapshot), "server/bastion") else { panic!() };
    assert_eq!(what, "it does not have port/api");

    // A cluster that was made with a router keeps it.
    let routed = applied(&crate::testing::with_public_network("  bastion: {}\n"));
    let Action::Refuse { what, .. } = action(&plan(&cluster, &routed), "router-port/api") else { panic!() };
    assert_eq!(what, "router-port/api is a way out of the private network past the bastion");
    // Without its section, the bastion is not replaced by a router.
    let mut former = cluster.clone();
    former.bastion = None;
    let Action::Refuse { what, .. } = action(&plan(&former, &snapshot), "port/api") else { panic!() };
    assert!(what.starts_with("port/api is the way out of the private network"), "{what}");
}

#[test]
fn a_first_master_that_nobody_reaches_is_told() {
    let nothing = Snapshot { ours: Vec::new(), facts: facts() };
    let told = |cluster: &Cluster| plan(cluster, &nothing).obstacles;
    assert!(told(&cluster(""))[0].what.starts_with("m1 cannot be reached"));
    for way in ["  floatingIPs: first-master\n", "  bastion: {}\n", "ssh: {jumpHost: {address: 192.0.2.1}}\n"] {
        assert!(told(&cluster(way)).is_empty(), "{way}");
    }
    // Into a network that is there already, a way may lead.
    let mut existing = cluster("");
    let cloud = existing.openstack.as_mut().unwrap();
    cloud.network = CloudNetwork::Existing { network: "private".into(), subnet: None };
    assert!(told(&existing).is_empty());
    // One that was taken out of the configuration is there still.
    let snapshot = applied(&cluster("  floatingIPs: masters\n"));
    assert!(plan(&cluster(""), &snapshot).obstacles.is_empty());
}

#[test]
fn a_hundred_workers_are_compared_at_once() {
    let cluster = sized(3, 100, MORE);
    let snapshot = applied(&cluster);
    let begun = std::time::Instant::now();
    assert!(plan(&cluster, &snapshot).is_empty());
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_volume_that_may_hold_data_is_never_deleted() {
    let cluster = cluster(MORE);
    let of = |status: &str, attached: Option<&str>, attachments: &[&str]| {
        let mut snapshot = applied(&cluster);
        alter(&mut snapshot, "volume/m1", |body| {
            body["status"] = json!(status);
            body["attachments"] = json!(attachments);
            body["metadata"][ATTACHED] = json!(attached);
        });
        action(&plan(&cluster, &snapshot), "volume/m1")
    };
    assert_eq!(of("error", Some(NEVER), &[]), Action::Replace("is in the state error".into()));
    for (status, attached, attachments) in [
        ("error", Some(part::ONCE), &[][..]),
        // An earlier version's.
        ("error", None, &[]),
        ("error", Some(NEVER), &["server"]),
        ("error_deleting", Some(NEVER), &[]),
        ("error_restoring", Some(NEVER), &[]),
        ("error_extending", Some(NEVER), &[]),
        ("error_backing-up", Some(part::ONCE), &[]),
        ("deleting", Some(NEVER), &[]),
    ] {
        let is = of(status, attached, attachments);
        assert!(matches!(is, Action::Refuse { .. }), "{status} {attached:?} {attachments:?}: {is:?}");
    }
    assert_eq!(of("in-use", Some(part::ONCE), &["server"]), Action::Keep);
}

#[test]
fn a_second_volume_that_may_hold_data_is_told() {
    let cluster = cluster(MORE);
    for body in
        [json!({ "status": "available" }), json!({ "status": "available", "metadata": { ATTACHED: part::ONCE } })]
    {
        let mut body = body;
        body["id"] = json!("second");
        let mut snapshot = applied(&cluster);
        snapshot.ours.push(Found::new(Part::new(Kind::Volume, "m1"), body).unwrap());
        assert!(plan(&cluster, &snapshot).is_blocked());
    }
}
