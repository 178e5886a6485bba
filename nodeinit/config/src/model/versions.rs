//! Versions of Kubernetes.

use std::{fmt, str::FromStr};

/// The version where none is configured: the tested one of the newest release.
pub const DEFAULT: &str = "v1.37.1";

/// A minor version of containerd, such as 1.6.
pub type ContainerdVersion = (u16, u16);

/// A released version of Kubernetes, such as `v1.34.4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    /// `1`.
    pub major: u16,
    /// `34` in `v1.34.4`.
    pub minor: u16,
    /// `4` in `v1.34.4`.
    pub patch: u16,
}

impl KubernetesVersion {
    /// Returns `(1, 37)` for `v1.37.1`.
    #[must_use]
    pub fn minor_version(self) -> (u16, u16) {
        (self.major, self.minor)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The error for a text that is not a version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version of Kubernetes; write it as v1.37.1")]
pub struct NotAVersion(String);

impl FromStr for KubernetesVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let wrong = || NotAVersion(text.to_owned());
        let numbers: Vec<u16> = text
            .strip_prefix('v')
            .ok_or_else(wrong)?
            .split('.')
            .map(|part| number(part).ok_or_else(wrong))
            .collect::<Result<_, _>>()?;
        match numbers[..] {
            [major, minor, patch] => Ok(Self { major, minor, patch }),
            _ => Err(wrong()),
        }
    }
}

/// Parses a number that consists of digits without a leading zero: `+1` and `01` are refused.
pub(crate) fn number(text: &str) -> Option<u16> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_survive_a_round_trip() {
        let version: KubernetesVersion = "v1.34.4".parse().unwrap();
        assert_eq!(version.to_string(), "v1.34.4");
        assert_eq!(version.minor_version(), (1, 34));
        for wrong in ["1.34.4", "v1.34", "v1.34.x", "v1.34.4.5", "", "v-1.2.3", "v+1.34.4", "v1.034.4"] {
            assert!(wrong.parse::<KubernetesVersion>().is_err(), "{wrong}");
        }
    }
}
