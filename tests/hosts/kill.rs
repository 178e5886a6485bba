//! nodeinit is killed at each step's begin and end, in the middle of each file and before each rename, and goes on.

use nodeinit_tests::{Host, difference};

/// Runs a command until it ends by itself, having been killed once at every point; checks the CA at each death.
const UNTIL_DONE: &str = r#"
while :; do
    NODEINIT_FAILPOINTS=/root/points nodeinit-failpoints COMMAND >/root/said 2>&1
    code=$?
    [ -e /etc/kubernetes/pki/ca.crt ] && sha256sum </etc/kubernetes/pki/ca.crt >>/root/cas
    [ $code = 137 ] || break
done
cat /root/said
exit $code"#;

#[test]
fn killed_at_every_point_it_goes_on() {
    let host = Host::fresh();
    host.add_failpoints();
    host.must("touch /root/points /root/cas /root/said");
    let before = host.listing();

    let ended = host.run(&UNTIL_DONE.replace("COMMAND", "up")).exits(0);
    let points = host.must("cat /root/points");
    eprintln!("killed {} times in {:.0} s", points.lines().count(), ended.seconds);
    for point in [
        "step-begin pki",
        "write-half /etc/kubernetes/pki/ca.key",
        "write-rename /etc/kubernetes/pki/ca.key",
        "write-half /usr/bin/kubelet",
        "step-end image-etcd",
        "step-begin kubelet",
        "write-rename /etc/kubernetes/manifests/etcd.yaml",
        "step-end kube-apiserver",
        "step-end bootstrap-token",
        "step-begin ready",
    ] {
        assert!(points.lines().any(|line| line == point), "it was not killed at {point}:\n{points}");
    }
    let cas = host.must("sort -u /root/cas");
    assert_eq!(cas.lines().count(), 1, "the CA was made anew");
    let left = host.must("find / /var/lib/kubelet -xdev -name '*.nodeinit-new'");
    assert_eq!(left, "", "half-written files are left");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.check_pods();

    let ended = host.run(&UNTIL_DONE.replace("COMMAND", "'reset --yes'").replace('\'', "")).exits(0);
    eprintln!("reset ended in {:.0} s", ended.seconds);
    host.must(">/root/points; >/root/cas; >/root/said");
    let changes = difference(&before, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
}
