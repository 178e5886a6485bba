//! Controls containerd through its `ctr`.

use super::{
    commands::{CommandError, Commands},
    facts,
};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// containerd's namespace of the kubelet's images and containers.
const NAMESPACE: &str = "k8s.io";

/// Limit for an answer of containerd: a busy one is slow, a stopped one refuses the connection at once.
const ANSWER: Duration = Duration::from_secs(20);

/// Returns the complete images by full name, and whether each is unpacked and therefore undamaged.
///
/// # Errors
/// If `ctr` is missing or containerd does not answer.
pub async fn images(commands: &Commands) -> Result<BTreeMap<String, bool>, CommandError> {
    Ok(complete(&commands.run(&["ctr", "-n", NAMESPACE, "images", "check"], ANSWER).await?))
}

/// Returns the lines with the status `complete`; an interrupted pull has `incomplete`.
fn complete(table: &str) -> BTreeMap<String, bool> {
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter(|columns| columns.contains(&"complete"))
        .filter_map(|columns| Some(((*columns.first()?).to_owned(), columns.last() == Some(&"true"))))
        .collect()
}

/// Imports an archive and unpacks its images, so that containers start at once.
///
/// `ctr` ends together with this process: a `ctr` that is left behind locks the image's content, and the import of the next run
/// would wait for it. `setpriv` is part of util-linux.
///
/// # Errors
/// If containerd refuses the archive, has no disk space, or takes longer than `limit`.
pub async fn import(commands: &Commands, archive: &Path, limit: Duration) -> Result<(), CommandError> {
    let archive = archive.to_string_lossy();
    let bound = ["setpriv", "--pdeathsig", "KILL"];
    let import = ["ctr", "-n", NAMESPACE, "images", "import", &archive];
    commands.run(&[&bound[..], &import].concat(), limit).await.map(drop)
}

/// Writes an image to an archive, which may exist. A failure leaves a partial archive.
///
/// `--local`: since containerd 2.0, `ctr` otherwise receives the archive in a thread that it does not wait for, so it sometimes cuts the
/// archive off and still exits with 0 (`ImageExportStream.MarshalAny` in core/transfer/archive/exporter.go). Older versions do not know
/// the option and do not need it.
///
/// # Errors
/// If a part of the image is missing, if there is no disk space, or if the export takes longer than `limit`.
pub async fn export(commands: &Commands, image: &str, archive: &Path, limit: Duration) -> Result<(), CommandError> {
    let archive = archive.to_string_lossy();
    let platform = format!("linux/{}", facts::architecture());
    let bound = ["setpriv", "--pdeathsig", "KILL", "ctr", "-n", NAMESPACE, "images", "export"];
    let export = |local: &'static [&'static str]| {
        let command = [&bound[..], local, &["--platform", &platform, &archive, image]].concat();
        async move { commands.run(&command, limit).await.map(drop) }
    };
    match export(&["--local"]).await {
        Err(CommandError::Failed { stderr, .. }) if stderr.contains("flag provided but not defined") => {
            export(&[]).await
        }
        exported => exported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_images_count() {
        let table = "REF  TYPE  DIGEST  STATUS  SIZE  UNPACKED\n\
            registry.k8s.io/etcd:3.6.5-0  application/x  sha256:c9  complete (2/2)  58.6 MiB/58.6 MiB  true\n\
            registry.k8s.io/pause:3.10.1  application/x  sha256:7d  incomplete (1/2)  1.0 MiB/1.4 MiB  false\n";
        assert_eq!(complete(table), [("registry.k8s.io/etcd:3.6.5-0".to_owned(), true)].into());
    }
}
