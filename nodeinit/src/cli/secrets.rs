//! `secrets`: generates and inspects a cluster's secrets bundle, on the operator's machine.

use super::{Output, Printing, print};
use crate::{
    engine::error::{Exit, StepError},
    host::{
        clock::Clock,
        files::{Files, NewFile},
    },
    pki::{
        Certificate, Key,
        bundle::{Bundle, Encryption, SECRETS, authority},
        catalog::Ca,
        expiry::{date, days_left},
    },
    steps::pki::bundle,
};
use clap::{Args, Subcommand};
use nodeinit_base::hex;
use nodeinit_ssh::fingerprint;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

#[derive(Subcommand)]
pub(super) enum Secrets {
    /// Generate a cluster's secrets: CAs and keys; never overwrites a file
    Generate(Location),
    /// Show fingerprints, subjects and expiry of a bundle's content, never a secret
    Inspect(Inspect),
}

#[derive(Args)]
pub(super) struct Location {
    /// The bundle
    #[arg(long, value_name = "FILE", default_value = "secrets.yaml")]
    file: PathBuf,
}

#[derive(Args)]
pub(super) struct Inspect {
    #[command(flatten)]
    location: Location,
    #[command(flatten)]
    printing: Printing,
}

pub(super) fn run(command: Secrets) -> Exit {
    let now = Clock::system().now();
    let (result, printing) = match &command {
        Secrets::Generate(location) => (generate(&location.file, now), Printing::default()),
        Secrets::Inspect(args) => (inspect(&args.location.file, args.printing.output, now), args.printing),
    };
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            printing.report().failed("secrets", &error);
            error.exit
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, StepError> {
    std::path::absolute(path).map_err(|e| StepError::caused(format!("cannot use the path {}", path.display()), e))
}

fn generate(file: &Path, now: SystemTime) -> Result<(), StepError> {
    let files = Files::of_machine();
    let path = absolute(file)?;
    if files.exists(&path) {
        let what = format!("{} already exists, and its secrets may be the only access to a cluster", path.display());
        return Err(StepError::new(what).hint("pass another file with --file, or move this one away"));
    }
    let bundle = crate::pki::bundle::generate(now).map_err(|e| StepError::caused("cannot generate secrets", e))?;
    files.write(&[NewFile::private(&path, bundle.text().expose().as_bytes())])?;
    print(&format!(
        "{}: anyone who can read this file controls the cluster. Keep it safe. Copy it to {SECRETS} on the first master, with mode 600\n",
        path.display()
    ))
}

fn inspect(file: &Path, output: Output, now: SystemTime) -> Result<(), StepError> {
    let path = absolute(file)?;
    let Some(bundle) = bundle::read_from(&Files::of_machine(), &path, now)? else {
        let error = StepError::new(format!("there is no secrets bundle {}", path.display()));
        return Err(error.hint("pass it with --file, or generate one with `nodeinit secrets generate`"));
    };
    let contents =
        contents(&bundle, now).map_err(|e| StepError::caused(format!("cannot read {}", path.display()), e))?;
    for object in contents {
        print(&match output {
            Output::Json => format!("{object}\n"),
            Output::Text => format!("{:22} {}\n", text(&object, "what"), line(&object)),
        })?;
    }
    Ok(())
}

/// Describes a bundle without its secrets.
fn contents(bundle: &Bundle, now: SystemTime) -> Result<Vec<Value>, crate::pki::PkiError> {
    let mut contents = Vec::new();
    for ca in Ca::ALL {
        let certificate = Certificate::from_pem(authority(bundle, ca).certificate.as_bytes())?;
        contents.push(json!({
            "what": ca.name(),
            "subject": certificate.common_name,
            "expires": date(certificate.not_after),
            "daysLeft": days_left(certificate.not_after, now),
            "pin": format!("sha256:{}", hex(&certificate.pin)),
        }));
    }
    let key = Key::from_pem(bundle.service_account_key.expose().as_bytes())?;
    contents.push(json!({"what": "service-account-key", "pin": format!("sha256:{}", hex(&key.pin()))}));
    contents.push(match bundle.encryption {
        Encryption::Key(_) => json!({"what": "encryption-key", "detail": "32 bytes"}),
        Encryption::Configuration(_) => json!({"what": "encryption-configuration", "detail": "of a running cluster"}),
    });
    contents
        .extend(bundle.worker_token_key.as_ref().map(|_| json!({"what": "worker-token-key", "detail": "32 bytes"})));
    for token in &bundle.bootstrap_tokens {
        // The part before the dot is public: the token's ID.
        contents.push(json!({"what": "bootstrap-token", "id": token.expose().split('.').next()}));
    }
    contents.extend(bundle.ssh_key.as_ref().map(|key| json!({"what": "ssh-key", "publicKey": key.public})));
    for (machine, keys) in &bundle.host_keys {
        let fingerprints: Vec<_> = keys.iter().filter_map(|key| fingerprint(key)).collect();
        contents.push(json!({"what": "host-keys", "machine": machine, "fingerprints": fingerprints.join(", ")}));
    }
    Ok(contents)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// Formats everything except the name as text.
fn line(object: &Value) -> String {
    let fields = object.as_object().into_iter().flatten().filter(|(key, _)| *key != "what");
    let shown = fields.map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key} {text}"),
        None => format!("{key} {value}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_bundle_is_generated_once_and_inspected_without_its_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets.yaml");
        let now = SystemTime::now();
        generate(&path, now).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let first = std::fs::read_to_string(&path).unwrap();
        let error = generate(&path, now).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);

        let mut bundle = crate::pki::bundle::parse(&first, now).unwrap();
        assert!(bundle.bootstrap_tokens.is_empty());
        bundle.bootstrap_tokens.push(nodeinit_config::Secret::new("abcdef.0123456789abcdef".into()));
        let shown: String =
            contents(&bundle, now).unwrap().iter().map(|object| line(object) + &object.to_string()).collect();
        let token = bundle.bootstrap_tokens[0].expose().split_once('.').unwrap();
        assert!(shown.contains(token.0) && !shown.contains(token.1), "{shown}");
        assert!(
            shown.contains("pin sha256:") && shown.contains("ssh-ed25519 ") && !shown.contains("PRIVATE"),
            "{shown}"
        );
        inspect(&path, Output::Text, now).unwrap();

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = inspect(&path, Output::Json, now).unwrap_err();
        assert!(error.to_string().contains("can be read by others (mode 640)"), "{error}");
        assert_eq!(inspect(&dir.path().join("none"), Output::Text, now).unwrap_err().exit, Exit::Failed);
    }
}
