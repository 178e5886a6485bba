//! Pods and the cloud's metadata service, which the first master simulates.

use nodeinit_tests::Host;

const READER: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec:\n  nodeName: NODE\n  hostNetwork: HOST\n  \
    terminationGracePeriodSeconds: 0\n  tolerations: [{operator: Exists}]\n  containers:\n  - name: reader\n    \
    image: localhost/tools:lab\n    command: [sleep, infinity]\n---\n";

const ASK: &str = "curl -s -m 3 http://169.254.169.254/openstack/latest/user_data";

/// Makes the first master answer at the metadata address, and routes the worker there, as a cloud's router does.
fn a_metadata_service(first: &Host) {
    first.must(
        "ip address add 169.254.169.254/32 dev lo
        systemd-run -q --unit=metadata socat TCP-LISTEN:80,bind=169.254.169.254,fork,reuseaddr \
            SYSTEM:'read -r request; echo HTTP/1.0 200 OK; echo; echo the-token'
        for protocol in udp tcp; do
            systemd-run -q --unit=dns-$protocol socat $protocol-listen:53,bind=169.254.169.254,fork,reuseaddr exec:cat
        done",
    );
}

fn has_a_route(first: &Host, worker: &Host) {
    worker.must(&format!("ip route replace 169.254.169.254 via {}", first.address()));
    worker.until("the metadata service", 10.0, &format!("{ASK} | grep -q the-token"));
}

/// Returns what a pod reads of user-data.
fn reads(first: &Host, pod: &str) -> String {
    first.run(&format!("kubectl --kubeconfig /etc/kubernetes/admin.conf exec {pod} -- {ASK}")).stdout.trim().to_owned()
}

/// On a worker with `network.podsMayReadMetadata: false`.
pub(crate) fn pods_do_not_read_user_data(first: &Host, worker: &Host) {
    worker.must("ctr -n k8s.io images import /opt/lab/images/tools.tar");
    let pods: String = [("reader", "false"), ("host-reader", "true")]
        .map(|(name, host)| READER.replace("NAME", name).replace("NODE", worker.name()).replace("HOST", host))
        .concat();
    first.put("/root/readers.yaml", &pods);
    first.kubectl("apply -f /root/readers.yaml");
    first.kubectl("wait --for=condition=Ready pod/reader pod/host-reader --timeout=60s");
    a_metadata_service(first);
    has_a_route(first, worker);
    assert_eq!((reads(first, "reader").as_str(), reads(first, "host-reader").as_str()), ("", "the-token"));
    // Some clouds answer DNS at the same address.
    for protocol in ["udp", "tcp"] {
        let ask = format!("exec reader -- sh -c 'echo name | socat -t 2 - {protocol}:169.254.169.254:53'");
        assert_eq!(first.kubectl(&ask).trim(), "name", "{protocol}");
    }

    // The rule blocks it, and `up` sets the rule again.
    worker.must("nft delete table inet nodeinit_metadata");
    assert_eq!(reads(first, "reader"), "the-token");
    worker.nodeinit("plan").exits(2).says(&["nodeinit-metadata.service"]);
    worker.nodeinit("up").exits(0);
    assert_eq!(reads(first, "reader"), "");
    // Debian's own service flushes all rules; nodeinit's rule is restored.
    for verb in ["start", "restart", "reload", "stop", "start"] {
        worker.must(&format!("systemctl {verb} nftables.service"));
        worker.until(&format!("the rule after a {verb}"), 10.0, "nft list table inet nodeinit_metadata");
    }
    assert_eq!(reads(first, "reader"), "");

    // After a boot, the rule is set before the kubelet starts.
    worker.cut_power();
    worker.boot();
    let started = |unit: &str| {
        let when = worker.must(&format!("systemctl show {unit} -p ActiveEnterTimestampMonotonic --value"));
        when.trim().parse::<u64>().unwrap()
    };
    let (rule, kubelet) = (started("nodeinit-metadata"), started("kubelet"));
    assert!(0 < rule && rule <= kubelet, "{rule} {kubelet}");
    has_a_route(first, worker);
    first.until(
        "the pods after the boot",
        90.0,
        &format!("kubectl --kubeconfig /etc/kubernetes/admin.conf exec host-reader -- {ASK} | grep -q the-token"),
    );
    first.kubectl("wait --for=condition=Ready pod/reader --timeout=60s");
    assert_eq!(reads(first, "reader"), "");
    first.kubectl("delete --wait=false -f /root/readers.yaml");
}
