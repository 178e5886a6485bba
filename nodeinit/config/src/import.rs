//! Translates the configuration of other tools: what nodeinit has a key for; the rest is listed.

use crate::{
    Layer, load, model,
    text::{tree::below, yaml},
};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The tools whose files are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// kubeadm: `ClusterConfiguration`, `InitConfiguration`, `KubeletConfiguration`, `KubeProxyConfiguration`.
    Kubeadm,
    /// k0sctl: `Cluster`.
    K0sctl,
}

/// A translated configuration.
#[derive(Debug, PartialEq)]
pub struct Imported {
    /// The configuration; valid, except for what needs a change according to the notes.
    pub config: Value,
    /// What was not translated, and why; and what needs a change.
    pub notes: Vec<String>,
}

/// Translates a file of another tool.
///
/// # Errors
/// If the text is not YAML, or no file of that tool.
pub fn import(tool: Tool, text: &str) -> Result<Imported, String> {
    let documents = yaml::documents(text).map_err(|e| e.to_string())?;
    let mut found = Translation::default();
    match tool {
        Tool::Kubeadm => kubeadm(documents, &mut found)?,
        Tool::K0sctl => k0sctl(documents, &mut found)?,
    }
    found.drop_refused();
    Ok(Imported { config: Value::Object(found.config), notes: found.notes })
}

/// Keys of kubeadm that have no counterpart, each with the reason.
const REASONS: [(&str, &str); 6] = [
    (".extraVolumes", "nodeinit mounts only the directories of the certificates and of its own files into the pod"),
    ("nodeRegistration.criSocket", "nodeinit uses containerd at /run/containerd/containerd.sock"),
    (
        "nodeRegistration.taints",
        "write `taints` in the entry of the machine in `masters` or `workers`, such as dedicated=db:NoSchedule",
    ),
    (
        "nodeRegistration.kubeletExtraArgs",
        "use `labels` and `address` of the machine's entry, `kubelet.config`, or KUBELET_EXTRA_ARGS in /etc/default/kubelet with `os.files`",
    ),
    ("apiServer.timeoutForControlPlane", "`timeouts` has a deadline for each kind of wait"),
    ("Configuration.timeouts", "`timeouts` has a deadline for each kind of wait"),
];

/// What has been translated so far.
#[derive(Default)]
struct Translation {
    config: Map<String, Value>,
    notes: Vec<String>,
}

