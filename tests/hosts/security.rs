//! What somebody can do who has one worker: each line of the table in `docs/reference/security.md`.

use crate::metadata;
use nodeinit_tests::{Cluster, Host};

const KUBECTL: &str = "kubectl --kubeconfig /etc/kubernetes/admin.conf";

/// `csr SUBJECT [SAN]` prints a request, `post NAME SIGNER PURPOSE` sends the one that it reads, with the credentials in `auth`, and
/// `may METHOD PATH [BODY]` prints the status.
const ATTACK: &str = r#"
request() { curl -s --cacert /etc/kubernetes/pki/ca.crt "${auth[@]}" -H "Content-Type: ${type:-application/json}" "$@"; }
csr() { openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj "$1" ${2:+-addext "subjectAltName=$2"} 2>/dev/null; }
post() {
  request -d "{\"apiVersion\": \"certificates.k8s.io/v1\", \"kind\": \"CertificateSigningRequest\", \"metadata\": {\"name\": \"$1\"}, \"spec\": {
    \"signerName\": \"kubernetes.io/$2\", \"usages\": [\"digital signature\", \"$3\"], \"request\": \"$(base64 -w0)\"}}" $api/apis/certificates.k8s.io/v1/certificatesigningrequests
}
may() { request -o /dev/null -w '%{http_code}' -X "$1" ${3:+-d "$3"} "$api$2"; }
"#;

/// An attacker with these credentials of a worker.
struct Attacker<'a> {
    first: &'a Host,
    worker: &'a Host,
    credentials: String,
}

impl Attacker<'_> {
    fn run(&self, script: &str) -> String {
        let (api, auth) = (format!("https://{}:6443", self.first.address()), &self.credentials);
        self.worker.must(&format!("api={api}; auth=({auth}); {ATTACK}\n{script}"))
    }

    /// Requests a certificate; returns the API server's answer.
    fn posts(&self, name: &str, signer: &str, subject: &str, names: &str) -> String {
        let purpose = if signer == "kubelet-serving" { "server auth" } else { "client auth" };
        self.run(&format!("csr '{subject}' '{names}' | post {name} {signer} '{purpose}'"))
    }

    /// Requests a certificate that an approver will decide about.
    #[track_caller]
    fn asks(&self, name: &str, signer: &str, subject: &str, names: &str) {
        let said = self.posts(name, signer, subject, names);
        assert!(said.contains("\"kind\": \"CertificateSigningRequest\""), "{said}");
    }

    /// Requests a certificate, which the API server forbids.
    #[track_caller]
    fn may_not_ask(&self, name: &str, signer: &str, subject: &str, names: &str) {
        let said = self.posts(name, signer, subject, names);
        assert!(said.contains("is forbidden"), "{said}");
    }

    /// Requests a certificate and expects this verdict.
    #[track_caller]
    fn gets(&self, verdict: &str, name: &str, signer: &str, subject: &str, names: &str) {
        self.asks(name, signer, subject, names);
        self.is(verdict, name);
    }

    /// Waits for this verdict on a request.
    #[track_caller]
    fn is(&self, verdict: &str, name: &str) {
        let conditions = format!("{KUBECTL} get csr {name} -o jsonpath='{{.status.conditions[*].type}}'");
        self.first.until(&format!("{name} is {verdict}"), 20.0, &format!("{conditions} | grep -qx {verdict}"));
    }

    #[track_caller]
    fn may(&self, path: &str) {
        assert_eq!(self.run(&format!("may GET '{path}'")), "200", "{path}");
    }

    #[track_caller]
    fn may_not(&self, method: &str, path: &str, body: &str) {
        let status = self.run(&format!("may {method} '{path}' '{body}'"));
        assert_eq!(status, "403", "{method} {path}");
    }

    /// Adds an address to the worker's own Node. Its kubelet is stopped, because it would remove the address again.
    #[track_caller]
    fn reports(&self, address: &str) {
        let status = format!(
            r#"{{"status": {{"addresses": [{{"type": "InternalIP", "address": "{}"}}, {{"type": "ExternalIP", "address": "{address}"}}]}}}}"#,
            self.worker.address()
        );
        let path = format!("/api/v1/nodes/{}/status", self.worker.name());
        let code = self.run(&format!("type=application/strategic-merge-patch+json may PATCH {path} '{status}'"));
        assert_eq!(code, "200", "{address}");
    }
}

