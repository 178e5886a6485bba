//! The index of an image archive as `docker save` writes it, as far as it is plain: one image, layers not compressed.
//!
//! Source: github.com/moby/docker-image-spec, "Combined Image JSON + Filesystem Changeset Format".

use super::section::Section;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

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
    let mut file = File::open(&archive.file)?;
    let Some(members) = members(&mut file, archive)? else { return Ok(None) };
    let Some(text) = text(&mut file, &members, "manifest.json")? else { return Ok(None) };
    let Ok(manifests) = serde_json::from_slice::<Vec<Manifest>>(&text) else { return Ok(None) };
    Ok(Some(manifests.into_iter().flat_map(|manifest| manifest.repo_tags.unwrap_or_default()).collect()))
}

/// Reads an archive's index; `None` where the archive is of another form, or damaged.
///
/// # Errors
/// Where the file cannot be read.
pub fn index(archive: &Section) -> io::Result<Option<ImageIndex>> {
    let mut file = File::open(&archive.file)?;
    let Some(members) = members(&mut file, archive)? else { return Ok(None) };
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
        layers.push(Layer { digest, offset, length });
    }
    Ok(Some(ImageIndex { names: manifest.repo_tags.unwrap_or_default(), config, layers }))
}

/// A short member's content.
fn text(file: &mut File, members: &BTreeMap<String, (u64, u64)>, name: &str) -> io::Result<Option<Vec<u8>>> {
    let Some(&(offset, length)) = members.get(name).filter(|(_, length)| *length <= LARGEST_TEXT) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(offset))?;
    let mut content = Vec::new();
    file.take(length).read_to_end(&mut content)?;
    Ok(Some(content))
}

/// The plain files of a tar archive: name → offset in the file and length. `None` where it is no tar, has names or sizes outside its
/// headers, or is cut off.
fn members(file: &mut File, archive: &Section) -> io::Result<Option<BTreeMap<String, (u64, u64)>>> {
    let end = file.metadata()?.len().min(archive.offset + archive.length);
    let mut members = BTreeMap::new();
    let mut at = archive.offset;
    while at + BLOCK <= end {
        let mut header = [0; BLOCK as usize];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut header)?;
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        let Some(length) = octal(&header[124..136]).filter(|_| is_whole(&header)) else { return Ok(None) };
        let offset = at + BLOCK;
        if offset + length > end {
            return Ok(None);
        }
        match header[156] {
            b'0' | 0 => drop(members.insert(name(&header), (offset, length))),
            // Extended headers: times and owners are of no interest, a name or a size would be.
            b'x' | b'g' => {
                let mut records = Vec::new();
                file.take(length.min(LARGEST_TEXT)).read_to_end(&mut records)?;
                let has = |key: &[u8]| records.windows(key.len()).any(|part| part == key);
                if has(b" path=") || has(b" size=") || has(b" GNU.sparse") {
                    return Ok(None);
                }
            }
            b'L' | b'K' | b'S' => return Ok(None),
            _ => {}
        }
        at = offset + length.div_ceil(BLOCK) * BLOCK;
    }
    Ok(Some(members))
}

/// The name and the length in a header that is whole.
#[must_use]
pub fn member(header: &[u8; BLOCK as usize]) -> Option<(String, u64)> {
    is_whole(header).then(|| Some((name(header), octal(&header[124..136])?)))?
}

/// The header of a plain file without a time or an owner: the same file always gives the same bytes.
///
/// # Errors
/// Where the name does not fit into a header.
pub fn header(name: &str, length: u64) -> io::Result<[u8; BLOCK as usize]> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(length);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    Ok(*header.as_bytes())
}

/// How many zeros follow a member of this length.
#[must_use]
pub fn padding(length: u64) -> usize {
    (length.next_multiple_of(BLOCK) - length) as usize
}

/// Whether a header's sum is right: the sum of its bytes, its own field taken as blanks.
fn is_whole(header: &[u8]) -> bool {
    let sum: u64 =
        header.iter().enumerate().map(|(i, &b)| u64::from(if (148..156).contains(&i) { b' ' } else { b })).sum();
    octal(&header[148..156]) == Some(sum)
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

fn name(header: &[u8]) -> String {
    let text = |field: &[u8]| {
        let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    };
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    let is_posix = &header[257..263] == b"ustar\0";
    let whole = if is_posix && !prefix.is_empty() { format!("{prefix}/{name}") } else { name };
    whole.trim_start_matches("./").to_owned()
}

/// Archives for tests.
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make archives")]
pub(crate) mod testing {
    use nodeinit_base::sha256_hex;
    use std::path::Path;

    /// A tar archive of these files.
    pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = Vec::new();
        for (name, content) in files {
            let mut header = [0u8; 512];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
            header[148..156].fill(b' ');
            header[156] = b'0';
            header[257..263].copy_from_slice(b"ustar\0");
            let sum: u32 = header.iter().map(|&b| u32::from(b)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            tar.extend(header);
            tar.extend(*content);
            tar.resize(tar.len().div_ceil(512) * 512, 0);
        }
        tar.extend([0; 1024]);
        tar
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