impl Translation {
    /// Sets the value at a path of our keys, if there is one.
    fn set(&mut self, path: &str, value: Option<Value>) {
        let Some(value) = value.filter(|value| !value.is_null()) else { return };
        let mut keys = path.split('.').peekable();
        let mut map = &mut self.config;
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                map.insert(key.to_owned(), value);
                return;
            }
            let next = map.entry(key).or_insert_with(|| json!({}));
            let Value::Object(inner) = next else { return };
            map = inner;
        }
    }

    fn list(&mut self, path: &str) -> &mut Vec<Value> {
        let list = self.config.entry(path).or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([]);
        }
        match list {
            Value::Array(list) => list,
            _ => unreachable!("it is an array"),
        }
    }

    fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }

    /// Lists the keys that are left of the other tool's document.
    fn rest(&mut self, place: &str, rest: &Value) {
        let reason = REASONS.iter().find(|(key, _)| place.ends_with(key));
        match rest {
            _ if reason.is_some() && !rest.is_null() => {
                let reason = reason.map(|(_, reason)| *reason).unwrap_or_default();
                self.note(format!("{place} is not translated (it was {rest}): {reason}"));
            }
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                let path = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                self.rest(&path, value);
            }),
            Value::Null => {}
            _ => self.note(format!("{place} is not translated")),
        }
    }

    /// Removes values that nodeinit refuses, and lists them with the reason. Keeps what only another entry makes wrong, and entries that lack
    /// a value: they need a change.
    fn drop_refused(&mut self) {
        self.set("apiVersion", Some(json!(model::API_VERSION)));
        self.set("kind", Some(json!(model::KIND)));
        loop {
            let text = Value::Object(self.config.clone()).to_string();
            let Err(problems) = load(&[Layer::file("imported", text)]) else { return };
            let mut problems: Vec<_> =
                problems.errors.into_iter().map(|problem| (steps(&problem.path), problem)).collect();
            // The last entry of a list first: the indexes of the others stay true.
            problems.sort_by(|(a, _), (b, _)| b.cmp(a));
            let (mut removed, mut notes) = (Vec::<Vec<Step>>::new(), Vec::new());
            for (path, problem) in &problems {
                if removed.iter().any(|gone| path.starts_with(gone)) || !self.is_wrong_alone(path) {
                    continue;
                }
                if let Some(value) = remove(&mut self.config, path) {
                    let (what, remedy) = (&problem.what, &problem.remedy);
                    notes.push(format!("{} is left out (it was {value}): {what}; {remedy}", written(path)));
                    removed.push(path.clone());
                }
            }
            self.notes.extend(notes.into_iter().rev());
            // Each round removes at least one value, or is the last one.
            if removed.is_empty() {
                self.notes.extend(problems.iter().rev().map(|(_, problem)| {
                    let place = if problem.path.is_empty() { "the configuration" } else { &problem.path };
                    format!("{place} needs a change: {}; {}", problem.what, problem.remedy)
                }));
                return;
            }
        }
    }

    /// Whether the value at a path is also refused in a configuration that has no other value, except for the version of Kubernetes.
    fn is_wrong_alone(&self, path: &[Step]) -> bool {
        let start = self.config.get(match path.first() {
            Some(Step::Key(key)) => key,
            _ => return false,
        });
        let value = path[1..].iter().try_fold(start, |value, step| match step {
            Step::Key(key) => Some(value?.get(key)),
            Step::Index(index) => Some(value?.get(index)),
        });
        let Some(Some(value)) = value else { return false };
        let alone = path.iter().rev().fold(value.clone(), |value, step| match step {
            Step::Key(key) => json!({ key: value }),
            Step::Index(_) => json!([value]),
        });
        // Without an endpoint, each worker would be refused.
        let endpoint = json!({ "endpoint": "api.example.org" });
        let mut config = Map::from_iter([("controlPlane".to_owned(), endpoint)]);
        for key in ["apiVersion", "kind", "kubernetes"] {
            config.extend(self.config.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        config.extend(alone.as_object().cloned().unwrap_or_default());
        let first: Vec<Step> = path
            .iter()
            .map(|step| if matches!(step, Step::Index(_)) { Step::Index(0) } else { step.clone() })
            .collect();
        let Err(problems) = load(&[Layer::file("alone", Value::Object(config).to_string())]) else { return false };
        problems.errors.iter().any(|problem| steps(&problem.path) == first)
    }
}

/// A part of a path such as `masters[0].name` or `os.sysctls["vm.swappiness"]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Index(usize),
}

/// Reads a path as `below` writes it.
fn steps(path: &str) -> Vec<Step> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let (key, after) = quoted_key(quoted);
            steps.push(Step::Key(key));
            rest = after.strip_prefix(']').unwrap_or(after);
        } else if let Some((index, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            steps.push(index.parse().map_or_else(|_| Step::Key(index.to_owned()), Step::Index));
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            // At least one character, so that this ends.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let end = rest[first..].find(['.', '[']).map_or(rest.len(), |end| end + first);
            steps.push(Step::Key(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    steps
}

/// Reads a key up to its closing quote, with the escapes of `{:?}`. Returns it with the text behind the quote.
fn quoted_key(text: &str) -> (String, &str) {
    let (mut key, mut chars) = (String::new(), text.chars());
    while let Some(next) = chars.next() {
        match next {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => key.push('\n'),
                Some('r') => key.push('\r'),
                Some('t') => key.push('\t'),
                Some('0') => key.push('\0'),
                Some('u') => {
                    let digits: String = chars.by_ref().take_while(|c| *c != '}').filter(|c| *c != '{').collect();
                    key.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                other => key.extend(other),
            },
            _ => key.push(next),
        }
    }
    (key, chars.as_str())
}

fn written(path: &[Step]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Key(key) => below(&text, key),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}

/// Removes the value at a path. Returns it.
fn remove(config: &mut Map<String, Value>, path: &[Step]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let Some((Step::Key(first), inner)) = parents.split_first() else {
        return if let Step::Key(key) = last { config.remove(key) } else { None };
    };
    let parent = inner.iter().try_fold(config.get_mut(first)?, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })?;
    match (last, parent) {
        (Step::Key(key), Value::Object(map)) => map.remove(key),
        (Step::Index(index), Value::Array(list)) => (*index < list.len()).then(|| list.remove(*index)),
        _ => None,
    }
}

/// Takes the value at a path out of the other tool's document.
fn take(document: &mut Value, path: &str) -> Option<Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match rest {
        Some(rest) => take(document.get_mut(first)?, rest),
        None => document.as_object_mut()?.remove(first),
    }
}

fn take_text(document: &mut Value, path: &str) -> Option<String> {
    match take(document, path)? {
        Value::String(text) => Some(text),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// Takes flags: a map, or a list of names and values. Source: kubeadm.k8s.io/v1beta3 and v1beta4.
fn flags(document: &mut Value, path: &str, to: &str, found: &mut Translation) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut flags = Map::new();
    match take(document, path) {
        Some(Value::Object(map)) => {
            flags.extend(
                map.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), json!(text(value)))),
            );
        }
        Some(Value::Array(list)) => {
            for flag in &list {
                let (Some(name), Some(value)) = (flag.get("name").and_then(Value::as_str), flag.get("value")) else {
                    found.note(format!("{path}: {flag} is not translated: it needs a name and a value"));
                    continue;
                };
                if value.is_null() {
                    continue;
                }
                if let Some(earlier) = flags.insert(name.to_owned(), json!(text(value))) {
                    found.note(format!(
                        "{path}: {name} is repeated; only its last value is translated, {earlier} is left out"
                    ));
                }
            }
        }
        None | Some(Value::Null) => {}
        Some(other) => found.note(format!("{path} {other} is not translated: it is neither a map nor a list")),
    }
    if !flags.is_empty() {
        found.set(&format!("{to}.extraArgs"), Some(Value::Object(flags)));
    }
}

