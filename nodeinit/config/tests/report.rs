//! All problems are in one report, each with its position, its path and its fix.

use nodeinit_config::{Layer, load};

const HEADER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

/// Returns the problems of layers named `a.yaml`, `b.yaml`…; the header is in the first two lines of the first.
fn problems(layers: &[&str]) -> Vec<String> {
    let names = ["a.yaml", "b.yaml", "c.yaml"];
    let layer = |(index, text): (usize, &&str)| {
        let header = if index == 0 { HEADER } else { "" };
        Layer::file(names[index], format!("{header}{text}"))
    };
    let layers: Vec<Layer> = layers.iter().enumerate().map(layer).collect();
    match load(&layers) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.errors.iter().map(|p| format!("{p}; {}", p.remedy)).collect(),
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
            "b.yaml:4:7: etcd: expected a map, found a list; known keys: dataDirectory, extraArgs",
            "c.yaml:1:4: not valid YAML: unclosed bracket '['; check the indentation, the colons and the quotes of this line and the one above it",
        ]
    );
}

#[test]
fn a_file_that_is_not_a_map_hides_no_other_problem() {
    let found = problems(&["name: demo\n", "demo\n"]);
    assert!(found.len() == 1 && found[0].starts_with("b.yaml:1:1: expected a map, found \"demo\""), "{found:#?}");
}

#[test]
fn unsupported_yaml_is_refused() {
    for (text, expected) in [
        ("name: a\nname: b\n", "a.yaml:4:1: duplicate key \"name\"; it is already in line 3"),
        ("name: &x a\nos: {modules: [*x]}\n", "a.yaml:4:16: aliases (`*name`) are not supported"),
        ("name: !!str a\n", "a.yaml:3:"),
        ("name: a\n---\nname: b\n", "a.yaml:4:1: a second YAML document starts here"),
        ("etcd:\n\textraArgs: {}\n", "a.yaml:4:"),
        ("kubelet: {config: {1: x}}\n", "a.yaml:3:20: the key 1 is a number, not a string"),
        ("? [a]\n: b\n", "a.yaml:3:3: a list or a map cannot be a key"),
        ("os:\n  swap: [\n", "a.yaml:4:9: not valid YAML: unclosed bracket"),
    ] {
        let found = only(text);
        assert!(found.starts_with(expected), "{text:?} gave {found}");
    }
    assert!(only("etcd:\n\textraArgs: {}\n").ends_with("indent with spaces, not with tabs"));
    let bytes = load(&[Layer::file("x.yaml", b"a: b\nc: \xff".to_vec())]).unwrap_err();
    assert_eq!(bytes.errors[0].to_string(), "x.yaml:2:4: the file is not UTF-8 text");
}

