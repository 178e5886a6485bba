//! SHA-256 digests and certificates.

use super::Format;
use crate::{model::names::verdict, problem::Flaw};

/// A SHA-256 digest.
pub static SHA256: Format =
    Format::new("a SHA-256 digest", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", |t| {
        sha256(t).map(drop)
    })
    .pattern("^[0-9a-fA-F]{64}$");
/// The digest of a CA's public key.
pub static CA_PIN: Format = Format::new(
    "the digest of a public key",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    |t| ca_pin(t).map(drop),
)
.pattern("^sha256:[0-9a-fA-F]{64}$");
/// A certificate as PEM.
pub static PEM_CERTIFICATE: Format = Format::new(
    "a certificate as PEM",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    pem_certificate,
)
.pattern("-----BEGIN CERTIFICATE-----");

/// Parses a SHA-256 digest from its 64 hexadecimal digits.
#[must_use]
pub fn digest(text: &str) -> Option<[u8; 32]> {
    sha256(text).ok()
}

pub(crate) fn sha256(text: &str) -> Result<[u8; 32], Flaw> {
    let wrong = |what: String| Flaw::new(what, "write the 64 hexadecimal digits that `sha256sum` prints");
    let digits: Vec<u8> = text.chars().map_while(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    if digits.len() != text.chars().count() {
        return Err(wrong(format!("{text:?} is not a SHA-256 digest")));
    }
    if digits.len() != 64 {
        return Err(wrong(format!("a SHA-256 digest has 64 digits, this has {}", digits.len())));
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
    }
    Ok(digest)
}

pub(crate) fn ca_pin(text: &str) -> Result<[u8; 32], Flaw> {
    let wrong =
        || Flaw::new(format!("{text:?} is not the digest of a public key"), "write sha256: and 64 hexadecimal digits");
    sha256(text.strip_prefix("sha256:").ok_or_else(wrong)?)
}

fn pem_certificate(text: &str) -> Result<(), Flaw> {
    let fits = text.contains("-----BEGIN CERTIFICATE-----") && text.contains("-----END CERTIFICATE-----");
    verdict(
        fits,
        text,
        "a certificate as PEM",
        "write the certificate itself, which starts with -----BEGIN CERTIFICATE-----, not a path",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_sha256() {
        assert_eq!(sha256(SHA256.example).map(|d| (d[0], d[31])), Ok((0x9f, 0x08)));
        assert!(sha256("abc").is_err() && sha256(&"g".repeat(64)).is_err());
    }
}
