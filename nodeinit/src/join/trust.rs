//! The trust of a worker in the cluster's API.

use super::error::JoinError;
use crate::{
    api::{connection::HTTP2, kube::roots},
    pki::Certificate,
};
use nodeinit_base::hex;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::sync::{Arc, Mutex, PoisonError};

/// The cluster's CA, or its pin.
#[derive(Clone, Debug)]
pub struct Trust {
    pub(super) ca: Option<String>,
    pins: Vec<[u8; 32]>,
}

impl Trust {
    /// Accepts the configured CA (PEM) if its pin is among `pins`, or if there are no pins. Without a CA, the worker requests it from
    /// the API when it joins, and it must match one of the pins.
    ///
    /// # Errors
    /// [`JoinError::NoTrust`], [`JoinError::Ca`] or [`JoinError::Pin`].
    pub fn new(ca: Option<String>, pins: Vec<[u8; 32]>) -> Result<Self, JoinError> {
        let trust = Self { ca, pins };
        match &trust.ca {
            None if trust.pins.is_empty() => return Err(JoinError::NoTrust),
            None => {}
            Some(pem) => trust.fits(pem)?,
        }
        Ok(trust)
    }

    /// Refuses a CA that does not match a pin. Each of several certificates becomes a root, so each must match.
    pub(super) fn fits(&self, pem: &str) -> Result<(), JoinError> {
        let all = Certificate::all_from_pem(pem.as_bytes()).map_err(JoinError::Ca)?;
        match all.iter().find(|ca| !self.pins.is_empty() && !self.pins.contains(&ca.pin)) {
            None => Ok(()),
            Some(other) => {
                let wanted = self.pins.iter().map(shown).collect::<Vec<_>>().join(", ");
                Err(JoinError::Pin { found: shown(&other.pin), wanted })
            }
        }
    }
}

fn shown(pin: &[u8; 32]) -> String {
    format!("sha256:{}", hex(pin))
}

/// The issuer of the last server's certificate.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<String>);

impl Seen {
    pub(super) fn issuer(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the TLS configuration for the API: verifies against `ca`, or not at all for the request of the CA.
pub(super) fn tls(ca: Option<&str>, seen: Arc<Seen>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let inner = match ca {
        Some(pem) => {
            let roots = Arc::new(roots(pem.as_bytes())?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
            Some(verifier.map_err(|e| e.to_string())?)
        }
        None => None,
    };
    let verifier = Verifier { inner, algorithms: provider.signature_verification_algorithms, seen };
    config(provider, verifier).map_err(|e| e.to_string())
}

fn config(provider: Arc<CryptoProvider>, verifier: Verifier) -> Result<ClientConfig, rustls::Error> {
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    tls.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(tls)
}

/// rustls' verifier, which also records the issuer of the presented certificate. Without `inner`, it accepts every certificate: only for
/// the request of the CA, which is public and then compared with its pin.
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
    seen: Arc<Seen>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let issuer = Certificate::from_der(end_entity.to_vec()).map_or_else(|e| e.to_string(), |c| c.issuer);
        *self.seen.0.lock().unwrap_or_else(PoisonError::into_inner) = issuer;
        match &self.inner {
            Some(inner) => inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now),
            None => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::error::Exit,
        pki::{Key, authority::self_signed},
    };
    use std::time::SystemTime;

    #[test]
    fn every_ca_must_match_a_pin_if_there_are_pins() {
        let ca = || self_signed("kubernetes", &Key::generate().unwrap(), SystemTime::now()).unwrap();
        let pin = |pem: &str| Certificate::from_pem(pem.as_bytes()).unwrap().pin;
        let (ours, other) = (ca(), ca());
        assert!(Trust::new(Some(ours.clone()), vec![pin(&other), pin(&ours)]).is_ok());
        assert!(Trust::new(Some(ours.clone()), Vec::new()).is_ok());
        assert!(Trust::new(None, vec![pin(&ours)]).is_ok());
        let error = Trust::new(Some(ours.clone()), vec![pin(&other)]).unwrap_err();
        assert!(error.to_string().contains(&shown(&pin(&ours))), "{error}");
        assert_eq!(error.exit(), Exit::BadConfig);
        assert!(Trust::new(Some(ours.clone() + &other), vec![pin(&ours)]).is_err(), "the second one is not pinned");
        assert!(matches!(Trust::new(None, Vec::new()), Err(JoinError::NoTrust)));
        assert!(matches!(Trust::new(Some("nonsense".into()), Vec::new()), Err(JoinError::Ca(_))));
    }
}
