//! Several clusters in one folder: what all share, what an environment shares, and what a cluster, a role and a machine have of their own.
//!
//! An environment is a domain: that of the cluster `prod.example.org` is `example.org`.

use crate::{
    layer::Layer,
    load::written,
    model::{Document, bastion, declare::place::Place},
};
use std::collections::BTreeSet;

/// A text that cannot name a cluster, because it is a part of file names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Its file would have the name of a secrets bundle.
    #[error(
        "`{0}` is not a cluster's name: clusters/{0}.yaml is the name of a secrets bundle; choose one that does not end with `secrets`"
    )]
    Secrets(String),
    /// It is not a DNS name.
    #[error("`{0}` is not a cluster's name, such as `prod` or `prod.example.org`")]
    NoDomain(String),
}

/// Reads the name of a cluster.
///
/// # Errors
/// If it is not a DNS name, or its file would have the name of a secrets bundle.
pub fn name(text: &str) -> Result<String, BadName> {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    match text.split('.').all(is_label) {
        _ if text.rsplit('.').next() == Some("secrets") => Err(BadName::Secrets(text.to_owned())),
        true => Ok(text.to_owned()),
        false => Err(BadName::NoDomain(text.to_owned())),
    }
}

/// Returns the cluster's own file, which must exist.
#[must_use]
pub fn own(cluster: &str) -> String {
    format!("clusters/{cluster}.yaml")
}

/// Reads the configuration of a cluster, in ascending precedence: defaults, environment, cluster, roles, machines. `read` returns the content
/// of a file, or `None` if it does not exist.
///
/// # Errors
/// Those of `read`.
pub fn layers<E>(cluster: &str, mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>) -> Result<Vec<Layer>, E> {
    let domain = cluster.split_once('.').map(|(_, domain)| domain);
    let environments = [Some("defaults"), domain].into_iter().flatten();
    let mut layers = Vec::new();
    for path in environments.map(|name| format!("environments/{name}.yaml")).chain([own(cluster)]) {
        layers.extend(read(&path)?.map(|bytes| Layer::file(path, bytes)));
    }
    let machines = machines(&layers);
    for role in ["master", "worker", "bastion"] {
        let path = format!("roles/{role}.yaml");
        layers.extend(read(&path)?.map(|bytes| Layer::role(path, role, bytes)));
    }
    for machine in machines {
        let (host, own) = machine.split_once('.').map_or((machine.as_str(), None), |(host, own)| (host, Some(own)));
        let full = own.or(domain).map(|domain| format!("{host}.{domain}"));
        for name in [Some(host.to_owned()), full].into_iter().flatten() {
            let path = format!("hosts/{name}.yaml");
            layers.extend(read(&path)?.map(|bytes| Layer::machine(path, &machine, bytes)));
        }
    }
    Ok(layers)
}

