//! Masters other than the first one lead, and machines are replaced.

use crate::{
    kill::{kill_over_ssh, killed_at},
    quorum::Quorum,
};
use nodeinit_tests::{Cluster, Counter, Host, pages};

/// How `kubelet: {config: {maxPods: N}}` shows in the API.
const CAPACITY: &str = r#"get nodes -o jsonpath='{range .items[*]}{.status.capacity.pods}{"\n"}{end}'"#;

#[track_caller]
fn every_node_takes(master: &Host, cluster: &Cluster, pods: &str) {
    let all = vec![pods; cluster.hosts().count()];
    assert_eq!(master.kubectl(CAPACITY).lines().collect::<Vec<_>>(), all);
}

#[track_caller]
fn all_vote(master: &Host, masters: usize) {
    let members = master.must("nodeinit etcd members --output json");
    let votes = |line: &&str| line.contains("\"voter\":true") && line.contains("\"healthy\":true");
    assert_eq!(members.lines().filter(votes).count(), masters, "{members}");
}

fn pods(number: u32) -> String {
    format!("kubelet: {{config: {{maxPods: {number}}}}}\n")
}

fn set_pods(host: &Host, number: u32) {
    host.must(&format!(
        "sed -i '/^    maxPods:/d; s/^    failSwapOn:.*/&\\n    maxPods: {number}/' /etc/nodeinit/config.yaml
        grep -q '^    maxPods: {number}$' /etc/nodeinit/config.yaml"
    ));
}

/// A configuration is changed on one master after the other, and never merged.
pub(crate) fn any_master_leads_and_configurations_are_never_merged() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let worker = &cluster.workers[0];
    m2.nodeinit("plan --lead").exits(0).says(&["nothing to do"]);
    m2.nodeinit("up --lead").exits(0).says(&["nothing to do"]);
    worker.nodeinit("up --lead").exits(64).says(&["a master leads"]);

    // The second master sends a change to all, also to the first one, whose own file is kept beside.
    set_pods(m2, 99);
    m2.nodeinit("up --lead").exits(0);
    every_node_takes(m2, &cluster, "99");
    m1.must("grep -q '^name: lab' /etc/nodeinit/config.yaml.before");
    m1.nodeinit("up").exits(0).says(&["nothing to do"]);

    // The third master is cut off while the first one changes the configuration, and has another change.
    m3.network(false);
    m1.configure(&format!("timeouts: {{ssh: 10s}}\n{}", pods(88)));
    m1.nodeinit("up").exits(3).says(&[m3.name()]);
    m3.network(true);
    m3.until("etcd", 60.0, "nodeinit etcd members --output json | grep -c healthy.:true | grep -qx 3");
    let older = format!("the configuration of this machine is older than that of {}", m1.name());
    m3.nodeinit("up --lead").exits(78).says(&[&older, "copy /etc/nodeinit/config.yaml"]);
    m3.configure(&pods(77));
    let (own, other) = (m3.name(), m1.name());
    let both = format!("the configuration was changed on {own}, and, after this machine last had it, on {other}");
    m3.nodeinit("up --lead").exits(78).says(&[&both]);
    // A file in conf.d overrides what another master sends.
    let differs = format!("the configuration of this machine differs from that of {own}, which leads");
    m3.nodeinit("up --lead --insist").exits(3).says(&[other, &differs, "/etc/nodeinit/conf.d"]);
    m1.must("rm /etc/nodeinit/conf.d/50-test.yaml");
    m3.nodeinit("up --lead").exits(0);
    every_node_takes(m1, &cluster, "77");
    m1.nodeinit("up").exits(0);
    m1.nodeinit("up").exits(0).says(&["nothing to do"]);
}

