//! Requests for certificates that somebody else signs.

use super::{Key, PkiError, catalog::Leaf};
use rcgen::{CertificateParams, DistinguishedName, DnType};

/// A request (PKCS#10, RFC 2986) for a client's certificate, in PEM.
///
/// # Errors
/// Where signing it fails.
pub fn client_request(leaf: &Leaf, key: &Key) -> Result<String, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(organization) = &leaf.organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params.distinguished_name.push(DnType::CommonName, &leaf.common_name);
    Ok(params.serialize_request(key)?.pem()?)
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
}
