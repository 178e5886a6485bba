//! The secrets bundle: all that a cluster's machines must share and nobody else may know.
//!
//! Made on the operator's side, or not at all: then the first master makes its own.

use super::{
    Certificate, Key, PkiError,
    authority::self_signed,
    catalog::Ca,
    fault::{self, Fault},
    part::Part,
    random,
    ssh_key::SshKey,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::{Secret, format::HOST_KEY, yaml};
use nodeinit_protocol::token::is_bootstrap_token;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write, time::SystemTime};

pub use nodeinit_protocol::paths::{SECRETS, SENT_SECRETS};
/// The name under which `hostKeys` holds the jump host's.
pub const JUMP_HOST: &str = "jump-host";
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

/// How Secrets are encrypted in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The only key, of which the first master makes the configuration.
    Key(Secret<[u8; 32]>),
    /// The EncryptionConfiguration of a cluster that runs, byte by byte: its keys may have been rotated.
    Configuration(Secret<String>),
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
    pub encryption: Encryption,
    /// Any machine may join with these.
    pub bootstrap_tokens: Vec<Secret<String>>,
    /// By worker: the tokens of self-joining workers.
    pub worker_tokens: BTreeMap<String, Secret<String>>,
    /// The provisioner derives workers' tokens from it. Machines do not need it.
    pub worker_token_key: Option<Secret<[u8; 32]>>,
    /// With this the first master reaches the others.
    pub ssh_key: Option<SshKey>,
    /// The SSH host keys of machines by their names, each `type base64`; of the jump host under [`JUMP_HOST`].
    pub host_keys: BTreeMap<String, Vec<String>>,
}

/// A bundle that cannot be used. No message holds any of its content.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not YAML, or has a key twice.
    #[error("line {line}, column {column}: not YAML, or a key is written twice")]
    Yaml {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A key that must be there.
    #[error("{0} is missing, or is not of the expected form")]
    Missing(String),
    /// A key that means nothing.
    #[error("{0} is no key of a secrets bundle")]
    Unknown(String),
    /// It is of another kind or version.
    #[error("apiVersion and kind must be {API_VERSION} and {wanted}")]
    OtherKind {
        /// The kind that it should be.
        wanted: &'static str,
    },
    /// The token of a worker.
    #[error("workerTokens.{0}: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    TokenOf(String),
    /// A worker was given the cluster's secrets.
    #[error("it is a master's, with the keys of the cluster's CAs, and this machine is a worker")]
    ForMasters,
    /// A worker's token.
    #[error("bootstrapToken: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    WorkerToken,
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
    /// The encryption configuration.
    #[error("encryptionConfiguration: not a text in base64")]
    EncryptionConfiguration,
    /// The key of workers' tokens.
    #[error("workerTokenKey: not 32 bytes in base64")]
    WorkerTokenKey,
    /// A token.
    #[error("bootstrapTokens[{0}]: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    Token(usize),
    /// A host key.
    #[error("hostKeys.{0}: not a list of SSH host keys, each `type base64` as in /etc/ssh/ssh_host_ed25519_key.pub")]
    HostKeys(String),
}

/// The CAs of one cluster.
#[derive(Clone, Debug)]
pub struct Authorities {
    /// Of the API server, the kubelets and their clients.
    pub kubernetes: Pair,
    /// Of etcd and its clients.
    pub etcd: Pair,
    /// Of the API server towards extension API servers.
    pub front_proxy: Pair,
}

