//! Proves that kubeadm can manage the cluster: from the stored `kubeadm-config`, the real kubeadm generates the same files
//! as nodeinit.
//!
//! Runs only with `make test`, with each kubeadm of a known release in the lab's cache, or the one in `LAB_BIN`.
//! Changes nothing on the machine: kubeadm makes a dry run in a directory of the test.

use super::{
    CA_DIRECTORIES, addons, kubeadm_config, kubelet,
    static_pod::{self, Membership},
    template,
    testing::*,
    yaml,
};
use nodeinit_config::{Release, releases, versions::KubernetesVersion};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

/// A kubeadm of the lab.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) version: KubernetesVersion,
    pub(crate) release: Release,
}

/// Returns each kubeadm, oldest first. `test` is the name of the test.
#[allow(clippy::disallowed_macros, reason = "a test prints what it ran")]
pub(crate) fn kubeadms(test: &str) -> Vec<Program> {
    let folders: Vec<PathBuf> =
        match (std::env::var_os("LAB_BIN"), std::env::var_os("LAB_DIR"), std::env::var_os("HOME")) {
            (Some(programs), _, _) => vec![PathBuf::from(programs)],
            (_, Some(lab), _) => of_lab(Path::new(&lab)),
            (_, _, Some(home)) => of_lab(&Path::new(&home).join(".cache/nodeinit-lab")),
            _ => panic!("set LAB_BIN to the folder that holds kubeadm"),
        };
    let found = folders.iter().map(|folder| folder.join("kubeadm")).filter(|path| path.exists());
    let mut programs: Vec<Program> = found.filter_map(program).collect();
    programs.sort_by_key(|program| program.version);
    assert!(
        !programs.is_empty(),
        "no kubeadm of a known release in {folders:?}: run tests/lab/prepare.sh to build one"
    );
    let default = std::env::var("LAB_VERSION").unwrap_or_else(|_| releases::DEFAULT.to_owned());
    let is_default = |program: &Program| program.version.to_string() == default;
    assert!(
        std::env::var_os("LAB_BIN").is_some() || programs.iter().any(is_default),
        "no kubeadm {default} in {folders:?}"
    );
    for program in &programs {
        println!("{test}: with kubeadm {}", program.version);
    }
    programs
}

fn of_lab(lab: &Path) -> Vec<PathBuf> {
    let releases = std::fs::read_dir(lab.join("release")).into_iter().flatten();
    releases.map(|entry| entry.unwrap().path().join("bin")).collect()
}

#[allow(clippy::disallowed_methods, reason = "a test runs a program of the lab")]
fn program(path: PathBuf) -> Option<Program> {
    let out = Command::new(&path).args(["version", "-o", "short"]).output().unwrap();
    let version: KubernetesVersion = String::from_utf8(out.stdout).unwrap().trim().parse().unwrap();
    let known = |release: &Release| release.tested.minor_version() == version.minor_version();
    let release = releases::embedded().into_iter().find(known)?;
    Some(Program { path, version, release })
}

/// kubeadm with nodeinit's configuration, in a separate directory.
struct Kubeadm<'a> {
    program: PathBuf,
    directory: tempfile::TempDir,
    fixture: &'a Fixture,
}

impl<'a> Kubeadm<'a> {
    fn new(program: &Program, fixture: &'a Fixture) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let renderer = fixture.renderer();
        let init = json!({
            "apiVersion": fixture.cluster.release.kubeadm_api,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": fixture.node.address, "bindPort": 6443},
            "nodeRegistration": {
                "name": fixture.node.name,
                "criSocket": kubelet::CONTAINERD,
                "kubeletExtraArgs": [{"name": "node-ip", "value": fixture.node.address}],
            },
        });
        let documents = [
            yaml::text("init", &init).unwrap(),
            kubeadm_config::cluster_configuration(&renderer, membership().token.as_deref()).unwrap(),
            kubelet::shared_config(&renderer).unwrap(),
        ];
        let config = directory.path().join("kubeadm.yaml");
        write(&config, &documents.join("---\n"));
        Self { program: program.path.clone(), directory, fixture }
    }

