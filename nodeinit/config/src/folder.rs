//! Several clusters in one folder: what all share, what an environment shares, and what a cluster, a role and a machine have of their own.
//!
//! An environment is a domain: that of the cluster `prod.example.org` is `example.org`.

use crate::{
    layer::Layer,
    load::written,
    model::{Document, bastion, declare::place::Place, suggest::nearest},
    problem::Findings,
};
use std::{
    collections::BTreeSet,
    io::{self, ErrorKind},
};

/// The directories of the folder.
const DIRECTORIES: [&str; 4] = ["environments", "clusters", "roles", "hosts"];
/// The roles that have files.
const ROLES: [&str; 3] = ["master", "worker", "bastion"];

/// A text that cannot name a cluster, because it is a part of file names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Its file would have the name of a secrets bundle.
    #[error(
        "`{0}` is not a cluster's name: clusters/{0}.yaml is the name of a secrets bundle; choose one that does not end with `secrets`"
    )]
    Secrets(String),
    /// It is a file.
    #[error("`{file}` is a file; the name of its cluster is `{cluster}`")]
    File {
        /// The text.
        file: String,
        /// The name that was probably meant.
        cluster: String,
    },
    /// It is not a DNS name.
    #[error("`{0}` is not a cluster's name, such as `prod` or `prod.example.org`")]
    NoDomain(String),
}

/// Reads the name of a cluster.
///
/// # Errors
/// If it is not a DNS name, is a file, or its file would have the name of a secrets bundle.
pub fn name(text: &str) -> Result<String, BadName> {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if let Some(path) = text.strip_suffix(".yaml") {
        let cluster = path.rsplit('/').next().unwrap_or_default().to_owned();
        return Err(BadName::File { file: text.to_owned(), cluster });
    }
    match text.split('.').all(is_label) {
        _ if text.rsplit('.').next() == Some("secrets") => Err(BadName::Secrets(text.to_owned())),
        true => Ok(text.to_owned()),
        false => Err(BadName::NoDomain(text.to_owned())),
    }
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}")]
pub struct Unreadable {
    path: String,
    /// The cause.
    pub source: io::Error,
    /// The fix.
    pub remedy: String,
}

/// Returns the file of a cluster, the only one that must exist.
#[must_use]
pub fn cluster_file(cluster: &str) -> String {
    format!("clusters/{cluster}.yaml")
}

/// Reads the configuration of a cluster, in ascending precedence: defaults, environment, cluster, roles, machines. `read` returns the content
/// of a file, `list` the names in a directory. [`crate::load`] warns of the files that no cluster of the folder reads.
///
/// # Errors
/// If the file of the cluster is missing, or one of its files cannot be read.
pub fn layers(
    cluster: &str,
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
    list: impl Fn(&str) -> io::Result<Vec<String>>,
) -> Result<Vec<Layer>, Unreadable> {
    let folder = Folder { read: &read, list: &list };
    let mut layers = folder.shared(cluster)?;
    let (machines, is_complete) = machines(&layers);
    for role in ROLES {
        let path = format!("roles/{role}.yaml");
        layers.extend(folder.optional(&path)?.map(|bytes| Layer::role(path, role, bytes)));
    }
    for machine in &machines {
        for path in host_files(cluster, machine) {
            layers.extend(folder.optional(&path)?.map(|bytes| Layer::machine(path, machine, bytes)));
        }
    }
    layers.extend(folder.unread(cluster, &machines, is_complete));
    Ok(layers)
}

/// Returns the files of all machines of a cluster.
fn shared_files(cluster: &str) -> Vec<String> {
    let environments = ["defaults"].into_iter().chain(domain(cluster));
    environments.map(|name| format!("environments/{name}.yaml")).chain([cluster_file(cluster)]).collect()
}

