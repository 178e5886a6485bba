//! The secrets bundle: all that a cluster's machines must share and nobody else may know.
//!
//! Made on the operator's side, or not at all: then the first master makes its own.

use super::{
    Certificate, Key, PkiError,
    authority::self_signed,
    catalog::Ca,
    fault::{self, Fault},
    random,
    ssh_key::SshKey,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::Secret;
use serde::Deserialize;
use std::{fmt::Write, time::SystemTime};

/// Where a machine expects its bundle.
pub const SECRETS: &str = "/etc/nodeinit/secrets.yaml";
const API_VERSION: &str = "nodeinit.dev/v1alpha1";
const KIND: &str = "Secrets";

/// A CA's certificate and key, in PEM as they were given.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: Secret<String>,
}

/// The secrets of one cluster.
#[derive(Clone, Debug)]
pub struct Bundle {
    kubernetes: Pair,
    etcd: Pair,
    front_proxy: Pair,
    /// Signs the tokens of service accounts; in PEM.
    pub service_account_key: Secret<String>,
    /// Encrypts Secrets in etcd.
    pub encryption_key: Secret<[u8; 32]>,
    /// With these workers join.
    pub bootstrap_tokens: Vec<Secret<String>>,
    /// With this the first master reaches the others.
    pub ssh_key: Option<SshKey>,
}