/// A second master waits for the lease, names the one that has it, and takes it over when that one is gone.
pub(crate) fn one_master_leads_at_a_time() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let worker = &cluster.workers[0];
    set_pods(m2, 99);
    m2.nodeinit("up --lead").exits(0);
    worker.nodeinit("up --local --led 1/1/x/m9").exits(1).says(&["has led since", "too late"]);
    worker.cut_power();
    let waiting = m2.start("nodeinit up --lead");
    m2.until("the lease", 30.0, "grep -c '\"record\":\"led\"' /var/lib/nodeinit/journal.jsonl | grep -qx 3");
    let leads = format!("{} leads with `nodeinit up --lead`, which began", m2.name());
    m3.nodeinit("up --lead").exits(75).says(&["timed out after 25 s waiting for the lease", &leads]);
    m1.nodeinit("up").exits(75).says(&[&leads, "this machine is up"]);
    worker.boot();
    m2.must("pkill -9 -x nodeinit");
    drop(waiting.wait());
    m3.nodeinit("up --lead").exits(0);
    m1.nodeinit("up").exits(0).says(&["nothing to do"]);
}

/// Returns the host's SSH host key.
fn key(host: &Host) -> String {
    host.must("cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub").trim().to_owned()
}

/// Returns the configuration without the item of a list that has this name.
fn without_item(config: &str, name: &str) -> String {
    let first = format!("- name: {name}");
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut inside = None;
    let keeps = |line: &&str| {
        if line.trim_start() == first {
            inside = Some(depth(line));
        } else if inside.is_some_and(|outer| depth(line) <= outer) {
            inside = None;
        }
        inside.is_none()
    };
    let kept: String = config.lines().filter(keeps).flat_map(|line| [line, "\n"]).collect();
    assert_ne!(kept, config, "{name} is not in the configuration");
    kept
}

/// Replaces a value in the configuration of a master.
fn set(master: &Host, former: &str, new: &str) {
    master.must(&format!("sed -i 's|{former}|{new}|' /etc/nodeinit/config.yaml /etc/nodeinit/conf.d/*.yaml || true"));
}

/// Replaces the host by an empty one, and writes its new host key to the configuration of the leading master.
fn lose(host: &Host, leading: &Host) {
    let former = key(host);
    host.cut_power();
    host.rebuild();
    host.must("[ ! -e /etc/nodeinit ]");
    set(leading, &former, &key(host));
}

/// The first master is gone for good, and the cluster goes on without it.
pub(crate) fn the_first_master_is_removed() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let worker = &cluster.workers[0];
    worker.nodeinit(&format!("master remove {}", m1.name())).exits(64).says(&["a master removes machines"]);
    m1.cut_power();
    let [.., remove] = pages::REPLACE;
    m2.run(&remove.replace("m1", m1.name())).exits(0);
    let config = m2.must("cat /etc/nodeinit/config.yaml");
    m2.put("/etc/nodeinit/config.yaml", &without_item(&config, m1.name()));
    for command in ["up --lead", "up"] {
        m2.nodeinit(command).exits(0);
    }
    all_vote(m2, 2);
    m3.nodeinit("up --lead").exits(0).says(&["nothing to do"]);
    m2.cut_power();
    m2.boot();
    m2.until("etcd", 120.0, "nodeinit etcd members --output json | grep -c healthy.:true | grep -qx 2");
    set_pods(m2, 98);
    m2.nodeinit("up").exits(0);
    let get = "get nodes --no-headers -o custom-columns=PODS:.status.capacity.pods";
    assert_eq!(m2.kubectl(get).lines().collect::<Vec<_>>(), ["98"; 3]);

    // The removed machine boots with its former configuration: it does not join etcd again, even without its data.
    m1.boot();
    let older =
        format!("cannot join etcd again: the configuration of this machine is older than that of {}", m2.name());
    let add = format!("master add {}", m1.name());
    let lose =
        "rm /etc/kubernetes/manifests/etcd.yaml; while pgrep -x etcd; do sleep 1; done; rm -r /var/lib/etcd/member";
    for change in ["true", lose] {
        m1.must(change);
        m1.nodeinit("up").exits(78).says(&[&older, &add, "nodeinit reset"]);
        assert_eq!(m2.must("nodeinit etcd members --output json").lines().count(), 2);
    }
    all_vote(m2, 2);
    m2.put("/etc/nodeinit/config.yaml", &config);
    m2.nodeinit(&add).exits(0);
    all_vote(m2, 3);
}

