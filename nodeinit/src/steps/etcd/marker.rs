//! The marker: a file beside etcd's data that shows that etcd may start on this disk.
//!
//! A voter that lost its disk must not vote again: etcd would start under its old identity, with an empty log. The kubelet starts etcd
//! before any `up` runs. etcd's pod therefore mounts the marker as a file that must exist, and the marker is lost with the data.

use super::data::{self, Data};
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::NewFile,
    render::static_pod::{MARKER, MARKER_VOLUME},
};
use serde_json::Value;
use std::path::PathBuf;

const CONTENT: &str = "nodeinit wrote this file before the first start of this etcd member. Without it, the kubelet does not start\n\
    etcd: a member that lost its data must not vote again. Do not create it by hand; run `nodeinit up`.\n";

fn path(cx: &Context) -> PathBuf {
    cx.cluster.etcd.data_directory.join(MARKER)
}

pub(super) fn exists(cx: &Context) -> bool {
    cx.files.is_file(&path(cx))
}

/// Whether etcd's pod mounts the marker. `former` is its manifest on the disk: one without the marker, of an etcd that an earlier
/// version of nodeinit started, stays as it is, because a change restarts etcd, and one `up` would restart all members at once.
pub(super) fn is_mounted(cx: &Context, former: &Value) -> Result<bool, StepError> {
    let volumes = former.pointer("/spec/volumes").and_then(Value::as_array);
    let mounted = volumes.into_iter().flatten().any(|volume| volume["name"] == MARKER_VOLUME);
    Ok(mounted || exists(cx) || data::look(cx)? == Data::None)
}

/// Writes the marker. It needs no record in the journal: it is part of etcd's data.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write(cx: &Context) -> Result<(), StepError> {
    let path = path(cx);
    if cx.files.metadata(&path).is_ok_and(|found| found.is_dir()) {
        let member = path.parent().unwrap_or(&path).display().to_string();
        let what = format!(
            "{} is a directory: etcd's data was deleted while its pod ran, and etcd started again without it",
            path.display()
        );
        return Err(StepError::new(what).hint(format!(
            "to let this machine join etcd again as a new member: `mv {member} {member}.aside-1`, then `nodeinit up`"
        )));
    }
    for directory in cx.files.missing_parents(&path) {
        cx.files.make_directory(&directory, 0o700)?;
    }
    Ok(cx.files.write(&[NewFile::private(path, CONTENT)])?)
}

/// Whether etcd's data directory contains data. A marker alone does not count.
pub(in crate::steps) fn has_data(cx: &Context) -> bool {
    let path = path(cx);
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return true };
    let name = name.to_string_lossy();
    match cx.files.list(directory) {
        // Its temporary name contains its name.
        Ok(found) => found.iter().any(|found| !found.contains(&*name)),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, steps::etcd::aside};
    use nodeinit_config::yaml;
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    fn put(cx: &Context, path: &str, content: &str) {
        let path = Path::new("/var/lib/etcd").join(path);
        fs::create_dir_all(cx.files.real(path.parent().unwrap())).unwrap();
        cx.files.write(&[NewFile::private(path, content)]).unwrap();
    }

    #[test]
    fn a_marker_alone_is_no_data_and_is_lost_with_the_data() {
        let (_dir, cx) = context();
        assert!(!exists(&cx) && !has_data(&cx));
        write(&cx).unwrap();
        assert!(exists(&cx) && !has_data(&cx));
        assert_eq!(data::look(&cx).unwrap(), Data::None);
        let member = cx.files.real(Path::new("/var/lib/etcd/member"));
        assert_eq!(fs::metadata(&member).unwrap().permissions().mode() & 0o777, 0o700, "etcd warns of another mode");

        put(&cx, "member/wal/0.wal", "damaged");
        assert!(exists(&cx) && has_data(&cx));
        aside::move_aside(&cx).unwrap();
        assert!(!exists(&cx), "data that was moved aside takes its marker with it");
    }

    #[test]
    fn only_an_etcd_that_runs_without_a_marker_does_not_mount_one() {
        let (_dir, cx) = context();
        let former = yaml::document("spec: {volumes: [{name: etcd-data}]}").unwrap();
        let current = yaml::document("spec: {volumes: [{name: etcd-data}, {name: etcd-marker}]}").unwrap();
        assert!(is_mounted(&cx, &former).unwrap(), "etcd has not started yet");
        put(&cx, "member/wal/0.wal", "damaged");
        assert!(!is_mounted(&cx, &former).unwrap(), "an earlier version started it");
        assert!(is_mounted(&cx, &current).unwrap(), "the data was put back without its marker");
        write(&cx).unwrap();
        assert!(is_mounted(&cx, &former).unwrap(), "kubeadm rewrote the manifest");
    }

    #[test]
    fn a_directory_at_the_markers_path_is_not_a_marker() {
        let (_dir, cx) = context();
        fs::create_dir_all(cx.files.real(&path(&cx))).unwrap();
        assert!(!exists(&cx));
        let error = write(&cx).unwrap_err().to_string();
        assert!(error.contains("etcd's data was deleted while its pod ran"), "{error}");
    }
}
