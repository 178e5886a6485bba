//! Power cuts of the whole host, and of all hosts of a cluster.

use nodeinit_tests::{Cluster, Host};
use std::{thread, time::Duration};

pub(crate) fn the_cluster_recovers_from_a_power_cut_on_its_own() {
    let host = Host::with_cluster();
    let ca = host.ca();
    host.kubectl("create configmap kept");
    host.cut_power();
    host.boot();
    let ready = "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz";
    let seconds = host.until("the API server after a power cut", 120.0, ready);
    eprintln!("the API server was ready {seconds:.1} s after the boot");
    host.kubectl("get configmap kept");
    host.until("the addons after a power cut", 120.0, "nodeinit plan");
    host.check_pods();
    assert_eq!(ca, host.ca());
}

pub(crate) fn up_resumes_after_a_power_cut_during_a_run() {
    let host = Host::fresh();
    let up = host.start("nodeinit up");
    host.until("the kubelet's start", 120.0, "systemctl is-active kubelet");
    let ca = host.ca();
    host.cut_power();
    let _ = up.wait();
    host.boot();
    host.up();
    assert_eq!(ca, host.ca(), "the CA was generated again");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// The time between two masters' boots.
const BETWEEN_BOOTS: Duration = Duration::from_secs(4);

/// All pods run again, and all nodes are Ready, within this time after the last boot.
const RECOVERY_LIMIT: f64 = 150.0;

/// One line per pod: its name, and for each container whether it is ready and since when it runs.
const PODS: &str = r#"get pods -A -o jsonpath='{range .items[*]}{.metadata.name}{range .status.containerStatuses[*]} {.ready}={.state.running.startedAt}{end}{"\n"}{end}'"#;

/// Cuts the power of three masters and a worker at the same time and boots the masters in each of these orders, without running nodeinit.
fn a_power_cut_of_the_whole_cluster(orders: &[[usize; 3]]) {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let ca = cluster.first().ca();
    for (round, order) in orders.iter().enumerate() {
        cluster.first().kubectl(&format!("create configmap kept-{round}"));
        thread::scope(|scope| cluster.hosts().for_each(|host| drop(scope.spawn(|| host.cut_power()))));
        let cut = cluster.masters[order[0]].address().to_owned();
        for (turn, index) in order.iter().enumerate() {
            if turn > 0 {
                thread::sleep(BETWEEN_BOOTS);
            }
            cluster.masters[*index].boot();
        }
        cluster.workers[0].boot();
        let first = &cluster.masters[order[0]];
        let admin = "kubectl --kubeconfig /etc/kubernetes/admin.conf";
        let api = first.until("the API server", RECOVERY_LIMIT, &format!("{admin} get --raw /readyz"));
        let booted = first.must("date -u -d @$(stat -c %Y /proc/1) +%FT%TZ");
        let booted = booted.trim();
        // Pods that run since before the cut are only remembered by the API.
        let fresh = format!(
            r#"{admin} {PODS} | awk -v since={booted} 'NF < 2 {{ print; bad = 1 }} {{ for (i = 2; i <= NF; i++) {{ split($i, state, "="); if (state[1] != "true" || state[2] < since) {{ print; bad = 1 }} }} }} END {{ exit bad || !NR }}'"#
        );
        let pods = first.until("all pods", RECOVERY_LIMIT, &fresh);
        let ready = format!("[ $({admin} get nodes --no-headers | grep -c ' Ready ') = 4 ]");
        first.until("all nodes", RECOVERY_LIMIT, &ready);
        eprintln!("{cut} first: the API after {api:.0} s, all pods after {:.0} s", api + pods);
        for kept in 0..=round {
            first.kubectl(&format!("get configmap kept-{kept}"));
        }
        let members = first.must("nodeinit etcd members --output json");
        assert_eq!(members.matches(r#""healthy":true"#).count(), 3, "{members}");
        assert!(cluster.masters.iter().all(|master| master.ca() == ca));
    }
    cluster.first().nodeinit("plan").exits(0).says(&["nothing to do"]);
}

pub(crate) fn all_hosts_lose_their_power_and_the_last_master_boots_first() {
    a_power_cut_of_the_whole_cluster(&[[2, 1, 0], [1, 0, 2]]);
}

pub(crate) fn all_hosts_lose_their_power_and_boot_in_every_order() {
    a_power_cut_of_the_whole_cluster(&[[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]);
}
