//! etcd grows from one master to three, and each way in which that can go wrong: quorum is held, and the next `up` goes on.

use crate::kill::killed_everywhere;
use nodeinit_tests::{Cluster, Host, Running};
use std::time::Duration;

/// Reads through etcd on a host until told to stop, and tells the longest time without an answer in milliseconds.
const READER: &str = r#"rm -f /run/reader-stop; longest=0 last=$(date +%s%3N)
while [ ! -e /run/reader-stop ]; do
    etcdctl --command-timeout 1s get /x >/dev/null 2>&1 && { now=$(date +%s%3N); gap=$((now - last)); last=$now; }
    [ "${gap:-0}" -gt $longest ] && longest=$gap
    sleep 0.05
done
gap=$(($(date +%s%3N) - last)); [ $gap -gt $longest ] && longest=$gap
echo $longest"#;

/// etcdctl with the keys that a master has; on every master, for it alone.
const ETCDCTL: &str = r#"#!/bin/sh
pki=/etc/kubernetes/pki/etcd
exec /opt/lab/bin/etcdctl --endpoints https://127.0.0.1:2379 --cacert $pki/ca.crt --cert $pki/healthcheck-client.crt --key $pki/healthcheck-client.key "$@"
"#;

/// An election takes a second or two; this bound is for a machine under load.
const LONGEST_SILENCE: u64 = 5000;

/// Three masters with the same secrets, of which the first is up.
struct Masters {
    cluster: Cluster,
    reader: Option<Running>,
}

impl Masters {
    fn begun() -> Self {
        let cluster = Cluster::with_images(3, 0);
        cluster.first().must("nodeinit secrets generate --file /etc/nodeinit/secrets.yaml");
        let masters = Self { cluster, reader: None };
        (1..3).for_each(|index| masters.equip(index));
        masters.host(0).put("/usr/local/bin/etcdctl", ETCDCTL);
        masters.host(0).must("chmod +x /usr/local/bin/etcdctl");
        masters.host(0).nodeinit("up --local").exits(0);
        masters
    }

    /// Three voting members.
    fn grown() -> Self {
        let mut masters = Self::begun();
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

    fn host(&self, index: usize) -> &Host {
        &self.cluster.masters[index]
    }

    /// Begins to read from the first master's etcd.
    fn watch(&mut self) {
        self.reader = Some(self.host(0).start(READER));
    }

    /// All members vote, these and no others; all are healthy; each master has the same CA; nobody waited for etcd.
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

    /// The members by name, as nodeinit tells them.
    fn members(&self) -> Vec<serde_json::Value> {
        let text = self.host(0).must("nodeinit etcd members --output json");
        let mut members: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        members.sort_by_key(|member| member["name"].as_str().unwrap_or_default().to_owned());
        members
    }

    /// A member's number, in hex.
    fn id(&self, index: usize) -> String {
        let name = self.host(index).name();
        let member = self.members().into_iter().find(|member| member["name"] == name).unwrap();
        member["id"].as_str().unwrap().to_owned()
    }

    /// Where etcdctl finds all members.
    fn endpoints(&self) -> String {
        let urls: Vec<String> = (0..3).map(|index| format!("https://{}:2379", self.host(index).address())).collect();
        urls.join(",")
    }

    /// Lets a master that should not get in try for some seconds.
    #[track_caller]
    fn fails(&self, index: usize, timeouts: &str, says: &[&str]) {
        self.host(index).configure(&format!("timeouts: {timeouts}\n"));
        self.host(index).nodeinit("up").exits(75).says(says);
        self.host(index).must("rm /etc/nodeinit/conf.d/50-test.yaml");
    }

    /// Takes a master out, so that it can come again.
    fn reset(&self, index: usize) {
        self.host(index).nodeinit("reset --yes").exits(0);
        self.equip(index);
    }
}

#[test]
fn three_masters_from_nothing() {
    let mut masters = Masters::grown();
    masters.are(&[0, 1, 2]);
    let nodes = masters.host(0).kubectl("get nodes --no-headers");
    assert_eq!(nodes.lines().filter(|line| line.contains(" Ready ")).count(), 3, "{nodes}");
    for index in 0..3 {
        let manifests = masters.host(index).digests("/etc/kubernetes");
        masters.host(index).nodeinit("up --local").exits(0).says(&["nothing to do"]);
        assert_eq!(manifests, masters.host(index).digests("/etc/kubernetes"), "a second up changed files");
    }

    // The master that leads leaves: another leads before it goes.
    let id = masters.id(2);
    masters.host(0).must(&format!("etcdctl --endpoints {} move-leader {id}", masters.endpoints()));
    masters.host(2).nodeinit("reset --yes").exits(0).says(&["leads now", "is removed from etcd"]);
    masters.are(&[0, 1]);
    masters.equip(2);
    masters.host(2).up();
    masters.are(&[0, 1, 2]);
}

#[test]
fn a_master_that_is_killed_everywhere_joins() {
    let mut masters = Masters::begun();
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

#[test]
fn what_stands_in_a_members_way() {
    let mut masters = Masters::grown();
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

    // It has the data of a member that was removed.
    masters.host(0).must(&format!("etcdctl member remove {}", masters.id(2)));
    masters.host(2).up();
    masters.are(&[0, 1, 2]);

    // Somebody else is being added and never starts.
    masters.reset(2);
    let ghost = masters.host(0).must("etcdctl member add ghost --learner --peer-urls https://10.77.0.250:2380");
    masters.fails(2, "{join: 8s}", &["the member at https://10.77.0.250:2380 was added and has not started yet"]);
    let id = ghost.split_whitespace().nth(1).unwrap();
    masters.host(0).must(&format!("etcdctl member remove {id}"));

    // Its peers cannot be reached, so that its etcd does not start.
    masters.host(2).must("iptables -I OUTPUT -d 10.77.0.0/24 -p tcp --dport 2380 -j DROP");
    masters.fails(2, "{join: 60s, etcd: 6s}", &["did not start within 6 s; it was removed again"]);
    masters.are(&[0, 1]);
    masters.host(2).must("iptables -F OUTPUT");

    // Its network is cut before its turn, and it has no member's answer.
    masters.host(2).must("iptables -I OUTPUT -d 10.77.0.0/24 -p tcp --dport 2379 -j REJECT");
    masters.fails(2, "{join: 8s}", &["no other master's etcd answers"]);
    masters.host(2).must("iptables -F OUTPUT");

    masters.host(2).up();
    masters.are(&[0, 1, 2]);
}

#[test]
fn a_master_is_removed_and_replaced() {
    let mut masters = Masters::grown();
    let name = masters.host(2).name().to_owned();

    // Its power is gone: two are left, and none of them can be spared.
    masters.host(2).cut_power();
    std::thread::sleep(Duration::from_secs(2));
    let spared = masters.host(1).name().to_owned();
    masters.host(0).nodeinit(&format!("master remove {spared}")).exits(75).says(&["etcd would lose its quorum", &name]);
    let forced = masters.host(0).nodeinit(&format!("master remove {spared} --force")).exits(75);
    forced.says(&["going on, as --force says", "etcdserver: unhealthy cluster", &format!("kubectl uncordon {spared}")]);
    masters.host(0).nodeinit(&format!("master remove {name}")).exits(0).says(&["is deleted"]);
    masters.are(&[0, 1]);
    let nodes = masters.host(0).kubectl("get nodes --no-headers");
    assert!(!nodes.contains(&name), "{nodes}");

    // It comes again, with all that lay on its disk.
    masters.host(2).boot();
    masters.host(2).up();
    masters.are(&[0, 1, 2]);
}
