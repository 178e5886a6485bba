//! The releases of Kubernetes: one data file per minor version, embedded here or passed in as a layer.

mod file;

pub use crate::model::{
    release::{DIRECTORY, Missing, Program, Release},
    versions::{ContainerdVersion, DEFAULT},
};
pub use file::KEYS;

use crate::{
    layer::Layer,
    model::{
        check,
        declare::place::Place,
        defaults,
        release::{Flags, Releases},
    },
    problem::{Findings, Mark},
    text::{merge::merge, reader, tree::YamlNode},
};
use file::File;
use std::{collections::BTreeMap, ffi::OsStr, path::Path};

const EMBEDDED: [&str; 4] = [
    include_str!("../../releases/1.34.yaml"),
    include_str!("../../releases/1.35.yaml"),
    include_str!("../../releases/1.36.yaml"),
    include_str!("../../releases/1.37.yaml"),
];

/// Returns the embedded releases, oldest first.
#[must_use]
pub fn embedded() -> Vec<Release> {
    read(&[], &mut Findings::default()).all
}

/// Reads the embedded releases and those of the layers, which take precedence. Problems go to `findings`.
pub(crate) fn read(layers: &[Layer], findings: &mut Findings) -> Releases {
    let before = findings.len();
    let mut all: BTreeMap<(u16, u16), Release> = BTreeMap::new();
    for text in EMBEDDED {
        let release = reader::parse(0, text.as_bytes(), findings).and_then(|root| release(root, findings));
        all.extend(release.map(|release| (release.tested.minor_version(), release)));
    }
    for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| layer.is_release()) {
        let number = index + 1;
        let Some(root) = layer.parse(number, findings) else { continue };
        let Some(release) = release(root, findings) else { continue };
        let name = format!("{}.yaml", release.name());
        if Path::new(&layer.name).file_name() != Some(OsStr::new(&name)) {
            let what = format!("the file describes Kubernetes {}, which does not match its name", release.name());
            let at = Mark { layer: number, line: 1, column: 1 };
            findings.add(at, "version", what, format!("rename it to {name}"));
        }
        all.insert(release.tested.minor_version(), release);
    }
    let mut all: Vec<Release> = all.into_values().collect();
    relate(&mut all);
    Releases { all, incomplete: findings.len() > before }
}

/// Copies removed flags to later releases, and added ones to earlier releases.
fn relate(releases: &mut [Release]) {
    let mut removed: Flags<Missing> = BTreeMap::new();
    for release in releases.iter_mut() {
        removed.retain(|flag, _| !release.added.contains_key(flag));
        removed.append(&mut release.removed);
        release.removed.clone_from(&removed);
    }
    let mut later: Flags<Missing> = BTreeMap::new();
    for release in releases.iter_mut().rev() {
        release.later.clone_from(&later);
        let (by, newest) = (release.name(), release.tested);
        let added = release.added.keys().map(|flag| {
            let remedy = format!("remove the flag, or use Kubernetes {newest}");
            (flag.clone(), Missing { by: by.clone(), remedy })
        });
        later.extend(added);
    }
}

/// Returns `None` if the file has a problem, which is in `findings`.
fn release(root: YamlNode, findings: &mut Findings) -> Option<Release> {
    let before = findings.len();
    let mut tree = defaults::group(KEYS);
    let checked = check::file(root, KEYS, findings)?;
    if findings.len() > before {
        return None;
    }
    merge(&mut tree, checked);
    let file = Place::<File>::of_tree(&tree).value()?;
    let by = format!("{}.{}", file.version.major, file.version.minor);
    let mut added = BTreeMap::new();
    let mut removed = BTreeMap::new();
    for (program, new, lost) in [
        (Program::Kubelet, file.kubelet.added_flags, file.kubelet.removed_flags),
        (Program::ApiServer, file.api_server.added_flags, file.api_server.removed_flags),
        (Program::ControllerManager, file.controller_manager.added_flags, file.controller_manager.removed_flags),
        (Program::Scheduler, file.scheduler.added_flags, file.scheduler.removed_flags),
        (Program::Etcd, file.etcd.added_flags, file.etcd.removed_flags),
    ] {
        added.extend(new.into_iter().map(|flag| ((program, flag), ())));
        let missing = |remedy| Missing { by: by.clone(), remedy };
        removed.extend(lost.into_iter().map(|(flag, remedy)| ((program, flag), missing(remedy))));
    }
    Some(Release {
        tested: file.version,
        etcd: file.images.etcd,
        coredns: file.images.core_dns,
        pause: file.images.pause,
        kubeadm_api: file.kubeadm.api_version,
        flex_volumes: file.kubeadm.flex_volumes,
        least_containerd: file.containerd.minimum,
        recommended_containerd: file.containerd.recommended,
        fail_cgroup_v1: file.kubelet.fail_cgroup_v1,
        proxy_mode: file.kube_proxy.mode,
        deprecated_proxy_modes: file.kube_proxy.deprecated_modes,
        etcd_before_upgrade: file.upgrade.etcd,
        changed_defaults: file.upgrade.changed_defaults,
        added,
        removed,
        later: BTreeMap::new(),
    })
}
