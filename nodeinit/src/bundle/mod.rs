//! A bundle: the artifacts of a cluster in one file, which serves as `artifacts.source`.
//!
//! It is a tar archive, not compressed. Its first member is the index; its signature may follow, then its digest, then the artifacts
//! in the order of the index. Everything but the signature follows from the index and the artifacts, so that the same input gives
//! the same bytes, and that any other byte is damage.

mod verify;
mod write;

pub use verify::verify;
pub use write::write;

use crate::{
    engine::error::StepError,
    host::{
        archive::{self, BLOCK, padding},
        facts,
        files::{Files, failed},
        section::Section,
    },
};
use nodeinit_base::sha256_hex;
use nodeinit_config::{Cluster, keys::API_VERSION};
use nodeinit_ssh::{FileSignature, fingerprint};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};
use tar::Header;

/// What the index is signed for, so that no signature of something else fits it.
pub const NAMESPACE: &str = "nodeinit-bundle";

/// The version of the format that is written and read.
const FORMAT: u32 = 1;

const INDEX: &str = "bundle.json";
const SIGNATURE: &str = "bundle.json.sig";
/// The digest of the index, as `sha256sum` prints it: damage is found without a signature, too.
const SUM: &str = "bundle.json.sha256";

/// No index is larger, in bytes.
const LARGEST_INDEX: u64 = 4 << 20;
/// No other text before the artifacts is larger, in bytes.
const LARGEST_TEXT: u64 = 16 << 10;
/// No artifact is larger, in bytes.
const LARGEST: u64 = 4 << 30;

/// What is in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Index {
    format_version: u32,
    /// The `apiVersion` of the configuration that it was made for.
    pub api_version: String,
    /// The version of Kubernetes.
    pub kubernetes_version: String,
    /// The processor of the machines, as Go names it.
    pub architecture: String,
    /// The nodeinit that wrote it.
    pub nodeinit_version: String,
    /// The artifacts, in their order.
    pub artifacts: Vec<Entry>,
}

/// An artifact of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Its path, as in a directory of artifacts.
    pub path: String,
    /// Its SHA-256 in hex.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its official source, where nodeinit knows it.
    pub source: Option<String>,
    /// The licence of the project that publishes it (SPDX), where nodeinit knows it.
    pub license: Option<String>,
}

/// What helps where a bundle lacks something.
pub const WRITE_AGAIN: &str =
    "write it again with this configuration: `nodeinit artifacts fetch`, then `nodeinit artifacts bundle`";

/// Read first: another version may have other fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Format {
    format_version: u32,
}

impl Index {
    /// The index of these artifacts.
    #[must_use]
    pub fn new(cluster: &Cluster, artifacts: Vec<Entry>) -> Self {
        Self {
            format_version: FORMAT,
            api_version: API_VERSION.to_owned(),
            kubernetes_version: cluster.version.to_string(),
            architecture: facts::architecture().to_owned(),
            nodeinit_version: env!("CARGO_PKG_VERSION").to_owned(),
            artifacts,
        }
    }

    /// The text that is written and signed.
    ///
    /// # Errors
    /// Never: it has no map with odd keys.
    pub fn text(&self) -> Result<Vec<u8>, StepError> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|e| StepError::caused("cannot write the index of a bundle", e))?;
        text.push(b'\n');
        Ok(text)
    }

    fn read(text: &[u8]) -> Result<Self, String> {
        let format: Format = serde_json::from_slice(text).map_err(|e| format!("its index cannot be read: {e}"))?;
        if format.format_version != FORMAT {
            let found = format.format_version;
            return Err(format!("it has format {found}, and this nodeinit reads format {FORMAT}"));
        }
        let index: Self = serde_json::from_slice(text).map_err(|e| format!("its index cannot be read: {e}"))?;
        if index.api_version != API_VERSION {
            let found = &index.api_version;
            return Err(format!("it was made for the configuration {found}, and this nodeinit reads {API_VERSION}"));
        }
        let mut paths = BTreeSet::new();
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        for entry in &index.artifacts {
            if !paths.insert(&entry.path) || !is_digest(&entry.sha256) || entry.size > LARGEST {
                return Err(format!(
                    "its index has an invalid entry for {}: a duplicate, no SHA-256, or a size of more than 4 GiB",
                    entry.path
                ));
            }
        }
        Ok(index)
    }
}

