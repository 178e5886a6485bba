//! The part of the configuration that a machine receives.

use crate::{
    keys::{API_VERSION, CLUSTER, KIND},
    layer::Layer,
    load::{Loaded, load},
    model::{
        Machine,
        declare::place::{Place, keys},
        field::{Audience, Field, Kind},
    },
    problem::{Mark, Problems},
    text::{
        emit,
        tree::{Entry, Value, YamlNode},
    },
};
use std::{collections::BTreeMap, fmt::Write, net::IpAddr};

/// The position of a value that is neither in a file nor a default.
const WRITTEN: Mark = Mark { layer: 0, line: 1, column: 1 };

/// What a worker needs to join, in addition to the configuration. Not secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The addresses of the API as `host:port`, tried in turn. The first becomes `controlPlane.endpoint`.
    pub endpoints: Vec<String>,
    /// The cluster's CA, as PEM.
    pub ca_certificate: String,
    /// The digest of its public key: `sha256:` and hex.
    pub ca_pin: String,
}

/// The values that are known only after the cloud has created the machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Addresses of machines without a configured address, by name.
    pub addresses: BTreeMap<String, IpAddr>,
    /// The load balancer in front of the masters, for a configuration without `controlPlane.endpoint`.
    pub endpoint: Option<IpAddr>,
    /// Further addresses of the API.
    pub cert_sans: Vec<IpAddr>,
    /// Whether workers join on their own, without SSH from the first master. It keeps the configured addresses, so that no other machine
    /// can get a certificate for them.
    pub workers_self_join: bool,
}

impl Loaded {
    /// Returns the same cluster with the values from the cloud.
    ///
    /// # Errors
    /// If both are inconsistent, such as an address that two machines have.
    pub fn made(&self, made: &Made) -> Result<Self, Problems> {
        let mut tree = self.tree.clone();
        let plain = |text: &dyn ToString| YamlNode::text(WRITTEN, text.to_string());
        let lists = [(keys().masters().path, false), (keys().workers().path, made.workers_self_join)];
        for (list, join_on_their_own) in lists {
            let Some(Value::List(machines)) = tree.get_mut(&list).map(|node| &mut node.value) else { continue };
            for node in machines {
                let machine = Place::<Machine>::of_tree(node);
                let known = made.addresses.get(&machine.name().value().unwrap_or_default());
                let (own, ssh) = (machine.address(), machine.ssh());
                let is_written = own.written().is_some();
                let set = match known {
                    _ if join_on_their_own && (is_written || ssh.address().written().is_some()) => {
                        Some((ssh.enabled().path, plain(&false)))
                    }
                    Some(address) if !join_on_their_own && !is_written => Some((own.path, plain(address))),
                    _ => None,
                };
                if let Some((path, value)) = set {
                    node.set(&path, value);
                }
            }
        }
        let (control_plane, plane) = (&self.cluster.control_plane, keys().control_plane());
        if let (None, Some(endpoint)) = (&control_plane.endpoint, made.endpoint) {
            tree.set(&plane.endpoint().path, plain(&endpoint));
        }
        if !made.cert_sans.is_empty() {
            let named = control_plane.cert_sans.iter().map(|name| plain(name));
            let all = named.chain(made.cert_sans.iter().map(|address| plain(address))).collect();
            tree.set(&plane.cert_sans().path, YamlNode { value: Value::List(all), ..plain(&"") });
        }
        let made = Layer::file("the values from the cloud", text(tree));
        load(&[vec![made], self.releases.clone()].concat())
    }

    /// Returns a master's configuration: the keys that masters receive, without defaults.
    #[must_use]
    pub fn master_config(&self) -> String {
        text(self.part(self.tree.clone(), Audience::Masters))
    }

    /// Returns what all masters share of the configuration, without the version of Kubernetes, which an upgrade changes machine by machine.
    #[must_use]
    pub fn shared_config(&self) -> String {
        let mut tree = self.part(self.tree.clone(), Audience::Masters);
        tree.remove(&keys().kubernetes().version().path);
        text(tree)
    }