/// The master is gone for good. Its place is taken by a machine with its name and another address, which this returns.
fn replaced_elsewhere(lost: &Host, leading: &Host) -> Host {
    let (name, new) = (lost.name(), Host::with_images());
    new.must(&format!("rm -r /etc/nodeinit /usr/local/bin/nodeinit; hostnamectl set-hostname {name}"));
    let former = key(lost);
    lost.cut_power();
    set(leading, &former, &key(&new));
    set(leading, &format!("{}$", lost.address().replace('.', "\\.")), new.address());
    leading.must(&format!("grep -q 'address: {}$' /etc/nodeinit/config.yaml", new.address()));
    let replaced = leading.nodeinit(&format!("master replace {name}")).exits(0);
    eprintln!("{}\nmaster replace took {:.1} s", replaced.text(), replaced.seconds);
    all_vote(leading, 3);
    leading.must(&format!("nodeinit etcd members | grep -q {}:2380", new.address()));
    leading.must(&format!("! nodeinit etcd members | grep -q {}:2380", lost.address()));
    let node = leading.kubectl(&format!("get node {name} -o jsonpath='{{.status.addresses[0].address}}'"));
    assert_eq!(node.trim(), new.address());
    new
}

/// First the first master is replaced, then another one, led by the new first master.
pub(crate) fn a_machine_is_replaced_at_another_address() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let counter = Counter::of_running(&cluster);
    let new = replaced_elsewhere(m1, m2);
    m2.nodeinit("up --lead").exits(0);
    m3.nodeinit("up --lead").exits(0).says(&["nothing to do"]);
    new.nodeinit("up").exits(0).says(&["nothing to do"]);
    eprintln!("the counter is {}, and was never behind", counter.end());

    // The new first master leads. The load balancer knows neither of the new addresses.
    let other = replaced_elsewhere(m2, &new);
    new.nodeinit("up").exits(0);
    m3.nodeinit("up --lead").exits(0).says(&["nothing to do"]);
    other.nodeinit("up").exits(0).says(&["nothing to do"]);

    // The former first master boots: it neither joins again nor removes the machine that has taken its place.
    m1.boot();
    let replaced = format!("{} is now the machine at https://{}:2380", m1.name(), new.address());
    m1.nodeinit("up").exits(1).says(&[&replaced, "nodeinit reset"]);
    m1.nodeinit("reset --yes").exits(0);
    all_vote(m3, 3);
    m3.must(&format!("nodeinit etcd members | grep -q {}:2380", new.address()));
}

/// nodeinit is killed at every point of a replacement, on the leading master and on the new machine. Then the machine is lost again, and another master ends what the killed one began.
pub(crate) fn a_replacement_resumes_after_a_kill_at_every_point() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let (counter, quorum) = (Counter::of_running(&cluster), Quorum::of(&cluster));
    m2.add_failpoints();
    lose(m1, m2);
    let replace = format!("master replace {}", m1.name());
    kill_over_ssh(m1, "step-,etcd-");
    let (of_leader, ended) = killed_at(m2, &replace, "step-,host-,replace");
    ended.exits(0);
    m1.must("cp /root/sshd_config /etc/ssh/; systemctl restart ssh.service");
    let of_new = m1.must("cat /root/points");
    eprintln!("the points:\n{of_leader}\n{of_new}");
    let leader = ["replace removed", "host-equipped n", "host-trusted n", "host-up n"];
    let new = [
        "step-begin pki",
        "step-begin etcd-member",
        "etcd-add n",
        "etcd-added n",
        "etcd-promote n",
        "etcd-promoted n",
        "step-begin node",
    ];
    for (points, required) in [(&of_leader, &leader[..]), (&of_new, &new)] {
        for point in required {
            assert!(points.lines().any(|line| line == *point), "it was not killed at {point}:\n{points}");
        }
    }
    all_vote(m2, 3);
    m2.nodeinit("up --lead").exits(0);

    lose(m1, m2);
    m2.must(">/root/points");
    let killed = "NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF=host-trusted nodeinit-failpoints";
    m2.run(&format!("{killed} {replace}; exit $?")).exits(137);
    // The third master does not know the new machine's host key until it has the newest configuration.
    m3.nodeinit(&replace).exits(78).says(&["is older than that of", "copy /etc/nodeinit/config.yaml"]);
    m3.put("/etc/nodeinit/config.yaml", &m2.must("cat /etc/nodeinit/config.yaml"));
    m3.nodeinit(&replace).exits(0);
    all_vote(m3, 3);
    m3.nodeinit("up --lead").exits(0);
    m1.nodeinit("up").exits(0).says(&["nothing to do"]);
    quorum.was_kept();
    eprintln!("the counter is {}, and was never behind", counter.end());
}

