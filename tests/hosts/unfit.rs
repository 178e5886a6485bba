//! Machines that fail preflight: every problem is reported before anything changes.

use nodeinit_tests::{Cluster, Host, difference, version};

/// Checks that `up` refuses the machine, reports why, and changes nothing.
#[track_caller]
fn refuses(host: &Host, why: &[&str]) {
    let before = host.digests("/etc /usr/bin");
    let refused = host.nodeinit("up").exits(69);
    refused.says(why);
    let changes = difference(&before, &host.digests("/etc /usr/bin"));
    assert!(changes.is_empty(), "an up that refused changed {changes:#?}");
}

pub(crate) fn a_machine_that_fails_preflight() {
    let host = Host::with_images();

    host.must("for port in 6443 2379; do systemd-run -q -u taken-$port python3 -m http.server $port; done");
    host.until("a taken port", 10.0, "ss -lnt | grep -q :6443 && ss -lnt | grep -q :2379");
    let pid = |port: u16| host.must(&format!("systemctl show -p MainPID --value taken-{port}")).trim().to_owned();
    let by = |port: u16, component: &str| {
        format!("port {port}, which {component} needs, is in use by python3 (process {})", pid(port))
    };
    // Together with a service that is down: both in one report.
    host.must("systemctl stop containerd");
    let stopped = ["containerd", "systemctl enable --now containerd"];
    refuses(
        &host,
        &[&[by(6443, "kube-apiserver").as_str(), &by(2379, "etcd"), "hint: stop it"], &stopped[..]].concat(),
    );
    host.must("systemctl stop taken-6443 taken-2379");
    refuses(&host, &stopped);
    host.must("systemctl start containerd");

    host.configure("artifacts: {source: image, binaries: [], images: []}");
    refuses(&host, &["there is no kubelet at /usr/bin/kubelet", "hint: set artifacts.source to `upstream`"]);
    host.put("/usr/bin/kubelet", "#!/bin/sh\necho Kubernetes v1.33.0");
    host.must("chmod 755 /usr/bin/kubelet");
    let differs = format!("/usr/bin/kubelet is v1.33.0, but kubernetes.version is {}", version());
    refuses(&host, &[&differs, "hint: provide the kubelet"]);
    // A wrong installed kubelet is replaced by the right one from the source.
    host.must("rm /etc/nodeinit/conf.d/50-test.yaml");
    host.up();
    assert_eq!(host.must("kubelet --version").trim(), format!("Kubernetes {}", version()));

    // A running Kubernetes is no reason to refuse.
    host.nodeinit("preflight").exits(0);
    a_clock_that_is_an_hour_behind(&host);
}

fn a_clock_that_is_an_hour_behind(host: &Host) {
    host.add_failpoints();
    let ca = host.ca();
    let behind = host.run("NODEINIT_CLOCK_BEHIND=3600 nodeinit-failpoints up").exits(75);
    behind.says(&["this machine's clock shows", "an earlier run accepted", "timedatectl set-ntp true"]);
    // A run with the clock years ahead that preflight refused, as versions before this one recorded it.
    let ahead = r#"{"record":"run","command":"up","version":"0.1.0","time":4102444800}"#;
    let refused = r#"{"record":"failed","step":"preflight","error":"preflight failed"}"#;
    host.must(&format!("printf '%s\\n' '{ahead}' '{refused}' >>/var/lib/nodeinit/journal.jsonl"));
    host.up().exits(0);
    // One that preflight accepted counts until the clock is known to be right.
    host.must("printf '%s\\n' '{\"record\":\"clock\",\"time\":4102444800}' >>/var/lib/nodeinit/journal.jsonl");
    host.must("mv /usr/bin/timedatectl /root/ 2>/dev/null || true; rm -f /run/systemd/timesync/synchronized");
    host.nodeinit("up").exits(75).says(&["an earlier run accepted 2100-01-01 00:00:00 UTC", "--accept-clock"]);
    host.nodeinit("up --accept-clock").exits(0);
    host.up().exits(0);
    assert_eq!(ca, host.ca(), "the CA was generated again");
}

pub(crate) fn network_obstacles_are_named_before_anything_changes() {
    let cluster = Cluster::fresh(2, 1);
    let (first, other, worker) = (cluster.first(), &cluster.masters[1], &cluster.workers[0]);
    let peers = |unreachable: &[&str]| {
        let said = first.nodeinit("preflight").exits(0);
        assert_eq!(said.text().matches("cannot reach its TCP ports").count(), unreachable.len(), "{}", said.text());
        said.says(unreachable);
    };
    peers(&[]);
    other.must("iptables -A INPUT -p tcp -m multiport --dports 2380,10250 -j DROP");
    worker.must("iptables -A INPUT -p tcp --dport 10250 -j REJECT --reject-with icmp-host-prohibited");
    let ports = |host: &Host, ports| {
        format!("{} ({}) is up, but this machine cannot reach its TCP ports {ports}", host.name(), host.address())
    };
    peers(&[&ports(other, "2380 (etcd), 10250 (kubelet)"), &ports(worker, "10250 (kubelet)")]);
    // Preflight does not warn about a machine that is off.
    other.cut_power();
    peers(&[&ports(worker, "10250 (kubelet)")]);

    first.must("systemd-run -q -u firewalld sleep 1h");
    first.nodeinit("preflight").exits(0).says(&["firewalld is active", "--add-port=2379-2380/tcp", "--zone=trusted"]);
    first.must("mkdir -p /root/cni /opt/cni && mount -o bind /root/cni /opt/cni && mount -o remount,bind,ro /opt/cni");
    refuses(first, &["/opt/cni/bin is read-only", "artifacts.source: image"]);
}
