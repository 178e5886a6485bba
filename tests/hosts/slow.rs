//! Slow disks and components.

use nodeinit_tests::Host;

/// The kubelet restarts a container at once the first time, and then waits at least so many seconds.
const BACK_OFF: f64 = 10.0;

#[track_caller]
fn nothing_waited_in_a_back_off(host: &Host) {
    for (container, seconds) in host.restarts() {
        eprintln!("{container} was restarted after {seconds:.1} s");
        assert!(seconds < BACK_OFF - 1.0, "{container} waited {seconds} s in a back-off");
    }
}

pub(crate) fn a_bootstrap_with_heavy_disk_writes() {
    let host = Host::fresh();
    host.writes(true);
    host.up();
    host.writes(false);
    nothing_waited_in_a_back_off(&host);
}

/// etcd is paused until the API server has exited twice and waits in the kubelet's back-off.
pub(crate) fn a_lost_race_against_etcd_is_repaired() {
    let host = Host::fresh();
    let slow = host.start(
        "until pid=$(pgrep -x etcd); do sleep 0.02; done; kill -STOP $pid
        until [ -e /var/log/pods/*/kube-apiserver/1.log ] && pgrep -x kube-apiserver >/dev/null; do sleep 0.1; done
        while pgrep -x kube-apiserver >/dev/null; do sleep 0.1; done
        sleep 2; kill -CONT $pid; SECONDS=0
        until curl -sfk https://127.0.0.1:6443/readyz >/dev/null; do sleep 0.1; done; echo $SECONDS",
    );
    host.up().says(&["kube-apiserver has exited and is backed off; restarting the kubelet"]);
    let seconds: u32 = slow.wait().exits(0).stdout.trim().parse().unwrap();
    eprintln!("the API server was ready {seconds} s after etcd went on");
    assert!(seconds < 20, "the API server was ready only {seconds} s after etcd went on");
    host.nodeinit("plan").exits(0);
}
