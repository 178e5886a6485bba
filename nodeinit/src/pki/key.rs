//! Private keys: generates ECDSA P-256, and reads every format that kubeadm and OpenSSL write.

use super::{PkiError, inspect::pin};
use nodeinit_config::Secret;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, pem::PemObject};
use zeroize::{Zeroize, Zeroizing};

/// A private key. `Debug` does not show it; its bytes are overwritten when it is dropped.
#[derive(Debug)]
pub struct Key(KeyPair);

impl Key {
    /// Generates an ECDSA P-256 key.
    ///
    /// # Errors
    /// If the system provides no random bytes.
    pub fn generate() -> Result<Self, PkiError> {
        Ok(Self(KeyPair::generate()?))
    }

    /// Reads the first private key of a PEM text.
    ///
    /// # Errors
    /// [`PkiError::NoKey`] or [`PkiError::BadKey`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, PkiError> {
        let der = Zeroizing::new(PrivateKeyDer::from_pem_slice(pem).map_err(|_| PkiError::NoKey)?);
        match &*der {
            PrivateKeyDer::Pkcs8(key) => pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => pkcs8(&wrapped(RSA, key.secret_pkcs1_der())),
            PrivateKeyDer::Sec1(key) => {
                let key = key.secret_sec1_der();
                pkcs8(&wrapped(P256, key)).or_else(|_| pkcs8(&wrapped(P384, key)))
            }
            _ => Err(PkiError::BadKey),
        }
    }

    /// Returns the key as PKCS#8 in PEM.
    #[must_use]
    pub fn pem(&self) -> Secret<String> {
        Secret::new(self.0.serialize_pem())
    }

    /// Returns the public key in PEM.
    #[must_use]
    pub fn public_pem(&self) -> String {
        self.0.public_key_pem()
    }

    /// Returns the public key without its algorithm, as in a certificate's `subjectPublicKey`.
    #[must_use]
    pub fn public_bytes(&self) -> &[u8] {
        self.0.public_key_raw()
    }

    /// Returns the SHA-256 of the public key with its algorithm.
    #[must_use]
    pub fn pin(&self) -> [u8; 32] {
        pin(&self.0.subject_public_key_info())
    }

    /// Whether a PEM text of public keys contains this key's public key.
    #[must_use]
    pub fn is_named_in(&self, public_pem: &[u8]) -> bool {
        let own = self.0.subject_public_key_info();
        SubjectPublicKeyInfoDer::pem_slice_iter(public_pem).flatten().any(|key| key.as_ref() == own)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.0.der_bytes()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        self.0.algorithm()
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        self.0.sign(message)
    }
}

fn pkcs8(der: &[u8]) -> Result<Key, PkiError> {
    let pair = KeyPair::try_from(&PrivatePkcs8KeyDer::from(der)).map_err(|_| PkiError::BadKey)?;
    // The Kubernetes components accept no other kinds (kubeadm: `pkiutil.TryLoadKeyFromDisk`).
    if pair.is_compatible(&rcgen::PKCS_ED25519) { Err(PkiError::BadKey) } else { Ok(Key(pair)) }
}

/// `AlgorithmIdentifier`s in DER. Source: RFC 3279 and RFC 5480.
const RSA: &[u8] = &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
const P256: &[u8] = &[
    0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
    0x01, 0x07,
];
const P384: &[u8] =
    &[0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];

/// Wraps a key of an older format in PKCS#8, the only format that ring reads. Source: RFC 5208, `PrivateKeyInfo`.
fn wrapped(algorithm: &[u8], key: &[u8]) -> Zeroizing<Vec<u8>> {
    let version = [0x02, 0x01, 0x00];
    let content = Zeroizing::new([&version[..], algorithm, &tagged(0x04, key)].concat());
    tagged(0x30, &content)
}

fn tagged(tag: u8, content: &[u8]) -> Zeroizing<Vec<u8>> {
    let length = content.len().to_be_bytes();
    let significant = &length[content.len().leading_zeros() as usize / 8..];
    // Tag and length have at most nine bytes: a longer buffer would be copied, and the copy stay in memory.
    let mut der = Zeroizing::new(Vec::with_capacity(content.len() + 10));
    der.push(tag);
    match content.len() {
        0..0x80 => der.push(content.len() as u8),
        _ => {
            der.push(0x80 | significant.len() as u8);
            der.extend_from_slice(significant);
        }
    }
    der.extend_from_slice(content);
    der
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::testing::openssl;

    #[test]
    fn a_key_survives_a_round_trip() {
        let key = Key::generate().unwrap();
        let again = Key::from_pem(key.pem().expose().as_bytes()).unwrap();
        assert_eq!(key.public_bytes(), again.public_bytes());
        assert!(key.is_named_in(again.public_pem().as_bytes()));
        assert!(!Key::generate().unwrap().is_named_in(key.public_pem().as_bytes()));
        assert!(!format!("{key:?}").contains("PRIVATE"));
    }

    #[test]
    fn every_format_of_openssl_is_read() {
        for make in [
            "ecparam -name prime256v1 -genkey",
            "ecparam -name secp384r1 -genkey -noout",
            "genrsa -traditional 2048",
            "genrsa 2048",
            "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        ] {
            let arguments: Vec<&str> = make.split(' ').collect();
            let pem = openssl(&arguments, b"");
            let public = openssl(&["pkey", "-pubout"], pem.as_bytes());
            let key = Key::from_pem(pem.as_bytes()).unwrap_or_else(|e| panic!("{make}: {e}"));
            assert_eq!(key.public_pem().replace("\r\n", "\n"), public, "{make}");
        }
    }

    #[test]
    fn an_unsupported_or_damaged_key_is_refused() {
        let weak = openssl(&["genpkey", "-algorithm", "ED25519"], b"");
        assert!(matches!(Key::from_pem(weak.as_bytes()), Err(PkiError::BadKey)));
        assert!(matches!(Key::from_pem(b""), Err(PkiError::NoKey)));
        assert!(matches!(Key::from_pem(b"rubbish"), Err(PkiError::NoKey)));
        let damaged = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(matches!(Key::from_pem(damaged.as_bytes()), Err(PkiError::BadKey)));
    }
}
