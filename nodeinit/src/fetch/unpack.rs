//! Unpacks members of a compressed tar archive, such as the releases of CNI plugins and containerd.

use super::place;
use crate::{
    engine::error::StepError,
    host::files::{Files, failed},
};
use flate2::read::MultiGzDecoder;
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Maximum size of a member in bytes: a program has a few hundred MB at most.
const LARGEST: u64 = 1 << 30;

/// Writes the members of `archive` to temporary files next to their targets, synced, with mode 0755; [`Files::rename_temporary`]
/// renames them. The names in the archive are only compared with those of `wanted` and never used as paths.
///
/// # Errors
/// If the archive is damaged, if a member is missing or not a plain file, or if one cannot be written.
pub(super) fn unpack(files: &Files, archive: &Path, wanted: &[(String, PathBuf)]) -> Result<(), StepError> {
    let damaged = |e: io::Error| StepError::caused("cannot unpack the archive", e);
    let file = files.open(archive)?;
    let mut missing: Vec<&(String, PathBuf)> = wanted.iter().collect();
    let mut tar = tar::Archive::new(MultiGzDecoder::new(io::BufReader::new(file)));
    // Raw: the wanted names are short, and a long name would be read into memory completely.
    for entry in tar.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let Some(index) = missing.iter().position(|(member, _)| *member == name) else { continue };
        let (member, to) = missing.swap_remove(index);
        if !entry.header().entry_type().is_file() {
            return Err(StepError::new(format!("{member} in the archive is not a plain file")));
        }
        if entry.size() > LARGEST {
            return Err(StepError::new(format!("{member} in the archive has more than {} MiB", LARGEST >> 20)));
        }
        let mut target = files.open_temporary(to, 0o755)?;
        place::copy(&mut entry.by_ref().take(LARGEST), &mut target, to, &damaged)?;
        target.sync_all().map_err(failed("sync", to))?;
        if missing.is_empty() {
            return Ok(());
        }
    }
    let names: Vec<&str> = missing.iter().map(|(member, _)| member.as_str()).collect();
    Err(StepError::new(format!("the archive does not contain {}", names.join(", "))))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create archives")]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use nodeinit_base::atomic_file::temporary;
    use std::io::Write;

    /// Unpacks `bridge` from an archive with these entries; also returns the file system.
    fn bridge(entries: &[(&str, tar::EntryType, &[u8])]) -> (tempfile::TempDir, Result<(), StepError>) {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o4777);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        std::fs::write(dir.path().join("a.tgz"), builder.into_inner().unwrap().finish().unwrap()).unwrap();
        let files = Files::under(dir.path());
        files.make_directory(Path::new("/bin"), 0o755).unwrap();
        let result = unpack(&files, Path::new("/a.tgz"), &[("bridge".into(), "/bin/bridge".into())]);
        (dir, result)
    }

    #[test]
    fn only_the_member_is_unpacked() {
        let file = tar::EntryType::Regular;
        let entries: [(&str, _, &[u8]); 4] = [
            ("./LICENSE", file, b"l"),
            ("../../evil", file, b"e"),
            ("./bridge", file, b"program"),
            ("/bin/abs", file, b""),
        ];
        let (dir, result) = bridge(&entries);
        result.unwrap();
        let files = Files::under(dir.path());
        assert_eq!(files.read(temporary(Path::new("/bin/bridge"))).unwrap().unwrap(), b"program");
        let mode =
            std::os::unix::fs::MetadataExt::mode(&dir.path().join("bin/.bridge.nodeinit-new").metadata().unwrap());
        assert_eq!(mode & 0o7777, 0o755, "the mode in the archive is ignored");
        assert_eq!(files.list("/bin").unwrap(), [".bridge.nodeinit-new"]);
        assert_eq!(files.list("/").unwrap(), ["a.tgz", "bin"]);
    }

    #[test]
    fn a_long_name_is_skipped() {
        let long = ("././@LongLink", tar::EntryType::GNULongName, &b"elsewhere\0"[..]);
        bridge(&[long, ("bridge", tar::EntryType::Regular, b"program")]).1.unwrap();
    }

    #[test]
    fn odd_archives_are_refused() {
        let (file, link) = (tar::EntryType::Regular, tar::EntryType::Symlink);
        for (entries, reason) in [
            (&[("bridge", link, &b""[..])][..], "not a plain file"),
            (&[("../bridge", file, b"x")], "does not contain bridge"),
            (&[("dir/bridge", file, b"x")], "does not contain bridge"),
        ] {
            let error = bridge(entries).1.unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let mut cut = GzEncoder::new(Vec::new(), Compression::fast());
        cut.write_all(&[1; 5000]).unwrap();
        let cut = cut.finish().unwrap();
        for content in [&b"no archive"[..], &cut[..cut.len() - 20]] {
            std::fs::write(dir.path().join("a.tgz"), content).unwrap();
            let error = unpack(&files, Path::new("/a.tgz"), &[("b".into(), "/b".into())]).unwrap_err();
            assert!(error.to_string().contains("cannot unpack"), "{error}");
        }
    }
}
