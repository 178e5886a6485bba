//! Disks: formatted only if they are empty, then mounted.

use super::{item::Item, setting, want::Want};
use crate::{context::Context, engine::error::StepError};
use nodeinit_base::sha256_hex;
use nodeinit_config::cluster::Filesystem;

pub(super) const ITEM: Item = Item { name: "os-disks", title: "format empty disks and mount them", wants };

fn wants(cx: &Context) -> Result<Vec<Want>, StepError> {
    let disks = &cx.cluster.os.disks;
    if disks.is_empty() {
        return Ok(Vec::new());
    }
    let (mut wants, mut table) = (Vec::new(), String::new());
    for disk in disks {
        let (device, mount) = (disk.device.display(), disk.mount.display());
        let filesystem = match disk.filesystem {
            Filesystem::Ext4 => "ext4",
            Filesystem::Xfs => "xfs",
        };
        if !cx.files.exists(&disk.device) {
            return Err(StepError::new(format!("os.disks: {device} does not exist"))
                .hint("`lsblk` lists the disks of this machine"));
        }
        let directory = mount.to_string();
        if !cx.files.list(&disk.mount)?.is_empty() && !setting::is_mounted(&cx.files, &directory)? {
            return Err(StepError::new(format!(
                "os.disks: {mount} is not empty, and a disk mounted there would hide its files"
            ))
            .hint("move them away, or choose another directory"));
        }
        let uuid = uuid(cx, &directory);
        wants.push(Want::set(format!("filesystem {device}"), format!("{filesystem} {uuid}")));
        table += &format!("UUID={uuid} {mount} {filesystem} defaults,nofail 0 2\n");
    }
    wants.push(Want::set("section /etc/fstab", table));
    wants.push(Want::notice(&["systemctl", "daemon-reload"]));
    wants.extend(disks.iter().map(|disk| Want::set(format!("mounted {}", disk.mount.display()), "yes")));
    Ok(wants)
}

/// The UUID of the file system for a directory of this machine. It tells a disk that nodeinit has formatted from any other one, also if the
/// names of devices change, or after the machine was installed again. Form: RFC 9562, version 8.
fn uuid(cx: &Context, mount: &str) -> String {
    let hex = sha256_hex(format!("{} {} {mount}", cx.cluster.name, cx.node.name).as_bytes());
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}
