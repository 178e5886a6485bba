//! Disks: partitions, volume groups and file systems on empty devices, then mounts.

use super::{
    item::Item,
    setting,
    storage::{device_of, lvm_uuid, uuid},
    want::Want,
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::OsChange,
    },
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
    /// The devices of each volume group, with the UUIDs that they have in it.
    groups: BTreeMap<String, Vec<(String, String)>>,
    /// The file systems, by the directories without symbolic links: outer ones first.
    mounts: BTreeMap<PathBuf, Mounted>,
}

/// A file system to mount.
struct Mounted {
    /// The directory, as configured.
    directory: String,
    uuid: String,
    filesystem: &'static str,
}

/// Where the kernel lists all block devices.
const DEVICES: &str = "/sys/class/block";

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let os = &cx.cluster.os;
    if os.disks.is_empty() {
        return Ok(Vec::new());
    }
    let mut layout = Layout::default();
    for disk in &os.disks {
        let device = disk.device.display();
        if !cx.files.exists(&disk.device) {
            return Err(StepError::new(format!("os.disks: {device} does not exist"))
                .exit(Exit::TryAgain)
                .hint("attach it; `lsblk` lists the disks of this machine"));
        }
        // The kernel writes a `/` in a name, such as cciss/c0d0, as `!`.
        let name = cx.files.canonical(&disk.device).display().to_string();
        let name = name.strip_prefix("/dev/").unwrap_or(&name).replace('/', "!");
        if !cx.files.exists(Path::new(DEVICES).join(&name)) {
            return Err(StepError::new(format!("os.disks: {device} is not a block device"))
                .hint("set `device` to a disk that `lsblk --paths` lists, or to a link to it in /dev/disk/by-id"));
        }
        layout.disk(cx, disk)?;
    }
    for group in &os.volume_groups {
        layout.group(&group.name);
        for volume in &group.volumes {
            let size = volume.size.as_ref().map(|size| format!(" {size}")).unwrap_or_default();
            layout.wants.push(Want::set(format!("volume {} {}{size}", group.name, volume.name), "yes"));
            layout.mounted(cx, &format!("/dev/{}/{}", group.name, volume.name), &volume.mount, volume.filesystem)?;
        }
    }
    let Layout { mut wants, mounts, .. } = layout;
    let line = |Mounted { directory, uuid, filesystem }: &Mounted| {
        format!("UUID={uuid} {directory} {filesystem} {OPTIONS} 0 2\n")
    };
    wants.push(Want::set("section /etc/fstab", mounts.values().map(line).collect::<String>()));
    wants.push(Want::notice(&["systemctl", "daemon-reload"]));
    wants.extend(mounts.values().map(|mount| Want::set(format!("mounted {}", mount.directory), "yes")));
    Ok(wants)
}

/// Refuses to go on with a reset while a disk that nodeinit has mounted is there, but is not mounted any more: `reset` would leave its data, and
/// take what is in the directory for them. Returns which data it leaves.
///
/// # Errors
/// If there is such a disk.
pub async fn refuse_unmounted(cx: &Context) -> Result<Vec<String>, StepError> {
    let mut left = Vec::new();
    let fstab = setting::now(cx, "section /etc/fstab").await?.unwrap_or_default();
    for OsChange { key, before, after } in cx.journal.state().os.remove(ITEM.name).unwrap_or_default().set {
        let Some(directory) = key.strip_prefix("mounted ") else { continue };
        // An undo that has begun leaves no `after`.
        if before.is_some() || after.is_none() {
            continue;
        }
        let line = fstab.lines().find(|line| line.split(' ').nth(1) == Some(directory));
        let uuid = line.and_then(|line| line.split(' ').next()?.strip_prefix("UUID="));
        let device = if let Some(uuid) = uuid { device_of(cx, uuid).await? } else { None };
        let real = |path: &String| cx.files.canonical(Path::new(path));
        match (device, setting::mounted_from(&cx.files, directory)?) {
            (Some(device), Some(mounted)) if real(&device) == real(&mounted) => {}
            (Some(device), _) => {
                let what =
                    format!("{device}, a disk of `os.disks`, is not mounted at {directory}: its data would stay");
                let hint = format!(
                    "`mount {directory}`, then run the same command again; or, to keep the data, delete the line of {directory} from /etc/fstab"
                );
                return Err(StepError::new(what).hint(hint));
            }
            (None, Some(_)) => {}
            (None, None) => left.push(match line {
                Some(_) => format!("the disk of {directory} is not there: its data stay on it"),
                None => format!("{directory} is not in /etc/fstab any more: the data of its disk stay"),
            }),
        }
    }
    Ok(left)
}