/// A bundle, of which everything but the artifacts is read.
#[derive(Debug)]
pub struct Bundle {
    /// Its path, for messages.
    pub path: PathBuf,
    /// What is in it.
    pub index: Index,
    /// Its signature: it fits the index and the key in it. Whether that is the right key, [`Bundle::require`] says.
    pub signature: Option<FileSignature>,
    file: PathBuf,
    /// Where the header of the first artifact begins.
    start: u64,
}

impl Bundle {
    /// Reads the index of the bundle at `path`, its digest and its signature.
    ///
    /// # Errors
    /// Where it cannot be read, is damaged, or has another format.
    pub fn open(files: &Files, path: &Path) -> Result<Self, StepError> {
        let damaged = |what: String| damaged(path, &what);
        if !files.is_file(path) {
            return Err(missing(path));
        }
        let mut file = files.open(path)?;
        let mut member = |limit| text(&mut file, limit).map_err(failed("read", path));
        let Some((_, index)) = member(LARGEST_INDEX)?.filter(|(name, _)| name == INDEX) else {
            let what = format!("{} is not a bundle: its first file is not {INDEX}", path.display());
            return Err(StepError::new(what).hint("`nodeinit artifacts bundle` writes a bundle"));
        };
        let cut = || damaged(format!("its index is not followed by {SUM}"));
        let mut next = member(LARGEST_TEXT)?.ok_or_else(cut)?;
        let mut signature = None;
        if next.0 == SIGNATURE {
            let text = String::from_utf8_lossy(&next.1);
            let read = FileSignature::verify(&text, NAMESPACE, &index)
                .map_err(|e| damaged(format!("its signature cannot be used: {e}")))?;
            if read.text() != text {
                return Err(damaged("its signature is not in the format of ssh-keygen".into()));
            }
            signature = Some(read);
            next = member(LARGEST_TEXT)?.ok_or_else(cut)?;
        }
        if next != (SUM.to_owned(), sum(&index)) {
            return Err(damaged(format!("the SHA-256 of its index differs from the one in {SUM}")));
        }
        let start = file.stream_position().map_err(failed("read", path))?;
        let index = Index::read(&index).map_err(|what| {
            StepError::new(format!("the bundle {} cannot be used: {what}", path.display())).hint(
                "write the bundle again with the same version of nodeinit that reads it: `nodeinit artifacts bundle`",
            )
        })?;
        Ok(Self { path: path.to_path_buf(), index, signature, file: files.real(path), start })
    }

    /// Refuses a bundle that this key (`ssh-ed25519 BASE64`) has not signed.
    ///
    /// # Errors
    /// Both fingerprints, where another key has signed it.
    pub fn require(&self, key: &str) -> Result<(), StepError> {
        let wanted = fingerprint(key).unwrap_or_else(|| key.to_owned());
        let path = self.path.display();
        match &self.signature {
            Some(signature) if signature.key() == key => Ok(()),
            Some(signature) => {
                let found = signature.fingerprint();
                Err(StepError::new(format!("the bundle {path} is signed by {found}, but must be signed by {wanted}"))
                    .hint("do not use this bundle until you know who made it; if you trust the key that signed it, configure that key (artifacts.bundleKey or --public-key)"))
            }
            None => Err(StepError::new(format!("the bundle {path} is not signed, but must be signed by {wanted}"))
                .hint("write it again with --sign-key or --signature: `nodeinit artifacts bundle --help`")),
        }
    }

