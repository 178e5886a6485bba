//! TLS towards an API server.

use crate::api::connection::HTTP2;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::sync::Arc;

/// TLS towards an API server whose certificate `authority` has signed, as the client of a certificate and its key; all PEM.
///
/// # Errors
/// What is wrong with which.
pub fn client_tls(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<ClientConfig, String> {
    let chain =
        CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| e.to_string())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots(authority)?)
        .with_client_auth_cert(chain, key)
        .map_err(|e| e.to_string())?;
    tls.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(tls)
}

/// Whom to trust: every certificate of a PEM text.
///
/// # Errors
/// What is wrong with one.
pub fn roots(authority: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(authority) {
        roots.add(ca.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    }
    Ok(roots)
}
