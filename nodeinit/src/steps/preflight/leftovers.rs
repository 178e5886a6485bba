//! Checks for files of another cluster on this machine. Files in nodeinit's journal are not leftovers.

use super::Finding;
use crate::{
    context::Context,
    engine::journal::State,
    host::files::FileError,
    steps::etcd::aside::{self, Aside},
};
use std::path::{Path, PathBuf};

const CHECK: &str = "leftovers";
const REMEDY: &str = "remove the former cluster: `kubeadm reset` if kubeadm created it, or move the files away by hand";

pub(super) fn leftovers(cx: &Context) -> Vec<Finding> {
    look(cx).unwrap_or_else(|e| vec![Finding::blind(CHECK, &e)])
}

fn look(cx: &Context) -> Result<Vec<Finding>, FileError> {
    let known = cx.journal.state();
    let foreign = |directory: &Path, ends: &[&str]| -> Result<Vec<PathBuf>, FileError> {
        let names = cx.files.list(directory)?;
        let named = names.iter().filter(|name| !name.starts_with('.') && ends.iter().any(|end| name.ends_with(end)));
        Ok(named.map(|name| directory.join(name)).filter(|path| !is_ours(&known, path)).collect())
    };
    let mut findings = Vec::new();
    let mut refuse = |what: &str, paths: Vec<PathBuf>| {
        if !paths.is_empty() {
            findings.push(Finding::failure(CHECK, format!("{what}: {}", list(&paths)), REMEDY));
        }
    };
    refuse(
        "this machine has static pods of another cluster",
        foreign(Path::new("/etc/kubernetes/manifests"), &[".yaml", ".json"])?,
    );
    refuse("this machine has kubeconfigs of another cluster", foreign(Path::new("/etc/kubernetes"), &[".conf"])?);
    if cx.node.role.is_master() {
        refuse("this machine has data of another etcd", foreign(&cx.cluster.etcd.data_directory, &["member"])?);
    }
    let networks = foreign(Path::new("/etc/cni/net.d"), &[".conf", ".conflist", ".json"])?;
    if !networks.is_empty() {
        let what = format!(
            "this machine has other pod network configurations, and the first one by name takes effect: {}",
            list(&networks)
        );
        findings.push(Finding::warning(CHECK, what, "remove them, unless you want that network"));
    }
    Ok(findings)
}

/// etcd data that nodeinit moved aside uses disk space until it is removed.
pub(super) fn aside(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "etcd-aside";
    let directory = cx.cluster.etcd.data_directory.display();
    let warning = |data: Aside| {
        let what = format!("former etcd data uses {} MiB: {directory}/{}", data.mebibytes(), data.name);
        let remedy = format!("when you no longer need it: `nodeinit etcd aside remove {}`", data.name);
        Finding::warning(CHECK, what, remedy)
    };
    aside::list(cx).map_or_else(|e| vec![Finding::blind(CHECK, &e)], |found| found.into_iter().map(warning).collect())
}

/// Whether, according to the journal, nodeinit wrote `path` or owns the directory that contains it.
fn is_ours(known: &State, path: &Path) -> bool {
    if known.files.contains_key(path) {
        return true;
    }
    path.ancestors().skip(1).any(|directory| {
        known.directories.contains(directory)
            || known.trees.get(directory).is_some_and(|before| {
                let first = path.strip_prefix(directory).ok().and_then(|rest| rest.iter().next());
                let was_there =
                    |names: &Vec<String>| names.iter().any(|name| first.is_some_and(|f| f == name.as_str()));
                !before.as_ref().is_some_and(was_there)
            })
    })
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::journal::Written;

    #[test]
    fn files_in_the_journal_are_not_leftovers_but_earlier_ones_are() {
        let mut known = State::default();
        known.trees.insert("/etc/kubernetes".into(), Some(vec!["manifests".into()]));
        known.trees.insert("/var/lib/etcd".into(), None);
        known.files.insert("/etc/kubernetes/manifests/etcd.yaml".into(), Written::default());
        let ours = |path: &str| is_ours(&known, Path::new(path));
        assert!(
            ours("/var/lib/etcd/member")
                && ours("/etc/kubernetes/admin.conf")
                && ours("/etc/kubernetes/manifests/etcd.yaml")
        );
        assert!(!ours("/etc/kubernetes/manifests/old.yaml"), "it existed before");
        assert!(!ours("/etc/cni/net.d/10-other.conflist"));
    }

    #[test]
    fn former_etcd_data_is_a_warning_with_its_size() {
        let (_dir, cx) = crate::context::testing::context();
        assert!(aside(&cx).is_empty());
        let path = Path::new("/var/lib/etcd/member.aside-20260131T120000Z");
        std::fs::create_dir_all(cx.files.real(path)).unwrap();
        let found = aside(&cx);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].level, crate::steps::preflight::Level::Warning);
        assert!(found[0].what.ends_with("MiB: /var/lib/etcd/member.aside-20260131T120000Z"), "{found:?}");
    }
}