/// Returns the names of the machines that the layers list.
fn machines(layers: &[Layer]) -> BTreeSet<String> {
    let tree = written(layers);
    let all: Place<'_, Document> = Place::document(&tree);
    let nodes = all.masters().items().into_iter().chain(all.workers().items());
    nodes.filter_map(|machine| machine.name().value()).chain(bastion::name(&all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, collections::BTreeMap, convert::Infallible};

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

    /// Returns the layers of a cluster in a folder with these files, and the paths that were read.
    fn read(cluster: &str, files: &[(&str, &str)]) -> (Vec<Layer>, Vec<String>) {
        let (files, asked): (BTreeMap<_, _>, _) = (files.iter().copied().collect(), RefCell::new(Vec::new()));
        let layers = layers(cluster, |path| {
            asked.borrow_mut().push(path.to_owned());
            Ok::<_, Infallible>(files.get(path).map(|text| text.as_bytes().to_vec()))
        });
        (layers.unwrap(), asked.into_inner())
    }

    #[test]
    fn files_are_selected_by_cluster_host_and_domain() {
        let text = format!(
            "{HEAD}masters: [{{name: m1}}, {{name: m2.example.com}}]\nbastion: {{name: gate, network: 10.0.0.0/24}}\n"
        );
        let (_, asked) = read("prod.example.org", &[("clusters/prod.example.org.yaml", &text)]);
        let expected = [
            "environments/defaults.yaml",
            "environments/example.org.yaml",
            "clusters/prod.example.org.yaml",
            "roles/master.yaml",
            "roles/worker.yaml",
            "roles/bastion.yaml",
            "hosts/gate.yaml",
            "hosts/gate.example.org.yaml",
            "hosts/m1.yaml",
            "hosts/m1.example.org.yaml",
            "hosts/m2.yaml",
            "hosts/m2.example.com.yaml",
        ];
        assert_eq!(asked, expected);
        let (layers, asked) = read("prod", &[("clusters/prod.yaml", "masters: [{name: m1}]")]);
        assert_eq!((layers.len(), asked[1].as_str()), (1, "clusters/prod.yaml"));
        assert_eq!(asked.last().map(String::as_str), Some("hosts/m1.yaml"), "no domain: only the host's name");
    }

    #[test]
    fn the_value_of_a_machine_is_the_most_specific_one() {
        let zone = |zone: &str| format!("os: {{timezone: {zone}, sysctls: {{vm.swappiness: 1}}}}\n");
        let machines = "masters: [{name: m1, address: 10.0.0.1}]\nworkers: [{name: w1}, {name: w2}, {name: w3}]\n";
        let files = [
            ("environments/defaults.yaml", format!("{HEAD}{}", zone("Etc/GMT+1"))),
            ("environments/example.org.yaml", "os: {timezone: Etc/GMT+2, modules: [ip_vs]}\n".to_owned()),
            ("clusters/prod.example.org.yaml", machines.to_owned()),
            ("roles/worker.yaml", "os: {timezone: Etc/GMT+3, modules: [br_netfilter]}\n".to_owned()),
            ("hosts/w2.yaml", "os: {timezone: Etc/GMT+4}\nlabels: {rack: north}\n".to_owned()),
            ("hosts/w3.yaml", "os: {timezone: Etc/GMT+4, sysctls: {vm.max_map_count: 262144}}\n".to_owned()),
            ("hosts/w3.example.org.yaml", "os: {timezone: Etc/GMT+5}\n".to_owned()),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let loaded = crate::load(&read("prod.example.org", &files).0).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(loaded.cluster.workers[1].labels["rack"], "north");
        for (machine, zone, modules, sysctls, origin) in [
            ("m1", "Etc/GMT+2", "ip_vs", 1, "environments/example.org.yaml:1:"),
            ("w1", "Etc/GMT+3", "br_netfilter", 1, "roles/worker.yaml:1:"),
            ("w2", "Etc/GMT+4", "br_netfilter", 1, "hosts/w2.yaml:1:"),
            ("w3", "Etc/GMT+5", "br_netfilter", 2, "hosts/w3.example.org.yaml:1:"),
        ] {
            let own = loaded.of_machine(machine).unwrap_or_else(|problems| panic!("{problems}"));
            let os = &own.cluster.os;
            assert_eq!(os.timezone.as_deref(), Some(zone), "{machine}");
            assert_eq!((os.modules.as_slice(), os.sysctls.len()), (&[modules.to_owned()][..], sysctls), "{machine}");
            let shown = own.text();
            let line = shown.lines().find(|line| line.contains("timezone:")).unwrap_or_default();
            assert!(line.contains(origin), "{machine}: {shown}");
        }
    }

    #[test]
    fn a_mistake_names_its_file_line_and_key() {
        let cluster = format!("{HEAD}masters: [{{name: m1, address: 10.0.0.1}}]\nworkers: [{{name: w1}}]\n");
        let problems = |path: &str, text: &str| {
            let (layers, _) = read("prod", &[("clusters/prod.yaml", &cluster), (path, text)]);
            crate::load(&layers).map_or_else(|problems| problems.to_string(), |_| String::new())
        };
        for (path, text, expected) in [
            ("roles/worker.yaml", "\nos: {timezone: \"a b\"}", "roles/worker.yaml:2:16: roles.worker.os.timezone: "),
            ("roles/master.yaml", "etcd: {}", "roles/master.yaml:1:1: roles.master.etcd: unknown key"),
            ("roles/master.yaml", "- os", "roles/master.yaml:1:1: roles.master: expected a map"),
            (
                "hosts/w1.yaml",
                "os:\n  swap: keep",
                "hosts/w1.yaml:2:9: workers[0].os.swap: the kubelet refuses to start",
            ),
            ("hosts/m1.yaml", "os: {swp: off}", "hosts/m1.yaml:1:6: masters[0].os.swp: unknown key"),
            ("hosts/m1.yaml", "name: m2", "hosts/m1.yaml:1:7: masters[0].name: the file has the settings of m1"),
            ("hosts/m1.yaml", "{", "hosts/m1.yaml:1:"),
            ("hosts/m1.yaml", "address: 10.0.0.300", "hosts/m1.yaml:1:10: masters[0].address: "),
        ] {
            let found = problems(path, text);
            assert!(
                found.contains(expected) && found.contains("1 problem\n") && found.contains("hint: "),
                "{path}: {found}"
            );
        }
        assert_eq!(problems("hosts/m1.yaml", ""), "", "an empty file changes nothing");
        assert_eq!(problems("hosts/m1.yaml", "os:\n  timezone:\n"), "");
        let unlisted = [Layer::file("a.yaml", &*cluster), Layer::machine("hosts/x.yaml", "x", "os: {}")];
        let found = crate::load(&unlisted).unwrap_err().to_string();
        assert!(found.contains("hosts/x.yaml:1:1: no machine has the name x"), "{found}");
    }

    #[test]
    fn names_of_clusters_are_parts_of_file_names() {
        assert!(name("a-1.b").is_ok() && name("../x").is_err() && name("a/b").is_err() && name("").is_err());
        assert!(name("prod.secrets").is_err() && name("secrets").is_err() && name("secrets.example.org").is_ok());
    }
}
