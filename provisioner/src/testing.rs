//! What tests share: a configuration, and a cloud that offers what it needs.

use crate::resources::{
    Found, Kind, Marker, Part, Snapshot,
    body::Context,
    desired::{self, API},
    diff,
    facts::{Facts, Flavor, Image, Named, Network, Subnet},
    plan::Plan,
};
use nodeinit_config::{Cluster, Layer, Loaded, OpenStack, load, openstack::CloudNetwork};
use serde_json::{Value, json};
use std::{collections::HashMap, rc::Rc};

pub(crate) mod listener;

pub(crate) const ID: &str = "c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10";

/// Three masters and two workers. `more`: lines of the section `openstack`, indented by two.
pub(crate) fn cluster(more: &str) -> Cluster {
    sized(3, 2, more)
}

pub(crate) fn sized(masters: usize, workers: usize, more: &str) -> Cluster {
    loaded(masters, workers, more).cluster
}

/// The same with a second network.
pub(crate) fn with_public_network(more: &str) -> Cluster {
    let mut cluster = cluster(more);
    if let Some(OpenStack { network: CloudNetwork::Made(made), .. }) = &mut cluster.openstack {
        made.public = "10.1.0.0/24".parse().ok();
    }
    cluster
}

/// One whose bastion is the gateway between two networks.
pub(crate) fn behind_gateway(role: &str) -> Loaded {
    let text = text(3, 2, &format!("  bastion: {{}}\nbastion: {role}\n"));
    read(text.replace("gateway: 10.0.255.1", "gateway: 10.0.255.1, publicCIDR: 10.1.0.0/24"))
}

pub(crate) fn loaded(masters: usize, workers: usize, more: &str) -> Loaded {
    read(text(masters, workers, more))
}

fn read(text: String) -> Loaded {
    load(&[Layer::file("cluster.yaml", text)]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn text(masters: usize, workers: usize, more: &str) -> String {
    let list = |kind: &str, count: usize, first: usize| -> String {
        (0..count)
            .map(|i| {
                format!("- {{name: {kind}{}, address: 10.0.{}.{}}}\n", i + 1, (first + i) / 250, 1 + (first + i) % 250)
            })
            .collect()
    };
    format!(
        "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: demo\nmasters:\n{}workers:\n{}openstack:\n  clusterID: {ID}\n  \
         image: node-image\n  flavor: small\n  network: {{create: {{cidr: 10.0.0.0/16, gateway: 10.0.255.1}}}}\n{more}",
        list("m", masters, 10),
        list("w", workers, 20),
    )
}

/// A cloud with room for everything.
pub(crate) fn facts() -> Facts {
    let named = |name: &str| Named { id: format!("id-of-{name}"), name: name.to_owned() };
    Facts {
        images: vec![Image { named: named("node-image"), status: "active".into(), min_disk: 1 }],
        flavors: vec![Flavor { named: named("small"), cores: 2, memory: 4096 }],
        zones: vec!["nova".into()],
        volume_zones: vec!["nova".into()],
        networks: vec![
            Network { named: named("public"), external: true, ..Network::default() },
            Network { named: named("private"), ..Network::default() },
        ],
        subnets: vec![Subnet {
            named: named("private-v4"),
            network: "id-of-private".into(),
            cidr: "10.0.0.0/16".parse().unwrap(),
        }],
        balancing: true,
        ..Facts::default()
    }
}

/// The section that every test's configuration has.
pub(crate) fn cloud(cluster: &Cluster) -> OpenStack {
    cluster.openstack.clone().unwrap_or_else(|| panic!("no section"))
}

/// What `plan` says of a cloud.
pub(crate) fn plan(cluster: &Cluster, snapshot: &Snapshot) -> Plan {
    let cloud = cloud(cluster);
    diff::plan(cluster, &cloud, desired::of(cluster, &cloud), snapshot)
}

/// The cloud after an `apply`: what is asked for is what is there.
pub(crate) fn applied(cluster: &Cluster) -> Snapshot {
    let (cloud, facts, marker) = (cloud(cluster), facts(), Marker::new(ID, "demo"));
    let first = plan(cluster, &Snapshot { ours: Vec::new(), facts: facts.clone() });
    let place = first.place;
    let mut there: HashMap<Part, Rc<Found>> = HashMap::new();
    let mut order = Vec::new();
    for want in first.items.into_iter().filter_map(|item| item.want) {
        let body = {
            let made = |part: &Part| there.get(part).cloned();
            let context = Context {
                name: &cluster.name,
                marker: &marker,
                cloud: &cloud,
                facts: &facts,
                place: &place,
                made: &made,
            };
            context.create(&want, None)
        };
        let mut body = body.unwrap_or_else(|| panic!("{want:?}"));
        if want.part.kind == Kind::Server {
            body = body["server"].take();
        }
        body["id"] = json!(want.part.to_string());
        complete(want.part.kind, &mut body);
        let found = Found::new(want.part.clone(), body).unwrap_or_else(|| panic!("no id"));
        order.push(want.part.clone());
        there.insert(want.part, Rc::new(found));
    }
    let mut ours: Vec<Found> = order.iter().map(|part| (*there[part]).clone()).collect();
    let rules: Vec<Value> = ours.iter().filter(|f| f.part.kind == Kind::Rule).map(|f| (*f.body).clone()).collect();
    for group in ours.iter_mut().filter(|found| found.part.kind == Kind::SecurityGroup) {
        let mut body = (*group.body).clone();
        let own = rules.iter().filter(|rule| rule["security_group_id"] == json!(group.id));
        body["security_group_rules"] = own.cloned().collect();
        group.body = Rc::new(body);
    }
    Snapshot { ours, facts }
}

/// What services add by themselves.
fn complete(kind: Kind, body: &mut Value) {
    match kind {
        Kind::Volume => body["status"] = json!("in-use"),
        Kind::Port if body["name"] == "demo-api" => {
            body["device_id"] = json!("server/bastion");
            body["mac_address"] = json!("fa:16:3e:00:00:01");
        }
        Kind::RouterPort => body["device_id"] = json!(format!("router/{API}")),
        Kind::Balancer => {
            body["vip_port_id"] = json!("vip");
            body["vip_address"] = json!("10.0.200.1");
            body["provisioning_status"] = json!("ACTIVE");
        }
        _ => body["status"] = json!("ACTIVE"),
    }
}

/// Changes what a service says of a part.
pub(crate) fn alter(snapshot: &mut Snapshot, part: &str, change: impl Fn(&mut Value)) {
    let found = snapshot.ours.iter_mut().find(|found| found.part.to_string() == part);
    let found = found.unwrap_or_else(|| panic!("{part} is not there"));
    let mut body = (*found.body).clone();
    change(&mut body);
    found.body = Rc::new(body);
}
