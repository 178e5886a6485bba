//! etcd grows from one master to three, with every possible failure: the quorum is kept, and the next `up` continues.

use crate::kill::killed_everywhere;
use nodeinit_tests::{Cluster, Host, Running};
use std::{fs, time::Duration};

/// Reads through etcd on a host until it is stopped, and prints the longest time without an answer in milliseconds.
const READER: &str = r#"rm -f /run/reader-stop; longest=0 last=$(date +%s%3N)
while [ ! -e /run/reader-stop ]; do
    etcdctl --command-timeout 1s get /x >/dev/null 2>&1 && { now=$(date +%s%3N); gap=$((now - last)); last=$now; }
    [ "${gap:-0}" -gt $longest ] && longest=$gap
    sleep 0.05
done
gap=$(($(date +%s%3N) - last)); [ $gap -gt $longest ] && longest=$gap
echo $longest"#;

/// etcdctl with the keys of a master; on every master, for its own member.
const ETCDCTL: &str = r#"#!/bin/sh
pki=/etc/kubernetes/pki/etcd
exec /opt/lab/bin/etcdctl --endpoints https://127.0.0.1:2379 --cacert $pki/ca.crt --cert $pki/healthcheck-client.crt --key $pki/healthcheck-client.key "$@"
"#;

/// An election takes one or two seconds; this limit is for a machine under load.
const LONGEST_SILENCE: u64 = 5000;

/// Three masters with the same secrets; the first one is up.
struct Masters {
    cluster: Cluster,
    reader: Option<Running>,
}

impl Masters {
    /// Boots three masters and starts the cluster on the first one.
    fn first_only() -> Self {
        let cluster = Cluster::with_images(3, 0);
        cluster.first().must("nodeinit secrets generate --file /etc/nodeinit/secrets.yaml");
        let masters = Self { cluster, reader: None };
        (1..3).for_each(|index| masters.equip(index));
        masters.add_etcdctl(0);
        masters.host(0).nodeinit("up --local").exits(0);
        masters
    }

    /// Starts a cluster with three voting members.
    fn three_voters() -> Self {
        let mut masters = Self::first_only();
        let joins = [1, 2].map(|index| masters.host(index).start("nodeinit up"));
        joins.into_iter().for_each(|join| drop(join.wait().exits(0)));
        masters.watch();
        masters
    }

    fn equip(&self, index: usize) {
        let host = self.host(index);
        self.cluster.equip(host);
        let secrets = self.host(0).must("cat /etc/nodeinit/secrets.yaml");
        host.put("/etc/nodeinit/secrets.yaml", &secrets);
        host.must("chmod 600 /etc/nodeinit/secrets.yaml");
    }

    fn add_etcdctl(&self, index: usize) {
        self.host(index).put("/usr/local/bin/etcdctl", ETCDCTL);
        self.host(index).must("chmod +x /usr/local/bin/etcdctl");
    }

    /// A master boots without its etcd data. The kubelet must not start its etcd.
    #[track_caller]
    fn loses_its_disk(&self, index: usize) {
        let host = self.host(index);
        host.cut_power();
        fs::remove_dir_all(host.on_disk("var/lib/etcd/member")).unwrap();
        host.boot();
        let refused = "journalctl -u kubelet -b --no-pager | grep -F 'member/nodeinit.marker is not a file'";
        host.until("the kubelet's error about the marker", 120.0, refused);
        host.must("for i in $(seq 20); do ! grep -lsx etcd /proc/[0-9]*/comm || exit 1; sleep 1; done");
        assert_eq!(host.must("ls -A /var/lib/etcd"), "", "etcd wrote data");
    }

    /// A master that lost its disk joins as a new member, and the cluster keeps its data.
    #[track_caller]
    fn joins_as_a_new_member(&mut self, index: usize, former: &str) {
        let removed =
            format!("the former member {} is removed: its data is lost, as on a new disk", self.host(index).name());
        self.host(index).nodeinit("up --local").exits(0).says(&[&removed]);
        self.are(&[0, 1, 2]);
        assert_ne!(self.id(index), former);
        self.host(index).kubectl("get configmap kept");
        self.host(index).until("everything as described", 120.0, "nodeinit plan --local");
        self.host(index).nodeinit("up --local").exits(0).says(&["nothing to do"]);
    }

