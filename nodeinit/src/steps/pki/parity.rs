//! Proves that the real kubeadm accepts nodeinit's keys and certificates, and that nodeinit accepts kubeadm's.
//!
//! Runs only with `make test`: needs the lab's kubeadm; changes nothing outside the test's directories.

use super::{testing::run, *};
use crate::{
    context::testing::context_of,
    pki::{Certificate, testing::openssl},
    render::{
        kubeadm_config,
        kubeconfig::User,
        parity::{Program, kubeadms},
        yaml,
    },
    steps::kubeconfig::{Existing, Kubeconfigs},
};
use serde_json::json;
use std::{process::Command, sync::Arc};

/// kubeadm, for the machine `m1` whose root is `cx`'s.
struct Kubeadm<'a> {
    program: PathBuf,
    cx: &'a Context,
    config: PathBuf,
}

impl<'a> Kubeadm<'a> {
    fn new(program: &Program, cx: &'a Context, algorithm: &str) -> Self {
        let init = json!({
            "apiVersion": cx.cluster.release.kubeadm_api,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": cx.node.address, "bindPort": 6443},
            "nodeRegistration": {"name": cx.node.name},
        });
        let cluster = kubeadm_config::cluster_configuration(&cx.renderer(), None).unwrap();
        let cluster = cluster
            .replace("/etc/kubernetes/pki", cx.files.real(Path::new(paths::PKI)).to_str().unwrap())
            .replace("ECDSA-P256", algorithm);
        let config = cx.files.real(Path::new("/kubeadm.yaml"));
        #[allow(clippy::disallowed_methods, reason = "kubeadm reads its configuration from a file")]
        std::fs::write(&config, format!("{}---\n{cluster}", yaml::text("init", &init).unwrap())).unwrap();
        Self { program: program.path.clone(), cx, config }
    }

    #[allow(clippy::disallowed_methods, reason = "a test runs a program of the lab")]
    fn run(&self, arguments: &str) -> String {
        let out = Command::new(&self.program)
            .args(arguments.split(' '))
            .args(["--config", self.config.to_str().unwrap()])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "kubeadm {arguments}: {err}");
        assert!(!err.contains("WARNING"), "kubeadm {arguments}: {err}");
        String::from_utf8(out.stdout).unwrap()
    }

    fn certificates(&self) -> String {
        self.run("init phase certs all")
    }

    fn kubeconfigs(&self) -> String {
        let directory = self.cx.files.real(Path::new(paths::KUBERNETES));
        self.run(&format!("init phase kubeconfig all --kubeconfig-dir {}", directory.display()))
    }
}

fn machine(program: &Program) -> (tempfile::TempDir, Context) {
    let version = program.version;
    let (dir, mut cx) =
        context_of(&format!("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: {version}}}\n"));
    let plane = &mut Arc::make_mut(&mut cx.cluster).control_plane;
    plane.cert_sans = vec!["api.example.org".into(), "192.0.2.7".into()];
    plane.endpoint = Some(nodeinit_config::cluster::Endpoint { host: "cluster.example.org".into(), port: 6443 });
    (dir, cx)
}

/// Describes a certificate without its key, serial number and dates.
fn shape(pem: &str) -> Vec<String> {
    let wanted = ["x509", "-noout", "-subject", "-issuer", "-nameopt", "RFC2253", "-ext"];
    let extensions = "basicConstraints,keyUsage,extendedKeyUsage,subjectAltName";
    let text = openssl(&[&wanted[..], &[extensions]].concat(), pem.as_bytes());
    let mut parts: Vec<String> = text.split([',', '\n']).map(|part| part.trim().to_owned()).collect();
    parts.sort();
    let read = Certificate::from_pem(pem.as_bytes()).unwrap();
    parts.push(format!("{} minutes from beginning to end", minutes(&read)));
    parts
}

/// Returns how long a certificate is valid. kubeadm's start with their CA and expire a year, plus a second or two, after they were
/// created.
fn minutes(certificate: &Certificate) -> u64 {
    certificate.not_after.duration_since(certificate.not_before).unwrap().as_secs() / 60
}

