//! The index of an image archive as `docker save` writes it, as far as it is plain: one image, layers not compressed.
//!
//! Source: github.com/moby/docker-image-spec, "Combined Image JSON + Filesystem Changeset Format".

use super::section::Section;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Take},
};
use tar::{Archive, EntryType, Header, PaxExtensions};

/// A tar archive's unit, in bytes (POSIX pax, "ustar Interchange Format").
pub const BLOCK: u64 = 512;

/// More than any manifest or configuration of an image has.
const LARGEST_TEXT: u64 = 4 << 20;

/// What begins a compressed layer: gzip, zstd, xz, bzip2.
const COMPRESSED: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh"];

/// An image in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIndex {
    /// The full names that it has.
    pub names: Vec<String>,
    /// Its configuration, JSON.
    pub config: Vec<u8>,
    /// Its layers, lowest first.
    pub layers: Vec<Layer>,
}

/// Where a layer is in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its digest as the image's configuration states it, `sha256:` and hex. The caller must verify the layer with it.
    pub digest: String,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

#[derive(Deserialize)]
struct Config {
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

/// The full names of the images that an archive lists; `None` where it is of another form, or damaged.
///
/// # Errors
/// Where the file cannot be read.
pub fn names(archive: &Section) -> io::Result<Option<Vec<String>>> {
    let mut file = archive.open()?;
    let Some(members) = members(&mut file)? else { return Ok(None) };
    let Some(text) = text(&mut file, &members, "manifest.json")? else { return Ok(None) };
    let Ok(manifests) = serde_json::from_slice::<Vec<Manifest>>(&text) else { return Ok(None) };
    Ok(Some(manifests.into_iter().flat_map(|manifest| manifest.repo_tags.unwrap_or_default()).collect()))
}

/// Reads an archive's index; `None` where the archive is of another form, or damaged.
///
/// # Errors
/// Where the file cannot be read.
pub fn index(archive: &Section) -> io::Result<Option<ImageIndex>> {
    let mut file = archive.open()?;
    let Some(members) = members(&mut file)? else { return Ok(None) };
    let Some(text) = text(&mut file, &members, "manifest.json")? else { return Ok(None) };
    let Ok([manifest]) =
        serde_json::from_slice::<Vec<Manifest>>(&text).map(<[Manifest; 1]>::try_from).unwrap_or(Err(Vec::new()))
    else {
        return Ok(None);
    };
    let Some(config) = self::text(&mut file, &members, &manifest.config)? else { return Ok(None) };
    let Ok(Config { rootfs }) = serde_json::from_slice(&config) else { return Ok(None) };
    if rootfs.diff_ids.len() != manifest.layers.len() {
        return Ok(None);
    }
    let mut layers = Vec::new();
    for (name, digest) in manifest.layers.iter().zip(rootfs.diff_ids) {
        let Some(&(offset, length)) = members.get(name) else { return Ok(None) };
        let mut first = [0; 6];
        file.seek(SeekFrom::Start(offset))?;
        if file.read_exact(&mut first).is_err() || COMPRESSED.iter().any(|magic| first.starts_with(magic)) {
            return Ok(None);
        }
        layers.push(Layer { digest, offset: archive.offset + offset, length });
    }
    Ok(Some(ImageIndex { names: manifest.repo_tags.unwrap_or_default(), config, layers }))
}

/// Returns the name that containerd gives an image: `docker save` omits the registry `docker.io` and its `library/`.
/// Source: `ParseDockerRef` in github.com/distribution/reference.
pub fn full_name(name: &str) -> String {
    let is_host = |part: &str| part.contains(['.', ':']) || part == "localhost";
    let path = match name.split_once('/') {
        Some((host, _)) if is_host(host) => name.to_owned(),
        Some(_) => format!("docker.io/{name}"),
        None => format!("docker.io/library/{name}"),
    };
    let is_tagged = path.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
    if is_tagged { path } else { format!("{path}:latest") }
}

/// A short member's content.
fn text(file: &mut Take<File>, members: &BTreeMap<String, (u64, u64)>, name: &str) -> io::Result<Option<Vec<u8>>> {
    let Some(&(offset, length)) = members.get(name).filter(|(_, length)| *length <= LARGEST_TEXT) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(offset))?;
    let mut content = Vec::new();
    file.take(length).read_to_end(&mut content)?;
    Ok(Some(content))
}