/// Returns the files of a machine.
fn host_files(cluster: &str, machine: &str) -> Vec<String> {
    let (host, domain) = machine.split_once('.').map_or((machine, domain(cluster)), |(host, own)| (host, Some(own)));
    let full = domain.map(|domain| format!("{host}.{domain}"));
    [Some(host.to_owned()), full].into_iter().flatten().map(|name| format!("hosts/{name}.yaml")).collect()
}

fn domain(cluster: &str) -> Option<&str> {
    cluster.split_once('.').map(|(_, domain)| domain)
}

/// The folder, as a program reads it.
struct Folder<'f> {
    read: &'f dyn Fn(&str) -> io::Result<Vec<u8>>,
    list: &'f dyn Fn(&str) -> io::Result<Vec<String>>,
}

impl Folder<'_> {
    /// Reads the files of all machines of a cluster.
    fn shared(&self, cluster: &str) -> Result<Vec<Layer>, Unreadable> {
        let mut layers = Vec::new();
        for path in shared_files(cluster) {
            match self.optional(&path)? {
                Some(bytes) => layers.push(Layer::file(path, bytes)),
                None if path == cluster_file(cluster) => return Err(self.missing(cluster)),
                None => {}
            }
        }
        Ok(layers)
    }

    fn optional(&self, path: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        match (self.read)(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Unreadable {
                path: path.to_owned(),
                source,
                remedy: format!("{path} must be a file that you can read"),
            }),
        }
    }

    fn missing(&self, cluster: &str) -> Unreadable {
        let (path, clusters) = (cluster_file(cluster), self.clusters());
        let names = || clusters.iter().map(String::as_str);
        let without_domain = || names().find(|name| name.split('.').next() == Some(cluster));
        let remedy = match without_domain().or_else(|| nearest(cluster, names())) {
            Some(near) => format!("did you mean the cluster {near}?"),
            None => format!("create {path}, or run the command in the folder that contains it"),
        };
        Unreadable { path, source: io::Error::new(ErrorKind::NotFound, "there is no such file"), remedy }
    }

    /// Returns the names in a directory; none if it cannot be listed.
    fn names(&self, directory: &str) -> Vec<String> {
        (self.list)(directory).unwrap_or_default()
    }

    /// Returns the names of the clusters.
    fn clusters(&self) -> BTreeSet<String> {
        let names = self.names("clusters");
        names.iter().filter_map(|file| name(file.strip_suffix(".yaml")?).ok()).collect()
    }

    /// Returns the files that no cluster of the folder reads. `machines` are those of `cluster`, all of them if `is_complete`.
    fn unread(&self, cluster: &str, machines: &BTreeSet<String>, is_complete: bool) -> Vec<Layer> {
        let (mut found, mut folders) = (Vec::new(), Vec::new());
        for directory in DIRECTORIES {
            for written in [directory, directory.trim_end_matches('s')] {
                let names = self.names(written);
                folders.extend(names.iter().filter_map(|name| self.unread_folder(written, directory, name)));
                found.extend(names.iter().filter_map(|name| Named::new(written, directory, name)));
            }
        }
        let clusters = self.clusters();
        let mut known: BTreeSet<String> = ROLES.iter().map(|role| format!("roles/{role}.yaml")).collect();
        known.extend(clusters.iter().flat_map(|cluster| shared_files(cluster)));
        known.extend(machines.iter().flat_map(|machine| host_files(cluster, machine)));
        found.retain(|file| !known.contains(&file.path));
        let is_of_host = |file: &Named| file.path == format!("hosts/{}.yaml", file.stem);
        let mut doubt = None;
        if found.iter().any(|file| file.directory == "hosts") {
            let mut unclear: Vec<&str> = if is_complete { Vec::new() } else { vec![cluster] };
            for other in clusters.iter().filter(|other| *other != cluster) {
                let (machines, is_complete) =
                    self.shared(other).map_or_else(|_| Default::default(), |l| self::machines(&l));
                known.extend(machines.iter().flat_map(|machine| host_files(other, machine)));
                unclear.extend((!is_complete).then_some(other.as_str()));
            }
            found.retain(|file| !known.contains(&file.path));
            // A machine that has such a file may be in a part that cannot be read.
            if let Some(first) = unclear.first().filter(|_| found.iter().any(is_of_host)) {
                let (doubtful, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_of_host);
                found = others;
                let files: Vec<String> = doubtful.into_iter().map(|file| file.path).collect();
                let what = format!(
                    "cannot tell whether a cluster uses these files, because of problems in the configuration of {}: {}",
                    unclear.join(", "),
                    files.join(", ")
                );
                let hint = match *first == cluster {
                    true => "fix the problems of this cluster first".to_owned(),
                    false => format!("`nodeinit config validate --cluster {first}` lists the problems"),
                };
                doubt = Some(Layer::unread("hosts", what, hint));
            }
        }
        found.into_iter().map(|file| file.unread(&known)).chain(doubt).chain(folders).collect()
    }

    /// Returns a folder in one of the directories as one that nothing reads, if it contains a YAML file. Kube-on-OpenStack has such folders.
    fn unread_folder(&self, written: &str, directory: &'static str, name: &str) -> Option<Layer> {
        let path = format!("{written}/{name}");
        let file = self.names(&path).iter().find_map(|file| Named::new(&path, directory, file))?;
        let (stem, first) = (&file.stem, &file.path);
        let wanted = match (directory, name) {
            ("hosts", "defaults") => format!("hosts/{stem}.yaml"),
            ("hosts", domain) => format!("hosts/{stem}.{domain}.yaml"),
            _ => format!("{directory}/{stem}.yaml"),
        };
        let what = "nothing reads the files in this folder".to_owned();
        Some(Layer::unread(path.clone(), what, format!("move each file to {directory}, such as {first} to {wanted}")))
    }
}

