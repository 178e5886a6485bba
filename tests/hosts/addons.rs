//! Optional addons on a real cluster: they work, and their removal leaves nothing behind.

use nodeinit_tests::Host;

const OWN: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n---\n\
    apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: mine}\ndata: {a: \"$${HOME}\"}\n";

pub(crate) fn addons_are_applied_and_removed() {
    let host = Host::with_images();
    host.import_addons(&["metrics-server", "local-path-provisioner", "busybox"]);
    host.up();
    let before = everything(&host);
    host.nodeinit("addons list").exits(0).says(&["metrics-server  absent", "dashboard       absent"]);
    host.nodeinit("addons apply nothing").exits(64).says(&["unknown addon", "metrics-server"]);
    host.nodeinit("addons apply manifests").exits(64).says(&["addons.manifests"]);
    host.nodeinit("addons remove monitoring").exits(1).says(&["nothing was applied"]);

    host.put("/etc/nodeinit/addons/own.yaml", OWN);
    configure(&host, "metricsServer: true, localStorage: true, manifests: /etc/nodeinit/addons");
    host.nodeinit("plan").exits(2).says(&["addon-metrics-server", "addon-local-storage", "addon-manifests"]);
    host.up();
    host.up().says(&["nothing to do"]);
    host.nodeinit("status").says(&["done     addon-metrics-server", "done     addon-manifests"]);
    let listed = "metrics-server  applied     configured";
    host.nodeinit("addons list").exits(0).says(&[
        listed,
        "manifests       applied     configured",
        "logging         absent",
    ]);

    // metrics-server verifies the kubelets.
    let arguments = host.kubectl("-n kube-system get deployment metrics-server -o jsonpath='{..args}'");
    assert!(arguments.contains("--secure-port") && !arguments.contains("--kubelet-insecure-tls"), "{arguments}");
    metrics_are_measured(&host);
    a_volume_is_given(&host);
    own_manifests_follow_their_files(&host);

    host.kubectl("-n kube-system scale deployment/metrics-server --replicas=0");
    host.nodeinit("addons list").exits(0).says(&["metrics-server  incomplete"]);
    host.nodeinit("addons apply metrics-server").exits(0);
    host.nodeinit("addons list").exits(0).says(&[listed]);

    host.must("mv /etc/nodeinit/addons /root/");
    host.nodeinit("up").exits(78).says(&["/etc/nodeinit/addons", "does not exist"]);
    host.must("mv /root/addons /etc/nodeinit/");
    host.nodeinit("addons remove metrics-server").exits(0).says(&["still enables it"]);
    configure(&host, "metricsServer: false");
    host.nodeinit("addons remove local-storage").exits(0);
    host.nodeinit("addons remove manifests").exits(0);
    host.up();
    assert_eq!(everything(&host), before);
    the_api_accepts_the_others(&host);
}

fn configure(host: &Host, addons: &str) {
    host.configure(&format!("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\naddons: {{{addons}}}\n"));
}

/// Lists every object of the cluster that is created on purpose.
fn everything(host: &Host) -> String {
    let kinds = "namespaces,serviceaccounts,configmaps,secrets,services,deployments,daemonsets,roles,rolebindings,clusterroles,\
        clusterrolebindings,storageclasses,ingressclasses,apiservices";
    host.kubectl(&format!(
        "get {kinds} -A --no-headers -o custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name | sort"
    ))
}

fn metrics_are_measured(host: &Host) {
    let seconds = host.until("metrics", 120.0, "kubectl --kubeconfig /etc/kubernetes/admin.conf top node --no-headers");
    eprintln!("kubectl top answered {seconds:.1} s after `up`");
}

fn a_volume_is_given(host: &Host) {
    host.put(
        "/root/volume.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: volume}\n\
         spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {name: writer}\nspec:\n  restartPolicy: Never\n  terminationGracePeriodSeconds: 0\n  \
         tolerations: [{operator: Exists}]\n  containers:\n  - name: writer\n    image: localhost/tools:lab\n    \
         command: [sh, -c, 'echo kept >/data/file; cat /data/file']\n    volumeMounts: [{name: data, mountPath: /data}]\n  \
         volumes: [{name: data, persistentVolumeClaim: {claimName: volume}}]\n",
    );
    host.kubectl("apply -f /root/volume.yaml");
    host.kubectl("wait --for=jsonpath='{.status.phase}'=Succeeded pod/writer --timeout=120s");
    assert_eq!(host.must("cat /var/lib/local-path-provisioner/*/file").trim(), "kept");
    host.kubectl("delete --wait -f /root/volume.yaml");
    host.until("the volume's end", 60.0, "[ -z \"$(ls /var/lib/local-path-provisioner)\" ]");
}

fn own_manifests_follow_their_files(host: &Host) {
    assert_eq!(
        host.kubectl("-n mine get configmap one -o jsonpath={.data.a}"),
        "$${HOME}",
        "nothing in it is ours to fill in"
    );
    host.put("/etc/nodeinit/addons/own.yaml", &OWN.replace("name: one", "name: two"));
    host.nodeinit("plan").exits(2).says(&["apply ConfigMap two", "delete ConfigMap mine/one"]);
    host.nodeinit("addons apply").exits(0);
    host.kubectl("-n mine get configmap two");
    host.run("kubectl --kubeconfig /etc/kubernetes/admin.conf -n mine get configmap one").exits(1);
}

/// Their images are from other projects, and not in the lab. Each is in a namespace of its own, which the first object of its manifest makes.
fn the_api_accepts_the_others(host: &Host) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/addons");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in all.filter(|name| name != "metrics-server" && name != "local-storage") {
        let manifest = std::fs::read_to_string(format!("{folder}/{name}/{name}.yaml")).unwrap();
        let path = format!("/root/{name}.yaml");
        host.put(&path, &manifest);
        // The namespace with its pod security level, without which the API could not check objects in it.
        let script = format!(
            "export KUBECONFIG=/etc/kubernetes/admin.conf; sed '/^---/,$d' {path} >/root/namespace.yaml; \
             kubectl apply --server-side -f /root/namespace.yaml && kubectl apply --server-side --dry-run=server -f {path} 2>&1; \
             kubectl delete -f /root/namespace.yaml --wait=false"
        );
        let said = host.run(&script).exits(0);
        assert!(!said.text().contains("Warning") && said.text().contains("serverside-applied"), "{}", said.text());
    }
}
