//! The files on the disk of a host.

use crate::Host;
use std::collections::BTreeMap;

/// Each path with its kind, mode, owner, link target and digest, and with its modification time if requested.
pub type Listing = BTreeMap<String, String>;

/// Paths that a full listing omits: virtual file systems, the state of systemd, logs, the store of containerd, and the
/// directories that the lab mounts.
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
    // Debian copies its package lists to this directory at midnight.
    "/var/backups",
];

impl Host {
    /// Lists all files on the disk of the host.
    #[must_use]
    pub fn listing(&self) -> Listing {
        // In the lab, the directory of the kubelet is a separate file system.
        self.list("/ /var/lib/kubelet", "-xdev", LEFT_OUT, "%y %m %U:%G %l")
    }

    /// Lists the files below these paths, with the modification time of each one.
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

/// Returns the paths that differ between the listings, each with its state before and after.
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
