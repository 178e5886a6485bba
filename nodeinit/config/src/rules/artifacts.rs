//! Artefacts: a mirror's are pinned, and every digest belongs to one of them.

use super::{listed, refuse_twice};
use crate::{
    cluster::{ArtifactSource, Artifacts},
    format,
    node::{Node, below},
    problem::Findings,
    suggest::nearest,
};

pub(super) fn check(tree: &Node, errors: &mut Findings) {
    let (mut targets, mut names) = (Vec::new(), Vec::new());
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
            errors.add(at, &format!("artifacts.{key}"), what, "set artifacts.source to a directory or a mirror");
        }
    }
}

/// What only the complete list of artefacts can tell: which digests are missing, and which belong to nothing.
pub(crate) fn digests(tree: &Node, artifacts: &Artifacts, errors: &mut Findings) {
    let binaries = artifacts.binaries.iter().map(|b| (b.path.as_str(), b.sha256));
    let all: Vec<_> = binaries.chain(artifacts.images.iter().map(|i| (i.path.as_str(), i.sha256))).collect();
    let entries = tree.get("artifacts.sha256").map_or(&[][..], Node::entries);
    let image = artifacts.source == ArtifactSource::Image;
    for entry in entries.iter().filter(|e| !image && all.iter().all(|(path, _)| *path != e.key)) {
        let unpinned = all.iter().filter(|(_, digest)| digest.is_none()).map(|(path, _)| *path);
        let remedy = nearest(&entry.key, unpinned)
            .map_or("write the path of one of artifacts.binaries or artifacts.images".to_owned(), |path| {
                format!("did you mean `{path}`?")
            });
        errors.add(entry.at, &below("artifacts.sha256", &entry.key), "no artefact has this path", remedy);
    }
    let Some((ArtifactSource::Mirror(_), at)) = tree.read("artifacts.source", format::source) else { return };
    for (path, _) in all.iter().filter(|(_, digest)| digest.is_none()) {
        let what = "missing: what comes from a mirror needs its SHA-256";
        let remedy = format!("write `{path}: DIGEST` under artifacts.sha256, as `sha256sum {path}` prints it");
        errors.add(at, &below("artifacts.sha256", path), what, remedy);
    }
}
