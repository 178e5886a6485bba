//! Certificate requests, which the cluster signs.

use super::{
    Key, PkiError,
    catalog::Leaf,
    inspect::{name, pin},
    names::Name,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{CertificateParams, DistinguishedName, DnType};
use rustls_pki_types::{CertificateSigningRequestDer, pem::PemObject};
use x509_parser::{
    certification_request::X509CertificationRequest, cri_attributes::ParsedCriAttribute, extensions::ParsedExtension,
    prelude::FromDer,
};

/// Creates a request (PKCS#10, RFC 2986) for a client certificate, in PEM.
///
/// # Errors
/// If signing fails.
pub fn client_request(leaf: &Leaf, key: &Key) -> Result<String, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(organization) = &leaf.organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params.distinguished_name.push(DnType::CommonName, &leaf.common_name);
    Ok(params.serialize_request(key)?.pem()?)
}

/// Maximum number of names: no kubelet requests more, and each takes memory while its request waits.
const MOST_NAMES: usize = 64;

/// Maximum size: a kubelet's request has some hundred bytes, but the API server stores much larger ones.
const MOST_BYTES: usize = 16 << 10;

/// Encodes PEM as Go's `pem.EncodeToMemory` and openssl do.
fn encoded(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", lines.join("\n"))
}

/// The content of a certificate request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The attributes of the subject, in order: their dotted object identifiers and their text.
    pub subject: Vec<(String, String)>,
    /// The alternative names.
    pub names: Vec<Name>,
    /// Alternative names that are neither DNS names nor addresses, and the first requested extension of another kind: one is enough
    /// to reject the request.
    pub others: Vec<String>,
    /// SHA-256 of the public key with its algorithm.
    pub pin: [u8; 32],
}

impl Requested {
    /// The object identifier of a subject's common name.
    pub const COMMON_NAME: &str = "2.5.4.3";
    /// The object identifier of a subject's organization.
    pub const ORGANIZATION: &str = "2.5.4.10";

    /// Reads `spec.request` of a CertificateSigningRequest: a PEM text in base64.
    ///
    /// # Errors
    /// [`PkiError::BadRequest`].
    pub fn from_base64(text: &str) -> Result<Self, PkiError> {
        if text.len() > MOST_BYTES {
            return Err(PkiError::BadRequest(format!("it has more than {} KiB", MOST_BYTES >> 10)));
        }
        let pem = BASE64_STANDARD.decode(text).map_err(|e| PkiError::BadRequest(e.to_string()))?;
        Self::from_pem(&pem)
    }

