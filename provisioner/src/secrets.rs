//! The cluster's secrets on the operator's side: the bundle that `nodeinit secrets generate` makes.

use crate::{error::Error, output::write_private};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use nodeinit_base::hex;
use nodeinit_config::{
    Secret, Trust,
    secret::{Exposed, exposed},
};
use nodeinit_protocol::{Bundle, WorkerSecrets, bundle::Encryption};
use ring::{
    digest, hmac,
    rand::{SecureRandom, SystemRandom},
};
use std::{
    collections::BTreeMap,
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};
use x509_parser::{pem, prelude::FromDer};

/// Separates workers' tokens from anything else that may be derived from the same key.
const LABEL: &str = "nodeinit worker token";
/// Separates the signatures of host keys in the same way.
const HOST_KEY_LABEL: &str = "nodeinit host key";
/// The bundle's key from which workers' tokens are derived.
const TOKEN_KEY: &str = "workerTokenKey";

/// The secrets of one cluster. No message holds any of their content.
#[derive(Clone, Debug)]
pub struct Secrets {
    bundle: Bundle,
    token_key: Secret<[u8; 32]>,
    /// `sha256:` and hex.
    ca_pin: String,
    /// The private key with which machines are reached.
    pub ssh_key: Secret<String>,
    /// Its public half, as a line of `authorized_keys`.
    pub ssh_public: String,
}

impl Secrets {
    /// As [`Self::existing`]; nodeinit generates a bundle that does not exist.
    ///
    /// # Errors
    /// A bundle that cannot be used or that others can read, or no nodeinit to make one.
    pub fn open(path: &Path, nodeinit: Option<&Path>) -> Result<Self, Error> {
        if !path.exists() {
            generate(path, nodeinit)?;
        }
        Self::existing(path)
    }

    /// Reads the bundle. One from before workers' tokens had a key of their own gets that key here.
    ///
    /// # Errors
    /// A bundle that does not exist, that cannot be used, or that others can read.
    pub fn existing(path: &Path) -> Result<Self, Error> {
        if !path.exists() {
            return Err(Error::Configuration {
                what: format!("there is no secrets bundle {}", path.display()),
                remedy: format!(
                    "name the cluster's bundle with --secrets; for a new cluster, run `nodeinit secrets generate --file {}`",
                    path.display()
                ),
            });
        }
        let text = private_text(path)?;
        let has_token_key = |secrets: &Self| secrets.bundle.worker_token_key.is_some();
        // Before anything is written: this may be another file.
        let secrets = Self::parse(&text).map_err(|what| wrong(path, &what))?;
        if has_token_key(&secrets) {
            return Ok(secrets);
        }
        let text = format!("{}\n{TOKEN_KEY}: {}\n", text.trim_end(), STANDARD.encode(random_key()?));
        let Some(secrets) = Self::parse(&text).ok().filter(has_token_key) else {
            let what = format!("it has no {TOKEN_KEY}, and the key cannot be appended; add 32 bytes in base64");
            return Err(wrong(path, &what));
        };
        write_private(path, &text)?;
        Ok(secrets)
    }

