//! How the API server encrypts Secrets in etcd.

use super::pki::{bundle, cluster_exists};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
    },
    host::files::NewFile,
    pki::random,
    render::{api_server::encryption, paths},
};
use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::{Secret, cluster::Role, yaml};
use serde_json::Value;

/// Step `encryption-config`: the configuration with its key.
///
/// The key is made once, or taken from the secrets bundle. A file that is there stays, for without its key the cluster's Secrets
/// cannot be read any more, and people add keys to it when they rotate them.
pub struct EncryptionConfig;

#[async_trait(?Send)]
impl Step for EncryptionConfig {
    fn name(&self) -> String {
        "encryption-config".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["preflight".into()]
    }

    fn title(&self) -> String {
        "make the key that encrypts Secrets in etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        match cx.files.read_text(paths::ENCRYPTION)? {
            Some(text) => accept(&text).map(|()| State::Done),
            None => {
                let source = key(cx)?.1;
                Ok(State::needed(format!("{source}, and write {}", paths::ENCRYPTION)))
            }
        }
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let text = encryption(&cx.renderer(), &key(cx)?.0)?;
        cx.claim_trees(vec![paths::KUBERNETES.into()]).await?;
        cx.place(vec![NewFile::private(paths::ENCRYPTION, text.expose().as_bytes())]).await.map(drop)
    }
}

/// A key, and where it comes from.
fn key(cx: &Context) -> Result<(Secret<[u8; 32]>, &'static str), StepError> {
    if let Some(bundle) = bundle::read(&cx.files, cx.clock.now())? {
        return Ok((bundle.encryption_key, "take the encryption key from the secrets bundle"));
    }
    if cx.node.role != Role::FirstMaster {
        return Err(bundle::none());
    }
    if cluster_exists(cx) {
        let what = format!("{} is gone, and etcd may hold Secrets that only its key can read", paths::ENCRYPTION);
        return Err(StepError::new(what).hint("put it back from a backup, or begin anew with `nodeinit reset`"));
    }
    let fresh = random::bytes().map_err(|e| StepError::caused("cannot make an encryption key", e))?;
    Ok((Secret::new(fresh), "make an encryption key"))
}

/// The key of a configuration as we write it, for another master.
///
/// # Errors
/// Where the configuration is another: then the other master needs it as it is.
pub(super) fn only_key(text: &str) -> Result<Secret<[u8; 32]>, StepError> {
    let config = yaml::document(text).unwrap_or_default();
    let keys = config.pointer("/resources/0/providers/0/secretbox/keys").and_then(Value::as_array);
    let only = keys.filter(|keys| keys.len() == 1).and_then(|keys| keys[0]["secret"].as_str());
    let key = only.and_then(|secret| STANDARD.decode(secret).ok()).and_then(|bytes| bytes.try_into().ok());
    let changed = || {
        let what = format!("{} was changed, and its keys cannot be told to a further master", paths::ENCRYPTION);
        StepError::new(what)
            .hint("go back to one key while masters are added, as Kubernetes' page on rotating a key says")
    };
    key.map(Secret::new).ok_or_else(changed)
}

/// Whether the API server can use a configuration that is there.
/// Source: `k8s.io/apiserver/pkg/apis/apiserver/validation`, `ValidateEncryptionConfiguration`.
fn accept(text: &str) -> Result<(), StepError> {
    let wrong = |why: &str| {
        let what = format!("{} cannot be used: {why}", paths::ENCRYPTION);
        Err(StepError::new(what).hint("put the right file there; without its key no Secret can be read"))
    };
    let config = match yaml::document(text) {
        Ok(config) => config,
        Err(e) => return wrong(&format!("it is not YAML: {e}")),
    };
    if config["kind"] != "EncryptionConfiguration" {
        return wrong("it is no EncryptionConfiguration");
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let providers: Vec<Value> = list(&config["resources"]).iter().flat_map(|r| list(&r["providers"])).collect();
    if providers.is_empty() {
        return wrong("it names no provider");
    }
    let lengths = [("secretbox", &[32][..]), ("aescbc", &[16, 24, 32]), ("aesgcm", &[16, 24, 32])];
    for (kind, lengths) in lengths {
        for key in providers.iter().flat_map(|provider| list(&provider[kind]["keys"])) {
            let decoded = key["secret"].as_str().and_then(|secret| STANDARD.decode(secret).ok());
            if !decoded.is_some_and(|bytes| lengths.contains(&bytes.len())) {
                return wrong(&format!("a key of {kind} is not base64, or has the wrong length"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, steps::pki::testing::run};
    use std::os::unix::fs::MetadataExt;

    fn read(cx: &Context) -> Option<String> {
        cx.files.read_text(paths::ENCRYPTION).unwrap()
    }

    #[tokio::test]
    async fn the_key_is_made_once_and_kept() {
        let (_dir, cx) = context();
        assert_eq!(run(&EncryptionConfig, &cx).await.unwrap().len(), 1);
        let first = read(&cx);
        let mode = std::fs::metadata(cx.files.real(paths::ENCRYPTION.as_ref())).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(run(&EncryptionConfig, &cx).await.unwrap(), [""; 0]);
        assert_eq!(read(&cx), first);

        std::fs::create_dir_all(cx.files.real(&cx.cluster.etcd.data_directory.join("member"))).unwrap();
        cx.files.remove_file(paths::ENCRYPTION).unwrap();
        let error = run(&EncryptionConfig, &cx).await.unwrap_err();
        assert!(error.contains("is gone, and etcd may hold Secrets"), "{error}");
    }

    #[test]
    fn what_the_api_server_would_refuse_is_refused() {
        let with = |key: &str| {
            format!(
                "kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - secretbox:\n      keys:\n      \
                 - {{name: a, secret: {key}}}\n  - identity: {{}}\n"
            )
        };
        assert!(accept(&with(&STANDARD.encode([7; 32]))).is_ok());
        for (text, said) in [
            (with(&STANDARD.encode([7; 16])), "a key of secretbox"),
            (with("TOPSECRET!"), "a key of secretbox"),
            ("kind: Secret\n".into(), "no EncryptionConfiguration"),
            ("kind: EncryptionConfiguration\n".into(), "names no provider"),
            ("TOPSECRET: [".into(), "not YAML"),
        ] {
            let error = accept(&text).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("TOPSECRET"), "{error}");
        }
    }
}
