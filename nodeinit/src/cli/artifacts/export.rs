//! `artifacts export`: what a machine of the cluster has, as a directory for another one.

use super::{Wanted, absolute, cluster, finished, prepared};
use crate::{
    api::download::sha256_of,
    context::blocking,
    engine::{
        error::{Exit, StepError},
        journal::hex,
        report::{Event, Report, rounded},
    },
    fetch::lock,
    host::{
        commands::Commands,
        containerd, facts,
        files::{Files, failed, temporary},
    },
};
use clap::Args;
use nodeinit_config::upstream::{Artifact, Source};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long containerd may take to write one image.
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Args)]
pub(in crate::cli) struct Export {
    /// The directory to write, which serves as artifacts.source
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    pub(super) wanted: Wanted,
}

pub(super) async fn run(args: &Export, report: &Report) -> Result<(), StepError> {
    let cluster = cluster(&args.wanted.meant)?;
    let (files, commands) = (Files::of_machine(), Commands);
    let images = containerd::images(&commands).await.map_err(|e| {
        StepError::caused("cannot list the images of containerd", e)
            .hint("run this as root on a master, where containerd runs")
    })?;
    let is_here = |artifact: &Artifact| match (&artifact.source, &artifact.to) {
        (Source::Image(image), _) => images.contains_key(&image.name),
        (_, to) => to.as_ref().is_some_and(|to| files.exists(to)),
    };
    let missing: Vec<String> = cluster
        .upstream(facts::architecture())
        .into_iter()
        .filter(|each| !is_here(each))
        .map(|each| each.path)
        .collect();
    if !missing.is_empty() {
        let what = format!("this machine does not have {}", missing.join(", "));
        return Err(
            StepError::new(what).hint("run this on another master, or fetch them with `nodeinit artifacts fetch`")
        );
    }
    let directory = absolute(&args.to)?;
    if files.exists(directory.join(lock::NAME)) {
        let what = format!(
            "{} was filled by `artifacts fetch`, whose digests differ from those of exported images",
            directory.display()
        );
        return Err(StepError::new(what).exit(Exit::Usage).hint("name another directory by --to"));
    }
    let _lock = prepared(&files, &directory, "exporting to")?;
    let mut digests = BTreeMap::new();
    // containerd is among them where nodeinit installed it.
    for artifact in cluster.upstream_with(facts::architecture(), true).into_iter().filter(is_here) {
        let begun = report.elapsed();
        let step = artifact.path.clone();
        report.tell(&Event::Started { step: step.clone(), title: format!("export it to {}", directory.display()) });
        let sha256 = export(&files, &commands, &artifact, &directory).await?;
        let seconds = rounded(report.elapsed().saturating_sub(begun));
        report.tell(&Event::Done { step, changed: true, seconds });
        digests.insert(artifact.path, hex(&sha256));
    }
    finished(&files, &directory, &cluster, &digests, args.wanted.output)
}

/// Writes one artifact, whole or not at all. Returns its SHA-256.
async fn export(
    files: &Files,
    commands: &Commands,
    artifact: &Artifact,
    directory: &Path,
) -> Result<[u8; 32], StepError> {
    let to = directory.join(&artifact.path);
    for missing in files.missing_parents(&to) {
        files.make_directory(&missing, 0o755)?;
    }
    if let Source::Image(image) = &artifact.source {
        let written = containerd::export(commands, &image.name, &files.real(&temporary(&to)), LIMIT).await;
        written.map_err(|e| {
            let hint = format!(
                "see whether there is room (`df -h {}`), and whether all of the image is there (`ctr -n k8s.io images check`); then run the \
                 same command again",
                directory.display()
            );
            StepError::caused(format!("cannot export {}", image.name), e).exit(Exit::TryAgain).hint(hint)
        })?;
    }
    let (files, program) = (files.clone(), artifact.to.clone());
    blocking(move || {
        if let Some(program) = program {
            let mut from = File::open(files.real(&program)).map_err(failed("read", &program))?;
            let mut into = files.open_temporary(&to, 0o755)?;
            io::copy(&mut from, &mut into).map_err(failed("write", &to))?;
        }
        let written = File::open(files.real(&temporary(&to))).map_err(failed("read", &to))?;
        let sha256 = sha256_of(&written).map_err(failed("read", &to))?;
        written.sync_all().map_err(failed("sync", &to))?;
        files.rename_temporary(&to)?;
        Ok(sha256)
    })
    .await
}