#[tokio::test]
#[ignore = "needs the kubeadm of the lab: make test"]
async fn kubeadm_creates_the_same_certificates_and_accepts_those_of_nodeinit() {
    for program in kubeadms("kubeadm_creates_the_same_certificates_and_accepts_those_of_nodeinit") {
        let ((_ours_dir, ours), (_theirs_dir, theirs)) = (machine(&program), machine(&program));
        run(&Pki, &ours).await.unwrap();
        run(&Kubeconfigs, &ours).await.unwrap();
        let kubeadm = Kubeadm::new(&program, &theirs, "ECDSA-P256");
        kubeadm.certificates();
        kubeadm.kubeconfigs();
        let bases = Ca::ALL.map(Ca::base).into_iter().chain(catalog::NAMES.map(|(_, base)| base));
        for base in bases {
            let [ours, theirs] =
                [&ours, &theirs].map(|cx| cx.files.read_text(certificate_path(base)).unwrap().unwrap());
            let (ours, mut theirs) = (shape(&ours), shape(&theirs));
            if base == "apiserver-kubelet-client" && program.version < program.release.tested {
                // kubeadm dropped the group in a patch version of each release.
                theirs.retain(|part| !part.contains("O=kubeadm:cluster-admins"));
            }
            assert_eq!(ours, theirs, "{base}");
        }
        for user in User::ALL.into_iter().filter(|user| *user != User::Agent) {
            let path = Path::new(paths::KUBERNETES).join(user.file_name());
            let [ours, theirs] = [&ours, &theirs].map(|cx| {
                let existing = Existing::read(&cx.files, &cx.files.read_text(&path).unwrap().unwrap()).unwrap();
                let (certificate, _) = existing.client.unwrap();
                let life = minutes(&certificate);
                (existing.server, certificate.common_name, certificate.organizations, certificate.names, life)
            });
            assert_eq!(ours, theirs, "{}", user.file_name());
        }

        let kubeadm = Kubeadm::new(&program, &ours, "ECDSA-P256");
        let said = kubeadm.certificates();
        assert_eq!(said.matches("existing").count(), 11, "{said}");
        assert!(!said.contains("Generating"), "{said}");
        let said = kubeadm.kubeconfigs();
        assert_eq!(said.matches("existing kubeconfig").count(), 5, "{said}");
        let said = kubeadm.run("certs check-expiration");
        for (name, _) in catalog::NAMES {
            let line =
                said.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{said}"));
            assert!(line.contains(" 364d ") && line.trim_end().ends_with(" no"), "{line}");
        }
        assert_eq!(run(&Pki, &ours).await.unwrap(), [""; 0], "kubeadm changed nothing");
    }
}

#[tokio::test]
#[ignore = "needs the kubeadm of the lab: make test"]
async fn certificates_of_kubeadm_stay() {
    for program in kubeadms("certificates_of_kubeadm_stay") {
        for algorithm in ["ECDSA-P256", "ECDSA-P384", "RSA-2048"] {
            let (_dir, mut cx) = machine(&program);
            let kubeadm = Kubeadm::new(&program, &cx, algorithm);
            kubeadm.certificates();
            kubeadm.kubeconfigs();
            assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0], "{algorithm}");
            let changes = run(&Kubeconfigs, &cx).await.unwrap();
            let [serving, agent] = &changes[..] else { panic!("{algorithm}: {changes:?}") };
            assert!(
                serving.contains("kubelet-server-current.pem") && agent.contains("nodeinit-agent.conf"),
                "{changes:?}"
            );
            // kubeadm's own CA signs what is missing.
            cx.files.remove_file(certificate_path("apiserver")).unwrap();
            cx.files.remove_file(key_path("apiserver")).unwrap();
            assert_eq!(run(&Pki, &cx).await.unwrap().len(), 1, "{algorithm}");
            assert!(
                Kubeadm::new(&program, &cx, algorithm).certificates().contains("Using existing apiserver certificate")
            );
            let renewed = renew::renew(&cx, &[]).unwrap();
            cx.place(renewed.files).await.unwrap();
            assert_eq!(Kubeadm::new(&program, &cx, algorithm).certificates().matches("existing").count(), 11);
            Arc::make_mut(&mut cx.cluster).control_plane.cert_sans.push("new.example.org".into());
            assert!(
                run(&Pki, &cx).await.unwrap()[0].starts_with("reissue"),
                "nodeinit renewed it, so nodeinit reissues it"
            );
        }
    }
}
