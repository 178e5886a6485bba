//! What block devices hold: partitions, LVM and file systems. Each is made only on a device that is empty: without any signature, and with zeros
//! at its start. It has a UUID that nodeinit knows, so that no other device is taken for it.

use super::{begun, program, unfinished};
use crate::{
    context::{Context, blocking},
    engine::error::{Exit, StepError},
};
use nodeinit_base::sha256_hex;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Limits for one program that looks, and for one that writes: to format a large disk can take minutes.
const LIMIT: Duration = Duration::from_secs(60);
const FORMAT_LIMIT: Duration = Duration::from_secs(1800);

/// A kind of content. The keys in the journal and in `setting.rs` begin with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `filesystem DEVICE`: `TYPE UUID`.
    Filesystem,
    /// `table DEVICE LINE…`: the UUID of a GPT whose partitions are these lines of sfdisk.
    Table,
    /// `physical DEVICE`: the UUID of a physical volume.
    Physical,
    /// `group NAME DEVICE…`: the UUIDs of its physical volumes.
    Group,
    /// `volume GROUP NAME SIZE`: `yes`.
    Volume,
}

/// Their names.
pub(super) const KINDS: [(&str, Kind); 5] = [
    ("filesystem", Kind::Filesystem),
    ("table", Kind::Table),
    ("physical", Kind::Physical),
    ("group", Kind::Group),
    ("volume", Kind::Volume),
];

/// Follows the value of what mkfs or sfdisk had begun when it was interrupted.
const UNFINISHED: &str = ", unfinished";

/// Splits off the first word.
pub(super) fn parts(key: &str) -> (&str, &str) {
    key.split_once(' ').unwrap_or((key, ""))
}

