//! `reset` leaves the host as it was before `up`.

use nodeinit_tests::{Host, difference};

#[test]
fn reset_leaves_the_host_as_it_was_and_up_works_again() {
    let host = Host::fresh();
    let kernel = || {
        host.must("sysctl -a 2>/dev/null | grep -E '^net.(ipv4.ip_forward|bridge)|^vm.(overcommit|panic)'; ip -br link | cut -d@ -f1; iptables-save | grep -v ^#")
    };
    let before = (host.listing(), host.must("ls /sys/class/net"), kernel());
    host.up();
    let first = host.ca();
    host.nodeinit("reset").exits(64).says(&["--yes"]);
    let reset = host.nodeinit("reset --yes").exits(0);
    eprintln!("reset took {:.1} s", reset.seconds);
    let changes = difference(&before.0, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
    assert_eq!(before.1, host.must("ls /sys/class/net"));
    assert_eq!(host.must("ctr -n k8s.io tasks ls -q; ctr -n k8s.io images ls -q"), "", "containers or images are left");
    assert_eq!(host.must("mount | grep -E '/var/lib/kubelet/|/run/netns' || true"), "", "mounts are left");
    host.nodeinit("reset --yes").exits(0);

    host.up();
    assert_ne!(first, host.ca(), "another cluster has another CA");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
