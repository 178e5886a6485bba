//! Changes of a running cluster that restart its control plane.

use nodeinit_tests::{Cluster, Host};

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
    // The other masters wait for their turn, which does not come.
    for other in &cluster.masters[1..] {
        other.until("the end of its run", 120.0, "! pgrep -f '[n]odeinit up'");
    }
    assert_eq!(with_flag(&cluster, "--no-such-flag"), 1);
    set(first, "max-requests-inflight: \"402\"", "");
    cluster.up();
    assert_eq!(with_flag(&cluster, "--max-requests-inflight=402"), 3);
}
