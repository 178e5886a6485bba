//! What lies on a host's disk.

use crate::Host;
use std::collections::BTreeMap;

/// Each path with its kind, mode, owner, link target and digest; with times where they were asked for.
pub type Listing = BTreeMap<String, String>;

/// What is left out of a listing of all: what the kernel makes up, what systemd keeps for itself, logs, containerd's
/// store, and what the lab shows from outside.
const LEFT_OUT: &[&str] = &[
    "/dev",
    "/proc",
    "/run",
    "/sys",
    "/tmp",
    "/opt/lab",
    "/var/log",
    "/var/tmp",
    "/var/lib/containerd",
    "/var/lib/systemd",
    // Debian copies the lists of its packages there at midnight.
    "/var/backups",
];

impl Host {
    /// Everything on its disk.
    #[must_use]
    pub fn listing(&self) -> Listing {
        // The kubelet's directory is a file system of its own in the lab.
        self.list("/ /var/lib/kubelet", "-xdev", LEFT_OUT, "%y %m %U:%G %l")
    }

    /// What lies below these paths, with the time of each file's last change.
    #[must_use]
    pub fn digests(&self, paths: &str) -> Listing {
        self.list(paths, "", &[], "%y %m %U:%G %l %T@")
    }

    fn list(&self, paths: &str, options: &str, left_out: &[&str], facts: &str) -> Listing {
        let prune: String = left_out.iter().map(|path| format!("-path {path} -o ")).collect();
        let find = format!("find {paths} {options} \\( {prune} -false \\) -prune -o");
        let script = format!(
            "set -e -o pipefail; {find} -printf '%p\\t{facts}\\n'
             {find} -type f -print0 | xargs -0 sha256sum | sed 's/^\\([^ ]*\\)  \\(.*\\)$/\\2\\t \\1/'"
        );
        let mut listing = Listing::new();
        for (path, fact) in self.must(&script).lines().filter_map(|line| line.split_once('\t')) {
            listing.entry(path.to_owned()).or_default().push_str(fact);
        }
        listing
    }
}

/// The paths that are not the same in both, each with what it was and what it is.
#[must_use]
pub fn difference(before: &Listing, after: &Listing) -> Vec<String> {
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let fact = |listing: &Listing, path: &str| listing.get(path).map_or_else(|| "nothing".into(), String::clone);
    paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| format!("{path} was {} and is {}", fact(before, path), fact(after, path)))
        .collect()
}
