//! Bootstraps a first master, and checks the result.

use nodeinit_tests::{Host, difference, version};

pub(crate) fn a_first_master_from_nothing() {
    let host = Host::fresh();
    plan_changes_nothing(&host);
    let sampler = host.start(
        "while [ ! -e /root/stop ]; do cat /proc/[0-9]*/{cmdline,environ} >>/run/seen 2>/dev/null; sleep 0.02; done",
    );
    let said = host.up().text();
    let finished = host.must("date -u +%Y-%m-%dT%H:%M:%S.%N; touch /root/stop").trim().to_owned();
    sampler.wait().exits(0);
    the_node_and_the_addons_run(&host);
    everything_is_healthy(&host);
    a_second_up_changes_nothing(&host);
    no_component_complains(&host, &finished);
    host.check_pods();
    kubeadm_accepts_it(&host);
    kubeadm_generates_the_static_pods(&host);
    no_secret_is_shown(&host, &said);
    pods_that_run_in_the_api_only_do_not_count(&host);
}

fn plan_changes_nothing(host: &Host) {
    let before = host.listing();
    let plan = host.nodeinit("plan").exits(2);
    plan.says(&["pki", "kube-apiserver"]);
    let changes = difference(&before, &host.listing());
    assert!(changes.is_empty(), "plan changed {changes:#?}");
}

fn the_node_and_the_addons_run(host: &Host) {
    let ready = r#"get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.nodeInfo.kubeletVersion}{end}'"#;
    assert_eq!(host.kubectl(ready), format!("{} True {}", host.name(), version()));
    let _ = host.kubectl("-n kube-system rollout status deployment/coredns daemonset/kube-proxy --timeout=1s");
    let restarted = host.kubectl("get pods -A --no-headers | awk '$5 != 0'");
    assert_eq!(restarted, "", "a container was restarted");
}

fn everything_is_healthy(host: &Host) {
    let health = host.kubectl("get --raw '/readyz?verbose'");
    let checks = health.lines().filter(|line| line.starts_with('['));
    assert!(checks.clone().count() > 10 && checks.clone().all(|line| line.starts_with("[+]")), "{health}");
}

pub(crate) fn kubeadm_accepts_it(host: &Host) {
    let expiration = host.must("kubeadm certs check-expiration");
    for certificate in ["admin.conf", "super-admin.conf", "apiserver-etcd-client", "front-proxy-client", "etcd-ca"] {
        let line = expiration.lines().find(|line| line.starts_with(certificate));
        assert!(line.is_some_and(|line| line.contains("UTC")), "{certificate} in {expiration}");
    }
    assert!(!expiration.contains("MISSING") && !expiration.contains("<invalid>"), "{expiration}");
    // The version is explicit, because hosts cannot look it up on the internet.
    let version = version();
    let plan = host.run(&format!("kubeadm upgrade plan {version} 2>&1")).exits(0);
    let current = format!("Cluster version: {}", version.trim_start_matches('v'));
    plan.says(&["Running cluster health checks", &current, &format!("Target version: {version}")]);
}

/// As after a power cut: until the kubelet reports, the API shows pods as running whose containers are gone.
fn pods_that_run_in_the_api_only_do_not_count(host: &Host) {
    host.must("systemctl stop kubelet && pkill -9 -x coredns");
    host.nodeinit("plan")
        .exits(2)
        .says(&["pod coredns-", "the kubelet has not reported yet that its containers ended"]);
    host.up();
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// kubeadm reads the configuration that the cluster stores and generates the pods that run, hardening included. The only difference
/// is the mount of etcd's marker: kubeadm has no extra volumes for etcd.
pub(crate) fn kubeadm_generates_the_static_pods(host: &Host) {
    let differences = host.must(
        r#"set -e -o pipefail; export KUBECONFIG=/etc/kubernetes/admin.conf KUBEADM_INIT_DRYRUN_DIR=/run/kubeadm
        mkdir /run/kubeadm
        address=$(kubectl get node $(hostname) -o jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}')
        {
            printf 'apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {advertiseAddress: %s}\n---\n' $address
            kubectl -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'
        } >/run/kubeadm.yaml
        kubeadm init phase control-plane all --dry-run --config /run/kubeadm.yaml >/dev/null
        kubeadm init phase etcd local --dry-run --config /run/kubeadm.yaml >/dev/null
        canonical() { kubectl create --dry-run=client --validate=false -f $1 -o jsonpath='{.metadata.labels}{.metadata.annotations}{.spec}' | tr , '\n'; }
        cp -r /etc/kubernetes/manifests /run/manifests
        grep -q nodeinit.marker /run/manifests/etcd.yaml
        kubectl patch --local -f /etc/kubernetes/manifests/etcd.yaml -o yaml >/run/manifests/etcd.yaml -p '{"spec": {
            "volumes": [{"name": "etcd-marker", "$patch": "delete"}],
            "containers": [{"name": "etcd", "volumeMounts": [{"mountPath": "/run/nodeinit.marker", "$patch": "delete"}]}]}}'
        for pod in etcd kube-apiserver kube-controller-manager kube-scheduler; do
            canonical /run/manifests/$pod.yaml >/run/ours
            canonical /run/kubeadm/$pod.yaml >/run/theirs
            [ $(wc -l </run/ours) -gt 20 ]
            diff -u /run/ours /run/theirs || true
        done
        rm -r /run/kubeadm /run/kubeadm.yaml /run/manifests /run/ours /run/theirs"#,
    );
    assert_eq!(differences, "", "kubeadm generates other static pods");
}

