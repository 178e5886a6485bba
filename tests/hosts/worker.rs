//! A self-joining worker: with its role's configuration and a token, without SSH.

use nodeinit_tests::{Cluster, Host, difference};

/// Returns a running master, and a worker with its configuration and without a token.
fn pair() -> Cluster {
    prepared(Cluster::with_images(1, 1))
}

fn prepared(cluster: Cluster) -> Cluster {
    cluster.first().nodeinit("up --local").exits(0);
    let (first, worker) = (cluster.first(), worker(&cluster));
    cluster.equip(worker);
    first.must(&format!("nodeinit token create --worker {} --files /root/worker", worker.name()));
    worker.must("rm -r /etc/nodeinit/conf.d && mkdir -p /etc/nodeinit/conf.d && mkdir -p -m 700 /run/nodeinit");
    worker.put("/etc/nodeinit/config.yaml", &first.must("cat /root/worker/config.yaml"));
    cluster
}

fn worker(cluster: &Cluster) -> &Host {
    &cluster.workers[0]
}

/// Puts a token where SSH would.
fn give(worker: &Host, token: &str) {
    worker.must("mkdir -p -m 700 /run/nodeinit");
    worker.put(
        "/run/nodeinit/secrets.yaml",
        &format!("apiVersion: nodeinit.dev/v1alpha1\nkind: WorkerSecrets\nbootstrapToken: \"{token}\"\n"),
    );
    worker.must("chmod 600 /run/nodeinit/secrets.yaml");
}

fn new_token(cluster: &Cluster) -> String {
    let made = cluster.first().must(&format!("nodeinit token create --worker {}", worker(cluster).name()));
    made.trim().to_owned()
}

pub(crate) fn a_worker_joins_in_three_requests_and_removes_its_token() {
    let cluster = Cluster::with_images(1, 1);
    cluster.hosts().for_each(has_another_address);
    let cluster = prepared(cluster);
    let (first, worker) = (cluster.first(), worker(&cluster));
    let token = new_token(&cluster);
    give(worker, &token);
    let sampler = worker.start(
        "while [ ! -e /root/stop ]; do cat /proc/[0-9]*/{cmdline,environ} >>/run/seen 2>/dev/null; sleep 0.02; done",
    );
    let before = worker.listing();
    worker.nodeinit("plan").exits(2).says(&["request the kubelet's certificate from the cluster"]);
    let changes = difference(&before, &worker.listing());
    assert!(changes.is_empty(), "plan changed {changes:#?}");
    let said = worker.up();
    said.says(&["with 3 requests", "is ready: worker of cluster lab"]);
    worker.must("touch /root/stop");
    sampler.wait().exits(0);
    three_requests_are_in_the_audit_log(first, &token);
    nothing_secret_is_left(first, worker, &token, &said.text());
    a_second_up_has_nothing_to_do(worker);
    commands_behave(worker);
    nodes_have_the_configured_address(&cluster);
    the_first_master_deletes_its_token(first, worker);
    the_agent_runs_the_program_that_was_used_last(first);
    a_worker_that_was_reset_joins_again(&cluster);
}

/// Adds a second address, to which the host name resolves and which the default route uses: a kubelet would choose it by default.
fn has_another_address(host: &Host) {
    let (name, last) = (host.name(), host.address().rsplit('.').next().unwrap_or_default());
    host.must(&format!(
        "ip address add 10.99.0.{last}/24 dev host0
        ip route replace default via 10.77.0.1 src 10.99.0.{last}
        sed -i '/ {name}/d' /etc/hosts && echo 10.99.0.{last} {name} >>/etc/hosts && getent ahostsv4 {name} | grep -q 10.99.0.{last}"
    ));
}

fn nodes_have_the_configured_address(cluster: &Cluster) {
    let first = cluster.first();
    let kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf";
    for host in cluster.hosts() {
        let name = host.name();
        let address = "jsonpath='{.status.addresses[?(@.type==\"InternalIP\")].address}'";
        assert_eq!(first.kubectl(&format!("get node {name} -o {address}")).trim(), host.address(), "{name}");
        // The API server verifies the kubelet at that address.
        let pod = format!(
            "{kubectl} -n kube-system get pods -l k8s-app=kube-proxy --field-selector spec.nodeName={name} -o name"
        );
        let logs = format!("pod=$({pod}); [ -n \"$pod\" ] && {kubectl} -n kube-system logs $pod | grep -q .");
        first.until(&format!("logs from {name}"), 60.0, &logs);
    }
}

