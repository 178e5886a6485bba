//! The releases of Kubernetes: one data file per minor version, embedded here or passed in as a layer.

mod file;

pub use file::KEYS;

use crate::{
    load::Layer,
    model::{check, defaults, place::Place, versions::KubernetesVersion},
    problem::{Findings, Mark},
    text::{merge::merge, reader, tree::YamlNode},
};
use file::File;
use std::{collections::BTreeMap, ffi::OsStr, fmt, path::Path};

/// The default version: the tested one of the newest release.
pub const DEFAULT: &str = "v1.37.1";

/// Where the machine keeps files that add or replace releases.
pub const DIRECTORY: &str = "/etc/nodeinit/releases";

const EMBEDDED: [&str; 4] = [
    include_str!("../../releases/1.34.yaml"),
    include_str!("../../releases/1.35.yaml"),
    include_str!("../../releases/1.36.yaml"),
    include_str!("../../releases/1.37.yaml"),
];

/// A program of Kubernetes whose flags a release file lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// kubelet.
    Kubelet,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// etcd.
    Etcd,
}

impl Program {
    /// All programs.
    pub const ALL: [Self; 5] = [Self::Kubelet, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Etcd];

    /// Returns its key in a release file and in the configuration.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::ApiServer => "apiServer",
            Self::ControllerManager => "controllerManager",
            Self::Scheduler => "scheduler",
            Self::Etcd => "etcd",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubelet => "kubelet",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Etcd => "etcd",
        })
    }
}

/// A minor version of containerd, such as 1.6.
pub type ContainerdVersion = (u16, u16);

/// A minor version of Kubernetes with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// `version`: the newest patch version that was tested with nodeinit.
    pub tested: KubernetesVersion,
    /// `images.etcd`.
    pub etcd: String,
    /// `images.coreDNS`.
    pub coredns: String,
    /// `images.pause`.
    pub pause: String,
    /// `kubeadm.apiVersion`.
    pub kubeadm_api: String,
    /// `kubeadm.flexVolumes`.
    pub flex_volumes: bool,
    /// `containerd.minimum`.
    pub least_containerd: ContainerdVersion,
    /// `containerd.recommended`.
    pub recommended_containerd: ContainerdVersion,
    /// `kubelet.failCgroupV1`.
    pub fail_cgroup_v1: bool,
    /// `kubeProxy.mode`.
    pub proxy_mode: Option<String>,
    /// `kubeProxy.deprecatedModes`, each with the alternative.
    pub deprecated_proxy_modes: BTreeMap<String, String>,
    /// `upgrade.etcd`.
    pub etcd_before_upgrade: Option<String>,
    /// `upgrade.changedDefaults`.
    pub changed_defaults: Vec<String>,
    added: Flags<()>,
    removed: Flags<Missing>,
    later: Flags<Missing>,
}

type Flags<T> = BTreeMap<(Program, String), T>;

/// Why a release does not have a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The release that removed or added it, such as `1.35`.
    pub by: String,
    /// The alternative.
    pub remedy: String,
}

impl Release {
    /// Returns the minor version, such as `1.37`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.tested.major, self.tested.minor)
    }

    /// Returns the flags of a program that this release adds.
    pub fn added(&self, program: Program) -> impl Iterator<Item = &str> {
        self.added.keys().filter(move |(of, _)| *of == program).map(|(_, flag)| flag.as_str())
    }

    /// Returns the flags of a program that this release or an earlier one removed.
    pub fn removed(&self, program: Program) -> impl Iterator<Item = (&str, &Missing)> {
        self.removed.iter().filter(move |((of, _), _)| *of == program).map(|((_, flag), why)| (flag.as_str(), why))
    }

    /// Returns why the program does not have this flag: removed by this release or an earlier one.
    #[must_use]
    pub fn lost(&self, program: Program, flag: &str) -> Option<&Missing> {
        self.removed.get(&(program, flag.to_owned()))
    }

    /// Returns why the program does not have this flag yet: a later release adds it.
    #[must_use]
    pub fn lacks(&self, program: Program, flag: &str) -> Option<&Missing> {
        self.later.get(&(program, flag.to_owned()))
    }
}

/// Returns the embedded releases, oldest first.
#[must_use]
pub fn embedded() -> Vec<Release> {
    Releases::read(&[], &mut Findings::default()).all
}

/// All known releases, oldest first.
#[derive(Debug)]
pub(crate) struct Releases {
    pub(crate) all: Vec<Release>,
    /// Whether a file was invalid, so that a release may be missing here.
    pub(crate) incomplete: bool,
}

impl Releases {
    /// Reads the embedded releases and those of the layers, which take precedence. Problems go to `findings`.
    pub(crate) fn read(layers: &[Layer], findings: &mut Findings) -> Self {
        let before = findings.len();
        let mut all: BTreeMap<(u16, u16), Release> = BTreeMap::new();
        for text in EMBEDDED {
            let release = reader::parse(0, text.as_bytes(), findings).and_then(|root| read(root, findings));
            all.extend(release.map(|release| (release.tested.minor_version(), release)));
        }
        for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| layer.is_release()) {
            let number = index + 1;
            let Some(root) = layer.parse(number, findings) else { continue };
            let Some(release) = read(root, findings) else { continue };
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
        Self { all, incomplete: findings.len() > before }
    }

    /// Returns the release of this version.
    pub(crate) fn of(&self, version: KubernetesVersion) -> Option<&Release> {
        self.all.iter().find(|release| release.tested.minor_version() == version.minor_version())
    }
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
fn read(root: YamlNode, findings: &mut Findings) -> Option<Release> {
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
