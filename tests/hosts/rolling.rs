//! Changes of a running cluster that restart its control plane.

use crate::load::Load;
use nodeinit_tests::{Cluster, Host, pages};

/// Counts the API servers that are ready, five times a second, until told to stop. Prints the smallest number.
const WATCHER: &str = r#"least=9
while [ ! -e /run/watcher-stop ]; do
    count=0
    for address in ADDRESSES; do
        [ "$(curl -sk -m 2 -o /dev/null -w '%{http_code}' https://$address:6443/readyz)" = 200 ] && count=$((count + 1))
    done
    [ $count -lt $least ] && least=$count
    sleep 0.2
done
echo $least"#;

/// Sets a flag of the API servers, and other keys.
fn set(first: &Host, flag: &str, others: &str) {
    first.configure(&format!("apiServer: {{extraArgs: {{{flag}}}}}\n{others}"));
}

fn with_flag(cluster: &Cluster, flag: &str) -> usize {
    let find = format!("grep -q -- '{flag}' /etc/kubernetes/manifests/kube-apiserver.yaml");
    cluster.masters.iter().filter(|master| master.run(&find).code == 0).count()
}

pub(crate) fn a_changed_flag_restarts_one_api_server_after_the_other() {
    let cluster = Cluster::with_images(3, 0);
    cluster.up();
    let first = cluster.first();
    let addresses: Vec<&str> = cluster.masters.iter().map(Host::address).collect();
    let watcher = first.start(&WATCHER.replace("ADDRESSES", &addresses.join(" ")));
    set(first, "max-requests-inflight: \"401\"", "");
    cluster.up();
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=401"), 3);
    first.must("touch /run/watcher-stop");
    assert_eq!(watcher.wait().exits(0).stdout.trim(), "2", "API servers that were ready at every moment");

    // A flag that the API server rejects stops at the first master that tries it.
    set(first, "no-such-flag: \"1\"", "timeouts: {etcd: 20s}\n");
    let failed = first.nodeinit("up");
    assert_ne!(failed.code, 0);
    failed.says(&["unknown flag: --no-such-flag", "kube-apiserver has exited 4 times"]);
    assert_eq!(with_flag(&cluster, "--no-such-flag"), 1);
    // Another master that has the new flag waits for its turn, which does not come.
    let other = &cluster.masters[1];
    other.put("/etc/nodeinit/conf.d/50-test.yaml", &first.must("cat /etc/nodeinit/conf.d/50-test.yaml"));
    let refused = format!("the kube-apiserver of {} is not ready", first.name());
    other.nodeinit("up --local").exits(75).says(&["the turn of this machine's kube-apiserver", &refused]);
    other.must("rm /etc/nodeinit/conf.d/50-test.yaml");
    assert_eq!(with_flag(&cluster, "--no-such-flag"), 1);
    set(first, "max-requests-inflight: \"402\"", "");
    cluster.up();
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=402"), 3);
}

pub(crate) fn machines_that_ask_for_a_reboot_get_one_in_turn() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let (first, master, worker) = (cluster.first(), &cluster.masters[1], &cluster.workers[0]);
    let boot = |host: &Host| host.must("cat /proc/sys/kernel/random/boot_id");
    let before = [boot(first), boot(master), boot(worker)];
    for host in [first, master, worker] {
        host.must("touch /run/reboot-required");
    }
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);

    first.configure("os: {packages: {reboot: whenRequested}}\n");
    let wanted = format!("{}: reboot, as its distribution asks for it", worker.name());
    first.nodeinit("plan").exits(2).says(&[&wanted]);
    let running = first.start("nodeinit up");
    // The lab ends a host that reboots, and this boots it.
    for host in [master, worker] {
        let asks = format!(
            "for _ in $(seq 240); do ping -qc1 -W1 {} >/dev/null || {{ sleep 3; exit 0; }}; sleep 0.5; done; exit 1",
            host.address()
        );
        first.must(&asks);
        host.boot();
    }
    let up = running.wait().exits(0);
    up.says(&["the distribution of this machine asks for a reboot"]);
    let text = up.text();
    let at = |host: &Host| text.find(&format!("rebooting {}", host.name())).unwrap_or_else(|| panic!("{text}"));
    assert!(at(master) < at(worker), "{text}");
    assert_eq!(boot(first), before[0], "the leading master does not reboot itself");
    for (host, before) in [master, worker].into_iter().zip(&before[1..]) {
        assert_ne!(boot(host), *before, "{} was not rebooted", host.name());
        ready(host, first);
        let cordoned = first.kubectl(&format!("get node {} -o jsonpath={{.spec.unschedulable}}", host.name()));
        assert_eq!(cordoned.trim(), "", "{}", host.name());
    }
    first.must("rm /run/reboot-required");
    first.kubectl("--namespace kube-system rollout status deployment/coredns --timeout=60s");
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Writes a line for each call, after a hook has run as long as a check of the operator may.
const HOOK: &str = "#!/bin/sh\necho \"$NODEINIT_HOOK $NODEINIT_MACHINE\" >>/root/hooks\nsleep 0.5\n";

