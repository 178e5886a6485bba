//! Generates the secrets bundle, and accepts one only if its keys and certificates can be used.

use super::{
    Certificate, Key, PkiError,
    authority::self_signed,
    catalog::Ca,
    fault::{self, Fault},
    random, ssh_key,
};
use nodeinit_config::Secret;
pub use nodeinit_protocol::{
    Bundle,
    bundle::{Authorities, Encryption, JUMP_HOST, Pair},
    paths::{SECRETS, SENT_SECRETS},
};
use std::{collections::BTreeMap, time::SystemTime};

/// Why a bundle cannot be used. No message contains its content.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It does not have the expected form.
    #[error(transparent)]
    Form(#[from] nodeinit_protocol::BundleError),
    /// One of its values is not valid.
    #[error("{key}: {source}")]
    Value {
        /// The value's path.
        key: &'static str,
        /// What is wrong with it.
        source: PkiError,
    },
    /// A CA that cannot be used.
    #[error("{key}: the certificate {fault}")]
    Authority {
        /// The value's path.
        key: &'static str,
        /// Why.
        fault: Fault,
    },
}

/// Generates secrets, with CAs that are valid from `now`.
///
/// # Errors
/// If the system provides no random bytes.
pub fn generate(now: SystemTime) -> Result<Bundle, PkiError> {
    let pair = |ca: Ca| -> Result<Pair, PkiError> {
        let key = Key::generate()?;
        Ok(Pair { certificate: self_signed(ca.common_name(), &key, now)?, key: key.pem() })
    };
    Ok(Bundle {
        authorities: Authorities {
            kubernetes: pair(Ca::Kubernetes)?,
            etcd: pair(Ca::Etcd)?,
            front_proxy: pair(Ca::FrontProxy)?,
        },
        service_account_key: Key::generate()?.pem(),
        encryption: Encryption::Key(Secret::new(random::bytes()?)),
        bootstrap_tokens: Vec::new(),
        worker_tokens: BTreeMap::new(),
        worker_token_key: Some(Secret::new(random::bytes()?)),
        ssh_key: Some(ssh_key::generate()?),
        host_keys: BTreeMap::new(),
    })
}

/// Reads a bundle. CAs must be valid `now`, and each key must match its certificate.
///
/// # Errors
/// [`BundleError`], which names the key and never the content.
pub fn parse(text: &str, now: SystemTime) -> Result<Bundle, BundleError> {
    let bundle = Bundle::parse(text)?;
    Key::from_pem(bundle.service_account_key.expose().as_bytes())
        .map_err(|source| BundleError::Value { key: "serviceAccountKey", source })?;
    let all = &bundle.authorities;
    accept("certificateAuthorities.kubernetes", &all.kubernetes, now)?;
    accept("certificateAuthorities.etcd", &all.etcd, now)?;
    accept("certificateAuthorities.frontProxy", &all.front_proxy, now)?;
    Ok(bundle)
}

fn accept(path: &'static str, pair: &Pair, now: SystemTime) -> Result<(), BundleError> {
    let wrong = |source| BundleError::Value { key: path, source };
    let certificate = Certificate::from_pem(pair.certificate.as_bytes()).map_err(wrong)?;
    let key = Key::from_pem(pair.key.expose().as_bytes()).map_err(wrong)?;
    match fault::of_ca(&certificate, Some(&key), now).into_iter().next() {
        Some(fault) => Err(BundleError::Authority { key: path, fault }),
        None => Ok(()),
    }
}

