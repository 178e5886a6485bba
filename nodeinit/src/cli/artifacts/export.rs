//! `artifacts export`: writes the artifacts of a master to a directory for other machines.

use super::{absolute, write_layer};
use crate::{
    cli::{
        Common,
        setup::{self, Access},
    },
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        report::{Event, Report, rounded},
    },
    host::{
        archive, containerd,
        disk::room,
        facts,
        files::{File, FileError, Files, failed},
        lock::{self, Lock},
        section::Section,
    },
    steps::{artifacts::right_version, extension},
};
use clap::Args;
use nodeinit_base::{atomic_file::temporary, hex, sha256_of};
use nodeinit_config::upstream::{Artifact, Source};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// The lock file of an export's directory. An export changes no other directory unless it is empty.
const LOCK: &str = ".export.lock";

/// Limit for containerd to write one image.
const LIMIT: Duration = Duration::from_secs(300);

/// The required free bytes: on a master, etcd may be on the same disk.
const ROOM: u64 = 2_000_000_000;

#[derive(Args)]
pub(in crate::cli) struct Export {
    /// The directory to write, which serves as artifacts.source: new, empty, or from an earlier export
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) async fn run(args: &Export, report: &Report) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let _machine = setup::lock()?;
    let directory = absolute(&args.to)?;
    let artifacts = present(&cx).await?;
    let _directory = prepared(&cx.files, &directory)?;
    let mut digests = BTreeMap::new();
    for artifact in artifacts {
        let (started, step) = (report.elapsed(), artifact.path.clone());
        report.tell(&Event::Started { step: step.clone(), title: format!("export it to {}", directory.display()) });
        let to = directory.join(&artifact.path);
        let exported = one(&cx, &artifact, &to).await;
        if exported.is_err() {
            let _ = cx.files.remove_file(temporary(&to));
        }
        digests.insert(artifact.path, hex(&exported?));
        let seconds = rounded(report.elapsed().saturating_sub(started));
        report.tell(&Event::Done { step, changed: true, seconds });
    }
    let parents: BTreeSet<PathBuf> =
        digests.keys().filter_map(|path| Some(directory.join(path).parent()?.to_owned())).collect();
    parents.iter().try_for_each(|parent| cx.files.sync_directory(parent))?;
    write_layer(&cx.files, &directory, &cx.cluster, &digests, &digests, args.common.printing.output)
}

/// Returns the artifacts of this machine. Fails if one is missing or differs from what nodeinit installed.
async fn present(cx: &Context) -> Result<Vec<Artifact>, StepError> {
    let images = containerd::images(&cx.commands).await.map_err(|e| {
        StepError::caused("cannot list the images of containerd", e).hint("see `systemctl status containerd`")
    })?;
    let runtime = &cx.cluster.artifacts.runtime;
    let is_here = |artifact: &Artifact| match (&artifact.source, &artifact.to) {
        (Source::Image(image), _) => images.contains_key(&image.name),
        // A containerd of the distribution is not exported.
        (_, Some(to)) if runtime.iter().any(|program| program.to == *to) => {
            cx.files.exists(to) && extension::record(cx, to).is_some()
        }
        (_, to) => to.as_ref().is_some_and(|to| cx.files.exists(to)),
    };
    let (all, missing): (Vec<_>, Vec<_>) =
        cx.cluster.upstream_with(facts::architecture(), true).into_iter().partition(is_here);
    let is_optional =
        |artifact: &Artifact| artifact.to.as_ref().is_some_and(|to| runtime.iter().any(|program| program.to == *to));
    let missing: Vec<String> = missing.into_iter().filter(|each| !is_optional(each)).map(|each| each.path).collect();
    if !missing.is_empty() {
        return Err(StepError::new(format!("this machine does not have {}", missing.join(", "))).hint(
            "run this on another master, or fetch them with `nodeinit artifacts fetch`; the kubelet removes images that no pod uses when the \
             disk is nearly full",
        ));
    }
    for to in all.iter().filter_map(|artifact| artifact.to.as_deref()) {
        if to.ends_with("kubelet") {
            right_version(cx, to).await?;
        }
    }
    Ok(all)
}