    /// Reads a PEM text with one request and nothing else. Does not verify the signature: the API server does that
    /// before it stores the request.
    ///
    /// The signer reads the text again, with Go's `pem.Decode`. PEM readers treat unusual texts differently, and the signer could sign
    /// another request than the one that is checked here. Therefore only the form that `pem.EncodeToMemory` writes is accepted.
    ///
    /// # Errors
    /// [`PkiError::BadRequest`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, PkiError> {
        let bad = |reason: String| PkiError::BadRequest(reason);
        let der = CertificateSigningRequestDer::from_pem_slice(pem).map_err(|e| bad(e.to_string()))?;
        if pem.trim_ascii_end() != encoded(&der).trim_ascii_end().as_bytes() {
            return Err(bad(
                "the PEM text must contain one request, in lines of 64 characters, and nothing else".into()
            ));
        }
        let (rest, request) = X509CertificationRequest::from_der(&der).map_err(|e| bad(e.to_string()))?;
        if !rest.is_empty() {
            return Err(bad("bytes follow the request".into()));
        }
        let info = &request.certification_request_info;
        let mut subject = Vec::new();
        for attribute in info.subject.iter_attributes() {
            let text = attribute.as_str().map_err(|e| bad(e.to_string()))?;
            subject.push((attribute.attr_type().to_id_string(), text.to_owned()));
        }
        let (mut names, mut others) = (Vec::new(), Vec::new());
        'attributes: for attribute in info.iter_attributes() {
            let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute() else { continue };
            for extension in &requested.extensions {
                let ParsedExtension::SubjectAlternativeName(alternatives) = extension.parsed_extension() else {
                    others.push(format!("extension {}", extension.oid.to_id_string()));
                    break 'attributes;
                };
                if alternatives.general_names.len() > MOST_NAMES {
                    return Err(bad(format!("it requests more than {MOST_NAMES} names")));
                }
                for general in &alternatives.general_names {
                    match name(general) {
                        Some(name) => names.push(name),
                        None => others.push(general.to_string()),
                    }
                }
            }
        }
        Ok(Self { subject, names, others, pin: pin(info.subject_pki.raw) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::{catalog::node_client, testing::openssl};

    #[test]
    fn openssl_reads_a_request() {
        let pem = client_request(&node_client("w1"), &Key::generate().unwrap()).unwrap();
        let text = openssl(&["req", "-verify", "-noout", "-subject"], pem.as_bytes());
        assert!(text.contains("O = system:nodes, CN = system:node:w1"), "{text}");
    }

    #[test]
    fn a_request_is_read_back() {
        let key = Key::generate().unwrap();
        let requested = Requested::from_pem(client_request(&node_client("w1"), &key).unwrap().as_bytes()).unwrap();
        assert_eq!(
            requested,
            Requested {
                subject: vec![
                    (Requested::ORGANIZATION.into(), "system:nodes".into()),
                    (Requested::COMMON_NAME.into(), "system:node:w1".into()),
                ],
                names: Vec::new(),
                others: Vec::new(),
                pin: key.pin(),
            }
        );
        assert!(Requested::from_pem(b"").is_err());
        let certificate = "-----BEGIN CERTIFICATE REQUEST-----\nMAMCAQA=\n-----END CERTIFICATE REQUEST-----\n";
        assert!(matches!(Requested::from_pem(certificate.as_bytes()), Err(PkiError::BadRequest(_))));
    }

    #[test]
    fn a_text_that_other_readers_may_read_differently_is_refused() {
        let pem = |name: &str| client_request(&node_client(name), &Key::generate().unwrap()).unwrap();
        let (good, other) = (pem("w1"), pem("m1"));
        let read = |text: &str| Requested::from_pem(text.as_bytes());
        assert!(read(&good).is_ok() && read(good.trim_end()).is_ok());
        // Go's reader skips a block whose last line continues, and reads the next one.
        let skipped = format!("{}x\n{other}", good.trim_end());
        let end = "-----END CERTIFICATE REQUEST-----";
        let forms = [
            skipped,
            format!("{good}{other}"),
            format!("\n{good}"),
            format!("text\n{good}"),
            format!("{good}text"),
            good.replace('\n', "\r\n"),
            good.replacen('\n', "\nHeader: x\n\n", 1),
            good.replacen('\n', "\n\n", 1),
            good.replacen('\n', " \n", 1),
            good.replace(end, &format!("{end} ")) + &other,
            good.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"),
        ];
        for form in forms {
            assert!(read(&form).is_err(), "{form:?}");
        }
    }

    #[test]
    fn a_request_for_too_many_names_is_refused() {
        let asked = |count: usize| {
            let names: Vec<String> = (0..count).map(|number| format!("DNS:w{number}")).collect();
            let names = format!("subjectAltName={}", names.join(","));
            let key =
                "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -new -subj /CN=w1 -addext";
            let arguments: Vec<&str> = key.split(' ').chain([names.as_str()]).collect();
            Requested::from_pem(openssl(&arguments, b"").as_bytes())
        };
        assert!(asked(MOST_NAMES).is_ok());
        assert!(asked(MOST_NAMES + 1).unwrap_err().to_string().contains("more than 64 names"));
    }

    #[test]
    fn a_request_that_is_too_large_is_not_decoded() {
        let refused = |text: &str| Requested::from_base64(text).unwrap_err().to_string();
        assert!(refused(&"A".repeat(MOST_BYTES + 4)).contains("more than 16 KiB"));
        assert!(!refused(&"A".repeat(MOST_BYTES)).contains("KiB"));
        let pem = client_request(&node_client("w1"), &Key::generate().unwrap()).unwrap();
        assert!(Requested::from_base64(&BASE64_STANDARD.encode(pem)).is_ok());
    }

    #[test]
    fn only_the_first_foreign_extension_is_read() {
        let key = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -new -subj /CN=w1";
        let extensions: Vec<String> = (1..50).map(|number| format!("1.2.3.{number}=ASN1:NULL")).collect();
        let extensions = extensions.iter().flat_map(|extension| ["-addext", extension]);
        let arguments: Vec<&str> = key.split(' ').chain(extensions).collect();
        let requested = Requested::from_pem(openssl(&arguments, b"").as_bytes()).unwrap();
        assert_eq!(requested.others, ["extension 1.2.3.1"]);
    }

    #[test]
    fn everything_that_openssl_can_request_is_read() {
        let names =
            "subjectAltName=DNS:w1,IP:10.0.0.21,IP:::ffff:10.0.0.11,email:a@b,URI:http://x,otherName:1.2.3;UTF8:y";
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -new -subj /O=system:nodes/OU=x/CN=system:node:w1";
        let mut arguments: Vec<&str> = std::iter::once("req").chain(key.split(' ')).collect();
        arguments.extend(["-addext", names, "-addext", "basicConstraints=CA:TRUE"]);
        let requested = Requested::from_pem(openssl(&arguments, b"").as_bytes()).unwrap();
        let subject: Vec<&str> = requested.subject.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(subject, ["system:nodes", "x", "system:node:w1"]);
        assert_eq!(requested.names, ["w1", "10.0.0.21", "::ffff:10.0.0.11"].map(Name::of));
        assert_eq!(requested.others.len(), 4, "{:?}", requested.others);
    }
}