    fn host(&self, index: usize) -> &Host {
        &self.cluster.masters[index]
    }

    /// Starts to read from the first master's etcd.
    fn watch(&mut self) {
        self.reader = Some(self.host(0).start(READER));
    }

    /// Stops reading before the test stops etcd.
    fn unwatch(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.host(0).must("touch /run/reader-stop");
            let _ = reader.wait();
        }
    }

    /// Exactly these members vote; all are healthy; each master has the same CA; no client waited for etcd.
    #[track_caller]
    fn are(&mut self, indices: &[usize]) {
        let members = self.members();
        let names: Vec<String> = members.iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect();
        let mut wanted: Vec<String> = indices.iter().map(|index| self.host(*index).name().to_owned()).collect();
        wanted.sort();
        assert_eq!(names, wanted, "{members:#?}");
        for member in &members {
            assert!(member["voter"] == true && member["healthy"] == true, "{members:#?}");
        }
        let cas: Vec<String> = indices.iter().map(|index| self.host(*index).ca()).collect();
        assert!(cas.iter().all(|ca| *ca == cas[0]), "{cas:?}");
        if let Some(reader) = self.reader.take() {
            self.host(0).must("touch /run/reader-stop");
            let longest: u64 = reader.wait().exits(0).stdout.trim().parse().unwrap();
            eprintln!("the longest silence was {longest} ms");
            assert!(longest < LONGEST_SILENCE, "etcd was silent for {longest} ms");
            self.watch();
        }
    }

    /// Returns the members by name, as nodeinit prints them.
    fn members(&self) -> Vec<serde_json::Value> {
        let text = self.host(0).must("nodeinit etcd members --output json");
        let mut members: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        members.sort_by_key(|member| member["name"].as_str().unwrap_or_default().to_owned());
        members
    }

    /// The etcd data that was moved aside on a master.
    fn aside(&self, index: usize) -> Vec<serde_json::Value> {
        let text = self.host(index).must("nodeinit etcd aside list --output json");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// An etcd that was bootstrapped again at the first master has the same cluster ID and the same ID of its first member.
    /// The third master has the last copy of the cluster's data, and keeps it.
    #[track_caller]
    fn a_bootstrap_that_was_repeated_takes_no_data(&self) {
        let data = "cd /var/lib/etcd && ls member/wal && cksum <member/snap/db | cut -d' ' -f2 && ls";
        let former = self.id(2);
        // Its etcd would treat the first member as the one that it knows, which has the same ID, and lead it.
        let end = "ctr -n k8s.io tasks ls -q | xargs -r -n1 ctr -n k8s.io tasks kill -s KILL; sleep 1";
        self.host(2).must(&format!("systemctl stop kubelet; rm /etc/kubernetes/manifests/etcd.yaml; {end}"));
        self.host(1).cut_power();
        self.host(0).must(
            "systemctl stop kubelet; ctr -n k8s.io tasks ls -q | xargs -r -n1 ctr -n k8s.io tasks kill -s KILL; sleep 1
            rm -rf /var/lib/etcd/member
            flags=$(sed -n 's/^ *- \\(--.*\\)$/\\1/p' /etc/kubernetes/manifests/etcd.yaml)
            systemd-run --unit=again /opt/lab/bin/etcd $flags",
        );
        self.host(0).until("etcd's second bootstrap", 60.0, "etcdctl get /x");
        let before = self.host(2).must(data);
        self.host(2).configure("timeouts: {join: 30s}\n");
        let refused = self.host(2).nodeinit("up").exits(1);
        refused.says(&[
            &former,
            "belongs to another cluster",
            "although both clusters have the same ID",
            "nothing was changed",
        ]);
        assert_eq!(before, self.host(2).must(data));
        assert!(self.aside(2).is_empty());
    }

    /// A changed flag restarts etcd on three masters whose `up` runs at the same time: one after the other, so that the cluster answers.
    #[track_caller]
    fn a_changed_flag_restarts_one_member_after_the_other(&mut self) {
        self.unwatch();
        let all = format!("etcdctl --endpoints {}", self.endpoints());
        let reader = self.host(0).start(&READER.replace("etcdctl", &all));
        self.cluster.masters.iter().for_each(|host| host.configure("etcd: {extraArgs: {snapshot-count: 9000}}\n"));
        let runs: Vec<Running> = self.cluster.masters.iter().map(|host| host.start("nodeinit up --local")).collect();
        for run in runs {
            eprintln!("up with a changed flag took {:.1} s", run.wait().exits(0).seconds);
        }
        self.host(0).must("touch /run/reader-stop");
        let longest: u64 = reader.wait().exits(0).stdout.trim().parse().unwrap();
        eprintln!("while three members restarted, the longest silence was {longest} ms");
        self.cluster.masters.iter().for_each(|host| drop(host.must("pgrep -f '^etcd .*--snapshot-count=9000'")));
        assert!(longest < LONGEST_SILENCE, "etcd was silent for {longest} ms");
        self.host(0).must("[ -z \"$(etcdctl get --print-value-only /nodeinit/etcd-restart)\" ]");
        self.watch();
        self.are(&[0, 1, 2]);
    }

    /// etcd's own tool reads the snapshot and restores it. A disk that is too small gets no file.
    #[track_caller]
    fn a_snapshot_can_be_restored(&self) {
        let host = self.host(1);
        self.host(0).must("etcdctl put /kept before");
        let saved = host.nodeinit("etcd snapshot /root/etcd.db --output json").exits(0).stdout;
        let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
        let status = host.must("/opt/lab/bin/etcdutl snapshot status /root/etcd.db --write-out json");
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let revision = |of: &serde_json::Value| of["revision"].as_i64().unwrap();
        assert!(revision(&saved) > 1 && revision(&saved) <= revision(&status), "{saved} {status}");
        assert_eq!(host.must("stat -c '%a %s' /root/etcd.db").trim(), format!("600 {}", saved["bytes"]));
        host.must("/opt/lab/bin/etcdutl snapshot restore /root/etcd.db --data-dir /root/restored 2>&1");
        host.must("grep -qa /kept /root/restored/member/snap/db");

        host.nodeinit("etcd snapshot /root/etcd.db").exits(1).says(&["/root/etcd.db already exists"]);
        host.nodeinit("etcd snapshot /root/none/etcd.db").exits(1).says(&["there is no directory /root/none"]);
        host.must("mkdir /root/small && mount -t tmpfs -o size=64k tmpfs /root/small");
        let full = ["no space for /root/small/etcd.db", "free some space"];
        host.nodeinit("etcd snapshot /root/small/etcd.db").exits(75).says(&full);
        assert_eq!(host.must("ls -A /root/small"), "");
        host.must("umount /root/small");
        host.must("rm -r /root/small /root/restored /root/etcd.db");
    }

    /// A database that reached its quota is reported, and repaired without another program.
    #[track_caller]
    fn a_full_etcd_is_repaired(&self) {
        let quota = "etcd: {extraArgs: {quota-backend-bytes: \"25165824\"}}\n";
        for index in 0..3 {
            self.host(index).configure(quota);
            self.host(index).nodeinit("up --local").exits(0);
        }
        let first = self.host(0);
        let write = "head -c 1000000 /dev/urandom | base64 -w0 | etcdctl put /fill 2>&1";
        first.until("a full etcd", 120.0, &format!("{write} | grep 'database space exceeded'"));
        let create = "kubectl --kubeconfig /etc/kubernetes/admin.conf create configmap kept";
        first.run(create).exits(1);
        let full =
            ["etcd is full and rejects all writes: NOSPACE alarm of", "etcd defrag --compact", "etcd alarms disarm"];
        first.nodeinit("up --local").exits(75).says(&full);
        first.nodeinit("status").exits(1).says(&full);
        first.nodeinit("etcd members").exits(75).says(&full);
        first.nodeinit("etcd alarms").exits(0).says(&["NOSPACE"]);
        let shrunk = first.nodeinit("etcd defrag --compact --output json").exits(0).stdout;
        eprintln!("{shrunk}");
        let names: Vec<serde_json::Value> = shrunk.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(names.len(), 3, "{shrunk}");
        for member in &names {
            assert!(member["afterBytes"].as_i64() < member["beforeBytes"].as_i64(), "{shrunk}");
        }
        first.nodeinit("etcd alarms disarm").exits(0).says(&["disarmed"]);
        first.must(create);
        first.nodeinit("etcd members").exits(0);
    }

    /// Returns a member's ID in hex.
    fn id(&self, index: usize) -> String {
        let name = self.host(index).name();
        let member = self.members().into_iter().find(|member| member["name"] == name).unwrap();
        member["id"].as_str().unwrap().to_owned()
    }

    /// Returns the endpoints of all members for etcdctl.
    fn endpoints(&self) -> String {
        let urls: Vec<String> = (0..3).map(|index| format!("https://{}:2379", self.host(index).address())).collect();
        urls.join(",")
    }

    /// Lets a master that must not join try for some seconds.
    #[track_caller]
    fn fails(&self, index: usize, timeouts: &str, says: &[&str]) {
        self.host(index).configure(&format!("timeouts: {timeouts}\n"));
        self.host(index).nodeinit("up").exits(75).says(says);
        self.host(index).must("rm /etc/nodeinit/conf.d/50-test.yaml");
    }

    /// Resets a master, so that it can join again.
    fn reset(&self, index: usize) {
        self.host(index).nodeinit("reset --yes").exits(0);
        self.equip(index);
    }
}

