//! Reads from etcd's data directory which member of which cluster wrote it.

use crate::{context::Context, engine::error::StepError, host::files::failed};
use prost::Message;
use std::{io::Read, path::Path};

/// Which member of which cluster wrote the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) member: u64,
    pub(super) cluster: u64,
}

/// The content of the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// No data of etcd.
    None,
    /// Data of this member.
    Of(Identity),
    /// Damaged data of etcd, without a readable identity.
    Unreadable,
}

impl Data {
    /// Whether it is the data of this member.
    pub(super) fn is_of(self, member: u64) -> bool {
        matches!(self, Self::Of(identity) if identity.member == member)
    }
}

/// A log starts with a checksum, followed by the identity, well within this number of bytes.
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

/// Reads the live data.
pub(super) fn look(cx: &Context) -> Result<Data, StepError> {
    look_in(cx, &cx.cluster.etcd.data_directory.join("member"))
}

/// Reads a member's data. etcd writes a log under another name and renames it when it is complete, so without a log etcd has
/// not started. A snapshot, which etcd takes much later, proves that there was a log.
pub(super) fn look_in(cx: &Context, member: &Path) -> Result<Data, StepError> {
    let logs = member.join("wal");
    let Some(log) = cx.files.list(&logs)?.into_iter().filter(|name| name.ends_with(".wal")).min() else {
        let snapshots = cx.files.list(member.join("snap"))?;
        let had_log = snapshots.iter().any(|name| name.ends_with(".snap"));
        return Ok(if had_log { Data::Unreadable } else { Data::None });
    };
    let head = head(cx, &logs.join(log))?;
    Ok(identity(&head).map_or(Data::Unreadable, Data::Of))
}

fn head(cx: &Context, path: &Path) -> Result<Vec<u8>, StepError> {
    let mut head = Vec::new();
    cx.files.open(path)?.take(HEAD).read_to_end(&mut head).map_err(failed("read", path))?;
    Ok(head)
}

/// Returns the identity from the first record that has it. Source: `server/storage/wal/decoder.go`: each record is preceded by its
/// length, 56 bits, and, if the highest bit is set, the number of padding bytes after it.
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
pub(super) mod tests {
    use super::*;
    use crate::host::files::NewFile;

    /// Writes the log of a member of the cluster 8 to a directory in etcd's data directory.
    pub(crate) fn put_log(cx: &Context, directory: &str, member: u64) {
        let log = framed(METADATA, Metadata { node: member, cluster: 8 }.encode_to_vec());
        put(cx, &format!("{directory}/wal/0.wal"), &log);
    }

    fn put(cx: &Context, path: &str, content: &[u8]) {
        let path = Path::new("/var/lib/etcd").join(path);
        std::fs::create_dir_all(cx.files.real(path.parent().unwrap())).unwrap();
        cx.files.write(&[NewFile::private(path, content)]).unwrap();
    }

    fn framed(kind: i64, data: Vec<u8>) -> Vec<u8> {
        let record = Record { kind, data }.encode_to_vec();
        let padding = (8 - record.len() % 8) % 8;
        let length = record.len() as u64 | if padding == 0 { 0 } else { (0x80 | padding as u64) << 56 };
        [&length.to_le_bytes()[..], &record, &[0, 0, 0, 0, 0, 0, 0][..padding]].concat()
    }

    #[test]
    fn data_without_its_log_is_unreadable_and_an_interrupted_start_leaves_no_data() {
        let (_dir, cx) = crate::context::testing::context();
        assert_eq!(look(&cx).unwrap(), Data::None);
        put(&cx, "member/snap/db", b"buckets");
        put(&cx, "member/wal.tmp/0.wal", b"");
        assert_eq!(look(&cx).unwrap(), Data::None);
        put(&cx, "member/snap/0000000000000002-0000000000002711.snap", b"");
        assert_eq!(look(&cx).unwrap(), Data::Unreadable);
        put(&cx, "member/wal/1.wal", b"");
        put_log(&cx, "member", 7);
        assert_eq!(look(&cx).unwrap(), Data::Of(Identity { member: 7, cluster: 8 }));
    }

    #[test]
    fn a_log_contains_the_identity_of_its_member() {
        let metadata = Metadata { node: 7, cluster: u64::MAX }.encode_to_vec();
        let log = [framed(4, Vec::new()), framed(METADATA, metadata)].concat();
        assert_eq!(identity(&log), Some(Identity { member: 7, cluster: u64::MAX }));
        assert_eq!(identity(&log[..log.len() - 9]), None, "cut short");
        assert_eq!(identity(&[0; 4096]), None, "never written");
        assert_eq!(identity(&[0xff; 64]), None, "damaged");
    }
}
