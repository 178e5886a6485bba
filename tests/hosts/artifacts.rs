//! Binaries and images that are broken, not what they should be, or cut off on their way.

use nodeinit_tests::{Host, Server, lab_directory};

/// A directory on the host that shows the lab's binaries and images, in which single ones can be replaced.
const OWN_SOURCE: &str =
    "mkdir -p /root/own/images && ln -s /opt/lab/bin /root/own/bin && ln -s /opt/lab/images/* /root/own/images/";

#[test]
fn a_broken_image_archive() {
    let host = Host::fresh();
    host.must(OWN_SOURCE);
    host.must("rm /root/own/images/etcd.tar && head -c 3000000 /opt/lab/images/etcd.tar >/root/own/images/etcd.tar");
    host.configure("artifacts: {source: /root/own}");
    let broken = host.nodeinit("up").exits(1);
    broken.says(&["/root/own/images/etcd.tar", "unexpected EOF", "the archive is damaged"]);
    let ca = host.ca();
    host.must("ln -sf /opt/lab/images/etcd.tar /root/own/images/etcd.tar");
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was made anew");
}

#[test]
fn a_digest_that_is_not_the_pinned_one() {
    let host = Host::fresh();
    let wrong = "0123456789abcdef".repeat(4);
    let right = host.must("sha256sum </opt/lab/images/pause.tar | cut -d' ' -f1").trim().to_owned();
    host.configure(&format!("artifacts: {{sha256: {{images/pause.tar: {wrong}}}}}"));
    let refused = host.nodeinit("up").exits(1);
    refused.says(&["images/pause.tar", &wrong, &right]);
    assert_eq!(host.must("ctr -n k8s.io images ls -q | grep pause || true"), "", "it was used all the same");
    let ca = host.ca();
    host.configure(&format!("artifacts: {{sha256: {{images/pause.tar: {right}}}}}"));
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was made anew");
}

#[test]
fn a_mirror_that_cuts_every_answer_and_ends_half_way() {
    let host = Host::fresh();
    let digests = host.must(
        "cd /opt/lab; sed -n 's/.*path: \\([^,]*\\),.*/\\1/p' /etc/nodeinit/config.yaml | xargs sha256sum \
         | sed 's/^\\([^ ]*\\)  \\(.*\\)$/    \\2: \\1/'",
    );
    let release = lab_directory().join("release/v1.34.4").display().to_string();
    let serve = || Server::of(&release, 8171, Some(20_000_000));
    let mirror = serve();
    let artifacts = format!("artifacts:\n  source: {}\n  sha256:\n{digests}", mirror.url());

    host.configure(&format!("{artifacts}timeouts: {{download: 15s}}"));
    let first = host.start("nodeinit up");
    host.until("a part of a download", 60.0, "find /var/lib/nodeinit/downloads -size +4M | grep -q .");
    drop(mirror);
    first.wait().exits(75).says(&["http://10.77.0.1:8171/", "nodeinit up"]);
    let ca = host.ca();

    host.configure(&artifacts);
    let _mirror = serve();
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was made anew");
    host.must("cmp /opt/lab/bin/kubelet /usr/bin/kubelet");
    assert_eq!(host.must("ls -A /var/lib/nodeinit/downloads"), "", "downloads are kept");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
