//! Checks, before anything changes, that this machine has what the configuration names.

use super::{ABSENT, Finding};
use crate::{
    api::lent::Lent,
    context::{Context, blocking},
    host::{archive, commands::Commands, containerd, files::Files, kernel, section::Section},
    steps::{images::audience, source::Local},
};
use nodeinit_config::{
    Cluster,
    cluster::{ArtifactSource, ImageArchive, Role},
};

/// Values of `os.sysctls` must be numbers if the kernel's current value is a number.
pub(super) fn sysctls(cx: &Context) -> Vec<Finding> {
    sysctls_of(&cx.files, &cx.cluster)
}

/// As `sysctls`, for a configuration that is not in use yet.
pub fn sysctls_of(files: &Files, cluster: &Cluster) -> Vec<Finding> {
    let wrong = cluster.os.sysctls.iter().filter(|(key, value)| {
        let current = kernel::sysctl(files, key).ok().flatten();
        !are_numbers(value) && current.is_some_and(|current| are_numbers(&current))
    });
    let finding = |(key, value): (&String, &String)| {
        let what = format!("os.sysctls: {key} is {value:?}, but the kernel accepts only numbers");
        Finding::failure("sysctls", what, format!("write a number; `sysctl {key}` prints the current one"))
    };
    wrong.map(finding).collect()
}

/// Whether a value consists of numbers, ranges or lists such as `30000-32767,40000`.
fn are_numbers(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '-' | ',');
    value.contains(|c: char| c.is_ascii_digit()) && value.chars().all(is_part)
}

/// Each image that this machine's role uses must be in containerd, or in its configured archive.
pub(super) async fn images(cx: &Context) -> Vec<Finding> {
    images_of(&cx.files, &cx.commands, &cx.cluster, cx.node.role).await
}

/// As `images`, for a configuration that is not in use yet.
pub async fn images_of(files: &Files, commands: &Commands, cluster: &Cluster, role: Role) -> Vec<Finding> {
    let (context, shared) = (files.clone(), cluster.clone());
    let mut found = blocking(move || Ok(archives(&context, &shared, role))).await.unwrap_or_default();
    // The step that needs an unreadable one reports it.
    if let Ok(Some(lent)) = Lent::read(files) {
        let lent = |image: &str| {
            cluster.artifacts.images.iter().any(|each| each.image == image && lent.files.contains_key(&each.path))
        };
        found.retain(|(image, _)| !lent(image));
    }
    if found.is_empty() {
        return Vec::new();
    }
    // A machine that has all archives need not ask containerd.
    let present = match containerd::images(commands).await {
        Ok(present) => present,
        Err(e) if e.is_missing() => Default::default(),
        // containerd cannot tell yet. The step `image-…` waits for it.
        Err(_) => return Vec::new(),
    };
    let missing: Vec<Finding> =
        found.into_iter().filter(|(image, _)| !present.contains_key(image)).map(|(_, finding)| finding).collect();
    match Local::open(files, cluster).ok().flatten().and_then(|source| source.absent()) {
        Some(absent) if !missing.is_empty() => {
            let what = format!("{absent}, and containerd lacks {} images", missing.len());
            vec![Finding::failure("images", what, ABSENT)]
        }
        _ => missing,
    }
}

/// Returns the images of this role whose archive is missing or contains another image.
pub(super) fn archives(files: &Files, cluster: &Cluster, role: Role) -> Vec<(String, Finding)> {
    if cluster.artifacts.source == ArtifactSource::Upstream {
        return Vec::new();
    }
    let Ok(Some(source)) = Local::open(files, cluster) else { return Vec::new() };
    let each = cluster.artifacts.images.iter().filter(|each| audience::is_for(cluster, &each.image, role));
    let problem = |each: &ImageArchive| {
        archive_problem(&source.name(&each.path), source.find(&each.path).map(|(section, _)| section), &each.image)
    };
    each.filter_map(|each| Some((each.image.clone(), problem(each)?))).collect()
}

/// Returns why an archive does not contain an image. `ctr` reads more formats than nodeinit, so an unknown format is no problem.
fn archive_problem(path: &str, archive: Option<Section>, image: &str) -> Option<Finding> {
    const CHECK: &str = "images";
    let Some(archive) = archive else {
        let what = format!("the archive {path} is missing, and {image} is not in containerd");
        return Some(Finding::failure(CHECK, what, "copy it there, or fix artifacts.images in the configuration"));
    };
    let names = archive::names(&archive).ok().flatten()?;
    // An archive without names may have them in another list, which `ctr` reads.
    if names.is_empty() || names.iter().any(|name| archive::full_name(name) == archive::full_name(image)) {
        return None;
    }
    let what = format!("the archive {path} does not contain {image}; it contains {}", names.join(", "));
    // Upstream archives name their images with the architecture.
    let remedy = match names.iter().find(|name| name.replace("-amd64:", ":") == image) {
        Some(own) => format!(
            "this archive has upstream's image name: import it, then retag the image (`ctr -n k8s.io images tag {own} {image}`)"
        ),
        None => "provide the archive of that image, or fix artifacts.images in the configuration".to_owned(),
    };
    Some(Finding::failure(CHECK, what, remedy))
}
