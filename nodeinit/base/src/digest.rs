//! SHA-256 and hexadecimal text.

use ring::digest::{Context, SHA256, digest};
use std::{
    fmt::Write,
    io::{self, Read},
};

/// Formats bytes as hexadecimal digits in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the SHA-256 of bytes, as `sha256sum` prints it.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Returns the SHA-256 of a stream. Blocks on the disk.
///
/// # Errors
/// If it cannot be read.
pub fn sha256_of(mut from: impl Read) -> io::Result<[u8; 32]> {
    let mut digest = Context::new(&SHA256);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match from.read(&mut buffer)? {
            0 => break,
            n => digest.update(&buffer[..n]),
        }
    }
    let mut sum = [0; 32];
    sum.copy_from_slice(digest.finish().as_ref());
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_digest() {
        // Source: FIPS 180-4, the example of "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc);
        assert_eq!(hex(&sha256_of(&b"abc"[..]).unwrap()), abc);
    }
}