/// The plain files of a tar archive: name → offset in the archive and length. `None` where it is no tar, has names or sizes outside its
/// headers, or is cut off.
fn members(archive: &mut Take<File>) -> io::Result<Option<BTreeMap<String, (u64, u64)>>> {
    let start = archive.get_mut().stream_position()?;
    let end = archive.limit().min(archive.get_ref().metadata()?.len().saturating_sub(start));
    let mut members = BTreeMap::new();
    let mut tar = Archive::new(archive);
    // Raw: otherwise a long name is read into memory whole.
    for entry in tar.entries_with_seek()?.raw(true) {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(e) if e.raw_os_error().is_some() => return Err(e),
            Err(_) => return Ok(None),
        };
        let (offset, length) = (entry.raw_file_position(), entry.size());
        if offset.saturating_add(length) > end {
            return Ok(None);
        }
        match entry.header().entry_type() {
            EntryType::Regular => drop(members.insert(name(entry.header()), (offset, length))),
            EntryType::XHeader | EntryType::XGlobalHeader => {
                let mut records = Vec::new();
                entry.by_ref().take(LARGEST_TEXT).read_to_end(&mut records)?;
                if !PaxExtensions::new(&records).all(|record| record.is_ok_and(|r| is_harmless(r.key_bytes()))) {
                    return Ok(None);
                }
            }
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::GNUSparse => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(members))
}

/// Whether a record of an extended header leaves the name and the size of the member as they are.
fn is_harmless(key: &[u8]) -> bool {
    key != b"path" && key != b"size" && !key.starts_with(b"GNU.sparse.")
}

/// The name in a header.
#[must_use]
pub fn name(header: &Header) -> String {
    String::from_utf8_lossy(&header.path_bytes()).trim_start_matches("./").to_owned()
}

/// The header of a plain file without a time or an owner: the same file always gives the same bytes.
///
/// # Errors
/// Where the name does not fit into a header.
pub fn header(name: &str, length: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(length);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    Ok(header)
}

/// Whether a header is the one that [`header`] makes, byte by byte.
#[must_use]
pub fn is_header(found: &Header, name: &str, length: u64) -> bool {
    header(name, length).is_ok_and(|own| own.as_bytes() == found.as_bytes())
}

/// How many zeros follow a member of this length.
#[must_use]
pub fn padding(length: u64) -> usize {
    (length.next_multiple_of(BLOCK) - length) as usize
}

/// Archives for tests.
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make archives")]
pub(crate) mod testing {
    use nodeinit_base::sha256_hex;
    use std::path::Path;

