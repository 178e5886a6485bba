//! Reads all of a bundle: every byte must be what the index says.

use super::{Bundle, damaged, fill};
use crate::{
    engine::error::StepError,
    host::{
        archive::{self, BLOCK, padding},
        files::failed,
        section::Section,
    },
};
use nodeinit_base::{hex, sha256_of};
use std::io::{self, Read, Seek};
use tar::Header;

/// Verifies size, digest and order of each artifact, and that there is nothing else in the file.
///
/// # Errors
/// All that is wrong, in one report.
pub fn verify(bundle: &Bundle) -> Result<(), StepError> {
    let wrong = read(bundle).map_err(failed("read", &bundle.path))?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(damaged(&bundle.path, &wrong.join("; "))),
    }
}

fn read(bundle: &Bundle) -> io::Result<Vec<String>> {
    let all = Section { file: bundle.file.clone(), offset: bundle.start, length: u64::MAX };
    let mut file = all.open()?.into_inner();
    let mut wrong = Vec::new();
    for entry in &bundle.index.artifacts {
        let (path, size) = (&entry.path, entry.size);
        let mut header = Header::new_old();
        if !fill(&mut file, header.as_mut_bytes())? {
            wrong.push(format!("it ends before {path}"));
            return Ok(wrong);
        }
        if !archive::is_header(&header, path, size) {
            wrong.push(format!("it has another file where {path} should be"));
        }
        let begin = file.stream_position()?;
        let found = hex(&sha256_of((&file).take(size))?);
        let mut rest = vec![0; padding(size)];
        if file.stream_position()? != begin + size || !fill(&mut file, &mut rest)? {
            wrong.push(format!("it ends within {path}"));
            return Ok(wrong);
        }
        if found != entry.sha256 {
            wrong.push(format!("{path} has the SHA-256 {found}, but the index lists {}", entry.sha256));
        }
        if rest.iter().any(|&byte| byte != 0) {
            wrong.push(format!("there is unexpected data after {path}"));
        }
    }
    let mut end = Vec::new();
    file.take(2 * BLOCK + 1).read_to_end(&mut end)?;
    if end != [0; 2 * BLOCK as usize] {
        wrong.push("it does not end after its last artifact".to_owned());
    }
    Ok(wrong)
}
