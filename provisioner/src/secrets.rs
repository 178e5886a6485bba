//! The cluster's secrets on the operator's side: the bundle that `nodeinit secrets generate` makes.

use crate::error::Error;
use nodeinit_config::{Secret, Trust, yaml};
use ring::{digest, hmac};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
    process::Command,
};
use x509_parser::{pem, prelude::FromDer};

/// What a worker's token is derived with, beside the bundle's key.
const LABEL: &str = "nodeinit worker token";

/// The secrets of one cluster. No message holds any of their content.
#[derive(Clone, Debug)]
pub struct Secrets {
    bundle: Secret<Value>,
    /// The cluster's CA, as PEM.
    ca_certificate: String,
    /// `sha256:` and hex.
    ca_pin: String,
    /// The private key with which machines are reached.
    pub ssh_key: Secret<String>,
    /// Its public half, as a line of `authorized_keys`.
    pub ssh_public: String,
}

impl Secrets {
    /// Reads the bundle; where there is none, nodeinit makes it.
    ///
    /// # Errors
    /// A bundle that cannot be used, or no nodeinit to make one.
    pub fn open(path: &Path, nodeinit: Option<&Path>) -> Result<Self, Error> {
        if !path.exists() {
            generate(path, nodeinit)?;
        }
        let text = std::fs::read_to_string(path).map_err(|e| wrong(path, &e.to_string()))?;
        Self::parse(&text).map_err(|what| wrong(path, &what))
    }

    fn parse(text: &str) -> Result<Self, String> {
        // The reader's own words may quote what stands there.
        let bundle = yaml::document(text).map_err(|e| format!("line {}, column {}: not YAML", e.line, e.column))?;
        if bundle["kind"] != "Secrets" {
            return Err("its kind is not Secrets".to_owned());
        }
        let of = |path: &str| {
            bundle.pointer(path).and_then(Value::as_str).map(str::to_owned).ok_or(format!("{path} is missing"))
        };
        of("/encryptionKey")?;
        let ca_certificate = of("/certificateAuthorities/kubernetes/certificate")?;
        let (ssh_key, ssh_public) = (Secret::new(of("/sshKey/private")?), of("/sshKey/public")?.trim().to_owned());
        let ca_pin = pin(&ca_certificate).ok_or("the cluster's CA is no certificate")?;
        Ok(Self { bundle: Secret::new(bundle), ca_certificate, ca_pin, ssh_key, ssh_public })
    }

    /// What a worker must know to join.
    #[must_use]
    pub fn trust(&self, endpoints: Vec<String>) -> Trust {
        Trust { endpoints, ca_certificate: self.ca_certificate.clone(), ca_pin: self.ca_pin.clone() }
    }

    /// The token of one worker. It follows from the bundle and from what the machine is in the cloud, so that a run that
    /// was cut off need not have written it down, and a machine that is made anew gets another.
    #[must_use]
    pub fn worker_token(&self, worker: &str, machine: &str) -> Secret<String> {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let key = self.bundle.expose()["encryptionKey"].as_str().unwrap_or_default();
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.trim().as_bytes());
        let tag = hmac::sign(&key, format!("{LABEL}\n{worker}\n{machine}").as_bytes());
        let letters = tag.as_ref().iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
        let text: String = letters.take(22).collect();
        Secret::new(format!("{}.{}", &text[..6], &text[6..]))
    }

    /// What a worker gets that joins by itself: its own token, as `/etc/nodeinit/secrets.yaml`.
    #[must_use]
    pub fn for_worker(&self, worker: &str, machine: &str) -> Secret<String> {
        let token = self.worker_token(worker, machine);
        // Quoted: some tokens look like numbers.
        Secret::new(format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: WorkerSecrets\nbootstrapToken: \"{}\"\n",
            token.expose()
        ))
    }

    /// The bundle as the first master gets it: with workers' tokens, and the host keys of machines that it reaches. JSON,
    /// which is YAML.
    #[must_use]
    pub fn for_first_master(
        &self,
        tokens: &BTreeMap<String, Secret<String>>,
        host_keys: &BTreeMap<String, Vec<String>>,
    ) -> Secret<String> {
        let mut bundle = self.bundle.expose().clone();
        if !tokens.is_empty() {
            bundle["workerTokens"] = tokens.iter().map(|(name, token)| (name.clone(), json!(token.expose()))).collect();
        }
        for (name, keys) in host_keys {
            bundle["hostKeys"][name] = json!(keys);
        }
        Secret::new(format!("{bundle:#}\n"))
    }
}

/// SHA-256 of the DER of the certificate's SubjectPublicKeyInfo (RFC 7469).
fn pin(certificate: &str) -> Option<String> {
    let (_, pem) = pem::parse_x509_pem(certificate.as_bytes()).ok()?;
    let (_, read) = x509_parser::certificate::X509Certificate::from_der(&pem.contents).ok()?;
    Some(format!("sha256:{}", hex(digest::digest(&digest::SHA256, read.public_key().raw).as_ref())))
}

/// In lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::Configuration {
        what: format!("{}: {what}", path.display()),
        remedy: "name the cluster's bundle with --secrets; `nodeinit secrets inspect` tells what is in one".to_owned(),
    }
}

/// The nodeinit that is to be handed out, else the one beside this program, else the shell's.
#[allow(clippy::disallowed_methods, reason = "it makes some keys and ends; nothing in it waits")]
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
        what: format!("there is no {}, and {} cannot make it: {why}", path.display(), program.display()),
        remedy: format!("run `nodeinit secrets generate --file {}`", path.display()),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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

    /// Secrets that are none.
    pub(crate) fn example() -> Secrets {
        let pair = json!({ "certificate": CA, "key": "KEY" });
        let bundle = json!({
            "apiVersion": "nodeinit.dev/v1alpha1", "kind": "Secrets", "certificateAuthorities": { "kubernetes": pair },
            "encryptionKey": "c2VjcmV0", "sshKey": { "private": "PRIVATE", "public": "ssh-ed25519 AAAA nodeinit" },
        });
        Secrets::parse(&bundle.to_string()).unwrap()
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
    fn the_first_masters_bundle_has_tokens_and_host_keys() {
        let secrets = example();
        let tokens = BTreeMap::from([("w1".to_owned(), secrets.worker_token("w1", "17"))]);
        let keys = BTreeMap::from([("m2".to_owned(), vec!["ssh-ed25519 BBBB".to_owned()])]);
        let bundle = yaml::document(secrets.for_first_master(&tokens, &keys).expose()).unwrap();
        assert_eq!(bundle["workerTokens"]["w1"], *tokens["w1"].expose());
        assert_eq!(bundle["hostKeys"]["m2"][0], "ssh-ed25519 BBBB");
        assert_eq!(bundle["kind"], "Secrets");
    }

    #[test]
    fn the_pin_is_that_of_openssl() {
        // openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | sha256sum
        assert_eq!(example().ca_pin, "sha256:65b8d81fe08a87cfa50a1e46ba9105d0498f3ba3212d53cc24894f0af0e484e5");
        assert!(Secrets::parse("kind: Secrets").unwrap_err().contains("/encryptionKey is missing"));
        assert!(Secrets::parse("kind: [").unwrap_err().contains("not YAML"));
    }
}
