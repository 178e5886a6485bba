//! A cluster of the release that the lab was built with. `make test-releases` builds each release that nodeinit supports.

use crate::{bootstrap, security};
use nodeinit_tests::{Cluster, Host};

pub(crate) fn three_masters_and_two_workers_that_kubeadm_accepts() {
    let cluster = Cluster::fresh(3, 3);
    let (first, [.., stock]) = (cluster.first(), &cluster.workers[..]) else { unreachable!("it has workers") };
    first.must(&format!(
        "sed -i '/^- name: {}$/,$d' /etc/nodeinit/conf.d/10-machines.yaml && tail -n 4 /etc/nodeinit/conf.d/10-machines.yaml",
        stock.name()
    ));
    let debian = std::env::var("LAB_DEBIAN").unwrap_or_else(|_| "12".into());
    first.must(&format!("grep -x 'VERSION_ID=\"{debian}\"' /etc/os-release"));
    cluster.up();
    every_node_has_the_version(first, 5);
    bootstrap::kubeadm_accepts_it(first);
    bootstrap::kubeadm_generates_the_static_pods(first);
    security::kubeadm_joins(first, stock);
    first.until(
        "six Ready nodes",
        120.0,
        "[ $(kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | awk '$2 == \"Ready\"' | wc -l) = 6 ]",
    );
    every_node_has_the_version(first, 6);
    first.check_pods();
}

fn every_node_has_the_version(first: &Host, count: usize) {
    let versions =
        first.kubectl(r#"get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion}{"\n"}{end}'"#);
    assert_eq!(versions.lines().collect::<Vec<_>>(), vec![nodeinit_tests::version(); count]);
}