/// A YAML file of the folder.
struct Named {
    path: String,
    /// Where files of this kind are.
    directory: &'static str,
    /// Its name without the suffix.
    stem: String,
}

impl Named {
    /// Returns `None` for a file of another kind, and for a secrets bundle.
    fn new(written: &str, directory: &'static str, name: &str) -> Option<Self> {
        let (stem, suffix) = name.rsplit_once('.')?;
        let is_yaml = !stem.is_empty()
            && !stem.starts_with('.')
            && ["yaml", "yml"].contains(&suffix.to_ascii_lowercase().as_str());
        let is_bundle = matches!(self::name(stem), Err(BadName::Secrets(_)));
        (is_yaml && !is_bundle).then(|| Self { path: format!("{written}/{name}"), directory, stem: stem.to_owned() })
    }

    /// Returns the file as one that nothing reads. `known` are the files that some cluster reads, if they exist.
    fn unread(self, known: &BTreeSet<String>) -> Layer {
        let Self { path, directory, stem } = self;
        let stems =
            known.iter().filter_map(|path| path.strip_prefix(directory)?.strip_prefix('/')?.strip_suffix(".yaml"));
        let near = nearest(&stem, stems);
        let what = match directory {
            _ if near == Some(&stem) => String::new(),
            "hosts" => format!(": no cluster in this folder has the machine {stem}"),
            "environments" => format!(": no cluster in this folder is in the domain {stem}"),
            "roles" => format!(": no role is called {stem}"),
            _ => format!(": no cluster can be called {stem}"),
        };
        let remedy = match near {
            Some(near) => format!("did you mean {directory}/{near}.yaml? Otherwise, remove the file"),
            None => "rename the file, or remove it".to_owned(),
        };
        Layer::unread(path, format!("nothing reads this file{what}"), remedy)
    }
}

