//! Under whom a machine works.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What the leading master sends with each command to another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Led {
    /// The leading master.
    pub machine: String,
    /// The epoch of its lease: a revision of etcd.
    pub epoch: i64,
    /// The generation of its configuration.
    pub generation: u64,
    /// The SHA-256 of its configuration, in hex.
    pub sha256: String,
}

impl fmt::Display for Led {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.epoch, self.generation, self.sha256, self.machine)
    }
}

impl FromStr for Led {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let mut parts = text.splitn(4, '/');
            let (epoch, generation) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Self { epoch, generation, sha256: parts.next()?.into(), machine: parts.next()?.into() })
        };
        parse().ok_or_else(|| format!("{text:?} is not EPOCH/GENERATION/SHA256/MACHINE"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_again() {
        let led = Led { machine: "m1".into(), epoch: 7, generation: 3, sha256: "abc".into() };
        assert_eq!(led.to_string(), "7/3/abc/m1");
        assert_eq!(led.to_string().parse::<Led>(), Ok(led));
        for wrong in ["", "7", "7/3/abc", "x/3/abc/m1"] {
            assert!(wrong.parse::<Led>().is_err(), "{wrong}");
        }
    }
}
