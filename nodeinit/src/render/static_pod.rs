//! The static pods; those of the control plane as kubeadm generates them from the stored `kubeadm-config`.

use super::{
    Manifest, RenderError, Renderer,
    components::{self, Volume},
    yaml,
};
use nodeinit_config::Component;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// The text of a static pod, and the name of its file in [`super::paths::STATIC_PODS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticPod {
    /// For example `etcd.yaml`.
    pub file_name: &'static str,
    /// The manifest.
    pub text: String,
    /// The container's command line.
    pub command: Vec<String>,
}

impl StaticPod {
    fn new(manifest: Manifest, pod: &Value) -> Result<Self, RenderError> {
        let file_name = manifest.file_name();
        Ok(Self { file_name, text: yaml::text(file_name, pod)?, command: command(pod) })
    }
}

/// Returns the command line of a static pod.
#[must_use]
pub fn command(pod: &Value) -> Vec<String> {
    let parts = pod.pointer("/spec/containers/0/command").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.as_str().map(str::to_owned)).collect()
}

/// The settings of one machine's etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// `--initial-cluster-token`. Clusters that an earlier version bootstrapped have none.
    pub token: Option<String>,
    /// `--initial-cluster` of an etcd that joins others, including this machine; `None` for one that is bootstrapped here.
    pub joined: Option<String>,
    /// Whether the pod mounts the marker, so that the kubelet does not start etcd on a lost disk. Members that an earlier version of
    /// nodeinit started do not mount it.
    pub marked: bool,
}

/// The marker's path in etcd's data directory.
pub const MARKER: &str = "member/nodeinit.marker";

/// Its path in the container: etcd does not read it.
const MARKER_MOUNT: &str = "/run/nodeinit.marker";

/// Its volume in the pod.
pub const MARKER_VOLUME: &str = "etcd-marker";

/// Renders etcd. Source of the flags of a joining member: kubeadm, `getEtcdCommand`.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn etcd(renderer: &Renderer<'_>, membership: &Membership) -> Result<StaticPod, RenderError> {
    let flags = match &membership.joined {
        Some(members) => vec![("initial-cluster", members.as_str()), ("initial-cluster-state", "existing")],
        None => Vec::new(),
    };
    let extra = components::etcd_args(renderer.cluster, membership.token.as_deref());
    let mut pod = renderer.pod(Manifest::Etcd, Component::Etcd, &flags, &extra)?;
    if membership.marked {
        mount_marker(&mut pod, &renderer.cluster.etcd.data_directory);
    }
    StaticPod::new(Manifest::Etcd, &pod)
}

/// Mounts the marker with `type: File`: without the file, the kubelet does not start the pod. kubeadm's configuration has no volumes
/// for etcd, so its manifests lack this one.
fn mount_marker(pod: &mut Value, data_directory: &Path) {
    let mount = json!({"name": MARKER_VOLUME, "mountPath": MARKER_MOUNT, "readOnly": true});
    let volume = json!({"name": MARKER_VOLUME, "hostPath": {"path": data_directory.join(MARKER), "type": "File"}});
    for (object, field, item) in [("/spec/containers/0", "volumeMounts", mount), ("/spec", "volumes", volume)] {
        let Some(object) = pod.pointer_mut(object).and_then(Value::as_object_mut) else { continue };
        if let Value::Array(list) = object.entry(field).or_insert_with(|| json!([])) {
            list.push(item);
        }
    }
}

/// Renders kube-apiserver.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn api_server(renderer: &Renderer<'_>) -> Result<StaticPod, RenderError> {
    renderer.component_pod(Manifest::ApiServer, Component::ApiServer)
}

/// Renders kube-controller-manager.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn controller_manager(renderer: &Renderer<'_>) -> Result<StaticPod, RenderError> {
    renderer.component_pod(Manifest::ControllerManager, Component::ControllerManager)
}