fn subject(node: &str) -> String {
    format!("/O=system:nodes/CN=system:node:{node}")
}

/// Waits until the agent of a master watches.
fn agent_watches(host: &Host) {
    host.until("the agent", 60.0, "systemctl show nodeinit-agent -p StatusText --value | grep -q '^watching'");
}

/// `kubectl logs` of a pod on this node: the API server verifies the kubelet.
fn logs_come_from(first: &Host, node: &str) {
    let pod = format!(
        "{KUBECTL} -n kube-system get pods -l k8s-app=kube-proxy --field-selector spec.nodeName={node} -o name"
    );
    first.until(
        &format!("logs from {node}"),
        60.0,
        &format!("pod=$({pod}); [ -n \"$pod\" ] && {KUBECTL} -n kube-system logs $pod | grep -q ."),
    );
}

/// `kubectl logs` works for each of these nodes, without a wait.
#[track_caller]
pub(crate) fn logs_come_at_once(first: &Host, nodes: &[&Host]) {
    for node in nodes {
        let pod = format!(
            "$({KUBECTL} -n kube-system get pods -l k8s-app=kube-proxy --field-selector spec.nodeName={} -o name)",
            node.name()
        );
        first.must(&format!("{KUBECTL} -n kube-system logs {pod} | grep -q ."));
    }
}

/// Enables the agent in a cluster that ran without it, and disables it again.
pub(crate) fn the_agent_is_enabled_and_disabled_in_a_running_cluster() {
    let cluster = Cluster::with_images(1, 2);
    let (first, worker, stock) = (cluster.first(), &cluster.workers[0], &cluster.workers[1]);
    let all = [first, worker, stock];
    let key = worker.must("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
    let machines =
        format!("workers:\n- {{name: {}, address: {}, hostKeys: [{}]}}\n", worker.name(), worker.address(), key.trim());
    let switch = |on: bool| first.configure(&format!("agent: {{enabled: {on}}}\n{machines}"));
    switch(false);
    first.up();
    kubeadm_joins(first, stock);
    let as_without_the_agent = || {
        assert!(!verifies_kubelets(first));
        serves_with_a_certificate_of_the_cluster(first, worker, false);
        first.must("! systemctl is-active nodeinit-agent; [ ! -e /etc/systemd/system/nodeinit-agent.service ]");
        first.must("[ ! -e /var/lib/nodeinit/agent.yaml ] && [ ! -e /etc/kubernetes/nodeinit-agent.conf ]");
        first.must("! pgrep -f 'nodeinit agent'; ! grep -q serverTLSBootstrap /var/lib/kubelet/config.yaml");
        worker.must("! grep -q serverTLSBootstrap /var/lib/kubelet/config.yaml");
        logs_come_at_once(first, &all);
        first.nodeinit("plan").exits(0).says(&["nothing to do"]);
    };
    first.until(
        "the stock worker",
        120.0,
        &format!("{KUBECTL} wait --for=condition=Ready node/{} --timeout=1s", stock.name()),
    );
    logs_come_from(first, stock.name());
    as_without_the_agent();

    // nodeinit does not change machines that kubeadm joined: until the operator does, their kubelets cannot be verified.
    switch(true);
    first.nodeinit("plan").exits(2).says(&["verify-kubelets", "agent"]);
    let said = first.up();
    let only = format!("certificate of the cluster's CA: {} (", stock.name());
    said.says(&["kube-apiserver does not verify kubelets yet", &only, "serverTLSBootstrap: true"]);
    agent_watches(first);
    assert!(!verifies_kubelets(first));
    serves_with_a_certificate_of_the_cluster(first, worker, true);
    logs_come_at_once(first, &all);

    stock.must("echo 'serverTLSBootstrap: true' >>/var/lib/kubelet/config.yaml && systemctl restart kubelet");
    first.up();
    assert!(verifies_kubelets(first));
    logs_come_at_once(first, &all);
    let settings =
        first.kubectl("-n kube-system get configmap kubeadm-config -o jsonpath={.data.ClusterConfiguration}");
    assert!(settings.contains("kubelet-certificate-authority"), "{settings}");
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);

    switch(false);
    first.up();
    as_without_the_agent();
}

/// Whether the running API server verifies kubelets.
fn verifies_kubelets(first: &Host) -> bool {
    let line = first.must("tr '\\0' '\\n' </proc/$(pgrep -x kube-apiserver)/cmdline");
    line.contains("--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt")
}