pub(crate) fn three_masters_from_nothing() {
    let mut masters = Masters::three_voters();
    masters.are(&[0, 1, 2]);
    let nodes = masters.host(0).kubectl("get nodes --no-headers");
    assert_eq!(nodes.lines().filter(|line| line.contains(" Ready ")).count(), 3, "{nodes}");
    for index in 0..3 {
        let manifests = masters.host(index).digests("/etc/kubernetes");
        masters.host(index).nodeinit("up --local").exits(0).says(&["nothing to do"]);
        assert_eq!(manifests, masters.host(index).digests("/etc/kubernetes"), "a second up changed files");
    }
    masters.a_snapshot_can_be_restored();
    masters.a_changed_flag_restarts_one_member_after_the_other();

    // The leader leaves: it transfers leadership first.
    let id = masters.id(2);
    masters.host(0).must(&format!("etcdctl --endpoints {} move-leader {id}", masters.endpoints()));
    masters.host(2).nodeinit("reset --yes").exits(0).says(&["leads now", "is removed from etcd"]);
    masters.are(&[0, 1]);
    masters.equip(2);
    masters.host(2).up();
    masters.are(&[0, 1, 2]);
}

pub(crate) fn a_master_that_is_killed_at_every_point_joins() {
    let mut masters = Masters::first_only();
    masters.watch();
    let host = masters.host(1);
    host.add_failpoints();
    let points = killed_everywhere(host, "up");
    for point in ["etcd-add n", "etcd-added n", "etcd-promote n", "etcd-promoted n", "step-begin etcd-member"] {
        assert!(points.lines().any(|line| line == point), "it was not killed at {point}:\n{points}");
    }
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    masters.are(&[0, 1]);
}

