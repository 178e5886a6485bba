//! Certificate authorities, which issue certificates.

use super::{Certificate, Key, PkiError, catalog::Leaf, names::Name, random};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, SanType, SerialNumber,
};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;

/// Certificates are valid from this long before they are created, so that a machine whose clock is behind accepts them, too.
pub const BACKDATE: Duration = Duration::from_secs(5 * 60);
/// How long a CA is valid. Source: kubeadm, `CACertificateValidityPeriod`.
pub const CA_VALIDITY: Duration = Duration::from_secs(3650 * 24 * 3600);
/// How long other certificates are valid. Source: kubeadm, `CertificateValidityPeriod`.
pub const LEAF_VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);

/// A CA's certificate with its key.
#[derive(Debug)]
pub struct Authority {
    /// Its certificate.
    pub certificate: Certificate,
    issuer: Issuer<'static, Key>,
}

impl Authority {
    /// Creates a CA from a certificate and its key. The caller has verified that they match.
    ///
    /// # Errors
    /// If its subject cannot be used as an issuer.
    pub fn new(certificate: Certificate, key: Key) -> Result<Self, PkiError> {
        let issuer = Issuer::from_ca_cert_der(&certificate.der.as_slice().into(), key)?;
        Ok(Self { certificate, issuer })
    }

    /// Issues a certificate for a key; it expires no later than the CA. Returns PEM.
    ///
    /// # Errors
    /// [`PkiError::BadName`], or if signing fails.
    pub fn issue(&self, leaf: &Leaf, key: &Key, now: SystemTime) -> Result<String, PkiError> {
        let until = (now + LEAF_VALIDITY).min(self.certificate.not_after);
        let mut params = params(&leaf.common_name, leaf.organization.as_deref(), now, until)?;
        // Go writes the basic constraints of a leaf as well.
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.subject_alt_names = leaf.names.iter().map(alternative).collect::<Result<_, _>>()?;
        let usages =
            [(leaf.server, ExtendedKeyUsagePurpose::ServerAuth), (leaf.client, ExtendedKeyUsagePurpose::ClientAuth)];
        params.extended_key_usages = usages.into_iter().filter_map(|(wanted, usage)| wanted.then_some(usage)).collect();
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }
}

/// Returns the self-signed certificate of a CA, in PEM.
///
/// # Errors
/// [`PkiError::BadName`], or if signing fails.
pub fn self_signed(common_name: &str, key: &Key, now: SystemTime) -> Result<String, PkiError> {
    let mut params = params(common_name, None, now, now + CA_VALIDITY)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages.push(KeyUsagePurpose::KeyCertSign);
    params.subject_alt_names = vec![alternative(&Name::Dns(common_name.to_owned()))?];
    Ok(params.self_signed(key)?.pem())
}

fn params(
    common_name: &str,
    organization: Option<&str>,
    now: SystemTime,
    until: SystemTime,
) -> Result<CertificateParams, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = whole_seconds(now - BACKDATE);
    params.not_after = whole_seconds(until);
    params.serial_number = Some(serial()?);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    Ok(params)
}