fn ready(node: &Host, first: &Host) {
    first.kubectl(&format!("wait --for=condition=Ready node/{} --timeout=60s", node.name()));
}

/// Three changes with hooks: a flag, a setting of the kubelets, a name in the API servers' certificates.
pub(crate) fn changes_roll_out_under_load() {
    let cluster = Cluster::with_images(3, 2);
    cluster.up();
    let first = cluster.first();
    first.put("/root/hook", HOOK);
    first.must(
        "chmod 755 /root/hook; mkdir /etc/nodeinit/hooks; cd /etc/nodeinit/hooks
        for name in before before-machine after-machine after; do ln -s /root/hook $name; done",
    );
    let hooks = pages::hooks();
    let load = Load::on(&cluster);

    let ran = || {
        let ran = first.must("cat /root/hooks 2>/dev/null; rm -f /root/hooks");
        ran.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // The first master is the first one; the others follow in any order, one at a time; then the workers, one at a time.
    let in_order = |ran: Vec<String>, workers: usize| {
        let machines: Vec<&str> = ran.iter().filter_map(|line| line.strip_prefix("beforeMachine ")).collect();
        let is_worker = |name: &&str| cluster.workers.iter().any(|worker| worker.name() == *name);
        assert_eq!((machines.len(), machines[0]), (3 + workers, first.name()), "{ran:?}");
        assert!(
            machines.iter().is_sorted_by_key(is_worker)
                && machines.iter().copied().filter(|name| is_worker(name)).count() == workers,
            "{ran:?}"
        );
        let pairs = machines.iter().flat_map(|name| [format!("beforeMachine {name}"), format!("afterMachine {name}")]);
        let expected: Vec<String> =
            ["before ".to_owned()].into_iter().chain(pairs).chain(["after ".to_owned()]).collect();
        assert_eq!(ran, expected);
    };
    let up = || {
        let output = first.nodeinit("up").exits(0);
        eprintln!("{}\nup took {:.1} s", output.text(), output.seconds);
        output
    };

    let flag = format!("{hooks}apiServer: {{extraArgs: {{max-requests-inflight: \"401\"}}}}\n");
    first.configure(&flag);
    up();
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=401"), 3);
    in_order(ran(), 0);

    let kubelet = format!("{flag}kubelet: {{config: {{maxPods: 77}}}}\n");
    first.configure(&kubelet);
    let drained = up();
    for worker in &cluster.workers {
        drained.says(&[&format!("from {}", worker.name())]);
    }
    for host in cluster.hosts() {
        let capacity = first.kubectl(&format!("get node {} -o jsonpath={{.status.capacity.pods}}", host.name()));
        assert_eq!(capacity.trim(), "77", "{}", host.name());
    }
    in_order(ran(), 2);

    first.must("pgrep -x kube-apiserver >/root/process");
    first.configure(&format!("{kubelet}controlPlane: {{certSANs: [extra.example.org]}}\n"));
    up();
    for master in &cluster.masters {
        let names =
            "openssl s_client -connect 127.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName";
        master.until("the name in the certificate", 30.0, &format!("{names} | grep -q extra.example.org"));
    }
    first.must("pgrep -x kube-apiserver | diff - /root/process");
    assert_eq!(ran(), [""; 0], "the API server reads its certificate again");

    load.end_within_limits();
    assert!(!first.kubectl("get nodes --no-headers").contains("SchedulingDisabled"));
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

pub(crate) fn a_rollout_stops_resumes_and_does_not_begin_at_boot() {
    let cluster = Cluster::with_images(2, 2);
    cluster.up();
    let (first, other) = (cluster.first(), &cluster.masters[1]);
    let rewritten =
        |host: &Host, text: &str| host.run(&format!("grep -q '{text}' /var/lib/kubelet/config.yaml")).code == 0;

    // At boot, no static pod restarts, and nothing on another machine.
    let both = "apiServer: {extraArgs: {max-requests-inflight: \"401\"}}\nkubelet: {config: {maxPods: 77}}\n";
    first.configure(both);
    let kept = first.nodeinit("up --at-boot").exits(0);
    kept.says(&["left kube-apiserver as is", "would restart its kubelet or static pods"]);
    assert!(!rewritten(other, "maxPods: 77") && !rewritten(&cluster.workers[0], "maxPods: 77"));
    // The other master applies its own part of the configuration at its boot.
    other.put("/etc/nodeinit/conf.d/50-test.yaml", "etcd: {extraArgs: {max-txn-ops: \"200\"}}\n");
    other.nodeinit("up --at-boot").exits(0).says(&["left etcd, kube-apiserver as is"]);
    other.must("rm /etc/nodeinit/conf.d/50-test.yaml; ! grep max-txn-ops /etc/kubernetes/manifests/etcd.yaml");
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=401"), 0);
    let [plan, up, without_drain, parallel] = pages::CHANGE_SETTINGS;

    // Stopped while the API server is down.
    let stopped = first.start("nodeinit up");
    first.until("a stopped API server", 120.0, "[ ! -e /etc/kubernetes/manifests/kube-apiserver.yaml ]");
    first.must("pkill -INT -f 'nodeinit [u]p'");
    stopped.wait().exits(75).says(&["stopped by Ctrl-C", "started the former kube-apiserver again"]);
    first.until("the former API server", 120.0, "curl -skf https://127.0.0.1:6443/readyz");
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=401"), 0);
    first.run(plan).exits(2).says(&["kube-apiserver.yaml"]);

    // Killed when the first worker has been drained.
    first.add_failpoints();
    first.must("echo 'host-turn master n' >/root/points");
    let killed = "NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF=host-turn nodeinit-failpoints";
    first.run(&format!("{killed} up; exit $?")).exits(137);
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=401"), 2);
    assert!(first.kubectl("get nodes --no-headers").contains("SchedulingDisabled"));
    first.run(up).exits(0);
    assert!(!first.kubectl("get nodes --no-headers").contains("SchedulingDisabled"));
    assert!(cluster.hosts().all(|host| rewritten(host, "maxPods: 77")));

    // A kubelet that does not start stops the rollout: here the second master's.
    let drop_in = "/etc/systemd/system/kubelet.service.d/99-broken.conf";
    other.put(drop_in, "[Service]\nExecStart=\nExecStart=/bin/sh -c 'echo this kubelet is broken; exit 1'\n");
    first.configure("kubelet: {config: {maxPods: 78}}\ntimeouts: {kubelet: 15s}\n");
    let failed = first.nodeinit("up").exits(3);
    failed.says(&["this kubelet is broken", &format!("because the change failed on {}", other.name())]);
    assert!(cluster.workers.iter().all(|worker| !rewritten(worker, "maxPods: 78")));
    other.must(&format!("rm {drop_in}; systemctl daemon-reload"));
    first.run(parallel).exits(0).says(&["evicting"]);
    assert!(cluster.hosts().all(|host| rewritten(host, "maxPods: 78")));
    first.configure("kubelet: {config: {maxPods: 79}}\n");
    let stayed = first.run(without_drain).exits(0);
    assert!(!stayed.text().contains("evicting"), "{}", stayed.text());
    assert!(cluster.hosts().all(|host| rewritten(host, "maxPods: 79")));
    cluster.hosts().for_each(|host| ready(host, first));
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
