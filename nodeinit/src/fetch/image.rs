//! Images: selects the manifest in a registry, and builds the archive from its blobs.

use super::place;
use crate::{
    engine::error::StepError,
    host::{
        archive,
        files::{File, Files, failed},
    },
};
use flate2::read::MultiGzDecoder;
use nodeinit_base::{hex, sha256_hex};
use serde::Deserialize;
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};
use tar::{Builder, Header};

/// Maximum size of an unpacked layer in bytes.
const LARGEST_LAYER: u64 = 8 << 30;

/// The manifest under a tag: an image, or a list with one image per platform.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ImageManifest {
    /// The digest of the image for the wanted platform.
    List(String),
    /// An image.
    Image {
        /// The digest of its configuration.
        config: String,
        /// The digests of its layers, lowest first.
        layers: Vec<String>,
    },
}

#[derive(Deserialize)]
struct Document {
    manifests: Option<Vec<Child>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
struct Child {
    digest: String,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    os: String,
    architecture: String,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: String,
}

#[derive(Deserialize)]
struct Config {
    os: Option<String>,
    architecture: Option<String>,
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

impl ImageManifest {
    /// Reads a manifest; selects the image for linux on `arch` from a list.
    ///
    /// # Errors
    /// If it has another format, or no image for that platform.
    pub(super) fn read(text: &[u8], arch: &str) -> Result<Self, StepError> {
        let document: Document =
            serde_json::from_slice(text).map_err(|e| StepError::caused("cannot read the registry's manifest", e))?;
        match document {
            Document { manifests: Some(children), .. } => {
                let is_wanted = |p: &Platform| p.os == "linux" && p.architecture == arch;
                let child = children.into_iter().find(|child| child.platform.as_ref().is_some_and(is_wanted));
                let child =
                    child.ok_or_else(|| StepError::new(format!("the registry has no image for linux/{arch}")))?;
                Ok(Self::List(child.digest))
            }
            Document { config: Some(config), layers: Some(layers), .. } => Ok(Self::Image {
                config: config.digest,
                layers: layers.into_iter().map(|layer| layer.digest).collect(),
            }),
            _ => Err(StepError::new(
                "the registry's manifest is neither an image nor a list (schema 1 is not supported)",
            )),
        }
    }
}

/// A blob of an image on the disk.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Its file, verified.
    pub(super) path: PathBuf,
    /// The digest of the unpacked layer, `sha256:` and hex, from the image's configuration.
    pub(super) diff_id: String,
}

/// Returns the digests of an image's unpacked layers from its configuration.
///
/// # Errors
/// If the configuration is for another platform, is invalid, or does not have `layers` layers.
pub(super) fn diff_ids(config: &[u8], arch: &str, layers: usize) -> Result<Vec<String>, StepError> {
    let config: Config =
        serde_json::from_slice(config).map_err(|e| StepError::caused("cannot read the image's configuration", e))?;
    let (os, architecture) = (config.os.unwrap_or_default(), config.architecture.unwrap_or_default());
    if os != "linux" || architecture != arch {
        return Err(StepError::new(format!("the image is for {os}/{architecture}, but linux/{arch} is needed")));
    }
    if config.rootfs.diff_ids.len() != layers {
        let found = config.rootfs.diff_ids.len();
        return Err(StepError::new(format!(
            "the manifest has {layers} layers, but the image's configuration has {found}"
        )));
    }
    config.rootfs.diff_ids.into_iter().map(|id| hex_of(&id).map(|_| id)).collect()
}

/// Returns the bytes of a digest.
///
/// # Errors
/// If it is not SHA-256.
pub(super) fn hex_of(digest: &str) -> Result<[u8; 32], StepError> {
    let digits = digest.strip_prefix("sha256:").filter(|d| d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
    let bytes = digits.and_then(nodeinit_config::format::digest);
    bytes.ok_or_else(|| StepError::new(format!("{digest:?} is not a SHA-256 digest")))
}

/// Writes the archive of an image to the temporary file of `to`, synced; [`Files::rename_temporary`] puts it in place.
///
/// The format is that of `docker save` with uncompressed layers, which `host::archive` imports fastest. The same image always gives
/// the same bytes, because `artifacts.lock` has their digest. A layer with another compression than gzip stays compressed, and
/// containerd unpacks it.
///
/// # Errors
/// If a blob is damaged, or the archive cannot be written.
pub(super) fn write(files: &Files, to: &Path, name: &str, config: &[u8], layers: &[Layer]) -> Result<(), StepError> {
    let member = |layer: &Layer| format!("{}/layer.tar", layer.diff_id.trim_start_matches("sha256:"));
    let config_name = format!("{}.json", sha256_hex(config));
    let members: Vec<String> = layers.iter().map(member).collect();
    let manifest = json!([{"Config": config_name, "RepoTags": [name], "Layers": members}]).to_string();
    let mut tar = Builder::new(files.open_temporary(to, 0o644)?);
    for (name, content) in [("manifest.json", manifest.as_bytes()), (&config_name, config)] {
        tar.append(&header(name, content.len() as u64)?, content).map_err(failed("write", to))?;
    }
    let mut written = BTreeSet::new();
    for (layer, name) in layers.iter().zip(&members) {
        if written.insert(name) {
            append(files, &mut tar, to, layer, name)?;
        }
    }
    tar.into_inner().and_then(|file| file.sync_all()).map_err(failed("write", to))?;
    Ok(())
}

/// Appends a layer, whose length is known only after it is unpacked.
fn append(files: &Files, tar: &mut Builder<File>, to: &Path, layer: &Layer, name: &str) -> Result<(), StepError> {
    let damaged = |e: io::Error| StepError::caused("cannot unpack a layer", e);
    let mut blob = files.open(&layer.path)?;
    let mut magic = Vec::new();
    (&blob).take(4).read_to_end(&mut magic).map_err(failed("read", &layer.path))?;
    blob.rewind().map_err(failed("read", &layer.path))?;
    let is_zstd = magic == b"\x28\xb5\x2f\xfd";
    let mut content: Box<dyn Read> = match magic.starts_with(b"\x1f\x8b") {
        true => Box::new(MultiGzDecoder::new(BufReader::new(blob))),
        false => Box::new(blob),
    };
    let mut header = header(name, 0)?;
    let mut member = tar.append_writer(&mut header, name).map_err(failed("write", to))?;
    let (_, digest) = place::copy(&mut content.by_ref().take(LARGEST_LAYER), &mut member, to, &damaged)?;
    member.finish().map_err(failed("write", to))?;
    let found = format!("sha256:{}", hex(&digest));
    if !is_zstd && found != layer.diff_id {
        let wanted = &layer.diff_id;
        return Err(StepError::new(format!(
            "a layer has the digest {found}, but the image's configuration has {wanted}"
        )));
    }
    Ok(())
}

fn header(name: &str, length: u64) -> Result<Header, StepError> {
    archive::header(name, length).map_err(|e| StepError::caused("cannot write the archive of an image", e))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create blobs")]
mod tests {
    use super::*;
    use crate::host::section::Section;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    #[test]
    fn a_list_has_an_image_for_the_platform_or_none() {
        let child = |os: &str, arch: &str| json!({"digest": format!("sha256:{os}-{arch}"), "platform": {"os": os, "architecture": arch}});
        let children =
            [child("unknown", "unknown"), child("linux", "arm64"), child("windows", "amd64"), child("linux", "amd64")];
        let list = json!({"manifests": children}).to_string();
        assert_eq!(
            ImageManifest::read(list.as_bytes(), "amd64").unwrap(),
            ImageManifest::List("sha256:linux-amd64".into())
        );
        let error = ImageManifest::read(list.as_bytes(), "s390x").unwrap_err().to_string();
        assert!(error.contains("linux/s390x"), "{error}");
        let image = json!({"config": {"digest": "c"}, "layers": [{"digest": "a"}, {"digest": "b"}]}).to_string();
        let expected = ImageManifest::Image { config: "c".into(), layers: vec!["a".into(), "b".into()] };
        assert_eq!(ImageManifest::read(image.as_bytes(), "amd64").unwrap(), expected);
        for other in [r#"{"schemaVersion": 1, "fsLayers": []}"#, "[]", "no JSON"] {
            assert!(ImageManifest::read(other.as_bytes(), "amd64").is_err(), "{other}");
        }
    }

    #[test]
    fn a_configuration_of_another_platform_is_refused() {
        let config = |arch: &str, ids: &[&str]| {
            json!({"os": "linux", "architecture": arch, "rootfs": {"type": "layers", "diff_ids": ids}}).to_string()
        };
        assert_eq!(diff_ids(config("amd64", &[DIGEST]).as_bytes(), "amd64", 1).unwrap(), [DIGEST]);
        for (config, reason) in [
            (config("arm64", &[DIGEST]), "linux/arm64"),
            (config("amd64", &[]), "1 layers"),
            (config("amd64", &["sha256:../../etc"]), "not a SHA-256"),
            ("{}".into(), "cannot read"),
        ] {
            let error = diff_ids(config.as_bytes(), "amd64", 1).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn the_archive_has_the_format_that_is_imported_fastest() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let contents = [vec![7; 100_000], b"plain".to_vec()];
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&contents[0]).unwrap();
        std::fs::write(dir.path().join("0"), gzip.finish().unwrap()).unwrap();
        std::fs::write(dir.path().join("1"), &contents[1]).unwrap();
        let layer =
            |i: usize| Layer { path: format!("/{i}").into(), diff_id: format!("sha256:{}", sha256_hex(&contents[i])) };
        // The same layer may be in an image twice.
        let layers = [layer(0), layer(1), layer(0)];
        let config = json!({"rootfs": {"diff_ids": layers.each_ref().map(|l| &l.diff_id)}}).to_string();
        let to = Path::new("/pause.tar");
        let make = || {
            write(&files, to, "registry.k8s.io/pause:3.10.1", config.as_bytes(), &layers).unwrap();
            files.rename_temporary(to).unwrap();
            std::fs::read(dir.path().join("pause.tar")).unwrap()
        };
        let whole = make();
        let index = archive::index(&Section::whole(dir.path().join("pause.tar")).unwrap()).unwrap().unwrap();
        assert_eq!(
            (&index.names[..], &index.config[..]),
            (&["registry.k8s.io/pause:3.10.1".to_owned()][..], config.as_bytes())
        );
        let found: Vec<&[u8]> = index.layers.iter().map(|l| &whole[l.offset as usize..][..l.length as usize]).collect();
        assert_eq!(found, [&contents[0], &contents[1], &contents[0]]);
        assert_eq!(make(), whole, "the same image gives the same bytes");
        let wrong = Layer { diff_id: DIGEST.into(), ..layer(0) };
        let error = write(&files, to, "x", config.as_bytes(), &[wrong]).unwrap_err().to_string();
        assert!(error.contains(DIGEST) && error.contains(&sha256_hex(&contents[0])), "{error}");
    }
}