/// Returns the kind of a key.
pub(super) fn kind(key: &str) -> Option<Kind> {
    let name = parts(key).0;
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Returns a UUID of this machine for a purpose. Form: RFC 9562, version 8.
pub(super) fn uuid(cx: &Context, purpose: &str) -> String {
    let hex = hash(cx, purpose);
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// The same in the form of LVM.
pub(super) fn lvm_uuid(cx: &Context, purpose: &str) -> String {
    let hex = hash(cx, purpose);
    format!(
        "{}-{}-{}-{}-{}-{}-{}",
        &hex[..6],
        &hex[6..10],
        &hex[10..14],
        &hex[14..18],
        &hex[18..22],
        &hex[22..26],
        &hex[26..32]
    )
}

fn hash(cx: &Context, purpose: &str) -> String {
    sha256_hex(format!("{} {} {purpose}", cx.cluster.name, cx.node.name).as_bytes())
}

/// Returns what a device holds; `None` only if it has no signature at all, or if the device does not exist yet.
pub(super) async fn now(cx: &Context, kind: Kind, of: &str) -> Result<Option<String>, StepError> {
    let (first, rest) = parts(of);
    match kind {
        Kind::Filesystem => {
            let found = signature(cx, first).await?;
            if found.as_ref().is_some_and(|found| found.starts_with("xfs ")) {
                let (files, device) = (cx.files.clone(), PathBuf::from(first));
                let is_unfinished = blocking(move || Ok(unfinished::is_xfs(&files, &device)?)).await?;
                return Ok(found.map(|found| if is_unfinished { found + UNFINISHED } else { found }));
            }
            Ok(found)
        }
        Kind::Table => match signature(cx, first).await? {
            Some(found) if found == "PMBR, gpt" => {
                let id = cx.commands.run(&["sfdisk", "--disk-id", first], LIMIT).await?;
                Ok(Some(format!("gpt {}", id.trim().to_lowercase())))
            }
            Some(found) if found == "gpt" => {
                let (files, device) = (cx.files.clone(), PathBuf::from(first));
                let id = blocking(move || Ok(unfinished::table_id(&files, &device)?)).await?;
                Ok(Some(id.map_or(found, |id| format!("gpt {id}{UNFINISHED}"))))
            }
            found => Ok(found),
        },
        Kind::Physical => {
            let found = signature(cx, first).await?;
            Ok(found.map(|found| found.strip_prefix("LVM2_member ").map_or(found.clone(), str::to_owned)))
        }
        Kind::Group => {
            let ids = physical_volumes(cx, first).await?;
            Ok((!ids.is_empty()).then(|| ids.join(",")))
        }
        Kind::Volume => {
            let select = format!("vg_name={first} && lv_name={}", parts(rest).0);
            let found = report(cx, &["lvs", "--noheadings", "--options", "lv_name", "--select", &select]).await?;
            Ok((!found.is_empty()).then(|| "yes".to_owned()))
        }
    }
}

/// Makes it.
pub(super) async fn set(cx: &Context, kind: Kind, of: &str, value: &str) -> Result<(), StepError> {
    let (first, rest) = parts(of);
    match kind {
        Kind::Filesystem => {
            let is_begun = is_begun(cx, kind, of, value).await?;
            let (filesystem, uuid) = parts(value);
            refuse_twin(cx, first, uuid).await?;
            let (program, id) = (format!("mkfs.{filesystem}"), format!("uuid={uuid}"));
            match filesystem {
                "xfs" if is_begun => write(cx, first, &[&program, "-f", "-m", &id, first], "").await,
                "xfs" => write(cx, first, &[&program, "-m", &id, first], "").await,
                _ => write(cx, first, &[&program, "-U", uuid, first], "").await,
            }
        }
        Kind::Table => {
            is_begun(cx, kind, of, value).await?;
            let script = format!("label: gpt\nlabel-id: {}\n{}\n", parts(value).1, rest.replace(' ', "\n"));
            let sfdisk = ["sfdisk", "--quiet", "--wipe", "never", "--wipe-partitions", "never", first];
            write(cx, first, &sfdisk, &script).await?;
            settle(cx).await;
            Ok(())
        }
        Kind::Physical => {
            refuse_data(cx, first, signature(cx, first).await?)?;
            write(cx, first, &["pvcreate", "--quiet", "--uuid", value, "--norestorefile", first], "").await
        }
        Kind::Group => fill_group(cx, first, rest).await,
        Kind::Volume => {
            let (name, size) = parts(rest);
            let size = if size.is_empty() { ["--extents", "100%FREE"] } else { ["--size", size] };
            // What an earlier use left there stays, and is then refused.
            let options = ["lvcreate", "--quiet", "--zero", "n", "--wipesignatures", "n", "--name", name];
            run(cx, &[&options[..], &size, &[first]].concat()).await?;
            settle(cx).await;
            Ok(())
        }
    }
}

/// Describes it, for a plan.
pub(super) fn describe(kind: Kind, of: &str, value: &str) -> String {
    let (first, rest) = parts(of);
    match kind {
        Kind::Filesystem => format!("format {first} with {}, if it is empty", parts(value).0),
        Kind::Table => format!("partition {first}, if it is empty"),
        Kind::Physical => format!("make {first} a physical volume of LVM, if it is empty"),
        Kind::Group => format!("make the volume group {first} of {rest}"),
        Kind::Volume => format!("make the volume {} in the volume group {first}", parts(rest).0),
    }
}

/// Returns the file system of a device with its UUID, or its other signatures, or that it has other data at its start.
async fn signature(cx: &Context, device: &str) -> Result<Option<String>, StepError> {
    if !cx.files.exists(device) {
        return Ok(None);
    }
    // wipefs fails if it cannot read the device; blkid would not tell that from an empty one.
    let columns = ["wipefs", "--no-act", "--noheadings", "--output", "TYPE,UUID", device];
    let found = cx.commands.run(&columns, LIMIT).await?;
    let mut all: Vec<String> = found
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() && is_disk(cx, device) && !begun::is_here(cx, device)? {
        let (files, device) = (cx.files.clone(), PathBuf::from(device));
        let is_blank = blocking(move || Ok(unfinished::is_blank(&files, &device)?)).await?;
        return Ok((!is_blank).then(|| "data without a known signature".to_owned()));
    }
    Ok(Some(all.join(", ")).filter(|all| !all.is_empty()))
}

/// Whether a device is a disk of the configuration. What is on the partitions and volumes that nodeinit makes on empty disks are remains.
fn is_disk(cx: &Context, device: &str) -> bool {
    cx.cluster.os.disks.iter().any(|disk| disk.device == Path::new(device))
}

/// Refuses a device with data. Whether it has the start of what is to be made: the UUID shows that nodeinit was interrupted.
async fn is_begun(cx: &Context, kind: Kind, of: &str, value: &str) -> Result<bool, StepError> {
    let found = now(cx, kind, of).await?;
    let is_begun = found.as_ref().is_some_and(|found| found.strip_suffix(UNFINISHED) == Some(value));
    refuse_data(cx, parts(of).0, found.filter(|_| !is_begun))?;
    Ok(is_begun)
}

fn refuse_data(cx: &Context, device: &str, found: Option<String>) -> Result<(), StepError> {
    if let Some(found) = found {
        let hint = format!(
            "nodeinit never formats a disk with data: if nodeinit has set up this disk, restore its former `device` in `os.disks`; otherwise use \
             another disk, or erase this one yourself (`wipefs --all {device}; dd if=/dev/zero of={device} bs=1M count=1`)"
        );
        return Err(StepError::new(format!("os.disks: {device} is not empty: it has {found}")).hint(hint));
    }
    match cx.files.exists(device) {
        true => Ok(()),
        false => Err(StepError::new(format!("os.disks: {device} does not exist"))
            .exit(Exit::TryAgain)
            .hint("attach it; `lsblk` lists the disks of this machine")),
    }
}

/// Refuses a second file system with the UUID of one directory: at the next boot, the empty one might be mounted.
async fn refuse_twin(cx: &Context, device: &str, uuid: &str) -> Result<(), StepError> {
    match device_of(cx, uuid).await? {
        None => Ok(()),
        // It was begun on this device.
        Some(other) if cx.files.canonical(Path::new(&other)) == cx.files.canonical(Path::new(device)) => Ok(()),
        Some(other) => {
            let what = format!("os.disks: {device} is empty, but {other} has the file system of its directory");
            Err(StepError::new(what).hint(format!(
                "write {other} in `os.disks`; or, to use {device}, copy the data there and empty {other}"
            )))
        }
    }
}

/// Returns the device whose file system has this UUID.
pub(super) async fn device_of(cx: &Context, uuid: &str) -> Result<Option<String>, StepError> {
    match cx.commands.run(&["blkid", "--cache-file", "/dev/null", "--uuid", uuid], LIMIT).await {
        Ok(found) => Ok(Some(found.trim().to_owned()).filter(|found| !found.is_empty())),
        // blkid(8): no device has it.
        Err(error) if error.code() == Some(2) => Ok(None),
        Err(error) => Err(program::named(error, "os.disks")),
    }
}

/// Makes a volume group, or adds devices to it.
async fn fill_group(cx: &Context, name: &str, devices: &str) -> Result<(), StepError> {
    let present = physical_volumes(cx, name).await?;
    let (mut wanted, mut missing) = (Vec::new(), Vec::new());
    for device in devices.split(' ') {
        let id = now(cx, Kind::Physical, device).await?.unwrap_or_default();
        if !present.contains(&id) {
            missing.push(device);
        }
        wanted.push(id);
    }
    if let Some(other) = present.iter().find(|id| !wanted.contains(id)) {
        let what = format!(
            "os.volumeGroups: the volume group {name} exists, with a device that is not in `os.disks`: {other}"
        );
        return Err(StepError::new(what)
            .hint("`pvs --options +pv_uuid` shows it; choose another name, or add the device again"));
    }
    let program = if present.is_empty() { "vgcreate" } else { "vgextend" };
    run(cx, &[&[program, "--quiet", name][..], &missing].concat()).await
}

/// Returns the UUIDs of the physical volumes of a volume group, sorted.
async fn physical_volumes(cx: &Context, group: &str) -> Result<Vec<String>, StepError> {
    let select = format!("vg_name={group}");
    let found = report(cx, &["pvs", "--noheadings", "--options", "pv_uuid", "--select", &select]).await?;
    let mut ids: Vec<String> = found.split_whitespace().map(str::to_owned).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Asks LVM. Before its package is installed, there is nothing.
async fn report(cx: &Context, argv: &[&str]) -> Result<String, StepError> {
    match cx.commands.run(argv, LIMIT).await {
        Ok(found) => Ok(found.trim().to_owned()),
        Err(error) if error.is_missing() => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// Writes a disk. If the program is killed, with nodeinit or not, the next run knows that it may have written a part.
async fn write(cx: &Context, device: &str, argv: &[&str], input: &str) -> Result<(), StepError> {
    begun::note(cx, device).await?;
    let written = cx.commands.run_with_input(argv, input.as_bytes(), FORMAT_LIMIT).await;
    if written.as_ref().err().is_none_or(|error| error.is_missing() || error.code().is_some()) {
        begun::forget(cx, device).await?;
    }
    written.map(drop).map_err(|error| program::named(error, "os.disks"))
}

async fn run(cx: &Context, argv: &[&str]) -> Result<(), StepError> {
    cx.commands.run(argv, FORMAT_LIMIT).await.map(drop).map_err(|error| program::named(error, "os.disks"))
}

/// Waits until udev has made the names of new devices. A machine without udev has nothing to wait for.
async fn settle(cx: &Context) {
    let _ = cx.commands.run(&["udevadm", "settle", "--timeout=30"], LIMIT).await;
}
