//! Failures between the first master and the other machines.

use crate::kill::killed_everywhere;
use nodeinit_tests::{Cluster, Host, Running};
use std::{thread, time::Duration};

const ADMIN: &str = "kubectl --kubeconfig /etc/kubernetes/admin.conf";

fn nodes(first: &Host) -> Vec<String> {
    first
        .must(&format!("{ADMIN} get nodes --no-headers | awk '$2 == \"Ready\" {{print $1}}'"))
        .lines()
        .map(str::to_owned)
        .collect()
}

fn voters(first: &Host) -> usize {
    let members = first.must("nodeinit etcd members --output json");
    members.lines().filter(|line| line.contains("\"voter\":true") && line.contains("\"healthy\":true")).count()
}

/// Checks that an incomplete attempt leaves nothing in the cluster.
fn nothing_is_left(cluster: &Cluster) {
    let first = cluster.first();
    let members = first.must("nodeinit etcd members --output json");
    assert!(!members.contains("\"voter\":false"), "{members}");
    let tokens = first.must("nodeinit token list");
    assert!(!tokens.contains("join of worker"), "{tokens}");
    for host in cluster.hosts() {
        assert_eq!(host.must("ls /run/nodeinit 2>/dev/null || true"), "", "secrets are left on {}", host.name());
    }
}

pub(crate) fn a_master_that_never_answers_is_named_and_added_later() {
    let cluster = Cluster::with_images(3, 1);
    let (first, lost) = (cluster.first(), &cluster.masters[2]);
    lost.cut_power();
    first.configure("timeouts: {ssh: 20s}");
    let said = first.nodeinit("up").exits(3);
    said.says(&[
        &format!("timed out after 20 s waiting for SSH to {} at {}:22", lost.name(), lost.address()),
        &format!("these failed: host-{}", lost.name()),
    ]);
    assert_eq!(voters(first), 2);
    assert_eq!(nodes(first).len(), 3, "the others are in");
    first.nodeinit("plan").exits(2).says(&[lost.name()]);
    let ca = first.ca();
    first.kubectl("create secret generic before --from-literal=a=before");
    the_encryption_key_is_rotated_by_hand(&cluster.masters[..2]);
    first.kubectl("create secret generic after --from-literal=a=after");
    lost.boot();
    first.nodeinit(&format!("worker add {}", lost.name())).exits(64).says(&["is a master", "run `nodeinit master …`"]);
    first.nodeinit(&format!("master add {}", lost.name())).exits(0);
    assert_eq!((voters(first), nodes(first).len()), (3, 4));
    assert_eq!((ca.as_str(), ca.as_str()), (first.ca().as_str(), lost.ca().as_str()));
    // The second master publishes the digest of its keys again: they were rotated since its last `up`.
    first.nodeinit("plan").exits(2).says(&["publish the digest of the encryption keys in etcd"]);
    first.up();
    first.nodeinit("up").exits(0).says(&["nothing to do"]);
    every_master_reads_the_secrets_of_the_others(&cluster.masters);
    nothing_is_left(&cluster);
}

/// Each master's own API server reads Secrets that were written before and after the rotation, and on the added master.
fn every_master_reads_the_secrets_of_the_others(masters: &[Host]) {
    let at =
        |host: &Host, command: &str| host.must(&format!("{ADMIN} --server https://{}:6443 {command}", host.address()));
    at(&masters[2], "create secret generic added --from-literal=a=added");
    for master in masters {
        for name in ["before", "after", "added"] {
            let value = at(master, &format!("get secret {name} -o jsonpath={{.data.a}} | base64 -d"));
            assert_eq!(value, name, "read on {}", master.name());
        }
    }
}

/// A key with another name is added before the current one, and all API servers use it.
fn the_encryption_key_is_rotated_by_hand(masters: &[Host]) {
    let fresh = masters[0].must("head -c 32 /dev/urandom | base64 -w 0");
    for master in masters {
        master.must(&format!(
            "file=$(grep -o 'encryption-provider-config=[^ ]*' /etc/kubernetes/manifests/kube-apiserver.yaml | cut -d= -f2)
            sed -i 's|^\\( *\\)keys:$|&\\n\\1- name: rotated\\n\\1  secret: {fresh}|' $file
            grep -A 3 'keys:' $file | tail -n 1 | grep -q 'name: key1' && pkill -9 -x kube-apiserver"
        ));
        let ready = format!("sleep 1; {ADMIN} --server https://{}:6443 get --raw /readyz", master.address());
        master.until("an API server with the new key", 60.0, &ready);
    }
}