impl Layout {
    fn disk(&mut self, cx: &Context, disk: &Disk) -> Result<(), StepError> {
        let device = disk.device.display().to_string();
        if disk.partitions.is_empty() {
            let group = disk.volume_group.as_deref();
            return self.device(cx, (&device, &device), disk.mount.as_deref(), disk.filesystem, group);
        }
        let lines = disk.partitions.iter().enumerate().map(|(n, partition)| {
            let size = partition.size.as_ref().map(|size| format!("size={size}iB,")).unwrap_or_default();
            let kind = if partition.volume_group.is_some() { LVM } else { LINUX };
            format!(" {size}type={kind},uuid={}", uuid(cx, &format!("partition {device} {n}")))
        });
        let key = format!("table {device}{}", lines.collect::<String>());
        let id = uuid(cx, &key);
        let real = cx.files.canonical(&disk.device).display().to_string();
        if real.starts_with("/dev/dm-") {
            // Each tool names the partitions of such a device in its own way.
            let what = format!(
                "os.disks: {device} is a device of the device mapper, such as multipath: nodeinit does not partition it"
            );
            return Err(StepError::new(what).hint("give it a `mount` or a `volumeGroup` instead of `partitions`"));
        }
        self.wants.push(Want::set(key, format!("gpt {id}")));
        for (n, partition) in (1..).zip(&disk.partitions) {
            let Partition { mount, filesystem, volume_group, .. } = partition;
            let (now, name) = (partition_name(&real, n), format!("{device} {n}"));
            self.device(cx, (&now, &name), mount.as_deref(), *filesystem, volume_group.as_deref())?;
        }
        Ok(())
    }

    /// A disk or a partition: for a file system, or for a volume group. Its present name changes with the order in which the kernel finds
    /// the disks; its own name is that of the configuration.
    fn device(
        &mut self,
        cx: &Context,
        (device, name): (&str, &str),
        mount: Option<&Path>,
        filesystem: Filesystem,
        group: Option<&str>,
    ) -> Result<(), StepError> {
        if let Some(group) = group {
            let id = lvm_uuid(cx, &format!("physical {name}"));
            self.wants.push(Want::set(format!("physical {device}"), id.clone()));
            self.groups.entry(group.to_owned()).or_default().push((device.to_owned(), id));
        }
        match mount {
            Some(mount) => self.mounted(cx, device, mount, filesystem),
            None => Ok(()),
        }
    }

    fn group(&mut self, name: &str) {
        let (devices, mut ids): (Vec<String>, Vec<String>) =
            self.groups.remove(name).unwrap_or_default().into_iter().unzip();
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
        let real = cx.files.canonical(mount);
        if let Some(other) = self.mounts.insert(real, Mounted { directory: directory.clone(), uuid, filesystem }) {
            let what = format!("os.disks: {} and {directory} are the same directory", other.directory);
            return Err(StepError::new(what).hint("choose another directory for one of the disks"));
        }
        Ok(())
    }
}

/// Returns the kernel's name of a partition. Source: Linux, `block/partitions/core.c`, `add_partition`.
fn partition_name(disk: &str, n: usize) -> String {
    let separator = if disk.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{separator}{n}")
}
