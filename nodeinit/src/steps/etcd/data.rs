//! What etcd's data directory on this machine says whose it is.

use crate::{context::Context, engine::error::StepError, host::files::failed};
use prost::Message;
use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

/// Which member of which cluster wrote the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) member: u64,
    pub(super) cluster: u64,
}

/// What lies in the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Nothing of etcd's.
    None,
    /// A member's.
    Of(Identity),
    /// etcd's, but whose cannot be told: it is damaged.
    Unreadable,
}

/// A log begins with a checksum and then tells whose it is, well within so many bytes.
const HEAD: u64 = 4096;

/// Source: `server/storage/wal/walpb/record.proto`.
#[derive(Clone, PartialEq, prost::Message)]
struct Record {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(bytes = "vec", tag = "3")]
    data: Vec<u8>,
}

/// A record of this kind holds [`Metadata`]. Source: `server/storage/wal/wal.go`, `MetadataType`.
const METADATA: i64 = 1;

/// Source: `api/etcdserverpb/etcdserver.proto`.
#[derive(Clone, PartialEq, prost::Message)]
struct Metadata {
    #[prost(uint64, tag = "1")]
    node: u64,
    #[prost(uint64, tag = "2")]
    cluster: u64,
}

/// Looks into the data directory. A log is made under another name and renamed when it is whole, so that without one etcd
/// has not begun.
pub(super) fn look(cx: &Context) -> Result<Data, StepError> {
    let logs = cx.cluster.etcd.data_directory.join("member/wal");
    if !cx.files.exists(&logs) {
        return Ok(Data::None);
    }
    let names = cx.files.list(&logs)?;
    let Some(log) = names.iter().filter(|name| name.ends_with(".wal")).min() else { return Ok(Data::None) };
    let head = head(cx, &logs.join(log))?;
    Ok(identity(&head).map_or(Data::Unreadable, Data::Of))
}

/// Removes the data of a member that is none any more. Renamed first: killed half-way, etcd must not begin on a part of it.
pub(super) fn discard(cx: &Context) -> Result<(), StepError> {
    let directory = &cx.cluster.etcd.data_directory;
    let (data, old) = (directory.join("member"), directory.join(".member.nodeinit-old"));
    let remove = |path: &Path| match std::fs::remove_dir_all(cx.files.real(path)) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed("remove", path)(e)),
        _ => Ok(()),
    };
    remove(&old)?;
    match std::fs::rename(cx.files.real(&data), cx.files.real(&old)) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed("rename", &data)(e).into()),
        _ => {}
    }
    Ok(remove(&old)?)
}

fn head(cx: &Context, path: &Path) -> Result<Vec<u8>, StepError> {
    let mut head = Vec::new();
    let read = File::open(cx.files.real(path)).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map_err(failed("read", path))?;
    Ok(head)
}

/// The first record that tells it. Source: `server/storage/wal/decoder.go`: each record is preceded by its length, 56 bits,
/// and, where the highest bit is set, the number of zeros after it.
fn identity(mut log: &[u8]) -> Option<Identity> {
    loop {
        let (length, rest) = log.split_first_chunk::<8>()?;
        let length = u64::from_le_bytes(*length);
        let padding = if length >> 63 == 1 { (length >> 56) & 7 } else { 0 };
        let length = length & ((1 << 56) - 1);
        let record = rest.get(..usize::try_from(length).ok()?).filter(|record| !record.is_empty())?;
        let record = Record::decode(record).ok()?;
        if record.kind == METADATA {
            let metadata = Metadata::decode(&record.data[..]).ok()?;
            return Some(Identity { member: metadata.node, cluster: metadata.cluster });
        }
        log = rest.get(usize::try_from(length + padding).ok()?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(kind: i64, data: Vec<u8>) -> Vec<u8> {
        let record = Record { kind, data }.encode_to_vec();
        let padding = (8 - record.len() % 8) % 8;
        let length = record.len() as u64 | if padding == 0 { 0 } else { (0x80 | padding as u64) << 56 };
        [&length.to_le_bytes()[..], &record, &[0, 0, 0, 0, 0, 0, 0][..padding]].concat()
    }

    #[test]
    fn a_log_tells_whose_it_is() {
        let metadata = Metadata { node: 7, cluster: u64::MAX }.encode_to_vec();
        let log = [framed(4, Vec::new()), framed(METADATA, metadata)].concat();
        assert_eq!(identity(&log), Some(Identity { member: 7, cluster: u64::MAX }));
        assert_eq!(identity(&log[..log.len() - 9]), None, "cut short");
        assert_eq!(identity(&[0; 4096]), None, "never written");
        assert_eq!(identity(&[0xff; 64]), None, "damaged");
    }
}
