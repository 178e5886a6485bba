//! Releases of Kubernetes as data: the embedded ones, those of the operator, and their checks.

use nodeinit_config::{
    Layer, Problems,
    cluster::KubernetesImage,
    load,
    releases::{self, DEFAULT, Program},
};

const HEADER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

const NEWER: &str = "version: v1.38.2\nimages: {etcd: 3.7.3-0, coreDNS: v1.15.0, pause: 3.11.0}\n\
    kubeadm: {apiVersion: kubeadm.k8s.io/v1}\ncontainerd: {minimum: 2.0, recommended: 2.10}\n\
    kubelet:\n  failCgroupV1: true\n  removedFlags: {max-pods: set maxPods in kubelet.config}\n\
    scheduler:\n  addedFlags: [bind-quickly]\n";

fn configured(text: &str) -> Layer {
    Layer::file("cluster.yaml", format!("{HEADER}{text}"))
}

#[allow(clippy::unwrap_used, reason = "only tests call it")]
fn problems(layers: &[Layer]) -> String {
    let Problems { errors: problems, .. } = load(layers).map(|loaded| loaded.cluster).unwrap_err();
    problems.iter().map(|problem| format!("{problem}; {}\n", problem.remedy)).collect()
}

#[test]
fn the_default_is_the_newest_release() {
    let embedded = releases::embedded();
    let names: Vec<String> = embedded.iter().map(releases::Release::name).collect();
    assert_eq!(names, ["1.34", "1.35", "1.36", "1.37"], "a file cannot be read, or is out of order");
    let cluster = load(&[]).unwrap().cluster;
    assert_eq!((cluster.version.to_string().as_str(), cluster.version), (DEFAULT, embedded[3].tested));
    assert_eq!(cluster.release, embedded[3]);
}

#[test]
fn each_release_names_its_images() {
    for (release, etcd, coredns, pause) in [
        ("v1.34.9", "3.6.5-0", "v1.12.1", "3.10.1"),
        ("v1.35.8", "3.6.6-0", "v1.13.1", "3.10.1"),
        ("v1.36.4", "3.6.8-0", "v1.14.2", "3.10.2"),
        ("v1.37.1", "3.7.0-0", "v1.14.6", "3.10.2"),
    ] {
        let cluster = load(&[configured(&format!("kubernetes: {{version: {release}}}\n"))]).unwrap().cluster;
        let images = KubernetesImage::ALL.map(|image| cluster.image(image));
        assert_eq!(images[0], format!("registry.k8s.io/pause:{pause}"));
        assert_eq!(images[1], format!("registry.k8s.io/etcd:{etcd}"));
        assert_eq!(images[2], format!("registry.k8s.io/kube-apiserver:{release}"));
        assert_eq!(images[6], format!("registry.k8s.io/coredns/coredns:{coredns}"));
    }
}

#[test]
fn a_file_adds_a_release() {
    let file = Layer::release("/etc/nodeinit/releases/1.38.yaml", NEWER);
    let loaded = load(&[configured("kubernetes: {version: v1.38.1}\n"), file.clone()]).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let release = &loaded.cluster.release;
    assert_eq!((release.pause.as_str(), release.recommended_containerd), ("3.11.0", (2, 10)));
    assert_eq!(release.lost(Program::Kubelet, "max-pods").unwrap().by, "1.38");
    assert_eq!(release.lost(Program::Kubelet, "pod-infra-container-image").unwrap().by, "1.35");
    // The newest embedded release stays the default, and a machine's configuration needs the file, too.
    assert_eq!(load(std::slice::from_ref(&file)).unwrap_err().errors.len(), 2, "only the header is missing");
    let made = loaded.made(&nodeinit_config::Made::default()).unwrap();
    assert_eq!(made.cluster, loaded.cluster);
}

