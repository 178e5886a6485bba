//! Checks on a directory that represents a machine.

use super::*;
use crate::{
    bundle,
    context::testing::{context, context_of},
    engine::journal::Record,
    host::{archive, clock::Clock},
};
use nodeinit_config::cluster::Role;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn put(dir: &tempfile::TempDir, files: &[(&str, &str)]) {
    for (path, content) in files {
        let real = dir.path().join(path);
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::write(real, content).unwrap();
    }
}

fn whats(findings: &[Finding]) -> String {
    findings.iter().map(|f| format!("{} {:?}: {}\n", f.check, f.level, f.what)).collect()
}

#[tokio::test]
async fn every_problem_is_in_one_report_with_its_remedy() {
    let (dir, cx) = context();
    put(
        &dir,
        &[
            ("proc/self/status", "Cpus_allowed_list:\t0\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory"),
            ("etc/kubernetes/manifests/old.yaml", ""),
            ("var/lib/etcd/member/wal", ""),
        ],
    );
    let report = report(&cx).await;
    let error = report.refusal().unwrap();
    assert_eq!(error.exit, Exit::Unfit);
    let text = error.to_string();
    for part in [
        "1 processor, but a master needs 2",
        "disabled: cpuset, pids",
        "/etc/kubernetes/manifests/old.yaml",
        "/var/lib/etcd/member",
        "no module overlay",
        "no interface of this machine has the address 10.0.0.11",
        "containerd",
        "there is no kubelet at /usr/bin/kubelet",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert_eq!(text.matches("hint:").count(), report.failures().count());
    assert!(report.findings.iter().all(|f| !f.remedy.is_empty()));
}

#[test]
fn a_master_with_little_memory_is_refused() {
    let found = |mebibytes: u64, role| whats(machine::memory_finding(mebibytes << 20, role).as_slice());
    assert_eq!(found(1000, Role::Master), "memory Failure: 1000 MiB of memory, but a master needs 1700\n");
    assert_eq!(found(1000, Role::FirstMaster), found(1000, Role::Master));
    assert_eq!(found(1000, Role::Worker) + &found(1700, Role::Master), "");
}

#[test]
fn firewalls_and_selinux_are_named_with_the_commands_that_let_kubernetes_work() {
    let (dir, cx) = context();
    let protections = || [protection::ufw(&cx), protection::selinux(&cx), protection::apparmor(&cx)].concat();
    put(&dir, &[("etc/ufw/ufw.conf", "# ENABLED=yes\nENABLED=no\n"), ("sys/fs/selinux/enforce", "0")]);
    assert_eq!(whats(&protections()), "");
    put(&dir, &[("etc/ufw/ufw.conf", "ENABLED=yes\n"), ("sys/fs/selinux/enforce", "1")]);
    let found = protections();
    let [firewall, selinux] = &found[..] else { panic!("{}", whats(&found)) };
    assert!(firewall.what.starts_with("ufw is enabled") && firewall.remedy.contains("`ufw allow 2379:2380/tcp`"));
    assert!(selinux.remedy.contains("container-selinux"), "{}", selinux.remedy);
    put(&dir, &[("var/lib/selinux/targeted/active/modules/200/container/cil", "")]);
    let [again] = &protections()[..] else { panic!("SELinux is still reported") };
    assert_eq!(again, firewall);
}

#[test]
fn files_of_nodeinit_are_not_leftovers() {
    let (dir, cx) = context();
    cx.journal.intend(vec![Record::Tree { path: "/etc/kubernetes".into(), before: None }]).unwrap();
    put(&dir, &[("etc/kubernetes/manifests/etcd.yaml", ""), ("etc/kubernetes/admin.conf", "")]);
    assert_eq!(whats(&leftovers::leftovers(&cx)), "");
    put(&dir, &[("etc/cni/net.d/10-other.conflist", "{}")]);
    assert!(whats(&leftovers::leftovers(&cx)).starts_with("leftovers Warning: this machine has other pod network"));
}

#[test]
fn a_taken_port_names_its_process_and_our_own_is_fine() {
    // The test listens on a free port, so that it does not disturb a real cluster.
    let Ok(socket) = std::net::TcpListener::bind("127.0.0.1:10259") else { return };
    let (dir, cx) = context();
    let machine = crate::host::files::Files::of_machine();
    let table = machine.read_text("/proc/net/tcp").unwrap().unwrap();
    let process = std::process::id();
    put(&dir, &[("proc/net/tcp", &table), (&format!("proc/{process}/comm"), "kube-scheduler\n")]);
    std::os::unix::fs::symlink(format!("/proc/{process}/fd"), dir.path().join(format!("proc/{process}/fd"))).unwrap();
    let found = network::ports(&cx);
    assert!(
        whats(&found).contains(&format!(
            "port 10259, which kube-scheduler needs, is in use by kube-scheduler (process {process})"
        )),
        "{}",
        whats(&found)
    );
    cx.journal.intend(vec![Record::Unit { name: "kubelet.service".into() }]).unwrap();
    let found = network::ports(&cx);
    assert!(!whats(&found).contains("10259"), "the running scheduler is accepted");
    drop(socket);
}

#[tokio::test]
async fn a_clock_behind_the_accepted_time_is_refused_with_both_times() {
    let (_dir, mut cx) = context();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    cx.journal.intend(vec![Record::Clock { time: now }]).unwrap();
    assert_eq!(whats(&clocks::accepted(&cx).await), "");
    cx.clock = Clock::behind(Duration::from_secs(3600));
    let findings = clocks::accepted(&cx).await;
    let found = whats(&findings);
    assert!(found.contains("clock Failure: this machine's clock shows"), "{found}");
    assert!(found.contains("but an earlier run accepted"), "{found}");
    assert_eq!(Report { findings: findings.clone() }.exit(), Exit::TryAgain);
    let needs_operator = [findings, vec![Finding::failure("root", "", "")]].concat();
    assert_eq!(Report { findings: needs_operator }.exit(), Exit::Unfit);
}

#[tokio::test]
async fn a_synchronized_clock_disproves_a_later_recorded_time() {
    let (dir, cx) = context();
    let ahead = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 5 * 365 * 24 * 3600;
    cx.journal.intend(vec![Record::Clock { time: ahead }]).unwrap();
    put(&dir, &[("run/systemd/timesync/synchronized", "")]);
    let found = whats(&clocks::accepted(&cx).await);
    assert!(found.starts_with("clock Warning:") && found.contains("it was ahead then"), "{found}");
}

#[tokio::test]
async fn a_time_that_preflight_refused_is_not_recorded() {
    let (_dir, cx) = context();
    let ahead = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 5 * 365 * 24 * 3600;
    let run = Record::Run { command: "up".into(), version: "0".into(), time: ahead };
    let failed = Record::Failed { step: "preflight".into(), error: "memory".into() };
    cx.journal.intend(vec![run, failed]).unwrap();
    assert_eq!(whats(&clocks::accepted(&cx).await), "");
}

#[test]
fn swap_is_checked_against_the_configuration() {
    let judge = |swap: &str, kubelet: &str| {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (dir, cx) = context_of(&format!("{head}os: {{swap: {swap}}}\nkubelet: {{config: {{{kubelet}}}}}\n"));
        put(&dir, &[("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 4096 0 -2\n")]);
        whats(&machine::swap(&cx))
    };
    assert_eq!(judge("off", ""), "");
    assert!(judge("refuse", "").contains("os.swap: swap is on (/dev/sda2), but the value is `refuse`"));
    assert_eq!(judge("keep", "failSwapOn: false"), "");
}

#[test]
fn cgroup_v1_is_a_warning_unless_the_kubelet_refuses_it() {
    let judge = |kubelet: &str| {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (dir, cx) = context_of(&format!("{head}kubelet: {{config: {{{kubelet}}}}}\n"));
        let names = ["cpu", "cpuacct", "cpuset", "memory", "pids"];
        let table: String = names.iter().map(|name| format!("{name}\t1\t1\t1\n")).collect();
        put(&dir, &[("proc/cgroups", &table)]);
        names.iter().for_each(|name| put(&dir, &[(&format!("sys/fs/cgroup/{name}/tasks"), "")]));
        whats(&machine::cgroups(&cx))
    };
    assert!(judge("").starts_with("cgroups Warning: this machine uses cgroup v1"));
    assert!(judge("failCgroupV1: true").starts_with("cgroups Failure: this machine uses cgroup v1"));
}

#[tokio::test]
async fn archives_and_sysctls_are_checked_before_anything_changes() {
    let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
    let (dir, cx) = context_of(&format!(
        "{head}artifacts: {{source: /opt/k, binaries: [], images: [{{path: images/a.tar, image: r.io/a:1}}, \
         {{path: images/b.tar, image: r.io/b:1}}, {{path: images/c.tar, image: r.io/c:1}}, \
         {{path: images/d.tar, image: docker.io/library/d:1}}]}}\n\
         os: {{sysctls: {{vm.swappiness: low, vm.max_map_count: 262144, kernel.core_pattern: core}}}}\n"
    ));
    put(&dir, &[("proc/sys/vm/swappiness", "60\n"), ("proc/sys/vm/max_map_count", "65530\n")]);
    put(&dir, &[("proc/sys/kernel/core_pattern", "|/bin/false\n"), ("opt/k/images/c.tar", "not a plain archive")]);
    let manifest = r#"[{"Config":"c","RepoTags":["r.io/b-amd64:1"],"Layers":[]}]"#;
    put(&dir, &[("opt/k/images/b.tar", &tar("manifest.json", manifest))]);
    let saved = r#"[{"Config":"c","RepoTags":["d:1"],"Layers":[]}]"#;
    put(&dir, &[("opt/k/images/d.tar", &tar("manifest.json", saved))]);
    let sysctls = whats(&inputs::sysctls(&cx));
    assert_eq!(sysctls, "sysctls Failure: os.sysctls: vm.swappiness is \"low\", but the kernel accepts only numbers\n");
    let found: Vec<Finding> =
        inputs::archives(&cx.files, &cx.cluster, Role::Master).into_iter().map(|(_, finding)| finding).collect();
    let images = whats(&found);
    assert!(
        images.contains("the archive /opt/k/images/a.tar is missing, and r.io/a:1 is not in containerd"),
        "{images}"
    );
    assert!(images.contains("b.tar does not contain r.io/b:1; it contains r.io/b-amd64:1"), "{images}");
    assert!(found.len() == 2 && found[1].remedy.starts_with("this archive has upstream's image name"), "{found:?}");
}

#[test]
fn a_bundle_is_checked_before_anything_changes() {
    let config = |version: &str| {
        format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: {version}}}\n\
             containerRuntime: {{manage: false}}\nartifacts: {{source: /b.tar, \
             binaries: [{{path: bin/kubelet, to: /usr/bin/kubelet}}], images: [{{path: images/a.tar, image: r.io/a:1}}, \
             {{path: images/b.tar, image: r.io/b:1}}]}}\n"
        )
    };
    let (_dir, cx) = context_of(&config("v1.34.4"));
    let found = |cx: &Context| {
        let images = inputs::archives(&cx.files, &cx.cluster, Role::Master).into_iter().map(|(_, finding)| finding);
        whats(&[programs::artifacts(cx), images.collect()].concat())
    };
    assert_eq!(
        found(&cx),
        "artifacts Failure: the bundle /b.tar of artifacts.source does not exist\n\
         images Failure: the archive images/a.tar of /b.tar is missing, and r.io/a:1 is not in containerd\n\
         images Failure: the archive images/b.tar of /b.tar is missing, and r.io/b:1 is not in containerd\n"
    );
    let image = |name: &str| tar("manifest.json", &format!(r#"[{{"Config":"c","RepoTags":["{name}"],"Layers":[]}}]"#));
    let (a, b) = (image("r.io/a:1"), image("r.io/other:1"));
    let artifacts = [("bin/kubelet", &b"kubelet"[..]), ("images/a.tar", a.as_bytes()), ("images/b.tar", b.as_bytes())];
    bundle::testing::place(&cx.files, &cx.cluster, "/b.tar", &artifacts);
    let other = "the archive images/b.tar of /b.tar does not contain r.io/b:1; it contains r.io/other:1";
    assert_eq!(found(&cx), format!("images Failure: {other}\n"));
    let (_, other) = context_of(&config("v1.36.4"));
    let cx = Context { cluster: other.cluster, ..cx.clone() };
    let text = "the bundle /b.tar is for Kubernetes v1.34.4, and kubernetes.version is v1.36.4";
    assert_eq!(found(&cx), format!("artifacts Failure: {text}\n"));
}

#[test]
fn a_worker_needs_no_archive_of_the_control_plane() {
    let (_dir, cx) = context_of(
        "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n\
         artifacts: {source: /opt/k}\n",
    );
    let missing = |role| {
        let images = inputs::archives(&cx.files, &cx.cluster, role).into_iter().map(|(image, _)| image);
        images.filter_map(|image| Some(image.rsplit_once('/')?.1.split_once(':')?.0.to_owned())).collect::<Vec<_>>()
    };
    let of_worker = ["pause", "kube-proxy", "coredns"];
    assert!(of_worker.iter().all(|image| missing(Role::Worker).iter().any(|missing| missing == image)));
    let of_control_plane = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
    for image in of_control_plane.map(str::to_owned) {
        assert!(missing(Role::Master).contains(&image) && !missing(Role::Worker).contains(&image), "{image}");
    }
}

/// A tar archive of one text file.
fn tar(name: &str, content: &str) -> String {
    String::from_utf8(archive::testing::tar(&[(name, content.as_bytes())])).unwrap()
}

#[test]
fn an_interface_whose_ipv6_another_program_enables_is_named() {
    let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
    let found = |ipv6: &str, all: &str| {
        let (dir, cx) = context_of(&format!("{head}os: {{ipv6: \"{ipv6}\"}}\n"));
        for (name, off) in [("all", all), ("default", all), ("lo", "0"), ("eth0", "0"), ("eth1.5", "1")] {
            let directory = dir.path().join("proc/sys/net/ipv6/conf").join(name);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("disable_ipv6"), off).unwrap();
        }
        machine::ipv6(&cx).pop().map(|finding| finding.what).unwrap_or_default()
    };
    assert!(found("off", "1").ends_with("has enabled IPv6 again on eth0"), "{}", found("off", "1"));
    assert_eq!((found("off", "0").as_str(), found("keep", "1").as_str()), ("", ""), "not set yet, not wanted");
}
