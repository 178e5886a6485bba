//! containerd, through the `ctr` that comes with it.

use super::{
    commands::{CommandError, Commands},
    facts,
};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// containerd's namespace of the images and containers that the kubelet sees.
const NAMESPACE: &str = "k8s.io";

/// How long containerd may take to answer a question: a busy one is slow, a stopped one is refused at once.
const ANSWER: Duration = Duration::from_secs(20);

/// The images that are wholly there, by full name; and whether each is unpacked, and so was found undamaged.
///
/// # Errors
/// If `ctr` is missing or containerd does not answer.
pub async fn images(commands: &Commands) -> Result<BTreeMap<String, bool>, CommandError> {
    Ok(complete(&commands.run(&["ctr", "-n", NAMESPACE, "images", "check"], ANSWER).await?))
}

/// The lines whose status is `complete`; a pull that was cut short says `incomplete`.
fn complete(table: &str) -> BTreeMap<String, bool> {
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter(|columns| columns.contains(&"complete"))
        .filter_map(|columns| Some(((*columns.first()?).to_owned(), columns.last() == Some(&"true"))))
        .collect()
}

/// Imports an archive and unpacks its images, so that a container of it starts at once.
///
/// `ctr` ends with this process, however that ends: one that was left behind locks the image's content, and the next run's
/// import waits for it. `setpriv` comes with util-linux.
///
/// # Errors
/// If containerd refuses the archive or has no room, or the import takes longer than `limit`.
pub async fn import(commands: &Commands, archive: &Path, limit: Duration) -> Result<(), CommandError> {
    let archive = archive.to_string_lossy();
    let bound = ["setpriv", "--pdeathsig", "KILL"];
    let import = ["ctr", "-n", NAMESPACE, "images", "import", &archive];
    commands.run(&[&bound[..], &import].concat(), limit).await.map(drop)
}

/// Writes an image to an archive, which may exist. On a failure, a part of it is left.
///
/// # Errors
/// If a part of the image is not there, there is no room, or the export takes longer than `limit`.
pub async fn export(commands: &Commands, image: &str, archive: &Path, limit: Duration) -> Result<(), CommandError> {
    let archive = archive.to_string_lossy();
    let platform = format!("linux/{}", facts::architecture());
    let export = ["ctr", "-n", NAMESPACE, "images", "export", "--platform", &platform, &archive, image];
    commands.run(&[&["setpriv", "--pdeathsig", "KILL"], &export[..]].concat(), limit).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_counts_only_when_all_of_it_is_there() {
        let table = "REF  TYPE  DIGEST  STATUS  SIZE  UNPACKED\n\
            registry.k8s.io/etcd:3.6.5-0  application/x  sha256:c9  complete (2/2)  58.6 MiB/58.6 MiB  true\n\
            registry.k8s.io/pause:3.10.1  application/x  sha256:7d  incomplete (1/2)  1.0 MiB/1.4 MiB  false\n";
        assert_eq!(complete(table), [("registry.k8s.io/etcd:3.6.5-0".to_owned(), true)].into());
    }
}