/// Creates the directory and locks it.
fn prepared(files: &Files, directory: &Path) -> Result<Lock, StepError> {
    let names = files.list(directory)?;
    if !names.is_empty() && !names.iter().any(|name| name == LOCK) {
        let what = format!("{} contains other files, which an export could replace", directory.display());
        return Err(StepError::new(what).exit(Exit::Usage).hint("pass a new directory with --to"));
    }
    let room = room(files, directory)?;
    if room.bytes < ROOM {
        let what = format!(
            "{} has {} MB free, but an export needs {} MB",
            room.directory.display(),
            room.bytes / 1_000_000,
            ROOM / 1_000_000
        );
        return Err(StepError::new(what)
            .exit(Exit::TryAgain)
            .hint("pass a directory on another disk with --to, or free some space"));
    }
    for missing in files.missing(directory) {
        files.make_directory(&missing, 0o755)?;
    }
    Ok(lock::hold(&directory.join(LOCK), &format!("exporting to {}", directory.display()))?)
}

/// Writes one artifact atomically. Returns its SHA-256.
async fn one(cx: &Context, artifact: &Artifact, to: &Path) -> Result<[u8; 32], StepError> {
    for missing in cx.files.missing_parents(to) {
        cx.files.make_directory(&missing, 0o755)?;
    }
    if let Source::Image(image) = &artifact.source {
        // `ctr` would follow a symbolic link.
        cx.files.remove_file(temporary(to))?;
        let written = containerd::export(&cx.commands, &image.name, &cx.files.real(&temporary(to)), LIMIT).await;
        written.map_err(|e| {
            let hint = "check the free space (`df -h`) and that the image is complete (`ctr -n k8s.io images check`); then run the \
                        same command again";
            StepError::caused(format!("cannot export {}", image.name), e).exit(Exit::TryAgain).hint(hint)
        })?;
        complete(cx.files.real(&temporary(to)), &image.name)?;
    }
    let program = artifact.to.clone();
    let placed = program.as_ref().and_then(|program| extension::record(cx, program));
    let (files, to, mode) = (cx.files.clone(), to.to_owned(), if program.is_some() { 0o755 } else { 0o644 });
    blocking(move || {
        let (sha256, written) = contents(&files, program.as_deref(), &to)?;
        if let (Some(program), Some(placed)) = (program, placed)
            && !placed.sha256.contains(&hex(&sha256))
        {
            let what = format!("{} differs from the file that nodeinit installed", program.display());
            return Err(
                StepError::new(what).hint("run `nodeinit up` here, which replaces it, or run this on another master")
            );
        }
        files.set_mode(&temporary(&to), mode)?;
        written.sync_all().map_err(failed("sync", &to))?;
        files.rename_temporary(&to)?;
        Ok(sha256)
    })
    .await
}

/// Fails if the archive is cut off or does not contain the image: `ctr` does not report all failures to write it.
fn complete(archive: PathBuf, image: &str) -> Result<(), StepError> {
    let names = Section::whole(archive).and_then(|archive| archive::names(&archive));
    let names = names.map_err(|e| StepError::caused(format!("cannot read the exported archive of {image}"), e))?;
    if names.is_some_and(|names| names.iter().any(|name| archive::full_name(name) == archive::full_name(image))) {
        return Ok(());
    }
    Err(StepError::new(format!("containerd's `ctr` wrote an incomplete archive of {image}"))
        .exit(Exit::TryAgain)
        .hint("check the free space (`df -h`), then run the same command again"))
}

/// Copies a program to the temporary file, if one is given. Returns that file and its SHA-256.
fn contents(files: &Files, program: Option<&Path>, to: &Path) -> Result<([u8; 32], File), FileError> {
    if let Some(program) = program {
        let mut from = files.open(program)?;
        let mut into = files.open_temporary(to, 0o755)?;
        io::copy(&mut from, &mut into).map_err(failed("write", to))?;
    }
    let written = files.open(&temporary(to))?;
    let sha256 = sha256_of(&written).map_err(failed("read", to))?;
    Ok((sha256, written))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make archives")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_archive_that_ctr_cut_off_or_left_empty_is_not_exported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pause.tar");
        archive::testing::archive(&path, "registry.k8s.io/pause:3.10.2", b"a layer's content");
        let of = |image: &str| complete(path.clone(), image);
        of("registry.k8s.io/pause:3.10.2").unwrap();
        assert!(of("registry.k8s.io/pause:3.10.1").is_err());
        let whole = fs::read(&path).unwrap();
        for length in [whole.len() - 1600, 0] {
            fs::write(&path, &whole[..length]).unwrap();
            let error = of("registry.k8s.io/pause:3.10.2").unwrap_err();
            assert!(error.exit == Exit::TryAgain && error.to_string().contains("incomplete"), "{error}");
        }
    }
}
