//! What the release of Kubernetes allows.

use super::Verdict;
use crate::{
    format,
    keys::VERSION,
    node::{Node, below},
    releases::{DIRECTORY, Program, Release, Releases},
};

pub(super) fn check(tree: &Node, releases: &Releases, verdict: &mut Verdict) {
    let Some((version, at)) = tree.read(VERSION, format::version) else { return };
    let Some(release) = releases.of(version) else {
        // The file that cannot be understood may be the one that describes it.
        if !releases.incomplete {
            let known: Vec<String> = releases.all.iter().map(|release| release.tested.to_string()).collect();
            let what = format!("nodeinit does not know Kubernetes {version}; it knows {}", known.join(", "));
            let (major, minor) = version.minor_version();
            let remedy = format!(
                "write one of these, or describe {major}.{minor} in {DIRECTORY}/{major}.{minor}.yaml (see docs/releases.md)"
            );
            verdict.errors.add(at, VERSION, what, remedy);
        }
        return;
    };
    if version.patch > release.tested.patch {
        let what =
            format!("{version} is newer than {}, the newest version that nodeinit is tested with", release.tested);
        verdict.warnings.add(at, VERSION, what, "check that this version exists, or use a newer nodeinit");
    }
    for program in Program::ALL {
        flags(tree, release, program, verdict);
    }
    if let Some((mode, at)) = tree.read("kubeProxy.config.mode", |mode| Ok(mode.to_owned()))
        && let Some(remedy) = release.deprecated_proxy_modes.get(&mode)
    {
        let what = format!("Kubernetes {} deprecates the mode {mode}", release.name());
        verdict.warnings.add(at, "kubeProxy.config.mode", what, remedy);
    }
}

fn flags(tree: &Node, release: &Release, program: Program, verdict: &mut Verdict) {
    let path = format!("{}.extraArgs", program.key());
    for entry in tree.get(&path).map_or(&[][..], Node::entries) {
        let (what, missing) = match (release.lost(program, &entry.key), release.lacks(program, &entry.key)) {
            (Some(lost), _) => (format!("Kubernetes {} removed this flag from {program}", lost.by), lost),
            (_, Some(lacks)) => (format!("{program} has this flag from Kubernetes {} on", lacks.by), lacks),
            (None, None) => continue,
        };
        verdict.errors.add(entry.at, &below(&path, &entry.key), what, &missing.remedy);
    }
}