/// Takes the API's address.
fn api(document: &mut Value, path: &str, found: &mut Translation) {
    let Some(old) = take_text(document, path) else { return };
    found.note(format!(
        "controlPlane.endpoint is {path} ({old}) of the old cluster: change it, or remove it; the new cluster needs an address of its own"
    ));
    found.set("controlPlane.endpoint", Some(endpoint(old).into()));
}

/// Completes `host` to `host:port`.
fn endpoint(text: String) -> String {
    match text.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => text,
        _ => format!("{text}:6443"),
    }
}

fn kubeadm(documents: Vec<Value>, found: &mut Translation) -> Result<(), String> {
    let mut known = false;
    for mut document in documents {
        let kind = take_text(&mut document, "kind").unwrap_or_default();
        let version = take_text(&mut document, "apiVersion").unwrap_or_default();
        match kind.as_str() {
            "ClusterConfiguration" => kubeadm_cluster(&mut document, found),
            "InitConfiguration" | "JoinConfiguration" => kubeadm_machine(&kind, &mut document, found),
            "KubeletConfiguration" => found.set("kubelet.config", Some(std::mem::take(&mut document))),
            "KubeProxyConfiguration" => found.set("kubeProxy.config", Some(std::mem::take(&mut document))),
            "" if document.is_null() => continue,
            _ => {
                found.note(format!("the document {kind} ({version}) is not translated"));
                continue;
            }
        }
        known = true;
        found.rest(&kind, &document);
    }
    if known { Ok(()) } else { Err("there is no document of kubeadm, such as kind: ClusterConfiguration".to_owned()) }
}

fn kubeadm_cluster(document: &mut Value, found: &mut Translation) {
    // The default of old versions.
    if document["imageRepository"] == "k8s.gcr.io" {
        take(document, "imageRepository");
        found.note(
            "imageRepository k8s.gcr.io is not translated: it gets no new images; the default is registry.k8s.io",
        );
    }
    let mut same = |from: &str, to: &str| found.set(to, take(document, from));
    same("clusterName", "name");
    same("kubernetesVersion", "kubernetes.version");
    same("imageRepository", "images.repository");
    same("networking.podSubnet", "network.podCIDR");
    same("networking.serviceSubnet", "network.serviceCIDR");
    same("networking.dnsDomain", "network.dnsDomain");
    same("apiServer.certSANs", "controlPlane.certSANs");
    same("etcd.local.dataDir", "etcd.dataDirectory");
    api(document, "controlPlaneEndpoint", found);
    for (from, to) in [
        ("apiServer", "apiServer"),
        ("controllerManager", "controllerManager"),
        ("scheduler", "scheduler"),
        ("etcd.local", "etcd"),
    ] {
        flags(document, &format!("{from}.extraArgs"), to, found);
        if from != "etcd.local" {
            drop_flags_of_volumes(&document[from]["extraVolumes"], to, found);
        }
    }
    for (from, to) in [("dns.disabled", "addons.coreDNS"), ("proxy.disabled", "addons.kubeProxy")] {
        if take(document, from) == Some(json!(true)) {
            found.set(to, Some(json!(false)));
        }
    }
    if take_text(document, "certificatesDir").is_some_and(|directory| directory != "/etc/kubernetes/pki") {
        found.note("certificatesDir is not translated: nodeinit uses /etc/kubernetes/pki");
    }
    if take(document, "etcd.external").is_some() {
        found.note("etcd.external is not translated: nodeinit runs etcd on the masters");
    }
}

