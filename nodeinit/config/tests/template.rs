//! The files that `config init` writes, and the JSON Schema.

use nodeinit_config::{Layer, json_schema, load, short_template, template};

#[test]
fn an_empty_choice_gives_a_file_of_defaults() {
    let text = template(&[]).unwrap();
    let loaded = load(&[Layer::file("cluster.yaml", text.clone())]).unwrap_or_else(|p| panic!("{p}\n{text}"));
    assert_eq!(loaded.cluster, load(&[]).unwrap().cluster);
    assert!(text.contains("\n# network:\n#   # The pods' addresses."), "{text}");
    assert!(text.contains("\n#   podCIDR: 10.244.0.0/16\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120 && line == line.trim_end()), "{text}");
}

#[test]
fn chosen_values_are_between_the_comments() {
    let layers = [
        Layer::setting("--set", "name", "demo"),
        Layer::setting("--set", "network.podCIDR", "10.1.0.0/16"),
        Layer::setting("--set", "masters", "[{name: m1, address: 10.0.0.1, labels: {tier: \"1\"}}]"),
        Layer::setting("--set", "addons.cni", "{directory: /etc/cni}"),
    ];
    let text = template(&layers).unwrap();
    let loaded = load(&[Layer::file("cluster.yaml", text.clone())]).unwrap_or_else(|p| panic!("{p}\n{text}"));
    let expected =
        load(&[&[Layer::file("h", "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster")], &layers[..]].concat());
    assert_eq!(loaded.cluster, expected.unwrap().cluster);
    for part in [
        "\nname: demo\n",
        "\nnetwork:\n  # The pods'",
        "\n  podCIDR: 10.1.0.0/16\n",
        "\n#   serviceCIDR: 10.96.0.0/12\n",
        "\nmasters:\n  - name: m1\n    address: 10.0.0.1\n    labels:\n      tier: \"1\"\n",
        "\n  cni:\n    directory: /etc/cni\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn no_example_looks_like_a_default() {
    let text = template(&[]).unwrap();
    for part in [
        "\n# masters: []\n",
        "Example: `[{name: master-1, address: 10.0.0.11}]`.\n",
        "\n#   endpoint:\n",
        "\n#   # the first master's address and port 6443. Example: `api.example.org:6443`.\n#   endpoint:\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    // Each key, as it is written as a comment, has its default.
    let plain: String = text.lines().filter_map(|line| uncommented(line).map(|line| format!("{line}\n"))).collect();
    // A bastion and a cloud exist only if they are configured.
    let at = |key: &str| plain.find(&format!("\n{key}:")).unwrap();
    let [bastion, ssh, cloud, timeouts] = ["bastion", "ssh", "openstack", "timeouts"].map(at);
    let without_cloud = format!("{}{}{}", &plain[..bastion], &plain[ssh..cloud], &plain[timeouts..]);
    let loaded =
        load(&[Layer::file("cluster.yaml", without_cloud.clone())]).unwrap_or_else(|p| panic!("{p}\n{without_cloud}"));
    assert_eq!(loaded.cluster, load(&[]).unwrap().cluster);
}

/// A line as it is without the mark that turns a key off; `None` for an explanation.
fn uncommented(line: &str) -> Option<&str> {
    let line = line.strip_prefix("# ").unwrap_or(line);
    let (key, _) = line.trim_start().split_once(':')?;
    (key.starts_with(|c: char| c.is_ascii_lowercase()) && key.bytes().all(|b| b.is_ascii_alphanumeric()))
        .then_some(line)
}

#[test]
fn the_short_file_has_only_what_was_chosen() {
    let layers = [
        Layer::setting("answer", "ssh.user", "debian"),
        Layer::setting("answer", "masters", r#"[{"address": "10.0.0.1", "name": "m1", "hostKeys": []}]"#),
        Layer::setting("answer", "name", "demo"),
    ];
    let text = short_template(&layers).unwrap();
    let (_, body) = text.split_once("\n\n").unwrap();
    assert!(body.starts_with(
        "# The cluster's name; used in kubeconfigs and in `kubeadm-config`.\nname: demo\n\n# The masters;"
    ));
    // In the order in which the keys are declared.
    assert!(
        body.contains("\nmasters:\n  - name: m1\n    address: 10.0.0.1\n    hostKeys: []\n\nssh:\n  # Login user."),
        "{text}"
    );
    assert!(body.ends_with("\n  user: debian\n"), "{text}");
    let loaded = load(&[Layer::file("cluster.yaml", text.clone())]).unwrap_or_else(|p| panic!("{p}\n{text}"));
    assert_eq!((loaded.cluster.ssh.user.as_str(), loaded.cluster.masters.len()), ("debian", 1));
}

#[test]
fn a_bad_choice_is_refused_as_in_a_file() {
    let problems = template(&[Layer::setting("--set network.podCIDR", "network.podCIDR", "10.96.0.0/16")]).unwrap_err();
    let text = problems.to_string();
    assert!(text.contains("--set network.podCIDR: network.podCIDR: 10.96.0.0/16 overlaps"), "{text}");
    let unknown = template(&[Layer::setting("--set x", "network.x", "1")]).unwrap_err().to_string();
    assert!(unknown.contains("--set x: network.x: unknown key"), "{unknown}");
}

#[test]
fn the_schema_names_every_key_and_its_default() {
    let schema = json_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["additionalProperties"], false);
    let network = &schema["properties"]["network"]["properties"];
    assert_eq!(network["podCIDR"]["default"], "10.244.0.0/16");
    let etcd = &schema["properties"]["etcd"]["properties"]["extraArgs"];
    assert_eq!(etcd["properties"]["data-dir"], false);
    assert_eq!(schema["properties"]["masters"]["items"]["required"][0], "name");
}