    /// Returns a worker's configuration: the keys that workers receive, with the values of its role and its entry, and its trust. `None` if
    /// no worker has this name.
    #[must_use]
    pub fn worker_config(&self, name: &str, trust: &Trust) -> Option<String> {
        let mut tree = self.part(self.machine_tree(name), Audience::Workers);
        let all = keys();
        let workers = Place::document(&tree).workers().items();
        let own = workers.iter().find(|worker| worker.name().value().as_deref() == Some(name))?.written()?.clone();
        let at = own.at;
        let quoted = |text: &str| YamlNode { at, value: Value::Scalar { text: text.to_owned(), quoted: true } };
        let list = |items: Vec<YamlNode>| YamlNode { at, value: Value::List(items) };
        tree.set(&all.workers().path, list(vec![own]));
        tree.set(&all.control_plane().endpoint().path, quoted(trust.endpoints.first()?));
        let join = all.join();
        tree.set(&join.path, YamlNode::map(at));
        tree.set(&join.ca_certificate().path, quoted(&trust.ca_certificate));
        tree.set(&join.ca_pins().path, list(vec![quoted(&trust.ca_pin)]));
        self.list_machines(&mut tree, at);
        if trust.endpoints.len() > 1 {
            let endpoints = trust.endpoints.iter().map(|endpoint| quoted(endpoint));
            tree.set(&join.endpoints().path, list(endpoints.collect()));
        }
        Some(text(tree))
    }

    /// Returns the configuration of the bastion: its own section and that of its operating system. `None` if nodeinit sets up none.
    #[must_use]
    pub fn bastion_config(&self) -> Option<String> {
        let name = &self.cluster.bastion.as_ref()?.name;
        let (mut tree, all) = (self.part(self.machine_tree(name), Audience::Masters), keys());
        let kept = [all.name().path, all.bastion().path, all.os().path, all.timeouts().path];
        if let Value::Map(entries) = &mut tree.value {
            entries.retain(|entry| kept.contains(&entry.key));
        }
        self.list_machines(&mut tree, WRITTEN);
        Some(text(tree))
    }

    /// Adds the addresses of all machines to `os.hosts.extra` if `os.hosts.machines` is set: workers and the bastion do not receive the lists
    /// of machines.
    fn list_machines(&self, tree: &mut YamlNode, at: Mark) {
        let hosts = Place::document(tree).os().hosts();
        if hosts.machines().value() != Some(true) {
            return;
        }
        let path = hosts.extra().path;
        let mut extra = tree.get(&path).cloned().unwrap_or_else(|| YamlNode::map(at));
        if let Value::Map(entries) = &mut extra.value {
            for machine in self.cluster.masters.iter().chain(&self.cluster.workers) {
                let is_new = entries.iter().all(|entry| entry.key != machine.name);
                if let Some(address) = machine.address.filter(|_| is_new) {
                    let node = YamlNode::text(at, address.to_string());
                    entries.push(Entry { key: machine.name.clone(), at, node });
                }
            }
        }
        tree.set(&path, extra);
    }

    /// Returns the keys of a tree that a kind of machines receives. Includes defaults that depend on the cloud, and those that all machines of a
    /// cluster must share, because they may run different versions of nodeinit.
    fn part(&self, mut tree: YamlNode, audience: Audience) -> YamlNode {
        let all = keys();
        let metadata = all.network().pods_may_read_metadata().path;
        if self.cluster.openstack.is_some() && tree.get(&metadata).is_none() {
            tree.set(&metadata, YamlNode::text(WRITTEN, "false"));
        }
        if let Some(bastion) = &self.cluster.bastion {
            tree.set(&all.bastion().name().path, YamlNode::text(WRITTEN, bastion.name.clone()));
            tree.set(&all.bastion().network().path, YamlNode::text(WRITTEN, bastion.network.to_string()));
        }
        for key in [all.agent().enabled().path, all.kubernetes().version().path] {
            if let Some(text) = tree.get(&key).and_then(YamlNode::scalar).map(str::to_owned) {
                tree.set(&key, YamlNode::text(WRITTEN, text));
            }
        }
        retain(&mut tree, CLUSTER, audience);
        tree
    }
}

