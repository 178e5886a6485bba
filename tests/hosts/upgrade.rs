//! Upgrades of a running cluster to the next minor version: `make test-upgrade` builds both.

use nodeinit_tests::{Cluster, Host, Output, Running, newest_version, release_directory_of, version};

/// A Deployment of four replicas with a PodDisruptionBudget behind a Service. A client requests it 20 times a second.
const WORKLOAD: &str = include_str!("workload.yaml");

/// Requests a URL 20 times a second until told to stop. Prints the requests, the failures, and the failures after one retry.
const CLIENT: &str = r#"all=0 failed=0 twice=0
ask() { [ "$(curl -sk -o /dev/null -m 5 -w '%{http_code}' $1 2>/dev/null)" = 200 ]; }
while [ ! -e /run/client-stop ]; do
    all=$((all + 1))
    ask "$1" || { failed=$((failed + 1)); echo "$(date +%T) failed" >>/root/failures; sleep 1; ask "$1" || twice=$((twice + 1)); }
    sleep 0.05
done
echo "$all $failed $twice"
"#;

/// Counts of a client's requests.
#[derive(Clone, Copy, Debug)]
struct Requests {
    all: u32,
    failed: u32,
    twice: u32,
}

/// A cluster, and the version to which it is upgraded.
struct Upgrade {
    cluster: Cluster,
    next: String,
}

impl Upgrade {
    /// Starts a cluster of the lab's version, and configures the artifacts of the next one.
    fn ready(masters: usize, workers: usize) -> Self {
        let next = std::env::var("LAB_NEXT")
            .unwrap_or_else(|_| panic!("LAB_NEXT is not set to the next version: run `make test-upgrade`"));
        let cluster = Cluster::with_images(masters, workers);
        cluster.up();
        let upgrade = Self { cluster, next };
        upgrade.first().configure(&upgrade.artifacts());
        upgrade
    }

    fn first(&self) -> &Host {
        self.cluster.first()
    }

    /// Returns the section `artifacts` for the next version.
    fn artifacts(&self) -> String {
        let text = std::fs::read_to_string(release_directory_of(&self.next).join("cluster.yaml")).unwrap();
        let (_, artifacts) = text.split_once("\nartifacts:\n").unwrap();
        let source = format!("source: /opt/lab/releases/{}", self.next);
        format!("artifacts:\n{}", artifacts.replace("source: /opt/lab", &source))
    }

    fn apply(&self) -> Output {
        let output = self.first().nodeinit(&format!("upgrade apply {}", self.next));
        eprintln!("{}\nupgrade apply took {:.1} s", output.text(), output.seconds);
        output
    }

    #[track_caller]
    fn every_kubelet_has(&self, version: &str) {
        let versions = self
            .first()
            .kubectl(r#"get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion}{"\n"}{end}'"#);
        assert_eq!(versions.lines().collect::<Vec<_>>(), vec![version; self.cluster.hosts().count()]);
    }

    /// The cluster has the next version, and nothing is left to do.
    #[track_caller]
    fn is_complete(&self) {
        self.every_kubelet_has(&self.next);
        for master in &self.cluster.masters {
            for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
                master.must(&format!(
                    "grep -q 'image: .*/{component}:{}' /etc/kubernetes/manifests/{component}.yaml",
                    self.next
                ));
            }
        }
        for host in self.cluster.hosts() {
            host.must("[ -z \"$(ls -A /var/lib/nodeinit/originals/upgrade 2>/dev/null)\" ]");
        }
        let first = self.first();
        first.must(&format!("grep -q 'version: {}' /etc/nodeinit/config.yaml", self.next));
        first.must("ls /var/backups/nodeinit/etcd-before-*.db >/dev/null");
        let cordoned = first.kubectl("get nodes --no-headers");
        assert!(!cordoned.contains("SchedulingDisabled"), "{cordoned}");
        first.nodeinit(&format!("upgrade plan {}", self.next)).exits(0).says(&["nothing to do"]);
        first.nodeinit("plan").exits(0).says(&["nothing to do"]);
        let again = self.apply();
        again.exits(0).says(&["nothing to do"]);
    }

    /// Starts the workload and the clients: one of the workload, one of the API.
    fn load(&self) -> Load<'_> {
        let (first, client) = (self.first(), self.cluster.workers.last().unwrap());
        for host in self.cluster.hosts() {
            host.must("ctr -n k8s.io images import /opt/lab/images/tools.tar >/dev/null");
        }
        first.put("/root/workload.yaml", WORKLOAD);
        first.kubectl("apply -f /root/workload.yaml");
        first.kubectl("rollout status deployment/web --timeout=120s");
        client.must("rm -f /run/client-stop /root/failures");
        client.until("the Service", 60.0, "curl -s -m 2 http://10.96.0.200");
        for (name, data) in [("crt", "client-certificate-data"), ("key", "client-key-data")] {
            let text = first.must(&format!("sed -n 's/^ *{data}: //p' /etc/kubernetes/admin.conf | base64 -d"));
            client.put(&format!("/root/client.{name}"), &text);
        }
        client.put("/root/client.sh", CLIENT);
        let endpoint = client.must("sed -n 's/^ *server: //p' /etc/kubernetes/kubelet.conf");
        let api =
            format!("'--cert /root/client.crt --key /root/client.key {}/api/v1/namespaces/default'", endpoint.trim());
        Load {
            client,
            workload: client.start("sh /root/client.sh http://10.96.0.200"),
            api: client.start(&format!("sh /root/client.sh {api}")),
        }
    }
}

