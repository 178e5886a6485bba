//! Machines from an image that contains everything: `packaging/image` bakes it, `packaging/cloud-init/baked.yaml` configures it.

use nodeinit_tests::{Host, release_directory};

/// The snippet up to the configuration in it, which each machine replaces.
const BAKED: &str = include_str!("../../packaging/cloud-init/baked.yaml");

/// Rejects and counts each new connection that does not go to the master or to pods and services: of the machine, and of its pods.
const CUT: &str = r#"
table inet cut {
  counter cut {}
  chain output {
    type filter hook output priority 0; policy accept;
    oif lo accept
    ct state established,related accept
    ip daddr { MASTER, 10.244.0.0/16, 10.96.0.0/12 } accept
    counter name cut reject
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ct state established,related accept
    ip daddr { MASTER, 10.244.0.0/16, 10.96.0.0/12 } accept
    counter name cut reject
  }
}
"#;

/// The configuration of the lab without its artifacts: everything is in the image.
const IMAGE: &str = "artifacts: {source: image, binaries: [], images: []}\n";

pub(crate) fn a_baked_machine_joins_on_its_own_with_every_other_network_cut() {
    let (first, worker) = (Host::reserved(), Host::reserved());
    let machines = format!(
        "{IMAGE}masters: [{{name: {}, address: {}}}]\nworkers: [{{name: {}}}]\n",
        first.name(),
        first.address(),
        worker.name()
    );
    let lab = std::fs::read_to_string(release_directory().join("cluster.yaml")).unwrap();
    let more = file("/etc/nodeinit/conf.d/50-machines.yaml", "0644", &machines);
    boot_cut(&first, &first, &(user_data(&lab) + &more));
    is_ready(&first);

    first.must(&format!("nodeinit token create --worker {} --files /root/worker >/dev/null", worker.name()));
    let token = file("/etc/nodeinit/secrets.yaml", "0600", &first.must("cat /root/worker/secrets.yaml"));
    boot_cut(&worker, &first, &(user_data(&first.must("cat /root/worker/config.yaml")) + &token));
    is_ready(&worker);
    first.kubectl("wait nodes --all --for=condition=Ready --timeout=30s");
    first.kubectl("wait pods -A --all --for=condition=Ready --timeout=60s");
    nothing_was_fetched(&first);
    nothing_was_fetched(&worker);
    worker.must("[ ! -e /etc/nodeinit/secrets.yaml ]");
    // CoreDNS started before the worker came.
    pods_reach_nothing_else(&first, worker.address());
    each_machine_has_its_own_identity(&first, &worker);

    worker.cut_power();
    worker.boot();
    is_ready(&worker);
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Replaces the configuration in the snippet.
fn user_data(config: &str) -> String {
    let (head, _) = BAKED.split_once("  content: |\n").unwrap();
    format!("{head}  content: |\n{}", indented(config))
}

/// An entry of `write_files`.
fn file(path: &str, mode: &str, content: &str) -> String {
    format!("- path: {path}\n  permissions: '{mode}'\n  content: |\n{}", indented(content))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Boots a host that reaches only the master, from its first packet on.
fn boot_cut(host: &Host, first: &Host, user_data: &str) {
    host.boot_image(
        user_data,
        &[
            ("/etc/cut.nft", &CUT.replace("MASTER", first.address())),
            (
                "/etc/systemd/system/lab-network.service.d/cut.conf",
                "[Service]\nExecStartPre=/usr/sbin/nft -f /etc/cut.nft\n",
            ),
        ],
    );
}

/// The service is active when the machine is ready.
fn is_ready(host: &Host) {
    let seconds = host.until("nodeinit.service", 120.0, "systemctl is-active nodeinit.service");
    let booted = "journalctl -b -u nodeinit --no-pager | grep -oE 'is (ready|up to date).*' | tail -n 1";
    eprintln!("{}, {seconds:.1} s after the boot: {}", host.name(), host.must(booted).trim());
}

fn nothing_was_fetched(host: &Host) {
    host.must("[ ! -e /opt/lab ] && [ ! -e /var/lib/nodeinit/artifacts ] && [ ! -e /var/lib/nodeinit/downloads ]");
    let pulled = host.must("journalctl -b -u containerd --no-pager | grep -c 'PullImage' || true");
    assert_eq!(pulled.trim(), "0", "{} pulled images", host.name());
    host.must(&format!("before=$({COUNTED}); ! (: </dev/tcp/10.77.0.1/22) 2>/dev/null; [ $({COUNTED}) -gt $before ]"));
}

/// Prints how many packets were rejected.
const COUNTED: &str = "nft list counter inet cut cut | sed -n 's/.*packets \\([0-9]*\\).*/\\1/p'";

/// In the network of a pod, neither the machine of the lab nor another host answers, whose SSH server is open to others. The API does.
fn pods_reach_nothing_else(host: &Host, other: &str) {
    let connects = |address: &str, port: u16| {
        format!("timeout 5 nsenter --net=/proc/$pod/ns/net bash -c ': </dev/tcp/{address}/{port}' 2>/dev/null")
    };
    for address in ["10.77.0.1", other] {
        let refused = connects(address, 22);
        host.must(&format!(
            "pod=$(pgrep -x coredns | head -n 1) && before=$({COUNTED}) && ! {refused} && [ $({COUNTED}) -gt $before ]"
        ));
    }
    host.must(&format!("pod=$(pgrep -x coredns | head -n 1) && {}", connects(host.address(), 6443)));
}

fn each_machine_has_its_own_identity(one: &Host, other: &Host) {
    for path in ["/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub"] {
        let read = format!("[ -s {path} ] && cat {path}");
        assert_ne!(one.must(&read), other.must(&read), "{path}");
    }
}
