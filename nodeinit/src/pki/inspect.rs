//! Reads certificates.

use super::{Key, PkiError, names::Name};
use ring::digest::{SHA256, digest};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::{Duration, SystemTime},
};
use x509_parser::{
    certificate::X509Certificate,
    extensions::{GeneralName, ParsedExtension},
    prelude::FromDer,
};

/// A parsed certificate with its chain.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate in DER.
    pub der: Vec<u8>,
    /// The subject's first common name.
    pub common_name: String,
    /// The subject's organizations: a user's groups.
    pub organizations: Vec<String>,
    /// The issuer's first common name.
    pub issuer: String,
    /// The names for which it is valid.
    pub names: Vec<Name>,
    /// Whether a server may use it.
    pub server: bool,
    /// Whether a client may use it.
    pub client: bool,
    /// Whether it may sign others.
    pub is_ca: bool,
    /// The start of its validity.
    pub not_before: SystemTime,
    /// Its expiry.
    pub not_after: SystemTime,
    /// Its public key, without the algorithm.
    pub public_key: Vec<u8>,
    /// SHA-256 of its public key with the algorithm: the form in which kubeadm pins CAs.
    pub pin: [u8; 32],
    /// The intermediate certificates that follow it, in DER.
    pub chain: Vec<Vec<u8>>,
}

impl Certificate {
    /// Reads the first certificate of a PEM text; the following ones are its chain.
    ///
    /// # Errors
    /// [`PkiError::NoCertificate`] or [`PkiError::BadCertificate`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, PkiError> {
        let mut all = CertificateDer::pem_slice_iter(pem)
            .map(|der| der.map(|der| der.to_vec()).map_err(|_| PkiError::NoCertificate))
            .collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(PkiError::NoCertificate);
        }
        let chain = all.split_off(1);
        Ok(Self { chain, ..Self::from_der(all.remove(0))? })
    }

    /// Reads every certificate of a PEM text separately.
    ///
    /// # Errors
    /// [`PkiError::NoCertificate`] or [`PkiError::BadCertificate`].
    pub fn all_from_pem(pem: &[u8]) -> Result<Vec<Self>, PkiError> {
        let all = CertificateDer::pem_slice_iter(pem)
            .map(|der| Self::from_der(der.map_err(|_| PkiError::NoCertificate)?.to_vec()))
            .collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() { Err(PkiError::NoCertificate) } else { Ok(all) }
    }

    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// [`PkiError::BadCertificate`].
    pub fn from_der(der: Vec<u8>) -> Result<Self, PkiError> {
        let certificate = parsed(&der)?;
        let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| value.as_str().unwrap_or_default().to_owned();
        let subject = certificate.subject();
        let usage = certificate.extended_key_usage().ok().flatten().map(|usage| usage.value.clone());
        let allows = |pick: fn(&x509_parser::extensions::ExtendedKeyUsage<'_>) -> bool| {
            // Without the extension, every usage is allowed (RFC 5280, 4.2.1.12).
            usage.as_ref().is_none_or(|usage| usage.any || pick(usage))
        };
        let read = Self {
            common_name: subject.iter_common_name().next().map(text).unwrap_or_default(),
            organizations: subject.iter_organization().map(text).collect(),
            issuer: certificate.issuer().iter_common_name().next().map(text).unwrap_or_default(),
            names: names(&certificate),
            server: allows(|usage| usage.server_auth),
            client: allows(|usage| usage.client_auth),
            is_ca: certificate.is_ca(),
            not_before: at(certificate.validity().not_before.timestamp()),
            not_after: at(certificate.validity().not_after.timestamp()),
            public_key: certificate.public_key().subject_public_key.data.to_vec(),
            pin: pin(certificate.public_key().raw),
            chain: Vec::new(),
            der: Vec::new(),
        };
        Ok(Self { der, ..read })
    }

    /// Whether it contains the public key of this private key.
    #[must_use]
    pub fn fits(&self, key: &Key) -> bool {
        self.public_key == key.public_bytes()
    }

    /// Whether it was signed by `ca`, directly or through its own chain.
    #[must_use]
    pub fn is_signed_by(&self, ca: &Self) -> bool {
        let mut current = self.der.as_slice();
        for next in self.chain.iter().map(Vec::as_slice) {
            if signed(current, &ca.der) {
                return true;
            }
            if !signed(current, next) {
                return false;
            }
            current = next;
        }
        signed(current, &ca.der)
    }
}

/// Whether the certificate `der` names `issuer` as its issuer and has its signature.
fn signed(der: &[u8], issuer: &[u8]) -> bool {
    let (Ok(certificate), Ok(issuer)) = (parsed(der), parsed(issuer)) else { return false };
    issuer.is_ca()
        && certificate.issuer().as_raw() == issuer.subject().as_raw()
        && certificate.verify_signature(Some(issuer.public_key())).is_ok()
}

fn parsed(der: &[u8]) -> Result<X509Certificate<'_>, PkiError> {
    X509Certificate::from_der(der)
        .map(|(_, certificate)| certificate)
        .map_err(|e| PkiError::BadCertificate(e.to_string()))
}

/// Returns the SHA-256 of a public key with its algorithm, in DER (`SubjectPublicKeyInfo`).
pub(super) fn pin(public_key_info: &[u8]) -> [u8; 32] {
    let mut pin = [0; 32];
    pin.copy_from_slice(digest(&SHA256, public_key_info).as_ref());
    pin
}

fn names(certificate: &X509Certificate<'_>) -> Vec<Name> {
    let alternatives = certificate.extensions().iter().filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    alternatives.flatten().filter_map(name).collect()
}

pub(super) fn name(name: &GeneralName<'_>) -> Option<Name> {
    match name {
        GeneralName::DNSName(name) => Some(Name::Dns((*name).to_owned())),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(|b| IpAddr::V4(Ipv4Addr::from(b)));
            v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(|b| IpAddr::V6(Ipv6Addr::from(b)))).ok().map(Name::Address)
        }
        _ => None,
    }
}

/// Converts seconds since 1970 to a time; clamps earlier times to 1970.
fn at(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap_or(0))
}
