use super::*;
use crate::{
    context::testing::context,
    pki::testing::openssl,
    steps::pki::{
        Pki,
        testing::{aged, run},
    },
};
use std::{collections::BTreeMap, os::unix::fs::MetadataExt};

const CURRENT: &str = paths::KUBELET_CLIENT_CURRENT;

async fn made() -> (tempfile::TempDir, Context) {
    let (dir, cx) = context();
    run(&Pki, &cx).await.unwrap();
    let changes = run(&Kubeconfigs, &cx).await.unwrap();
    assert_eq!(changes.len(), 8, "{changes:?}");
    (dir, cx)
}

fn snapshot(cx: &Context) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = ["/etc/kubernetes", paths::KUBELET_PKI].into_iter().flat_map(|directory| {
        let names = cx.files.list(directory).unwrap().into_iter();
        names.map(move |name| Path::new(directory).join(name))
    });
    files.filter(|path| path.extension().is_some()).map(|p| (p.clone(), cx.files.read(&p).unwrap().unwrap())).collect()
}

fn put(cx: &Context, path: &Path, content: impl Into<Vec<u8>>) {
    cx.files.write(&[NewFile::private(path, content)]).unwrap();
}

#[tokio::test]
async fn each_user_has_a_certificate_of_the_cluster() {
    let (_dir, cx) = made().await;
    let ca = cx.files.real(&certificate_path("ca"));
    for (user, group, server) in [
        (User::Admin, Some("kubeadm:cluster-admins"), "https://10.0.0.11:6443"),
        (User::SuperAdmin, Some("system:masters"), "https://10.0.0.11:6443"),
        (User::ControllerManager, None, "https://10.0.0.11:6443"),
        (User::Scheduler, None, "https://10.0.0.11:6443"),
        (User::Agent, None, "https://10.0.0.11:6443"),
    ] {
        let text = cx.files.read_text(path(user)).unwrap().unwrap();
        let existing = Existing::read(&cx.files, &text).unwrap();
        let (certificate, key) = existing.client.unwrap();
        assert!(certificate.fits(&key));
        assert_eq!(certificate.common_name, user.name());
        assert_eq!(certificate.organizations, group.map(String::from).into_iter().collect::<Vec<_>>());
        assert_eq!(existing.server, server);
        let mode = std::fs::metadata(cx.files.real(&path(user))).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }
    let pem = cx.files.read(CURRENT).unwrap().unwrap();
    let verify = ["verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", ca.to_str().unwrap()];
    assert!(openssl(&verify, &pem).contains("OK"));
    let client = Certificate::from_pem(&pem).unwrap();
    assert_eq!(
        (client.common_name.as_str(), &client.organizations[..]),
        ("system:node:m1", &["system:nodes".into()][..])
    );
    let target = cx.files.link_target(Path::new(CURRENT)).unwrap();
    assert!(target.to_str().unwrap().starts_with("kubelet-client-2") && target.components().count() == 1, "{target:?}");
    let serving = cx.files.read(paths::KUBELET_SERVER_CURRENT).unwrap().unwrap();
    let verify = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_ip", "10.0.0.11", "-CAfile"];
    assert!(openssl(&[&verify[..], &[ca.to_str().unwrap()]].concat(), &serving).contains("OK"));
}

#[tokio::test]
async fn a_second_run_changes_nothing_and_a_missing_file_is_created() {
    let (_dir, cx) = made().await;
    let before = snapshot(&cx);
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap(), [""; 0]);
    for path in [path(User::Scheduler), Path::new(paths::KUBERNETES).join("kubelet.conf"), CURRENT.into()] {
        cx.files.remove_file(&path).unwrap();
        assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 1);
    }
    cx.files.remove_file(paths::KUBELET_SERVER_CURRENT).unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 1);
    let after = snapshot(&cx);
    let same = ["admin.conf", "super-admin.conf", "kubelet.conf"].map(|name| Path::new(paths::KUBERNETES).join(name));
    same.iter().for_each(|path| assert_eq!(before[path], after[path]));
}