/// A bundle that cannot be used. No message holds any of its content.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not YAML, or not of the expected form.
    #[error("line {line}, column {column}: not a secrets bundle, or a key is missing, unknown or written twice")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It is of another kind or version.
    #[error("apiVersion and kind must be {API_VERSION} and {KIND}")]
    Kind,
    /// One of its values.
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
    /// The encryption key.
    #[error("encryptionKey: not 32 bytes in base64")]
    EncryptionKey,
    /// A token.
    #[error("bootstrapTokens[{0}]: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    Token(usize),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Raw {
    api_version: String,
    kind: String,
    certificate_authorities: RawAuthorities,
    service_account_key: String,
    encryption_key: String,
    #[serde(default)]
    bootstrap_tokens: Vec<String>,
    ssh_key: Option<RawSshKey>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawAuthorities {
    kubernetes: RawPair,
    etcd: RawPair,
    front_proxy: RawPair,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPair {
    certificate: String,
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSshKey {
    private: String,
    public: String,
}

impl Bundle {
    /// Fresh secrets, CAs valid from `now`.
    ///
    /// # Errors
    /// Where the system gives no random bytes.
    pub fn generate(now: SystemTime) -> Result<Self, PkiError> {
        let pair = |ca: Ca| -> Result<Pair, PkiError> {
            let key = Key::generate()?;
            Ok(Pair { certificate: self_signed(ca.common_name(), &key, now)?, key: key.pem() })
        };
        Ok(Self {
            kubernetes: pair(Ca::Kubernetes)?,
            etcd: pair(Ca::Etcd)?,
            front_proxy: pair(Ca::FrontProxy)?,
            service_account_key: Key::generate()?.pem(),
            encryption_key: Secret::new(random::bytes()?),
            bootstrap_tokens: vec![Secret::new(random::bootstrap_token()?)],
            ssh_key: Some(SshKey::generate()?),
        })
    }

    /// Reads a bundle. CAs must be valid `now`, and each key fit its certificate.
    ///
    /// # Errors
    /// [`BundleError`], with the place and never the content.
    pub fn parse(text: &str, now: SystemTime) -> Result<Self, BundleError> {
        let options = serde_saphyr::options! { with_snippet: false };
        let raw: Raw = serde_saphyr::from_str_with_options(text, options).map_err(|e| {
            // serde's own messages may quote the value that stands there.
            let (line, column) = e.location().map_or((1, 1), |at| (at.line() as usize, at.column() as usize));
            BundleError::Form { line, column }
        })?;
        if raw.api_version != API_VERSION || raw.kind != KIND {
            return Err(BundleError::Kind);
        }
        let key = raw.service_account_key;
        Key::from_pem(key.as_bytes()).map_err(|source| BundleError::Value { key: "serviceAccountKey", source })?;
        let encryption_key = STANDARD.decode(raw.encryption_key.trim()).ok().and_then(|key| key.try_into().ok());
        if let Some(wrong) = raw.bootstrap_tokens.iter().position(|token| !random::is_bootstrap_token(token)) {
            return Err(BundleError::Token(wrong));
        }
        Ok(Self {
            kubernetes: pair("certificateAuthorities.kubernetes", raw.certificate_authorities.kubernetes, now)?,
            etcd: pair("certificateAuthorities.etcd", raw.certificate_authorities.etcd, now)?,
            front_proxy: pair("certificateAuthorities.frontProxy", raw.certificate_authorities.front_proxy, now)?,
            service_account_key: Secret::new(key),
            encryption_key: Secret::new(encryption_key.ok_or(BundleError::EncryptionKey)?),
            bootstrap_tokens: raw.bootstrap_tokens.into_iter().map(Secret::new).collect(),
            ssh_key: raw.ssh_key.map(|key| SshKey { private: Secret::new(key.private), public: key.public }),
        })
    }

    /// A CA of the bundle.
    #[must_use]
    pub fn authority(&self, ca: Ca) -> &Pair {
        match ca {
            Ca::Kubernetes => &self.kubernetes,
            Ca::Etcd => &self.etcd,
            Ca::FrontProxy => &self.front_proxy,
        }
    }

    /// The bundle as YAML.
    #[must_use]
    pub fn text(&self) -> Secret<String> {
        let mut text = format!(
            "# The secrets of one cluster, made by `nodeinit secrets generate`. Whoever reads this file owns the cluster.\n\
             apiVersion: {API_VERSION}\nkind: {KIND}\ncertificateAuthorities:\n"
        );
        for (name, pair) in [("kubernetes", &self.kubernetes), ("etcd", &self.etcd), ("frontProxy", &self.front_proxy)]
        {
            let (certificate, key) = (block(&pair.certificate, 6), block(pair.key.expose(), 6));
            let _ = write!(text, "  {name}:\n    certificate: {certificate}    key: {key}");
        }
        let _ = write!(text, "serviceAccountKey: {}", block(self.service_account_key.expose(), 2));
        let _ = writeln!(text, "encryptionKey: {}", STANDARD.encode(self.encryption_key.expose()));
        let _ = writeln!(text, "bootstrapTokens:");
        for token in &self.bootstrap_tokens {
            // Quoted: some tokens look like numbers.
            let _ = writeln!(text, "- \"{}\"", token.expose());
        }
        if let Some(key) = &self.ssh_key {
            let private = block(key.private.expose(), 4);
            let _ = write!(text, "sshKey:\n  private: {private}  public: {}\n", key.public);
        }
        Secret::new(text)
    }
}

fn pair(key: &'static str, raw: RawPair, now: SystemTime) -> Result<Pair, BundleError> {
    let wrong = |source| BundleError::Value { key, source };
    let certificate = Certificate::from_pem(raw.certificate.as_bytes()).map_err(wrong)?;
    let private = Key::from_pem(raw.key.as_bytes()).map_err(wrong)?;
    match fault::of_ca(&certificate, Some(&private), now).into_iter().next() {
        Some(fault) => Err(BundleError::Authority { key, fault }),
        None => Ok(Pair { certificate: raw.certificate, key: Secret::new(raw.key) }),
    }
}

/// A text of several lines as a YAML block, its lines indented by `indent`.
fn block(text: &str, indent: usize) -> String {
    text.lines().fold("|\n".to_owned(), |block, line| block + &" ".repeat(indent) + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_survives_its_own_text() {
        let now = SystemTime::now();
        let bundle = Bundle::generate(now).unwrap();
        let again = Bundle::parse(bundle.text().expose(), now).unwrap();
        for ca in Ca::ALL {
            assert_eq!(bundle.authority(ca).certificate, again.authority(ca).certificate);
            assert_eq!(bundle.authority(ca).key, again.authority(ca).key);
        }
        assert_eq!(bundle.service_account_key, again.service_account_key);
        assert_eq!(bundle.encryption_key, again.encryption_key);
        assert_eq!(bundle.bootstrap_tokens, again.bootstrap_tokens);
        assert_eq!(bundle.ssh_key, again.ssh_key);
        assert_eq!(bundle.text(), again.text());
        let shown = format!("{bundle:?}");
        assert!(!shown.contains("PRIVATE") && !shown.contains(bundle.bootstrap_tokens[0].expose()), "{shown}");
    }

    #[test]
    fn errors_name_the_place_and_never_the_content() {
        let now = SystemTime::now();
        let bundle = Bundle::generate(now).unwrap();
        let other = Bundle::generate(now).unwrap();
        let text = bundle.text().expose().clone();
        let error = |text: &str| Bundle::parse(text, now).unwrap_err().to_string();
        let indented = |pair: &Pair| block(pair.key.expose(), 6);
        let key = text.lines().find(|line| line.starts_with("encryptionKey")).unwrap();
        for (bad, said) in [
            (text.replace("kind: Secrets", "kind: Cluster"), "apiVersion and kind"),
            (text.replace("serviceAccountKey:", "serviceAccountKeys:"), "line "),
            (text.replace(key, "encryptionKey: [TOPSECRET]"), "line "),
            (text.replace(key, "encryptionKey: TOPSECRET"), "encryptionKey: not 32 bytes"),
            (text.clone() + "kind: Secrets\n", "line "),
            (text.replace("- \"", "- \"x"), "bootstrapTokens[0]"),
            (text.replace("BEGIN CERTIFICATE", "BEGIN X"), "certificateAuthorities.kubernetes: it holds no cert"),
            (
                text.replace(&indented(&bundle.etcd), &indented(&other.etcd)),
                "certificateAuthorities.etcd: the certificate",
            ),
        ] {
            let error = error(&bad);
            assert!(error.starts_with(said), "{error}");
            assert!(!error.contains("TOPSECRET"), "{error}");
        }
        let later = now + super::super::authority::CA_VALIDITY * 2;
        assert!(Bundle::parse(&text, later).unwrap_err().to_string().contains("expired"));
    }
}
