//! Why a certificate that is there cannot be used.

use super::{Certificate, Key, catalog::Leaf, expiry::date, names::Name};
use std::{fmt, time::SystemTime};

/// One thing wrong with a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is valid only later than now.
    NotYetValid {
        /// From when.
        from: SystemTime,
        /// The machine's time.
        now: SystemTime,
    },
    /// It was valid only until then.
    Expired(SystemTime),
    /// The private key beside it is another's.
    OtherKey,
    /// It was signed by somebody else.
    OtherCa {
        /// The CA that should have signed it, by its common name.
        wanted: String,
        /// The issuer that it names.
        found: String,
    },
    /// It does not vouch for these names.
    Lacks(Vec<Name>),
    /// It may not be shown by a server, or by a client, which it must.
    Usage(&'static str),
    /// Its subject is somebody else: the API server would take the client for another.
    OtherSubject {
        /// Common name and group, as they should be.
        wanted: String,
        /// As they are.
        found: String,
    },
    /// It should be a CA's and is not.
    NoCa,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYetValid { from, now } => {
                write!(f, "valid only from {}, and this machine's clock says {}", date(*from), date(*now))
            }
            Self::Expired(until) => write!(f, "expired at {}", date(*until)),
            Self::OtherKey => f.write_str("its private key belongs to another certificate"),
            Self::OtherCa { wanted, found } => write!(f, "signed by {found:?} and not by this cluster's {wanted:?}"),
            Self::Lacks(names) => {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                write!(f, "does not hold for {}", names.join(", "))
            }
            Self::Usage(usage) => write!(f, "lacks the extended key usage {usage}"),
            Self::OtherSubject { wanted, found } => write!(f, "is for {found} and not for {wanted}"),
            Self::NoCa => f.write_str("is not a CA's certificate"),
        }
    }
}

/// What is wrong with a CA's certificate.
#[must_use]
pub fn of_ca(certificate: &Certificate, key: Option<&Key>, now: SystemTime) -> Vec<Fault> {
    let mut faults = of_any(certificate, key, now);
    if !certificate.is_ca {
        faults.push(Fault::NoCa);
    }
    faults
}

/// What is wrong with a certificate that should say what `leaf` says and be signed by `ca`.
#[must_use]
pub fn of_leaf(certificate: &Certificate, key: &Key, leaf: &Leaf, ca: &Certificate, now: SystemTime) -> Vec<Fault> {
    let mut faults = of_any(certificate, Some(key), now);
    if !certificate.is_signed_by(ca) {
        let name =
            if certificate.issuer == ca.common_name { "another CA of the same name" } else { &certificate.issuer };
        faults.push(Fault::OtherCa { wanted: ca.common_name.clone(), found: name.to_owned() });
    }
    let lacking: Vec<Name> =
        leaf.names.iter().filter(|wanted| !certificate.names.iter().any(|own| own.covers(wanted))).cloned().collect();
    if !lacking.is_empty() {
        faults.push(Fault::Lacks(lacking));
    }
    if leaf.server && !certificate.server {
        faults.push(Fault::Usage("serverAuth"));
    }
    if leaf.client && !certificate.client {
        faults.push(Fault::Usage("clientAuth"));
    }
    // A server is known by its alternative names, a client by its subject.
    let groups_fit = leaf.organization.iter().all(|group| certificate.organizations.contains(group));
    if !leaf.server && (certificate.common_name != leaf.common_name || !groups_fit) {
        faults.push(Fault::OtherSubject {
            wanted: subject(&leaf.common_name, leaf.organization.as_slice()),
            found: subject(&certificate.common_name, &certificate.organizations),
        });
    }
    faults
}

fn of_any(certificate: &Certificate, key: Option<&Key>, now: SystemTime) -> Vec<Fault> {
    let mut faults = Vec::new();
    if now < certificate.not_before {
        faults.push(Fault::NotYetValid { from: certificate.not_before, now });
    }
    if now > certificate.not_after {
        faults.push(Fault::Expired(certificate.not_after));
    }
    if key.is_some_and(|key| !certificate.fits(key)) {
        faults.push(Fault::OtherKey);
    }
    faults
}

fn subject(common_name: &str, groups: &[String]) -> String {
    match groups {
        [] => common_name.to_owned(),
        groups => format!("{common_name} of {}", groups.join(", ")),
    }
}
