//! Checks on a directory that stands for a machine.

use super::*;
use crate::{
    context::testing::{context, context_of},
    engine::journal::Record,
    host::clock::Clock,
};
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
            ("proc/meminfo", "MemTotal: 1024000 kB\n"),
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
        "1000 MiB of memory, and a master needs 1700",
        "1 processor, and a master needs 2",
        "switched off: cpuset, pids",
        "/etc/kubernetes/manifests/old.yaml",
        "/var/lib/etcd/member",
        "no module overlay",
        "no interface of this machine has the address 10.0.0.11",
        "containerd",
        "there is no kubelet at /usr/bin/kubelet",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert_eq!(text.matches("remedy:").count(), report.failures().count());
    assert!(report.findings.iter().all(|f| !f.remedy.is_empty()));
}

#[test]
fn what_we_made_ourselves_is_no_leftover() {
    let (dir, cx) = context();
    cx.journal.intend(vec![Record::Tree { path: "/etc/kubernetes".into(), before: None }]).unwrap();
    put(&dir, &[("etc/kubernetes/manifests/etcd.yaml", ""), ("etc/kubernetes/admin.conf", "")]);
    assert_eq!(whats(&leftovers::leftovers(&cx)), "");
    put(&dir, &[("etc/cni/net.d/10-other.conflist", "{}")]);
    assert!(whats(&leftovers::leftovers(&cx)).starts_with("leftovers Warning: other pod networks"));
}

#[test]
fn a_taken_port_names_its_process_and_our_own_is_fine() {
    // The only port of a component that a test may listen on without being in the way of a real cluster is a free one.
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
            "port 10259 is needed by kube-scheduler and taken by kube-scheduler (process {process})"
        )),
        "{}",
        whats(&found)
    );
    cx.journal.intend(vec![Record::Unit { name: "kubelet.service".into() }]).unwrap();
    let found = network::ports(&cx);
    assert!(!whats(&found).contains("10259"), "our own scheduler is no stranger");
    drop(socket);
}

#[test]
fn a_clock_behind_what_is_known_is_refused_with_both_times() {
    let (_dir, mut cx) = context();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    cx.journal.intend(vec![Record::Run { command: "up".into(), version: "0".into(), time: now }]).unwrap();
    assert_eq!(whats(&clocks::local(&cx)), "");
    cx.clock = Clock::behind(Duration::from_secs(3600));
    let found = whats(&clocks::local(&cx));
    assert!(
        found.contains("clock Failure: this machine's clock says") && found.contains("nodeinit ran here at"),
        "{found}"
    );
}

#[test]
fn swap_is_judged_by_what_is_configured() {
    let judge = |swap: &str, kubelet: &str| {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (dir, cx) = context_of(&format!("{head}os: {{swap: {swap}}}\nkubelet: {{config: {{{kubelet}}}}}\n"));
        put(&dir, &[("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 4096 0 -2\n")]);
        whats(&machine::swap(&cx))
    };
    assert_eq!(judge("off", ""), "");
    assert!(judge("refuse", "").contains("swap is on (/dev/sda2), and os.swap is refuse"));
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