/// Renders kube-scheduler.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn scheduler(renderer: &Renderer<'_>) -> Result<StaticPod, RenderError> {
    renderer.component_pod(Manifest::Scheduler, Component::Scheduler)
}

/// Renders kube-vip, for a cluster with a virtual address.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn kube_vip(renderer: &Renderer<'_>) -> Result<StaticPod, RenderError> {
    StaticPod::new(Manifest::KubeVip, &renderer.object(Manifest::KubeVip, &[])?)
}

pub use super::components::audit_log;

/// Returns directories of the machine that the pods and the kubelet write to and that may not exist yet. The kubelet would create
/// them; nodeinit creates them first to know what to remove again.
#[must_use]
pub fn writable_directories(renderer: &Renderer<'_>) -> Vec<String> {
    let etcd = renderer.cluster.etcd.data_directory.display().to_string();
    let mut directories = vec![etcd, renderer.flex_volume_directory()];
    directories.extend(components::audit_log_directory(renderer.cluster));
    directories
}

impl Renderer<'_> {
    fn component_pod(&self, manifest: Manifest, component: Component) -> Result<StaticPod, RenderError> {
        let pod = self.pod(manifest, component, &[], &self.extra_args(component))?;
        StaticPod::new(manifest, &pod)
    }

    /// Renders the pod; `flags` replace the manifest's, and `extra` are kubeadm's `extraArgs`.
    fn pod(
        &self,
        manifest: Manifest,
        component: Component,
        flags: &[(&str, &str)],
        extra: &BTreeMap<String, String>,
    ) -> Result<Value, RenderError> {
        let missing = |expected| RenderError::Shape { manifest: manifest.to_string(), expected };
        let mut pod = self.object(manifest, &[])?;
        let container = pod.pointer_mut("/spec/containers/0").ok_or_else(|| missing("spec.containers"))?;

        let command = container.get_mut("command").and_then(Value::as_array_mut);
        let command = command.ok_or_else(|| missing("spec.containers[0].command"))?;
        for (name, value) in flags {
            let prefix = format!("--{name}=");
            command.retain(|part| !part.as_str().is_some_and(|part| part.starts_with(&prefix)));
            command.push(json!(format!("{prefix}{value}")));
        }
        *command = with_extra_args(std::mem::take(command), extra);

        drop_empty_probe_hosts(container);
        let volumes = self.volumes(component);
        add_by_name(container, "volumeMounts", volumes.iter().map(mount));
        let spec = pod.pointer_mut("/spec").ok_or_else(|| missing("spec"))?;
        add_by_name(spec, "volumes", volumes.iter().map(host_path));
        Ok(pod)
    }

    fn volumes(&self, component: Component) -> Vec<Volume> {
        let mut volumes = components::extra_volumes(self.cluster, component);
        if component == Component::ControllerManager && self.cluster.release.flex_volumes {
            // Not read-only: the plugins create their sockets here.
            let path = self.flex_volume_directory();
            volumes.push(Volume { name: "flexvolume-dir", path, read_only: false, kind: "DirectoryOrCreate" });
        }
        if matches!(component, Component::ApiServer | Component::ControllerManager) {
            volumes.extend(self.facts.ca_directories.iter().copied().map(ca_volume));
        }
        volumes
    }
}

/// Returns the volume of a directory of CA certificates, named as in kubeadm.
fn ca_volume(path: &str) -> Volume {
    let name = match path {
        "/etc/pki/ca-trust" => "etc-pki-ca-trust",
        "/etc/pki/tls/certs" => "etc-pki-tls-certs",
        "/etc/ca-certificates" => "etc-ca-certificates",
        "/usr/share/ca-certificates" => "usr-share-ca-certificates",
        _ => "usr-local-share-ca-certificates",
    };
    Volume { name, path: path.to_owned(), read_only: true, kind: "DirectoryOrCreate" }
}

