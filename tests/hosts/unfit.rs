//! Machines that are not fit: told at once, all of it, before anything is changed.

use nodeinit_tests::{Host, difference};

/// `up` that refuses the machine, says why, and leaves it as it is.
#[track_caller]
fn refuses(host: &Host, why: &[&str]) {
    let before = host.digests("/etc /usr/bin");
    let refused = host.nodeinit("up").exits(69);
    refused.says(why);
    let changes = difference(&before, &host.digests("/etc /usr/bin"));
    assert!(changes.is_empty(), "an up that refused changed {changes:#?}");
}

#[test]
fn a_machine_that_is_not_fit() {
    let host = Host::with_images();

    host.must("for port in 6443 2379; do systemd-run -q -u taken-$port python3 -m http.server $port; done");
    host.until("a taken port", 10.0, "ss -lnt | grep -q :6443 && ss -lnt | grep -q :2379");
    let pid = |port: u16| host.must(&format!("systemctl show -p MainPID --value taken-{port}")).trim().to_owned();
    let by = |port: u16, component: &str| {
        format!("port {port} is needed by {component} and taken by python3 (process {})", pid(port))
    };
    // Together with a service that is down: both in one report.
    host.must("systemctl stop containerd");
    let stopped = ["containerd", "systemctl enable --now containerd"];
    refuses(
        &host,
        &[&[by(6443, "kube-apiserver").as_str(), &by(2379, "etcd"), "remedy: stop it"], &stopped[..]].concat(),
    );
    host.must("systemctl stop taken-6443 taken-2379");
    refuses(&host, &stopped);
    host.must("systemctl start containerd");

    host.configure("artifacts: {source: image, binaries: [], images: []}");
    refuses(&host, &["there is no kubelet at /usr/bin/kubelet", "remedy: name where it comes from in artifacts"]);
    host.put("/usr/bin/kubelet", "#!/bin/sh\necho Kubernetes v1.33.0");
    host.must("chmod 755 /usr/bin/kubelet");
    refuses(&host, &["/usr/bin/kubelet is v1.33.0, and kubernetes.version is v1.34.4", "remedy: bring the kubelet"]);
    // A wrong one that is in place is replaced by the right one of the source.
    host.must("rm /etc/nodeinit/conf.d/50-test.yaml");
    host.up();
    assert_eq!(host.must("kubelet --version").trim(), "Kubernetes v1.34.4");

    // What Kubernetes does, when it is up, is no reason to refuse.
    host.nodeinit("preflight").exits(0);
    a_clock_that_is_an_hour_behind(&host);
}

fn a_clock_that_is_an_hour_behind(host: &Host) {
    host.add_failpoints();
    let ca = host.ca();
    let behind = host.run("NODEINIT_CLOCK_BEHIND=3600 nodeinit-failpoints up").exits(69);
    behind.says(&["this machine's clock says", "nodeinit ran here at", "timedatectl set-ntp true"]);
    host.up().exits(0);
    assert_eq!(ca, host.ca(), "the CA was made anew");
}
