//! The example in `docs/` is good: every test cluster starts from it.

use nodeinit_config::{Layer, fresh_cluster_id, load};

const EXAMPLE: &str = include_str!("../../docs/examples/openstack.yaml");

/// What everybody generates.
fn id() -> Layer {
    Layer::setting("test", "openstack.clusterID", fresh_cluster_id())
}

#[test]
fn the_example_is_good() {
    let missing = load(&[Layer::file("openstack.yaml", EXAMPLE)]).unwrap_err().errors;
    assert_eq!(missing.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), ["openstack.clusterID"]);
    let loaded = load(&[Layer::file("openstack.yaml", EXAMPLE), id()]).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert!(loaded.cluster.openstack.is_some());
}

#[test]
fn what_stands_in_comments_is_good_too() {
    // A key that is switched off by `# ` becomes one that is on.
    let on = |line: &str| {
        let text = line.trim_start();
        let key = text
            .strip_prefix("# ")
            .filter(|rest| rest.split_once(':').is_some_and(|(key, _)| !key.trim_start().contains([' ', '`', '/'])));
        let indent = &line[..line.len() - text.len()];
        key.map_or_else(|| line.to_owned(), |key| format!("{indent}{key}"))
    };
    let text: Vec<String> = EXAMPLE.lines().map(on).collect();
    let loaded =
        load(&[Layer::file("openstack.yaml", text.join("\n")), id()]).unwrap_or_else(|problems| panic!("{problems}"));
    let cloud = loaded.cluster.openstack.unwrap();
    assert_eq!(
        (cloud.binary.urls.len(), cloud.availability_zones.len(), cloud.cloud.as_deref(), cloud.bastion.is_some()),
        (1, 3, Some("mycloud"), true)
    );
}
