//! Verifies that every declared key reaches the validated types with its value.

use nodeinit_config::{
    Addon, Layer,
    keys::CLUSTER,
    load,
    openstack::{Bastion, CloudNetwork},
    releases,
    schema::{Fallback, Field, Kind},
};
use std::collections::BTreeSet;

const FULL: &str = include_str!("every_key.yaml");

/// Returns the same with alternatives that exclude each other: the provisioner's bastion instead of an existing one and of the jump host, a second network with a router, and a
/// bundle instead of the mirror.
#[allow(clippy::unwrap_used, reason = "only tests call it")]
fn with_alternatives() -> String {
    let (before, after) = FULL.split_once("  jumpHost:\n").unwrap();
    let after = after.split_once("\njoin:").unwrap().1;
    let before: String = before.split_inclusive('\n').filter(|line| !line.starts_with("bastion:")).collect();
    let text =
        format!("{before}join:{after}").replace("# bastion:", "bastion:").replace("# publicCIDR:", "publicCIDR:");
    let text = text.replace("source: https://mirror.example.org/k8s/", "source: /opt/kubernetes.tar");
    let text = text.replace("  sha256sums:", "  # sha256sums:").replace("# bundleKey:", "bundleKey:");
    let source = "source: /opt/a, sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, template";
    let text = text.replace("content: \"${name}\", template", source);
    text.replace("router: false", "router: true").replace("address: 10.9.0.10,", "address: 10.9.4.10,")
}

#[test]
fn every_key_is_in_the_example() {
    let missing = missing(&complete);
    assert!(missing.is_empty(), "not in every_key.yaml: {missing:?}");
}

/// Returns the keys that neither text contains, each with an example.
fn missing(layers: &dyn Fn(String) -> Vec<Layer>) -> Vec<(String, String)> {
    // A disk has one use.
    let uses =
        ["volumeGroup: vg", "partitions: [{size: 1G, mount: /a, filesystem: xfs}]", "partitions: [{volumeGroup: vg}]"];
    let disks = uses.map(|wanted| FULL.replace("mount: /data, filesystem: xfs}", &format!("{wanted}}}")));
    let texts = disks.into_iter().chain([FULL.to_owned(), with_alternatives()]);
    let all: Vec<_> = texts.map(|text| load(&layers(text)).unwrap_or_else(|p| panic!("{p}")).json()).collect();
    let mut missing = Vec::new();
    leaves("", CLUSTER, &mut |path, field| {
        let mut origins = all.iter().flat_map(|json| json["origins"].as_object().into_iter().flatten());
        // `artifacts.sha256sums` is not a part of `artifacts.sha256`.
        let is_below =
            |p: &str| p.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        if !origins.any(|(p, o)| is_below(p) && o["file"] != "default") {
            missing.push((path, example(field)));
        }
    });
    missing
}

/// Returns the text as a layer over the declared examples of the keys that the file lacks. A list entry needs its own line in the file.
fn complete(text: String) -> Vec<Layer> {
    let file = |text: String| Layer::file("every_key.yaml", text);
    let lacking = missing(&|text| vec![file(text)]).into_iter().filter(|(path, _)| !path.contains('['));
    let examples = lacking.map(|(path, example)| Layer::setting("example", path, example));
    examples.chain([file(text)]).collect()
}

/// Returns a value that is not the default.
#[allow(clippy::unwrap_used, reason = "only tests call it")]
fn example(field: &Field) -> String {
    match (field.kind, field.default) {
        (_, Fallback::Empty(example) | Fallback::Words(_, example)) => example.to_owned(),
        (Kind::Flag, default) => (default != Fallback::Value("true")).to_string(),
        (Kind::Choice(words) | Kind::ChoiceOrGroup(words, _), default) => {
            words.iter().find(|(word, _)| default != Fallback::Value(word)).unwrap().0.to_owned()
        }
        (Kind::Text(format), _) => format.example.to_owned(),
        (kind, _) => panic!("{}: no example of {kind:?}", field.key),
    }
}

fn leaves(path: &str, fields: &[Field], visit: &mut impl FnMut(String, &Field)) {
    for field in fields {
        let here = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        match field.kind {
            Kind::Group(inner) => leaves(&here, inner, visit),
            Kind::List(Kind::Group(inner)) => leaves(&format!("{here}[0]"), inner, visit),
            _ => visit(here, field),
        }
    }
}

