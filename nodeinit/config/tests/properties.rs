//! Properties for any input.

use nodeinit_config::{Cluster, Layer, load};
use proptest::prelude::*;

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// Returns one valid setting: a path and its value.
fn setting() -> impl Strategy<Value = (String, String)> {
    let number = 1..200u32;
    let label = "[a-z0-9]{1,8}(-[a-z0-9]{1,4})?";
    prop_oneof![
        label.prop_map(|v| ("name".into(), format!("{v:?}"))),
        number.clone().prop_map(|n| ("network.podCIDR".into(), format!("172.{}.0.0/16", n % 16 + 16))),
        number.clone().prop_map(|n| ("network.serviceCIDR".into(), format!("192.168.{n}.0/24"))),
        number.clone().prop_map(|n| ("timeouts.etcd".into(), format!("{n}m{n}s"))),
        any::<bool>().prop_map(|b| ("controlPlane.schedulable".into(), b.to_string())),
        any::<bool>().prop_map(|b| ("addons.coreDNS".into(), b.to_string())),
        one_of(&["image", "/opt/lab", "/srv/a b"]).prop_map(|v| ("artifacts.source".into(), v)),
        one_of(&["none", "flannel", "{directory: /etc/cni}"]).prop_map(|v| ("addons.cni".into(), v)),
        (label, "[ -~]{0,12}").prop_map(|(k, v)| ("apiServer.extraArgs".into(), format!("{{{k:?}: {v:?}}}"))),
        (label, "\\PC{0,12}").prop_map(|(k, v)| ("kubelet.config".into(), serde_json::json!({ k: v }).to_string())),
        (label, number.clone()).prop_map(|(k, n)| ("kubelet.config".into(), format!("{{{k:?}: [{n}, {{a: {n}.5}}]}}"))),
        (label, number.clone()).prop_map(|(name, n)| {
            let name = format!("n-{name}");
            ("masters".into(), format!("[{{name: {name}, address: 10.0.0.{n}, labels: {{a/b: \"{n}\", c: }}}}]"))
        }),
    ]
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let layer = |(path, value)| Layer::setting("--set", path, value);
    prop::collection::vec(setting().prop_map(layer), 0..8)
}

fn cluster(layers: &[Layer]) -> Cluster {
    let header = Layer::file("header.yaml", "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n");
    let all: Vec<Layer> = std::iter::once(header).chain(layers.iter().cloned()).collect();
    load(&all).unwrap_or_else(|problems| panic!("{layers:?}: {problems}")).cluster
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_cause_a_panic_and_every_position_is_in_the_file(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        places_are_inside(&bytes)?;
    }

    #[test]
    fn no_text_like_yaml_causes_a_panic(text in "([a-z]{1,3}|: |- |\n|\n  |\t|\\[|\\]|\\{|\\}|,|#|&a|\\*a|!b|\"|'|\\||>|%|---|\\?|é|\r\n){0,40}") {
        places_are_inside(text.as_bytes())?;
    }

    #[test]
    fn the_shown_configuration_loads_as_the_same_cluster(layers in layers()) {
        let header = Layer::file("header.yaml", "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n");
        let all: Vec<Layer> = std::iter::once(header).chain(layers).collect();
        let first = load(&all).unwrap();
        let shown = first.text();
        let again = load(&[Layer::file("shown.yaml", shown.clone())]);
        prop_assert_eq!(again.map(|l| l.cluster).map_err(|p| format!("{p}\n{shown}")), Ok(first.cluster));
    }

    #[test]
    fn a_repeated_layer_changes_nothing(layers in layers()) {
        let twice: Vec<Layer> = layers.iter().flat_map(|l| [l.clone(), l.clone()]).collect();
        prop_assert_eq!(cluster(&twice), cluster(&layers));
    }

    #[test]
    fn merging_is_associative(below in layers(), above in layers()) {
        // Two layers that `show` merges into one are equivalent to the two.
        let all: Vec<Layer> = below.iter().chain(&above).cloned().collect();
        let header = Layer::file("header.yaml", "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n");
        let merged = load(&std::iter::once(header).chain(below).collect::<Vec<_>>()).unwrap().text();
        // The artifacts that `show` lists belong to its source: they are removed, as a user would.
        let merged = merged.split("artifacts:").next().unwrap_or_default().to_owned();
        let over: Vec<Layer> = std::iter::once(Layer::file("merged.yaml", merged)).chain(above).collect();
        let kept = |c: &Cluster| (c.name.clone(), c.masters.clone(), c.api_server.clone(), c.kubelet.clone(), c.addons.clone());
        prop_assert_eq!(kept(&cluster(&over)), kept(&cluster(&all)));
    }
}

fn places_are_inside(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Err(problems) = load(&[Layer::file("x", bytes)]) else { return Ok(()) };
    // In YAML, a carriage return also ends a line.
    let lines = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<usize> = lines.split('\n').map(|line| line.chars().count()).collect();
    for problem in problems.errors {
        let (line, column) = (problem.origin.line, problem.origin.column);
        prop_assert!(line >= 1 && line <= lines.len(), "{problem}");
        prop_assert!(column >= 1 && column <= lines[line - 1] + 1, "{problem}");
    }
    Ok(())
}
