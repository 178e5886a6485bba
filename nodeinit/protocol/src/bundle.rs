//! The secrets bundle: all secrets that a cluster's machines share.
//!
//! `nodeinit secrets generate` generates one on the operator's machine; otherwise the first master generates its own secrets.

use crate::{BundleError, map::Part, token::is_bootstrap_token};
use base64::{Engine, display::Base64Display, engine::general_purpose::STANDARD};
use nodeinit_config::{Secret, format::HOST_KEY, yaml};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::{self, Display, Write},
};
use zeroize::Zeroizing;

/// The name under which `hostKeys` holds the keys of the jump host.
pub const JUMP_HOST: &str = "jump-host";
const API_VERSION: &str = "nodeinit.dev/v1alpha1";
const KIND: &str = "Secrets";

/// A CA's certificate and key, as the given PEM texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: Secret<String>,
}

/// How Secrets are encrypted in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The only key, from which the first master generates the configuration.
    Key(Secret<[u8; 32]>),
    /// The exact EncryptionConfiguration of a running cluster: its keys may have been rotated.
    Configuration(Secret<String>),
}

/// The secrets of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Its CAs.
    pub authorities: Authorities,
    /// Signs the tokens of service accounts; in PEM.
    pub service_account_key: Secret<String>,
    /// Encrypts Secrets in etcd.
    pub encryption: Encryption,
    /// Bootstrap tokens for any machine.
    pub bootstrap_tokens: Vec<Secret<String>>,
    /// The tokens of self-joining workers, by worker.
    pub worker_tokens: BTreeMap<String, Secret<String>>,
    /// The provisioner derives workers' tokens from it. Machines do not need it.
    pub worker_token_key: Option<Secret<[u8; 32]>>,
    /// The key with which the first master logs in to the others.
    pub ssh_key: Option<SshKey>,
    /// The SSH host keys of machines by name, each `type base64`; those of the jump host under [`JUMP_HOST`].
    pub host_keys: BTreeMap<String, Vec<String>>,
}

/// The CAs of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities {
    /// The CA of the API server, the kubelets and their clients.
    pub kubernetes: Pair,
    /// The CA of etcd and its clients.
    pub etcd: Pair,
    /// The CA of the API server as a client of extension API servers.
    pub front_proxy: Pair,
}

/// The SSH key with which the first master logs in to the other machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshKey {
    /// The private key, as in `~/.ssh/id_ed25519`.
    pub private: Secret<String>,
    /// The public key, as a line of `authorized_keys`.
    pub public: String,
}

impl Bundle {
    /// Returns what another master of a running cluster needs, also to lead it: no tokens.
    #[must_use]
    pub fn for_master(
        authorities: Authorities,
        service_account_key: Secret<String>,
        encryption: Secret<String>,
        ssh_key: SshKey,
        host_keys: BTreeMap<String, Vec<String>>,
    ) -> Self {
        Self {
            authorities,
            service_account_key,
            encryption: Encryption::Configuration(encryption),
            bootstrap_tokens: Vec::new(),
            worker_tokens: BTreeMap::new(),
            worker_token_key: None,
            ssh_key: Some(ssh_key),
            host_keys,
        }
    }

