//! Bootstrap tokens: each is valid once.

use nodeinit_tests::{Cluster, Host};
use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

/// Tokens in the secrets bundle for workers that never join.
const LATE: &str = "latelt.0123456789abcdef";
const LEFT: &str = "leftlt.0123456789abcdef";

pub(crate) fn a_bootstrap_token_becomes_valid_once() {
    let cluster = Cluster::with_images(2, 1);
    let (first, worker) = (cluster.first(), &cluster.workers[0]);
    first.must(&format!(
        "cd /etc/nodeinit && nodeinit secrets generate && printf 'workerTokens:\\n  late: \"{LATE}\"\\n  left: \"{LEFT}\"\\n' >>secrets.yaml"
    ));
    first.up();
    assert_eq!((says(first, LATE), says(first, LEFT)), ("Forbidden", "Forbidden"), "they are valid");

    // One expires, and Kubernetes deletes its Secret; the operator revokes the other.
    let past = "{\"stringData\":{\"expiration\":\"2020-01-01T00:00:00Z\"}}";
    let _ = first.kubectl(&format!("-n kube-system patch secret bootstrap-token-latelt -p '{past}'"));
    first.until(
        "the Secret's removal",
        60.0,
        "! kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secret bootstrap-token-latelt",
    );
    first.nodeinit("token delete leftlt").exits(0);
    first.up();
    are_refused(first, "after `up`");
    first.cut_power();
    first.boot();
    first.up();
    are_refused(first, "after a boot");

    // By default, no token is created that is not bound to a worker.
    assert_eq!(first.must("nodeinit token list"), "");
    let ledger = first.must("nodeinit token list --all");
    assert!(ledger.contains("latelt  ") && ledger.contains("leftlt  revoked"), "{ledger}");
    assert!(!ledger.contains("0123456789abcdef"), "{ledger}");

    a_worker_that_is_added_again_gets_another(first, worker);
    a_late_worker_gets_another(&cluster, worker);
    two_masters_create_at_once(&cluster);
}

/// Returns the API server's answer to a token that may list nothing.
fn says(first: &Host, token: &str) -> &'static str {
    let answer = first.run(&format!(
        "kubectl --kubeconfig /dev/null --server https://{}:6443 --insecure-skip-tls-verify --token {token} get --raw /api/v1/secrets",
        first.address()
    ));
    let text = answer.text();
    ["Unauthorized", "Forbidden"].into_iter().find(|word| text.contains(word)).unwrap_or("something else")
}

/// The API server caches for 10 s that a token was valid.
fn are_refused(first: &Host, when: &str) {
    for token in [LATE, LEFT] {
        let started = Instant::now();
        while says(first, token) != "Unauthorized" {
            assert!(started.elapsed() < Duration::from_secs(20), "{token} is valid {when}");
            thread::sleep(Duration::from_secs(1));
        }
    }
}

fn a_worker_that_is_added_again_gets_another(first: &Host, worker: &Host) {
    let ids = || -> BTreeSet<String> {
        let all = first.must("nodeinit token list --all");
        let of_worker = all.lines().filter(|line| line.ends_with(&format!("of worker {}", worker.name())));
        of_worker.map(|line| line.split("  used ").next().unwrap().to_owned()).collect()
    };
    let before = ids();
    first.nodeinit(&format!("worker remove {}", worker.name())).exits(0);
    worker.nodeinit("reset --yes").exits(0);
    first.nodeinit(&format!("worker add {}", worker.name())).exits(0);
    let after = ids();
    assert!(after.is_superset(&before) && after.len() > before.len(), "{before:?} {after:?}");
    assert!(after.iter().all(|id| id.len() == 6), "each of them is used: {after:?}");
    assert_eq!(first.must("nodeinit token list"), "");
}

/// A machine is rebuilt and boots with user-data whose token was revoked before. The first master sends it another token over SSH, but
/// only to the pinned host key.
fn a_late_worker_gets_another(cluster: &Cluster, worker: &Host) {
    let (first, name) = (cluster.first(), worker.name());
    first.nodeinit(&format!("worker remove {name}")).exits(0);
    first.must(&format!("nodeinit token create --worker {name} --files /root/late"));
    let user_data = ["config", "secrets"].map(|file| first.must(&format!("cat /root/late/{file}.yaml")));
    let id = first.must("nodeinit token list | cut -d' ' -f1").trim().to_owned();
    first.nodeinit(&format!("token delete {id}")).exits(0);

    worker.rebuild();
    first
        .nodeinit("up")
        .exits(3)
        .says(&["is expected: another machine answers", &format!("these failed: host-{name}")]);
    let issued = first.must("nodeinit token list --all");

    cluster.equip(worker);
    worker.must("rm -r /etc/nodeinit/conf.d && mkdir /etc/nodeinit/conf.d");
    for (file, text) in ["config", "secrets"].into_iter().zip(&user_data) {
        worker.put(&format!("/etc/nodeinit/{file}.yaml"), text);
    }
    worker.must("chmod 600 /etc/nodeinit/secrets.yaml");
    let own_boot = worker.start("nodeinit up");
    worker.until("its first request", 30.0, "ls /var/lib/kubelet/pki/kubelet-client.key.tmp");

    let key = worker.must("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
    first.configure(&format!("workers: [{{name: {name}, hostKeys: [{}]}}]\n", key.trim()));
    first.nodeinit(&format!("worker add {name} --address {}", worker.address())).exits(0);
    own_boot.wait().exits(0).says(&["a newer token replaces the one that was tried"]);
    first.kubectl(&format!("wait --for=condition=Ready node/{name} --timeout=5s"));
    let ledger = first.must("nodeinit token list --all");
    let used = |text: &str| text.lines().filter(|line| line.contains("  used ") && line.ends_with(name)).count();
    assert!(ledger.contains(&format!("{id}  revoked")), "{ledger}");
    assert_eq!(used(&ledger), used(&issued) + 1, "{issued}\n{ledger}");
    assert_eq!(first.must("nodeinit token list"), "");
}

/// No entry of the ledger is lost if two masters write it at the same time.
fn two_masters_create_at_once(cluster: &Cluster) {
    let script = "for n in 1 2 3 4 5 6; do nodeinit token create & done; wait";
    let both: Vec<_> = cluster.masters.iter().map(|master| master.start(script)).collect();
    let made: String = both.into_iter().map(|run| run.wait().exits(0).stdout).collect();
    let made: BTreeSet<&str> = made.lines().filter_map(|token| Some(token.split_once('.')?.0)).collect();
    assert_eq!(made.len(), 12);
    let first = cluster.first();
    first.must("for id in $(nodeinit token list | cut -d' ' -f1); do nodeinit token delete $id; done");
    let ledger = first.must("nodeinit token list --all");
    assert!(made.iter().all(|id| ledger.contains(&format!("{id}  revoked"))), "{made:?} {ledger}");
}