/// Runs `up` from another path, with another version than the installed one.
fn the_agent_runs_the_program_that_was_used_last(first: &Host) {
    let installed = "/usr/local/bin/nodeinit";
    first.must(&format!(
        "cp {installed} /root/newer && cp {installed} {installed}.older && echo older >>{installed}.older && mv {installed}.older {installed}"
    ));
    first.run("/root/newer plan --local").exits(2).says(&["rewrite /usr/local/bin/nodeinit"]);
    first.run("/root/newer up --local").exits(0);
    first.must(&format!(
        "cmp /root/newer {installed} && cmp /root/newer /proc/$(systemctl show nodeinit-agent -p MainPID --value)/exe"
    ));
    first.nodeinit("plan --local").exits(0).says(&["nothing to do"]);
    first.must("rm /root/newer");
}

fn three_requests_are_in_the_audit_log(first: &Host, token: &str) {
    let id = token.split('.').next().unwrap_or_default();
    let requests = first.must(&format!(
        r#"grep -h '"username":"system:bootstrap:{id}"' /var/log/kubernetes/audit/audit.log | grep '"stage":"ResponseComplete"' | grep -o '"verb":"[a-z]*"' | sort | uniq -c | tr -s ' \n' ' '"#
    ));
    assert_eq!(requests.trim(), r#"1 "verb":"create" 1 "verb":"get" 1 "verb":"watch""#);
}

/// Searches the worker for the values of CA keys and tokens.
fn nothing_secret_is_left(first: &Host, worker: &Host, token: &str, said: &str) {
    let keys = first.must("for key in $(find /etc/kubernetes/pki -name '*.key'); do sed -n 2p $key; done");
    assert!(keys.lines().count() >= 10, "{keys}");
    let secret = token.split('.').nth(1).unwrap_or_default();
    worker.must("umask 077; mkdir /run/look");
    worker.put("/run/look/masters", &keys);
    worker.put("/run/look/token", &format!("{secret}\n"));
    worker.put("/run/said", said);
    worker.must("sed -i '/^$/d' /run/look/*");
    let found = worker.run(
        r#"cd /run/look; journalctl --no-pager >/run/journal; sed -n '/PRIVATE/{n;p}' /var/lib/kubelet/pki/kubelet-client-current.pem >own; [ -s own ]
        grep -rlFf masters -f token /etc /var /root /run/nodeinit /run/said /run/seen /run/journal /opt/cni 2>/dev/null
        grep -lFf own /run/seen /run/said /run/journal
        find / /var/lib/kubelet -xdev -type f -perm /044 -not -path '/run/*' -print0 | xargs -0 grep -lFf own
        ls /run/nodeinit/secrets.yaml /etc/nodeinit/secrets.yaml /etc/kubernetes/bootstrap-kubelet.conf /var/lib/kubelet/pki/*.tmp 2>/dev/null
        find / /var/lib/kubelet -xdev -name '*.nodeinit-new'"#,
    );
    assert_eq!(found.stdout, "", "secrets are in these files of the worker");
    worker.must("[ $(wc -c </run/seen) -gt 100000 ] && rm -r /run/look /run/said /run/seen /run/journal /root/stop");
}

fn a_second_up_has_nothing_to_do(worker: &Host) {
    let files = || worker.digests("/etc/kubernetes /var/lib/kubelet/pki /etc/systemd");
    let before = files();
    let again = worker.up();
    again.says(&["nothing to do"]);
    assert!(again.seconds < 10.0, "a second up took {} s", again.seconds);
    let changes = difference(&before, &files());
    assert!(changes.is_empty(), "a second up changed {changes:#?}");
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

fn commands_behave(worker: &Host) {
    let status = worker.nodeinit("status").exits(0);
    status.says(&[
        "is the worker of cluster lab",
        &format!("node {} Ready", worker.name()),
        "kubelet-client-current.pem",
    ]);
    assert!(!status.text().contains("etcd"), "{}", status.text());
    worker.nodeinit("phase list").exits(0).says(&["join ", "ready "]);
    worker.nodeinit("preflight").exits(0).says(&["failures: 0"]);
    worker.nodeinit("certs check").exits(0).says(&["kubelet-client ", "kubelet-server ", "ca "]);
    worker.nodeinit("certs renew").exits(0).says(&["renews its certificates on its own"]);
}

fn the_first_master_deletes_its_token(first: &Host, worker: &Host) {
    first.nodeinit("token list").exits(0).says(&[&format!("join of worker {}", worker.name())]);
    first.nodeinit("up --local").exits(0);
    let left = first.must("nodeinit token list");
    assert!(!left.contains("join of worker"), "{left}");
}

fn a_worker_that_was_reset_joins_again(cluster: &Cluster) {
    let worker = worker(cluster);
    let ca = "/etc/kubernetes/pki/ca.crt";
    let before = worker.must(&format!("sha256sum <{ca}"));
    worker.nodeinit("reset --yes").exits(0);
    worker.must(&format!("[ ! -e {ca} ] && [ ! -e /var/lib/kubelet/pki ] && [ ! -e /etc/kubernetes/kubelet.conf ]"));
    give(worker, &new_token(cluster));
    worker.up();
    assert_eq!(worker.must(&format!("sha256sum <{ca}")), before);
    // A kubelet that lost its certificate joins again and is restarted.
    worker.must("rm /var/lib/kubelet/pki/kubelet-client-current.pem");
    give(worker, &new_token(cluster));
    worker.up().says(&["with 3 requests"]);
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Servers that are not the cluster's API server, on ports of the worker itself.
const IMPOSTORS: &str = r#"
import http.server, socket, ssl, threading
class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open('/root/asked', 'a').write(self.path + str(self.headers.get('Authorization')) + '\n')
        self.send_response(200); self.end_headers()
    do_POST = do_GET
def serve(port, files=None, alpn=None):
    server = http.server.ThreadingHTTPServer(('', port), Api)
    if files:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain('/root/%s.crt' % files, '/root/%s.key' % files)
        if alpn: tls.set_alpn_protocols(alpn)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()
def garbage(port):
    listening = socket.create_server(('', port))
    while True:
        peer, _ = listening.accept()
        open('/root/asked', 'a').write('a connection\n')
        try:
            peer.recv(1000); peer.sendall(b'\x00\xff220 smtp.example.org ready\r\n' * 50); peer.close()
        except OSError: pass
serve(7001, 'other', ['h2'])
serve(7002)
threading.Thread(target=garbage, args=(7003,)).start()
serve(7004, 'ours')
"#;

pub(crate) fn obstacles_to_a_join_are_named_and_retried() {
    let cluster = pair();
    let (first, worker) = (cluster.first(), worker(&cluster));
    impostors(first, worker);
    let own = worker.address();
    let at =
        |endpoint: &str| worker.configure(&format!("timeouts: {{join: 3s}}\njoin: {{endpoints: [\"{endpoint}\"]}}\n"));
    let api = format!("{}:6443", first.address());

    at(&api);
    worker.nodeinit("up").exits(75).says(&["there is no token for", "a token for", "timed out after 3 s"]);
    give(worker, "TOKEN.0123456789abcdef");
    worker.nodeinit("up").exits(78).says(&["bootstrapToken: not of the form", "nodeinit token create --worker"]);
    give(worker, "aaaaaa.0123456789abcdef");
    worker.nodeinit("up").exits(75).says(&["does not know this machine's token", "create a new one"]);
    let expiring = first.must(&format!("nodeinit token create --worker {} --ttl 1s", worker.name()));
    first.must("sleep 2");
    give(worker, expiring.trim());
    worker.nodeinit("up").exits(75).says(&["or the token has expired", "create a new one"]);

    give(worker, &new_token(&cluster));
    let pin = "0".repeat(64);
    worker.configure(&format!("join: {{endpoints: [\"{own}:7003\"], caPins: [\"sha256:{pin}\"]}}\n"));
    worker.nodeinit("up").exits(78).says(&[
        "has the pin sha256:",
        "join.caPins has sha256:0000",
        "no connection was made",
    ]);
    worker.must("[ ! -e /root/asked ]");

    at(&format!("{own}:7001"));
    worker.nodeinit("up").exits(75).says(&["signed by \"Interceptor\"", "not this cluster's CA"]);
    at(&format!("{own}:7002"));
    worker.nodeinit("up").exits(75).says(&["does not speak TLS", "controlPlane.endpoint"]);
    at(&format!("{own}:7003"));
    worker.nodeinit("up").exits(75).says(&["does not speak TLS"]);
    at(&format!("{own}:7004"));
    worker.nodeinit("up").exits(75).says(&["is not a Kubernetes API server", "HTTP/2"]);
    worker.must("! grep -q Bearer /root/asked");
    at(&format!("{own}:7999"));
    worker.nodeinit("up").exits(75).says(&["Connection refused", "check that the API server runs"]);
    at("no-such-name.example.org:6443");
    worker.nodeinit("up").exits(75).says(&["cannot find the address of no-such-name.example.org"]);
    worker.must("iptables -I OUTPUT -p tcp --dport 6443 -j DROP");
    at(&api);
    worker.nodeinit("up").exits(75).says(&["timed out after 3 s"]);
    worker.must("[ ! -e /etc/kubernetes/kubelet.conf ] && [ ! -e /var/lib/kubelet/pki/kubelet-client-current.pem ]");

    // The connection is cut at first, then restored: the same run joins through its second endpoint.
    worker.configure(&format!("timeouts: {{join: 60s}}\njoin: {{endpoints: [\"{own}:7999\", \"{api}\"]}}\n"));
    let up = worker.start("nodeinit up");
    worker.must("sleep 4; iptables -D OUTPUT -p tcp --dport 6443 -j DROP");
    up.wait().exits(0).says(&["with 3 requests", "is ready: worker"]);
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Starts them with their own CA, and with a certificate of the cluster.
fn impostors(first: &Host, worker: &Host) {
    let names = format!("-extfile <(echo subjectAltName=IP:{}) 2>/dev/null", worker.address());
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    worker.must(&format!(
        "cd /root; openssl req -x509 {key} -keyout ca.key -out ca.crt -subj /CN=Interceptor 2>/dev/null
        openssl req {key} -keyout other.key -out other.csr -subj /CN=kube-apiserver 2>/dev/null
        openssl x509 -req -in other.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out other.crt -days 9 {names}"
    ));
    first.must(&format!(
        "cd /root; pki=/etc/kubernetes/pki; openssl req {key} -keyout ours.key -out ours.csr -subj /CN=x 2>/dev/null
        openssl x509 -req -in ours.csr -CA $pki/ca.crt -CAkey $pki/ca.key -CAcreateserial -CAserial /root/serial -out ours.crt -days 9 {names}"
    ));
    for file in ["ours.crt", "ours.key"] {
        worker.put(&format!("/root/{file}"), &first.must(&format!("cat /root/{file}")));
    }
    worker.put("/root/impostors.py", IMPOSTORS);
    worker.must("systemd-run --unit impostors python3 /root/impostors.py && sleep 1 && systemctl is-active impostors");
}

pub(crate) fn a_used_name_and_an_unsigned_request() {
    let cluster = pair();
    let (first, worker) = (cluster.first(), worker(&cluster));
    worker.configure("timeouts: {join: 4s}\n");
    give(worker, &new_token(&cluster));
    let name = worker.name();

    let node = format!(
        r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{name}"}}, "status": {{"nodeInfo": {{"machineID": "feed", "systemUUID": "beef",
        "architecture": "", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "operatingSystem": "", "osImage": ""}}}}}}"#
    );
    first.put("/root/node.json", &node);
    let _ = first.kubectl("create -f /root/node.json");
    let taken = worker.nodeinit("up").exits(1);
    taken.says(&[
        "which is another machine (its machine-id is feed, system UUID beef",
        &format!("kubectl delete node {name}"),
    ]);
    let _ = first.kubectl(&format!("delete node {name}"));

    // The controller manager is stopped: the agent approves, but nothing signs.
    let manager = "kill -$SIGNAL $(pgrep -x kube-controller)";
    first.must(&manager.replace("$SIGNAL", "STOP"));
    worker
        .nodeinit("up")
        .exits(75)
        .says(&["is not signed yet", "check that a kube-controller-manager has the CA's key"]);
    worker.nodeinit("up").exits(75);
    let request = client_requests(first);
    assert_eq!(request.lines().count(), 1, "the same key asks the same: {request}");
    let conditions = "get csr -o jsonpath='{.items[*].status.conditions[*].type}'";
    assert_eq!(first.kubectl(conditions), "Approved");
    let _ = first.kubectl("delete csr --all");

    // The agent is stopped, too, and then the operator denies.
    first.must("systemctl stop nodeinit-agent");
    worker.nodeinit("up").exits(75).says(&["is not signed yet", "check nodeinit's agent"]);
    assert_eq!(first.kubectl(conditions), "");
    worker.configure("timeouts: {join: 60s}\n");
    let up = worker.start("nodeinit up");
    let _ = first.kubectl(&format!("certificate deny {}", request.trim()));
    up.wait().exits(1).says(&["was denied: ", "kubectl delete csr"]);
    assert_eq!(client_requests(first), request);
    let _ = first.kubectl("delete csr --all");

    // It continues with the same key when the agent runs again.
    let up = worker.start("nodeinit up");
    first.must("sleep 2; systemctl start nodeinit-agent");
    first.must(&manager.replace("$SIGNAL", "CONT"));
    up.wait().exits(0);
    assert_eq!(client_requests(first), request);
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// The names of the requests for a kubelet's client certificate.
fn client_requests(first: &Host) -> String {
    let signer = "spec.signerName=kubernetes.io/kube-apiserver-client-kubelet";
    first.kubectl(&format!("get csr --field-selector {signer} --no-headers -o custom-columns=N:.metadata.name"))
}

/// With only a pin, a worker requests the CA: it accepts that of the cluster, and no other.
pub(crate) fn a_pin_is_enough() {
    let cluster = pair();
    let (first, worker) = (cluster.first(), worker(&cluster));
    impostors(first, worker);
    worker.must("sed -i '/caCertificate/d' /etc/nodeinit/config.yaml && grep -q caPins /etc/nodeinit/config.yaml");
    give(worker, &new_token(&cluster));
    worker.configure(&format!("timeouts: {{join: 3s}}\njoin: {{endpoints: [\"{}:7001\"]}}\n", worker.address()));
    worker.nodeinit("up").exits(75);
    worker.must("! grep -q Bearer /root/asked && [ ! -e /etc/kubernetes/pki/ca.crt ]");
    worker.configure("timeouts: {join: 60s}\n");
    worker.up().says(&["with 4 requests"]);
    assert_eq!(first.ca(), worker.ca());
}

pub(crate) fn a_worker_that_is_killed_at_every_point_joins() {
    let cluster = pair();
    let (first, worker) = (cluster.first(), worker(&cluster));
    worker.add_failpoints();
    give(worker, &new_token(&cluster));
    worker.must("touch /root/points /root/said");
    let points = crate::kill::killed_everywhere(worker, "up");
    for point in [
        "step-begin join",
        "write-half /var/lib/kubelet/pki/kubelet-client.key.tmp",
        "write-rename /var/lib/kubelet/pki/kubelet-client------.pem",
        "write-rename /etc/kubernetes/pki/ca.crt",
        "write-rename /etc/kubernetes/kubelet.conf",
        "step-begin kubelet",
    ] {
        assert!(points.lines().any(|line| line.starts_with(point)), "it was not killed at {point}:\n{points}");
    }
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);
    let left = worker.must(
        "find / /var/lib/kubelet -xdev -name '*.nodeinit-new'; ls /run/nodeinit/secrets.yaml /var/lib/kubelet/pki/*.tmp 2>/dev/null; true",
    );
    assert_eq!(left, "", "a killed run left these");
    assert_eq!(worker.must("ls /var/lib/kubelet/pki/kubelet-client-2*.pem | wc -l").trim(), "1");
    assert_eq!(client_requests(first).lines().count(), 1, "one key, one request");
}
