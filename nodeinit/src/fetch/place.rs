//! Copies files and computes their digest.

use crate::{engine::error::StepError, host::files::failed};
use ring::digest::{Context as Digest, SHA256};
use std::{
    io::{self, Read, Write},
    path::Path,
};

/// Copies `from` to the file `to`, and returns its length and its SHA-256. `unreadable` creates the error of the source.
///
/// # Errors
/// If the source cannot be read, or the target cannot be written.
pub(crate) fn copy(
    from: &mut dyn Read,
    into: &mut dyn Write,
    to: &Path,
    unreadable: &dyn Fn(io::Error) -> StepError,
) -> Result<(u64, [u8; 32]), StepError> {
    let (mut digest, mut length) = (Digest::new(&SHA256), 0);
    let mut buffer = vec![0; 128 << 10];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(unreadable(e)),
        };
        digest.update(&buffer[..n]);
        into.write_all(&buffer[..n]).map_err(failed("write", to))?;
        length += n as u64;
    }
    let mut sum = [0; 32];
    sum.copy_from_slice(digest.finish().as_ref());
    Ok((length, sum))
}