/// What nodeinit mounts into these components. Source: kubeadm's `phases/controlplane/volumes.go`.
const MOUNTED: [&str; 7] = [
    "/etc/kubernetes/pki",
    "/etc/ssl/certs",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/share/ca-certificates",
];

/// Leaves out flags that name a file in a volume: without the volume, the component finds no file and does not start.
fn drop_flags_of_volumes(volumes: &Value, to: &str, found: &mut Translation) {
    let text = |volume: &Value, key: &str| volume[key].as_str().map(str::to_owned);
    let volumes = volumes.as_array().into_iter().flatten();
    let paths: Vec<String> = volumes.flat_map(|v| [text(v, "mountPath"), text(v, "hostPath")]).flatten().collect();
    let volume_of = |value: &str| {
        let mut files = value.split([',', '=']).map(Path::new);
        let is_mounted = |file: &Path| MOUNTED.iter().any(|directory| file.starts_with(directory));
        files.find_map(|file| paths.iter().find(|path| file.starts_with(path) && !is_mounted(file)))
    };
    let Some(flags) = found.config.get_mut(to).and_then(|component| component.get_mut("extraArgs")?.as_object_mut())
    else {
        return;
    };
    let mut notes = Vec::new();
    flags.retain(|flag, value| {
        // nodeinit mounts the directory of the audit log.
        let volume = if flag == "audit-log-path" { None } else { volume_of(value.as_str().unwrap_or_default()) };
        let note = |volume| {
            format!(
                "{to}.extraArgs.{flag} is left out (it was {value}): the volume {volume} is not translated; put the file below \
                 /etc/kubernetes/pki on each master, and write the flag again"
            )
        };
        notes.extend(volume.map(note));
        volume.is_none()
    });
    found.notes.extend(notes);
}

/// The machine on which `kubeadm init` runs is the first master.
fn kubeadm_machine(kind: &str, document: &mut Value, found: &mut Translation) {
    // So kubeadm makes a master schedulable.
    if document["nodeRegistration"]["taints"] == json!([]) {
        take(document, "nodeRegistration.taints");
        found.set("controlPlane.schedulable", Some(json!(true)));
    }
    let name = take_text(document, "nodeRegistration.name");
    let address = take(document, "localAPIEndpoint.advertiseAddress");
    let address = address.or_else(|| take(document, "controlPlane.localAPIEndpoint.advertiseAddress"));
    take(document, "localAPIEndpoint.bindPort").filter(|port| *port != json!(6443)).into_iter().for_each(|port| {
        found.note(format!("localAPIEndpoint.bindPort {port} is not translated: API servers listen on port 6443"));
    });
    for secret in ["bootstrapTokens", "certificateKey", "discovery"] {
        if take(document, secret).is_some() {
            found.note(format!("{kind}.{secret} is not translated: nodeinit makes its own tokens and keys"));
        }
    }
    let Some(name) = name else {
        let address = address.filter(|address| !address.is_null());
        let address = address.map(|address| format!(" (its address is {address})")).unwrap_or_default();
        found.note(format!("{kind} names no machine{address}: list the machines in `masters` and `workers`"));
        return;
    };
    let is_master = kind == "InitConfiguration" || address.is_some();
    let machine = match address {
        Some(address) => json!({ "name": name, "address": address }),
        None => json!({ "name": name }),
    };
    let list = found.list(if is_master { "masters" } else { "workers" });
    if kind == "InitConfiguration" { list.insert(0, machine) } else { list.push(machine) }
}

fn k0sctl(documents: Vec<Value>, found: &mut Translation) -> Result<(), String> {
    let mut known = false;
    for mut document in documents {
        let kind = take_text(&mut document, "kind").unwrap_or_default();
        let version = take_text(&mut document, "apiVersion").unwrap_or_default();
        match (version.split('/').next().unwrap_or_default(), kind.as_str()) {
            ("k0sctl.k0sproject.io", _) if !known => {
                known = true;
                k0sctl_cluster(&mut document, found);
            }
            ("k0s.k0sproject.io", "ClusterConfig") => k0s_config(document, &kind, found),
            _ if document.is_null() => {}
            _ => found.note(format!("the document {kind} ({version}) is not translated")),
        }
    }
    if known { Ok(()) } else { Err("there is no document with apiVersion k0sctl.k0sproject.io/…".to_owned()) }
}

