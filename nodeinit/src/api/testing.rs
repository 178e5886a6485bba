//! TLS for the tests' servers on loopback.

use crate::pki::{Authority, Certificate, Key, authority::self_signed, catalog::Leaf, names::Name};
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::{sync::Arc, time::SystemTime};

/// A CA that began at `signed`.
pub(super) fn authority(signed: SystemTime) -> Authority {
    let key = Key::generate().unwrap();
    let certificate = self_signed("etcd-ca", &key, signed).unwrap();
    Authority::new(Certificate::from_pem(certificate.as_bytes()).unwrap(), key).unwrap()
}

/// A server at 127.0.0.1 whose certificate this CA signed at `signed`.
pub(super) fn server_tls(ca: &Authority, signed: SystemTime) -> ServerConfig {
    let key = Key::generate().unwrap();
    let leaf = Leaf { names: vec![Name::of("127.0.0.1")], server: true, ..Leaf::client("m1", None) };
    let certificate = ca.issue(&leaf, &key, signed).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.pem().expose().as_bytes()).unwrap();
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

/// A client that trusts this CA.
pub(super) fn client_tls(ca: &Authority) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(ca.certificate.der.clone().into()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}
