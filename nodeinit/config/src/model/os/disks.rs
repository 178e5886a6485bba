//! Disks: partitions, volume groups and mounts.

use super::super::{
    declare::{
        Verdict, choice, keys,
        place::{Place, refuse_twice},
    },
    texts::{DataSize, Label},
};
use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
};

/// Directories that a mounted disk would hide from the system.
const SYSTEM: [&str; 18] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv",
    "/sys", "/tmp", "/usr", "/var",
];

keys! {
    /// A disk: a file system to mount, partitions, or a part of a volume group.
    pub struct Disk {
        /// The block device, such as `/dev/vdb` or a link to it in `/dev/disk/by-id`, which stays the same if the kernel finds the disks in another
        /// order. Refused if it has a partition table, a file system or any other signature that nodeinit did not write.
        /// It must not change once the disk has partitions or is in a volume group.
        "device" device: PathBuf = required, to all;
        /// Where its file system is mounted.
        "mount" mount: Option<PathBuf>, else "none", example "/data", to all;
        /// The file system.
        "filesystem" filesystem: Filesystem, else "`ext4`" (|_| Some(Filesystem::Ext4)), example "xfs", to all;
        /// The volume group that uses it, of `os.volumeGroups`.
        "volumeGroup" volume_group: Option<String> as Option<Label>, else "none", example "data", to all;
        /// Its partitions.
        "partitions" partitions: Vec<Partition>, else "none", example "[{size: 20G, mount: /var/lib/etcd}, {mount: /data}]", to all;
    }
}

keys! {
    /// A partition: a file system to mount, or a part of a volume group.
    pub struct Partition {
        /// Its size.
        "size" size: Option<String> as Option<DataSize>, else "the rest of the disk", example "20G", to all;
        /// Where its file system is mounted.
        "mount" mount: Option<PathBuf>, else "none", example "/data", to all;
        /// The file system.
        "filesystem" filesystem: Filesystem, else "`ext4`" (|_| Some(Filesystem::Ext4)), example "xfs", to all;
        /// The volume group that uses it, of `os.volumeGroups`.
        "volumeGroup" volume_group: Option<String> as Option<Label>, else "none", example "data", to all;
    }
}

keys! {
    /// An LVM volume group on the disks and partitions that name it.
    pub struct VolumeGroup {
        /// Its name.
        "name" name: String as Label = required, to all;
        /// Its volumes.
        "volumes" volumes: Vec<Volume>, example "[{name: etcd, size: 20G, mount: /var/lib/etcd}]", to all;
    }
}

keys! {
    /// A logical volume to format and mount.
    pub struct Volume {
        /// Its name.
        "name" name: String as Label = required, to all;
        /// Its size.
        "size" size: Option<String> as Option<DataSize>, else "the rest of the volume group", example "20G", to all;
        /// Where its file system is mounted.
        "mount" mount: PathBuf = required, to all;
        /// The file system.
        "filesystem" filesystem: Filesystem, else "`ext4`" (|_| Some(Filesystem::Ext4)), example "xfs", to all;
    }
}

choice! {
    /// A file system.
    pub enum Filesystem {
        /// ext4
        "ext4" Ext4,
        /// XFS
        "xfs" Xfs,
    }
}

/// Refuses directories in which a disk would hide the system, and more than one disk in a directory.
fn mount<'t, F>(seen: &mut HashMap<&'t str, String>, place: &Place<'t, F>, verdict: &mut Verdict<'_>) {
    let Some(text) = place.written().and_then(|node| node.scalar()) else { return };
    refuse_twice(seen, place, &mut verdict.errors);
    let (what, remedy) = match text {
        text if SYSTEM.contains(&text) => {
            ("a disk there would hide the files of the system", "choose a directory such as /data")
        }
        text if text.ends_with('/') || text.contains("//") || text.contains(char::is_whitespace) => {
            ("not a plain path", "write it without spaces, and without `/` at its end")
        }
        _ => return,
    };
    place.report(&mut verdict.errors, what, remedy);
}

/// Only the last partition or volume can take the rest.
fn rest<'t, F, S>(all: &[Place<'t, F>], size: impl Fn(&Place<'t, F>) -> Place<'t, S>, verdict: &mut Verdict<'_>) {
    for each in all.iter().rev().skip(1).filter(|each| !size(each).is_written()) {
        each.report(
            &mut verdict.errors,
            "needs a size: only the last one can take the rest",
            "write `size`, such as 20G",
        );
    }
}

pub(super) fn disks(place: &Place<'_, Vec<Disk>>, verdict: &mut Verdict<'_>) {
    let (mut devices, mut mounts, mut names) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (groups, mut used) = (place.all().os().volume_groups(), Vec::new());
    for disk in place.items() {
        refuse_twice(&mut devices, &disk.device(), &mut verdict.errors);
        mount(&mut mounts, &disk.mount(), verdict);
        let uses = [disk.mount().is_written(), disk.partitions().is_written(), disk.volume_group().is_written()];
        if uses.iter().filter(|is_written| **is_written).count() != 1 {
            let what = "needs one of `mount`, `partitions` and `volumeGroup`";
            disk.report(&mut verdict.errors, what, "write exactly one of them");
        }
        used.push(disk.volume_group());
        let partitions = disk.partitions().items();
        for partition in &partitions {
            mount(&mut mounts, &partition.mount(), verdict);
            if partition.mount().is_written() == partition.volume_group().is_written() {
                partition.report(
                    &mut verdict.errors,
                    "needs either `mount` or `volumeGroup`",
                    "write exactly one of them",
                );
            }
            used.push(partition.volume_group());
        }
        rest(&partitions, |each| each.size(), verdict);
    }
    for group in groups.items() {
        refuse_twice(&mut names, &group.name(), &mut verdict.errors);
        let (volumes, mut own) = (group.volumes().items(), HashMap::new());
        for volume in &volumes {
            refuse_twice(&mut own, &volume.name(), &mut verdict.errors);
            mount(&mut mounts, &volume.mount(), verdict);
        }
        rest(&volumes, |each| each.size(), verdict);
        if let Some(name) =
            group.name().value().filter(|name| !used.iter().any(|each| each.value().as_ref() == Some(name)))
        {
            let remedy = format!("write `volumeGroup: {name}` at a disk or a partition in `os.disks`");
            group.name().report(&mut verdict.errors, "no disk and no partition belongs to this volume group", remedy);
        }
    }
    let known: BTreeSet<String> = groups.items().iter().filter_map(|group| group.name().value()).collect();
    for each in used.iter().filter(|each| each.value().is_some_and(|name| !known.contains(&name))) {
        each.report(&mut verdict.errors, "not in `os.volumeGroups`", "add it there, or fix the name");
    }
}