pub(crate) fn obstacles_to_etcd_membership_are_reported_or_repaired() {
    let mut masters = Masters::three_voters();
    let (name, address) = (masters.host(2).name().to_owned(), masters.host(2).address().to_owned());
    let add = format!("etcdctl member add {name} --learner --peer-urls https://{address}:2380");

    // A member that a killed run added.
    masters.reset(2);
    masters.host(0).must(&add);
    masters.host(2).up();
    masters.are(&[0, 1, 2]);

    // The disk of a member is new.
    masters.host(2).must("systemctl stop kubelet; ctr -n k8s.io tasks ls -q | xargs -r -n1 ctr -n k8s.io tasks kill -s KILL; sleep 1; rm -rf /var/lib/etcd/member");
    masters.host(2).up();
    masters.are(&[0, 1, 2]);

    // It has the data of a member that was removed: the data is moved aside, reported, and kept by a reset.
    let former = masters.id(2);
    masters.host(0).must(&format!("etcdctl member remove {former}"));
    masters.host(2).up().says(&[&format!("etcd member {former} was removed from the cluster; moved its data aside")]);
    masters.are(&[0, 1, 2]);
    let aside = masters.aside(2);
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(aside[0]["member"], former.as_str());
    let aside = aside[0]["name"].as_str().unwrap();
    masters.host(2).nodeinit("status").exits(0).says(&[aside, &former]);
    masters.host(2).nodeinit("preflight").says(&["former etcd data uses", aside]);
    masters.host(2).nodeinit("reset --yes").exits(0).says(&[&format!("kept /var/lib/etcd/{aside}")]);
    masters.equip(2);
    masters.host(2).up();
    masters.are(&[0, 1, 2]);
    masters.host(2).nodeinit(&format!("etcd aside remove {aside}")).exits(64).says(&["add --yes"]);
    masters.host(2).nodeinit(&format!("etcd aside remove {aside} --yes")).exits(0);
    assert!(masters.aside(2).is_empty());

    // Another member was added and never starts: it has no name, and is removed by its ID.
    masters.reset(2);
    let ghost = masters.host(0).must("etcdctl member add ghost --learner --peer-urls https://10.77.0.250:2380");
    let id = ghost.split_whitespace().nth(1).unwrap();
    let remove = format!("nodeinit etcd remove {id}");
    let waits = "the member at https://10.77.0.250:2380 was added and has not started yet";
    masters.fails(2, "{join: 8s}", &[waits, &remove]);
    masters.host(0).nodeinit("master remove ghost").exits(1).says(&["nodeinit etcd remove ID"]);
    let (healthy, own) = (masters.host(1).name().to_owned(), masters.host(0).name().to_owned());
    masters.host(0).nodeinit(&format!("etcd remove {healthy}")).exits(1).says(&["is healthy", "master remove"]);
    masters.host(0).nodeinit(&format!("etcd remove {own} --force")).exits(64).says(&["of this machine"]);
    masters.host(0).nodeinit("etcd remove abc123").exits(1).says(&["no member with the name or ID", "etcd members"]);
    masters.host(0).must(&remove);

    // Its peers cannot be reached, so that its etcd does not start.
    masters.host(2).must("iptables -I OUTPUT -d 10.77.0.0/24 -p tcp --dport 2380 -j DROP");
    masters.fails(2, "{join: 60s, etcd: 6s}", &["did not start within 6 s; it was removed again"]);
    masters.are(&[0, 1]);
    masters.host(2).must("iptables -F OUTPUT");

    // Its network is cut before its turn, and no member answers.
    masters.host(2).must("iptables -I OUTPUT -d 10.77.0.0/24 -p tcp --dport 2379 -j REJECT");
    masters.fails(2, "{join: 8s}", &["no other master's etcd answers"]);
    masters.host(2).must("iptables -F OUTPUT");

    masters.host(2).up();
    masters.are(&[0, 1, 2]);
}

