//! The kernel: settings, modules, processors, swap, control groups. Read from `/proc` and `/sys`.

use super::files::{FileError, Files, failed};
use std::{
    collections::BTreeSet,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
};

/// The cgroups of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cgroups {
    /// One hierarchy, with its controllers.
    V2(BTreeSet<String>),
    /// A hierarchy for each controller.
    V1(BTreeSet<String>),
}

/// A swap area in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// The device or file.
    pub device: PathBuf,
    /// Its size in KiB.
    pub size: u64,
}

/// Returns the path of the parameter `key` (`net.ipv4.ip_forward`). A `/` in a key represents a dot in a name, as in sysctl(8).
#[must_use]
pub fn sysctl_path(key: &str) -> PathBuf {
    let swapped: String = key
        .chars()
        .map(|c| {
            if c == '.' {
                '/'
            } else if c == '/' {
                '.'
            } else {
                c
            }
        })
        .collect();
    Path::new("/proc/sys").join(swapped)
}

/// Returns the value of a parameter; `None` if the kernel has no such parameter.
///
/// # Errors
/// If it exists but cannot be read.
pub fn sysctl(files: &Files, key: &str) -> Result<Option<String>, FileError> {
    let text = files.read_text(sysctl_path(key))?;
    Ok(text.map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Sets a parameter of the running kernel.
///
/// # Errors
/// If the kernel has no such parameter, or rejects the value.
pub fn set_sysctl(files: &Files, key: &str, value: &str) -> Result<(), FileError> {
    let path = sysctl_path(key);
    let open = OpenOptions::new().write(true).truncate(true).open(files.real(&path));
    open.and_then(|mut file| file.write_all(value.as_bytes())).map_err(failed("set", &path))
}

/// Returns the mounted cgroups; `None` if there are none.
///
/// # Errors
/// If `/sys` or `/proc` cannot be read.
pub fn cgroups(files: &Files) -> Result<Option<Cgroups>, FileError> {
    if let Some(controllers) = files.read_text("/sys/fs/cgroup/cgroup.controllers")? {
        return Ok(Some(Cgroups::V2(controllers.split_whitespace().map(str::to_owned).collect())));
    }
    let mounted: BTreeSet<String> = files.list("/sys/fs/cgroup")?.into_iter().collect();
    if mounted.is_empty() {
        return Ok(None);
    }
    let table = files.read_text("/proc/cgroups")?.unwrap_or_default();
    let enabled = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        match columns[..] {
            [name, _, _, "1"] if mounted.contains(name) => Some(name.to_owned()),
            _ => None,
        }
    });
    Ok(Some(Cgroups::V1(enabled.collect())))
}

/// Returns the number of processors that this process may use, counted as in kubeadm: CPU quotas are ignored.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn processors(files: &Files) -> Result<Option<usize>, FileError> {
    let text = files.read_text("/proc/self/status")?.unwrap_or_default();
    Ok(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(|list| count(list.trim())))
}

/// Returns the number of elements in a list such as `0-3,8`.
fn count(list: &str) -> usize {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    ranges.map(|(first, last)| last.saturating_sub(first) + 1).sum()
}

/// Returns the swap areas in use.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn swaps(files: &Files) -> Result<Vec<SwapArea>, FileError> {
    let text = files.read_text("/proc/swaps")?.unwrap_or_default();
    let lines = text.lines().skip(1).filter_map(|line| {
        let mut columns = line.split_whitespace();
        let device = columns.next()?.replace("\\040", " ").into();
        Some(SwapArea { device, size: columns.nth(1)?.parse().unwrap_or(0) })
    });
    Ok(lines.collect())
}

/// The availability of a kernel module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// Loaded, or built in.
    Present,
    /// `modprobe` finds it.
    Loadable,
    /// Not available.
    Missing,
}