    #[allow(clippy::disallowed_methods, reason = "a test runs a program of the lab")]
    fn run(&self, command: &str) -> String {
        let out = Command::new(&self.program)
            .args(command.split(' '))
            .arg("--config")
            .arg(self.directory.path().join("kubeadm.yaml"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("KUBEADM_INIT_DRYRUN_DIR", self.directory.path())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "kubeadm {command}: {err}");
        assert!(!err.contains("strict decoding error"), "kubeadm does not know a field: {err}");
        String::from_utf8(out.stdout).unwrap()
    }

    fn made(&self, file: &str) -> Value {
        let text = std::fs::read_to_string(self.directory.path().join(file)).unwrap();
        template::documents(file, &text).unwrap().remove(0)
    }

    fn compare_static_pods(&self) {
        self.run("init phase control-plane all --dry-run");
        self.run("init phase etcd local --dry-run");
        let renderer = self.fixture.renderer();
        // A known difference: kubeadm has no extra volumes for etcd, so `kubeadm upgrade` drops the marker's. The next `up` adds it.
        let etcd = static_pod::etcd(&renderer, &Membership { marked: false, ..membership() }).unwrap();
        let components = [static_pod::api_server, static_pod::controller_manager, static_pod::scheduler];
        let components = components.map(|component| component(&renderer).unwrap());
        for ours in [etcd].into_iter().chain(components) {
            let mut theirs = self.made(ours.file_name);
            theirs.as_object_mut().unwrap().remove("status");
            let ours_read = template::documents(ours.file_name, &ours.text).unwrap().remove(0);
            assert_same(ours.file_name, &ours_read, &theirs);
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a test writes into its own directory")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// Compares leaf by leaf, so that a failure names the differing paths instead of two documents.
fn assert_same(what: &str, ours: &Value, theirs: &Value) {
    let (ours, theirs) = (leaves(ours), leaves(theirs));
    let only = |a: &BTreeMap<String, Value>, b: &BTreeMap<String, Value>| {
        a.iter().filter(|(k, v)| b.get(*k) != Some(v)).map(|(k, v)| format!("  {k}: {v}\n")).collect::<String>()
    };
    assert!(ours == theirs, "{what}\nours:\n{}kubeadm's:\n{}", only(&ours, &theirs), only(&theirs, &ours));
}

fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn walk(path: String, value: &Value, into: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(key, value)| walk(format!("{path}/{key}"), value, into));
            }
            Value::Array(items) if !items.is_empty() => {
                items.iter().enumerate().for_each(|(i, value)| walk(format!("{path}/{i}"), value, into));
            }
            leaf => {
                into.insert(path, leaf.clone());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(String::new(), value, &mut all);
    all
}

/// Returns the fixture of this machine, with the version of this kubeadm.
fn fixture(program: &Program) -> Fixture {
    let mut fixture = Fixture::of(program.release.clone());
    fixture.cluster.version = program.version;
    fixture.facts.ca_directories = CA_DIRECTORIES.into_iter().filter(|path| Path::new(path).exists()).collect();
    fixture
}

fn set(args: &mut BTreeMap<String, String>, flags: &[(&str, &str)]) {
    args.extend(flags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
}

#[test]
#[ignore = "needs the kubeadm of the lab: make test"]
fn kubeadm_generates_our_static_pods() {
    for program in kubeadms("kubeadm_generates_our_static_pods") {
        let fixture = fixture(&program);
        Kubeadm::new(&program, &fixture).compare_static_pods();
    }
}

#[test]
#[ignore = "needs the kubeadm of the lab: make test"]
fn kubeadm_generates_our_static_pods_with_ipv6() {
    for program in kubeadms("kubeadm_generates_our_static_pods_with_ipv6") {
        let mut fixture = fixture(&program);
        fixture.node.address = "fd00::11".parse().unwrap();
        fixture.cluster.network.pod_cidr = "fd00:1::/56".parse().unwrap();
        fixture.cluster.network.service_cidr = "fd00:2::/112".parse().unwrap();
        Kubeadm::new(&program, &fixture).compare_static_pods();
    }
}

#[test]
#[ignore = "needs the kubeadm of the lab: make test"]
fn kubeadm_generates_our_static_pods_with_flags_that_change_paths() {
    for program in kubeadms("kubeadm_generates_our_static_pods_with_flags_that_change_paths") {
        let mut fixture = fixture(&program);
        let cluster = &mut fixture.cluster;
        cluster.name = "prod".into();
        cluster.image_repository = "mirror.example.org/k8s".into();
        cluster.etcd.data_directory = "/srv/etcd".into();
        set(
            &mut cluster.etcd.extra_args,
            &[
                ("listen-metrics-urls", "https://10.77.0.11:2399"),
                ("advertise-client-urls", "https://etcd.example.org:2379"),
            ],
        );
        set(
            &mut cluster.api_server.extra_args,
            &[
                ("audit-log-path", "/srv/audit/log"),
                ("authorization-config", "/x"),
                ("oidc-issuer-url", "https://id"),
                ("v", "2"),
            ],
        );
        set(
            &mut cluster.controller_manager.extra_args,
            &[("bind-address", "::"), ("flex-volume-plugin-dir", "/opt/flex"), ("controllers", "*")],
        );
        set(&mut cluster.scheduler.extra_args, &[("bind-address", "10.77.0.11"), ("leader-elect", "false")]);
        Kubeadm::new(&program, &fixture).compare_static_pods();
    }
}

#[test]
#[ignore = "needs the kubeadm of the lab: make test"]
fn kubeadm_keeps_our_kubelet_configuration() {
    for program in kubeadms("kubeadm_keeps_our_kubelet_configuration") {
        let mut fixture = fixture(&program);
        fixture.node.name = "another".into();
        fixture.cluster.control_plane.schedulable = true;
        let kubeadm = Kubeadm::new(&program, &fixture);
        kubeadm.run("init phase kubelet-start --dry-run");
        let renderer = fixture.renderer();
        let flags = std::fs::read_to_string(kubeadm.directory.path().join("kubeadm-flags.env")).unwrap();
        assert_eq!(kubelet::flags(&renderer), flags);
        assert_eq!(
            kubelet::instance_config(&renderer),
            std::fs::read_to_string(kubeadm.directory.path().join("instance-config.yaml")).unwrap()
        );
        let ours = template::documents("config", &kubelet::config(&renderer).unwrap()).unwrap().remove(0);
        let (mut ours, mut theirs) = (leaves(&ours), leaves(&kubeadm.made("config.yaml")));
        ours.retain(|_, value| !is_zero(value));
        // The machine that runs the test may have systemd-resolved; kubeadm then names its file.
        theirs.retain(|path, value| !is_zero(value) && path != "/resolvConf");
        assert_eq!(ours, theirs);
    }
}

#[test]
#[ignore = "needs the kubeadm of the lab: make test"]
fn kubeadm_applies_our_addons() {
    for program in kubeadms("kubeadm_applies_our_addons") {
        let fixture = fixture(&program);
        let kubeadm = Kubeadm::new(&program, &fixture);
        let renderer = fixture.renderer();
        for (phase, ours) in
            [("kube-proxy", addons::kube_proxy(&renderer).unwrap()), ("coredns", addons::coredns(&renderer).unwrap())]
        {
            let printed = kubeadm.run(&format!("init phase addon {phase} --print-manifest"));
            let (ours, theirs) = (by_name(ours), by_name(template::documents(phase, &printed).unwrap()));
            assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
            for (name, ours) in ours {
                assert_same(&name, &ours, &theirs[&name]);
            }
        }
    }
}

/// Returns objects by kind and name, without intended and meaningless differences.
fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let named = objects.into_iter().map(|mut object| {
        let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
        // kubeadm needs it to update a Service; server-side apply does not.
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        // The probe runs more often than in kubeadm: `manifests/coredns.yaml` explains why.
        if let Some(probe) = object.pointer_mut("/spec/template/spec/containers/0/readinessProbe") {
            let probe = probe.as_object_mut().unwrap();
            probe.retain(|field, _| field != "periodSeconds" && field != "failureThreshold");
        }
        // The anti-affinity of CoreDNS is stricter than kubeadm's: the same file explains why.
        if let Some(pod) = object.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
            pod.remove("topologySpreadConstraints");
        }
        // kube-proxy pings the API server more often than in kubeadm: `manifests/kube-proxy.yaml` explains why.
        let ping = json!({"name": "HTTP2_READ_IDLE_TIMEOUT_SECONDS", "value": "2"});
        if let Some(env) = object.pointer_mut("/spec/template/spec/containers/0/env").and_then(Value::as_array_mut) {
            env.retain(|variable| *variable != ping);
        }
        // Its pods are replaced faster.
        if let Some(strategy) = object.pointer_mut("/spec/updateStrategy").and_then(Value::as_object_mut) {
            strategy.remove("rollingUpdate");
        }
        for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
            subject.as_object_mut().unwrap().remove("apiGroup");
        }
        // Configuration as text is equal if it parses to the same value.
        for text in object.get_mut("data").and_then(Value::as_object_mut).into_iter().flat_map(|data| data.values_mut())
        {
            if let Ok(documents) = template::documents("data", text.as_str().unwrap())
                && documents.iter().all(Value::is_object)
            {
                *text = json!(documents);
            }
        }
        let fields = leaves(&object).into_iter().filter(|(_, value)| !is_zero(value));
        (name, fields.collect::<serde_json::Map<_, _>>().into())
    });
    named.collect()
}

/// Whether a value has the same meaning as a missing one.
fn is_zero(value: &Value) -> bool {
    [json!("0s"), json!(0), json!("0"), json!(""), json!(false), json!({}), json!(null)].contains(value)
}