/// Keeps the keys that these machines receive.
fn retain(node: &mut YamlNode, fields: &[Field], audience: Audience) {
    let Value::Map(entries) = &mut node.value else { return };
    entries.retain_mut(|entry| {
        let Some(field) = fields.iter().find(|field| field.key == entry.key) else { return false };
        match (field.kind, &mut entry.node.value) {
            (Kind::List(Kind::Group(inner)), Value::List(items)) => {
                items.iter_mut().for_each(|item| retain(item, inner, audience));
            }
            (Kind::Group(inner) | Kind::Over(inner), _) => retain(&mut entry.node, inner, audience),
            _ => {}
        }
        field.audience == Audience::All || field.audience == audience
    });
}

/// Writes the tree as YAML, without defaults.
fn text(mut tree: YamlNode) -> String {
    prune(&mut tree);
    if let Value::Map(entries) = &mut tree.value {
        entries.retain(|entry| !["apiVersion", "kind"].contains(&entry.key.as_str()));
    }
    let mut lines = Vec::new();
    emit::lines(&tree, 0, &mut lines);
    let head = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n");
    lines.into_iter().fold(head, |mut text, line| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", line.text);
        text
    })
}

/// Removes values from the built-in defaults.
fn prune(node: &mut YamlNode) {
    if let Value::Map(entries) = &mut node.value {
        entries.iter_mut().for_each(|entry| prune(&mut entry.node));
        entries.retain(|entry| match &entry.node.value {
            Value::Map(inner) => !inner.is_empty(),
            _ => entry.node.at != Mark::DEFAULT,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: demo\n\
        controlPlane: {endpoint: \"api.example.org:6443\"}\n\
        masters: [{name: m1, address: 10.9.0.1}, {name: m2, address: 10.9.0.2, labels: {rack: \"07\"}}]\n\
        workers: [{name: w1, address: 10.9.0.3, ssh: {port: 23}}, {name: w2, labels: {a: \"true\"}}]\n\
        etcd: {extraArgs: {snapshot-count: 5}}\nkubelet: {config: {maxPods: 50, featureGates: {A: true}}}\n";

    fn part(text: &str) -> crate::cluster::Cluster {
        load(&[Layer::file("part.yaml", text)]).unwrap_or_else(|p| panic!("{p}\n{text}")).cluster
    }

    #[test]
    fn a_master_receives_everything() {
        let whole = load(&[Layer::file("cluster.yaml", WHOLE)]).unwrap();
        assert_eq!(part(&whole.master_config()), whole.cluster);
        assert!(whole.cluster.network.pods_may_read_metadata);
        assert!(!whole.master_config().contains("timeouts"));
    }

    #[test]
    fn masters_with_the_same_configuration_agree_about_what_they_share() {
        let own = Layer::file("cluster.yaml", WHOLE.replace("name: demo", "kubernetes: {version: v1.36.4}"));
        let more = Layer::file(
            "50.yaml",
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubelet: {config: {maxPods: 60}}\nname: demo\n",
        );
        let first = load(&[own.clone(), more]).unwrap();
        let other =
            load(&[Layer::file("config.yaml", format!("# Written by nodeinit\n{}", first.master_config()))]).unwrap();
        assert_eq!(other.shared_config(), first.shared_config());
        let next = load(&[Layer::file("config.yaml", first.master_config().replace("v1.36.4", "v1.37.1"))]).unwrap();
        assert_eq!(next.shared_config(), first.shared_config(), "the version does not count");
        assert_ne!(load(&[own]).unwrap().shared_config(), first.shared_config());
    }

    #[test]
    fn every_machine_knows_whether_there_is_an_agent() {
        let trust = Trust { endpoints: vec!["a:6443".into()], ca_certificate: "x".into(), ca_pin: "x".into() };
        for (own, wanted) in [("", "enabled: true"), ("agent: {enabled: false}\n", "enabled: false")] {
            let whole = load(&[Layer::file("cluster.yaml", format!("{WHOLE}{own}"))]).unwrap();
            for text in [whole.master_config(), whole.worker_config("w2", &trust).unwrap()] {
                assert!(text.contains(&format!("agent:\n  {wanted}\n")), "{text}");
                assert!(text.contains(&format!("kubernetes:\n  version: {}\n", crate::releases::DEFAULT)), "{text}");
            }
        }
    }

    #[test]
    fn values_from_the_cloud_fill_the_gaps() {
        let whole = load(&[Layer::file(
            "cluster.yaml",
            WHOLE.replace(
                "controlPlane: {endpoint: \"api.example.org:6443\"}\n",
                "controlPlane: {certSANs: [a.example.org]}\n",
            ),
        )])
        .unwrap();
        let mut made = Made {
            addresses: [("m1", "10.9.0.99"), ("w2", "10.9.0.4")].map(|(n, a)| (n.into(), a.parse().unwrap())).into(),
            endpoint: "10.9.0.100".parse().ok(),
            cert_sans: vec!["192.0.2.7".parse().unwrap()],
            workers_self_join: false,
        };
        let cluster = whole.made(&made).unwrap().cluster;
        let addresses = |machines: &[crate::cluster::Machine]| -> Vec<_> {
            machines.iter().map(|m| m.address.map(|a| a.to_string()).unwrap_or_default()).collect()
        };
        assert_eq!(addresses(&cluster.masters), ["10.9.0.1", "10.9.0.2"], "configured addresses take precedence");
        assert_eq!(addresses(&cluster.workers), ["10.9.0.3", "10.9.0.4"]);
        assert_eq!(cluster.control_plane.endpoint.unwrap().to_string(), "10.9.0.100:6443");
        assert_eq!(cluster.control_plane.cert_sans, ["a.example.org", "192.0.2.7"]);
        made.workers_self_join = true;
        let cluster = whole.made(&made).unwrap().cluster;
        assert_eq!(addresses(&cluster.workers), ["10.9.0.3", ""]);
        let over_ssh = |machine: &crate::cluster::Machine| machine.ssh.enabled;
        assert!(!over_ssh(&cluster.workers[0]) && cluster.masters.iter().all(over_ssh));
    }

    #[test]
    fn no_machine_receives_the_cloud() {
        let cloud =
            "openstack: {clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, network: {name: n}}\n";
        let whole = format!("{WHOLE}{cloud}").replace("{name: w2,", "{name: w2, flavor: large, availabilityZone: az1,");
        let loaded = load(&[Layer::file("cluster.yaml", whole)]).unwrap();
        let trust = Trust {
            endpoints: vec!["api:6443".into()],
            ca_certificate: crate::format::PEM_CERTIFICATE.example.into(),
            ca_pin: format!("sha256:{}", "0".repeat(64)),
        };
        for text in [loaded.master_config(), loaded.worker_config("w2", &trust).unwrap()] {
            assert_eq!(part(&text).openstack, None);
            assert!(!part(&text).network.pods_may_read_metadata, "{text}");
            for word in ["openstack", "flavor", "availabilityZone"] {
                assert!(!text.contains(word), "{word} in {text}");
            }
        }
    }

    #[test]
    fn a_worker_receives_its_merged_values_and_a_master_those_of_all_machines() {
        let roles = "os: {timezone: Etc/GMT+1, hosts: {machines: false}}\n\
            roles: {worker: {os: {timezone: Etc/GMT+2, openFiles: 2048}}, master: {os: {openFiles: 4096}}}\n";
        let text = WHOLE.replace("{name: w1,", "{name: w1, os: {hosts: {machines: true}, openFiles: 1024},");
        let whole = load(&[Layer::file("cluster.yaml", format!("{text}{roles}"))]).unwrap();
        let trust = Trust {
            endpoints: vec!["a:6443".into()],
            ca_certificate: crate::format::PEM_CERTIFICATE.example.into(),
            ca_pin: format!("sha256:{}", "0".repeat(64)),
        };
        for (worker, open_files, lists_machines) in [("w1", 1024, true), ("w2", 2048, false)] {
            let text = whole.worker_config(worker, &trust).unwrap();
            assert!(!text.contains("roles") && !text.contains("4096"), "{text}");
            let os = part(&text).os;
            assert_eq!((os.timezone.as_deref(), os.open_files), (Some("Etc/GMT+2"), Some(open_files)), "{text}");
            assert_eq!(os.hosts.extra.contains_key("m1"), lists_machines, "{text}");
        }
        let sent = load(&[Layer::file("config.yaml", whole.master_config())]).unwrap();
        assert_eq!(sent.cluster, whole.cluster);
        for machine in ["m1", "m2", "w1"] {
            assert_eq!(sent.of_machine(machine).unwrap().cluster.os, whole.of_machine(machine).unwrap().cluster.os);
        }
        let files = |machine: &str| whole.of_machine(machine).unwrap().cluster.os.open_files;
        assert_eq!(["m1", "w1", "w2", "unknown"].map(files), [Some(4096), Some(1024), Some(2048), None]);
    }

    #[test]
    fn a_bastion_that_the_provisioner_creates_receives_what_the_cloud_determines() {
        let cloud = "openstack: {clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10, image: i, flavor: f, bastion: {name: gate}, \
            network: {create: {cidr: 10.9.0.0/24, gateway: 10.9.0.254, publicCIDR: 10.8.0.0/24}}}\n";
        let text = format!("{WHOLE}{cloud}bastion: {{dns: true}}\nos: {{timezone: UTC}}\n");
        let loaded = load(&[Layer::file("cluster.yaml", text)]).unwrap();
        let own = loaded.bastion_config().unwrap();
        for other in ["openstack", "m1", "api.example.org", "kubelet", "etcd"] {
            assert!(!own.contains(other), "{other} in {own}");
        }
        let (own, master) = (part(&own), part(&loaded.master_config()));
        assert_eq!((&own.name, &own.os), (&loaded.cluster.name, &loaded.cluster.os));
        let bastion = own.bastion.unwrap();
        assert_eq!(
            (bastion.name.as_str(), bastion.network.to_string().as_str(), bastion.dns),
            ("gate", "10.9.0.0/24", true)
        );
        assert_eq!(Some(bastion), master.bastion);
        assert_eq!(load(&[Layer::file("cluster.yaml", WHOLE)]).unwrap().bastion_config(), None);
    }

    #[test]
    fn a_bastion_receives_the_addresses_of_the_machines_and_no_setting_that_only_nodes_use() {
        let text = "bastion: {name: gate, network: 10.9.0.0/24}\n\
            os: {swap: keep, sysctls: {vm.swappiness: 1}, modules: [ip_vs], hosts: {machines: true}}\n";
        let kubelet = WHOLE.replace("maxPods: 50", "failSwapOn: false");
        let loaded = load(&[Layer::file("cluster.yaml", format!("{kubelet}{text}"))]).unwrap();
        let own = part(&loaded.bastion_config().unwrap()).os;
        assert!(own.sysctls.is_empty() && own.modules.is_empty() && own.swap == crate::cluster::Swap::Off);
        assert_eq!(own.hosts.extra["w1"].to_string(), "10.9.0.3");
        assert_eq!(loaded.of_machine("gate").unwrap().cluster.os.swap, own.swap);
        assert_eq!(loaded.of_machine("m1").unwrap().cluster.os.swap, crate::cluster::Swap::Keep);
    }

    #[test]
    fn a_worker_receives_its_own_entry() {
        let whole = load(&[Layer::file("cluster.yaml", WHOLE)]).unwrap();
        let trust = Trust {
            endpoints: vec!["api.example.org:6443".into(), "10.9.0.1:6443".into()],
            ca_certificate: crate::format::PEM_CERTIFICATE.example.into(),
            ca_pin: format!("sha256:{}", "0".repeat(64)),
        };
        let text = whole.worker_config("w2", &trust).unwrap();
        for other in ["m1", "m2", "w1", "etcd", "snapshot"] {
            // Its text is random.
            let mut without_ca = text.lines().filter(|line| !line.contains("BEGIN CERTIFICATE"));
            assert!(without_ca.all(|line| !line.contains(other)), "{other} in {text}");
        }
        let own = part(&text);
        assert_eq!(own.workers, whole.cluster.workers[1..]);
        assert_eq!(own.join.ca_certificate.as_ref(), Some(&trust.ca_certificate));
        assert_eq!(own.join.endpoints.len(), 2);
        assert_eq!(own.kubelet, whole.cluster.kubelet);
        assert_eq!(own.control_plane.endpoint, whole.cluster.control_plane.endpoint);
        assert_eq!(whole.worker_config("w3", &trust), None);
    }
}
