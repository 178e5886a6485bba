//! nodeinit is killed at the start and the end of each step, in the middle of each file and before each rename, and resumes.

use nodeinit_tests::{Host, Output, difference};
use std::time::Instant;

/// Runs a command, which is killed once at every point, until it completes or two minutes are over. Exits with its code, or with 137 if
/// it was killed.
///
/// A process that a killed one was just starting may hold the lock for a moment, and its run on another machine may continue, or be
/// killed there.
const UNTIL_DONE: &str = r#"
while [ $SECONDS -lt 120 ]; do
    NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF=KINDS nodeinit-failpoints COMMAND >/root/said 2>&1
    code=$?
    [ ! -e /etc/kubernetes/pki/ca.crt ] || sha256sum </etc/kubernetes/pki/ca.crt >>/root/cas
    [ $code = 137 ] || ! grep -q -e 'another nodeinit' -e 'was ended by the signal KILL' /root/said || code=137
    [ $code = 137 ] || break
done 2>/dev/null
cat /root/said
exit $code"#;

/// Runs a command that is killed at every point until it completes; returns the points.
#[track_caller]
pub(crate) fn killed_everywhere(host: &Host, command: &str) -> String {
    let (points, ended) = killed_at(host, command, "");
    ended.exits(0);
    points
}

/// Lets runs over SSH be killed at every point of these kinds on a host, until `/root/sshd_config` is restored.
pub(crate) fn kill_over_ssh(host: &Host, kinds: &str) {
    host.must(&format!(
        "cp /etc/ssh/sshd_config /root/; >/root/points
        sed -i '1i SetEnv NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF={kinds}' /etc/ssh/sshd_config
        systemctl restart ssh.service"
    ));
}

/// Runs a command that is killed at every point of these kinds, separated by commas, until it ends by itself; returns the points.
pub(crate) fn killed_at(host: &Host, command: &str, kinds: &str) -> (String, Output) {
    host.must(">/root/points");
    let started = Instant::now();
    let script = UNTIL_DONE.replace("COMMAND", command).replace("KINDS", kinds);
    let mut ended = host.run(&script);
    while ended.code == 137 && started.elapsed().as_secs() < 1800 {
        ended = host.run(&script);
    }
    let points = host.must("cat /root/points");
    eprintln!("{command} was killed {} times, and ended in {} s", points.lines().count(), started.elapsed().as_secs());
    (points, ended)
}

pub(crate) fn a_run_resumes_after_a_kill_at_every_point() {
    let host = Host::fresh();
    host.add_failpoints();
    host.must("touch /root/points /root/cas /root/said");
    let before = host.listing();

    let points = killed_everywhere(&host, "up");
    // `step-begin kube-apiserver` is not required: the kubelet continues on its own between two kills.
    for point in [
        "step-begin pki",
        "write-half /etc/kubernetes/pki/ca.key",
        "write-rename /etc/kubernetes/pki/ca.key",
        "write-half /usr/bin/kubelet",
        "step-begin image-etcd",
        "step-begin kubelet",
        "write-rename /etc/kubernetes/manifests/etcd.yaml",
        "step-begin cluster-config",
        "step-begin node",
    ] {
        assert!(points.lines().any(|line| line == point), "it was not killed at {point}:\n{points}");
    }
    // Which steps are killed at their end depends on the steps that run in parallel.
    assert!(points.lines().filter(|line| line.starts_with("step-end")).count() > 5, "{points}");
    let cas = host.must("sort -u /root/cas");
    assert_eq!(cas.lines().count(), 1, "the CA was generated again");
    let left = host.must("find / /var/lib/kubelet -xdev -name '*.nodeinit-new'");
    assert_eq!(left, "", "half-written files are left");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.check_pods();

    let points = killed_everywhere(&host, "reset --yes");
    for point in ["step-begin stop-kubelet", "step-begin remove-files", "step-begin forget"] {
        assert!(points.lines().any(|line| line == point), "reset was not killed at {point}:\n{points}");
    }
    // kubectl caches its discovery of an API.
    host.must("rm -rf /root/.kube; cd /root; >points; >cas; >said");
    let changes = difference(&before, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
}