/// Returns a CA of the bundle.
#[must_use]
pub fn authority(bundle: &Bundle, ca: Ca) -> &Pair {
    match ca {
        Ca::Kubernetes => &bundle.authorities.kubernetes,
        Ca::Etcd => &bundle.authorities.etcd,
        Ca::FrontProxy => &bundle.authorities.front_proxy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodeinit_config::format::HOST_KEY;

    #[test]
    fn a_bundle_survives_a_round_trip() {
        let now = SystemTime::now();
        let mut bundle = generate(now).unwrap();
        bundle.bootstrap_tokens.push(Secret::new("123456.0123456789012345".into()));
        bundle.host_keys.insert("1".into(), vec![HOST_KEY.example.into(), "ecdsa-sha2-nistp256 AAAAE2Vj".into()]);
        bundle.host_keys.insert(JUMP_HOST.into(), vec![HOST_KEY.example.into()]);
        bundle.worker_tokens.insert("7.example".into(), Secret::new("123456.0123456789012345".into()));
        let again = parse(bundle.text().expose(), now).unwrap();
        for ca in Ca::ALL {
            assert_eq!(authority(&bundle, ca).certificate, authority(&again, ca).certificate);
            assert_eq!(authority(&bundle, ca).key, authority(&again, ca).key);
        }
        assert_eq!(bundle.service_account_key, again.service_account_key);
        assert_eq!(bundle.encryption, again.encryption);
        assert_eq!(bundle.bootstrap_tokens, again.bootstrap_tokens);
        assert_eq!(bundle.worker_tokens, again.worker_tokens);
        assert_eq!(bundle.worker_token_key, again.worker_token_key);
        assert_eq!(bundle.ssh_key, again.ssh_key);
        assert_eq!(bundle.host_keys, again.host_keys);
        assert_eq!(bundle.text(), again.text());
        let shown = format!("{bundle:?}");
        assert!(!shown.contains("PRIVATE") && !shown.contains(bundle.bootstrap_tokens[0].expose()), "{shown}");
    }

    #[test]
    fn host_keys_are_kept_without_their_comments() {
        let now = SystemTime::now();
        let text = generate(now).unwrap().text().expose().clone();
        assert!(parse(&text, now).unwrap().host_keys.is_empty());
        let text = format!("{text}hostKeys:\n  m2:\n  - {}  root@m2\n  m3: []\n", HOST_KEY.example);
        let keys = parse(&text, now).unwrap().host_keys;
        assert_eq!(keys["m2"], [HOST_KEY.example]);
        assert!(keys["m3"].is_empty());
    }

    #[test]
    fn errors_name_the_key_and_never_the_content() {
        let now = SystemTime::now();
        let mut bundle = generate(now).unwrap();
        bundle.bootstrap_tokens.push(Secret::new("abcdef.0123456789abcdef".into()));
        let other = generate(now).unwrap();
        let text = bundle.text().expose().clone();
        let error = |text: &str| parse(text, now).unwrap_err().to_string();
        let indented =
            |pair: &Pair| pair.key.expose().lines().fold(String::new(), |text, line| text + "      " + line + "\n");
        let key = text.lines().find(|line| line.starts_with("encryptionKey")).unwrap();
        for (bad, said) in [
            (text.replace("kind: Secrets", "kind: Cluster"), "apiVersion and kind"),
            (text.replace("serviceAccountKey:", "serviceAccountKeys:"), "serviceAccountKey is missing"),
            (text.replace("  frontProxy:", "  front: {}\n  frontProxy:"), "certificateAuthorities.front is not a key"),
            (text.replace(key, "encryptionKey: [TOPSECRET]"), "encryptionKey is missing, or does not have"),
            ("TOPSECRET".to_owned(), "everything is missing"),
            (text.replace(key, "encryptionKey: TOPSECRET"), "encryptionKey: not 32 bytes"),
            (text.replace(key, "encryptionConfiguration: TOPSECRET!"), "encryptionConfiguration: not base64"),
            (text.clone() + "encryptionConfiguration: \"\"\n", "encryptionKey is not a key"),
            (text.replace("workerTokenKey: ", "workerTokenKey: TOPSECRET"), "workerTokenKey: not 32 bytes"),
            (text.clone() + "kind: Secrets\n", "line "),
            (text.replace("- \"", "- \"x"), "bootstrapTokens[0]"),
            (text.clone() + "hostKeys: {m2: [TOPSECRET]}\n", "hostKeys.m2: not a list of SSH host keys"),
            (text.clone() + "hostKeys: {m2: TOPSECRET}\n", "hostKeys.m2: not a list"),
            (text.clone() + "hostKeys: [TOPSECRET]\n", "hostKeys is missing, or does not have"),
            (text.clone() + "workerTokens: {w1: TOPSECRET}\n", "workerTokens.w1: not of the form"),
            (text.clone() + "workerTokens: {w1: [TOPSECRET]}\n", "workerTokens.w1 is missing, or does not have"),
            (text.replace("BEGIN CERTIFICATE", "BEGIN X"), "certificateAuthorities.kubernetes: it contains no cert"),
            (
                text.replace(&indented(&bundle.authorities.etcd), &indented(&other.authorities.etcd)),
                "certificateAuthorities.etcd: the certificate",
            ),
        ] {
            let error = error(&bad);
            assert!(error.starts_with(said), "{error}");
            assert!(!error.contains("TOPSECRET"), "{error}");
        }
        let later = now + crate::pki::authority::CA_VALIDITY * 2;
        assert!(parse(&text, later).unwrap_err().to_string().contains("expired"));
    }
}
