//! What is at the start of a device: nothing, or what mkfs and sfdisk leave if they are interrupted.

use crate::host::files::{FileError, Files, failed};
use std::{
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    path::Path,
};

/// Whether the start of a device has only zeros, or only the ones of erased flash.
pub(super) fn is_blank(files: &Files, device: &Path) -> Result<bool, FileError> {
    let mut start = Vec::new();
    files.open(device)?.take(1 << 20).read_to_end(&mut start).map_err(failed("read", device))?;
    Ok([0, 0xff].iter().any(|blank| start.iter().all(|byte| byte == blank)))
}

/// Whether mkfs.xfs was interrupted: it writes the superblock first, with a flag that it clears at the end. Linux does not mount such a file
/// system. Source: Linux, `fs/xfs/libxfs/xfs_format.h`, `struct xfs_dsb`.
pub(super) fn is_xfs(files: &Files, device: &Path) -> Result<bool, FileError> {
    const FLAG: usize = 126;
    let read = files.open(device)?.read_at(SeekFrom::Start(0)).map_err(failed("read", device))?;
    Ok(read.starts_with(b"XFSB") && read[FLAG] == 1)
}

/// Returns the UUID of a GPT: sfdisk writes the headers at the end and at the start of the disk before the protective MBR, and does not
/// read a table without one. Source: UEFI specification, "GPT Header".
pub(super) fn table_id(files: &Files, device: &Path) -> Result<Option<String>, FileError> {
    let mut file = files.open(device)?;
    for sector in [512, 4096] {
        for place in [SeekFrom::Start(sector), SeekFrom::End(-(sector as i64))] {
            let read = file.read_at(place).map_err(failed("read", device))?;
            if read.starts_with(b"EFI PART") {
                return Ok(Some(guid(&read[56..72])));
            }
        }
    }
    Ok(None)
}

/// Returns the text of a GUID, whose first three parts are little-endian.
fn guid(bytes: &[u8]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let hex: String = order.iter().map(|&at: &usize| format!("{:02x}", bytes[at])).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

trait ReadAt {
    /// Reads the start of a sector; zeros if the device ends before.
    fn read_at(&mut self, place: SeekFrom) -> io::Result<[u8; 128]>;
}

impl<F: Read + Seek> ReadAt for F {
    fn read_at(&mut self, place: SeekFrom) -> io::Result<[u8; 128]> {
        let mut read = [0; 128];
        match self.seek(place).and_then(|_| self.read_exact(&mut read)) {
            // The place is in front of the start of a small device, or too near to its end.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::UnexpectedEof) => Ok([0; 128]),
            result => result.map(|()| read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::NewFile;

    fn device(parts: &[(usize, &[u8])]) -> (tempfile::TempDir, Files) {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let mut content = vec![0; 64 << 10];
        for (at, bytes) in parts {
            content[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        files.write(&[NewFile::public("/disk", content)]).unwrap();
        (dir, files)
    }

    #[test]
    fn a_device_with_one_byte_is_not_blank() {
        let of = |parts: &[(usize, &[u8])]| is_blank(&device(parts).1, Path::new("/disk")).unwrap();
        assert!(of(&[]) && of(&[(0, &[0xff; 64 << 10])]));
        assert!(!of(&[(60_000, &[1])]) && !of(&[(0, &[0xff; 100])]));
    }

    #[test]
    fn an_xfs_is_unfinished_while_its_flag_is_set() {
        let of = |parts: &[(usize, &[u8])]| is_xfs(&device(parts).1, Path::new("/disk")).unwrap();
        assert!(of(&[(0, b"XFSB"), (126, &[1])]));
        assert!(!of(&[(0, b"XFSB")]) && !of(&[(126, &[1])]));
    }

    #[test]
    fn a_table_is_identified_by_either_of_its_headers() {
        let header =
            [&b"EFI PART"[..], &[0; 48], &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88], &[0x99; 8]].concat();
        for at in [512, 4096, (64 << 10) - 512, (64 << 10) - 4096] {
            let (_dir, files) = device(&[(at, &header)]);
            let found = table_id(&files, Path::new("/disk")).unwrap();
            assert_eq!(found.as_deref(), Some("44332211-6655-8877-9999-999999999999"), "{at}");
        }
        let (_dir, files) = device(&[]);
        assert_eq!(table_id(&files, Path::new("/disk")).unwrap(), None);
        files.write(&[NewFile::public("/disk", "small")]).unwrap();
        assert_eq!(table_id(&files, Path::new("/disk")).unwrap(), None);
    }
}
