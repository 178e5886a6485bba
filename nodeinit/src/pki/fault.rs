//! Why an existing certificate cannot be used.

use super::{Certificate, Key, catalog::Leaf, expiry::date, names::Name};
use std::{fmt, time::SystemTime};

/// One fault of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not valid yet.
    NotYetValid {
        /// The start of its validity.
        from: SystemTime,
        /// The machine's time.
        now: SystemTime,
    },
    /// It has expired at this time.
    Expired(SystemTime),
    /// Its private key belongs to another certificate.
    OtherKey,
    /// Another CA signed it.
    OtherCa {
        /// The common name of the expected CA.
        wanted: String,
        /// The issuer in the certificate.
        found: String,
    },
    /// It is not valid for these names.
    Lacks(Vec<Name>),
    /// It lacks the usage for servers or for clients.
    Usage(&'static str),
    /// Its subject is wrong: the API server would treat the client as another user.
    OtherSubject {
        /// The expected common name and group.
        wanted: String,
        /// The actual ones.
        found: String,
    },
    /// It is not a CA certificate, but should be.
    NoCa,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYetValid { from, now } => {
                write!(f, "valid only from {}, but this machine's clock shows {}", date(*from), date(*now))
            }
            Self::Expired(until) => write!(f, "expired at {}", date(*until)),
            Self::OtherKey => f.write_str("its private key belongs to another certificate"),
            Self::OtherCa { wanted, found } => write!(f, "signed by {found:?} and not by this cluster's {wanted:?}"),
            Self::Lacks(names) => {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                write!(f, "is not valid for {}", names.join(", "))
            }
            Self::Usage(usage) => write!(f, "lacks the extended key usage {usage}"),
            Self::OtherSubject { wanted, found } => write!(f, "is for {found} and not for {wanted}"),
            Self::NoCa => f.write_str("is not a CA's certificate"),
        }
    }
}

/// Returns the faults of a CA certificate.
#[must_use]
pub fn of_ca(certificate: &Certificate, key: Option<&Key>, now: SystemTime) -> Vec<Fault> {
    let mut faults = of_any(certificate, key, now);
    if !certificate.is_ca {
        faults.push(Fault::NoCa);
    }
    faults
}

/// Returns the faults of a certificate that should have the content of `leaf` and be signed by `ca`.
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
    // Servers are identified by their alternative names, clients by their subject.
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
