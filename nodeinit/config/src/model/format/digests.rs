//! SHA-256 digests and certificates.

use super::Format;
use crate::{model::names::verdict, problem::Flaw};
use base64::{Engine, engine::general_purpose::STANDARD};

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
/// One X.509 certificate as PEM.
pub static PEM_CERTIFICATE: Format = Format::new(
    "a certificate as PEM",
    "-----BEGIN CERTIFICATE-----\n\
        MIH6MIGtoAMCAQICAQEwBQYDK2VwMA0xCzAJBgNVBAMMAkNBMB4XDTI2MTEyNzEw\n\
        MzQzNFoXDTM2MTEyNDEwMzQzNFowDTELMAkGA1UEAwwCQ0EwKjAFBgMrZXADIQCW\n\
        hVXSfak3yZT3TlcLlW9MsQ9I4mgDtydrpw6FG9OgpqMyMDAwDwYDVR0TAQH/BAUw\n\
        AwEB/zAdBgNVHQ4EFgQU/gR6hL61xnaMhblnNS8U+fZlNXEwBQYDK2VwA0EAgNd0\n\
        WzXZxm2ERdE/zUKTEWav8EYzD/ijkLPPekNIsRU4e+rv+dlvQIpqCwD1IIEq8QpS\n\
        0RrAQ3Dzq5tPIRkHBA==\n\
        -----END CERTIFICATE-----\n",
    pem_certificate,
)
.pattern("-----BEGIN CERTIFICATE-----");

/// One or more X.509 certificates as PEM, with any text around them.
pub static PEM_CERTIFICATES: Format = Format::new("certificates as PEM", PEM_CERTIFICATE.example, pem_certificates)
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

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Accepts only what OpenSSL reads: the certificate becomes a part of the CA bundle of the machine, and a program that finds an invalid entry in it
/// may trust none of them.
fn pem_certificate(text: &str) -> Result<(), Flaw> {
    let mut lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    verdict(
        lines.contains(&BEGIN),
        text,
        "a certificate as PEM",
        "write the certificate itself, which starts with -----BEGIN CERTIFICATE-----, not a path",
    )?;
    let count = lines.iter().filter(|line| **line == BEGIN).count();
    if count > 1 {
        let remedy = "write one; `os.trustedCAs` takes several, each as an entry of its own";
        return Err(Flaw::new(format!("{count} certificates instead of one"), remedy));
    }
    let remedy = "write what `openssl x509 -in FILE` prints, complete and without other text";
    if lines.first() != Some(&BEGIN) || lines.pop() != Some(END) {
        return Err(Flaw::new(format!("other text than the lines from {BEGIN} to {END}"), remedy));
    }
    // RFC 7468: parsers need not read longer lines.
    if lines[1..].iter().any(|line| line.len() > 76) {
        return Err(Flaw::new("the certificate has a line of more than 76 characters", remedy));
    }
    let bytes = STANDARD.decode(lines[1..].concat()).ok();
    if bytes.is_some_and(|bytes| is_certificate(&bytes)) {
        return Ok(());
    }
    Err(Flaw::new("the certificate is incomplete or damaged", remedy))
}

/// Accepts what nodeinit and containerd read: complete certificates. They skip other text, such as what `openssl x509 -text` prints.
fn pem_certificates(text: &str) -> Result<(), Flaw> {
    let mut lines = text.lines().map(str::trim);
    let mut count = 0;
    while lines.any(|line| line == BEGIN) {
        let mut complete = false;
        let encoded: String = lines
            .by_ref()
            .take_while(|line| {
                complete = *line == END;
                !complete
            })
            .collect();
        if !complete || !STANDARD.decode(encoded).is_ok_and(|bytes| is_certificate(&bytes)) {
            let remedy = "write what `openssl x509 -in FILE` prints, complete";
            return Err(Flaw::new(format!("certificate {} is incomplete or damaged", count + 1), remedy));
        }
        count += 1;
    }
    let remedy = "write the certificate itself, which starts with -----BEGIN CERTIFICATE-----, not a path";
    verdict(count > 0, text, "a certificate as PEM", remedy)
}

/// Whether the bytes are one DER sequence of what is signed, the algorithm, and the signature. Source: RFC 5280, section 4.1.
fn is_certificate(der: &[u8]) -> bool {
    const SEQUENCE: u8 = 0x30;
    const BIT_STRING: u8 = 0x03;
    let Some((SEQUENCE, mut rest, [])) = element(der) else { return false };
    for wanted in [SEQUENCE, SEQUENCE, BIT_STRING] {
        match element(rest) {
            Some((tag, content, after)) if tag == wanted && !content.is_empty() => rest = after,
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Returns the tag and the content of the first DER element, and the bytes behind it. `None` if it is truncated.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, length], rest) = der.split_first_chunk()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_sha256() {
        assert_eq!(sha256(SHA256.example).map(|d| (d[0], d[31])), Ok((0x9f, 0x08)));
        assert!(sha256("abc").is_err() && sha256(&"g".repeat(64)).is_err());
    }

    #[test]
    fn only_one_complete_certificate_is_accepted() {
        let good = PEM_CERTIFICATE.example;
        let body = good.lines().nth(2).unwrap();
        for accepted in [good.replace('\n', "\r\n"), good.trim().to_owned(), format!("\n{good}\n")] {
            assert_eq!(PEM_CERTIFICATE.check(&accepted), Ok(()), "{accepted}");
        }
        for (wrong, what) in [
            ("/etc/ssl/ca.crt".to_owned(), "not a certificate as PEM"),
            (format!("{BEGIN}\n{END}\n"), "damaged"),
            (format!("{BEGIN}\nMIIB\n{END}\n"), "damaged"),
            (format!("{BEGIN}\nhello\n{END}\n"), "damaged"),
            (format!("{BEGIN}\nMAA=\n{END}\n"), "damaged"),
            (good.replace(&format!("{body}\n"), ""), "damaged"),
            (good.replace(body, &format!("{body}AAAA")), "damaged"),
            (good.replace(&format!("{body}\n"), body), "a line of more than 76"),
            (good.replace(body, &format!(" {}", &body[1..])), "damaged"),
            (good.replace(END, ""), "other text"),
            (format!("Subject: CA\n{good}"), "other text"),
            (format!("{good}-----BEGIN PRIVATE KEY-----\n"), "other text"),
            (format!("{good}{good}"), "2 certificates instead of one"),
        ] {
            let flaw = PEM_CERTIFICATE.check(&wrong).unwrap_err();
            assert!(flaw.what.contains(what) && !flaw.remedy.is_empty(), "{wrong}: {flaw:?}");
        }
    }

    #[test]
    fn several_certificates_with_text_around_them_are_accepted() {
        let good = PEM_CERTIFICATE.example;
        for accepted in
            [good.to_owned(), format!("Certificate:\n    Data:\n{good}"), format!("{good}{good}# the next CA\n")]
        {
            assert_eq!(PEM_CERTIFICATES.check(&accepted), Ok(()), "{accepted}");
        }
        let truncated = good.replace("0RrAQ3Dzq5tPIRkHBA==\n", "");
        for wrong in ["/etc/ca.crt".to_owned(), format!("{good}{truncated}"), good.replace(END, "")] {
            assert!(PEM_CERTIFICATES.check(&wrong).is_err(), "{wrong}");
        }
    }
}
