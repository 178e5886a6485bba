//! What tests share: a configuration, and a cloud that offers what it needs.

use crate::resources::facts::{Facts, Flavor, Image, Named, Subnet};
use nodeinit_config::{Cluster, Layer, load};

pub(crate) const ID: &str = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";

/// Three masters and two workers. `more`: lines of the section `openstack`, indented by two.
pub(crate) fn cluster(more: &str) -> Cluster {
    sized(3, 2, more)
}

pub(crate) fn sized(masters: usize, workers: usize, more: &str) -> Cluster {
    let list = |kind: &str, count: usize, first: usize| -> String {
        (0..count)
            .map(|i| {
                format!("- {{name: {kind}{}, address: 10.0.{}.{}}}\n", i + 1, (first + i) / 250, 1 + (first + i) % 250)
            })
            .collect()
    };
    let text = format!(
        "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: demo\nmasters:\n{}workers:\n{}openstack:\n  clusterID: {ID}\n  \
         image: node-image\n  flavor: small\n  network: {{create: {{cidr: 10.0.0.0/16, gateway: 10.0.255.1}}}}\n{more}",
        list("m", masters, 10),
        list("w", workers, 20),
    );
    load(&[Layer::file("cluster.yaml", text)]).unwrap_or_else(|problems| panic!("{problems}")).cluster
}

/// A cloud with room for everything.
pub(crate) fn facts() -> Facts {
    let named = |name: &str| Named { id: format!("id-of-{name}"), name: name.to_owned() };
    Facts {
        images: vec![Image { named: named("node-image"), status: "active".into(), min_disk: 1 }],
        flavors: vec![Flavor { named: named("small"), cores: 2, memory: 4096 }],
        zones: vec!["nova".into()],
        volume_zones: vec!["nova".into()],
        networks: vec![(named("public"), true), (named("private"), false)],
        subnets: vec![Subnet {
            named: named("private-v4"),
            network: "id-of-private".into(),
            cidr: "10.0.0.0/16".parse().unwrap(),
        }],
        balancing: true,
        ..Facts::default()
    }
}
