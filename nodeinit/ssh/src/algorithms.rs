//! What we offer a server: the algorithms, and how long a connection may be silent.

use russh::{Preferred, SshId, cipher, client::Config, compression, kex, keys::Algorithm, keys::EcdsaCurve, mac};
use std::{borrow::Cow, time::Duration};

/// A server that says nothing for this long is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// As often it is asked in vain.
const KEEPALIVES: usize = 3;

/// The first that a server knows, too, is taken: against recorders with a quantum computer first, FIPS-only hosts last.
const KEX: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::DH_G16_SHA512,
    kex::DH_G14_SHA256,
    // Without it, a man in the middle can drop the first messages (CVE-2023-48795).
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
];
/// AES-GCM first: processors have instructions for it.
const CIPHERS: &[cipher::Name] =
    &[cipher::AES_256_GCM, cipher::AES_128_GCM, cipher::CHACHA20_POLY1305, cipher::AES_256_CTR];
const MACS: &[mac::Name] = &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256];
/// Host keys that we can verify.
pub(super) const HOST_KEYS: [Algorithm; 4] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
];

/// How we speak to a server, of which keys of the types `known` are known: those are asked for first.
pub(super) fn config(known: &[&str]) -> Config {
    let mut keys = HOST_KEYS.to_vec();
    keys.sort_by_key(|algorithm| !known.contains(&algorithm.as_str()));
    Config {
        client_id: SshId::Standard(Cow::Borrowed(concat!("SSH-2.0-nodeinit_", env!("CARGO_PKG_VERSION")))),
        preferred: Preferred {
            kex: Cow::Borrowed(KEX),
            key: Cow::Owned(keys),
            host_key_certificates: Cow::Borrowed(&[]),
            cipher: Cow::Borrowed(CIPHERS),
            mac: Cow::Borrowed(MACS),
            compression: Cow::Borrowed(&[compression::NONE]),
        },
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: KEEPALIVES,
        // While we write, no keepalive is due; an answer to one ends this silence.
        inactivity_timeout: Some(KEEPALIVE * (KEEPALIVES as u32 + 1)),
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_known_keys_are_asked_for_first() {
        let order = |known: &[&str]| config(known).preferred.key.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(order(&[])[0], "ssh-ed25519");
        assert_eq!(order(&["ecdsa-sha2-nistp256"])[..2], ["ecdsa-sha2-nistp256", "ssh-ed25519"]);
        assert_eq!(order(&["ecdsa-sha2-nistp384", "ssh-ed25519"])[..2], ["ssh-ed25519", "ecdsa-sha2-nistp384"]);
    }
}
