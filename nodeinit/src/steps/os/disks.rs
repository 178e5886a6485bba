//! Disks: partitions, volume groups and file systems on empty devices, then mounts.

use super::{
    item::Item,
    setting,
    storage::{lvm_uuid, uuid},
    want::Want,
};
use crate::{
    context::Context,
    engine::error::{Exit, StepError},
};
use nodeinit_config::cluster::{Disk, Filesystem, Partition};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Partition types of a GPT. Source: UAPI Group, "Discoverable Partitions Specification"; LVM: util-linux `pt-gpt-partnames.h`.
const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
const LVM: &str = "E6D6D379-F507-44C2-A23C-238F2A3DF928";

/// A machine boots without the disk, but its containers wait for the attempt to mount it. Source: systemd.mount(5).
const OPTIONS: &str = "defaults,nofail,x-systemd.before=containerd.service,x-systemd.before=kubelet.service";

pub(super) const ITEM: Item = Item { name: "os-disks", title: "format empty disks and mount them", wants };

/// What the disks of a machine become.
#[derive(Default)]
struct Layout {
    /// What is made, in order.
    wants: Vec<Want>,
    /// The devices of each volume group.
    groups: BTreeMap<String, Vec<String>>,
    /// The UUIDs and the types of the file systems, by the directories where they are mounted: outer ones first.
    mounts: BTreeMap<PathBuf, (String, &'static str)>,
}

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let os = &cx.cluster.os;
    if os.disks.is_empty() {
        return Ok(Vec::new());
    }
    let mut layout = Layout::default();
    for disk in &os.disks {
        if !cx.files.exists(&disk.device) {
            return Err(StepError::new(format!("os.disks: {} does not exist", disk.device.display()))
                .exit(Exit::TryAgain)
                .hint("attach it; `lsblk` lists the disks of this machine"));
        }
        layout.disk(cx, disk)?;
    }
    for group in &os.volume_groups {
        layout.group(cx, &group.name);
        for volume in &group.volumes {
            let size = volume.size.as_ref().map(|size| format!(" {size}")).unwrap_or_default();
            layout.wants.push(Want::set(format!("volume {} {}{size}", group.name, volume.name), "yes"));
            layout.mounted(cx, &format!("/dev/{}/{}", group.name, volume.name), &volume.mount, volume.filesystem)?;
        }
    }
    let Layout { mut wants, mounts, .. } = layout;
    let line = |(mount, (uuid, filesystem)): (&PathBuf, &(String, &str))| {
        format!("UUID={uuid} {} {filesystem} {OPTIONS} 0 2\n", mount.display())
    };
    wants.push(Want::set("section /etc/fstab", mounts.iter().map(line).collect::<String>()));
    wants.push(Want::notice(&["systemctl", "daemon-reload"]));
    wants.extend(mounts.keys().map(|mount| Want::set(format!("mounted {}", mount.display()), "yes")));
    Ok(wants)
}

impl Layout {
    fn disk(&mut self, cx: &Context, disk: &Disk) -> Result<(), StepError> {
        let device = disk.device.display().to_string();
        if disk.partitions.is_empty() {
            return self.device(cx, &device, disk.mount.as_deref(), disk.filesystem, disk.volume_group.as_deref());
        }
        let lines = disk.partitions.iter().enumerate().map(|(n, partition)| {
            let size = partition.size.as_ref().map(|size| format!("size={size}iB,")).unwrap_or_default();
            let kind = if partition.volume_group.is_some() { LVM } else { LINUX };
            format!(" {size}type={kind},uuid={}", uuid(cx, &format!("partition {device} {n}")))
        });
        let key = format!("table {device}{}", lines.collect::<String>());
        let id = uuid(cx, &key);
        self.wants.push(Want::set(key, format!("gpt {id}")));
        let real = cx.files.canonical(&disk.device).display().to_string();
        for (n, partition) in (1..).zip(&disk.partitions) {
            let Partition { mount, filesystem, volume_group, .. } = partition;
            self.device(cx, &partition_name(&real, n), mount.as_deref(), *filesystem, volume_group.as_deref())?;
        }
        Ok(())
    }

    /// A disk or a partition: for a file system, or for a volume group.
    fn device(
        &mut self,
        cx: &Context,
        device: &str,
        mount: Option<&Path>,
        filesystem: Filesystem,
        group: Option<&str>,
    ) -> Result<(), StepError> {
        if let Some(group) = group {
            self.wants.push(Want::set(format!("physical {device}"), lvm_uuid(cx, &format!("physical {device}"))));
            self.groups.entry(group.to_owned()).or_default().push(device.to_owned());
        }
        match mount {
            Some(mount) => self.mounted(cx, device, mount, filesystem),
            None => Ok(()),
        }
    }

    fn group(&mut self, cx: &Context, name: &str) {
        let devices = self.groups.remove(name).unwrap_or_default();
        let mut ids: Vec<String> = devices.iter().map(|device| lvm_uuid(cx, &format!("physical {device}"))).collect();
        ids.sort_unstable();
        self.wants.push(Want::set(format!("group {name} {}", devices.join(" ")), ids.join(",")));
    }

    fn mounted(&mut self, cx: &Context, device: &str, mount: &Path, filesystem: Filesystem) -> Result<(), StepError> {
        let directory = mount.display().to_string();
        let filesystem = match filesystem {
            Filesystem::Ext4 => "ext4",
            Filesystem::Xfs => "xfs",
        };
        match setting::mounted_from(&cx.files, &directory)? {
            Some(other) if cx.files.canonical(Path::new(&other)) != cx.files.canonical(Path::new(device)) => {
                let what = format!("os.disks: {other} is mounted at {directory}, not {device}");
                return Err(StepError::new(what).hint("unmount it, or choose another directory"));
            }
            None if !cx.files.list(mount)?.is_empty() => {
                let what = format!("os.disks: {directory} is not empty, and a disk mounted there would hide its files");
                return Err(StepError::new(what).hint("move them away, or choose another directory"));
            }
            _ => {}
        }
        // It tells a disk that nodeinit has formatted from any other one, also if the names of devices change, or after the machine was
        // installed again.
        let uuid = uuid(cx, &directory);
        self.wants.push(Want::set(format!("filesystem {device}"), format!("{filesystem} {uuid}")));
        self.mounts.insert(mount.to_owned(), (uuid, filesystem));
        Ok(())
    }
}

/// Returns the kernel's name of a partition. Source: Linux, `block/partitions/core.c`, `add_partition`.
fn partition_name(disk: &str, n: usize) -> String {
    let separator = if disk.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{separator}{n}")
}
