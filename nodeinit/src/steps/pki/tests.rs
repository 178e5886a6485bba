use super::{testing::run, *};
use crate::{
    context::{Context, testing::context},
    engine::journal::Record,
    host::{clock::Clock, files::NewFile},
    pki::{
        Authority, Certificate, Key,
        authority::self_signed,
        bundle::{SECRETS, SENT_SECRETS, authority, generate},
        testing::openssl,
    },
};
use nodeinit_base::sha256_hex;
use proptest::{prelude::*, sample::subsequence};
use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt,
    sync::Arc,
    time::{Duration, SystemTime},
};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Returns every file of the PKI with its content.
fn snapshot(cx: &Context) -> BTreeMap<PathBuf, Vec<u8>> {
    let names = |directory: &str| {
        let names = cx.files.list(directory).unwrap().into_iter();
        names.map(|name| Path::new(directory).join(name)).collect::<Vec<_>>()
    };
    let all = [names("/etc/kubernetes/pki"), names("/etc/kubernetes/pki/etcd")].concat();
    all.into_iter()
        .filter(|p| p.extension().is_some())
        .map(|p| (p.clone(), cx.files.read(&p).unwrap().unwrap()))
        .collect()
}

/// Returns the public keys of the CAs that these files reveal.
fn authorities(files: &BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<Ca, Vec<u8>> {
    let public_key_of = |ca: Ca| {
        let of_key = files.get(&key_path(ca.base())).map(|pem| Key::from_pem(pem).unwrap().public_bytes().to_vec());
        let certificate = files.get(&certificate_path(ca.base()));
        of_key.or_else(|| certificate.map(|pem| Certificate::from_pem(pem).unwrap().public_key))
    };
    Ca::ALL.into_iter().filter_map(|ca| Some((ca, public_key_of(ca)?))).collect()
}

fn put(cx: &Context, path: &Path, content: impl Into<Vec<u8>>) {
    cx.files.write(&[NewFile::private(path, content)]).unwrap();
}

async fn made() -> (tempfile::TempDir, Context) {
    let (dir, cx) = context();
    assert_eq!(run(&Pki, &cx).await.unwrap().len(), 12);
    (dir, cx)
}

#[tokio::test]
async fn a_fresh_machine_gets_all_of_kubeadms_files() {
    let (dir, cx) = made().await;
    let files = snapshot(&cx);
    let base = Path::new(paths::PKI);
    let names: Vec<_> = files.keys().map(|p| p.strip_prefix(base).unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names.join(" "),
        "apiserver-etcd-client.crt apiserver-etcd-client.key apiserver-kubelet-client.crt apiserver-kubelet-client.key \
         apiserver.crt apiserver.key ca.crt ca.key etcd/ca.crt etcd/ca.key etcd/healthcheck-client.crt \
         etcd/healthcheck-client.key etcd/peer.crt etcd/peer.key etcd/server.crt etcd/server.key front-proxy-ca.crt \
         front-proxy-ca.key front-proxy-client.crt front-proxy-client.key sa.key sa.pub"
    );
    for path in files.keys() {
        let mode = std::fs::metadata(cx.files.real(path)).unwrap().mode() & 0o777;
        let wanted = if path.extension().is_some_and(|e| e == "crt") { 0o644 } else { 0o600 };
        assert_eq!(mode, wanted, "{}", path.display());
    }
    for entry in catalog::entries(&cx.cluster, &cx.node) {
        let real = |path: PathBuf| cx.files.real(&path).to_str().unwrap().to_owned();
        let ca = real(certificate_path(entry.ca.base()));
        let verified = openssl(&["verify", "-x509_strict", "-CAfile", &ca, &real(certificate_path(entry.base))], b"");
        assert!(verified.ends_with("OK\n"), "{verified}");
    }
    assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0], "a second run does nothing");
    assert_eq!(snapshot(&cx), files);
    drop(dir);
}

/// Returns a machine after a kill: everything is in the journal, and the first `count` files are written.
fn killed_after(count: usize) -> (tempfile::TempDir, Context) {
    let (dir, cx) = context();
    let files = outcome(&cx).unwrap().files;
    let record = |f: &NewFile| Record::File { path: f.path.clone(), sha256: sha256_hex(&f.content), original: None };
    cx.journal.intend(files.iter().map(record).collect()).unwrap();
    for directory in ["/etc", "/etc/kubernetes", "/etc/kubernetes/pki", "/etc/kubernetes/pki/etcd"] {
        cx.files.make_directory(Path::new(directory), 0o755).unwrap();
    }
    cx.files.write(&files[..count]).unwrap();
    (dir, cx)
}