    /// Reads a bundle. The caller must verify that keys and certificates match.
    ///
    /// # Errors
    /// [`BundleError`], which names the key and never the content.
    pub fn parse(text: &str) -> Result<Self, BundleError> {
        // The message of the YAML reader may quote the content.
        let read = yaml::document(text).map_err(|e| BundleError::Yaml { line: e.line, column: e.column })?;
        let mut all = Part::root(read)?;
        if all.text("apiVersion")? != API_VERSION || all.text("kind")? != KIND {
            return Err(BundleError::OtherKind { wanted: KIND });
        }
        let service_account_key = Secret::new(all.text("serviceAccountKey")?);
        let encryption = encryption(&mut all)?;
        let worker_token_key = match all.optional_text("workerTokenKey")? {
            Some(text) => Some(key_bytes(text).ok_or(BundleError::WorkerTokenKey)?),
            None => None,
        };
        let mut bootstrap_tokens = Vec::new();
        for (n, token) in all.list("bootstrapTokens")?.into_iter().enumerate() {
            match token {
                Value::String(token) if is_bootstrap_token(&token) => bootstrap_tokens.push(Secret::new(token)),
                _ => return Err(BundleError::Token(n)),
            }
        }
        let worker_tokens = match all.optional_part("workerTokens")? {
            Some(part) => part.texts()?.into_iter().map(worker_token).collect::<Result<_, _>>()?,
            None => BTreeMap::new(),
        };
        let ssh_key = all.optional_part("sshKey")?.map(ssh_key).transpose()?;
        let host_keys = all.optional_part("hostKeys")?.map(host_keys).transpose()?.unwrap_or_default();
        let mut authorities = all.part("certificateAuthorities")?;
        let bundle = Self {
            authorities: Authorities {
                kubernetes: pair(authorities.part("kubernetes")?)?,
                etcd: pair(authorities.part("etcd")?)?,
                front_proxy: pair(authorities.part("frontProxy")?)?,
            },
            service_account_key,
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

    /// Returns the bundle as YAML.
    #[must_use]
    pub fn text(&self) -> Secret<String> {
        let all = &self.authorities;
        // A text that outgrew its buffer would leave a copy of what it has so far.
        let mut text = String::with_capacity(64 << 10);
        let _ = write!(
            text,
            "# The secrets of one cluster, generated by `nodeinit secrets generate`. Anyone who can read this file controls the cluster.\n\
             apiVersion: {API_VERSION}\nkind: {KIND}\ncertificateAuthorities:\n"
        );
        for (name, pair) in [("kubernetes", &all.kubernetes), ("etcd", &all.etcd), ("frontProxy", &all.front_proxy)] {
            let (certificate, key) = (block(&pair.certificate, 6), block(pair.key.expose(), 6));
            let _ = write!(text, "  {name}:\n    certificate: {certificate}    key: {key}");
        }
        let _ = write!(text, "serviceAccountKey: {}", block(self.service_account_key.expose(), 2));
        let _ = match &self.encryption {
            Encryption::Key(key) => writeln!(text, "encryptionKey: {}", encoded(key.expose())),
            Encryption::Configuration(configuration) => {
                writeln!(text, "encryptionConfiguration: {}", encoded(configuration.expose()))
            }
        };
        if let Some(key) = &self.worker_token_key {
            let _ = writeln!(text, "workerTokenKey: {}", encoded(key.expose()));
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
            // Quoted: a machine's name may be 1 or true.
            let none = if keys.is_empty() { " []" } else { "" };
            let _ = writeln!(text, "  \"{machine}\":{none}");
            for key in keys {
                let _ = writeln!(text, "  - {key}");
            }
        }
        Secret::new(text)
    }
}

fn key_bytes(text: String) -> Option<Secret<[u8; 32]>> {
    decoded(text)?.as_slice().try_into().ok().map(Secret::new)
}

/// The secret that is written in base64.
fn decoded(text: String) -> Option<Zeroizing<Vec<u8>>> {
    let text = Zeroizing::new(text);
    STANDARD.decode(text.trim()).ok().map(Zeroizing::new)
}

/// Reads `encryptionKey`, or `encryptionConfiguration` instead of it.
fn encryption(all: &mut Part) -> Result<Encryption, BundleError> {
    if let Some(text) = all.optional_text("encryptionConfiguration")? {
        let configuration = decoded(text).and_then(|bytes| str::from_utf8(&bytes).ok().map(str::to_owned));
        let configuration = configuration.ok_or(BundleError::EncryptionConfiguration)?;
        return Ok(Encryption::Configuration(Secret::new(configuration)));
    }
    Ok(Encryption::Key(key_bytes(all.text("encryptionKey")?).ok_or(BundleError::EncryptionKey)?))
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

/// Returns `type base64` of a line, without its comment.
fn host_key(line: &Value) -> Option<String> {
    let line = line.as_str().filter(|line| HOST_KEY.accepts(line))?;
    Some(line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

fn pair(mut part: Part) -> Result<Pair, BundleError> {
    let (certificate, key) = (part.text("certificate")?, Secret::new(part.text("key")?));
    part.end().map(|()| Pair { certificate, key })
}

/// Formats a text of several lines as a YAML block with lines indented by `indent`.
fn block(text: &str, indent: usize) -> impl Display {
    fmt::from_fn(move |f| {
        f.write_str("|\n")?;
        text.lines().try_for_each(|line| writeln!(f, "{:indent$}{line}", ""))
    })
}

/// In base64.
fn encoded(secret: &impl AsRef<[u8]>) -> impl Display {
    Base64Display::new(secret.as_ref(), &STANDARD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection, prelude::*};

    fn pem(what: &str) -> String {
        format!("-----BEGIN {what}-----\nAAAA\nBBBB\n-----END {what}-----\n")
    }

    fn example() -> Bundle {
        let pair = |name: &str| Pair { certificate: pem(name), key: Secret::new(pem("PRIVATE KEY")) };
        Bundle {
            authorities: Authorities { kubernetes: pair("A"), etcd: pair("B"), front_proxy: pair("C") },
            service_account_key: Secret::new(pem("PRIVATE KEY")),
            encryption: Encryption::Key(Secret::new([1; 32])),
            bootstrap_tokens: Vec::new(),
            worker_tokens: BTreeMap::new(),
            worker_token_key: None,
            ssh_key: None,
            host_keys: BTreeMap::new(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_bundle_survives_a_round_trip(
            key in any::<[u8; 32]>(),
            configuration in proptest::option::of("kind: .*"),
            tokens in collection::vec("[a-z0-9]{6}\\.[a-z0-9]{16}", 0..3),
            workers in collection::btree_map("[a-z0-9.-]{1,8}", "[a-z0-9]{6}\\.[a-z0-9]{16}", 0..3),
            token_key in proptest::option::of(any::<[u8; 32]>()),
            has_ssh_key in any::<bool>(),
            machines in collection::btree_map("[a-zA-Z0-9.-]{1,8}", 0..3_usize, 0..3),
        ) {
            let bundle = Bundle {
                encryption: match configuration {
                    Some(text) => Encryption::Configuration(Secret::new(text)),
                    None => Encryption::Key(Secret::new(key)),
                },
                bootstrap_tokens: tokens.into_iter().map(Secret::new).collect(),
                worker_tokens: workers.into_iter().map(|(name, token)| (name, Secret::new(token))).collect(),
                worker_token_key: token_key.map(Secret::new),
                ssh_key: has_ssh_key.then(|| SshKey { private: Secret::new(pem("KEY")), public: HOST_KEY.example.into() }),
                host_keys: machines.into_iter().map(|(name, n)| (name, vec![HOST_KEY.example.to_owned(); n])).collect(),
                ..example()
            };
            let text = bundle.text();
            prop_assert_eq!(Bundle::parse(text.expose()).unwrap(), bundle);
        }
    }
}
