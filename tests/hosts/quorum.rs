//! The quorum of etcd while masters change.

use crate::observer::Observer;
use nodeinit_tests::{Cluster, Host};

const WATCHER: &str = include_str!("quorum.py");

/// The looks in a row, half a second or more apart, that prove a lost quorum. One look proves nothing: on a busy machine, a healthy
/// member may answer later than a look waits, and one that was promoted or removed a moment ago may count under its former role.
const LOOKS: u64 = 3;

/// A look takes this many seconds at most, on a busy machine and with members that do not answer.
const SLOWEST: f64 = 4.0;

/// Counts the healthy voting members of etcd from the last worker, which outlives every master.
pub(crate) struct Quorum<'a> {
    watcher: Observer<'a>,
    masters: usize,
}

impl<'a> Quorum<'a> {
    /// Starts to count in a running cluster.
    pub(crate) fn of(cluster: &'a Cluster) -> Self {
        let worker = cluster.workers.last().unwrap();
        let certificate =
            cluster.first().must("cd /etc/kubernetes/pki; cat apiserver-etcd-client.crt apiserver-etcd-client.key");
        worker.put("/root/etcd.pem", &certificate);
        let addresses: Vec<&str> = cluster.masters.iter().map(Host::address).collect();
        let watcher = Observer::start(worker, "quorum", WATCHER, &addresses.join(" "));
        Self { watcher, masters: cluster.masters.len() }
    }

    /// Ends. A member was down at some time, but a quorum of the voting members was always healthy.
    #[track_caller]
    pub(crate) fn was_kept(self) {
        let (seen, seconds) = self.watcher.end();
        let count = |what: &str| seen[what].as_u64().unwrap();
        assert!(count("looks") as f64 * SLOWEST >= seconds, "it looked too rarely: {seen} in {seconds:.0} s");
        assert!(count("least") < self.masters as u64, "it saw no member that was down: {seen}");
        assert!(count("without") < LOOKS, "etcd had no quorum: {seen}");
    }
}