#[tokio::test]
async fn a_kill_between_any_two_files_keeps_every_key() {
    for count in 0..=22 {
        let (_dir, cx) = killed_after(count);
        let before = snapshot(&cx);
        assert_eq!(before.len(), count);
        run(&Pki, &cx).await.unwrap_or_else(|e| panic!("after {count} files: {e}"));
        let after = snapshot(&cx);
        assert_eq!(after.len(), 22);
        before.iter().for_each(|(path, content)| assert_eq!(&after[path], content, "{}", path.display()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn after_any_removal_the_ca_stays_or_an_error_is_reported(removed in subsequence((0..22).collect::<Vec<usize>>(), 0..22)) {
        runtime().block_on(async {
            let (_dir, cx) = made().await;
            let whole = snapshot(&cx);
            for path in removed.iter().map(|index| whole.keys().nth(*index).unwrap()) {
                cx.files.remove_file(path).unwrap();
            }
            let left = snapshot(&cx);
            let known = authorities(&left);
            match run(&Pki, &cx).await {
                Ok(_) => {
                    let now = authorities(&snapshot(&cx));
                    known.iter().for_each(|(ca, key)| assert_eq!(&now[ca], key, "{ca:?}"));
                    left.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "key")).for_each(|(path, content)| {
                        assert_eq!(cx.files.read(path).unwrap().as_ref(), Some(content), "{}", path.display());
                    });
                }
                Err(_) => assert_eq!(snapshot(&cx), left, "a reported file stays"),
            }
        });
    }
}

#[tokio::test]
async fn an_invalid_file_is_reported_and_not_changed() {
    let (_dir, cx) = made().await;
    let (_other_dir, other) = made().await;
    let good = snapshot(&cx);
    let foreign = snapshot(&other);
    let path = |name: &str| Path::new(paths::PKI).join(name);
    for (name, content, said) in [
        (
            "apiserver.key",
            Some(foreign[&path("apiserver.key")].clone()),
            "apiserver.crt: its private key belongs to another",
        ),
        ("etcd/peer.crt", Some(foreign[&path("etcd/peer.crt")].clone()), "another CA of the same name"),
        (
            "etcd/peer.crt",
            Some(good[&path("etcd/healthcheck-client.crt")].clone()),
            "lacks the extended key usage serverAuth",
        ),
        (
            "apiserver-etcd-client.crt",
            Some(good[&path("etcd/server.crt")].clone()),
            "is for m1 and not for kube-apiserver-etcd",
        ),
        ("apiserver.crt", Some(b"rubbish".to_vec()), "apiserver.crt: it contains no certificate in PEM"),
        ("ca.key", Some(foreign[&path("ca.key")].clone()), "ca.crt: its private key belongs to another"),
        ("ca.crt", Some(good[&path("apiserver.crt")].clone()), "is not a CA's certificate"),
        ("front-proxy-ca.key", Some(b"rubbish".to_vec()), "front-proxy-ca.key: it contains no private key"),
        ("sa.pub", Some(good[&path("ca.crt")].clone()), "sa.pub: is not the public key of sa.key"),
    ] {
        put(&cx, &path(name), content.unwrap());
        let before = snapshot(&cx);
        let error = run(&Pki, &cx).await.unwrap_err();
        assert!(error.contains(said), "{name}: {error}");
        assert!(error.split('|').nth(1).is_some_and(|advice| advice.len() > 10), "{error}");
        assert_eq!(snapshot(&cx), before);
        put(&cx, &path(name), good[&path(name)].clone());
    }
}

#[tokio::test]
async fn our_certificate_gains_names_and_a_foreign_one_is_reported() {
    let (_dir, mut cx) = made().await;
    let path = certificate_path("apiserver");
    let before = snapshot(&cx);
    Arc::make_mut(&mut cx.cluster).control_plane.cert_sans = vec!["api.example.org".into()];
    let changes = run(&Pki, &cx).await.unwrap();
    assert_eq!(
        changes,
        ["reissue, since it is not valid for api.example.org, /etc/kubernetes/pki/apiserver.crt for the existing key"]
    );
    let mut after = snapshot(&cx);
    let new = after.insert(path.clone(), before[&path].clone()).unwrap();
    assert_eq!(after, before, "nothing else changed");
    Arc::make_mut(&mut cx.cluster).control_plane.cert_sans.clear();
    assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0], "additional names are accepted");

    put(&cx, &path, [new, b"# touched by hand\n".to_vec()].concat());
    Arc::make_mut(&mut cx.cluster).control_plane.cert_sans = vec!["other.example.org".into()];
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("is not valid for other.example.org"), "{error}");
}

#[tokio::test]
async fn an_external_ca_is_accepted_only_with_every_certificate() {
    let (_dir, cx) = made().await;
    for ca in Ca::ALL {
        cx.files.remove_file(key_path(ca.base())).unwrap();
    }
    assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0]);
    cx.files.remove_file(certificate_path("apiserver")).unwrap();
    cx.files.remove_file(key_path("etcd/server")).unwrap();
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("2 files in /etc/kubernetes/pki cannot be used"), "{error}");
    assert!(
        error.contains("apiserver.crt: is required, and ca.key, which could sign it, is not on this machine"),
        "{error}"
    );
    assert!(error.contains("etcd/server.crt: is required, and etcd/ca.key"), "{error}");
    assert!(error.contains("issue it with your CA"), "{error}");
}

