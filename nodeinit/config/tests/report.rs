//! What is wrong comes in one report, each with its place, its path and its remedy.

use nodeinit_config::{Layer, load};

const HEADER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

/// The problems of layers named `a.yaml`, `b.yaml`…; the header stands in the first two lines of the first.
fn problems(layers: &[&str]) -> Vec<String> {
    let names = ["a.yaml", "b.yaml", "c.yaml"];
    let layer = |(index, text): (usize, &&str)| {
        let header = if index == 0 { HEADER } else { "" };
        Layer::file(names[index], format!("{header}{text}"))
    };
    let layers: Vec<Layer> = layers.iter().enumerate().map(layer).collect();
    match load(&layers) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(|p| format!("{p}; {}", p.remedy)).collect(),
    }
}

fn only(text: &str) -> String {
    let found = problems(&[text]);
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].clone()
}

#[test]
fn all_layers_in_one_report() {
    let found = problems(&[
        "network:\n  podCidr: 10.0.0.0/16\n  serviceCIDR: 10.0.0.0/33\nname: A_B\n",
        "masters:\n- name: m1\n  address: 10.0.0.300\netcd: []\n",
        "a: [\n",
    ]);
    assert_eq!(
        found,
        [
            "a.yaml:4:3: network.podCidr: unknown key; did you mean `podCIDR`?",
            "a.yaml:5:16: network.serviceCIDR: \"10.0.0.0/33\" is not an address range; write one such as 10.244.0.0/16",
            "a.yaml:6:7: name: \"A_B\" is not a DNS label; use at most 63 of a-z, 0-9 and `-`, with a letter or digit at both ends",
            "b.yaml:3:12: masters[0].address: \"10.0.0.300\" is not an IP address; write one such as 10.0.0.11 or fd00::11",
            "b.yaml:4:7: etcd: expected a map, found a list; known here: dataDirectory, extraArgs",
            "c.yaml:1:4: not valid YAML: unclosed bracket '['; look at the indentation, the colons and the quotes of this line and the one above it",
        ]
    );
}

#[test]
fn a_file_that_is_no_map_hides_no_other() {
    let found = problems(&["name: demo\n", "demo\n"]);
    assert!(found.len() == 1 && found[0].starts_with("b.yaml:1:1: expected a map, found \"demo\""), "{found:#?}");
}

#[test]
fn what_yaml_allows_and_we_do_not() {
    for (text, expected) in [
        ("name: a\nname: b\n", "a.yaml:4:1: duplicate key \"name\"; it stands in line 3 already"),
        ("name: &x a\nos: {modules: [*x]}\n", "a.yaml:4:16: aliases (`*name`) are not supported"),
        ("name: !!str a\n", "a.yaml:3:"),
        ("name: a\n---\nname: b\n", "a.yaml:4:1: a second YAML document begins here"),
        ("etcd:\n\textraArgs: {}\n", "a.yaml:4:"),
        ("kubelet: {config: {1: x}}\n", "a.yaml:3:20: the key 1 is a number, not a text"),
        ("? [a]\n: b\n", "a.yaml:3:3: a list or a map cannot be a key"),
        ("os:\n  swap: [\n", "a.yaml:4:9: not valid YAML: unclosed bracket"),
    ] {
        let found = only(text);
        assert!(found.starts_with(expected), "{text:?} gave {found}");
    }
    assert!(only("etcd:\n\textraArgs: {}\n").ends_with("indent with spaces, not with tabs"));
    let bytes = load(&[Layer::file("x.yaml", b"a: b\nc: \xff".to_vec())]).unwrap_err();
    assert_eq!(bytes.0[0].to_string(), "x.yaml:2:4: the file is not UTF-8 text");
}

