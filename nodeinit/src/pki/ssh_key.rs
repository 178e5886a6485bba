//! The SSH key with which the first master logs in to the others: ed25519, in OpenSSH's format.
//!
//! Source: `PROTOCOL.key` of OpenSSH, and RFC 8709.

use super::{PkiError, random};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::Secret;
use nodeinit_protocol::bundle::SshKey;
use ring::signature::{Ed25519KeyPair, KeyPair};

/// The comment of the key in `authorized_keys`.
const COMMENT: &str = "nodeinit";
const KIND: &[u8] = b"ssh-ed25519";

/// Generates a key.
///
/// # Errors
/// [`PkiError::NoRandom`].
pub fn generate() -> Result<SshKey, PkiError> {
    let seed = random::bytes::<32>()?;
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| PkiError::BadKey)?;
    let public = pair.public_key().as_ref();
    let blob = [field(KIND), field(public)].concat();
    let private = private(&blob, &seed, public, random::bytes::<4>()?);
    let lines: Vec<String> = STANDARD.encode(private).as_bytes().chunks(70).map(text).collect();
    let private =
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", lines.join("\n"));
    Ok(SshKey { private: Secret::new(private), public: format!("ssh-ed25519 {} {COMMENT}", STANDARD.encode(blob)) })
}

/// Encodes the unencrypted key: the public key, then both keys between two equal check values and padding.
fn private(blob: &[u8], seed: &[u8], public: &[u8], check: [u8; 4]) -> Vec<u8> {
    let pair = [seed, public].concat();
    let mut inner =
        [&check[..], &check[..], &field(KIND), &field(public), &field(&pair), &field(COMMENT.as_bytes())].concat();
    let padding = (8 - inner.len() % 8) % 8;
    inner.extend((1..).take(padding).map(|n: u8| n));
    let magic = b"openssh-key-v1\0";
    let one_key = 1_u32.to_be_bytes();
    [&magic[..], &field(b"none"), &field(b"none"), &field(b""), &one_key, &field(blob), &field(&inner)].concat()
}

/// Encodes a string as in SSH: its length, then its bytes (RFC 4251, 5). All strings here are short.
fn field(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    [&length.to_be_bytes()[..], bytes].concat()
}

fn text(ascii: &[u8]) -> String {
    ascii.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt, process::Command};

    #[test]
    fn the_ssh_client_of_nodeinit_reads_it() {
        let key = generate().unwrap();
        assert_eq!(nodeinit_ssh::ClientKey::parse(key.private.expose()).unwrap().public(), key.public);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test asks the real ssh-keygen")]
    fn openssh_reads_it() {
        let key = generate().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, key.private.expose()).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let output = Command::new("ssh-keygen").args(["-y", "-f"]).arg(&path).output().expect("ssh-keygen");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), key.public);
    }
}
