use super::*;
use crate::{
    context::testing::context,
    pki::testing::openssl,
    steps::pki::{Pki, testing::run},
};
use std::{collections::BTreeMap, os::unix::fs::MetadataExt};

const CURRENT: &str = paths::KUBELET_CLIENT_CURRENT;

async fn made() -> (tempfile::TempDir, Context) {
    let (dir, cx) = context();
    run(&Pki, &cx).await.unwrap();
    let changes = run(&Kubeconfigs, &cx).await.unwrap();
    assert_eq!(changes.len(), 7, "{changes:?}");
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
    let serving = cx.files.read(Path::new(paths::KUBELET_PKI).join("kubelet.crt")).unwrap().unwrap();
    let verify = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_ip", "10.0.0.11", "-CAfile"];
    assert!(openssl(&[&verify[..], &[ca.to_str().unwrap()]].concat(), &serving).contains("OK"));
}

#[tokio::test]
async fn a_second_run_changes_nothing_and_what_is_missing_is_made() {
    let (_dir, cx) = made().await;
    let before = snapshot(&cx);
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap(), [""; 0]);
    for path in [path(User::Scheduler), Path::new(paths::KUBERNETES).join("kubelet.conf"), CURRENT.into()] {
        cx.files.remove_file(&path).unwrap();
        assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 1);
    }
    cx.files.remove_file(Path::new(paths::KUBELET_PKI).join("kubelet.crt")).unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap().len(), 1);
    let after = snapshot(&cx);
    let same = ["admin.conf", "super-admin.conf", "kubelet.conf"].map(|name| Path::new(paths::KUBERNETES).join(name));
    same.iter().for_each(|path| assert_eq!(before[path], after[path]));
    let key = Path::new(paths::KUBELET_PKI).join("kubelet.key");
    assert_eq!(before[&key], after[&key], "our key stays");
}

#[tokio::test]
async fn a_dangling_link_is_mended_and_a_plain_file_reported() {
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
async fn before_the_pki_everything_is_announced_and_with_an_external_ca_everything_is_needed() {
    let (_dir, cx) = context();
    let State::Needed(changes) = Kubeconfigs.check(&cx).await.unwrap() else { panic!("nothing is there yet") };
    assert_eq!(changes.len(), 7, "{changes:?}");

    let (_dir, cx) = made().await;
    cx.files.remove_file(key_path("ca")).unwrap();
    assert_eq!(run(&Kubeconfigs, &cx).await.unwrap(), [""; 0]);
    cx.files.remove_file(path(User::Admin)).unwrap();
    let error = run(&Kubeconfigs, &cx).await.unwrap_err();
    assert!(error.contains("admin.conf: needed, and ca.key"), "{error}");
}
