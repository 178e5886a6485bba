//! Whether a host is the one that it should be.

use super::{SshError, Target, algorithms::HOST_KEYS};
use base64::{Engine, engine::general_purpose::STANDARD, engine::general_purpose::STANDARD_NO_PAD};
use ring::digest;

/// A host key: its type, and the key as SSH writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostKey {
    pub(super) kind: String,
    pub(super) blob: Vec<u8>,
}

impl HostKey {
    /// Of a line `type base64`, a comment may follow. `None` where the type is not the one in the key.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (kind, key) = (words.next()?, words.next()?);
        let blob = STANDARD.decode(key).ok()?;
        // RFC 4253, 6.6: the key begins with its type, and that with its length.
        let (length, rest) = blob.split_first_chunk::<4>()?;
        let named = rest.get(..u32::from_be_bytes(*length) as usize)?;
        (named == kind.as_bytes()).then(|| Self { kind: kind.to_owned(), blob: blob.clone() })
    }

    /// `type base64`.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.kind, STANDARD.encode(&self.blob))
    }

    /// As `ssh-keygen -l` writes it, with the type before it.
    pub(super) fn fingerprint(&self) -> String {
        let digest = digest::digest(&digest::SHA256, &self.blob);
        format!("{} SHA256:{}", self.kind, STANDARD_NO_PAD.encode(digest))
    }
}

/// The fingerprint of a key line `type base64`, as `ssh-keygen -l` writes it, with the type before it. `None` where the
/// line is no key.
#[must_use]
pub fn fingerprint(line: &str) -> Option<String> {
    HostKey::parse(line).map(|key| key.fingerprint())
}

/// The known host keys of a target.
pub(super) fn known(target: &Target) -> Result<Vec<HostKey>, SshError> {
    let name = &target.name;
    let mut keys = Vec::new();
    for line in &target.host_keys {
        let line = || line.trim().to_owned();
        keys.push(HostKey::parse(&line()).ok_or_else(|| SshError::BadHostKey { name: name.clone(), line: line() })?);
    }
    let checkable = |key: &HostKey| HOST_KEYS.iter().any(|algorithm| algorithm.as_str() == key.kind);
    match keys.first() {
        Some(first) if !keys.iter().any(checkable) => {
            Err(SshError::OldHostKey { name: name.clone(), kind: first.kind.clone() })
        }
        _ => Ok(keys),
    }
}

/// Whether the key that a host shows will do.
pub(super) fn judge(target: &Target, known: &[HostKey], shown: &HostKey) -> Result<(), SshError> {
    let name = target.name.clone();
    if known.contains(shown) || (known.is_empty() && target.trust_on_first_use) {
        Ok(())
    } else if known.is_empty() {
        Err(SshError::UnknownHostKey { name, fingerprint: shown.fingerprint(), line: shown.line() })
    } else {
        let expected: Vec<String> = known.iter().map(HostKey::fingerprint).collect();
        Err(SshError::WrongHostKey { name, expected: expected.join(", "), shown: shown.fingerprint() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";
    const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

    fn target(host_keys: &[&str], trust_on_first_use: bool) -> Target {
        let host_keys = host_keys.iter().map(ToString::to_string).collect();
        let address = ([127, 0, 0, 1], 22).into();
        Target { name: "m2".into(), address, user: "root".into(), host_keys, trust_on_first_use }
    }

    fn judged(target: &Target, shown: &str) -> Result<(), SshError> {
        judge(target, &known(target).unwrap(), &HostKey::parse(shown).unwrap())
    }

    #[test]
    fn any_known_key_will_do_whatever_its_comment() {
        judged(&target(&[OTHER, &format!(" {ED25519} root@m2\n")], false), ED25519).unwrap();
        assert_eq!(HostKey::parse(ED25519).unwrap().line(), ED25519);
    }

    #[test]
    fn another_key_than_the_known_one_is_refused_even_with_trust_on_first_use() {
        let error = judged(&target(&[ED25519], true), OTHER).unwrap_err();
        assert!(!error.is_temporary());
        let text = error.to_string();
        assert!(text.contains(&fingerprint(ED25519).unwrap()) && text.contains(&fingerprint(OTHER).unwrap()), "{text}");
    }

    #[test]
    fn an_unknown_key_needs_trust_on_first_use() {
        judged(&target(&[], true), ED25519).unwrap();
        let text = judged(&target(&[], false), ED25519).unwrap_err().to_string();
        assert!(text.contains(ED25519), "{text}");
    }

    #[test]
    fn what_is_no_key_is_named() {
        for line in ["", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIKSJ", "x y"] {
            let error = known(&target(&[line], true)).unwrap_err();
            assert!(matches!(error, SshError::BadHostKey { .. }), "{error}");
        }
        let rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQ==";
        assert!(matches!(known(&target(&[rsa], false)), Err(SshError::OldHostKey { .. })));
        known(&target(&[rsa, ED25519], false)).unwrap();
    }
}