/// Returns the names of the machines that the layers list, and whether these are all: the layers have no problems.
fn machines(layers: &[Layer]) -> (BTreeSet<String>, bool) {
    let mut findings = Findings::default();
    let tree = written(layers, &mut findings);
    let all: Place<'_, Document> = Place::document(&tree);
    let nodes = all.masters().items().into_iter().chain(all.workers().items());
    let names = nodes.filter_map(|machine| machine.name().value()).chain(bastion::name(&all)).collect();
    (names, findings.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, collections::BTreeMap};

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

    /// Returns the layers of a cluster in a folder with these files, and the paths that were read.
    fn read(cluster: &str, files: &[(&str, &str)]) -> (Result<Vec<Layer>, Unreadable>, Vec<String>) {
        let (files, asked): (BTreeMap<_, _>, _) = (files.iter().copied().collect(), RefCell::new(Vec::new()));
        let read = |path: &str| {
            asked.borrow_mut().push(path.to_owned());
            files.get(path).map(|text| text.as_bytes().to_vec()).ok_or_else(|| ErrorKind::NotFound.into())
        };
        let list = |directory: &str| {
            let below = files.keys().filter_map(|path| path.strip_prefix(directory)?.strip_prefix('/'));
            let names: BTreeSet<_> = below.filter_map(|path| path.split('/').next()).map(str::to_owned).collect();
            if names.is_empty() { Err(ErrorKind::NotADirectory.into()) } else { Ok(names.into_iter().collect()) }
        };
        (layers(cluster, read, list), asked.into_inner())
    }

    fn layers_of(cluster: &str, files: &[(&str, &str)]) -> Vec<Layer> {
        read(cluster, files).0.unwrap()
    }

    fn warnings(cluster: &str, files: &[(&str, &str)]) -> Vec<String> {
        let loaded = crate::load(&layers_of(cluster, files)).unwrap_or_else(|problems| panic!("{problems}"));
        loaded.warnings.iter().map(|warning| format!("{warning}; {}", warning.remedy)).collect()
    }

    #[test]
    fn a_file_that_nothing_reads_is_named_with_the_nearest_name() {
        let prod = format!(
            "{HEAD}masters: [{{name: m1}}]\nworkers: [{{name: w1}}, {{name: w2}}]\n\
            controlPlane: {{endpoint: api.example.org}}\n"
        );
        let test = format!("{HEAD}masters: [{{name: t1}}]\n");
        let good = [
            ("clusters/prod.example.org.yaml", prod.as_str()),
            ("clusters/prod.example.org.secrets.yaml", "{"),
            ("clusters/prod.example.org.kubeconfig", ""),
            ("clusters/test.yaml", &test),
            ("environments/defaults.yaml", ""),
            ("environments/example.org.yaml", ""),
            ("environments/README.md", ""),
            ("environments/.defaults.yaml", ""),
            ("roles/worker.yaml", ""),
            ("hosts/w1.yaml", ""),
            ("hosts/w1.yaml~", ""),
            ("hosts/w2.example.org.yaml", ""),
            ("hosts/t1.yaml", ""),
        ];
        assert!(warnings("prod.example.org", &good).is_empty(), "t1 is a machine of another cluster");
        for (path, what, remedy) in [
            ("hosts/w11.yaml", ": no cluster in this folder has the machine w11", "did you mean hosts/w1.yaml? "),
            (
                "hosts/w2.exmaple.org.yaml",
                ": no cluster in this folder has the machine w2.exmaple.org",
                "did you mean hosts/w2.example.org.yaml? ",
            ),
            ("hosts/w1.yml", "", "did you mean hosts/w1.yaml? "),
            ("hosts/t1.yml", "", "did you mean hosts/t1.yaml? "),
            ("hosts/database.yaml", ": no cluster in this folder has the machine database", "rename the file"),
            ("host/w1.yaml", "", "did you mean hosts/w1.yaml? "),
            ("roles/mastre.yaml", ": no role is called mastre", "did you mean roles/master.yaml? "),
            (
                "environments/default.yaml",
                ": no cluster in this folder is in the domain default",
                "did you mean environments/defaults.yaml? ",
            ),
            ("environments/example.org.yml", "", "did you mean environments/example.org.yaml? "),
            ("clusters/Prod.yaml", ": no cluster can be called Prod", "rename the file"),
        ] {
            let files: Vec<_> = good.iter().copied().chain([(path, "")]).collect();
            let found = warnings("prod.example.org", &files);
            assert_eq!(found.len(), 1, "{path}: {found:?}");
            assert!(found[0].starts_with(&format!("{path}: nothing reads this file{what}; {remedy}")), "{found:?}");
        }
        // A value that is missing may be in such a file.
        let second =
            prod.replace("{name: m1}", "{name: m1, address: 10.0.0.1}, {name: m2}, {name: m3, address: 10.0.0.3}");
        let files = [("clusters/prod.yaml", second.as_str()), ("hosts/m22.yaml", "address: 10.0.0.2")];
        let problems = crate::load(&layers_of("prod", &files)).unwrap_err().to_string();
        let (errors, warnings) = problems.split_once("\n  warning: hosts/m22.yaml: nothing reads").unwrap();
        assert!(errors.starts_with("the configuration has 1 problem\n"), "{problems}");
        assert!(errors.contains("masters[1].address: missing") && warnings.contains("\n      hint: "), "{problems}");
    }

    #[test]
    fn a_folder_in_a_directory_is_reported_with_the_name_that_its_files_need() {
        let prod = format!("{HEAD}masters: [{{name: m1}}]\n");
        for (path, folder, wanted) in [
            ("hosts/example.org/m1.yaml", "hosts/example.org", "hosts/m1.example.org.yaml"),
            ("hosts/defaults/m1.yaml", "hosts/defaults", "hosts/m1.yaml"),
            ("host/example.org/m1.yml", "host/example.org", "hosts/m1.example.org.yaml"),
            ("environments/prod/defaults.yaml", "environments/prod", "environments/defaults.yaml"),
            ("roles/prod/master.yaml", "roles/prod", "roles/master.yaml"),
            ("clusters/old/prod.yaml", "clusters/old", "clusters/prod.yaml"),
        ] {
            let found = warnings("prod", &[("clusters/prod.yaml", &prod), (path, "")]);
            let hint = format!("such as {path} to {wanted}");
            assert!(found.len() == 1 && found[0].starts_with(&format!("{folder}: nothing reads")), "{found:?}");
            assert!(found[0].ends_with(&hint), "{found:?}");
        }
        assert!(warnings("prod", &[("clusters/prod.yaml", &prod), ("hosts/notes/README.md", "")]).is_empty());
    }

    #[test]
    fn files_of_hosts_are_in_doubt_while_a_cluster_of_the_folder_has_problems() {
        let prod = format!("{HEAD}masters: [{{name: m1, address: 10.0.0.1}}]\ncontrolPlane: {{endpoint: 10.0.0.9}}\n");
        for test in ["masters: [{name: t1}", "mastres: [{name: t1}]", "masters:\n- nmae: t1\n", "masters: t1"] {
            let files = [
                ("clusters/prod.yaml", prod.as_str()),
                ("clusters/test.yaml", test),
                ("hosts/m1.yaml", ""),
                ("hosts/t1.yaml", ""),
                ("hosts/t2.yaml", ""),
                ("hosts/t2.yml", ""),
                ("roles/mastre.yaml", ""),
            ];
            let found = warnings("prod", &files);
            assert_eq!(found.len(), 3, "{test}: {found:?}");
            for path in ["roles/mastre.yaml", "hosts/t2.yml"] {
                let unread = format!("{path}: nothing reads this file: ");
                assert!(found.iter().any(|text| text.starts_with(&unread)), "{path}: {found:?}");
            }
            let doubt = "hosts: cannot tell whether a cluster uses these files, because of problems in the configuration of test: \
                         hosts/t1.yaml, hosts/t2.yaml; ";
            assert!(found[2].starts_with(doubt) && found[2].contains("validate --cluster test`"), "{found:?}");
            assert!(warnings("prod", &files[..3]).is_empty(), "{test}: all files are of machines of this cluster");
        }
        let files = [("clusters/prod.yaml", "mastres: [{name: m1}]"), ("hosts/m1.yaml", "")];
        let warnings = crate::load(&layers_of("prod", &files)).unwrap_err().warnings;
        assert_eq!(warnings[0].remedy, "fix the problems of this cluster first");
        let files = [("clusters/prod.yaml", "masters: [{name: m1}"), ("hosts/m1.yaml", "")];
        let problems = crate::load(&layers_of("prod", &files)).unwrap_err().to_string();
        assert!(!problems.contains("nothing reads"), "{problems}");
    }

    #[test]
    fn a_cluster_without_a_file_is_compared_with_the_others() {
        let missing = |name: &str| read(name, &[("clusters/prod.yaml", "")]).0.unwrap_err();
        let error = missing("prdo");
        assert_eq!(
            (error.to_string().as_str(), error.remedy.as_str()),
            ("cannot read clusters/prdo.yaml", "did you mean the cluster prod?")
        );
        let domain = read("prod", &[("clusters/prod.example.org.yaml", "")]).0.unwrap_err();
        assert_eq!(domain.remedy, "did you mean the cluster prod.example.org?");
        assert!(missing("test").remedy.starts_with("create clusters/test.yaml, or run the command in the folder"));
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
        assert_eq!((layers.unwrap().len(), asked[1].as_str()), (1, "clusters/prod.yaml"));
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
        let loaded =
            crate::load(&layers_of("prod.example.org", &files)).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(loaded.cluster.workers[1].labels["rack"], "north");
        for (machine, zone, modules, sysctls, origin) in [
            ("m1", "Etc/GMT+2", "ip_vs", 1, "environments/example.org.yaml:1:"),
            ("w1", "Etc/GMT+3", "br_netfilter", 1, "roles/worker.yaml:1:"),
            ("w2", "Etc/GMT+4", "br_netfilter", 1, "hosts/w2.yaml:1:"),
            ("w3", "Etc/GMT+5", "br_netfilter", 2, "hosts/w3.example.org.yaml:1:"),
        ] {
            let applied = loaded.of_machine(machine).unwrap_or_else(|problems| panic!("{problems}"));
            let os = &applied.cluster.os;
            assert_eq!(os.timezone.as_deref(), Some(zone), "{machine}");
            assert_eq!((os.modules.as_slice(), os.sysctls.len()), (&[modules.to_owned()][..], sysctls), "{machine}");
            let shown = applied.text();
            let line = shown.lines().find(|line| line.contains("timezone:")).unwrap_or_default();
            assert!(line.contains(origin), "{machine}: {shown}");
        }
    }

    #[test]
    fn a_mistake_names_its_file_line_and_key() {
        let cluster = format!("{HEAD}masters: [{{name: m1, address: 10.0.0.1}}]\nworkers: [{{name: w1}}]\n");
        let problems = |path: &str, text: &str| {
            let layers = layers_of("prod", &[("clusters/prod.yaml", &cluster), (path, text)]);
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
            ("hosts/w1.yaml", "kind: Cluster", "workers[0].kind: unknown key\n      hint: remove it: only the file"),
            (
                "roles/worker.yaml",
                "kind: Cluster",
                "roles.worker.kind: unknown key\n      hint: remove it: only the file",
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
        let file = name("clusters/prod.example.org.yaml").unwrap_err().to_string();
        assert!(file.ends_with("is a file; the name of its cluster is `prod.example.org`"), "{file}");
        assert!(name("prod.secrets").is_err() && name("secrets").is_err() && name("secrets.example.org").is_ok());
    }
}