#[test]
fn every_value_arrives() {
    let cluster = load(&complete(FULL.to_owned())).unwrap_or_else(|p| panic!("{p}")).cluster;
    assert_eq!(cluster.release, releases::embedded()[0]);
    let text = format!("{cluster:#?}\n");
    // The data of the release is not part of the configuration.
    let (before, after) = text.split_once("    release: Release {\n").unwrap();
    let found = format!("{before}{}", after.split_once("\n    },\n").unwrap().1);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/every_key.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        #[allow(clippy::disallowed_methods, reason = "a file of the source tree")]
        std::fs::write(path, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == wanted, "every_key.golden differs; UPDATE_GOLDEN=1 writes it. Now it is\n{found}");
}

#[test]
fn the_bastion_and_the_second_network_arrive() {
    let cluster = load(&[Layer::file("every_key.yaml", with_alternatives())]).unwrap_or_else(|p| panic!("{p}")).cluster;
    let expected = Bastion {
        name: "gate".into(),
        address: Some("10.9.4.5".parse().unwrap()),
        flavor: Some("c1".into()),
        image: Some("small-image".into()),
    };
    let cloud = cluster.openstack.unwrap();
    assert_eq!(cloud.bastion, Some(expected));
    let CloudNetwork::Made(made) = cloud.network else { panic!("an existing network") };
    assert_eq!(made.public, "10.9.4.0/24".parse().ok());
}

#[test]
fn the_defaults_of_a_directory() {
    let text = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nartifacts: {source: /opt/k8s}\n";
    let cluster = load(&[Layer::file("x", text)]).unwrap().cluster;
    let images: Vec<String> = cluster.artifacts.images.iter().map(|i| format!("{}={}", i.path, i.image)).collect();
    assert_eq!(images[0], "images/pause.tar=registry.k8s.io/pause:3.10.2");
    assert_eq!(images[6], "images/coredns.tar=registry.k8s.io/coredns/coredns:v1.14.6");
    assert!(images[7].starts_with("images/flannel.tar=ghcr.io/flannel-io/flannel:v"), "{}", images[7]);
    let binaries: Vec<&str> = cluster.artifacts.binaries.iter().filter_map(|b| b.to.to_str()).collect();
    assert_eq!(binaries[..3], ["/usr/bin/kubelet", "/usr/bin/kubectl", "/opt/cni/bin/bridge"]);
    let less = format!("{text}addons: {{cni: none, coreDNS: false, kubeProxy: false}}\n");
    assert_eq!(load(&[Layer::file("x", less)]).unwrap().cluster.artifacts.images.len(), 5);
    assert!(load(&[]).unwrap().cluster.artifacts.images.is_empty());
}

#[test]
fn every_folder_of_addons_is_in_the_list_and_its_images_have_licences() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../manifests/addons");
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let listed = Addon::ALL.map(|addon| addon.name().to_owned());
    assert_eq!(
        folders.collect::<BTreeSet<_>>(),
        listed.into(),
        "manifests/addons and model/addon.rs name other addons"
    );
    for addon in Addon::ALL {
        let written = addon.manifest().lines().filter_map(|line| line.trim().strip_prefix("image: "));
        for line in written {
            assert!(
                line.contains(" # "),
                "{}: write the licence of the image as a comment behind {line}",
                addon.file_name()
            );
        }
        assert!(addon.images().count() > 0 && addon.description().ends_with('.'), "{}", addon.file_name());
    }
}

#[test]
fn the_image_of_kube_vip_matches_its_manifest() {
    let manifest = include_str!("../../../manifests/kube-vip.yaml");
    let image = nodeinit_config::defaults::KUBE_VIP_IMAGE;
    assert!(manifest.contains(&format!("image: {image}\n")), "{image} is not in manifests/kube-vip.yaml");
}

#[test]
fn the_images_of_flannel_match_its_manifest() {
    let manifest = include_str!("../../../manifests/flannel.yaml");
    for image in [nodeinit_config::defaults::FLANNEL_IMAGE, nodeinit_config::defaults::FLANNEL_CNI_PLUGIN_IMAGE] {
        assert!(manifest.contains(&format!("image: {image}\n")), "{image} is not in manifests/flannel.yaml");
    }
}
