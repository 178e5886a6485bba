//! The SSH key with which a master reaches the other machines, and their host keys.

use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::Record,
        step::{State, Step},
        step_id::StepId,
    },
    host::files::{Files, NewFile},
    pki::bundle::{JUMP_HOST, SENT_SECRETS},
    steps::pki::bundle,
};
use async_trait::async_trait;
use bytes::Bytes;
use nodeinit_config::{
    Secret,
    cluster::{Cluster, Role},
    format::HOST_KEY,
};
use nodeinit_protocol::bundle::SshKey;
use nodeinit_ssh::ClientKey;
use std::{collections::BTreeMap, fmt::Write, path::Path, time::SystemTime};

/// The private key.
pub(super) const KEY: &str = "/etc/nodeinit/ssh/id";

/// The host keys; each line is the name of a machine and a key.
const HOST_KEYS: &str = "/etc/nodeinit/ssh/known_hosts";

/// This machine's own host keys.
const OWN_HOST_KEYS: &str = "/etc/ssh";

/// Step `fan-out-key`: this master has the SSH key, and the host keys that the leading master sent.
pub struct FanOutKey;

fn wanted(cx: &Context) -> Result<Vec<NewFile>, StepError> {
    if bundle::place(&cx.files) != SENT_SECRETS {
        // The first master has the key elsewhere. Without one, it brings up only itself.
        let is_first = cx.node.role == Role::FirstMaster && cx.cluster.masters.len() > 1;
        let own = is_first.then(|| key_text(&cx.files, &cx.cluster, cx.clock.now()).ok()).flatten();
        return Ok(own.map(|(_, key)| NewFile::private(KEY, key.expose().as_bytes())).into_iter().collect());
    }
    let Some(bundle) = bundle::read(&cx.files, cx.clock.now())? else { return Ok(Vec::new()) };
    let Some(key) = bundle.ssh_key else { return Ok(Vec::new()) };
    let key = NewFile::private(KEY, key.private.expose().as_bytes());
    Ok(vec![key, NewFile::private(HOST_KEYS, text(&bundle.host_keys))])
}

fn text(keys: &BTreeMap<String, Vec<String>>) -> String {
    let lines = keys.iter().flat_map(|(name, keys)| keys.iter().map(move |key| (name, key)));
    lines.fold(String::new(), |mut text, (name, key)| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name} {key}");
        text
    })
}

/// Returns the host keys that the leading master sent, by machine.
///
/// # Errors
/// If the file cannot be read.
fn sent_host_keys(files: &Files) -> Result<BTreeMap<String, Vec<String>>, StepError> {
    let mut keys = BTreeMap::<String, Vec<String>>::new();
    for line in files.read_text(HOST_KEYS)?.unwrap_or_default().lines() {
        if let Some((name, key)) = line.split_once(' ') {
            keys.entry(name.to_owned()).or_default().push(key.to_owned());
        }
    }
    Ok(keys)
}

/// Returns the files that another master has from this one: the SSH key, and the host keys that the configuration does not have.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn keys_of_master(cx: &Context) -> Result<Vec<(&'static str, Bytes)>, StepError> {
    let key = Bytes::copy_from_slice(key_to_send(cx)?.private.expose().as_bytes());
    let host_keys = text(&known_host_keys(cx)?);
    let host_keys = (!host_keys.is_empty()).then(|| (HOST_KEYS, Bytes::from(host_keys)));
    Ok(std::iter::once((KEY, key)).chain(host_keys).collect())
}

/// Forgets the host keys of a machine that is gone.
///
/// # Errors
/// If the file cannot be written.
pub async fn forget(cx: &Context, name: &str) -> Result<(), StepError> {
    let mut keys = sent_host_keys(&cx.files)?;
    if keys.remove(name).is_some() {
        cx.place(vec![NewFile::private(HOST_KEYS, text(&keys))]).await?;
    }
    let (cx, name) = (cx.clone(), name.to_owned());
    blocking(move || Ok(cx.journal.intend(vec![Record::HostKeyGone { name }])?)).await
}

/// The keys of the configuration, else of the secrets bundle, else those that the leading master sent, else the one that was trusted on first
/// use: what was sent is newer, as the machine may have been replaced.
pub(super) fn host_keys(cx: &Context, name: &str, configured: &[String]) -> Result<Vec<String>, StepError> {
    if !configured.is_empty() {
        return Ok(configured.to_vec());
    }
    let bundle = bundle::read(&cx.files, cx.clock.now())?;
    if let Some(keys) = bundle.and_then(|bundle| bundle.host_keys.get(name).cloned()) {
        return Ok(keys);
    }
    let trusted = || cx.journal.state().host_keys.get(name).cloned().into_iter().collect();
    Ok(sent_host_keys(&cx.files)?.remove(name).unwrap_or_else(trusted))
}

/// Returns the host keys that the configuration does not have, by machine.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn known_host_keys(cx: &Context) -> Result<BTreeMap<String, Vec<String>>, StepError> {
    // Former keys of a machine whose keys are configured would differ from master to master.
    let machines = cx.cluster.machines().map(|(machine, _)| machine).filter(|machine| machine.host_keys.is_empty());
    let machines = machines.map(|machine| machine.name.as_str());
    let mut all = BTreeMap::new();
    for name in machines.chain([JUMP_HOST]) {
        let keys = match name == cx.node.name {
            true => own_host_keys(&cx.files)?,
            false => host_keys(cx, name, &[])?,
        };
        if !keys.is_empty() {
            all.insert(name.to_owned(), keys);
        }
    }
    Ok(all)
}