impl Bundle {
    /// What a further master needs of a cluster that runs: no tokens, and no key to other machines.
    #[must_use]
    pub fn for_master(
        authorities: Authorities,
        service_account_key: Secret<String>,
        encryption: Secret<String>,
    ) -> Self {
        let Authorities { kubernetes, etcd, front_proxy } = authorities;
        Self {
            kubernetes,
            etcd,
            front_proxy,
            service_account_key,
            encryption: Encryption::Configuration(encryption),
            bootstrap_tokens: Vec::new(),
            worker_tokens: BTreeMap::new(),
            worker_token_key: None,
            ssh_key: None,
            host_keys: BTreeMap::new(),
        }
    }

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
            encryption: Encryption::Key(Secret::new(random::bytes()?)),
            bootstrap_tokens: Vec::new(),
            worker_tokens: BTreeMap::new(),
            worker_token_key: Some(Secret::new(random::bytes()?)),
            ssh_key: Some(SshKey::generate()?),
            host_keys: BTreeMap::new(),
        })
    }

    /// Reads a bundle. CAs must be valid `now`, and each key fit its certificate.
    ///
    /// # Errors
    /// [`BundleError`], with the place and never the content.
    pub fn parse(text: &str, now: SystemTime) -> Result<Self, BundleError> {
        // The reader's own words may quote what stands there.
        let read = yaml::document(text).map_err(|e| BundleError::Yaml { line: e.line, column: e.column })?;
        let mut all = Part::root(read)?;
        if all.text("apiVersion")? != API_VERSION || all.text("kind")? != KIND {
            return Err(BundleError::OtherKind { wanted: KIND });
        }
        let service_account_key = all.text("serviceAccountKey")?;
        Key::from_pem(service_account_key.as_bytes())
            .map_err(|source| BundleError::Value { key: "serviceAccountKey", source })?;
        let encryption = encryption(&mut all)?;
        let worker_token_key = match all.optional_text("workerTokenKey")? {
            Some(text) => Some(key_bytes(&text).ok_or(BundleError::WorkerTokenKey)?),
            None => None,
        };
        let mut bootstrap_tokens = Vec::new();
        for (n, token) in all.list("bootstrapTokens")?.into_iter().enumerate() {
            let token = token.as_str().filter(|token| is_bootstrap_token(token));
            bootstrap_tokens.push(Secret::new(token.ok_or(BundleError::Token(n))?.to_owned()));
        }
        let worker_tokens = match all.optional_part("workerTokens")? {
            Some(part) => part.texts()?.into_iter().map(worker_token).collect::<Result<_, _>>()?,
            None => BTreeMap::new(),
        };
        let ssh_key = all.optional_part("sshKey")?.map(ssh_key).transpose()?;
        let host_keys = all.optional_part("hostKeys")?.map(host_keys).transpose()?.unwrap_or_default();
        let mut authorities = all.part("certificateAuthorities")?;
        let bundle = Self {
            kubernetes: pair("certificateAuthorities.kubernetes", authorities.part("kubernetes")?, now)?,
            etcd: pair("certificateAuthorities.etcd", authorities.part("etcd")?, now)?,
            front_proxy: pair("certificateAuthorities.frontProxy", authorities.part("frontProxy")?, now)?,
            service_account_key: Secret::new(service_account_key),
            encryption,
            bootstrap_tokens,
            worker_tokens,
            worker_token_key,
            ssh_key,
            host_keys,
        };
        authorities.end()?;
        all.end()?;
        Ok(bundle)
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
            "# The secrets of one cluster, made by `nodeinit secrets generate`. Anyone who can read this file controls the cluster.\n\
             apiVersion: {API_VERSION}\nkind: {KIND}\ncertificateAuthorities:\n"
        );
        for (name, pair) in [("kubernetes", &self.kubernetes), ("etcd", &self.etcd), ("frontProxy", &self.front_proxy)]
        {
            let (certificate, key) = (block(&pair.certificate, 6), block(pair.key.expose(), 6));
            let _ = write!(text, "  {name}:\n    certificate: {certificate}    key: {key}");
        }
        let _ = write!(text, "serviceAccountKey: {}", block(self.service_account_key.expose(), 2));
        let _ = match &self.encryption {
            Encryption::Key(key) => writeln!(text, "encryptionKey: {}", STANDARD.encode(key.expose())),
            Encryption::Configuration(configuration) => {
                writeln!(text, "encryptionConfiguration: {}", STANDARD.encode(configuration.expose()))
            }
        };
        if let Some(key) = &self.worker_token_key {
            let _ = writeln!(text, "workerTokenKey: {}", STANDARD.encode(key.expose()));
        }
        let none = if self.bootstrap_tokens.is_empty() { " []" } else { "" };
        let _ = writeln!(text, "bootstrapTokens:{none}");
        for token in &self.bootstrap_tokens {
            // Quoted: some tokens look like numbers.
            let _ = writeln!(text, "- \"{}\"", token.expose());
        }
        if !self.worker_tokens.is_empty() {
            let _ = writeln!(text, "workerTokens:");
        }
        for (worker, token) in &self.worker_tokens {
            let _ = writeln!(text, "  {worker:?}: \"{}\"", token.expose());
        }
        if let Some(key) = &self.ssh_key {
            let private = block(key.private.expose(), 4);
            let _ = write!(text, "sshKey:\n  private: {private}  public: {}\n", key.public);
        }
        if !self.host_keys.is_empty() {
            let _ = writeln!(text, "hostKeys:");
        }
        for (machine, keys) in &self.host_keys {
            // Quoted: a machine may be called 1 or true.
            let _ = writeln!(text, "  \"{machine}\":");
            for key in keys {
                let _ = writeln!(text, "  - {key}");
            }
        }
        Secret::new(text)
    }
}

fn key_bytes(text: &str) -> Option<Secret<[u8; 32]>> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok().map(Secret::new)
}

/// `encryptionKey`, or `encryptionConfiguration` in its place.
fn encryption(all: &mut Part) -> Result<Encryption, BundleError> {
    if let Some(text) = all.optional_text("encryptionConfiguration")? {
        let configuration = STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let configuration = configuration.ok_or(BundleError::EncryptionConfiguration)?;
        return Ok(Encryption::Configuration(Secret::new(configuration)));
    }
    Ok(Encryption::Key(key_bytes(&all.text("encryptionKey")?).ok_or(BundleError::EncryptionKey)?))
}

fn worker_token((worker, token): (String, String)) -> Result<(String, Secret<String>), BundleError> {
    match is_bootstrap_token(&token) {
        true => Ok((worker, Secret::new(token))),
        false => Err(BundleError::TokenOf(worker)),
    }
}