#[tokio::test]
async fn an_expired_serving_certificate_is_replaced() {
    let (_dir, cx) = made().await;
    let (_other_dir, other) = aged(400).await;
    let expired = other.files.read(paths::KUBELET_SERVER_CURRENT).unwrap().unwrap();
    let name = Path::new(paths::KUBELET_PKI).join("kubelet-server-2025-01-01-00-00-00.pem");
    put(&cx, &name, expired.clone());
    cx.files.link(Path::new(paths::KUBELET_SERVER_CURRENT), Path::new(name.file_name().unwrap())).unwrap();
    let changes = run(&Kubeconfigs, &cx).await.unwrap();
    assert!(changes.len() == 1 && changes[0].contains("kubelet-server-current.pem: it expired at "), "{changes:?}");
    assert_ne!(cx.files.read(paths::KUBELET_SERVER_CURRENT).unwrap().unwrap(), expired);
}

/// Without the agent, the kubelet serves with a pair that only nodeinit renews.
fn without_agent() -> (tempfile::TempDir, Context) {
    let (dir, mut cx) = context();
    std::sync::Arc::make_mut(&mut cx.cluster).agent.enabled = false;
    (dir, cx)
}

#[tokio::test]
async fn without_the_agent_the_kubelets_key_stays() {
    let (_dir, cx) = without_agent();
    run(&Pki, &cx).await.unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 7);
    let [certificate, key] = ["kubelet.crt", "kubelet.key"].map(|name| Path::new(paths::KUBELET_PKI).join(name));
    let before = snapshot(&cx);
    cx.files.remove_file(&certificate).unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 1);
    assert_eq!(before[&key], snapshot(&cx)[&key]);
    assert!(!cx.files.exists(path(User::Agent)) && !cx.files.exists(paths::KUBELET_SERVER_CURRENT));
}

#[tokio::test]
async fn without_the_agent_an_invalid_serving_certificate_of_nodeinit_is_replaced() {
    let [certificate, key] = ["kubelet.crt", "kubelet.key"].map(|name| Path::new(paths::KUBELET_PKI).join(name));
    let (_other_dir, other) = without_agent();
    run(&Pki, &other).await.unwrap();
    run(&Kubeconfigs, &other).await.unwrap();
    let foreign = other.files.read(&certificate).unwrap().unwrap();
    let days = |n: u64| std::time::Duration::from_secs(n * 24 * 3600);

    for fault in
        ["expired at", "is not valid for 10.0.0.99", "not a certificate", "another CA of the same name", "private key"]
    {
        let (_dir, mut cx) = without_agent();
        run(&Pki, &cx).await.unwrap();
        run(&Kubeconfigs, &cx).await.unwrap();
        let kept = cx.files.read(&key).unwrap();
        let authority = || Here::read(&cx).unwrap().authority.unwrap();
        match fault {
            "expired at" => {
                let leaf = crate::pki::catalog::kubelet_server(&cx.node);
                let key = Key::from_pem(kept.as_ref().unwrap()).unwrap();
                let old = authority().issue(&leaf, &key, SystemTime::now() - days(400)).unwrap();
                cx.place(vec![NewFile::public(&certificate, old)]).await.map(drop).unwrap();
            }
            "is not valid for 10.0.0.99" => {
                std::sync::Arc::make_mut(&mut cx.node).address = "10.0.0.99".parse().unwrap();
            }
            "not a certificate" => put(&cx, &certificate, "rubbish"),
            "private key" => put(&cx, &key, Key::generate().unwrap().pem().expose().as_bytes()),
            _ => cx.place(vec![NewFile::public(&certificate, foreign.clone())]).await.map(drop).unwrap(),
        }
        let changes = run(&Kubeconfigs, &cx).await.unwrap();
        assert!(changes.iter().any(|change| change.contains("kubelet.crt")), "{fault}: {changes:?}");
        let pem = cx.files.read(&certificate).unwrap().unwrap();
        let found = cx.files.read(&key).unwrap();
        let now = Certificate::from_pem(&pem).unwrap();
        assert!(
            now.fits(&Key::from_pem(found.as_ref().unwrap()).unwrap()) && now.not_after > SystemTime::now(),
            "{fault}"
        );
        assert!(fault == "private key" || found == kept, "{fault}: the key stays");
    }
}