fn own_host_keys(files: &Files) -> Result<Vec<String>, StepError> {
    let mut keys = Vec::new();
    for name in files.list(OWN_HOST_KEYS)? {
        if name.starts_with("ssh_host_") && name.ends_with("_key.pub") {
            let text = files.read_text(Path::new(OWN_HOST_KEYS).join(name))?.unwrap_or_default();
            let mut words = text.split_whitespace();
            // An RSA key, for example, is not used.
            let key = words.next().zip(words.next()).map(|(kind, key)| format!("{kind} {key}"));
            keys.extend(key.filter(|key| HOST_KEY.accepts(key)));
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

/// The key with which this machine reaches the others: that of `ssh.keyFile`, else that of the secrets bundle, else the one that the leading
/// master sent.
///
/// # Errors
/// Where there is none, or it cannot be used.
pub fn read_key(files: &Files, cluster: &Cluster, now: SystemTime) -> Result<ClientKey, StepError> {
    let (from, text) = key_text(files, cluster, now)?;
    parse_key(&from, &text)
}

fn parse_key(from: &str, text: &Secret<String>) -> Result<ClientKey, StepError> {
    ClientKey::parse(text.expose())
        .map_err(|e| StepError::caused(format!("cannot use the SSH key of {from}"), e).exit(Exit::BadConfig))
}

/// The same key, for another master.
///
/// # Errors
/// As [`read_key`].
pub(super) fn key_to_send(cx: &Context) -> Result<SshKey, StepError> {
    let (from, private) = key_text(&cx.files, &cx.cluster, cx.clock.now())?;
    let public = parse_key(&from, &private)?.public().to_owned();
    Ok(SshKey { private, public })
}

/// Returns where the key is, and its text.
fn key_text(files: &Files, cluster: &Cluster, now: SystemTime) -> Result<(String, Secret<String>), StepError> {
    let configured = cluster.ssh.key_file.as_deref();
    let (from, text) = match configured {
        Some(path) => (path.display().to_string(), files.read_secret_text(path)?),
        None => {
            let key = bundle::read(files, now)?.and_then(|bundle| bundle.ssh_key);
            ("the secrets bundle".to_owned(), key.map(|key| key.private))
        }
    };
    if let Some(text) = text {
        return Ok((from, text));
    }
    if let Some(text) = files.read_secret_text(KEY)? {
        return Ok((KEY.to_owned(), text));
    }
    let (what, hint) = match configured {
        Some(path) => (
            format!("ssh.keyFile: {} does not exist", path.display()),
            "put the private key there, or correct ssh.keyFile",
        ),
        None => (
            "there is no SSH key to reach the other machines".to_owned(),
            "set `ssh.keyFile`, or give this machine a secrets bundle, which contains a key; `nodeinit up --local` leaves the other \
             machines alone",
        ),
    };
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

#[async_trait(?Send)]
impl Step for FanOutKey {
    fn id(&self) -> StepId {
        StepId::FanOutKey
    }

    fn title(&self) -> String {
        "keep the SSH key with which every master can lead".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let cx = cx.clone();
        Ok(State::of(blocking(move || cx.differing(&wanted(&cx)?)).await?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.place(wanted(cx)?).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::{context, context_of},
        pki::bundle::generate,
    };
    use std::time::SystemTime;

    #[tokio::test]
    async fn what_was_sent_is_kept_without_the_bundle() {
        let (_dir, cx) = context();
        assert_eq!(FanOutKey.check(&cx).await.unwrap(), State::Done);
        let mut bundle = generate(SystemTime::now()).unwrap();
        bundle.host_keys = ["m1", "w1"].map(|name| (name.into(), vec![HOST_KEY.example.into()])).into();
        let sent = NewFile::private(SENT_SECRETS, bundle.text().expose().as_bytes());
        cx.place(vec![sent]).await.unwrap();
        FanOutKey.apply(&cx).await.unwrap();
        assert_eq!(FanOutKey.check(&cx).await.unwrap(), State::Done);
        cx.files.remove_file(SENT_SECRETS).unwrap();
        assert_eq!(cx.files.read_text(KEY).unwrap().unwrap(), *bundle.ssh_key.unwrap().private.expose());
        assert_eq!(cx.files.mode(KEY.as_ref()).unwrap() & 0o777, 0o600);
        assert_eq!(sent_host_keys(&cx.files).unwrap(), bundle.host_keys);
        forget(&cx, "w1").await.unwrap();
        assert_eq!(sent_host_keys(&cx.files).unwrap().into_keys().collect::<Vec<_>>(), ["m1"]);
    }

    #[tokio::test]
    async fn another_master_has_the_keys_that_this_one_trusts() {
        let (_dir, cx) = context_of(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nssh: {trustOnFirstUse: true}\n\
             masters: [{name: m1, address: 10.0.0.11}, {name: m2, address: 10.0.0.12}]\n",
        );
        let key = generate(SystemTime::now()).unwrap().ssh_key.unwrap().private;
        cx.place(vec![NewFile::private(KEY, key.expose().as_bytes())]).await.unwrap();
        let host_keys = || {
            let all = keys_of_master(&cx).unwrap().into_iter();
            let text = all.filter(|(path, _)| *path == HOST_KEYS).map(|(_, text)| text.to_vec()).next();
            text.map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(host_keys(), None);
        let key = HOST_KEY.example.to_owned();
        cx.journal.intend(vec![Record::HostKey { name: "m2".into(), key: key.clone() }]).unwrap();
        let known = format!("m2 {key}\n");
        assert_eq!(host_keys().as_deref(), Some(&*known));
        // Another master has sent the same key, then that of the machine that has replaced it.
        for sent in [known, format!("m2 {}\n", key.replace(' ', " B"))] {
            cx.place(vec![NewFile::private(HOST_KEYS, sent.as_bytes())]).await.unwrap();
            assert_eq!(host_keys(), Some(sent));
        }
    }
}