fn mount(volume: &Volume) -> Value {
    let mut mount = json!({"name": volume.name, "mountPath": volume.path});
    if volume.read_only {
        mount["readOnly"] = json!(true);
    }
    mount
}

fn host_path(volume: &Volume) -> Value {
    json!({"name": volume.name, "hostPath": {"path": volume.path, "type": volume.kind}})
}

/// Returns the command with `extra` flags: the program, its own flags sorted without the replaced ones, then the extra
/// ones (kubeadm: `util/arguments.go`, `ArgumentsToCommand`).
fn with_extra_args(command: Vec<Value>, extra: &BTreeMap<String, String>) -> Vec<Value> {
    let (mut flags, mut command): (Vec<Value>, Vec<Value>) =
        command.into_iter().partition(|part| part.as_str().is_some_and(|part| part.starts_with("--")));
    fn split(flag: &Value) -> (&str, &str) {
        let flag = flag.as_str().unwrap_or_default().trim_start_matches("--");
        flag.split_once('=').unwrap_or((flag, ""))
    }
    flags.sort_by(|a, b| split(a).cmp(&split(b)));
    // As in kubeadm, an authorization configuration file replaces the modes.
    let dropped = |name: &str| {
        extra.contains_key(name) || (name == "authorization-mode" && extra.contains_key("authorization-config"))
    };
    command.extend(flags.into_iter().filter(|flag| !dropped(split(flag).0)));
    command.extend(extra.iter().map(|(name, value)| json!(format!("--{name}={value}"))));
    command
}

/// Removes empty hosts of probes, as Kubernetes and kubeadm do.
fn drop_empty_probe_hosts(container: &mut Value) {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let get = container.get_mut(probe).and_then(|probe| probe.get_mut("httpGet"));
        if let Some(get) = get.and_then(Value::as_object_mut)
            && get.get("host").is_some_and(|host| host == "")
        {
            get.remove("host");
        }
    }
}