#[test]
fn types_words_and_places() {
    for (text, expected) in [
        ("controlPlane: {schedulable: yes}\n", "controlPlane.schedulable: expected true or false, found \"yes\""),
        ("controlPlane: {schedulable: \"true\"}\n", "expected true or false, found the string \"true\""),
        ("os: {swap: of}\n", "os.swap: unknown value: \"of\"; did you mean `off`?"),
        ("os: {swap: false}\n", "os.swap: unknown value: the boolean false; write off or refuse or keep"),
        ("addons: {cni: calico}\n", "addons.cni: unknown value: \"calico\"; write flannel or none or a map"),
        ("addons: {cni: {dirctory: /x}}\n", "addons.cni.dirctory: unknown key; did you mean `directory`?"),
        ("addons: {cni: {}}\n", "addons.cni.directory: missing"),
        ("podCIDR: 10.1.0.0/16\n", "podCIDR: unknown key; `podCIDR` is a key of `network`"),
        ("masters: [{address: 10.0.0.1}]\n", "masters[0].name: missing"),
        ("masters: [~]\n", "masters[0]: empty list entry"),
        ("masters: m1\n", "masters: expected a list, found \"m1\"; start each entry with `- `"),
        ("timeouts: {etcd: 90}\n", "timeouts.etcd: \"90\" is not a duration; write a number and a unit"),
        (
            "kubernetes: {version: v1.99.0}\n",
            "nodeinit does not support Kubernetes v1.99.0; it supports v1.34.9, v1.35.8, v1.36.4, v1.37.1; \
             write one of these, or describe 1.99 in /etc/nodeinit/releases/1.99.yaml",
        ),
        ("kubernetes: {version: 1.34}\n", "\"1.34\" is not a version of Kubernetes; write one such as v1."),
        ("name: 12\n", "name: expected a string, found the number 12; write \"12\" in quotes if this is intended"),
        ("dns: {servers: [10.0.0.2]}\n", "dns: unknown key; write it below `os`: `os.dns`"),
        ("sshd: {}\n", "sshd: unknown key; write it below `os`: `os.sshd`"),
        ("apiVersion2: x\n", "apiVersion2: unknown key; did you mean `apiVersion`?"),
    ] {
        let found = only(text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
}

#[test]
fn keys_managed_by_nodeinit_are_refused_with_the_reason() {
    for (text, expected) in [
        (
            "etcd: {extraArgs: {data-dir: /x}}\n",
            "etcd.extraArgs.data-dir: managed by nodeinit; cannot be overridden; set etcd.dataDirectory",
        ),
        (
            "apiServer: {extraArgs: {etcd-servers: x}}\n",
            "apiServer.extraArgs.etcd-servers: managed by nodeinit; cannot be overridden",
        ),
        (
            "apiServer: {extraArgs: {--v: 2}}\n",
            "apiServer.extraArgs.--v: \"--v\": flags are written without leading dashes; write v",
        ),
        (
            "kubelet: {config: {staticPodPath: /x}}\n",
            "kubelet.config.staticPodPath: managed by nodeinit; cannot be overridden",
        ),
        (
            "os: {sysctls: {net.ipv4.ip_forward: 0}}\n",
            "os.sysctls[\"net.ipv4.ip_forward\"]: managed by nodeinit; cannot be overridden",
        ),
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
            "10.0.0.0/29 is too small: the cluster DNS needs the tenth address of this range; use /28 or larger",
        ),
        ("network: {serviceCIDR: 11.0.0.0/8}\n", "11.0.0.0/8 is larger than kube-apiserver allows; use /12 or smaller"),
        ("network: {podCIDR: 10.1.0.0/25}\n", "10.1.0.0/25 is too small: each node takes a /24 of it"),
        ("network: {podCIDR: 12.0.0.0/7}\n", "use /8 or smaller"),
        ("network: {podCIDR: 10.1.0.1/16}\n", "\"10.1.0.1/16\" has bits set after the first 16; write 10.1.0.0/16"),
        (
            "masters: [{name: m, address: 10.96.0.7}]\n",
            "masters[0].address: 10.96.0.7 is inside network.serviceCIDR 10.96.0.0/12",
        ),
        (
            "controlPlane: {virtualAddress: 10.0.0.2}\nmasters: [{name: a, address: 10.0.0.2}]\n",
            "controlPlane.virtualAddress: 10.0.0.2 is already the address of a machine, at masters[0].address",
        ),
        (
            "controlPlane: {virtualAddress: 10.0.0.2}\nworkers: [{name: a, ssh: {address: 10.0.0.2}}]\n",
            "controlPlane.virtualAddress: 10.0.0.2 is already the address of a machine, at workers[0].ssh.address",
        ),
        (
            "controlPlane: {virtualAddress: 10.96.0.9}\n",
            "controlPlane.virtualAddress: 10.96.0.9 is inside network.serviceCIDR",
        ),
        ("controlPlane: {endpoint: 10.244.1.1}\n", "controlPlane.endpoint: 10.244.1.1 is inside network.podCIDR"),
        (
            "network: {podCIDR: 10.1.0.0/24}\nmasters: [{name: m, address: 10.0.0.1}]\nworkers: [{name: w}]\n",
            "each node needs a /24; the range has enough for 1 nodes, but the cluster has 2; use a larger range",
        ),
    ] {
        let found = only(text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
    let six = problems(&["network: {podCIDR: \"fd00:1::/48\"}\n"]);
    assert!(six[0].contains("supports IPv4 only") && six[1].contains("are in different address families"), "{six:#?}");
    assert!(
        only("network: {podCIDR: \"fd00:1::/48\", serviceCIDR: \"fd00:2::/108\"}\n").contains("supports IPv4 only")
    );
}

#[test]
fn machines() {
    let two = "masters:\n- {name: m1, address: 10.0.0.1}\n- {name: m1, address: 10.0.0.1}\n";
    let found = problems(&[two]);
    assert!(found[0].starts_with("a.yaml:5:10: masters[1].name: m1 is already set in masters[0].name"), "{found:#?}");
    assert!(
        found[1].starts_with("a.yaml:5:23: masters[1].address: 10.0.0.1 is already set in masters[0].address"),
        "{found:#?}"
    );
    for (text, expected) in [
        (
            "masters: [{name: m1}, {name: m2, address: 10.0.0.2}]\n",
            "masters[0].address: missing: the other masters must reach",
        ),
        (
            "workers: [{name: w1}]\n",
            "workers[0]: workers cannot know the address of the API; set controlPlane.endpoint",
        ),
        (
            "masters: [{name: m, ssh: {enabled: false}}]\n",
            "masters[0].ssh.enabled: only a worker can join on its own; remove it",
        ),
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

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";

#[test]
fn artifacts_and_host() {
    let signed = format!("artifacts: {{source: /o.tar, bundleKey: {KEY} me@desk}}\n");
    assert!(problems(&[&signed]).is_empty());
    let mirror = problems(&["artifacts: {source: \"https://m.example.org\"}\n"]);
    assert_eq!(mirror.len(), 1, "{mirror:#?}");
    let missing = "artifacts.sha256sums: artifacts from a mirror need a SHA-256; it is missing for 15 of 15 artifacts";
    assert!(mirror[0].contains(missing) && mirror[0].contains("sha256sum SHA256SUMS"), "{mirror:?}");
    let digest = "0".repeat(64);
    let pinned = format!("artifacts: {{source: \"https://m.example.org\", sha256sums: \"{digest}\"}}\n");
    assert!(problems(&[&pinned]).is_empty());
    for (text, expected) in [
        (
            format!("artifacts: {{source: /o, sha256: {{bin/kubelt: \"{digest}\"}}}}\n"),
            "there is no artifact with this path; did you mean `bin/kubelet`?",
        ),
        (
            "artifacts: {source: /o, sha256: {bin/kubelet: abc}}\n".to_owned(),
            "a SHA-256 digest has 64 digits, this has 3",
        ),
        (
            format!("artifacts: {{source: /o, sha256sums: \"{digest}\"}}\n"),
            "artifacts.sha256sums: only a mirror has a file SHA256SUMS",
        ),
        (
            format!("artifacts: {{source: /o, bundleKey: {KEY}}}\n"),
            "artifacts.bundleKey: only a bundle has a signature",
        ),
        (format!("artifacts: {{source: /o.tar, bundleKey: {}}}\n", &KEY[..70]), "is not an ed25519 public key"),
        (
            "artifacts: {binaries: [{path: a, to: /b}]}\n".to_owned(),
            "artifacts.binaries: not used with the source `image`",
        ),
        (
            "artifacts: {source: /o, binaries: [{path: ../a, to: /b}]}\n".to_owned(),
            "\"../a\" is not a path below the source",
        ),
        (
            "artifacts: {source: /o, binaries: [{path: a, to: /b}, {path: c, to: /b}]}\n".to_owned(),
            "/b is already set in artifacts.binaries[0].to",
        ),
        (
            "os: {swap: keep}\n".to_owned(),
            "os.swap: the kubelet refuses to start if swap is on; also set `failSwapOn: false`",
        ),
        (
            "etcd: {extraArgs: {listen-metrics-urls: \"http://10.0.0.1:2381\"}}\n".to_owned(),
            "write http://10.0.0.1:2381,http://127.0.0.1:2381",
        ),
        (
            "etcd: {dataDirectory: /}\n".to_owned(),
            "\"/\" is used by other programs, too; etcd needs a directory of its own",
        ),
    ] {
        let found = only(&text);
        assert!(found.contains(expected), "{text:?} gave {found}");
    }
    assert!(problems(&["os: {swap: keep}\nkubelet: {config: {failSwapOn: false}}\n"]).is_empty());
}

#[test]
fn the_first_file_must_have_a_header() {
    let found = load(&[Layer::file("empty.yaml", "#\n"), Layer::file("x.yaml", "name: a\n")]).unwrap_err().to_string();
    assert_eq!(
        found,
        "the configuration has 2 problems\n  x.yaml:1:1: apiVersion: missing\n      hint: start the file with \
         `apiVersion: nodeinit.dev/v1alpha1`\n  x.yaml:1:1: kind: missing\n      hint: start the file with `kind: Cluster`"
    );
    assert!(load(&[]).is_ok());
    for empty in ["", "\n", "# nothing\n", "---\n"] {
        let found = load(&[Layer::file("empty.yaml", empty)]).unwrap_err().to_string();
        assert!(found.contains("empty.yaml:1:1: apiVersion: missing") && found.contains("kind: missing"), "{found}");
    }
    let cut_off = load(&[Layer::file("x.yaml", HEADER)]).unwrap().no_machines().unwrap();
    assert_eq!(cut_off.to_string(), "x.yaml: masters: missing: there is no first master");
    assert!(only("kind: Clutser\n").contains("duplicate"));
}

#[test]
fn warnings_do_not_refuse() {
    let text = format!("{HEADER}kubernetes: {{version: v1.34.99}}\nsecretsDelivery: user-data\n");
    let warnings = load(&[Layer::file("x.yaml", text)]).unwrap().warnings;
    let shown: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].starts_with("x.yaml:3:23: kubernetes.version: v1.34.99 is newer than v1.34.9,"), "{shown:?}");
}

#[test]
fn the_configuration_of_the_lab_is_valid() {
    let text = include_str!("../../../tests/lab/cluster.yaml");
    let loaded = load(&[Layer::file("tests/lab/cluster.yaml", text)]).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(loaded.cluster.artifacts.images.len(), 9);
}

#[test]
fn a_long_value_is_not_repeated_in_full() {
    let value = "x".repeat(1 << 20);
    for text in [format!("name: {value}\n"), format!("{value}: 1\n"), format!("network: {{podCIDR: {value}}}\n")] {
        let found = only(&text);
        assert!(found.len() < 4000, "{} bytes", found.len());
    }
}

#[test]
fn the_masters_can_hold_their_virtual_address() {
    let masters = "masters: [{name: a, address: 10.0.0.2}]\n";
    let given = |address: &str| problems(&[&format!("controlPlane: {{virtualAddress: \"{address}\"}}\n{masters}")]);
    for unfit in ["0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.1", "255.255.255.255"] {
        assert!(given(unfit).join(" ").contains("controlPlane.virtualAddress"), "{unfit}");
    }
    let public = given("192.0.2.7");
    assert!(
        public[0].contains("192.0.2.7 is public, but the masters' network, with 10.0.0.2, is private"),
        "{public:?}"
    );
    assert!(given("10.0.0.9").is_empty());
    let all_public = "controlPlane: {virtualAddress: 192.0.2.7}\nmasters: [{name: a, address: 192.0.2.2}]\n";
    assert!(problems(&[all_public]).is_empty());
}

#[test]
fn settings_of_an_unmanaged_containerd_cause_warnings() {
    let settings = "images: {mirrors: [{registry: docker.io, urls: [\"https://m.example.org\"]}]}\ncontainerRuntime:\n  \
                    proxy: {https: \"http://p:1\", noProxy: [\"a b\"]}\n  manage: ";
    let found = problems(&[&format!("{settings}false\n")]);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[0].starts_with("a.yaml:3:19: images.mirrors: no effect: containerRuntime.manage is false"),
        "{found:#?}"
    );
    assert!(found[1].starts_with("a.yaml:5:18: containerRuntime.proxy.https: "), "{found:#?}");
    assert!(found[2].contains("\"a b\" is not a host, a domain or a network"), "{found:#?}");
    assert_eq!(problems(&[&format!("{settings}true\n").replace("\"a b\"", "b")]), [""; 0]);
    let twice = "images: {mirrors: [{registry: a, urls: []}, {registry: a, urls: []}]}\n";
    assert!(only(twice).contains("a is already set in images.mirrors[0].registry"));
    assert!(only("containerRuntime: {proxy: {http: \"http://user:password@p:1\"}}\n").contains("without a password"));
}

#[test]
fn a_mirror_needs_the_digests_of_containerd_only_if_it_is_managed() {
    let digest = "a".repeat(64);
    let config = |manage: &str| {
        format!(
            "artifacts:\n  source: https://m.example.org\n  binaries: []\n  images: []\n  sha256: {{bin/runc: {digest}}}\n{manage}"
        )
    };
    assert_eq!(problems(&[&config("")]), [""; 0]);
    assert!(
        only(&config("containerRuntime: {manage: true}\n"))
            .contains("missing for 3 of 4 artifacts, such as bin/containerd")
    );
    assert!(only(&config("containerRuntime: {manage: false}\n")).contains("there is no artifact with this path"));
}

#[test]
fn a_file_of_another_tool_is_recognized() {
    for (version, tool) in [("kubeadm.k8s.io/v1beta4", "kubeadm"), ("k0sctl.k0sproject.io/v1beta1", "k0sctl")] {
        for more in ["", "---\nkind: InitConfiguration\n"] {
            let text = format!("apiVersion: {version}\nkind: ClusterConfiguration\n{more}");
            let problems = load(&[Layer::file("a.yaml", text)]).unwrap_err().to_string();
            let hint = format!("hint: translate the file with `nodeinit config import {tool} FILE`");
            assert!(problems.contains(&hint), "{problems}");
        }
    }
}

#[test]
fn a_hint_for_a_path_has_no_example_of_another_key() {
    for text in ["os: {disks: [{device: vdb, mount: /a}]}\n", "os: {users: [{name: a, shell: bash}]}\n"] {
        let found = only(text);
        assert!(found.ends_with("write it with `/` at its start, and without `..`"), "{found}");
    }
}