pub(crate) fn host_keys_are_enforced_and_jump_hosts_used() {
    let cluster = Cluster::with_images(1, 2);
    let (first, worker, jump) = (cluster.first(), &cluster.workers[0], &cluster.workers[1]);
    let (w, j) = (worker.name(), jump.name());
    let key = |host: &Host| host.must("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub").trim().to_owned();
    let only = |line: &str| {
        first.configure(&format!(
            "timeouts: {{ssh: 15s}}\nworkers:\n- {{name: {w}, address: {}{line}}}\n",
            worker.address()
        ));
    };
    let untouched =
        || worker.must("[ ! -e /usr/local/bin/nodeinit ] && [ ! -e /run/nodeinit ] && [ ! -e /etc/nodeinit ]");

    only(&format!(", hostKeys: [{}]", key(jump)));
    first.nodeinit("up").exits(3).says(&[w, "shows the host key ssh-ed25519 SHA256:", "nothing was sent", "hostKeys"]);
    untouched();
    only("");
    first.nodeinit("up").exits(3).says(&[&format!("no host key of {w} is known"), "trustOnFirstUse"]);
    untouched();

    // The machine refuses nodeinit's key.
    first.must("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_stranger");
    only(&format!(", hostKeys: [{}]}}\nssh: {{keyFile: /root/.ssh/id_stranger", key(worker)));
    first.nodeinit("up").exits(3).says(&["refuses the login of root with the key", "authorized_keys"]);

    // Another port and user, sudo, an ECDSA key, and a jump host, which is the only access.
    first.must("rm /root/.ssh/id_ed25519; ssh-keygen -q -t ecdsa -N '' -f /root/.ssh/id_ecdsa");
    let public = first.must("cat /root/.ssh/id_ecdsa.pub");
    for host in [worker, jump] {
        host.must(&format!(
            "useradd -m -s /bin/bash ops; install -d -m 700 -o ops /home/ops/.ssh; echo '{}' >/home/ops/.ssh/authorized_keys
             chown ops /home/ops/.ssh/authorized_keys; printf 'Port 22\nPort 2222\n' >>/etc/ssh/sshd_config; systemctl restart ssh.service",
            public.trim()
        ));
    }
    let config = |trust: bool| {
        first.configure(&format!(
            "timeouts: {{ssh: 15s}}\nssh: {{user: ops, port: 2222, keyFile: /root/.ssh/id_ecdsa, trustOnFirstUse: {trust}, jumpHost: {{address: {}, port: 2222}}}}\nworkers:\n- {{name: {w}, address: {}}}\n",
            jump.address(),
            worker.address()
        ));
    };
    worker.must(&format!("iptables -I INPUT -p tcp --dport 2222 ! -s {} -j DROP", jump.address()));
    config(true);
    first.nodeinit("up").exits(3).says(&["ops cannot become root", "NOPASSWD"]);
    worker.must("echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops");
    let said = first.nodeinit("up").exits(0);
    eprintln!("{}", said.text());
    assert_eq!(nodes(first).len(), 2);
    // Keys that were trusted at first use are enforced, including that of the jump host.
    let new_key = "rm /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key; systemctl restart ssh";
    worker.must(new_key);
    first.nodeinit("up").exits(3).says(&["shows the host key"]);
    jump.must(new_key);
    first.nodeinit("up").exits(3).says(&["jump-host shows the host key"]);
    assert_ne!(j, w);
}

/// With a bundle, the first master looks for other masters' etcd before it bootstraps: leftovers of a killed run are no other cluster.
pub(crate) fn the_fan_out_resumes_after_a_kill_at_every_boundary() {
    let cluster = Cluster::with_images(3, 1);
    let first = cluster.first();
    first.must("cd /etc/nodeinit && nodeinit secrets generate");
    first.add_failpoints();
    let points = killed_everywhere(first, "up");
    let of = |kind: &str| points.lines().filter(|line| line.starts_with(kind)).count();
    eprintln!("{} times at the begin and {} at the end of remote steps", of("remote-begin"), of("remote-end"));
    // Digits are removed from a point's name. `host-up n` and `remote-begin n` are not required: a machine continues on its own between
    // two kills. The next test covers its steps.
    for point in ["step-begin host-n", "host-equipped n", "host-trusted n", "host-token n"] {
        assert!(points.lines().any(|line| line.starts_with(point)), "it was not killed at {point}:\n{points}");
    }
    assert_eq!((voters(first), nodes(first).len()), (3, 4));
    let ca = first.ca();
    cluster.hosts().for_each(|host| assert_eq!(ca, host.ca(), "{}", host.name()));
    nothing_is_left(&cluster);
    // The others have the program that tests can kill, and get the usual one first.
    first.nodeinit("up").exits(0);
    first.nodeinit("up").exits(0).says(&["nothing to do"]);
    first.check_pods();
}

