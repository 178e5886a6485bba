//! `reset` leaves the host as it was before `up`.

use nodeinit_tests::{Host, difference};

#[test]
fn reset_leaves_the_host_as_it_was_and_up_works_again() {
    let host = Host::fresh();
    let network = "sysctl net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables; ls /sys/class/net
        iptables-save | grep -E '^(-A|:KUBE|:CNI|:FLANNEL)' || true; mount | grep -E '/var/lib/kubelet/|/run/netns' || true
        ctr -n k8s.io tasks ls -q; ctr -n k8s.io images ls -q; systemctl is-active kubelet || true";
    let before = (host.listing(), host.must(network));
    host.up();
    let first = host.ca();
    host.nodeinit("reset").exits(64).says(&["--yes"]);
    let reset = host.nodeinit("reset --yes").exits(0);
    eprintln!("reset took {:.1} s", reset.seconds);
    let changes = difference(&before.0, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
    assert_eq!(before.1, host.must(network));
    host.nodeinit("reset --yes").exits(0);

    host.up();
    assert_ne!(first, host.ca(), "another cluster has another CA");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