    /// Where an artifact is, and its SHA-256; `None` where the bundle does not have it.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<(Section, &Entry)> {
        self.sections().find(|(_, entry)| entry.path == path)
    }

    /// Each artifact with its place.
    fn sections(&self) -> impl Iterator<Item = (Section, &Entry)> {
        let mut next = self.start;
        self.index.artifacts.iter().map(move |entry| {
            let section = Section { file: self.file.clone(), offset: next + BLOCK, length: entry.size };
            next = section.offset + entry.size + padding(entry.size) as u64;
            (section, entry)
        })
    }
}

/// Opens the bundle at `path` for the machines of `cluster`.
///
/// # Errors
/// Where it cannot be used, the key of the configuration did not sign it, or it is for another version or processor.
pub fn open_for(files: &Files, cluster: &Cluster, path: &Path) -> Result<Bundle, StepError> {
    let bundle = Bundle::open(files, path)?;
    if let Some(key) = &cluster.artifacts.bundle_key {
        bundle.require(key)?;
    }
    let (index, version) = (&bundle.index, cluster.version.to_string());
    if index.kubernetes_version != version {
        let found = &index.kubernetes_version;
        return Err(StepError::new(format!(
            "the bundle {} is for Kubernetes {found}, and kubernetes.version is {version}",
            path.display()
        ))
        .hint(format!("provide a bundle for {version}, or set `kubernetes: {{version: {found}}}`")));
    }
    if index.architecture != facts::architecture() {
        let (found, here) = (&index.architecture, facts::architecture());
        return Err(StepError::new(format!(
            "the bundle {} is for the architecture {found}, but this machine has {here}",
            path.display()
        ))
        .hint(format!("write a bundle on a machine with the architecture {here}")));
    }
    Ok(bundle)
}

/// There is no such bundle.
pub(crate) fn missing(path: &Path) -> StepError {
    StepError::new(format!("the bundle {} does not exist, or is not a file", path.display()))
        .hint("put it there, or correct the path (artifacts.source in the configuration)")
}

/// The line of `sha256sum` for the index.
fn sum(index: &[u8]) -> Vec<u8> {
    format!("{}  {INDEX}\n", sha256_hex(index)).into_bytes()
}

/// Reads a short member: its name and its content. `None` where there is none that we wrote.
fn text(file: &mut impl Read, limit: u64) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut header = Header::new_old();
    if !fill(file, header.as_mut_bytes())? {
        return Ok(None);
    }
    let name = archive::name(&header);
    let is_ours = |length: &u64| *length <= limit && archive::is_header(&header, &name, *length);
    let Some(length) = header.entry_size().ok().filter(is_ours) else { return Ok(None) };
    let mut content = vec![0; length as usize + padding(length)];
    if !fill(file, &mut content)? {
        return Ok(None);
    }
    let rest = content.split_off(length as usize);
    Ok(rest.iter().all(|&byte| byte == 0).then_some((name, content)))
}

/// Whether the file had enough bytes.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        result => result.map(|()| true),
    }
}

fn damaged(path: &Path, what: &str) -> StepError {
    StepError::new(format!("the bundle {} is damaged: {what}", path.display()))
        .hint("copy it again from where it was written, or write it again: `nodeinit artifacts bundle`")
}

/// Bundles for tests.
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make artifacts")]
pub(crate) mod testing {
    use super::*;

    /// The index of these artifacts, which are put below `/from`.
    pub(crate) fn index(files: &Files, cluster: &Cluster, artifacts: &[(&str, &[u8])]) -> Index {
        let entry = |(path, content): &(&str, &[u8])| {
            let file = files.real(&Path::new("/from").join(path));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
            let source = Some("https://example.org".into());
            Entry {
                path: (*path).to_owned(),
                sha256: sha256_hex(content),
                size: content.len() as u64,
                source,
                license: None,
            }
        };
        Index::new(cluster, artifacts.iter().map(entry).collect())
    }

    /// Writes a bundle of these artifacts.
    pub(crate) fn place(files: &Files, cluster: &Cluster, to: &str, artifacts: &[(&str, &[u8])]) {
        write(files, Path::new(to), &index(files, cluster, artifacts), None, Path::new("/from")).unwrap();
    }
}

#[cfg(test)]
mod tests;