/// Power cuts of the new machine and of the leading master, while etcd begins on the new machine.
pub(crate) fn a_replacement_survives_power_cuts() {
    let cluster = Cluster::with_images(3, 0);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let counter = Counter::of_running(&cluster);
    let replace = format!("nodeinit master replace {}", m1.name());
    let until_etcd = || {
        lose(m1, m2);
        let replacing = m2.start(&replace);
        m1.until("etcd's manifest", 200.0, "[ -e /etc/kubernetes/manifests/etcd.yaml ]");
        replacing
    };
    let replacing = until_etcd();
    m1.cut_power();
    m1.boot();
    let ended = replacing.wait();
    eprintln!("after the power cut of the new machine:\n{}", ended.text());
    if ended.code != 0 {
        m2.run(&replace).exits(0);
    }
    all_vote(m2, 3);

    let replacing = until_etcd();
    m2.cut_power();
    drop(replacing.wait());
    // What the leading master began on the new machine goes on without it.
    m2.boot();
    m2.until("its API server", 120.0, "curl -sk -m 1 -f https://127.0.0.1:6443/readyz");
    let ended = m2.run(&replace);
    eprintln!("after the power cut of the leading master:\n{}", ended.text());
    ended.exits(0);
    all_vote(m3, 3);
    m2.nodeinit("up --lead").exits(0);
    eprintln!("the counter is {}, and was never behind", counter.end());
}

/// The first master, then the second one, and a worker are replaced by empty machines.
pub(crate) fn every_machine_is_replaced() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let [m1, m2, m3] = &cluster.masters[..] else { unreachable!() };
    let worker = &cluster.workers[0];
    m1.kubectl("create configmap kept --from-literal=data=precious");
    let [lead, export, master, worker_replace, ..] = pages::REPLACE;
    let ca = m1.ca();
    let counter = Counter::of_running(&cluster);

    lose(m1, m2);
    m2.nodeinit(&format!("master replace {}", m2.name())).exits(64).says(&["is this machine"]);
    let replaced = m2.run(&master.replace("m1", m1.name())).exits(0);
    eprintln!("{}\nmaster replace took {:.1} s", replaced.text(), replaced.seconds);
    all_vote(m2, 3);
    assert_eq!(ca, m1.ca());
    assert_eq!(m1.kubectl("get configmap kept -o jsonpath={.data.data}").trim(), "precious");
    m2.run(lead).exits(0);
    m2.run(lead).exits(0).says(&["nothing to do"]);
    m1.nodeinit("up").exits(0).says(&["nothing to do"]);
    m2.run(export).exits(0);
    m2.must("[ -s /opt/kubernetes/bin/kubelet ]");

    lose(m2, m1);
    m1.nodeinit(&format!("master replace {}", m2.name())).exits(0);
    all_vote(m1, 3);
    m1.nodeinit("up").exits(0);

    lose(worker, m3);
    m3.run(&worker_replace.replace("w1", worker.name())).exits(0);
    m3.kubectl(&format!("wait --for=condition=Ready node/{} --timeout=60s", worker.name()));
    m3.nodeinit("up --lead").exits(0);
    m1.nodeinit("up").exits(0).says(&["nothing to do"]);
    counter.end();
}
