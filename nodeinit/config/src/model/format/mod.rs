//! The formats of single values, each with its check, an example, and a pattern for the JSON Schema.

mod artifacts;
mod cloud;
mod digests;
mod kubernetes;
mod machine;
mod network;
mod os;
mod plain;

pub use artifacts::*;
pub use cloud::*;
pub use digests::*;
pub use kubernetes::*;
pub use machine::*;
pub use network::*;
pub use os::*;
pub use plain::*;

use crate::problem::Flaw;

/// The format of a single value.
#[derive(Debug)]
pub struct Format {
    /// Its description, such as "an address range".
    pub name: &'static str,
    /// A valid value.
    pub example: &'static str,
    /// An ECMA-262 regular expression that every valid value matches, if a short one exists.
    pub pattern: Option<&'static str>,
    /// Whether numbers and booleans are accepted, too.
    pub loose: bool,
    /// Whether a value is a secret, which is masked in everything that is printed.
    pub secret: bool,
    check: fn(&str) -> Result<(), Flaw>,
}

impl Format {
    const fn new(name: &'static str, example: &'static str, check: fn(&str) -> Result<(), Flaw>) -> Self {
        Self { name, example, pattern: None, loose: false, secret: false, check }
    }

    const fn pattern(mut self, pattern: &'static str) -> Self {
        self.pattern = Some(pattern);
        self
    }

    const fn loose(mut self) -> Self {
        self.loose = true;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Whether a value is valid.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        self.check(text).is_ok()
    }

    pub(crate) fn check(&self, text: &str) -> Result<(), Flaw> {
        (self.check)(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_valid() {
        let formats = [
            &LABEL,
            &SUBDOMAIN,
            &NODE_NAME,
            &LABEL_KEY,
            &LABEL_VALUE,
            &TAINT,
            &VERSION,
            &IMAGE_TAG,
            &KUBEADM_API,
            &MINOR,
            &PROXY_MODE,
            &SENTENCE,
            &REPOSITORY,
            &IMAGE,
            &ENDPOINT,
            &CERT_SAN,
            &ADDRESS,
            &CIDR,
            &ABSOLUTE_PATH,
            &RELATIVE_PATH,
            &SOURCE,
            &SHA256,
            &FLAG,
            &ARGUMENT,
            &SYSCTL,
            &MODULE,
            &DURATION,
            &PORT,
            &COUNT,
            &USER,
            &HOST_KEY,
            &BUNDLE_KEY,
            &CA_PIN,
            &PEM_CERTIFICATE,
            &CLOUD_NAME,
            &UUID,
            &GIBIBYTES,
            &OPENING,
            &URL,
            &HOST,
            &LOCAL_PATH,
            &TIME_SERVER,
            &TIME_ZONE,
            &LOCALE,
            &KEYMAP,
            &FILE_MODE,
            &OWNER,
            &PASSWORD_HASH,
            &AUTHORIZED_KEY,
            &SSHD_OPTION,
            &PACKAGE,
            &UNIT_NAME,
            &DATA_SIZE,
            &NUMBER,
            &ANY_TEXT,
            &TEMPLATE,
            &FILE_SOURCE,
        ];
        for format in formats {
            assert_eq!(format.check(format.example), Ok(()), "{}", format.name);
        }
    }
}