    /// Reads a bundle and changes nothing.
    ///
    /// # Errors
    /// A bundle that does not exist, cannot be used, or that others can read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(Secret::new(private_text(path)?).expose()).map_err(|what| wrong(path, &what))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let bundle = Bundle::parse(text).map_err(|e| e.to_string())?;
        let Encryption::Key(_) = bundle.encryption else { return Err("encryptionKey is missing".to_owned()) };
        let ssh = bundle.ssh_key.clone().ok_or("sshKey is missing")?;
        let ca_pin =
            pin(&bundle.authorities.kubernetes.certificate).ok_or("the cluster's CA is not a valid certificate")?;
        let token_key = match &bundle.worker_token_key {
            Some(key) => key.clone(),
            // Only for a look: `open` adds the key before a token is given to anyone.
            None => Secret::new(random_key().map_err(|e| e.to_string())?),
        };
        let ssh_public = ssh.public.trim().to_owned();
        Ok(Self { bundle, token_key, ca_pin, ssh_key: ssh.private, ssh_public })
    }

    /// What a worker must know to join.
    #[must_use]
    pub fn trust(&self, endpoints: Vec<String>) -> Trust {
        Trust {
            endpoints,
            ca_certificate: self.bundle.authorities.kubernetes.certificate.clone(),
            ca_pin: self.ca_pin.clone(),
        }
    }

    /// The token of one worker. It is derived from the bundle and from the id of the machine's port, so that an interrupted
    /// run need not have recorded it, and a machine that is created again gets another token.
    #[must_use]
    pub fn worker_token(&self, worker: &str, machine: &str) -> Secret<String> {
        let key = self.token_key();
        let block = |number: u32| {
            let tag = hmac::sign(&key, format!("{LABEL}\n{worker}\n{machine}\n{number}").as_bytes());
            tag.as_ref().to_vec()
        };
        let text: String = (0..).flat_map(block).filter_map(letter).take(22).collect();
        Secret::new(format!("{}.{}", &text[..6], &text[6..]))
    }

    /// The host keys of a machine that are in the bundle.
    #[must_use]
    pub fn host_keys(&self, machine: &str) -> Vec<String> {
        self.bundle.host_keys.get(machine).cloned().unwrap_or_default()
    }

    /// A server's host key `type base64`, followed by a signature (HMAC-SHA-256): only who has this bundle can make it.
    #[must_use]
    pub fn signed_host_key(&self, server: &str, key: &str) -> String {
        let tag = hmac::sign(&self.token_key(), host_key_text(server, key).as_bytes());
        format!("{key} {}", STANDARD_NO_PAD.encode(tag))
    }

    /// The key in what [`Self::signed_host_key`] made for this server.
    #[must_use]
    pub fn verified_host_key(&self, server: &str, signed: &str) -> Option<String> {
        let (key, tag) = signed.rsplit_once(' ')?;
        let tag = STANDARD_NO_PAD.decode(tag).ok()?;
        hmac::verify(&self.token_key(), host_key_text(server, key).as_bytes(), &tag).ok()?;
        Some(key.to_owned())
    }

    fn token_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.token_key.expose())
    }

    /// What a worker gets that joins by itself: its own token, as `/etc/nodeinit/secrets.yaml`.
    #[must_use]
    pub fn for_worker(&self, worker: &str, machine: &str) -> Secret<String> {
        WorkerSecrets { bootstrap_token: self.worker_token(worker, machine) }.text()
    }

    /// The bundle as the first master gets it: with workers' tokens, and the host keys of machines that it reaches.
    #[must_use]
    pub fn for_first_master(
        &self,
        tokens: &BTreeMap<String, Secret<String>>,
        host_keys: &BTreeMap<String, Vec<String>>,
    ) -> Secret<String> {
        let mut bundle = self.bundle.clone();
        // Only the provisioner derives tokens.
        bundle.worker_token_key = None;
        if !tokens.is_empty() {
            bundle.worker_tokens = tokens.clone();
        }
        bundle.host_keys.extend(host_keys.clone());
        bundle.text()
    }
}

/// What is signed: one server's key is no other server's.
fn host_key_text(server: &str, key: &str) -> String {
    format!("{HOST_KEY_LABEL}\n{server}\n{key}")
}

/// A letter of a token, or `None` for the few bytes that would make some letters more likely than others.
fn letter(byte: u8) -> Option<char> {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    // 252 is the largest multiple of 36 below 256.
    (byte < 252).then(|| char::from(LETTERS[usize::from(byte % 36)]))
}

/// 32 bytes that nobody can guess.
///
/// # Errors
/// If the system gives none.
pub(crate) fn random_key() -> Result<[u8; 32], Error> {
    let mut key = [0; 32];
    SystemRandom::new().fill(&mut key).map_err(|_| Error::Defect("the system gives no random bytes".to_owned()))?;
    Ok(key)
}