fn a_second_up_changes_nothing(host: &Host) {
    let files = || host.digests("/etc/kubernetes /var/lib/kubelet/*.yaml /etc/systemd");
    let processes = || {
        host.must("ps -eo lstart,pid,args | grep -E '/(kubelet|containerd)|etcd|kube-|coredns|flannel' | grep -vE 'grep|iptables'")
    };
    let containers = || host.must("ls -d /var/log/pods/*/*/*.log; ctr -n k8s.io containers ls -q");
    let before = (files(), processes(), containers());
    let again = host.up();
    again.says(&["nothing to do"]);
    let changes = difference(&before.0, &files());
    assert!(changes.is_empty(), "a second up changed {changes:#?}");
    assert_eq!(before.1, processes(), "a second up restarted a process");
    assert_eq!(before.2, containers(), "a second up restarted a container");
    // The target is 3 s; this limit is for a machine under load.
    assert!(again.seconds < 10.0, "a second up took {} s", again.seconds);
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Searches for the secret values: keys as in files and in kubeconfigs, the token, the encryption key.
fn no_secret_is_shown(host: &Host, said: &str) {
    host.put("/run/said", said);
    host.must(
        r#"set -e -o pipefail; umask 077; mkdir /run/secret; cd /run/secret
        for key in $(find /etc/kubernetes /var/lib/kubelet/pki -name '*.key'); do sed -n 2p "$key"; done >values
        for config in /etc/kubernetes/*.conf; do sed -n 's/.*client-key-data: //p' "$config" | cut -c61-120; done >>values
        kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secrets -o jsonpath='{range .items[*]}{.data.token-secret}{"\n"}{end}' \
            | while read -r token; do base64 -d <<<"$token"; echo; done >tokens
        cat tokens >>values
        sed -n 's/.*secret: *//p' $(grep -rl aescbc\\\|secretbox\\\|aesgcm /etc/kubernetes --include=*.yaml) >>values
        sed -i '/^$/d' values; cat values | wc -l; awk 'length < 16' values >short; [ ! -s short ]"#,
    );
    let count: usize = host.must("wc -l </run/secret/values").trim().parse().unwrap();
    assert!(count >= 16, "only {count} values of secrets were found");
    let shown = host.run(
        r#"cd /run/secret; journalctl --no-pager >/run/secret/journal
        grep -arlFf values /var/log /run/said /run/seen journal
        find / /var/lib/kubelet -xdev -type f -perm /044 -print0 | xargs -0 grep -alFf values
        echo "etcd:"; grep -arlFf tokens /var/lib/etcd; true"#,
    );
    assert_eq!(shown.stdout, "etcd:\n", "secrets are shown in these files");
    host.must("[ $(wc -c </run/seen) -gt 1000000 ] && rm -r /run/secret /run/said /run/seen /root/stop");
}

/// A component that does not trust a peer or lacks a right reports that in its log.
fn no_component_complains(host: &Host, since: &str) {
    host.must("sleep 15");
    let complaints = r"x509|certificate (is|has|signed|verif)|bad certificate|tls: |[Uu]nauthorized|[Ff]orbidden|cannot (get|list|watch|create|update|patch)";
    let lines = host.must(&format!(
        r#"cd /var/log/pods; awk -v since={since} '$1 > since {{print FILENAME ": " $0}}' */*/*.log | grep -E '{complaints}' || true
        journalctl -u kubelet --utc --since "$(tr T ' ' <<<{since})" --no-pager | grep -E '{complaints}' || true"#
    ));
    assert_eq!(lines, "", "components complain");
}
