//! The virtual address: the API answers at it from the start, and it goes with the cluster.

use nodeinit_tests::Host;

/// Free: no host of tests has it.
const ADDRESS: &str = "10.77.0.99";

#[test]
fn the_api_answers_at_the_virtual_address() {
    let host = Host::with_images();
    host.import_addons(&["kube-vip"]);
    host.configure(&format!(
        "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\ncontrolPlane: {{virtualAddress: {ADDRESS}}}\n"
    ));
    let addresses = "ip -4 -oneline address | awk '{print $2, $4}'";
    let before = host.must(addresses);
    host.up();
    host.kubectl(&format!("--server https://{ADDRESS}:6443 get --raw /readyz"));
    assert_eq!(
        host.kubectl("config view -o jsonpath='{.clusters[0].cluster.server}'"),
        format!("https://{ADDRESS}:6443")
    );
    host.up().says(&["nothing to do"]);
    host.check_pods();

    host.cut_power();
    host.boot();
    let seconds = host.until(
        "the address after a power cut",
        120.0,
        &format!("curl -s -m 1 --cacert /etc/kubernetes/pki/ca.crt https://{ADDRESS}:6443/readyz"),
    );
    eprintln!("the address was back {seconds:.1} s after the boot");

    host.nodeinit("reset --yes").exits(0);
    assert_eq!(host.must(addresses), before, "reset left an address");
}
