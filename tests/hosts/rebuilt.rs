//! A first master never starts an empty etcd while another master may hold the cluster's data.

use nodeinit_tests::{Cluster, Host, Output};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::MetadataExt,
    thread,
    time::Duration,
};

const BUNDLE: &str = "/etc/nodeinit/secrets.yaml";

/// Three masters with the secrets bundle of the same cluster.
struct Masters {
    cluster: Cluster,
    bundle: String,
    /// The inode of each master's etcd data, after the cluster exists.
    inodes: Vec<u64>,
}

fn inode(host: &Host) -> u64 {
    fs::metadata(host.on_disk("var/lib/etcd/member")).unwrap().ino()
}

impl Masters {
    fn fresh() -> Self {
        let cluster = Cluster::with_images(3, 0);
        cluster.first().must(&format!("nodeinit secrets generate --file {BUNDLE}"));
        let bundle = cluster.first().must(&format!("cat {BUNDLE}"));
        Self { cluster, bundle, inodes: Vec::new() }
    }

    fn host(&self, index: usize) -> &Host {
        &self.cluster.masters[index]
    }

    /// Returns a running cluster with a ConfigMap.
    fn with_data() -> Self {
        let mut masters = Self::fresh();
        masters.cluster.up();
        masters.inodes = masters.cluster.masters.iter().map(inode).collect();
        masters.host(0).kubectl("create configmap kept --from-literal=data=precious");
        masters
    }

    /// Cuts the others' power, then boots the masters in this order. To boot the first one, here, is to run `up` on it.
    fn boot_in_order(&self, order: [usize; 3]) -> Output {
        eprintln!("the order is {order:?}");
        [1, 2].into_iter().for_each(|index| self.host(index).cut_power());
        let mut up = None;
        for index in order {
            match index {
                0 => up = Some(self.host(0).start("nodeinit up")),
                _ => self.host(index).boot(),
            }
            thread::sleep(Duration::from_secs(3));
        }
        up.unwrap().wait()
    }

    /// As [`Self::boot_in_order`]: the first master waits for the others and joins their etcd.
    #[track_caller]
    fn join_again_in_order(&self, order: [usize; 3]) {
        self.boot_in_order(order).exits(0).says(&["the other masters have an etcd: this machine joins it"]);
        self.others_keep_their_data(&[1, 2]);
        let data = self.host(0).kubectl("get configmap kept -o jsonpath={.data.data}");
        assert_eq!(data.trim(), "precious");
        self.all_vote();
    }

    /// The first master gets a new disk, with the configuration and the keys that it had.
    fn rebuild_first(&self) {
        self.host(0).rebuild();
        self.cluster.equip_first();
        self.host(0).put(BUNDLE, &self.bundle);
        self.host(0).must(&format!("chmod 600 {BUNDLE}"));
    }

    /// Runs `up` on the first master, which stops waiting for the others after some seconds.
    fn up_soon(&self) -> Output {
        self.host(0).configure("timeouts: {ssh: 15s}\n");
        let output = self.host(0).nodeinit("up");
        self.host(0).must("rm /etc/nodeinit/conf.d/50-test.yaml");
        output
    }

    #[track_caller]
    fn all_vote(&self) {
        let members = self.host(0).must("nodeinit etcd members --output json");
        let votes = |line: &&str| line.contains("\"voter\":true") && line.contains("\"healthy\":true");
        assert_eq!(members.lines().filter(votes).count(), 3, "{members}");
    }

    /// Each other master has its etcd data where it was: the same directory, and none was moved aside.
    #[track_caller]
    fn others_keep_their_data(&self, indices: &[usize]) {
        for index in indices {
            let host = self.host(*index);
            let names = fs::read_dir(host.on_disk("var/lib/etcd")).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["member"], "{}", host.name());
            assert_eq!(inode(host), self.inodes[*index], "another directory is on {}", host.name());
        }
    }
}

/// The second master is powered off, and the first one is rebuilt at its address.
pub(crate) fn a_rebuilt_first_master_never_replaces_the_cluster() {
    let masters = Masters::with_data();
    let names = [1, 2].map(|index| masters.host(index).name().to_owned());
    let silent = format!("{} does not answer", names[0]);
    let holds = format!("{} holds etcd data", names[1]);

    masters.host(1).cut_power();
    masters.rebuild_first();
    masters.up_soon().exits(75).says(&[&silent, &holds, "nodeinit up --new-cluster"]);
    masters.others_keep_their_data(&[2]);

    masters.host(2).delay(600);
    masters.up_soon().exits(75).says(&[&silent, &holds]);
    masters.others_keep_their_data(&[2]);

    masters.host(2).freeze(true);
    let both = masters.up_soon();
    masters.host(2).freeze(false);
    both.exits(75).says(&[&silent, &format!("{} does not answer", names[1])]);
    masters.others_keep_their_data(&[2]);

    // Its bundle has the original encryption key, but the others' keys were rotated since.
    const KEYS: &str = "etc/kubernetes/apiserver/encryption.yaml";
    for index in [1, 2] {
        let mut file = File::options().append(true).open(masters.host(index).on_disk(KEYS)).unwrap();
        writeln!(file, "# rotated").unwrap();
    }
    masters.boot_in_order([0, 2, 1]).exits(1).says(&["encryption.yaml differs from the file on", "copy"]);
    masters.others_keep_their_data(&[1, 2]);
    // The same if no other master answers over SSH: they publish the digests of their keys.
    masters.host(1).until("the end of its own `up`", 120.0, "nodeinit phase run etcd");
    masters.host(0).configure("ssh: {port: 2222}\n");
    let published = ["encryption.yaml differs from the file on", "changed after its last `nodeinit up`"];
    masters.host(0).nodeinit("up").exits(1).says(&published);
    masters.host(0).must("rm /etc/nodeinit/conf.d/50-test.yaml");
    masters.others_keep_their_data(&[1, 2]);
    let rotated = fs::read_to_string(masters.host(2).on_disk(KEYS)).unwrap();
    masters.host(0).put(&format!("/{KEYS}"), rotated.trim_end());
    // A shell may print a greeting before each answer.
    let greeting = format!("case $SSH_CLIENT in '{} '*) echo Welcome ;; esac", masters.host(0).address());
    [1, 2].into_iter().for_each(|index| masters.host(index).put("/root/.bashrc", &greeting));
    masters.join_again_in_order([0, 2, 1]);
}

/// All masters lose their power and the first one its disk. Then they boot, in every order.
pub(crate) fn after_a_power_cut_a_rebuilt_first_master_joins_in_every_order() {
    let masters = Masters::with_data();
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        masters.rebuild_first();
        masters.join_again_in_order(order);
    }
}

/// The machines of a new cluster boot one after the other, the first master before all others.
pub(crate) fn masters_of_a_new_cluster_come_up_in_any_order() {
    let masters = Masters::fresh();
    masters.host(1).cut_power();
    masters.host(2).cut_power();
    let up = masters.host(0).start("nodeinit up");
    thread::sleep(Duration::from_secs(10));
    masters.host(2).boot();
    thread::sleep(Duration::from_secs(10));
    masters.host(1).boot();
    let up = up.wait().exits(0);
    up.says(&["waiting for proof that there is no etcd yet"]);
    masters.all_vote();
    masters.host(0).nodeinit("plan").exits(0);
}
