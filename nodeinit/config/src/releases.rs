//! What nodeinit knows about each minor version of Kubernetes: one file of data each, embedded here or passed in as a layer.

use crate::{
    check, defaults,
    format::{self, FLAG, IMAGE_TAG, KUBEADM_API, MINOR, PROXY_MODE, SENTENCE, VERSION},
    load::Layer,
    merge::merge,
    node::Node,
    parse,
    problem::{Findings, Mark},
    schema::{
        Fallback::{Empty, Required, Value, Words},
        Field,
        Kind::{Dict, Flag, Group, List, Text},
    },
    versions::KubernetesVersion,
};
use std::{collections::BTreeMap, ffi::OsStr, fmt, path::Path};

/// The version where none is configured: the tested one of the newest release.
pub const DEFAULT: &str = "v1.37.1";

/// Where the machine keeps files that add or replace releases.
pub const DIRECTORY: &str = "/etc/nodeinit/releases";

const EMBEDDED: [&str; 4] = [
    include_str!("../releases/1.34.yaml"),
    include_str!("../releases/1.35.yaml"),
    include_str!("../releases/1.36.yaml"),
    include_str!("../releases/1.37.yaml"),
];

/// The keys of a release file.
pub const KEYS: &[Field] = &[
    Field {
        key: "version",
        kind: Text(&VERSION),
        default: Required,
        doc: "The newest patch version that nodeinit is tested with. The file describes every version of the same minor version.",
    },
    Field {
        key: "images",
        kind: Group(IMAGES),
        default: Required,
        doc: "The tags of the other images that kubeadm deploys.",
    },
    Field { key: "kubeadm", kind: Group(KUBEADM), default: Required, doc: "What kubeadm of this release writes." },
    Field {
        key: "containerd",
        kind: Group(CONTAINERD),
        default: Required,
        doc: "Which versions of containerd the kubelet works with.",
    },
    Field {
        key: "kubelet",
        kind: Group(KUBELET),
        default: Required,
        doc: "The kubelet, compared with the release before.",
    },
    Field {
        key: "apiServer",
        kind: Group(FLAGS),
        default: Empty(""),
        doc: "kube-apiserver, compared with the release before.",
    },
    Field {
        key: "controllerManager",
        kind: Group(FLAGS),
        default: Empty(""),
        doc: "kube-controller-manager, compared with the release before.",
    },
    Field {
        key: "scheduler",
        kind: Group(FLAGS),
        default: Empty(""),
        doc: "kube-scheduler, compared with the release before.",
    },
    Field { key: "etcd", kind: Group(FLAGS), default: Empty(""), doc: "etcd, compared with the release before." },
    Field { key: "kubeProxy", kind: Group(KUBE_PROXY), default: Empty(""), doc: "kube-proxy." },
    Field {
        key: "upgrade",
        kind: Group(UPGRADE),
        default: Empty(""),
        doc: "What an upgrade from the release before needs.",
    },
];

const IMAGES: &[Field] = &[
    Field { key: "etcd", kind: Text(&IMAGE_TAG), default: Required, doc: "The tag of etcd's image." },
    Field { key: "coreDNS", kind: Text(&IMAGE_TAG), default: Required, doc: "The tag of CoreDNS' image." },
    Field { key: "pause", kind: Text(&IMAGE_TAG), default: Required, doc: "The tag of the pause image." },
];

const KUBEADM: &[Field] = &[
    Field {
        key: "apiVersion",
        kind: Text(&KUBEADM_API),
        default: Required,
        doc: "The `apiVersion` of the configuration in the ConfigMap `kubeadm-config`.",
    },
    Field {
        key: "flexVolumes",
        kind: Flag,
        default: Value("false"),
        doc: "Whether kube-controller-manager's static pod mounts the directory of FlexVolume plugins.",
    },
];

const CONTAINERD: &[Field] = &[
    Field {
        key: "minimum",
        kind: Text(&MINOR),
        default: Required,
        doc: "The oldest minor version that the kubelet works with. `preflight` refuses an older one.",
    },
    Field { key: "recommended", kind: Text(&MINOR), default: Required, doc: "`preflight` warns about an older one." },
];