#[tokio::test]
async fn validity_is_checked_against_the_given_clock() {
    let (_dir, mut cx) = made().await;
    cx.clock = Clock::behind(Duration::from_secs(3600));
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("valid only from") && error.contains("synchronize this machine's clock"), "{error}");

    let (_dir, cx) = made().await;
    let key = Key::generate().unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(400 * 24 * 3600);
    let ca = self_signed("kubernetes", &key, long_ago).unwrap();
    let authority = Authority::new(
        Certificate::from_pem(ca.as_bytes()).unwrap(),
        Key::from_pem(key.pem().expose().as_bytes()).unwrap(),
    )
    .unwrap();
    put(&cx, &certificate_path("ca"), ca);
    put(&cx, &key_path("ca"), key.pem().expose().as_bytes());
    for entry in catalog::entries(&cx.cluster, &cx.node).iter().filter(|e| e.ca == Ca::Kubernetes) {
        let key = Key::from_pem(&cx.files.read(key_path(entry.base)).unwrap().unwrap()).unwrap();
        put(&cx, &certificate_path(entry.base), authority.issue(&entry.leaf, &key, long_ago).unwrap());
    }
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("apiserver.crt: expired at") && error.contains("nodeinit certs renew"), "{error}");
}

#[tokio::test]
async fn a_running_cluster_gets_no_new_ca() {
    let (_dir, cx) = made().await;
    std::fs::create_dir_all(cx.files.real(&cx.cluster.etcd.data_directory.join("member/wal"))).unwrap();
    for path in snapshot(&cx).keys() {
        cx.files.remove_file(path).unwrap();
    }
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("ca.crt: is missing, but etcd contains a cluster"), "{error}");
    assert!(error.contains("sa.key: is missing"), "{error}");
}

#[tokio::test]
async fn the_keys_of_the_bundle_are_used_and_another_bundle_is_refused() {
    let (_dir, cx) = context();
    for directory in ["/etc", "/etc/nodeinit"] {
        cx.files.make_directory(Path::new(directory), 0o755).unwrap();
    }
    let now = SystemTime::now();
    let given = generate(now).unwrap();
    cx.files.write(&[NewFile::public(SECRETS, given.text().expose().as_bytes())]).unwrap();
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("can be read by others (mode 644)") && error.contains("chmod 600"), "{error}");

    put(&cx, Path::new(SECRETS), given.text().expose().as_bytes());
    let changes = run(&Pki, &cx).await.unwrap();
    assert!(changes.contains(&"take from /etc/nodeinit/secrets.yaml /etc/kubernetes/pki/ca.crt and its key".into()));
    for ca in Ca::ALL {
        let read = |path| String::from_utf8(cx.files.read(path).unwrap().unwrap()).unwrap();
        assert_eq!(read(certificate_path(ca.base())), authority(&given, ca).certificate);
        assert_eq!(&read(key_path(ca.base())), authority(&given, ca).key.expose());
    }
    let before = snapshot(&cx);
    cx.files.remove_file(key_path("ca")).unwrap();
    cx.files.remove_file(certificate_path("etcd/ca")).unwrap();
    cx.files.remove_file(key_path("sa")).unwrap();
    assert_eq!(run(&Pki, &cx).await.unwrap().len(), 3);
    assert_eq!(snapshot(&cx), before, "lost files are restored from the bundle");

    put(&cx, Path::new(SECRETS), generate(now).unwrap().text().expose().as_bytes());
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("ca.crt: differs from the CA in /etc/nodeinit/secrets.yaml"), "{error}");
    assert!(error.contains("sa.key: differs from serviceAccountKey"), "{error}");
    assert_eq!(snapshot(&cx), before);
    // A bundle that was sent takes precedence, with the same checks.
    for directory in ["/run", "/run/nodeinit"] {
        cx.files.make_directory(Path::new(directory), 0o755).unwrap();
    }
    cx.files.write(&[NewFile::public(SENT_SECRETS, given.text().expose().as_bytes())]).unwrap();
    let error = run(&Pki, &cx).await.unwrap_err();
    assert!(error.contains("/run/nodeinit/secrets.yaml contains secrets of the cluster and can be read"), "{error}");
    put(&cx, Path::new(SENT_SECRETS), given.text().expose().as_bytes());
    cx.files.remove_file(key_path("sa")).unwrap();
    let changes = run(&Pki, &cx).await.unwrap();
    assert_eq!(changes, ["take from /run/nodeinit/secrets.yaml /etc/kubernetes/pki/sa.key"]);
}