#[test]
fn a_file_replaces_a_release() {
    let file = Layer::release("1.36.yaml", NEWER.replace("v1.38.2", "v1.36.9"));
    let cluster = load(&[configured("kubernetes: {version: v1.36.9}\n"), file]).unwrap().cluster;
    assert_eq!(cluster.release.etcd, "3.7.3-0");
}

#[test]
fn problems_of_a_release_file_are_in_the_same_report() {
    let text = NEWER.replace("pause: 3.11.0", "pasue: 3.11.0").replace("[bind-quickly]", "[--bind]");
    let file = Layer::release("1.38.yaml", text);
    let found = problems(&[configured("kubernetes: {version: v1.38.1}\nname: A\n"), file.clone()]);
    for part in [
        "cluster.yaml:4:7: name: \"A\" is not a DNS label",
        "1.38.yaml:2:43: images.pasue: unknown key; did you mean `pause`?",
        "1.38.yaml:9:16: scheduler.addedFlags[0]: \"--bind\": flags are written without leading dashes",
    ] {
        assert!(found.contains(part), "{part:?} is not in\n{found}");
    }
    assert_eq!(found.lines().count(), 3, "{found}");
    let found = problems(&[configured(""), Layer::release("x.yaml", "version: v1.38.0\ncontainerd: {minimum: 2}\n")]);
    for part in [
        "x.yaml:1:1: images: missing; add it: ",
        "x.yaml:2:23: containerd.minimum: \"2\" is not a minor version; write two numbers",
        "x.yaml:2:13: containerd.recommended: missing",
    ] {
        assert!(found.contains(part), "{part:?} is not in\n{found}");
    }
    let misnamed = problems(&[configured(""), Layer::release("/etc/nodeinit/releases/1.36.yaml", NEWER)]);
    assert_eq!(
        misnamed,
        "/etc/nodeinit/releases/1.36.yaml:1:1: version: the file describes Kubernetes 1.38, which does not match its name; \
         rename it to 1.38.yaml\n"
    );
}

#[test]
fn flags_that_the_release_does_not_have_are_refused() {
    let found =
        |version: &str, keys: &str| problems(&[configured(&format!("kubernetes: {{version: {version}}}\n{keys}"))]);
    let removed = "controllerManager: {extraArgs: {concurrent-service-syncs: 2}}\n";
    assert_eq!(
        found("v1.37.1", removed),
        "cluster.yaml:4:33: controllerManager.extraArgs.concurrent-service-syncs: Kubernetes 1.37 removed this flag from \
         kube-controller-manager; remove the flag; it has had no effect since Kubernetes 1.31\n"
    );
    assert!(load(&[configured(&format!("kubernetes: {{version: v1.36.4}}\n{removed}"))]).is_ok());
    let etcd = found("v1.37.0", "etcd: {extraArgs: {experimental-compaction-batch-limit: 5}}\n");
    assert!(etcd.contains("removed this flag from etcd; use compaction-batch-limit"), "{etcd}");
    assert_eq!(
        found("v1.35.8", "apiServer: {extraArgs: {tls-curve-preferences: X25519}}\n"),
        "cluster.yaml:4:25: apiServer.extraArgs.tls-curve-preferences: kube-apiserver has this flag since Kubernetes 1.36; \
         remove the flag, or use Kubernetes v1.36.4\n"
    );
}

#[test]
fn a_deprecated_mode_of_kube_proxy_is_warned_about() {
    let warnings = |version: &str| {
        let text = format!("kubernetes: {{version: {version}}}\nkubeProxy: {{config: {{mode: ipvs}}}}\n");
        let warnings = load(&[configured(&text)]).unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(warnings("v1.34.9"), "");
    assert_eq!(
        warnings("v1.35.8"),
        "cluster.yaml:4:28: kubeProxy.config.mode: Kubernetes 1.35 deprecates the mode ipvs"
    );
    assert!(warnings("v1.37.1").contains("Kubernetes 1.37"), "each later release warns, too");
}