/// Adds named items to a list and replaces those with the same name; sorts the list by name if anything was added, as in
/// kubeadm.
fn add_by_name(object: &mut Value, field: &str, items: impl Iterator<Item = Value>) {
    let Some(object) = object.as_object_mut() else { return };
    let Value::Array(list) = object.entry(field).or_insert_with(|| json!([])) else { return };
    let mut added = false;
    for item in items {
        list.retain(|old| old["name"] != item["name"]);
        list.push(item);
        added = true;
    }
    if added {
        list.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{CA_DIRECTORIES, Manifests, testing::*};
    use nodeinit_config::releases::{self, Program};

    fn parsed(pod: &StaticPod) -> Value {
        super::super::template::documents(pod.file_name, &pod.text).unwrap().remove(0)
    }

    fn command(pod: &StaticPod) -> Vec<String> {
        serde_json::from_value(parsed(pod)["spec"]["containers"][0]["command"].clone()).unwrap()
    }

    #[test]
    fn pods_match_their_golden_files() {
        for release in releases::embedded() {
            let directory = format!("{}/static-pods", release.name());
            let mut fixture = Fixture::of(release);
            fixture.facts.ca_directories = CA_DIRECTORIES.to_vec();
            let components = [api_server, controller_manager, scheduler].map(|pod| pod(&fixture.renderer()).unwrap());
            for pod in components.into_iter().chain([etcd(&fixture.renderer(), &membership()).unwrap()]) {
                golden(&format!("{directory}/{}", pod.file_name), &pod.text);
            }
        }
        let mut fixture = Fixture::new();
        fixture.cluster.control_plane.virtual_address = Some([10, 77, 0, 10].into());
        fixture.facts.interface = Some("host0".into());
        let pod = kube_vip(&fixture.renderer()).unwrap();
        golden("static-pods/kube-vip.yaml", &pod.text);
    }

    #[test]
    fn flex_volumes_are_mounted_up_to_1_35() {
        let mounted = releases::embedded().into_iter().map(|release| {
            let mut fixture = Fixture::of(release);
            fixture.cluster.controller_manager.extra_args.insert("flex-volume-plugin-dir".into(), "/opt/flex".into());
            controller_manager(&fixture.renderer()).unwrap().text.contains("path: /opt/flex")
        });
        assert_eq!(mounted.collect::<Vec<_>>(), [true, true, false, false]);
    }

    #[test]
    fn every_release_knows_the_flags_that_are_set() {
        for release in releases::embedded() {
            let fixture = Fixture::of(release.clone());
            let pods = [
                (Program::Etcd, etcd(&fixture.renderer(), &membership())),
                (Program::ApiServer, api_server(&fixture.renderer())),
                (Program::ControllerManager, controller_manager(&fixture.renderer())),
                (Program::Scheduler, scheduler(&fixture.renderer())),
            ];
            for (program, pod) in pods {
                for flag in command(&pod.unwrap()) {
                    let name = flag.trim_start_matches("--").split('=').next().unwrap();
                    let unknown = release.lost(program, name).or(release.lacks(program, name));
                    assert_eq!(unknown, None, "{program} {}: {flag}", release.name());
                }
            }
        }
    }

    #[test]
    fn a_static_pod_refers_to_nothing_in_the_api() {
        for release in releases::embedded() {
            let fixture = Fixture::of(release);
            for pod in [
                etcd(&fixture.renderer(), &membership()),
                api_server(&fixture.renderer()),
                kube_vip(&fixture.renderer()),
            ] {
                let text = pod.unwrap().text;
                for reference in
                    ["secret:", "configMap:", "secretKeyRef", "configMapKeyRef", "envFrom", "serviceAccountName"]
                {
                    assert!(!text.contains(reference), "{reference} in\n{text}");
                }
            }
        }
    }

    #[test]
    fn a_cluster_without_a_token_gets_none() {
        let fixture = Fixture::new();
        let joined = Some("m2=https://10.77.0.12:2380,m1=https://10.77.0.11:2380".to_owned());
        let flags = command(&etcd(&fixture.renderer(), &Membership { token: None, joined, marked: true }).unwrap());
        assert!(!flags.iter().any(|flag| flag.starts_with("--initial-cluster-token")), "{flags:?}");
        assert!(flags.contains(&"--initial-cluster-state=existing".into()), "{flags:?}");
    }

    #[test]
    fn the_marker_is_a_file_that_must_exist_and_changes_nothing_else() {
        let mut fixture = Fixture::new();
        fixture.cluster.etcd.data_directory = "/data/etcd".into();
        let mut marked = parsed(&etcd(&fixture.renderer(), &membership()).unwrap());
        let pop = |pod: &mut Value, list| pod.pointer_mut(list).unwrap().as_array_mut().unwrap().pop().unwrap();
        let volume = pop(&mut marked, "/spec/volumes");
        assert_eq!(volume["hostPath"], json!({"path": "/data/etcd/member/nodeinit.marker", "type": "File"}));
        let mount = pop(&mut marked, "/spec/containers/0/volumeMounts");
        assert!(mount["name"] == volume["name"] && mount["readOnly"] == true, "{mount}");
        assert_eq!(marked, parsed(&etcd(&fixture.renderer(), &Membership { marked: false, ..membership() }).unwrap()));
    }

    #[test]
    fn the_users_flags_replace_and_extend() {
        let mut fixture = Fixture::new();
        let set = |args: &mut BTreeMap<String, String>, name: &str, value: &str| {
            args.insert(name.to_owned(), value.to_owned());
        };
        set(&mut fixture.cluster.api_server.extra_args, "profiling", "true");
        set(&mut fixture.cluster.api_server.extra_args, "anonymous-auth", "false");
        set(&mut fixture.cluster.api_server.extra_args, "authorization-config", "/etc/kubernetes/apiserver/authz.yaml");
        set(&mut fixture.cluster.scheduler.extra_args, "bind-address", "0.0.0.0");
        set(&mut fixture.cluster.scheduler.extra_args, "v", "4");
        let api = api_server(&fixture.renderer()).unwrap();
        let flags = command(&api);
        assert!(flags.contains(&"--profiling=true".into()) && !flags.contains(&"--profiling=false".into()));
        assert!(!api.text.contains("--authentication-config"), "refused together with --anonymous-auth");
        assert!(!api.text.contains("--authorization-mode"), "refused together with --authorization-config");

        let scheduler = scheduler(&fixture.renderer()).unwrap();
        let flags = command(&scheduler);
        assert_eq!(
            flags.iter().filter(|flag| flag.starts_with("--bind-address")).collect::<Vec<_>>(),
            ["--bind-address=0.0.0.0"]
        );
        assert_eq!(flags.last().unwrap(), "--v=4");
        let probe = &parsed(&scheduler)["spec"]["containers"][0]["livenessProbe"]["httpGet"];
        assert_eq!(probe.get("host"), None, "the wildcard address cannot be probed");
    }

    #[test]
    fn ipv6_addresses_are_in_brackets() {
        let mut fixture = Fixture::new();
        fixture.node.address = "fd00::11".parse().unwrap();
        let flags = command(&etcd(&fixture.renderer(), &membership()).unwrap());
        for flag in [
            "--initial-cluster=m1=https://[fd00::11]:2380",
            "--listen-client-urls=https://[::1]:2379,https://[fd00::11]:2379",
        ] {
            assert!(flags.contains(&flag.into()), "{flags:?}");
        }
        let flags = command(&api_server(&fixture.renderer()).unwrap());
        assert!(flags.contains(&"--etcd-servers=https://[::1]:2379".into()), "{flags:?}");
        assert!(flags.contains(&"--advertise-address=fd00::11".into()), "{flags:?}");
    }

    #[test]
    fn without_the_key_of_the_ca_nothing_is_signed() {
        let mut fixture = Fixture::new();
        fixture.facts.external_ca = true;
        let flags = command(&controller_manager(&fixture.renderer()).unwrap());
        assert!(flags.contains(&"--cluster-signing-key-file=".into()), "{flags:?}");
    }

    #[test]
    fn a_replaced_manifest_is_extended_or_refused() {
        let mut fixture = Fixture::new();
        let with = |text: &str| Manifests::new([("kube-scheduler.yaml".to_owned(), text.to_owned())].into()).unwrap();
        fixture.manifests = with(
            "spec: {containers: [{name: mine, command: [/bin/own, --z=1, --profiling=true, \"--a=${nodeName}\"]}]}",
        );
        let flags = command(&scheduler(&fixture.renderer()).unwrap());
        let first = ["/bin/own", "--a=m1", "--z=1", "--leader-elect-retry-period=1s", "--profiling=false"];
        assert_eq!(flags[..5], first);
        fixture.manifests = with("spec: {}");
        let err = scheduler(&fixture.renderer()).unwrap_err().to_string();
        assert!(err.starts_with("kube-scheduler.yaml: spec.containers is missing"), "{err}");
        fixture.manifests = with("# nothing");
        assert!(scheduler(&fixture.renderer()).is_err());
    }

    #[test]
    fn directories_that_the_pods_write_to_are_known() {
        let mut fixture = Fixture::new();
        let flex = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec";
        assert_eq!(writable_directories(&fixture.renderer()), ["/var/lib/etcd", flex, "/var/log/kubernetes/audit"]);
        fixture.cluster.api_server.extra_args.insert("audit-log-path".into(), "-".into());
        assert_eq!(writable_directories(&fixture.renderer()), ["/var/lib/etcd", flex]);
        let api = api_server(&fixture.renderer()).unwrap();
        assert!(!api.text.contains("name: audit-log"), "{}", api.text);
    }
}
