//! How the API server encrypts Secrets in etcd.

use super::{
    etcd,
    fanout::Fleet,
    pki::{bundle, cluster_exists},
};
use crate::{
    api::etcd::{Etcd, EtcdError, Members},
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::files::NewFile,
    pki::{
        bundle::{Encryption, SENT_SECRETS},
        random,
    },
    render::{api_server::encryption, paths},
};
use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::future;
use nodeinit_base::sha256_hex;
use nodeinit_config::{Secret, cluster::Role, yaml};
use nodeinit_ssh::{digest_command, hex_word};
use serde_json::Value;
use std::collections::BTreeMap;

/// Step `encryption-config`: the configuration with its key.
///
/// The first master generates the key once, or takes it from the secrets bundle. Another master gets an exact copy of the first one's
/// file: Secrets name the key that encrypted them, and the operator may have rotated keys. An existing file stays: without its keys
/// the cluster's Secrets cannot be read.
pub struct EncryptionConfig;

#[async_trait(?Send)]
impl Step for EncryptionConfig {
    fn id(&self) -> StepId {
        StepId::EncryptionConfig
    }

    fn title(&self) -> String {
        "generate the key that encrypts Secrets in etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        match cx.files.read_secret_text(paths::ENCRYPTION)? {
            Some(text) => accept(text.expose()).map(|()| State::Done),
            None => {
                let source = configuration(cx)?.1;
                Ok(State::needed(format!("{source}, and write {}", paths::ENCRYPTION)))
            }
        }
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let text = configuration(cx)?.0;
        cx.claim_trees(vec![paths::KUBERNETES.into()]).await?;
        cx.place(vec![NewFile::private(paths::ENCRYPTION, text.expose().as_bytes())]).await.map(drop)
    }
}

/// Returns the configuration and a description of its source.
fn configuration(cx: &Context) -> Result<(Secret<String>, &'static str), StepError> {
    if let Some(bundle) = bundle::read(&cx.files, cx.clock.now())? {
        return match bundle.encryption {
            Encryption::Key(key) => {
                Ok((encryption(&cx.renderer(), &key)?, "take the encryption key from the secrets bundle"))
            }
            Encryption::Configuration(text) => {
                accept(text.expose())?;
                Ok((text, "take the encryption keys from the secrets bundle"))
            }
        };
    }
    if cx.node.role != Role::FirstMaster {
        return Err(bundle::none());
    }
    if cluster_exists(cx) {
        let what = format!("{} is missing, and etcd may hold Secrets that only its key can decrypt", paths::ENCRYPTION);
        return Err(StepError::new(what).hint("restore it from a backup, or discard the cluster with `nodeinit reset`"));
    }
    let fresh = random::bytes().map_err(|e| StepError::caused("cannot generate an encryption key", e))?;
    Ok((encryption(&cx.renderer(), &Secret::new(fresh))?, "generate an encryption key"))
}

/// Returns the SHA-256 of this machine's file; `None` if there is none.
pub(super) fn digest(cx: &Context) -> Result<Option<String>, StepError> {
    Ok(cx.files.read_secret(paths::ENCRYPTION)?.map(|content| sha256_hex(content.expose())))
}

/// Whether etcd has the digest of this machine's file. Other masters compare their file with it when they join.
pub(super) async fn is_published(cx: &Context, etcd: &Etcd) -> Result<bool, StepError> {
    let own = digest(cx)?;
    Ok(etcd.encryption_digests().await.is_ok_and(|all| all.get(&cx.node.name) == own.as_ref()))
}

/// Verifies, before this machine joins the etcd of other masters, that it has their encryption keys. Its own may come from a secrets
/// bundle that is older than the cluster's keys.
///
/// The first master has just sent the cluster's keys to the machines that it brings up. On any other machine, the other masters'
/// files, read over SSH, decide; if none of them answers, the digests that they published in etcd do.
///
/// # Errors
/// If the keys differ, or cannot be compared with any other master's.
pub(super) async fn verify(cx: &Context, etcd: &Etcd, members: &Members) -> Result<Result<(), EtcdError>, StepError> {
    let Some(own) = cx.files.read_secret_text(paths::ENCRYPTION)? else { return Ok(Ok(())) };
    if bundle::place(&cx.files) == SENT_SECRETS && configuration(cx)?.0 == own {
        return Ok(Ok(()));
    }
    let (newest, mut published) = match (etcd.newest_secret().await, etcd.encryption_digests().await) {
        (Ok(newest), Ok(published)) => (newest, published),
        (Err(e), _) | (_, Err(e)) => return Ok(Err(e)),
    };
    if let Some(key) =
        newest.as_deref().and_then(key_name).filter(|key| key_names(own.expose()).iter().all(|name| name != key))
    {
        let what = format!("{} has no key {key}, which encrypts the cluster's Secrets", paths::ENCRYPTION);
        return Err(StepError::new(what).hint(COPY));
    }
    let is_member = |name: &str| members.members.iter().any(|member| member.name == name);
    published.retain(|name, _| *name != cx.node.name && is_member(name));
    let (fleet, command) = (Fleet::new(&cx.cluster), digest_command(paths::ENCRYPTION));
    let asked = etcd::others(cx).filter(|master| is_member(&master.name)).map(async |master| {
        let answer = fleet.ask(cx, master, &command).await;
        let digest = answer.and_then(|text| Ok(hex_word(&text, 64).ok_or("it printed no digest")?.to_owned()));
        (master.name.clone(), digest)
    });
    compare(&sha256_hex(own.expose().as_bytes()), &future::join_all(asked).await, &published).map(Ok)
}