#[tokio::test]
async fn without_the_agent_a_serving_certificate_of_others_is_reported_and_stays() {
    let [certificate, key] = ["kubelet.crt", "kubelet.key"].map(|name| Path::new(paths::KUBELET_PKI).join(name));
    let (_other_dir, other) = without_agent();
    run(&Pki, &other).await.unwrap();
    run(&Kubeconfigs, &other).await.unwrap();
    let (_dir, cx) = without_agent();
    run(&Pki, &cx).await.unwrap();
    for directory in cx.files.missing_parents(&certificate).iter() {
        cx.files.make_directory(directory, 0o755).unwrap();
    }
    for path in [&certificate, &key] {
        put(&cx, path, other.files.read(path).unwrap().unwrap());
    }
    let before = cx.files.read(&certificate).unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 6);
    let notes = outcome(&cx).unwrap().0.notes;
    assert!(notes.iter().any(|note| note.contains("kubelet.crt") && note.contains("another CA")), "{notes:?}");
    assert_eq!(cx.files.read(&certificate).unwrap(), before);
}

#[tokio::test]
async fn a_dangling_link_is_repaired_and_a_plain_file_reported() {
    let (_dir, cx) = made().await;
    let current = Path::new(CURRENT);
    let pem = cx.files.read(current).unwrap().unwrap();
    cx.files.link(current, Path::new("kubelet-client-gone.pem")).unwrap();
    run(&Kubeconfigs, &cx).await.unwrap();
    assert!(cx.files.read(current).unwrap().is_some());
    cx.files.remove_file(current).unwrap();
    put(&cx, current, pem);
    let error = run(&Kubeconfigs, &cx).await.unwrap_err();
    assert!(error.contains("is a plain file") && error.contains("remove it"), "{error}");
}

#[tokio::test]
async fn another_clusters_file_is_reported_and_not_touched() {
    let (_dir, cx) = made().await;
    let (_other_dir, other) = made().await;
    let admin = path(User::Admin);
    let read = |cx: &Context, path: &Path| cx.files.read_text(path).unwrap().unwrap();
    let good = read(&cx, &admin);
    for (content, said) in [
        (read(&other, &admin), "admin.conf: trusts another cluster's CA"),
        (
            read(&cx, &path(User::Scheduler)),
            "is for system:kube-scheduler and not for kubernetes-admin of kubeadm:cluster-admins",
        ),
        ("- rubbish: [".into(), "is not a kubeconfig in YAML"),
        (good.replace("current-context: ", "current-context: x"), "lacks the server"),
        (good.replace("client-key-data: ", "client-key-data: '*'\n    x: "), "client-key-data is not base64"),
    ] {
        put(&cx, &admin, content);
        let before = snapshot(&cx);
        let error = run(&Kubeconfigs, &cx).await.unwrap_err();
        assert!(error.contains(said), "{error}");
        assert!(!error.contains("LS0t"), "{error}");
        assert_eq!(snapshot(&cx), before);
    }
    put(&cx, &admin, good);
    let foreign = other.files.read(CURRENT).unwrap().unwrap();
    let target = Path::new(paths::KUBELET_PKI).join(cx.files.link_target(Path::new(CURRENT)).unwrap());
    put(&cx, &target, foreign);
    let error = run(&Kubeconfigs, &cx).await.unwrap_err();
    assert!(error.contains("another CA of the same name") && error.contains("systemctl restart kubelet"), "{error}");
}

#[tokio::test]
async fn without_a_pki_every_file_is_planned_and_with_an_external_ca_every_file_is_required() {
    let (_dir, cx) = context();
    let State::Needed(changes) = Kubeconfigs.check(&cx).await.unwrap() else { panic!("nothing exists yet") };
    assert_eq!(changes.len(), 8, "{changes:?}");

    let (_dir, cx) = made().await;
    cx.files.remove_file(key_path("ca")).unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap(), [""; 0]);
    cx.files.remove_file(path(User::Admin)).unwrap();
    let error = run(&Kubeconfigs, &cx).await.unwrap_err();
    assert!(error.contains("admin.conf: is required, and ca.key"), "{error}");

    // An earlier version, or the user, issued all certificates except those that came with the agent.
    let (_dir, cx) = made().await;
    for of_the_agent in [key_path("ca"), path(User::Agent), paths::KUBELET_SERVER_CURRENT.into()] {
        cx.files.remove_file(of_the_agent).unwrap();
    }
    let error = Kubeconfigs.check(&cx).await.unwrap_err();
    let hints: Vec<&str> = error.advice().unwrap().lines().collect();
    assert!(hints.len() == 2 && hints.iter().all(|hint| hint.contains("`agent.enabled: false`")), "{hints:?}");
}