pub(crate) fn a_master_is_removed_and_replaced() {
    let mut masters = Masters::three_voters();
    let name = masters.host(2).name().to_owned();

    // It is powered off: two members are left, and both are needed for the quorum.
    masters.host(2).cut_power();
    std::thread::sleep(Duration::from_secs(2));
    // A changed flag waits for its turn as long as the members need, not only for `timeouts.join`.
    let turn = ["timed out after 18 s waiting for the turn of this machine's etcd to restart", &name, "is not healthy"];
    let flag = "timeouts: {join: 4s, etcd: 6s}\netcd: {extraArgs: {snapshot-count: 9000}}\n";
    masters.host(1).configure(flag);
    masters.host(1).nodeinit("up --local").exits(75).says(&turn);
    masters.host(1).must("rm /etc/nodeinit/conf.d/50-test.yaml");
    let spared = masters.host(1).name().to_owned();
    masters.host(0).nodeinit(&format!("master remove {spared}")).exits(75).says(&["etcd would lose its quorum", &name]);
    let forced = masters.host(0).nodeinit(&format!("master remove {spared} --force")).exits(75);
    forced.says(&[
        "continuing because of --force",
        "etcdserver: unhealthy cluster",
        &format!("kubectl uncordon {spared}"),
    ]);
    masters.host(0).nodeinit(&format!("master remove {name}")).exits(0).says(&["deleted node"]);
    masters.are(&[0, 1]);
    let nodes = masters.host(0).kubectl("get nodes --no-headers");
    assert!(!nodes.contains(&name), "{nodes}");

    // It joins again, with everything that was on its disk.
    masters.host(2).boot();
    masters.host(2).up();
    masters.are(&[0, 1, 2]);
}

