//! The SSH key with which the first master logs in to the others: ed25519, in OpenSSH's format.
//!
//! Source: `PROTOCOL.key` of OpenSSH, and RFC 8709.

use super::{PkiError, random};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::Secret;
use nodeinit_protocol::bundle::SshKey;
use ring::signature::{Ed25519KeyPair, KeyPair};
use zeroize::Zeroizing;

/// The comment of the key in `authorized_keys`.
const COMMENT: &str = "nodeinit";
const KIND: &[u8] = b"ssh-ed25519";

/// Generates a key.
///
/// # Errors
/// [`PkiError::NoRandom`].
pub fn generate() -> Result<SshKey, PkiError> {
    let seed = Zeroizing::new(random::bytes::<32>()?);
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed[..]).map_err(|_| PkiError::BadKey)?;
    let public = pair.public_key().as_ref();
    let blob = [&field(KIND)[..], &field(public)].concat();
    let private = private(&blob, &seed[..], public, random::bytes::<4>()?);
    let encoded = Zeroizing::new(STANDARD.encode(&*private));
    let lines = Zeroizing::new(encoded.as_bytes().chunks(70).map(text).collect::<Vec<String>>());
    let body = Zeroizing::new(lines.join("\n"));
    let private = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", *body);
    Ok(SshKey { private: Secret::new(private), public: format!("ssh-ed25519 {} {COMMENT}", STANDARD.encode(blob)) })
}

/// Encodes the unencrypted key: the public key, then both keys between two equal check values and padding.
fn private(blob: &[u8], seed: &[u8], public: &[u8], check: [u8; 4]) -> Zeroizing<Vec<u8>> {
    let pair = Zeroizing::new([seed, public].concat());
    let head = [&check[..], &check[..], &field(KIND), &field(public)].concat();
    let comment = field(COMMENT.as_bytes());
    let padding: Vec<u8> = (1..).take((8 - (head.len() + 4 + pair.len() + comment.len()) % 8) % 8).collect();
    let inner = Zeroizing::new([&head[..], &field(&pair), &comment, &padding].concat());
    let magic = b"openssh-key-v1\0";
    let one_key = 1_u32.to_be_bytes();
    let parts = [&magic[..], &field(b"none"), &field(b"none"), &field(b""), &one_key, &field(blob), &field(&inner)];
    Zeroizing::new(parts.concat())
}

/// Encodes a string as in SSH: its length, then its bytes (RFC 4251, 5). All strings here are short.
fn field(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let length = bytes.len() as u32;
    Zeroizing::new([&length.to_be_bytes()[..], bytes].concat())
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