fn ssh_key(mut part: Part) -> Result<SshKey, BundleError> {
    let (private, public) = (Secret::new(part.text("private")?), part.text("public")?);
    part.end().map(|()| SshKey { private, public })
}

fn host_keys(part: Part) -> Result<BTreeMap<String, Vec<String>>, BundleError> {
    let mut keys = BTreeMap::new();
    for (machine, lines) in part.rest() {
        let named = machine.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        let lines = lines.as_array().filter(|_| named).map(|lines| lines.iter().map(host_key).collect());
        match lines.flatten() {
            Some(lines) => keys.insert(machine, lines),
            None => return Err(BundleError::HostKeys(machine)),
        };
    }
    Ok(keys)
}

/// `type base64` of a line, without its comment.
fn host_key(line: &Value) -> Option<String> {
    let line = line.as_str().filter(|line| HOST_KEY.accepts(line))?;
    Some(line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

fn pair(path: &'static str, mut part: Part, now: SystemTime) -> Result<Pair, BundleError> {
    let (certificate, key) = (part.text("certificate")?, part.text("key")?);
    part.end()?;
    let wrong = |source| BundleError::Value { key: path, source };
    let read = Certificate::from_pem(certificate.as_bytes()).map_err(wrong)?;
    let private = Key::from_pem(key.as_bytes()).map_err(wrong)?;
    match fault::of_ca(&read, Some(&private), now).into_iter().next() {
        Some(fault) => Err(BundleError::Authority { key: path, fault }),
        None => Ok(Pair { certificate, key: Secret::new(key) }),
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
        let mut bundle = Bundle::generate(now).unwrap();
        bundle.bootstrap_tokens.push(Secret::new("123456.0123456789012345".into()));
        bundle.host_keys.insert("1".into(), vec![HOST_KEY.example.into(), "ecdsa-sha2-nistp256 AAAAE2Vj".into()]);
        bundle.host_keys.insert(JUMP_HOST.into(), vec![HOST_KEY.example.into()]);
        bundle.worker_tokens.insert("7.example".into(), Secret::new("123456.0123456789012345".into()));
        let again = Bundle::parse(bundle.text().expose(), now).unwrap();
        for ca in Ca::ALL {
            assert_eq!(bundle.authority(ca).certificate, again.authority(ca).certificate);
            assert_eq!(bundle.authority(ca).key, again.authority(ca).key);
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
        let text = Bundle::generate(now).unwrap().text().expose().clone();
        assert!(Bundle::parse(&text, now).unwrap().host_keys.is_empty());
        let text = format!("{text}hostKeys:\n  m2:\n  - {}  root@m2\n  m3: []\n", HOST_KEY.example);
        let keys = Bundle::parse(&text, now).unwrap().host_keys;
        assert_eq!(keys["m2"], [HOST_KEY.example]);
        assert!(keys["m3"].is_empty());
    }

    #[test]
    fn errors_name_the_place_and_never_the_content() {
        let now = SystemTime::now();
        let mut bundle = Bundle::generate(now).unwrap();
        bundle.bootstrap_tokens.push(Secret::new("abcdef.0123456789abcdef".into()));
        let other = Bundle::generate(now).unwrap();
        let text = bundle.text().expose().clone();
        let error = |text: &str| Bundle::parse(text, now).unwrap_err().to_string();
        let indented = |pair: &Pair| block(pair.key.expose(), 6);
        let key = text.lines().find(|line| line.starts_with("encryptionKey")).unwrap();
        for (bad, said) in [
            (text.replace("kind: Secrets", "kind: Cluster"), "apiVersion and kind"),
            (text.replace("serviceAccountKey:", "serviceAccountKeys:"), "serviceAccountKey is missing"),
            (text.replace("  frontProxy:", "  front: {}\n  frontProxy:"), "certificateAuthorities.front is no key"),
            (text.replace(key, "encryptionKey: [TOPSECRET]"), "encryptionKey is missing, or is not"),
            ("TOPSECRET".to_owned(), "everything is missing"),
            (text.replace(key, "encryptionKey: TOPSECRET"), "encryptionKey: not 32 bytes"),
            (text.replace(key, "encryptionConfiguration: TOPSECRET!"), "encryptionConfiguration: not a text"),
            (text.clone() + "encryptionConfiguration: \"\"\n", "encryptionKey is no key"),
            (text.replace("workerTokenKey: ", "workerTokenKey: TOPSECRET"), "workerTokenKey: not 32 bytes"),
            (text.clone() + "kind: Secrets\n", "line "),
            (text.replace("- \"", "- \"x"), "bootstrapTokens[0]"),
            (text.clone() + "hostKeys: {m2: [TOPSECRET]}\n", "hostKeys.m2: not a list of SSH host keys"),
            (text.clone() + "hostKeys: {m2: TOPSECRET}\n", "hostKeys.m2: not a list"),
            (text.clone() + "hostKeys: [TOPSECRET]\n", "hostKeys is missing, or is not"),
            (text.clone() + "workerTokens: {w1: TOPSECRET}\n", "workerTokens.w1: not of the form"),
            (text.clone() + "workerTokens: {w1: [TOPSECRET]}\n", "workerTokens.w1 is missing, or is not"),
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