/// Here the other machines are killed, too, as in a power cut of all machines, so that their steps do not end before they were killed.
pub(crate) fn the_fan_out_resumes_after_a_kill_of_all_machines_at_every_step() {
    let cluster = Cluster::with_images(2, 1);
    let first = cluster.first();
    first.add_failpoints();
    let lonely = format!(
        "while [ ! -e /root/stop ]; do
            ss -Htn state established '( sport = 22 )' dst {} | grep -q . || pkill -9 -x nodeinit; sleep 0.01
        done",
        first.address()
    );
    let others = || cluster.hosts().skip(1);
    let dying: Vec<Running> = others().map(|host| host.start(&lonely)).collect();
    // A process that a killed run was just starting holds the lock for a moment, and the others must notice that they are alone.
    first
        .run(
            "while :; do
                NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF=remote- nodeinit-failpoints up >/root/said 2>&1; code=$?
                sleep 0.5; [ $code = 137 ] || grep -q 'another nodeinit' /root/said || break
            done 2>/dev/null; cat /root/said; exit $code",
        )
        .exits(0);
    others().for_each(|host| drop(host.must("touch /root/stop")));
    dying.into_iter().for_each(|host| drop(host.wait().exits(0)));
    let points = first.must("cat /root/points");
    eprintln!("killed {} times:\n{points}", points.lines().count());
    // Steps of a few milliseconds may end before the other machine is killed, and pods that the kubelet starts continue without nodeinit.
    assert!(points.lines().count() >= 8, "it was killed only at:\n{points}");
    for step in ["join", "etcd-member"] {
        let point = format!("remote-begin n {step}");
        assert!(points.lines().any(|line| line == point), "it was not killed at {point}:\n{points}");
    }
    assert_eq!((voters(first), nodes(first).len()), (2, 3));
    let ca = first.ca();
    assert_eq!(ca, cluster.masters[1].ca());
    nothing_is_left(&cluster);
    // The others have the program that tests can kill, and get the usual one first.
    first.nodeinit("up").exits(0);
    first.nodeinit("up").exits(0).says(&["nothing to do"]);
    first.check_pods();
}

/// Each further master loses its network at another stage of its join: before it is a member of etcd, as a learner, as a voter.
pub(crate) fn a_network_loss_at_any_stage_is_survived() {
    let cluster = Cluster::with_images(4, 0);
    let first = cluster.first();
    first.nodeinit("up --local").exits(0);
    let quorum = first.start(&format!(
        "while [ ! -e /root/stop ]; do timeout 3 {ADMIN} get --raw /readyz >/dev/null 2>&1 && echo yes || echo no; sleep 0.5; done"
    ));
    for (other, stage) in cluster.masters[1..].iter().zip(["binaries", "etcd-member", "kube-apiserver"]) {
        let add = format!(
            "nodeinit master add {0} >/root/said-{0} 2>&1; code=$?; cat /root/said-{0}; exit $code",
            other.name()
        );
        let add = first.start(&add);
        let started = format!("grep -q '{0} {stage}' /root/said-{0}", other.name());
        first.until(&format!("{stage} on {}", other.name()), 120.0, &started);
        other.network(false);
        thread::sleep(Duration::from_secs(20));
        other.network(true);
        let said = add.wait().exits(0);
        eprintln!("cut at {stage}: up took {:.1} s", said.seconds);
    }
    first.must("touch /root/stop");
    let answers = quorum.wait().exits(0).stdout;
    let unanswered = answers.lines().filter(|line| *line == "no").count();
    assert!(unanswered <= 6, "the API did not answer {unanswered} times: {answers}");
    assert_eq!((voters(first), nodes(first).len()), (4, 4));
    nothing_is_left(&cluster);
    first.nodeinit("up").exits(0).says(&["nothing to do"]);
}
