//! Keys and certificates, without I/O.
//!
//! Generates the same certificates as kubeadm (`cmd/kubeadm/app/phases/certs/certlist.go`): the same names, subjects, alternative names and
//! usages, with ECDSA P-256 keys. Also reads keys of other tools: RSA and P-384, in PKCS#8, PKCS#1 or SEC1.

pub mod authority;
pub mod bundle;
pub mod catalog;
pub mod expiry;
pub mod fault;
pub mod inspect;
pub mod key;
pub mod names;
pub mod random;
pub mod request;
pub mod ssh_key;
#[cfg(test)]
pub(crate) mod testing;

pub use authority::Authority;
pub use inspect::Certificate;
pub use key::Key;

/// Why a key or a certificate cannot be read or created.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A text contains no certificate in PEM.
    #[error("it contains no certificate in PEM")]
    NoCertificate,
    /// A certificate that cannot be read.
    #[error("it is not a valid X.509 certificate: {0}")]
    BadCertificate(String),
    /// A certificate request that cannot be read.
    #[error("it is not a valid PKCS#10 certificate request: {0}")]
    BadRequest(String),
    /// A text contains no private key in PEM.
    #[error("it contains no private key in PEM")]
    NoKey,
    /// A key of an unsupported kind.
    #[error("its private key is damaged, or neither RSA (2048 bits or more) nor ECDSA (P-256, P-384)")]
    BadKey,
    /// A name that is not valid in a certificate.
    #[error("{0:?} is not a valid DNS name for a certificate")]
    BadName(String),
    /// The system provides no random bytes.
    #[error("the system provides no random bytes")]
    NoRandom,
    /// Signing failed.
    #[error("cannot sign: {0}")]
    Sign(#[from] rcgen::Error),
}