/// The text of a bundle that only its owner can read.
fn private_text(path: &Path) -> Result<String, Error> {
    let unreadable = |e: std::io::Error| wrong(path, &e.to_string());
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.mode();
    if let Some(Exposed { what, hint }) = exposed(&path.display().to_string(), mode) {
        return Err(Error::Configuration { what, remedy: hint });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// SHA-256 of the DER of the certificate's SubjectPublicKeyInfo (RFC 7469).
fn pin(certificate: &str) -> Option<String> {
    let (_, pem) = pem::parse_x509_pem(certificate.as_bytes()).ok()?;
    let (_, read) = x509_parser::certificate::X509Certificate::from_der(&pem.contents).ok()?;
    Some(format!("sha256:{}", hex(digest::digest(&digest::SHA256, read.public_key().raw).as_ref())))
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::Configuration {
        what: format!("{}: {what}", path.display()),
        remedy: "pass the cluster's bundle with --secrets; `nodeinit secrets inspect` shows the content of a bundle"
            .to_owned(),
    }
}

/// The nodeinit that is to be handed out, else the one beside this program, else the shell's.
#[allow(clippy::disallowed_methods, reason = "this future only generates keys: it never waits and completes at once")]
fn generate(path: &Path, nodeinit: Option<&Path>) -> Result<(), Error> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("nodeinit")).filter(|path| path.exists());
    let program = nodeinit.map(Path::to_owned).or(beside).unwrap_or_else(|| PathBuf::from("nodeinit"));
    let made = Command::new(&program).args(["secrets", "generate", "--file"]).arg(path).output();
    let why = match made {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(e) => e.to_string(),
    };
    Err(Error::Configuration {
        what: format!("{} does not exist, and {} cannot generate it: {why}", path.display(), program.display()),
        remedy: format!("run `nodeinit secrets generate --file {}`", path.display()),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use nodeinit_config::{format::HOST_KEY, yaml};
    use serde_json::{Value, json};

    const CA: &str = "-----BEGIN CERTIFICATE-----\n\
        MIIBgDCCASWgAwIBAgIUUmHpzB1mGMtmoeS/2UcJOc/Se8swCgYIKoZIzj0EAwIw\n\
        FTETMBEGA1UEAwwKa3ViZXJuZXRlczAeFw0yNjExMjExODMyMzJaFw0zNjExMTgx\n\
        ODMyMzJaMBUxEzARBgNVBAMMCmt1YmVybmV0ZXMwWTATBgcqhkjOPQIBBggqhkjO\n\
        PQMBBwNCAATgnleO9iVLbkWPR3H6MR/a+vYIwpp6qFtwEbNLsrAsxJIMBTSNFkCs\n\
        Twu+uosG1NzHEvDr1RScu90mHhD3Erzvo1MwUTAdBgNVHQ4EFgQUHAD7TYkCbRLc\n\
        9UCVYpzqbNr08x8wHwYDVR0jBBgwFoAUHAD7TYkCbRLc9UCVYpzqbNr08x8wDwYD\n\
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA2us6TSozBKgqURziO59R\n\
        QKr9rtcWFpq4Ky61tS+rPkQCIQDOP2a0r7VZe40B5oIZZr+BGOy6HE52VtTmCvlS\n\
        CtrPVQ==\n\
        -----END CERTIFICATE-----";

    /// A bundle of which only the cluster's CA is real.
    fn example_bundle() -> Value {
        let pair = json!({ "certificate": CA, "key": "KEY" });
        json!({
            "apiVersion": "nodeinit.dev/v1alpha1", "kind": "Secrets", "serviceAccountKey": "KEY",
            "certificateAuthorities": { "kubernetes": pair, "etcd": pair, "frontProxy": pair },
            "encryptionKey": STANDARD.encode([1; 32]), "workerTokenKey": STANDARD.encode([7; 32]),
            "sshKey": { "private": "PRIVATE", "public": "ssh-ed25519 AAAA nodeinit" },
        })
    }

    /// Secrets that are none.
    pub(crate) fn example() -> Secrets {
        Secrets::parse(&example_bundle().to_string()).unwrap()
    }

    #[test]
    fn a_machines_token_is_its_own_and_the_same_at_each_look() {
        let secrets = example();
        let token = |worker: &str, machine: &str| secrets.worker_token(worker, machine).expose().clone();
        assert_eq!(token("w1", "17"), token("w1", "17"));
        assert!(token("w1", "17") != token("w2", "17") && token("w1", "17") != token("w1", "18"));
        let (id, secret) = token("w1", "17").split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!((id.len(), secret.len()), (6, 16));
        assert!((id + &secret).bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
    }

    #[test]
    fn tokens_depend_on_the_dedicated_key_alone() {
        let token = |change: fn(&mut Value)| {
            let mut bundle = example_bundle();
            change(&mut bundle);
            Secrets::parse(&bundle.to_string()).unwrap().worker_token("w1", "17").expose().clone()
        };
        let own = token(|_| ());
        assert_eq!(token(|bundle| bundle["encryptionKey"] = json!(STANDARD.encode([2; 32]))), own);
        assert_ne!(token(|bundle| bundle[TOKEN_KEY] = json!(STANDARD.encode([8; 32]))), own);
    }

    #[test]
    fn every_letter_is_as_likely_as_any_other() {
        let mut counts = BTreeMap::new();
        for letter in (0..=u8::MAX).filter_map(letter) {
            *counts.entry(letter).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 36);
        assert!(counts.values().all(|count| *count == 7), "{counts:?}");
    }

    #[test]
    fn an_old_bundle_gets_a_token_key_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.yaml");
        let mut bundle = example_bundle();
        bundle.as_object_mut().unwrap().remove(TOKEN_KEY);
        let block = bundle.as_object().unwrap().iter().map(|(key, value)| format!("{key}: {value}\n"));
        write_private(&path, &block.collect::<String>()).unwrap();
        Secrets::read(&path).unwrap();
        let token = |secrets: &Secrets| secrets.worker_token("w1", "17").expose().clone();
        let first = token(&Secrets::open(&path, None).unwrap());
        assert_eq!(token(&Secrets::open(&path, None).unwrap()), first);
        assert_eq!(token(&Secrets::read(&path).unwrap()), first);
        // A form to which nothing can be appended.
        write_private(&path, &bundle.to_string()).unwrap();
        let error = Secrets::open(&path, None).unwrap_err().to_string();
        assert!(error.contains("has no workerTokenKey"), "{error}");
    }

    #[test]
    fn the_first_masters_bundle_has_tokens_and_host_keys() {
        let secrets = example();
        let tokens = BTreeMap::from([("w1".to_owned(), secrets.worker_token("w1", "17"))]);
        let keys = BTreeMap::from([("m2".to_owned(), vec![HOST_KEY.example.to_owned()])]);
        let bundle = yaml::document(secrets.for_first_master(&tokens, &keys).expose()).unwrap();
        assert_eq!(bundle["workerTokens"]["w1"], *tokens["w1"].expose());
        assert_eq!(bundle["hostKeys"]["m2"][0], HOST_KEY.example);
        assert_eq!(bundle["kind"], "Secrets");
        assert_eq!(bundle.get(TOKEN_KEY), None);
    }

    #[test]
    fn the_pin_is_that_of_openssl() {
        // openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | sha256sum
        assert_eq!(example().ca_pin, "sha256:65b8d81fe08a87cfa50a1e46ba9105d0498f3ba3212d53cc24894f0af0e484e5");
        assert!(Secrets::parse("kind: Secrets").unwrap_err().contains("apiVersion is missing"));
        assert!(Secrets::parse("kind: [").unwrap_err().contains("not YAML"));
    }
}