#[test]
fn types_words_and_places() {
    for (text, expected) in [
        ("controlPlane: {schedulable: yes}\n", "controlPlane.schedulable: expected true or false, found \"yes\""),
        ("controlPlane: {schedulable: \"true\"}\n", "expected true or false, found the text \"true\""),
        ("os: {swap: of}\n", "os.swap: \"of\" is not known here; did you mean `off`?"),
        ("os: {swap: false}\n", "os.swap: the truth value false is not known here; write off or refuse or keep"),
        ("addons: {cni: calico}\n", "addons.cni: \"calico\" is not known here; write flannel or none or a map"),
        ("addons: {cni: {dirctory: /x}}\n", "addons.cni.dirctory: unknown key; did you mean `directory`?"),
        ("addons: {cni: {}}\n", "addons.cni.directory: missing"),
        ("podCIDR: 10.1.0.0/16\n", "podCIDR: unknown key; `podCIDR` belongs to `network`"),
        ("masters: [{address: 10.0.0.1}]\n", "masters[0].name: missing"),
        ("masters: [~]\n", "masters[0]: an entry of the list is empty"),
        ("masters: m1\n", "masters: expected a list, found \"m1\"; begin each entry with `- `"),
        ("timeouts: {etcd: 90}\n", "timeouts.etcd: \"90\" is not a length of time; write a number and a unit"),
        (
            "kubernetes: {version: v1.99.0}\n",
            "Kubernetes v1.99.0 is not supported by this nodeinit; write a release such as v1.34.4; supported: v1.34",
        ),
        ("kubernetes: {version: 1.34}\n", "\"1.34\" is not a release of Kubernetes; write a release such as v1.34.4"),
        ("name: 12\n", "name: expected a text, found the number 12; write \"12\" in quotes if it is meant"),
        ("apiVersion2: x\n", "apiVersion2: unknown key; did you mean `apiVersion`?"),
    ] {
        let found = only(text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
}

#[test]
fn what_nodeinit_must_own_is_refused_with_the_reason() {
    for (text, expected) in [
        (
            "etcd: {extraArgs: {data-dir: /x}}\n",
            "etcd.extraArgs.data-dir: not yours to set here; set etcd.dataDirectory",
        ),
        ("apiServer: {extraArgs: {etcd-servers: x}}\n", "apiServer.extraArgs.etcd-servers: not yours to set here"),
        (
            "apiServer: {extraArgs: {--v: 2}}\n",
            "apiServer.extraArgs.--v: \"--v\": flags are written without dashes in front; write v",
        ),
        ("kubelet: {config: {staticPodPath: /x}}\n", "kubelet.config.staticPodPath: not yours to set here"),
        ("os: {sysctls: {net.ipv4.ip_forward: 0}}\n", "os.sysctls[\"net.ipv4.ip_forward\"]: not yours to set here"),
    ] {
        let found = only(text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
}

#[test]
fn address_ranges() {
    for (text, expected) in [
        (
            "network: {podCIDR: 10.96.0.0/16}\n",
            "a.yaml:3:20: network.podCIDR: 10.96.0.0/16 overlaps network.serviceCIDR 10.96.0.0/12; choose",
        ),
        (
            "network: {serviceCIDR: 10.244.0.0/20}\n",
            "a.yaml:3:24: network.serviceCIDR: 10.244.0.0/20 overlaps network.podCIDR 10.244.0.0/16",
        ),
        (
            "network: {serviceCIDR: 10.0.0.0/29}\n",
            "10.0.0.0/29 is too small: the cluster's DNS has the tenth address of it; use /28 or larger",
        ),
        ("network: {serviceCIDR: 11.0.0.0/8}\n", "11.0.0.0/8 is larger than kube-apiserver takes; use /12 or smaller"),
        ("network: {podCIDR: 10.1.0.0/25}\n", "10.1.0.0/25 is too small: each node takes a /24 of it"),
        ("network: {podCIDR: 12.0.0.0/7}\n", "use /8 or smaller"),
        ("network: {podCIDR: 10.1.0.1/16}\n", "\"10.1.0.1/16\" has bits set behind the first 16; write 10.1.0.0/16"),
        (
            "masters: [{name: m, address: 10.96.0.7}]\n",
            "masters[0].address: 10.96.0.7 lies inside network.serviceCIDR 10.96.0.0/12",
        ),
        (
            "controlPlane: {virtualAddress: 10.0.0.2}\nmasters: [{name: a, address: 10.0.0.2}]\n",
            "controlPlane.virtualAddress: 10.0.0.2 belongs to a machine: it is masters[0].address",
        ),
        (
            "controlPlane: {virtualAddress: 10.0.0.2}\nworkers: [{name: a, ssh: {address: 10.0.0.2}}]\n",
            "controlPlane.virtualAddress: 10.0.0.2 belongs to a machine: it is workers[0].ssh.address",
        ),
        (
            "controlPlane: {virtualAddress: 10.96.0.9}\n",
            "controlPlane.virtualAddress: 10.96.0.9 lies inside network.serviceCIDR",
        ),
        ("controlPlane: {endpoint: 10.244.1.1}\n", "controlPlane.endpoint: 10.244.1.1 lies inside network.podCIDR"),
        (
            "network: {podCIDR: 10.1.0.0/24}\nmasters: [{name: m, address: 10.0.0.1}]\nworkers: [{name: w}]\n",
            "it holds a /24 for 1 of 2 nodes; use a larger range",
        ),
    ] {
        let found = only(text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
    let six = problems(&["network: {podCIDR: \"fd00:1::/48\"}\n"]);
    assert!(six[0].contains("carries IPv4 only") && six[1].contains("are of different families"), "{six:#?}");
    assert!(only("network: {podCIDR: \"fd00:1::/48\", serviceCIDR: \"fd00:2::/108\"}\n").contains("carries IPv4 only"));
}

#[test]
fn machines() {
    let two = "masters:\n- {name: m1, address: 10.0.0.1}\n- {name: m1, address: 10.0.0.1}\n";
    let found = problems(&[two]);
    assert!(found[0].starts_with("a.yaml:5:10: masters[1].name: m1 stands in masters[0].name already"), "{found:#?}");
    assert!(
        found[1].starts_with("a.yaml:5:23: masters[1].address: 10.0.0.1 stands in masters[0].address"),
        "{found:#?}"
    );
    for (text, expected) in [
        (
            "masters: [{name: m1}, {name: m2, address: 10.0.0.2}]\n",
            "masters[0].address: missing: the other masters must reach",
        ),
        ("workers: [{name: w1}]\n", "workers[0]: no worker can know where the API is; set controlPlane.endpoint"),
        ("masters: [{name: M1}]\n", "masters[0].name: \"M1\" is not a node's name"),
        ("masters: [{name: m, labels: {a/b/c: x}}]\n", "masters[0].labels[\"a/b/c\"]: \"a/b/c\" is not a label's key"),
        ("masters: [{name: m, taints: [a=b:Never]}]\n", "masters[0].taints[0]: \"Never\" is not the effect of a taint"),
        (
            "masters: [{name: m, taints: [\"a:NoExecute\", a=b:NoExecute]}]\n",
            "taints[1]: a second taint with the key a",
        ),
        (
            "controlPlane: {endpoint: api}\nworkers: [{name: w, labels: {node-role.kubernetes.io/worker: \"\"}}]\n",
            "workers[0].labels[\"node-role.kubernetes.io/worker\"]: node-role.kubernetes.io belongs to Kubernetes",
        ),
    ] {
        let found = only(text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
    assert!(problems(&["masters: [{name: m, labels: {tier: , zone: a}}]\n"]).is_empty());
}

#[test]
fn artifacts_and_host() {
    let mirror = problems(&["artifacts: {source: \"https://m.example.org\"}\n"]);
    assert_eq!(mirror.len(), 15, "{mirror:#?}");
    assert!(
        mirror[0].contains("artifacts.sha256[\"bin/kubelet\"]: missing: what comes from a mirror needs its SHA-256")
    );
    let digest = "0".repeat(64);
    for (text, expected) in [
        (
            format!("artifacts: {{source: /o, sha256: {{bin/kubelt: \"{digest}\"}}}}\n"),
            "no artefact has this path; did you mean `bin/kubelet`?",
        ),
        (
            "artifacts: {source: /o, sha256: {bin/kubelet: abc}}\n".to_owned(),
            "a SHA-256 digest has 64 digits, this has 3",
        ),
        ("artifacts: {binaries: [{path: a, to: /b}]}\n".to_owned(), "artifacts.binaries: the source is `image`"),
        (
            "artifacts: {source: /o, binaries: [{path: ../a, to: /b}]}\n".to_owned(),
            "\"../a\" is not a path below the source",
        ),
        (
            "artifacts: {source: /o, binaries: [{path: a, to: /b}, {path: c, to: /b}]}\n".to_owned(),
            "/b stands in artifacts.binaries[0].to",
        ),
        (
            "os: {swap: keep}\n".to_owned(),
            "os.swap: the kubelet refuses to start where swap is on; set `failSwapOn: false`",
        ),
        (
            "etcd: {extraArgs: {listen-metrics-urls: \"http://10.0.0.1:2381\"}}\n".to_owned(),
            "write http://10.0.0.1:2381,http://127.0.0.1:2381",
        ),
        ("etcd: {dataDirectory: /}\n".to_owned(), "\"/\" is no directory of etcd's own"),
    ] {
        let found = only(&text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
    assert!(problems(&["os: {swap: keep}\nkubelet: {config: {failSwapOn: false}}\n"]).is_empty());
}

#[test]
fn the_first_file_says_what_it_is() {
    let found = load(&[Layer::file("empty.yaml", "#\n"), Layer::file("x.yaml", "name: a\n")]).unwrap_err().to_string();
    assert_eq!(
        found,
        "the configuration has 2 problems\n  x.yaml:1:1: apiVersion: missing\n      hint: begin the file with \
         `apiVersion: nodeinit.dev/v1alpha1`\n  x.yaml:1:1: kind: missing\n      hint: begin the file with `kind: Cluster`"
    );
    assert!(load(&[]).is_ok());
    assert!(load(&[Layer::file("empty.yaml", "# nothing\n")]).is_ok());
    assert!(only("kind: Clutser\n").contains("duplicate"));
}

#[test]
fn warnings_do_not_refuse() {
    let text = format!("{HEADER}kubernetes: {{version: v1.34.99}}\nsecretsDelivery: user-data\n");
    let warnings = load(&[Layer::file("x.yaml", text)]).unwrap().warnings;
    let shown: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].starts_with("x.yaml:3:23: kubernetes.version: v1.34.99 is newer than v1.34.4"), "{shown:?}");
}

#[test]
fn the_labs_own_configuration_is_good() {
    let text = include_str!("../../../tests/lab/cluster.yaml");
    let loaded = load(&[Layer::file("tests/lab/cluster.yaml", text)]).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(loaded.cluster.artifacts.images.len(), 9);
}