/// Returns a positive number of 126 random bits; a fixed bit keeps its length.
fn serial() -> Result<SerialNumber, PkiError> {
    let mut bytes = random::bytes::<16>()?;
    bytes[0] = bytes[0] & 0x3f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

fn whole_seconds(time: SystemTime) -> OffsetDateTime {
    let time = OffsetDateTime::from(time);
    time - Duration::from_nanos(time.nanosecond().into())
}

fn alternative(name: &Name) -> Result<SanType, PkiError> {
    Ok(match name {
        Name::Address(address) => SanType::IpAddress(*address),
        Name::Dns(name) => SanType::DnsName(name.as_str().try_into().map_err(|_| PkiError::BadName(name.clone()))?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pki::{
            catalog::{self, Ca},
            fault,
            testing::openssl,
        },
        render::testing::Fixture,
    };
    use proptest::prelude::*;

    fn authority(ca: Ca, now: SystemTime) -> (Authority, String) {
        let key = Key::generate().unwrap();
        let pem = self_signed(ca.common_name(), &key, now).unwrap();
        (Authority::new(Certificate::from_pem(pem.as_bytes()).unwrap(), key).unwrap(), pem)
    }

    #[test]
    fn openssl_verifies_every_certificate_and_sees_kubeadms_usages() {
        let now = SystemTime::now();
        let fixture = Fixture::new();
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        for ca in Ca::ALL {
            let (authority, ca_pem) = authority(ca, now);
            #[allow(clippy::disallowed_methods, reason = "openssl reads the CA from a file")]
            std::fs::write(file("ca.crt"), &ca_pem).unwrap();
            let text = openssl(&["x509", "-noout", "-text"], ca_pem.as_bytes());
            for wanted in [
                "CA:TRUE",
                "Digital Signature, Key Encipherment, Certificate Sign",
                &format!("DNS:{}", ca.common_name()),
                "ASN1 OID: prime256v1",
            ] {
                assert!(text.contains(wanted), "{ca:?} lacks {wanted}: {text}");
            }
            for entry in catalog::entries(&fixture.cluster, &fixture.node).into_iter().filter(|e| e.ca == ca) {
                let key = Key::generate().unwrap();
                let pem = authority.issue(&entry.leaf, &key, now).unwrap();
                let verified = openssl(&["verify", "-x509_strict", "-CAfile", &file("ca.crt")], pem.as_bytes());
                assert!(verified.contains("OK"), "{}: {verified}", entry.base);
                let text = openssl(&["x509", "-noout", "-text"], pem.as_bytes());
                assert!(text.contains("CA:FALSE") && text.contains("Digital Signature, Key Encipherment\n"), "{text}");
                assert_eq!(text.contains("TLS Web Server Authentication"), entry.leaf.server, "{text}");
                assert_eq!(text.contains("TLS Web Client Authentication"), entry.leaf.client, "{text}");
                let read = Certificate::from_pem(pem.as_bytes()).unwrap();
                assert_eq!(fault::of_leaf(&read, &key, &entry.leaf, &authority.certificate, now), [], "{}", entry.base);
                assert_eq!(read.names, entry.leaf.names);
            }
        }
    }

    #[test]
    fn the_names_of_the_api_server_are_those_of_kubeadm() {
        let mut fixture = Fixture::new();
        fixture.cluster.control_plane.endpoint =
            Some(nodeinit_config::cluster::Endpoint { host: "api.example.org".into(), port: 6443 });
        fixture.cluster.control_plane.cert_sans = vec!["192.0.2.7".into(), "m1".into(), "*.example.net".into()];
        let (authority, _) = authority(Ca::Kubernetes, SystemTime::now());
        let leaf = catalog::entries(&fixture.cluster, &fixture.node).remove(0).leaf;
        let pem = authority.issue(&leaf, &Key::generate().unwrap(), SystemTime::now()).unwrap();
        let names = openssl(&["x509", "-noout", "-ext", "subjectAltName"], pem.as_bytes());
        assert_eq!(
            names.lines().nth(1).unwrap().trim(),
            "DNS:*.example.net, DNS:api.example.org, DNS:kubernetes, DNS:kubernetes.default, DNS:kubernetes.default.svc, \
             DNS:kubernetes.default.svc.cluster.local, DNS:m1, IP Address:10.77.0.11, IP Address:10.96.0.1, \
             IP Address:192.0.2.7"
        );
    }

    #[test]
    fn certificates_are_backdated_and_expire_with_their_ca() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_500);
        let (authority, _) = authority(Ca::Kubernetes, now);
        let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(seconds(authority.certificate.not_before), 1_800_000_000 - 300);
        assert_eq!(seconds(authority.certificate.not_after), 1_800_000_000 + CA_VALIDITY.as_secs());
        let issue = |now| {
            let pem = authority.issue(&Leaf::client("a", None), &Key::generate().unwrap(), now).unwrap();
            Certificate::from_pem(pem.as_bytes()).unwrap()
        };
        assert_eq!(seconds(issue(now).not_after), 1_800_000_000 + LEAF_VALIDITY.as_secs());
        let late = now + CA_VALIDITY - Duration::from_secs(3600);
        assert_eq!(issue(late).not_after, authority.certificate.not_after);
    }

    #[test]
    fn a_ca_of_kubeadm_signs_too() {
        // RSA, SHA-1 key identifier, PrintableString: what Go and OpenSSL write.
        let key = openssl(&["genrsa", "-traditional", "2048"], b"");
        let arguments = "req -x509 -new -key /dev/stdin -subj /CN=kubernetes -days 3650 -addext keyUsage=critical,keyCertSign,digitalSignature";
        let ca = openssl(&arguments.split(' ').collect::<Vec<_>>(), key.as_bytes());
        let certificate = Certificate::from_pem(ca.as_bytes()).unwrap();
        let authority = Authority::new(certificate, Key::from_pem(key.as_bytes()).unwrap()).unwrap();
        let pem = authority.issue(&Leaf::client("a", None), &Key::generate().unwrap(), SystemTime::now()).unwrap();
        assert!(Certificate::from_pem(pem.as_bytes()).unwrap().is_signed_by(&authority.certificate));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.crt");
        #[allow(clippy::disallowed_methods, reason = "openssl reads the CA from a file")]
        std::fs::write(&path, ca).unwrap();
        assert!(openssl(&["verify", "-x509_strict", "-CAfile", path.to_str().unwrap()], pem.as_bytes()).contains("OK"));
    }

    #[test]
    fn every_fault_is_found() {
        let now = SystemTime::now();
        let (authority, _) = authority(Ca::Kubernetes, now);
        let (other, _) = self::authority(Ca::Kubernetes, now);
        let key = Key::generate().unwrap();
        let pem = authority.issue(&Leaf::client("a", Some("g")), &key, now).unwrap();
        let certificate = Certificate::from_pem(pem.as_bytes()).unwrap();
        let said = |key: &Key, leaf: &Leaf, ca: &Authority, now| {
            let faults = fault::of_leaf(&certificate, key, leaf, &ca.certificate, now);
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        let same = Leaf::client("a", Some("g"));
        assert_eq!(said(&key, &same, &authority, now), "");
        assert!(said(&Key::generate().unwrap(), &same, &authority, now).contains("belongs to another certificate"));
        assert!(said(&key, &same, &other, now).contains("another CA of the same name"));
        assert!(said(&key, &same, &authority, now + LEAF_VALIDITY * 2).starts_with("expired at "));
        assert!(said(&key, &same, &authority, now - LEAF_VALIDITY).starts_with("valid only from "));
        assert_eq!(said(&key, &Leaf::client("a", Some("h")), &authority, now), "is for a of g and not for a of h");
        let server = Leaf { names: vec![Name::of("x"), Name::of("10.0.0.1")], server: true, ..same };
        assert_eq!(
            said(&key, &server, &authority, now),
            "is not valid for x, 10.0.0.1; lacks the extended key usage serverAuth"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn an_issued_certificate_is_read_back(
            common_name in "[ -~äöü]{1,40}",
            organization in proptest::option::of("[a-z:-]{1,30}"),
            dns in proptest::collection::vec("[a-z0-9.-]{1,40}", 0..4),
            addresses in proptest::collection::vec(any::<std::net::IpAddr>(), 0..4),
            server: bool,
        ) {
            let now = SystemTime::now();
            let (authority, _) = authority(Ca::Etcd, now);
            let names = dns.into_iter().map(Name::Dns).chain(
                // An IPv4 address in IPv6 form is read back as the IPv4 address.
                addresses.into_iter().map(|address| Name::Address(address.to_canonical())),
            );
            let names = names.collect();
            let leaf = Leaf { common_name, organization, names, server, client: true };
            let key = Key::generate().unwrap();
            let pem = authority.issue(&leaf, &key, now).unwrap();
            let read = Certificate::from_pem(pem.as_bytes()).unwrap();
            prop_assert_eq!(&read.common_name, &leaf.common_name);
            prop_assert_eq!(&read.names, &leaf.names);
            prop_assert_eq!(fault::of_leaf(&read, &key, &leaf, &authority.certificate, now), []);
        }

        #[test]
        fn invalid_bytes_are_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes);
            let pem = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
            prop_assert!(Certificate::from_pem(pem.as_bytes()).is_err());
            let pem = format!("-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n");
            prop_assert!(Key::from_pem(pem.as_bytes()).is_err());
            prop_assert!(Certificate::from_pem(&bytes).is_err() && Key::from_pem(&bytes).is_err());
        }
    }
}
