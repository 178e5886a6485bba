//! A configuration that changes between runs.

use nodeinit_tests::{Host, version};

pub(crate) fn settings_change_in_place_or_are_refused() {
    let host = Host::with_cluster();
    let ca = host.ca();
    what_can_be_changed(&host);
    for (yaml, key) in [
        ("name: another", "name was \"lab\" and is now \"another\""),
        ("network: {podCIDR: 10.245.0.0/16}", "network.podCIDR was \"10.244.0.0/16\" and is now \"10.245.0.0/16\""),
        ("network: {serviceCIDR: 10.97.0.0/16}", "network.serviceCIDR was \"10.96.0.0/12\""),
        ("network: {dnsDomain: example.org}", "network.dnsDomain was \"cluster.local\""),
        ("etcd: {dataDirectory: /srv/etcd}", "etcd.dataDirectory was \"/var/lib/etcd\""),
        ("controlPlane: {endpoint: api.example.org}", "controlPlane.endpoint was"),
        ("kubernetes: {version: v1.36.0}", &format!("kubernetes.version was {:?} and is now \"v1.36.0\"", version())),
    ] {
        host.configure(yaml);
        for command in ["up", "plan"] {
            host.nodeinit(command).exits(78).says(&[key, "restore the previous values", "nodeinit reset"]);
        }
    }
    host.must("rm /etc/nodeinit/conf.d/50-test.yaml");
    host.up();
    assert_eq!(ca, host.ca(), "the CA was generated again");
}

fn what_can_be_changed(host: &Host) {
    let (name, address) = (host.name(), host.address());
    host.configure(&format!(
        "apiServer: {{extraArgs: {{max-requests-inflight: 321}}}}
scheduler: {{extraArgs: {{v: 3}}}}
controlPlane: {{certSANs: [api.example.org]}}
kubelet: {{config: {{maxPods: 99}}}}
masters:
- name: {name}
  address: {address}
  labels: {{example.org/zone: north}}
  taints: ['example.org/dedicated=db:PreferNoSchedule']"
    ));
    let plan = host.nodeinit("plan").exits(2);
    plan.says(&["manifests/kube-apiserver.yaml", "apiserver.crt", "label and taint the node"]);
    host.up();
    for (name, flag) in [("kube-apiserver", "--max-requests-inflight=321"), ("kube-scheduler", "--v=3")] {
        let lines = host.must(&format!("for p in $(pgrep {name}); do tr '\\0' ' ' </proc/$p/cmdline; echo; done"));
        assert!(lines.contains(flag) && lines.lines().count() == 1, "{name} is not the new one alone:\n{lines}");
    }
    host.kubectl("get --raw /readyz");
    let names = format!(
        "openssl s_client -connect {address}:6443 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName"
    );
    assert!(host.must(&names).contains("DNS:api.example.org"), "the API server shows its former certificate");
    let pods = || host.kubectl("get node -o jsonpath='{.items[0].status.capacity.pods}'");
    host.until("the kubelet's new limit", 30.0, "kubectl --kubeconfig /etc/kubernetes/admin.conf get node -o jsonpath='{.items[0].status.capacity.pods}' | grep -qx 99");
    assert_eq!(pods(), "99");
    let node = host.kubectl("get node -o jsonpath='{.items[0].metadata.labels} {.items[0].spec.taints}'");
    assert!(node.contains(r#""example.org/zone":"north""#) && node.contains("example.org/dedicated"), "{node}");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.nodeinit("status").exits(0);
}