fn k0sctl_cluster(document: &mut Value, found: &mut Translation) {
    found.set("name", take(document, "metadata.name"));
    let version = take_text(document, "spec.k0s.version");
    let version =
        version.map(|text| format!("v{}", text.trim_start_matches('v').split('+').next().unwrap_or_default()));
    found.set("kubernetes.version", version.map(Value::from));
    if let Some(mut config) = take(document, "spec.k0s.config") {
        for key in ["apiVersion", "kind"] {
            take(&mut config, key);
        }
        k0s_config(config, "spec.k0s.config", found);
    }
    let hosts = take(document, "spec.hosts");
    for (index, mut host) in hosts.as_ref().and_then(Value::as_array).into_iter().flatten().cloned().enumerate() {
        let place = format!("spec.hosts[{index}]");
        k0sctl_host(&mut host, &place, found);
        found.rest(&place, &host);
    }
    found.rest("", document);
}

fn k0s_config(mut config: Value, place: &str, found: &mut Translation) {
    // The name of every configuration of k0s is `k0s`.
    take(&mut config, "metadata.name");
    take(&mut config, "metadata.namespace");
    let mut spec = take(&mut config, "spec").unwrap_or_default();
    k0s(&mut spec, found);
    found.rest(&format!("{place}.spec"), &spec);
    found.rest(place, &config);
}

/// Source: k0s.k0sproject.io/v1beta1, `ClusterConfig`.
fn k0s(spec: &mut Value, found: &mut Translation) {
    let mut same = |from: &str, to: &str| found.set(to, take(spec, from));
    same("api.sans", "controlPlane.certSANs");
    same("network.podCIDR", "network.podCIDR");
    same("network.serviceCIDR", "network.serviceCIDR");
    same("network.clusterDomain", "network.dnsDomain");
    api(spec, "api.externalAddress", found);
    for (from, to) in [("api", "apiServer"), ("controllerManager", "controllerManager"), ("scheduler", "scheduler")] {
        flags(spec, &format!("{from}.extraArgs"), to, found);
    }
    match take_text(spec, "network.provider").as_deref() {
        Some("custom") => found.set("addons.cni", Some(json!("none"))),
        Some(provider) => {
            found.note(format!("network.provider {provider} is not translated: nodeinit installs flannel"))
        }
        None => {}
    }
}

