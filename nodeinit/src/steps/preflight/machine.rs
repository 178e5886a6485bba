//! Checks the machine: memory, processors, disks, kernel.

use super::Finding;
use crate::{
    context::Context,
    fetch::lock,
    host::{
        disk,
        files::FileError,
        kernel,
        kernel::{Cgroups, Module},
        load,
    },
    steps::extension,
};
use nodeinit_config::cluster::{ArtifactSource, FETCHED, Ipv6, Role, Swap};
use std::{collections::BTreeSet, path::Path};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The minimum memory of a master. Source: kubeadm's `ControlPlaneMem`.
const MASTER_MEMORY: u64 = 1700 * MIB;

/// The minimum number of processors of a master. Source: kubeadm's `ControlPlaneNumCPU`.
const MASTER_PROCESSORS: usize = 2;

/// The cgroup controllers that the kubelet requires. Source: `k8s.io/system-validators`, `cgroup_validator.go`.
const CONTROLLERS_V1: [&str; 5] = ["cpu", "cpuacct", "cpuset", "memory", "pids"];
const CONTROLLERS_V2: [&str; 4] = ["cpu", "cpuset", "memory", "pids"];

pub(super) fn root(_: &Context) -> Vec<Finding> {
    if nix::unistd::geteuid().is_root() {
        return Vec::new();
    }
    vec![Finding::failure("root", "this program does not run as root", "run it with sudo, or as a system service")]
}

pub(super) fn cgroups(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "cgroups";
    let found = match kernel::cgroups(&cx.files) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let what = "no cgroups are mounted at /sys/fs/cgroup";
            return vec![Finding::failure(CHECK, what, "boot with systemd, or mount cgroup2 there")];
        }
        Err(e) => return vec![Finding::blind(CHECK, &e)],
    };
    let mut findings = Vec::new();
    let (controllers, wanted): (_, &[&str]) = match &found {
        Cgroups::V2(controllers) => (controllers, &CONTROLLERS_V2),
        Cgroups::V1(controllers) => (controllers, &CONTROLLERS_V1),
    };
    let missing: Vec<&str> = wanted.iter().filter(|c| !controllers.contains(**c)).copied().collect();
    if !missing.is_empty() {
        let what = format!("the kernel has these cgroup controllers disabled: {}", missing.join(", "));
        findings.push(Finding::failure(CHECK, what, "boot with `cgroup_enable=memory`, or use a kernel that has them"));
    }
    if let Cgroups::V1(_) = found {
        let refuses = cx.cluster.kubelet.get("failCgroupV1").and_then(serde_json::Value::as_bool);
        if refuses.unwrap_or(cx.cluster.release.fail_cgroup_v1) {
            let remedy = "boot with `systemd.unified_cgroup_hierarchy=1`, or set failCgroupV1: false in kubelet.config";
            findings.push(Finding::failure(CHECK, "this machine uses cgroup v1, which the kubelet refuses", remedy));
        } else {
            let remedy = "if possible, boot with `systemd.unified_cgroup_hierarchy=1` for cgroup v2";
            findings.push(Finding::warning(CHECK, "this machine uses cgroup v1, which Kubernetes will remove", remedy));
        }
    }
    findings
}

pub(super) fn memory(cx: &Context) -> Vec<Finding> {
    load::load().and_then(|load| memory_finding(load.memory_total, cx.node.role)).into_iter().collect()
}

pub(super) fn memory_finding(bytes: u64, role: Role) -> Option<Finding> {
    let what = || format!("{} MiB of memory, but a master needs {}", bytes / MIB, MASTER_MEMORY / MIB);
    (bytes < MASTER_MEMORY && role.is_master())
        .then(|| Finding::failure("memory", what(), "give the machine more memory, or a larger flavor"))
}

pub(super) fn processors(cx: &Context) -> Vec<Finding> {
    match kernel::processors(&cx.files) {
        Ok(Some(n)) if n < MASTER_PROCESSORS && cx.node.role.is_master() => {
            let what = format!("{n} processor, but a master needs {MASTER_PROCESSORS}");
            vec![Finding::failure("processors", what, "give the machine more processors, or a larger flavour")]
        }
        Ok(_) => Vec::new(),
        Err(e) => vec![Finding::blind("processors", &e)],
    }
}

/// Refuses disks without enough space to start; warns about those that will soon be full.
pub(super) fn disks(cx: &Context) -> Vec<Finding> {
    let mut wanted = vec![
        (Path::new("/etc/kubernetes"), MIB, 16 * MIB),
        (Path::new("/var/lib/containerd"), 100 * MIB, 5 * GIB),
        (Path::new("/var/lib/kubelet"), 100 * MIB, GIB),
    ];
    if cx.node.role.is_master() {
        // etcd's database may grow to 2 GiB (`--quota-backend-bytes`), in addition to its log and a snapshot.
        wanted.push((&cx.cluster.etcd.data_directory, 200 * MIB, 4 * GIB));
    }
    let fetched = Path::new(FETCHED);
    let is_fetching = cx.cluster.artifacts.source == ArtifactSource::Upstream && cx.node.role == Role::FirstMaster;
    if is_fetching && !cx.files.exists(fetched.join(lock::NAME)) {
        // About 600 MB of artifacts, and the same for downloads while they are unpacked.
        wanted.push((fetched, 1200 * MIB, 2 * GIB));
    }
    wanted.into_iter().filter_map(|(path, least, enough)| disk_finding(cx, path, least, enough)).collect()
}

