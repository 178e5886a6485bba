//! Artifacts: a mirror's are pinned, and every digest belongs to one of them.

use super::{listed, refuse_twice};
use crate::{
    cluster::{ArtifactSource, Artifacts},
    format,
    node::{Node, below},
    problem::Findings,
    suggest::nearest,
};
use std::collections::HashMap;

pub(super) fn check(tree: &Node, errors: &mut Findings) {
    let (mut targets, mut names) = (HashMap::new(), HashMap::new());
    for (path, binary) in listed(tree, "artifacts.binaries") {
        refuse_twice(&mut targets, format!("{path}.to"), binary.get("to"), errors);
    }
    for (path, image) in listed(tree, "artifacts.images") {
        refuse_twice(&mut names, format!("{path}.image"), image.get("image"), errors);
    }
    let Some((ArtifactSource::Image, at)) = tree.read("artifacts.source", format::source) else { return };
    for key in ["binaries", "images", "sha256"] {
        let filled = |node: &&Node| !node.items().is_empty() || !node.entries().is_empty();
        if let Some(node) = tree.get("artifacts").and_then(|a| a.get(key)).filter(filled) {
            let what = "the source is `image`, where all is in place already";
            let at = node.at.max(at);
            errors.add(
                at,
                &format!("artifacts.{key}"),
                what,
                "set artifacts.source to `upstream`, a directory, a bundle or a mirror",
            );
        }
    }
}

/// What only the complete list of artifacts can tell: which digests are missing, and which belong to nothing.
pub(crate) fn digests(tree: &Node, artifacts: &Artifacts, errors: &mut Findings) {
    let binaries = artifacts.binaries.iter().map(|b| (b.path.as_str(), b.sha256));
    let mut all: Vec<_> = binaries.chain(artifacts.images.iter().map(|i| (i.path.as_str(), i.sha256))).collect();
    // Only a machine without containerd needs these, if it is not said that all do.
    let is_managed =
        tree.get("containerRuntime.manage").is_some_and(|node| node.json() == serde_json::Value::Bool(true));
    let runtime = artifacts.runtime.iter().map(|b| (b.path.as_str(), b.sha256));
    let unlisted = runtime.filter(|each| (is_managed || each.1.is_some()) && !all.contains(each));
    all.extend(unlisted.collect::<Vec<_>>());
    let entries = tree.get("artifacts.sha256").map_or(&[][..], Node::entries);
    let image = artifacts.source == ArtifactSource::Image;
    for entry in entries.iter().filter(|e| !image && all.iter().all(|(path, _)| *path != e.key)) {
        let unpinned = all.iter().filter(|(_, digest)| digest.is_none()).map(|(path, _)| *path);
        let remedy = nearest(&entry.key, unpinned)
            .map_or("write the path of one of artifacts.binaries or artifacts.images".to_owned(), |path| {
                format!("did you mean `{path}`?")
            });
        errors.add(entry.at, &below("artifacts.sha256", &entry.key), "no artifact has this path", remedy);
    }
    let source = tree.read("artifacts.source", format::source);
    if let Some(node) =
        tree.get("artifacts.bundleKey").filter(|_| !matches!(source, Some((ArtifactSource::Bundle(_), _))))
    {
        let remedy = "remove it, or set artifacts.source to the absolute path of a bundle, which ends in `.tar`";
        errors.add(node.at, "artifacts.bundleKey", "only a bundle has a signature", remedy);
    }
    if let Some(node) = tree.get("artifacts.sha256sums") {
        if !matches!(source, Some((ArtifactSource::Mirror(_), _))) {
            let remedy = "remove it, or set artifacts.source to `http://` or `https://`";
            errors.add(node.at, "artifacts.sha256sums", "only a mirror has a file SHA256SUMS", remedy);
        }
        return;
    }
    let Some((ArtifactSource::Mirror(_), at)) = source else { return };
    let missing: Vec<&str> = all.iter().filter(|(_, digest)| digest.is_none()).map(|(path, _)| *path).collect();
    if let [first, ..] = missing[..] {
        let what = format!(
            "what comes from a mirror needs its SHA-256; it is missing for {} of {} artifacts, such as {first}",
            missing.len(),
            all.len()
        );
        let remedy = "in the mirror's folder, run `sha256sum bin/* images/* >SHA256SUMS`, and write what `sha256sum SHA256SUMS` prints";
        errors.add(at, "artifacts.sha256sums", what, remedy);
    }
}