fn serves_with_a_certificate_of_the_cluster(first: &Host, node: &Host, wanted: bool) {
    let address = node.address();
    let verified = first.run(&format!(
        "openssl s_client -connect {address}:10250 -verify_ip {address} -CAfile /etc/kubernetes/pki/ca.crt -verify_return_error </dev/null"
    ));
    assert_eq!(verified.code == 0, wanted, "{}", verified.text());
}

pub(crate) fn what_an_attacker_with_one_worker_can_and_cannot_do() {
    let cluster = Cluster::with_images(1, 2);
    let (first, worker, stock) = (cluster.first(), &cluster.workers[0], &cluster.workers[1]);
    let key = worker.must("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
    let address = &first.spare_address();
    first.import_addons(&["kube-vip"]);
    for host in [first, worker, stock] {
        host.must(&format!("echo {address} api.cluster.example >>/etc/hosts"));
    }
    first.configure(&format!(
        "network: {{podsMayReadMetadata: false}}
controlPlane: {{endpoint: 'api.cluster.example:6443', virtualAddress: {address}, certSANs: [api.example.org]}}\nworkers:\n- {{name: {}, address: {}, hostKeys: [{}]}}\n- {{name: spare}}\n",
        worker.name(),
        worker.address(),
        key.trim()
    ));
    first.up();
    logs_come_at_once(first, &[first, worker]);
    agent_watches(first);
    metadata::pods_do_not_read_user_data(first, worker);
    with_a_token(first, worker);
    with_a_kubelet(first, worker, address);
    a_stock_worker_joins(first, stock);
    with_addresses_that_nodes_report(first, worker, stock);
    the_agent_survives(first);
    with_a_kubelet_again(first, worker);
    // After the power cut, the kubelet takes a while to report each pod.
    first.until("a plan without changes after the boot", 120.0, "nodeinit plan");
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

fn with_a_token(first: &Host, worker: &Host) {
    let token = first.must("nodeinit token create --worker spare");
    let attacker = Attacker { first, worker, credentials: format!("-H 'Authorization: Bearer {}'", token.trim()) };
    let client = "kube-apiserver-client-kubelet";
    attacker.gets("Denied", "token-other", client, &subject(worker.name()), "");
    attacker.gets("Denied", "token-master", client, &subject(first.name()), "");
    attacker.gets("Denied", "token-admin", client, "/O=system:masters/CN=system:node:spare", "");
    attacker.gets("Denied", "token-names", client, &subject("spare"), "DNS:api.example.org");
    attacker.gets("Approved", "token-own", client, &subject("spare"), "");
    // Another key with the same token.
    attacker.gets("Denied", "token-again", client, &subject("spare"), "");
    attacker.asks("token-serving", "kubelet-serving", &subject("spare"), "DNS:spare");
    attacker.asks("token-signer", "kube-apiserver-client", "/O=me/CN=me", "");
    attacker.may_not_ask("token-masters", "kube-apiserver-client", "/O=system:masters/CN=me", "");
    for path in [
        "/api/v1/namespaces/kube-system/secrets",
        "/api/v1/nodes",
        "/api/v1/pods",
        "/api/v1/namespaces/kube-system/configmaps/kubeadm-config",
        "/api/v1/namespaces/kube-system/configmaps/kubelet-config",
    ] {
        attacker.may_not("GET", path, "");
    }
    attacker.may_not(
        "POST",
        "/api/v1/namespaces/kube-system/secrets",
        r#"{"metadata": {"name": "bootstrap-token-aaaaaa"}}"#,
    );
    attacker.may(&format!("/api/v1/nodes/{}", worker.name()));
    attacker.may("/apis/certificates.k8s.io/v1/certificatesigningrequests");
    let approve = "/apis/certificates.k8s.io/v1/certificatesigningrequests/token-signer/approval";
    attacker.may_not("PUT", approve, r#"{"metadata": {"name": "token-signer"}}"#);
    stay_pending(first, &["token-serving", "token-signer"]);
}

fn kubelet_of<'a>(first: &'a Host, worker: &'a Host) -> Attacker<'a> {
    let pem = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    Attacker { first, worker, credentials: format!("--cert {pem} --key {pem}") }
}

fn with_a_kubelet(first: &Host, worker: &Host, virtual_address: &str) {
    let attacker = kubelet_of(first, worker);
    let (own, address) = (subject(worker.name()), worker.address());
    let many: String = (0..64).map(|number| format!("DNS:{number}.example.org,")).collect();
    for (name, names) in [
        ("kubelet-endpoint", "DNS:api.cluster.example"),
        ("kubelet-virtual-address", &format!("IP:{virtual_address}")),
        ("kubelet-certsans", "DNS:api.example.org"),
        ("kubelet-wildcard", "DNS:*.cluster.example"),
        ("kubelet-pod", "IP:10.244.0.5"),
        ("kubelet-metadata", "IP:169.254.169.254"),
        ("kubelet-many", &format!("{many}DNS:{}", worker.name())),
        ("kubelet-service", "IP:10.96.0.1"),
        ("kubelet-service-name", "DNS:kubernetes.default.svc"),
        ("kubelet-master", &format!("IP:{}", first.address())),
        ("kubelet-master-name", &format!("DNS:{}", first.name())),
        ("kubelet-other", "DNS:spare"),
    ] {
        attacker.gets("Denied", name, "kubelet-serving", &own, &format!("IP:{address},{names}"));
    }
    // The signer reads the second request of this text, other readers of PEM the first.
    attacker.run(&format!(
        "{{ csr '{own}' IP:{address} | sed '$d'; echo '-----END CERTIFICATE REQUEST-----x'; csr '{own}' DNS:api.cluster.example; }} |
            post kubelet-two kubelet-serving 'server auth'"
    ));
    attacker.is("Denied", "kubelet-two");
    attacker.may_not_ask("kubelet-as-other", "kubelet-serving", &subject("spare"), "DNS:spare");
    attacker.may_not_ask("kubelet-client", "kube-apiserver-client-kubelet", &subject(first.name()), "");
    attacker.gets("Approved", "kubelet-own", "kubelet-serving", &own, &format!("DNS:{},IP:{address}", worker.name()));
    attacker.asks("kubelet-unknown", "kubelet-serving", &own, "DNS:db.example.org");
    attacker.may_not("GET", "/api/v1/secrets", "");
    attacker.may_not("GET", "/api/v1/namespaces/kube-system/secrets", "");
    attacker.may_not("DELETE", &format!("/api/v1/nodes/{}", first.name()), "");
    stay_pending(first, &["kubelet-unknown"]);
    with_the_secrets_of_its_pods(&attacker);
    // The operator approves a name without an owner; a name of another owner stays denied.
    first.nodeinit(&format!("certs approve {}", worker.name())).exits(0).says(&["kubelet-unknown", "db.example.org"]);
    let approved = first.kubectl("get csr kubelet-unknown -o jsonpath='{.status.conditions[*].type}'");
    assert_eq!(approved, "Approved");
}

/// A kubelet reads the Secrets of the pods that run on its node, and no others.
fn with_the_secrets_of_its_pods(attacker: &Attacker) {
    let Attacker { first, worker, .. } = attacker;
    for name in ["used", "unused"] {
        first.kubectl(&format!("create secret generic {name} --from-literal=a=b"));
    }
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: user}}\nspec:\n  nodeName: {}\n  containers:\n  - name: user\n    \
        image: localhost/tools:lab\n    envFrom: [{{secretRef: {{name: used}}}}]\n",
        worker.name()
    );
    first.put("/root/user.yaml", &pod);
    first.kubectl("apply -f /root/user.yaml");
    attacker.may("/api/v1/namespaces/default/secrets/used");
    attacker.may_not("GET", "/api/v1/namespaces/default/secrets/unused", "");
    first.kubectl("delete --wait=false -f /root/user.yaml");
}

