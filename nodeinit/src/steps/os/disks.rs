//! Disks: formatted only if they are empty, then mounted.

use super::{item::Item, want::Want};
use crate::{context::Context, engine::error::StepError};
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
        wants.push(Want::set(format!("filesystem {device}"), filesystem));
        table += &format!("{device} {mount} {filesystem} defaults,nofail 0 2\n");
    }
    wants.push(Want::set("section /etc/fstab", table));
    wants.push(Want::notice(&["systemctl", "daemon-reload"]));
    wants.extend(disks.iter().map(|disk| Want::set(format!("mounted {}", disk.mount.display()), "yes")));
    Ok(wants)
}
