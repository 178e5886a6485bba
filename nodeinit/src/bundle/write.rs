//! Writes a bundle from a directory of artifacts.

use super::{INDEX, Index, SIGNATURE, SUM, sum};
use crate::{
    engine::error::{Exit, StepError},
    fetch::place,
    host::{
        archive,
        files::{FileError, Files, failed},
    },
};
use nodeinit_base::{atomic_file::temporary, hex};
use nodeinit_ssh::FileSignature;
use std::{
    io::{self, Read},
    path::Path,
};
use tar::{Builder, Header};

/// Writes the bundle `to` of the artifacts below the directory `from`: whole, or not at all.
///
/// # Errors
/// Where an artifact is not what the index says, or the file cannot be written; a file that is there stays.
pub fn write(
    files: &Files,
    to: &Path,
    index: &Index,
    signature: Option<&FileSignature>,
    from: &Path,
) -> Result<(), StepError> {
    let directory = to.parent().unwrap_or(to);
    let _alone = files.lock_directory(directory)?;
    let result = write_temporary(files, to, index, signature, from).and_then(|()| {
        files.rename_temporary(to)?;
        Ok(files.sync_directory(directory)?)
    });
    if result.is_err() {
        // The first error is the one to tell.
        let _ = files.remove_file(temporary(to));
    }
    result
}

fn write_temporary(
    files: &Files,
    to: &Path,
    index: &Index,
    signature: Option<&FileSignature>,
    from: &Path,
) -> Result<(), StepError> {
    let text = index.text()?;
    let mut tar = Builder::new(files.open_temporary(to, 0o644)?);
    let signature = signature.map(|signature| (SIGNATURE, signature.text().as_bytes().to_vec()));
    let sum = sum(&text);
    for (name, content) in [(INDEX, text)].into_iter().chain(signature).chain([(SUM, sum)]) {
        tar.append(&header(name, content.len() as u64)?, &content[..]).map_err(failed("write", to))?;
    }
    let mut wrong = Vec::new();
    for entry in &index.artifacts {
        let path = from.join(&entry.path);
        let unreadable = |e: io::Error| FileError { op: "read", path: path.clone(), source: e }.into();
        let mut header = header(&entry.path, entry.size)?;
        let mut member = tar.append_writer(&mut header, &entry.path).map_err(failed("write", to))?;
        // One more than it should have, to see whether it is longer.
        let mut source = files.open(&path)?.take(entry.size + 1);
        let (size, digest) = place::copy(&mut source, &mut member, to, &unreadable)?;
        member.finish().map_err(failed("write", to))?;
        if size != entry.size || hex(&digest) != entry.sha256 {
            wrong.push(entry.path.as_str());
        }
    }
    if !wrong.is_empty() {
        let what = format!("these files differ from the digests in {}: {}", crate::fetch::lock::NAME, wrong.join(", "));
        return Err(StepError::new(what).hint("fetch the changed files again: `nodeinit artifacts fetch --to DIR`"));
    }
    tar.into_inner().and_then(|file| file.sync_all()).map_err(failed("write", to))?;
    Ok(())
}

fn header(name: &str, length: u64) -> Result<Header, StepError> {
    archive::header(name, length)
        .map_err(|e| StepError::caused(format!("a bundle cannot contain the path {name}"), e).exit(Exit::BadConfig))
}