/// Hint: how to get the keys of the cluster.
const COPY: &str =
    "copy the file from a master of the cluster to this machine with mode 0600, then run the same command again";

/// Compares the digest of this machine's file with the digests that the other masters reported, or else published.
fn compare(
    own: &str,
    asked: &[(String, Result<String, String>)],
    published: &BTreeMap<String, String>,
) -> Result<(), StepError> {
    let path = paths::ENCRYPTION;
    let differs = |name: &str, hint: String| {
        let what = format!(
            "{path} differs from the file on {name}: neither master could read the Secrets that the other one writes"
        );
        Err(StepError::new(what).hint(hint))
    };
    let mut answers = asked.iter().filter_map(|(name, answer)| Some((name, answer.as_ref().ok()?))).peekable();
    if answers.peek().is_some() {
        return match answers.find(|(_, digest)| *digest != own) {
            Some((name, _)) => differs(name, COPY.into()),
            None => Ok(()),
        };
    }
    if let Some((name, _)) = published.iter().find(|(_, digest)| *digest != own) {
        let published = format!(
            "; if the keys on {name} changed after its last `nodeinit up`, first run `nodeinit up` on that master"
        );
        return differs(name, COPY.to_owned() + &published);
    }
    if !published.is_empty() {
        return Ok(());
    }
    let reasons = asked.iter().filter_map(|(name, answer)| Some(format!("{name} ({})", answer.as_ref().err()?)));
    let what = format!(
        "cannot verify that {path} has the encryption keys of the cluster: no other master published the digest of its file, and \
         none answers over SSH: {}",
        reasons.collect::<Vec<_>>().join(", ")
    );
    let hint = "run `nodeinit up` on another master, which publishes the digest, or let this machine log in to one over SSH; then run \
                `nodeinit up` again here";
    Err(StepError::new(what).exit(Exit::TryAgain).hint(hint))
}

/// Returns the name of the key that encrypted an object. The API server writes it in front of the object: `k8s:enc:secretbox:v1:key1:`.
fn key_name(stored: &[u8]) -> Option<&str> {
    let mut parts = stored.strip_prefix(b"k8s:enc:")?.split(|byte| *byte == b':');
    let (kind, _version) = (parts.next()?, parts.next()?);
    // The keys of a KMS plugin are not in this file.
    if kind == b"kms" { None } else { str::from_utf8(parts.next()?).ok() }
}