const KUBELET: &[Field] = &[
    Field {
        key: "failCgroupV1",
        kind: Flag,
        default: Required,
        doc: "The default of `failCgroupV1`: whether the kubelet refuses to start on cgroup v1.",
    },
    ADDED_FLAGS,
    REMOVED_FLAGS,
];

const FLAGS: &[Field] = &[ADDED_FLAGS, REMOVED_FLAGS];

const ADDED_FLAGS: Field = Field {
    key: "addedFlags",
    kind: List(&Text(&FLAG)),
    default: Empty("[max-pods]"),
    doc: "Flags, without dashes, that the release before does not have.",
};

const REMOVED_FLAGS: Field = Field {
    key: "removedFlags",
    kind: Dict { keys: &FLAG, values: &SENTENCE, reserved: &[] },
    default: Empty("{max-pods: set maxPods in kubelet.config}"),
    doc: "Flags, without dashes, that this release no longer has, each with what to do instead.",
};

const KUBE_PROXY: &[Field] = &[
    Field {
        key: "mode",
        kind: Text(&PROXY_MODE),
        default: Words("none", "iptables"),
        doc: "The `mode` that kubeadm writes into kube-proxy's configuration.",
    },
    Field {
        key: "deprecatedModes",
        kind: Dict { keys: &PROXY_MODE, values: &SENTENCE, reserved: &[] },
        default: Empty("{ipvs: use nftables}"),
        doc: "Values of `mode` that a later release removes, each with what to do instead.",
    },
];

const UPGRADE: &[Field] = &[
    Field {
        key: "etcd",
        kind: Text(&IMAGE_TAG),
        default: Words("none", "3.6.11-0"),
        doc: "The tag of the image of etcd that every member must run, or a newer one, before the first member is upgraded.",
    },
    Field {
        key: "changedDefaults",
        kind: List(&Text(&SENTENCE)),
        default: Empty("[failCgroupV1 of the kubelet is true]"),
        doc: "Defaults that are not those of the release before.",
    },
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
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Kubelet, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Etcd];

    /// Its key in a release file, and in the configuration.
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

/// A minor version of Kubernetes, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// `version`: the newest patch version that nodeinit is tested with.
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
    /// `kubeProxy.deprecatedModes`, each with what to do instead.
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
    /// What to do instead.
    pub remedy: String,
}

impl Release {
    /// The minor version, such as `1.37`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.tested.major, self.tested.minor)
    }

    /// The flags of a program that this release adds.
    pub fn added(&self, program: Program) -> impl Iterator<Item = &str> {
        self.added.keys().filter(move |(of, _)| *of == program).map(|(_, flag)| flag.as_str())
    }

    /// The flags of a program that this release or an earlier one removed.
    pub fn removed(&self, program: Program) -> impl Iterator<Item = (&str, &Missing)> {
        self.removed.iter().filter(move |((of, _), _)| *of == program).map(|((_, flag), why)| (flag.as_str(), why))
    }

    /// Why the program does not have this flag: removed by this release or an earlier one.
    #[must_use]
    pub fn lost(&self, program: Program, flag: &str) -> Option<&Missing> {
        self.removed.get(&(program, flag.to_owned()))
    }

    /// Why the program does not have this flag yet: a later release adds it.
    #[must_use]
    pub fn lacks(&self, program: Program, flag: &str) -> Option<&Missing> {
        self.later.get(&(program, flag.to_owned()))
    }
}

/// The releases that nodeinit brings, oldest first.
#[must_use]
pub fn embedded() -> Vec<Release> {
    Releases::read(&[], &mut Findings::default()).all
}

/// All known releases, oldest first.
#[derive(Debug)]
pub(crate) struct Releases {
    pub(crate) all: Vec<Release>,
    /// A file could not be understood, so that a release may be missing here.
    pub(crate) incomplete: bool,
}