    /// A tar archive of these files.
    pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, content) in files {
            tar.append(&super::header(name, content.len() as u64).unwrap(), *content).unwrap();
        }
        tar.into_inner().unwrap()
    }

    /// An archive of the image `name` with one layer, at `path`.
    pub(crate) fn archive(path: &Path, name: &str, layer: &[u8]) {
        let config = format!(r#"{{"rootfs":{{"type":"layers","diff_ids":["sha256:{}"]}}}}"#, sha256_hex(layer));
        let manifest = format!(r#"[{{"Config":"c.json","RepoTags":["{name}"],"Layers":["l/layer.tar"]}}]"#);
        let files = [("c.json", config.as_bytes()), ("manifest.json", manifest.as_bytes()), ("l/layer.tar", layer)];
        std::fs::write(path, tar(&files)).unwrap();
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make archives")]
mod tests {
    use super::{testing::*, *};
    use nodeinit_base::sha256_hex;

    #[test]
    fn short_docker_names_are_expanded() {
        for (name, full) in [
            ("busybox:1.37.0", "docker.io/library/busybox:1.37.0"),
            ("rancher/local-path:v1", "docker.io/rancher/local-path:v1"),
            ("traefik", "docker.io/library/traefik:latest"),
            ("localhost:5000/a", "localhost:5000/a:latest"),
            ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
            ("r.io/a@sha256:00", "r.io/a@sha256:00"),
        ] {
            assert_eq!(full_name(name), full);
        }
    }

    #[test]
    fn a_plain_archive_is_understood_without_reading_its_layers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        archive(&path, "registry.k8s.io/pause:3.10.1", b"a layer's content");
        let found = index(&Section::whole(path.clone()).unwrap()).unwrap().unwrap();
        assert_eq!(found.names, ["registry.k8s.io/pause:3.10.1"]);
        let [layer] = &found.layers[..] else { panic!("one layer") };
        assert_eq!(layer.digest, format!("sha256:{}", sha256_hex(b"a layer's content")));
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(&whole[layer.offset as usize..][..layer.length as usize], b"a layer's content");

        // As a part of another file.
        std::fs::write(&path, [b"before", &whole[..], b"after"].concat()).unwrap();
        let part = Section { file: path, offset: 6, length: whole.len() as u64 };
        let shifted = Layer { offset: layer.offset + 6, ..layer.clone() };
        assert_eq!(index(&part).unwrap().unwrap().layers, [shifted]);
        assert_eq!(names(&part).unwrap().unwrap(), found.names);
        let cut = Section { length: part.length - 1600, ..part };
        assert_eq!(index(&cut).unwrap(), None);
    }

    #[test]
    fn an_extended_header_may_change_times_but_no_names_and_sizes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        archive(&path, "x", b"a layer's content");
        let plain = std::fs::read(&path).unwrap();
        let is_read = |kind: EntryType, content: &[u8]| {
            let mut header = header("x", content.len() as u64).unwrap();
            header.set_entry_type(kind);
            header.set_cksum();
            let padding = vec![0; padding(content.len() as u64)];
            std::fs::write(&path, [header.as_bytes(), content, &padding, &plain].concat()).unwrap();
            index(&Section::whole(path.clone()).unwrap()).unwrap().is_some()
        };
        for kind in [EntryType::XHeader, EntryType::XGlobalHeader] {
            assert!(is_read(kind, b"20 mtime=1700000000\n") && is_read(kind, b""));
            for record in [&b"16 path=c2.json\n"[..], b"9 size=1\n", b"22 GNU.sparse.major=1\n", b"99 mtime=1\n"] {
                assert!(!is_read(kind, record), "{}", String::from_utf8_lossy(record));
            }
        }
        assert!(!is_read(EntryType::GNULongName, b"c.json\0") && !is_read(EntryType::GNUSparse, b""));
        assert!(is_read(EntryType::Symlink, b"") && is_read(EntryType::Char, b""));
    }

    #[test]
    fn a_layer_that_is_a_link_is_left_to_containerd() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        archive(&path, "x", b"a layer's content");
        let mut whole = std::fs::read(&path).unwrap();
        let name = b"l/layer.tar\0";
        let at = whole.windows(name.len()).position(|part| part == name).unwrap();
        let mut link = Header::new_ustar();
        link.as_mut_bytes().copy_from_slice(&whole[at..at + BLOCK as usize]);
        link.set_entry_type(EntryType::Symlink);
        link.set_link_name("/etc/shadow").unwrap();
        link.set_cksum();
        whole[at..at + BLOCK as usize].copy_from_slice(link.as_bytes());
        std::fs::write(&path, whole).unwrap();
        assert_eq!(index(&Section::whole(path).unwrap()).unwrap(), None);
    }

    #[test]
    fn other_forms_and_damaged_archives_are_left_to_containerd() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        archive(&path, "x", b"a layer's content");
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[3] ^= 1;
        archive(&path, "x", b"\x1f\x8b compressed");
        let compressed = std::fs::read(&path).unwrap();
        let others = [
            &whole[..whole.len() - 1600],
            &flipped,
            &compressed,
            b"",
            b"no tar at all",
            &tar(&[("oci-layout", b"{}")]),
        ];
        for (case, content) in others.into_iter().enumerate() {
            std::fs::write(&path, content).unwrap();
            assert_eq!(index(&Section::whole(path.clone()).unwrap()).unwrap(), None, "case {case}");
        }
    }
}