pub(crate) fn lost_quorum_a_full_database_and_a_second_bootstrap() {
    let mut masters = Masters::three_voters();
    let name = masters.host(2).name().to_owned();
    masters.unwatch();

    // Only one of three members is left: every command names the missing ones and the fix.
    masters.host(1).cut_power();
    masters.host(2).cut_power();
    let other = masters.host(1).name().to_owned();
    let lost = [
        "etcd has no quorum, 1 more must answer",
        "1 of 3 voting members answer",
        &other,
        &name,
        "start at least 1 of",
    ];
    masters.host(0).nodeinit("etcd members").exits(75).says(&lost);
    let counts = r#""needed":2,"quorum":false,"voters":3"#;
    let json = masters.host(0).nodeinit("etcd members --output json").exits(75);
    json.says(&[counts, "cannot reach"]);
    assert!(!json.stdout.contains("peerURLs"), "an unconfirmed member: {}", json.stdout);
    masters.host(0).nodeinit("status").exits(1).says(&lost);
    masters.host(0).nodeinit("etcd defrag").exits(75).says(&lost);
    masters.host(0).configure("timeouts: {etcd: 40s, join: 40s}\n");
    masters.host(0).nodeinit("up --local").exits(75).says(&lost);
    masters.host(0).must("rm /etc/nodeinit/conf.d/50-test.yaml");
    [1, 2].iter().for_each(|index| masters.host(*index).boot());
    let all = "nodeinit etcd members --output json | grep -c healthy.:true | grep -qx 3";
    masters.host(0).until("three healthy members", 120.0, all);

    masters.a_full_etcd_is_repaired();
    masters.a_bootstrap_that_was_repeated_takes_no_data();
}

pub(crate) fn a_voter_that_lost_its_disk_does_not_vote_again() {
    let mut masters = Masters::first_only();
    [1, 2].into_iter().for_each(|index| drop(masters.host(index).up()));
    masters.host(0).kubectl("create configmap kept");

    // The first master, then the one that joined last.
    for index in [0, 2] {
        let former = masters.id(index);
        masters.loses_its_disk(index);
        masters.joins_as_a_new_member(index, &former);
    }

    // Without a quorum, nothing is removed.
    masters.add_etcdctl(2);
    let list = "etcdctl member list --consistency=s";
    let (former, before) = (masters.id(0), masters.host(2).must(list));
    masters.host(1).cut_power();
    masters.loses_its_disk(0);
    masters.fails(0, "{join: 15s}", &["no other master's etcd answers"]);
    masters.host(0).must("! grep -lsx etcd /proc/[0-9]*/comm");
    assert_eq!(masters.host(2).must(list), before);
    masters.host(1).boot();
    masters.joins_as_a_new_member(0, &former);
}