/// Searches for a kernel module, including built-in ones. In a container, which has no module files, the traces of a
/// module in `/proc` count.
///
/// # Errors
/// If a file of the kernel cannot be read.
pub fn module(files: &Files, name: &str) -> Result<Module, FileError> {
    let trace = match name {
        "br_netfilter" => files.exists("/proc/sys/net/bridge"),
        "overlay" => files
            .read_text("/proc/filesystems")?
            .is_some_and(|t| t.lines().any(|line| line.split_whitespace().next_back() == Some("overlay"))),
        "ip_tables" => files.exists("/proc/net/ip_tables_names"),
        "ip6_tables" => files.exists("/proc/net/ip6_tables_names"),
        "nf_conntrack" => files.exists("/proc/sys/net/netfilter/nf_conntrack_max"),
        _ => false,
    };
    if trace || files.exists(Path::new("/sys/module").join(name)) {
        return Ok(Module::Present);
    }
    let Some(release) = files.read_text("/proc/sys/kernel/osrelease")? else { return Ok(Module::Missing) };
    let directory = Path::new("/lib/modules").join(release.trim());
    let listed = |list: &str| -> Result<bool, FileError> {
        let text = files.read_text(directory.join(list))?.unwrap_or_default();
        Ok(text.lines().any(|line| is_module_file(line.split(':').next().unwrap_or_default(), name)))
    };
    Ok(match (listed("modules.builtin")?, listed("modules.dep")?) {
        (true, _) => Module::Present,
        (_, true) => Module::Loadable,
        _ => Module::Missing,
    })
}

/// Whether `path` (`kernel/net/bridge/br_netfilter.ko.xz`) is the module `name`; in module names, `-` equals `_`.
fn is_module_file(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    file.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name.replace('-', "_"))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake kernel")]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let real = dir.path().join(&path[1..]);
            std::fs::create_dir_all(real.parent().unwrap()).unwrap();
            std::fs::write(real, content).unwrap();
        }
        let root = Files::under(dir.path());
        (dir, root)
    }

    #[test]
    fn parameters_are_read_and_set() {
        let (_dir, files) = machine(&[("/proc/sys/net/ipv4/ip_forward", "0\n"), ("/proc/sys/a/b", "1\t2  3\n")]);
        assert_eq!(sysctl(&files, "net.ipv4.ip_forward").unwrap().unwrap(), "0");
        set_sysctl(&files, "net.ipv4.ip_forward", "1").unwrap();
        assert_eq!(sysctl(&files, "net.ipv4.ip_forward").unwrap().unwrap(), "1");
        assert_eq!(sysctl(&files, "a.b").unwrap().unwrap(), "1 2 3");
        assert!(sysctl(&files, "net.bridge.bridge-nf-call-iptables").unwrap().is_none());
        assert!(set_sysctl(&files, "no.such", "1").is_err());
        assert_eq!(sysctl_path("net.ipv4.conf.eth0/100.x"), Path::new("/proc/sys/net/ipv4/conf/eth0.100/x"));
    }

    #[test]
    fn both_versions_of_cgroups_are_distinguished() {
        let (_dir, files) = machine(&[("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n")]);
        assert!(matches!(cgroups(&files).unwrap(), Some(Cgroups::V2(c)) if c.contains("pids")));
        let table = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nmemory\t2\t1\t0\npids\t3\t1\t1\n";
        let (_dir, files) =
            machine(&[("/proc/cgroups", table), ("/sys/fs/cgroup/cpu/x", ""), ("/sys/fs/cgroup/memory/x", "")]);
        assert_eq!(cgroups(&files).unwrap(), Some(Cgroups::V1(["cpu".to_owned()].into())));
    }

    #[test]
    fn memory_processors_and_swap_are_counted() {
        let (_dir, files) = machine(&[
            ("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2,5\n"),
            (
                "/proc/swaps",
                "Filename Type Size Used Priority\n/swap\\040file file 1024 0 -2\n/dev/sda2 partition 4096 0 -3\n",
            ),
        ]);
        assert_eq!(processors(&files).unwrap(), Some(4));
        let areas = swaps(&files).unwrap();
        assert_eq!(areas[0], SwapArea { device: "/swap file".into(), size: 1024 });
        assert_eq!(areas.len(), 2);
    }

    #[test]
    fn modules_are_found_loaded_built_in_or_loadable() {
        let (_dir, files) = machine(&[
            ("/proc/filesystems", "nodev\tsysfs\nnodev\toverlay\n"),
            ("/proc/sys/kernel/osrelease", "6.1.0-1\n"),
            ("/lib/modules/6.1.0-1/modules.builtin", "kernel/net/netfilter/nf_tables.ko\n"),
            (
                "/lib/modules/6.1.0-1/modules.dep",
                "kernel/net/bridge/br_netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz\n",
            ),
        ]);
        let look = |name| module(&files, name).unwrap();
        assert_eq!(look("overlay"), Module::Present);
        assert_eq!(look("nf_tables"), Module::Present);
        assert_eq!(look("br_netfilter"), Module::Loadable);
        assert_eq!(look("bridge"), Module::Missing, "a dependency is not an entry");
    }
}
