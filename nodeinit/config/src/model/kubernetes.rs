//! The version of Kubernetes, and the checks of its release.

use super::{
    Document,
    declare::{Verdict, keys, place::Place},
};
use crate::{
    model::{
        release::{DIRECTORY, Program, Release, Releases},
        versions::{DEFAULT, KubernetesVersion},
    },
    text::tree::{Entry, below},
};

keys! {
    /// The Kubernetes release.
    pub(crate) struct Kubernetes {
        /// The version of Kubernetes. Its minor version selects the release, which determines all other versions and flags: see
        /// `docs/reference/releases.md`.
        "version" version: KubernetesVersion = (DEFAULT), to all, immutable => known;
    }
}

impl Place<'_, Document> {
    /// Returns the release of the version. `None` if there is none, or if the version was reported as wrong.
    pub(super) fn release<'r>(&self, releases: &'r Releases) -> Option<&'r Release> {
        releases.of(self.kubernetes().version().value()?)
    }
}

fn known(place: &Place<'_, KubernetesVersion>, verdict: &mut Verdict<'_>) {
    let (Some(version), releases) = (place.value(), verdict.releases) else { return };
    let Some(release) = releases.of(version) else {
        // An invalid file may be the one that describes it.
        if !releases.incomplete {
            let known: Vec<String> = releases.all.iter().map(|release| release.tested.to_string()).collect();
            let what = format!("nodeinit does not support Kubernetes {version}; it supports {}", known.join(", "));
            let (major, minor) = version.minor_version();
            let remedy = format!(
                "write one of these, or describe {major}.{minor} in {DIRECTORY}/{major}.{minor}.yaml (see docs/how-to/add-a-release.md)"
            );
            place.report(&mut verdict.errors, what, remedy);
        }
        return;
    };
    if version.patch > release.tested.patch {
        let what =
            format!("{version} is newer than {}, the newest version that was tested with nodeinit", release.tested);
        place.report(&mut verdict.warnings, what, "check that this version exists, or use a newer nodeinit");
    }
    let all = place.all();
    for program in Program::ALL {
        let flags = match program {
            // Its flags are the same as kubeadm's.
            Program::Kubelet => continue,
            Program::ApiServer => all.api_server().extra_args(),
            Program::ControllerManager => all.controller_manager().extra_args(),
            Program::Scheduler => all.scheduler().extra_args(),
            Program::Etcd => all.etcd().extra_args(),
        };
        missing_flags((&flags.path, flags.entries()), release, program, verdict);
    }
}

fn missing_flags((path, flags): (&str, &[Entry]), release: &Release, program: Program, verdict: &mut Verdict<'_>) {
    for entry in flags {
        let (what, missing) = match (release.lost(program, &entry.key), release.lacks(program, &entry.key)) {
            (Some(lost), _) => (format!("Kubernetes {} removed this flag from {program}", lost.by), lost),
            (_, Some(lacks)) => (format!("{program} has this flag since Kubernetes {}", lacks.by), lacks),
            (None, None) => continue,
        };
        verdict.errors.add(entry.at, &below(path, &entry.key), what, &missing.remedy);
    }
}