struct Load<'a> {
    client: &'a Host,
    workload: Running,
    api: Running,
}

impl Load<'_> {
    /// Stops the clients; returns the requests of the workload and those of the API.
    fn end(self) -> [Requests; 2] {
        self.client.must("touch /run/client-stop");
        let requests = [self.workload, self.api].map(|client| {
            let output = client.wait().exits(0).stdout;
            let mut counts = output.split_whitespace().map(|count| count.parse().unwrap());
            let mut next = || counts.next().unwrap();
            Requests { all: next(), failed: next(), twice: next() }
        });
        eprintln!("requests of the workload and of the API: {requests:?}");
        eprintln!("{}", self.client.must("cat /root/failures 2>/dev/null || true"));
        requests
    }
}

pub(crate) fn three_masters_and_two_workers_under_load() {
    let upgrade = Upgrade::ready(3, 2);
    let (first, next) = (upgrade.first(), &upgrade.next);
    first.nodeinit("upgrade apply v1.2.3").exits(64).says(&["is older than", &version()]);
    first.nodeinit("upgrade apply v1.99.0").exits(64).says(&["does not support Kubernetes v1.99.0"]);
    let other = &upgrade.cluster.masters[1];
    other.nodeinit(&format!("upgrade apply {next}")).exits(64).says(&["the first master leads an upgrade"]);
    let load = upgrade.load();
    let planned = first.nodeinit(&format!("upgrade plan {next}")).exits(2);
    eprintln!("{}", planned.text());
    let changes = format!("kube-apiserver:{} by registry.k8s.io/kube-apiserver:{next}", version());
    planned.says(&[&changes, "drain "]);
    upgrade.every_kubelet_has(&version());
    upgrade.apply().exits(0).says(&[&format!("have Kubernetes {next}")]);
    let [workload, api] = load.end();
    upgrade.is_complete();
    assert!(workload.all > 500 && api.all > 200, "{workload:?} {api:?}");
    assert_eq!((workload.failed, api.twice), (0, 0));
    assert!(api.failed * 200 <= api.all, "more than 0.5 % of the requests to the API failed: {api:?}");
    first.check_pods();
    first.must("cd /root && nodeinit etcd members");
    first.nodeinit(&format!("upgrade apply {}", version())).exits(64).says(&["is older than"]);
}

pub(crate) fn a_component_that_does_not_start_is_replaced_by_the_former_one() {
    let upgrade = Upgrade::ready(1, 1);
    let (first, next) = (upgrade.first(), &upgrade.next);
    let broken = |section: &str| {
        first.configure(&format!("{}{section}: {{extraArgs: {{no-such-flag: \"1\"}}}}\n", upgrade.artifacts()));
    };
    for (section, component) in
        [("etcd", "etcd"), ("apiServer", "kube-apiserver"), ("controllerManager", "kube-controller-manager")]
    {
        broken(section);
        let failed = upgrade.apply().exits(1);
        failed.says(&[component, "no-such-flag", "has exited 4 times", "the former version runs again"]);
        failed.says(&[&format!("nodeinit upgrade apply {next}")]);
        first.kubectl("get --raw /readyz");
        first.must(&format!("! grep no-such-flag /etc/kubernetes/manifests/{component}.yaml"));
        first.nodeinit("up").exits(1).says(&["the upgrade of this machine to", "has not ended"]);
    }
    // The kubelet reads its configuration strictly.
    first.configure(&format!(
        "{}kubelet: {{config: {{evictionMaxPodGracePeriod: many}}}}\ntimeouts: {{kubelet: 20s}}\n",
        upgrade.artifacts()
    ));
    let failed = upgrade.apply().exits(1);
    failed.says(&["kubelet of", "the former version runs again"]);
    first.must(&format!("kubelet --version | grep -q '{}$'", version()));
    first.until(
        "a Ready node",
        60.0,
        "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes | grep -v NotReady | grep -c ' Ready'",
    );

    first.configure(&upgrade.artifacts());
    upgrade.apply().exits(0);
    upgrade.is_complete();
}

/// etcd passes through 3.6.11 before 3.7.
pub(crate) fn two_minor_versions_in_one_command() {
    let cluster = Cluster::with_images(3, 1);
    cluster.up();
    let first = cluster.first();
    first.kubectl("create configmap kept");
    // The default lists of artifacts differ for each version.
    let config = "cat /etc/nodeinit/config.yaml | sed '/^  binaries:/,$d; s#source: /opt/lab#source: /opt/lab/releases/{version}#'";
    let config = first.must(config);
    first.put("/etc/nodeinit/config.yaml", &config);
    let newest = newest_version();
    let planned = first.nodeinit(&format!("upgrade plan {newest}")).exits(2);
    planned.says(&[&format!("then all machines are upgraded to {newest}")]);
    let output = first.nodeinit(&format!("upgrade apply {newest}"));
    eprintln!("{}\nupgrade apply took {:.1} s", output.text(), output.seconds);
    output.exits(0).says(&["etcd-first", &format!("have Kubernetes {newest}")]);
    for master in &cluster.masters {
        master.must("grep -q 'image: registry.k8s.io/etcd:3.7' /etc/kubernetes/manifests/etcd.yaml");
    }
    let versions =
        first.kubectl(r#"get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion}{"\n"}{end}'"#);
    assert_eq!(versions.lines().collect::<Vec<_>>(), vec![newest.as_str(); 4]);
    first.kubectl("get configmap kept");
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
    first.check_pods();
}