/// Returns the names of the keys in a configuration.
fn key_names(text: &str) -> Vec<String> {
    let config = yaml::document(text).unwrap_or_default();
    let keys = providers(&config).into_iter().flat_map(|provider| {
        let kinds = provider.as_object().cloned().unwrap_or_default();
        kinds.into_values().flat_map(|kind| list(&kind["keys"])).collect::<Vec<_>>()
    });
    keys.filter_map(|key| key["name"].as_str().map(str::to_owned)).collect()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn providers(config: &Value) -> Vec<Value> {
    list(&config["resources"]).iter().flat_map(|resource| list(&resource["providers"])).collect()
}

/// Refuses a configuration that the API server cannot use.
/// Source: `k8s.io/apiserver/pkg/apis/apiserver/validation`, `ValidateEncryptionConfiguration`.
///
/// # Errors
/// What is wrong with the file; never its content.
pub(super) fn accept(text: &str) -> Result<(), StepError> {
    let wrong = |why: &str| {
        let what = format!("{} cannot be used: {why}", paths::ENCRYPTION);
        Err(StepError::new(what).hint("restore the right file; without its key no Secret can be read"))
    };
    let config = match yaml::document(text) {
        Ok(config) => config,
        Err(e) => return wrong(&format!("it is not YAML: {e}")),
    };
    if config["kind"] != "EncryptionConfiguration" {
        return wrong("it is not an EncryptionConfiguration");
    }
    let providers = providers(&config);
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
    use crate::{
        context::testing::{context, context_of},
        pki::{
            bundle::{Authorities, Bundle, SENT_SECRETS, authority, generate},
            catalog::Ca,
        },
        steps::pki::testing::run,
    };
    use std::os::unix::fs::MetadataExt;

    fn read(cx: &Context) -> Option<String> {
        cx.files.read_text(paths::ENCRYPTION).unwrap()
    }

    #[tokio::test]
    async fn the_key_is_generated_once_and_kept() {
        let (_dir, cx) = context();
        assert_eq!(run(&EncryptionConfig, &cx).await.unwrap().len(), 1);
        let first = read(&cx);
        let mode = std::fs::metadata(cx.files.real(paths::ENCRYPTION.as_ref())).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(run(&EncryptionConfig, &cx).await.unwrap(), [""; 0]);
        assert_eq!(read(&cx), first);

        std::fs::create_dir_all(cx.files.real(&cx.cluster.etcd.data_directory.join("member/wal"))).unwrap();
        cx.files.remove_file(paths::ENCRYPTION).unwrap();
        let error = run(&EncryptionConfig, &cx).await.unwrap_err();
        assert!(error.contains("is missing, and etcd may hold Secrets"), "{error}");
    }

    #[tokio::test]
    async fn another_master_gets_every_key_with_its_name_in_order() {
        let rotated = format!(
            "# rotated\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - secretbox:\n      \
             keys:\n      - {{name: second, secret: {}}}\n      - {{name: first, secret: {}}}\n  - identity: {{}}\n",
            STANDARD.encode([2; 32]),
            STANDARD.encode([1; 32])
        );
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\ncontrolPlane: {endpoint: \
                      'api.example:6443'}\nmasters: [{name: m0, address: 10.0.0.10}, {name: m1, address: 10.0.0.11}]\n";
        let (_dir, cx) = context_of(config);
        assert_eq!(cx.node.role, Role::Master);
        let generated = generate(cx.clock.now()).unwrap();
        let ca = |ca| authority(&generated, ca).clone();
        let authorities =
            Authorities { kubernetes: ca(Ca::Kubernetes), etcd: ca(Ca::Etcd), front_proxy: ca(Ca::FrontProxy) };
        let key = generated.service_account_key.clone();
        let sent = Bundle::for_master(
            authorities,
            key,
            Secret::new(rotated.clone()),
            crate::pki::ssh_key::generate().unwrap(),
            BTreeMap::new(),
        )
        .text();
        cx.place(vec![NewFile::private(SENT_SECRETS, sent.expose().as_bytes())]).await.unwrap();
        assert_eq!(run(&EncryptionConfig, &cx).await.unwrap().len(), 1);
        assert_eq!(read(&cx).unwrap(), rotated);
    }

    #[test]
    fn a_master_joins_only_with_keys_that_another_one_confirms() {
        let silent = || Err("connection refused".to_owned());
        let answers = |m2: Result<&str, String>, m3: Result<&str, String>| {
            [("m2".to_owned(), m2.map(str::to_owned)), ("m3".to_owned(), m3.map(str::to_owned))]
        };
        let published = |digests: &[(&str, &str)]| {
            digests.iter().map(|(name, digest)| (name.to_string(), digest.to_string())).collect::<BTreeMap<_, _>>()
        };
        let none = published(&[]);
        let compare = |asked: [(String, Result<String, String>); 2], published: &BTreeMap<String, String>| {
            compare("own", &asked, published).map_err(|e| (e.exit, e.to_string()))
        };
        assert_eq!(compare(answers(Ok("own"), silent()), &none), Ok(()));
        let (exit, what) = compare(answers(silent(), silent()), &none).unwrap_err();
        assert_eq!(exit, Exit::TryAgain);
        assert!(what.contains("m2 (connection refused), m3 (connection refused)"), "{what}");
        assert!(compare(answers(Ok("own"), Ok("other")), &none).unwrap_err().1.contains("differs from the file on m3"));
        assert_eq!(compare(answers(silent(), silent()), &published(&[("m3", "own")])), Ok(()));
        let former = published(&[("m2", "own"), ("m3", "other")]);
        let (exit, what) = compare(answers(silent(), silent()), &former).unwrap_err();
        assert!(exit != Exit::TryAgain && what.contains("differs from the file on m3"), "{what}");
        assert_eq!(compare(answers(Ok("own"), silent()), &former), Ok(()), "a master's answer takes precedence");
    }

    #[test]
    fn the_key_of_a_stored_secret_is_found() {
        assert_eq!(key_name(b"k8s:enc:secretbox:v1:key1:\xff\x00:"), Some("key1"));
        for other in [&b"k8s:\x00\n\x0c"[..], b"k8s:enc:kms:v2:plugin:\xff", b"k8s:enc:secretbox", b""] {
            assert_eq!(key_name(other), None);
        }
        let config = "resources:\n- providers:\n  - secretbox: {keys: [{name: b}, {name: a}]}\n  - identity: {}\n";
        assert_eq!(key_names(config), ["b", "a"]);
    }

    #[test]
    fn a_file_that_the_api_server_would_refuse_is_refused() {
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
            ("kind: Secret\n".into(), "not an EncryptionConfiguration"),
            ("kind: EncryptionConfiguration\n".into(), "names no provider"),
            ("TOPSECRET: [".into(), "not YAML"),
        ] {
            let error = accept(&text).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("TOPSECRET"), "{error}");
        }
    }
}