fn disk_finding(cx: &Context, path: &Path, least: u64, enough: u64) -> Option<Finding> {
    const CHECK: &str = "disk";
    let room = match disk::room(&cx.files, path) {
        Ok(room) => room,
        Err(e) => return Some(Finding::blind(CHECK, &e)),
    };
    let at = path.display();
    let remedy = format!("free some space (`df -h {}`), or mount a larger disk at {at}", room.directory.display());
    let left = |bytes: u64| if bytes < MIB { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes / MIB) };
    if room.nodes < 100 {
        return Some(Finding::failure(CHECK, format!("the file system for {at} has no free inodes"), remedy));
    }
    let what = |wish: u64, verb| format!("{} left for {at}, and {} are {verb}", left(room.bytes), left(wish));
    match room.bytes {
        bytes if bytes < least => Some(Finding::failure(CHECK, what(least, "needed"), remedy)),
        bytes if bytes < enough => Some(Finding::warning(CHECK, what(enough, "advisable"), remedy)),
        _ => None,
    }
}

/// Programs cannot be installed in a read-only directory, except in `/usr` with a system extension.
pub(super) fn read_only(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "read-only";
    let missing = cx.cluster.artifacts.binaries.iter().map(|binary| &binary.to).filter(|path| !cx.files.exists(path));
    let directories: BTreeSet<&Path> = missing.filter_map(|path| path.parent()).collect();
    let looks = directories.into_iter().filter_map(|directory| match is_closed(cx, directory) {
        Ok(true) => {
            let what = format!("{} is read-only, but programs must be installed there", directory.display());
            let remedy = "make it writable; or add the programs to the machine image and set artifacts.source: image";
            Some(Finding::failure(CHECK, what, remedy))
        }
        Ok(false) => None,
        Err(e) => Some(Finding::blind(CHECK, &e)),
    });
    looks.collect()
}

fn is_closed(cx: &Context, directory: &Path) -> Result<bool, FileError> {
    Ok(!extension::contains(&extension::place(&cx.files, directory)?) && disk::room(&cx.files, directory)?.read_only)
}

pub(super) fn swap(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "swap";
    let areas = match kernel::swaps(&cx.files) {
        Ok(areas) if areas.is_empty() => return Vec::new(),
        Ok(areas) => areas,
        Err(e) => return vec![Finding::blind(CHECK, &e)],
    };
    // `off` disables it later; with `keep`, validation has checked that the kubelet accepts swap.
    if cx.cluster.os.swap != Swap::Refuse {
        return Vec::new();
    }
    let devices: Vec<String> = areas.iter().map(|a| a.device.display().to_string()).collect();
    let what = format!("os.swap: swap is on ({}), but the value is `refuse`", devices.join(", "));
    vec![Finding::failure(CHECK, what, "run `swapoff -a` and remove it from /etc/fstab, or set os.swap: off")]
}

/// The program that manages an interface can enable IPv6 there after the kernel's parameters are set at boot.
pub(super) fn ipv6(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "ipv6";
    let parameter = |interface: &str| {
        kernel::sysctl(&cx.files, &format!("net.ipv6.conf.{}.disable_ipv6", interface.replace('.', "/")))
    };
    let is_off = cx.cluster.os.ipv6 == Ipv6::Off && matches!(parameter("all"), Ok(Some(off)) if off == "1");
    if !is_off {
        return Vec::new();
    }
    let mut names = cx.files.list("/proc/sys/net/ipv6/conf").unwrap_or_default();
    names.retain(|name| !["all", "default", "lo"].contains(&name.as_str()));
    names.retain(|name| matches!(parameter(name), Ok(Some(off)) if off == "0"));
    if names.is_empty() {
        return Vec::new();
    }
    let what = format!("os.ipv6 is `off`, but another program has enabled IPv6 again on {}", names.join(", "));
    let remedy = "disable it there, too: `LinkLocalAddressing=no` and `IPv6AcceptRA=no` for systemd-networkd, `ipv6.method disabled` for NetworkManager";
    vec![Finding::warning(CHECK, what, remedy)]
}

pub(super) fn modules(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "modules";
    let remedy =
        "install the kernel package that has it (Debian: linux-image-amd64, not -cloud), or a kernel with it built in";
    let mut findings = Vec::new();
    let ours = ["overlay", "br_netfilter"].into_iter();
    for name in ours.chain(cx.cluster.os.modules.iter().map(String::as_str)) {
        match kernel::module(&cx.files, name) {
            Ok(Module::Missing) => {
                findings.push(Finding::failure(CHECK, format!("the kernel has no module {name}"), remedy));
            }
            Ok(_) => {}
            Err(e) => findings.push(Finding::blind(CHECK, &e)),
        }
    }
    let filters = ["nf_tables", "ip_tables"].map(|name| kernel::module(&cx.files, name));
    let no_trace = filters.iter().all(|found| matches!(found, Ok(Module::Missing)));
    // In a container, neither is visible; then only kube-proxy can tell.
    if no_trace && cx.files.exists("/sys/module") {
        findings.push(Finding::warning(
            CHECK,
            "the kernel has neither nf_tables nor ip_tables: kube-proxy needs one",
            remedy,
        ));
    }
    findings
}