fn k0sctl_host(host: &mut Value, place: &str, found: &mut Translation) {
    let role = take_text(host, "role").unwrap_or_default();
    let ssh_address = take(host, "ssh.address").or_else(|| take(host, "openSSH.address"));
    let ssh_address = ssh_address.filter(|address| !address.is_null());
    let private = take(host, "privateAddress").filter(|address| !address.is_null());
    let list = if role == "worker" { "workers" } else { "masters" };
    match role.as_str() {
        "single" => found.set("controlPlane.schedulable", Some(json!(true))),
        "controller+worker" => found.note(format!(
            "{place}.role {role} is translated to a master that runs no other pods; to let all masters run them, set `controlPlane.schedulable: true`"
        )),
        _ => {}
    }
    let number = found.list(list).len() + 1;
    let name = take_text(host, "hostname").unwrap_or_else(|| format!("{}-{number}", list.trim_end_matches('s')));
    let mut machine = json!({ "name": name });
    let mut ssh = Map::new();
    match (private, ssh_address) {
        (Some(private), Some(address)) if private != address => {
            machine["address"] = private;
            ssh.insert("address".to_owned(), address);
        }
        (private, address) => {
            if let Some(address) = private.or(address) {
                machine["address"] = address;
            }
        }
    }
    for key in ["user", "port"] {
        ssh.extend(take(host, &format!("ssh.{key}")).map(|value| (key.to_owned(), value)));
    }
    if let Some(path) = take_text(host, "ssh.keyPath") {
        found.note(format!(
            "{place}.ssh.keyPath {path} is not translated: it is a file on your workstation; `ssh.keyFile` is one on the first master"
        ));
    }
    if !ssh.is_empty() {
        machine["ssh"] = Value::Object(ssh);
    }
    found.list(list).push(machine);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeadm_files_of_both_versions_are_translated() {
        let text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n\
            nodeRegistration: {name: m1}\nlocalAPIEndpoint: {advertiseAddress: 10.0.0.11, bindPort: 6443}\n---\n\
            apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: prod\nkubernetesVersion: v1.36.4\n\
            controlPlaneEndpoint: api.example.org\nnetworking: {podSubnet: 10.8.0.0/16}\n\
            apiServer: {extraArgs: [{name: event-ttl, value: 2h}], certSANs: [api.example.org], extraVolumes: [{name: x}]}\n\
            etcd: {local: {dataDir: /var/lib/etcd2, extraArgs: [{name: quota-backend-bytes, value: \"1\"}]}}\nproxy: {disabled: true}\n---\n\
            apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\nstaticPodPath: /elsewhere\n";
        let Imported { config, notes } = import(Tool::Kubeadm, text).unwrap();
        let value = |path: &str| config.pointer(path).cloned().unwrap_or_default();
        assert_eq!(value("/name"), "prod");
        assert_eq!(value("/kubernetes/version"), "v1.36.4");
        assert_eq!(value("/controlPlane/endpoint"), "api.example.org:6443");
        assert_eq!(value("/network/podCIDR"), "10.8.0.0/16");
        assert_eq!(value("/apiServer/extraArgs/event-ttl"), "2h");
        assert_eq!(value("/etcd/dataDirectory"), "/var/lib/etcd2");
        assert_eq!(value("/addons/kubeProxy"), false);
        assert_eq!(value("/masters/0"), json!({"name": "m1", "address": "10.0.0.11"}));
        assert_eq!(value("/kubelet/config/maxPods"), 50);
        assert_eq!(value("/kubelet/config/staticPodPath"), Value::Null, "nodeinit sets it itself: {notes:?}");
        let said = |part: &str| notes.iter().any(|note| note.contains(part));
        assert!(
            said("apiServer.extraVolumes is not translated") && said("kubelet.config.staticPodPath is left out"),
            "{notes:?}"
        );
        load(&[Layer::file("imported", config.to_string())]).unwrap();

        let older =
            "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nscheduler: {extraArgs: {v: \"4\"}}\n";
        let Imported { config: older, notes } = import(Tool::Kubeadm, older).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(older.pointer("/scheduler/extraArgs/v"), Some(&json!("4")));
        assert!(import(Tool::Kubeadm, "kind: Pod\n").is_err());
    }

    #[test]
    fn k0sctl_hosts_become_machines() {
        let text = "apiVersion: k0sctl.k0sproject.io/v1beta1\nkind: Cluster\nmetadata: {name: k0s}\nspec:\n  hosts:\n\
            \x20 - {role: controller, privateAddress: 10.0.0.11, ssh: {address: 192.0.2.11, user: debian, port: 22, keyPath: /root/key}}\n\
            \x20 - {role: worker, hostname: w1, ssh: {address: 10.0.0.21}, installFlags: [--debug]}\n\
            \x20 k0s:\n    version: 1.30.0+k0s.0\n    config: {spec: {network: {podCIDR: 10.9.0.0/16, provider: calico}}}\n";
        let Imported { config, notes } = import(Tool::K0sctl, text).unwrap();
        let value = |path: &str| config.pointer(path).cloned().unwrap_or_default();
        let ssh = json!({"address": "192.0.2.11", "user": "debian", "port": 22});
        assert_eq!(value("/masters/0"), json!({"name": "master-1", "address": "10.0.0.11", "ssh": ssh}));
        assert_eq!(value("/workers/0"), json!({"name": "w1", "address": "10.0.0.21"}));
        assert_eq!(value("/ssh"), Value::Null);
        assert_eq!(value("/network/podCIDR"), "10.9.0.0/16");
        let said = |part: &str| notes.iter().any(|note| note.contains(part));
        assert!(said("kubernetes.version is left out") && said("calico"), "{notes:?}");
        assert!(said("installFlags") && said("ssh.keyPath /root/key is not translated"), "{notes:?}");
    }

    #[test]
    fn all_documents_of_k0sctl_are_translated_or_noted() {
        let text = "apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\nmetadata: {name: k0s}\n\
            spec: {api: {externalAddress: old.example.org, sans: [a.example.org]}, storage: {type: etcd}}\n---\n\
            apiVersion: k0sctl.k0sproject.io/v1beta1\nkind: Cluster\nspec:\n  hosts:\n\
            \x20 - {role: controller+worker, hostname: m1}\n\
            \x20 k0s: {config: {status: x, spec: {network: {podCIDR: 10.9.0.0/16}}}}\n---\n\
            apiVersion: v1\nkind: Secret\n";
        let Imported { config, notes } = import(Tool::K0sctl, text).unwrap();
        let value = |path: &str| config.pointer(path).cloned().unwrap_or_default();
        assert_eq!(value("/masters/0"), json!({"name": "m1"}));
        assert_eq!(value("/controlPlane"), json!({"endpoint": "old.example.org:6443", "certSANs": ["a.example.org"]}));
        assert_eq!(value("/network/podCIDR"), "10.9.0.0/16");
        let said = |part: &str| assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
        said("externalAddress (old.example.org) of the old cluster");
        said("role controller+worker");
        said("ClusterConfig.spec.storage.type is not translated");
        said("spec.k0s.config.status is not translated");
        said("the document Secret (v1) is not translated");
        let single = "apiVersion: k0sctl.k0sproject.io/v1beta1\nkind: Cluster\nspec: {hosts: [{role: single}]}\n";
        let single = import(Tool::K0sctl, single).unwrap().config;
        assert_eq!(single.pointer("/controlPlane/schedulable"), Some(&json!(true)));
    }

    #[test]
    fn what_kubeadm_has_and_nodeinit_cannot_use_is_noted() {
        let text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n\
            localAPIEndpoint: {advertiseAddress: 10.0.0.11}\n---\n\
            apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nimageRepository: k8s.gcr.io\n\
            controlPlaneEndpoint: api.example.org:6443\n\
            apiServer: {extraArgs: [{name: v, value: \"2\"}, {name: v, value: \"4\"}, {name: event-ttl}, \
            {name: profiling, value: null}]}\n";
        let Imported { config, notes } = import(Tool::Kubeadm, text).unwrap();
        assert_eq!(config["apiServer"]["extraArgs"], json!({"v": "4"}));
        assert_eq!(config.get("images"), None);
        let said = |part: &str| assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
        said("names no machine (its address is \"10.0.0.11\")");
        said("imageRepository k8s.gcr.io is not translated");
        said("controlPlaneEndpoint (api.example.org:6443) of the old cluster");
        said("v is repeated");
        said(r#"{"name":"event-ttl"} is not translated"#);
        assert!(!notes.iter().any(|note| note.contains("profiling")), "{notes:?}");
    }

    #[test]
    fn only_the_refused_entry_of_a_list_is_left_out() {
        let mut found = Translation::default();
        let machine = |name: &str, address: &str| json!({ "name": name, "address": address });
        found.set("controlPlane.certSANs", Some(json!(["a.example.org", "b.example.org", "not a name"])));
        found.set(
            "masters",
            Some(json!([machine("m1", "10.0.0.11"), machine("M_2", "10.0.0.12"), machine("m3", "10.0.0.13")])),
        );
        found.set("os.sysctls", Some(json!({ "vm.swappiness": "10", "vm.no\"such": {} })));
        found.drop_refused();
        let config = Value::Object(found.config);
        assert_eq!(config["controlPlane"]["certSANs"], json!(["a.example.org", "b.example.org"]));
        let unnamed = json!({ "address": "10.0.0.12" });
        assert_eq!(config["masters"], json!([machine("m1", "10.0.0.11"), unnamed, machine("m3", "10.0.0.13")]));
        assert_eq!(config["os"]["sysctls"], json!({ "vm.swappiness": "10" }));
        let said =
            |part: &str| assert!(found.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", found.notes);
        said("controlPlane.certSANs[2] is left out (it was \"not a name\")");
        said("masters[1].name is left out (it was \"M_2\")");
        said("masters[1].name needs a change: missing");
        said(r#"os.sysctls["vm.no\"such"] is left out (it was {})"#);
    }

    #[test]
    fn a_machine_stays_if_it_lacks_a_value_or_another_entry_is_wrong() {
        let hosts = |hosts: &str| {
            let text = format!("apiVersion: k0sctl.k0sproject.io/v1beta1\nkind: Cluster\nspec: {{hosts: [{hosts}]}}\n");
            import(Tool::K0sctl, &text).unwrap()
        };
        let names = hosts(
            "{role: controller, ssh: {address: m1.example.org}}, {role: controller, ssh: {address: m2.example.org}}, \
             {role: worker, hostname: w1, ssh: {address: w1.example.org}}",
        );
        assert_eq!(names.config["masters"], json!([{"name": "master-1"}, {"name": "master-2"}]));
        assert_eq!(names.config["workers"], json!([{"name": "w1"}]));
        let said =
            |notes: &[String], part: &str| assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
        said(&names.notes, "masters[0].address is left out (it was \"m1.example.org\")");
        said(&names.notes, "masters[1].address is left out (it was \"m2.example.org\")");
        said(&names.notes, "workers[0].address is left out (it was \"w1.example.org\")");
        said(&names.notes, "masters[1].address needs a change: missing");

        let local = hosts(
            "{role: controller, localhost: {enabled: true}}, {role: worker, hostname: w1, ssh: {address: 10.0.0.21}}, \
             {role: worker, hostname: w2, ssh: {address: 10.0.0.22}}",
        );
        let worker = |name: &str, address: &str| json!({ "name": name, "address": address });
        assert_eq!(local.config["masters"], json!([{"name": "master-1"}]));
        assert_eq!(local.config["workers"], json!([worker("w1", "10.0.0.21"), worker("w2", "10.0.0.22")]));
        said(&local.notes, "needs a change");

        let twice = hosts("{role: worker, hostname: w1}, {role: worker, hostname: w1}");
        assert_eq!(twice.config["workers"], json!([{"name": "w1"}, {"name": "w1"}]));
        said(&twice.notes, "workers[1].name needs a change: w1 is already");
    }

    #[test]
    fn flags_that_need_a_volume_are_left_out_and_each_known_key_has_a_reason() {
        let text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\nnodeRegistration: {name: m1, \
            criSocket: \"unix:///run/crio/crio.sock\", taints: [{key: a, effect: NoSchedule}], \
            kubeletExtraArgs: {node-ip: 10.0.0.11}}\nlocalAPIEndpoint: {advertiseAddress: 10.0.0.11}\n---\n\
            apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\napiServer:\n  timeoutForControlPlane: 4m0s\n  \
            extraArgs: {audit-policy-file: /etc/audit/policy.yaml, audit-log-path: /var/log/auditing.log, event-ttl: 2h}\n  \
            extraVolumes: [{name: audit, hostPath: /srv/audit, mountPath: /etc/audit}, {name: log, hostPath: /var/log/audit, mountPath: /var/log/audit}]\n";
        let Imported { config, notes } = import(Tool::Kubeadm, text).unwrap();
        let kept = json!({ "audit-log-path": "/var/log/auditing.log", "event-ttl": "2h" });
        assert_eq!(config["apiServer"]["extraArgs"], kept, "a volume is a whole path: {notes:?}");
        let said = |part: &str| assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
        said(
            "apiServer.extraArgs.audit-policy-file is left out (it was \"/etc/audit/policy.yaml\"): the volume /etc/audit",
        );
        for key in [
            "apiServer.extraVolumes",
            "apiServer.timeoutForControlPlane",
            "nodeRegistration.criSocket",
            "nodeRegistration.taints",
            "nodeRegistration.kubeletExtraArgs",
        ] {
            said(&format!("{key} is not translated (it was "));
        }
        let flags: Vec<_> = notes.iter().filter(|note| note.contains("node-ip")).collect();
        assert!(flags.len() == 1 && flags[0].contains("10.0.0.11"), "one note for all flags: {notes:?}");
    }

    #[test]
    fn files_that_nodeinit_mounts_and_an_empty_list_of_taints_are_translated() {
        let text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\nnodeRegistration: {name: m1, taints: []}\n\
            localAPIEndpoint: {advertiseAddress: 10.0.0.11}\n---\n\
            apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\napiServer:\n  \
            extraArgs: {audit-log-path: /var/log/k8s/audit.log, oidc-ca-file: /etc/kubernetes/pki/oidc/ca.pem}\n  \
            extraVolumes: [{name: log, hostPath: /var/log/k8s, mountPath: /var/log/k8s}, {name: oidc, hostPath: /etc/kubernetes/pki/oidc, \
            mountPath: /etc/kubernetes/pki/oidc}]\n";
        let Imported { config, notes } = import(Tool::Kubeadm, text).unwrap();
        let kept =
            json!({ "audit-log-path": "/var/log/k8s/audit.log", "oidc-ca-file": "/etc/kubernetes/pki/oidc/ca.pem" });
        assert_eq!(config["apiServer"]["extraArgs"], kept, "{notes:?}");
        assert_eq!(config["controlPlane"]["schedulable"], json!(true));
        assert!(!notes.iter().any(|note| note.contains("taints")), "{notes:?}");
    }

    #[test]
    fn what_cannot_be_left_out_is_noted() {
        let mut found = Translation::default();
        found.set("openstack.flavor", Some(json!("small")));
        found.drop_refused();
        assert!(found.notes.iter().any(|note| note.contains("needs a change")), "{:?}", found.notes);
    }
}
