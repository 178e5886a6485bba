//! The key with which we log in.

use russh::keys::{Algorithm, PrivateKey, PrivateKeyWithHashAlg};
use std::{fmt, sync::Arc};

/// A private key, ed25519 or ECDSA. `Debug` does not show it.
#[derive(Clone)]
pub struct ClientKey {
    private: Arc<PrivateKey>,
    public: String,
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({})", self.public)
    }
}

/// A private key that cannot be used. No message holds any of it.
#[derive(Debug, thiserror::Error)]
pub enum ClientKeyError {
    /// Not a private key in OpenSSH's format.
    #[error(
        "it is not a private key in OpenSSH format (`-----BEGIN OPENSSH PRIVATE KEY-----`); convert it with `ssh-keygen -p -N '' -f FILE`"
    )]
    Format,
    /// It needs a passphrase.
    #[error(
        "it has a passphrase, and nodeinit cannot ask for it; create a key without a passphrase: `ssh-keygen -t ed25519 -N '' -f FILE`"
    )]
    Passphrase,
    /// Its type.
    #[error("it is of the type {0}; make one of the type ed25519: `ssh-keygen -t ed25519 -N '' -f FILE`")]
    Kind(String),
}

impl ClientKey {
    /// Of the text of a file like `~/.ssh/id_ed25519`.
    ///
    /// # Errors
    /// [`ClientKeyError`], with what to do instead.
    pub fn parse(pem: &str) -> Result<Self, ClientKeyError> {
        let key = PrivateKey::from_openssh(pem.trim()).map_err(|_| ClientKeyError::Format)?;
        let kind = key.algorithm();
        if !matches!(kind, Algorithm::Ed25519 | Algorithm::Ecdsa { .. }) {
            return Err(ClientKeyError::Kind(kind.to_string()));
        }
        if key.is_encrypted() {
            return Err(ClientKeyError::Passphrase);
        }
        let public = key.public_key().to_openssh().map_err(|_| ClientKeyError::Format)?;
        Ok(Self { private: Arc::new(key), public })
    }

    /// The public half, as a line of `authorized_keys`.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.public
    }

    pub(super) fn private(&self) -> &PrivateKey {
        &self.private
    }

    pub(super) fn signer(&self) -> PrivateKeyWithHashAlg {
        PrivateKeyWithHashAlg::new(Arc::clone(&self.private), None)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test asks the real ssh-keygen")]
mod tests {
    use super::*;
    use std::process::Command;

    /// The private and the public half of a key that OpenSSH made.
    fn made(arguments: &[&str]) -> (String, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made =
            Command::new("ssh-keygen").args(["-q", "-f"]).arg(&path).args(arguments).status().expect("ssh-keygen");
        assert!(made.success());
        let read = |end| std::fs::read_to_string(path.with_extension(end)).unwrap();
        (read(""), read("pub"))
    }

    #[test]
    fn keys_of_openssh_are_read() {
        for arguments in [["-t", "ed25519"], ["-t", "ecdsa"], ["-b", "521"]] {
            let mut all = vec!["-t", "ecdsa", "-N", "", "-C", "me@desk"];
            all.extend(arguments);
            let (private, public) = made(&all);
            let key = ClientKey::parse(&private).unwrap();
            assert_eq!(key.public(), public.trim());
            assert!(!format!("{key:?}").contains("PRIVATE"));
        }
    }

    #[test]
    fn others_are_refused_by_name() {
        assert!(matches!(ClientKey::parse("secret"), Err(ClientKeyError::Format)));
        for (arguments, wanted) in [
            (&["-t", "ed25519", "-N", "secret"][..], "passphrase"),
            (&["-t", "rsa", "-b", "1024", "-N", ""], "ssh-rsa"),
            (&["-t", "ecdsa", "-m", "PEM", "-N", ""], "OpenSSH format"),
        ] {
            let (private, _) = made(arguments);
            let error = ClientKey::parse(&private).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
