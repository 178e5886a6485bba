//! The virtual address: the API answers at it from the start, and `reset` removes it.

use crate::load::Load;
use nodeinit_tests::{Cluster, Host};

pub(crate) fn the_api_answers_at_the_virtual_address() {
    let host = Host::with_images();
    let address = &host.spare_address();
    host.import_addons(&["kube-vip"]);
    configure(&host, address);
    let addresses = "ip -4 -oneline address | awk '{print $2, $4}'";
    let before = host.must(addresses);
    host.up();
    host.kubectl(&format!("--server https://{address}:6443 get --raw /readyz"));
    assert_eq!(
        host.kubectl("config view -o jsonpath='{.clusters[0].cluster.server}'"),
        format!("https://{address}:6443")
    );
    host.up().says(&["nothing to do"]);
    host.check_pods();

    host.cut_power();
    host.boot();
    let seconds = host.until(
        "the address after a power cut",
        120.0,
        &format!("curl -s -m 1 --cacert /etc/kubernetes/pki/ca.crt https://{address}:6443/readyz"),
    );
    eprintln!("the address was back {seconds:.1} s after the boot");

    host.nodeinit("reset --yes").exits(0);
    assert_eq!(host.must(addresses), before, "reset left an address");
}

pub(crate) fn the_address_moves_when_its_holder_is_gone() {
    let cluster = Cluster::with_images(3, 1);
    let address = &use_for(&cluster);
    cluster.up();
    let worker = &cluster.workers[0];
    let held = holder(&cluster, address);
    assert_eq!(held.len(), 1, "{held:?}");
    let lost = cluster.masters.iter().find(|master| master.name() == held[0]).unwrap();
    lost.cut_power();
    let answers = format!("curl -s -m 1 --cacert /etc/kubernetes/pki/ca.crt https://{address}:6443/readyz");
    let seconds = worker.until("the address on another master", 60.0, &answers);
    eprintln!("the API answered at the address {seconds:.1} s after the power cut");
    let new = holder(&cluster, address);
    assert!(new.len() == 1 && new != held, "{new:?}");

    lost.boot();
    lost.until("its API server", 120.0, "curl -sk -m 1 -f https://127.0.0.1:6443/readyz");
    cluster.up();
    assert_eq!(holder(&cluster, address).len(), 1, "one holds it, and no other");
}

pub(crate) fn the_address_moves_before_its_holder_restarts() {
    let cluster = Cluster::with_images(3, 1);
    let (first, address) = (cluster.first(), &use_for(&cluster));
    cluster.up();
    let moves = || {
        let lease = "-n kube-system get lease nodeinit-virtual-address -o jsonpath={.spec.leaseTransitions}";
        first.kubectl(lease).trim().parse::<u32>().unwrap_or_default()
    };
    let (load, before) = (Load::on(&cluster), moves());
    first.must("echo 'apiServer: {extraArgs: {event-ttl: 2h}}' >>/etc/nodeinit/config.yaml");
    let up = first.nodeinit("up");
    eprintln!("{}", up.text());
    up.exits(0);
    for master in &cluster.masters {
        master.must("pgrep -af 'kube-apiserver .*--event-ttl=2h'; ls /etc/kubernetes/manifests/kube-vip.yaml; [ ! -e /var/lib/nodeinit/kube-vip.yaml ]");
    }
    load.end_within_limits();
    assert!(moves() > before, "the address has not moved");
    assert_eq!(holder(&cluster, address).len(), 1, "one holds it, and no other");
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Configures a virtual address of the control plane, and returns it.
pub(crate) fn use_for(cluster: &Cluster) -> String {
    for master in &cluster.masters {
        master.import_addons(&["kube-vip"]);
    }
    let address = cluster.first().spare_address();
    configure(cluster.first(), &address);
    address
}

fn configure(host: &Host, address: &str) {
    let text =
        format!("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\ncontrolPlane: {{virtualAddress: {address}}}\n");
    host.put("/etc/nodeinit/conf.d/40-address.yaml", &text);
}

/// Returns the masters that have the address on an interface; a master without power has none.
fn holder<'a>(cluster: &'a Cluster, address: &str) -> Vec<&'a str> {
    let has = |host: &&Host| host.run(&format!("ip -4 -oneline address | grep -q ' {address}/'")).code == 0;
    cluster.masters.iter().filter(has).map(Host::name).collect()
}