impl Releases {
    /// The embedded ones, with those of the layers over them. What is wrong in a file goes to `findings`.
    pub(crate) fn read(layers: &[Layer], findings: &mut Findings) -> Self {
        let before = findings.len();
        let mut all: BTreeMap<(u16, u16), Release> = BTreeMap::new();
        for text in EMBEDDED {
            let release = parse::parse(0, text.as_bytes(), findings).and_then(|root| read(root, findings));
            all.extend(release.map(|release| (release.tested.minor_version(), release)));
        }
        for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| layer.is_release()) {
            let number = index + 1;
            let Some(root) = layer.parse(number, findings) else { continue };
            let Some(release) = read(root, findings) else { continue };
            let name = format!("{}.yaml", release.name());
            if Path::new(&layer.name).file_name() != Some(OsStr::new(&name)) {
                let what = format!("the file describes Kubernetes {}, and its name says otherwise", release.name());
                let at = Mark { layer: number, line: 1, column: 1 };
                findings.add(at, "version", what, format!("name it {name}"));
            }
            all.insert(release.tested.minor_version(), release);
        }
        let mut all: Vec<Release> = all.into_values().collect();
        relate(&mut all);
        Self { all, incomplete: findings.len() > before }
    }

    /// What describes this version.
    pub(crate) fn of(&self, version: KubernetesVersion) -> Option<&Release> {
        self.all.iter().find(|release| release.tested.minor_version() == version.minor_version())
    }
}

/// Carries removed flags on to later releases, and added ones back to earlier releases.
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

/// `None` where anything in the file is wrong; that is in `findings`.
fn read(root: Node, findings: &mut Findings) -> Option<Release> {
    let before = findings.len();
    let mut tree = defaults::group(KEYS);
    let checked = check::file(root, KEYS, findings)?;
    if findings.len() > before {
        return None;
    }
    merge(&mut tree, checked);
    let text = |path: &str| tree.get(path).and_then(Node::scalar).map(str::to_owned);
    let flag = |path: &str| tree.get(path)?.json().as_bool();
    let minor = |path: &str| tree.read(path, format::minor).map(|(version, _)| version);
    let texts = |path: &str| -> Vec<(String, String)> {
        let entries = tree.get(path).map_or(&[][..], Node::entries).iter();
        entries.filter_map(|e| Some((e.key.clone(), e.node.scalar()?.to_owned()))).collect()
    };
    let list = |path: &str| -> Vec<String> {
        let items = tree.get(path).map_or(&[][..], Node::items).iter();
        items.filter_map(|item| item.scalar().map(str::to_owned)).collect()
    };
    let tested = tree.read("version", format::version)?.0;
    let by = format!("{}.{}", tested.major, tested.minor);
    let of_program = |program: Program| {
        (program, format!("{}.addedFlags", program.key()), format!("{}.removedFlags", program.key()))
    };
    let mut added = BTreeMap::new();
    let mut removed = BTreeMap::new();
    for (program, added_path, removed_path) in Program::ALL.map(of_program) {
        added.extend(list(&added_path).into_iter().map(|flag| ((program, flag), ())));
        removed.extend(
            texts(&removed_path)
                .into_iter()
                .map(|(flag, remedy)| ((program, flag), Missing { by: by.clone(), remedy })),
        );
    }
    Some(Release {
        tested,
        etcd: text("images.etcd")?,
        coredns: text("images.coreDNS")?,
        pause: text("images.pause")?,
        kubeadm_api: text("kubeadm.apiVersion")?,
        flex_volumes: flag("kubeadm.flexVolumes")?,
        least_containerd: minor("containerd.minimum")?,
        recommended_containerd: minor("containerd.recommended")?,
        fail_cgroup_v1: flag("kubelet.failCgroupV1")?,
        proxy_mode: text("kubeProxy.mode"),
        deprecated_proxy_modes: texts("kubeProxy.deprecatedModes").into_iter().collect(),
        etcd_before_upgrade: text("upgrade.etcd"),
        changed_defaults: list("upgrade.changedDefaults"),
        added,
        removed,
        later: BTreeMap::new(),
    })
}
