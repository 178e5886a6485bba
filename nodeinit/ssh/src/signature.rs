//! Signatures of files as `ssh-keygen -Y sign` makes them, with ed25519 keys.
//!
//! Source: `PROTOCOL.sshsig` of OpenSSH.

use super::{ClientKey, fingerprint};
use russh::keys::{
    Algorithm, HashAlg, PublicKey,
    ssh_key::{LineEnding, SshSig},
};

/// A signature that fits its message and the key in it. Whose key that is, the caller decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSignature {
    key: String,
    text: String,
}

/// A signature that cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// Not a signature.
    #[error("it is not a signature from `ssh-keygen -Y sign` (`-----BEGIN SSH SIGNATURE-----`)")]
    Format,
    /// Its key.
    #[error("its key is of the type {0}, and must be of the type ed25519")]
    Kind(String),
    /// What it was made for.
    #[error("it was made for the namespace {found:?}, and must be for {wanted:?}")]
    Namespace {
        /// The namespace of the signature.
        found: String,
        /// The namespace of the message.
        wanted: String,
    },
    /// Another message.
    #[error("it does not match the content: the content was changed, or something else was signed")]
    Wrong,
}

impl FileSignature {
    /// Signs `message` for `namespace`.
    ///
    /// # Errors
    /// Where the key is not of the type ed25519.
    pub fn sign(key: &ClientKey, namespace: &str, message: &[u8]) -> Result<Self, SignatureError> {
        let key = key.private();
        if key.algorithm() != Algorithm::Ed25519 {
            return Err(SignatureError::Kind(key.algorithm().to_string()));
        }
        // As ssh-keygen does.
        let signature = key.sign(namespace, HashAlg::Sha512, message).map_err(|_| SignatureError::Format)?;
        Self::of(&signature)
    }

    /// Reads the signature in `text`, and verifies that it was made of `message` for `namespace`.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub fn verify(text: &str, namespace: &str, message: &[u8]) -> Result<Self, SignatureError> {
        let signature = SshSig::from_pem(text.trim()).map_err(|_| SignatureError::Format)?;
        let kind = signature.public_key().algorithm();
        if kind != Algorithm::Ed25519 {
            return Err(SignatureError::Kind(kind.to_string()));
        }
        if signature.namespace() != namespace {
            return Err(SignatureError::Namespace { found: signature.namespace().into(), wanted: namespace.into() });
        }
        let key = PublicKey::from(signature.public_key().clone());
        key.verify(namespace, message, &signature).map_err(|_| SignatureError::Wrong)?;
        Self::of(&signature)
    }

    fn of(signature: &SshSig) -> Result<Self, SignatureError> {
        let key = PublicKey::from(signature.public_key().clone());
        Ok(Self {
            key: key.to_openssh().map_err(|_| SignatureError::Format)?,
            text: signature.to_pem(LineEnding::LF).map_err(|_| SignatureError::Format)?,
        })
    }

    /// The key that signed, as `ssh-ed25519 BASE64`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The fingerprint of that key, as `ssh-keygen -l` writes it, with the type before it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.key).unwrap_or_default()
    }

    /// The signature as `ssh-keygen` writes it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test asks the real ssh-keygen")]
mod tests {
    use super::*;
    use std::{
        fs::File,
        path::Path,
        process::{Command, Output},
    };

    const NAMESPACE: &str = "nodeinit-bundle";
    const MESSAGE: &[u8] = b"the index\n";

    fn keygen(directory: &Path, arguments: &[&str]) -> Output {
        let message = File::open(directory.join("message")).unwrap();
        Command::new("ssh-keygen").args(arguments).current_dir(directory).stdin(message).output().expect("ssh-keygen")
    }

    /// A directory with a key that OpenSSH made, and a message.
    fn directory(arguments: &[&str]) -> (tempfile::TempDir, ClientKey) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("message"), MESSAGE).unwrap();
        assert!(keygen(dir.path(), &[&["-q", "-N", "", "-f", "key"], arguments].concat()).status.success());
        let key = ClientKey::parse(&std::fs::read_to_string(dir.path().join("key")).unwrap()).unwrap();
        (dir, key)
    }

    #[test]
    fn ssh_keygen_verifies_what_we_sign() {
        let (dir, key) = directory(&["-t", "ed25519"]);
        let ours = FileSignature::sign(&key, NAMESPACE, MESSAGE).unwrap();
        std::fs::write(dir.path().join("ours.sig"), ours.text()).unwrap();
        std::fs::write(dir.path().join("signers"), format!("me {}\n", key.public())).unwrap();
        let arguments = ["-Y", "verify", "-f", "signers", "-I", "me", "-n", NAMESPACE, "-s", "ours.sig"];
        let output = keygen(dir.path(), &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn we_verify_what_ssh_keygen_signs() {
        let (dir, key) = directory(&["-t", "ed25519"]);
        let output = keygen(dir.path(), &["-Y", "sign", "-n", NAMESPACE, "-f", "key", "message"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let theirs = std::fs::read_to_string(dir.path().join("message.sig")).unwrap();
        let read = FileSignature::verify(&theirs, NAMESPACE, MESSAGE).unwrap();
        assert_eq!((read.key(), read.text()), (key.public().rsplit_once(' ').unwrap().0, theirs.as_str()));
        let listed = String::from_utf8(keygen(dir.path(), &["-l", "-f", "key"]).stdout).unwrap();
        assert!(listed.contains(read.fingerprint().split_once(' ').unwrap().1), "{listed}");
        let wrong = |text: &str, namespace, message| FileSignature::verify(text, namespace, message).unwrap_err();
        assert!(matches!(wrong(&theirs, NAMESPACE, b"another"), SignatureError::Wrong));
        assert!(matches!(wrong(&theirs, "file", MESSAGE), SignatureError::Namespace { .. }));
        assert!(matches!(wrong("", NAMESPACE, MESSAGE), SignatureError::Format));
    }

    #[test]
    fn keys_of_another_type_are_refused() {
        let (dir, key) = directory(&["-t", "ecdsa"]);
        assert!(matches!(FileSignature::sign(&key, NAMESPACE, MESSAGE), Err(SignatureError::Kind(_))));
        assert!(keygen(dir.path(), &["-Y", "sign", "-n", NAMESPACE, "-f", "key", "message"]).status.success());
        let theirs = std::fs::read_to_string(dir.path().join("message.sig")).unwrap();
        let error = FileSignature::verify(&theirs, NAMESPACE, MESSAGE).unwrap_err().to_string();
        assert!(error.contains("ecdsa-sha2-nistp256"), "{error}");
    }
}