/// The worker has a configured address, the stock worker has none.
fn with_addresses_that_nodes_report(first: &Host, worker: &Host, stock: &Host) {
    let (attacker, other) = (kubelet_of(first, worker), kubelet_of(first, stock));
    let asks = |who: &Attacker, verdict: &str, name: &str, address: &str| {
        who.gets(verdict, name, "kubelet-serving", &subject(who.worker.name()), &format!("IP:{address}"));
    };
    worker.must("systemctl stop kubelet");
    stock.must("systemctl stop kubelet");
    attacker.reports(stock.address());
    for (who, name) in [(&attacker, "reported-by-two"), (&other, "reported-by-two-stock")] {
        who.asks(name, "kubelet-serving", &subject(who.worker.name()), &format!("IP:{}", stock.address()));
    }
    stay_pending(first, &["reported-by-two", "reported-by-two-stock"]);
    attacker.reports("192.0.2.7");
    attacker.asks("reported", "kubelet-serving", &subject(worker.name()), "IP:192.0.2.7");
    stay_pending(first, &["reported"]);
    asks(&other, "Approved", "reported-stock-own", stock.address());
    other.reports(first.address());
    asks(&other, "Denied", "reported-master", first.address());
    other.reports("192.0.2.8");
    asks(&other, "Approved", "reported-stock", "192.0.2.8");
    // A client with endless requests does not block the others.
    attacker.run(&format!(
        "export api; csr '{}' DNS:api.example.org >/root/flood
        for number in $(seq 100); do post flood-$number kubelet-serving 'server auth' </root/flood >/dev/null & done; wait",
        subject(worker.name())
    ));
    asks(&other, "Approved", "beside-the-flood", stock.address());
    // Neither does a request whose event has 8 MB, because the API server writes each `<` as six characters; it is first in each list.
    let created = attacker.run(&format!(
        "owner=$(head -c 1300000 /dev/zero | tr '\\0' '<')
        cat >/root/large <<END
{{\"apiVersion\": \"certificates.k8s.io/v1\", \"kind\": \"CertificateSigningRequest\", \"metadata\": {{\"name\": \"0\",
\"ownerReferences\": [{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"uid\": \"1\", \"name\": \"$owner\"}}]}},
\"spec\": {{\"signerName\": \"example.com/x\", \"usages\": [\"client auth\"], \"request\": \"$(csr '{}' | base64 -w0)\"}}}}
END
        request -o /dev/null -w '%{{http_code}}' -d @/root/large $api/apis/certificates.k8s.io/v1/certificatesigningrequests",
        subject(worker.name())
    ));
    assert_eq!(created, "201");
    asks(&other, "Approved", "beside-the-large-one", stock.address());
    worker.must("systemctl start kubelet");
    stock.must("systemctl start kubelet");
}

/// These are neither approved nor denied.
fn stay_pending(first: &Host, names: &[&str]) {
    first.must("sleep 3");
    for name in names {
        let conditions = first.kubectl(&format!("get csr {name} -o jsonpath='{{.status.conditions[*].type}}'"));
        assert_eq!(conditions, "", "{name}");
    }
}

fn a_stock_worker_joins(first: &Host, stock: &Host) {
    kubeadm_joins(first, stock);
    logs_come_from(first, stock.name());
}

pub(crate) fn kubeadm_joins(first: &Host, stock: &Host) {
    stock.copy(concat!(env!("CARGO_MANIFEST_DIR"), "/bench/kubeadm-on-host.sh"), "/root/kubeadm-on-host.sh");
    let token = first.must("nodeinit token create");
    stock.must("bash /root/kubeadm-on-host.sh prepare");
    stock.must(&format!(
        "kubeadm join {}:6443 --token {} --discovery-token-unsafe-skip-ca-verification --ignore-preflight-errors=SystemVerification",
        first.address(),
        token.trim()
    ));
}

fn the_agent_survives(first: &Host) {
    let pid = "systemctl show nodeinit-agent -p MainPID --value";
    // 20 MiB may be resident. The code of a release is at most 8 MiB of that; a debug build has several times as much.
    let memory = first.must(&format!("grep -E '^(VmRSS|RssAnon)' /proc/$({pid})/status"));
    eprintln!("the agent's memory: {memory}");
    let own =
        memory.lines().find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next()?.parse::<u32>().ok());
    assert!(own.unwrap() <= 12 * 1024, "{memory}");
    let before = first.must(pid);
    first.must(&format!("kill -9 {}", before.trim()));
    first.until("another agent", 20.0, &format!("now=$({pid}); [ $now != 0 ] && [ $now != {} ]", before.trim()));
    agent_watches(first);
    first.must("kill -9 $(pgrep -x kube-apiserver)");
    first.until("the API server", 60.0, &format!("{KUBECTL} get --raw /readyz"));
    agent_watches(first);
    first.cut_power();
    first.boot();
    agent_watches(first);
}

/// An agent that no `up` has started still decides requests.
fn with_a_kubelet_again(first: &Host, worker: &Host) {
    let attacker = kubelet_of(first, worker);
    let own = subject(worker.name());
    attacker.gets("Approved", "later-own", "kubelet-serving", &own, &format!("IP:{}", worker.address()));
    attacker.gets("Denied", "later-endpoint", "kubelet-serving", &own, "DNS:api.example.org");
}
