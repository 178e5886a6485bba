//! Upgrades of a running cluster to the next minor version: `make test-upgrade` builds both.

use crate::{
    kill::{kill_over_ssh, killed_at},
    load::Load,
    quorum::Quorum,
    virtual_address,
};
use nodeinit_tests::{
    Cluster, Counter, Host, Output, Running, newest_version, pages, release_directory_of, supported_versions, version,
};

/// The failpoints of an upgrade: the boundaries of steps, and the points between them.
const KINDS: &str = "step-,host-,stop,started,restored,kubelet,turn";

/// A kubelet of the next version exits at once.
const BROKEN_KUBELET: &str = r#"[Service]
ExecStart=
ExecStart=/bin/sh -c 'if kubelet --version | grep -q VERSION; then echo this kubelet is broken; exit 1; fi; exec kubelet "$@"' kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"#;

/// A pod on one node, which tolerates the taint of masters.
const PINNED: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: pinned}
spec:
  selector: {matchLabels: {app: pinned}}
  template:
    metadata: {labels: {app: pinned}}
    spec:
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [NODE]}]}}
      tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
      containers: [{name: pinned, image: "localhost/tools:lab", command: [sleep, infinity]}]
"#;

fn next_version() -> String {
    std::env::var("LAB_NEXT")
        .unwrap_or_else(|_| panic!("LAB_NEXT is not set to the next version: run `make test-upgrade`"))
}

/// A cluster, and the version to which it is upgraded.
struct Upgrade {
    cluster: Cluster,
    next: String,
}

impl Upgrade {
    /// Starts a cluster of the lab's version, and configures the artifacts of the next one.
    fn ready(masters: usize, workers: usize) -> Self {
        Self::of(Cluster::with_images(masters, workers))
    }

    /// Creates a cluster of the lab's version on these hosts, and configures the artifacts of the next one.
    fn of(cluster: Cluster) -> Self {
        cluster.up();
        let next = next_version();
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

    /// Returns a command of `docs/how-to/upgrade.md` for the next version.
    fn page(&self, number: usize) -> String {
        pages::UPGRADE[number].replace("v1.36.4", &self.next)
    }

    fn apply(&self) -> Output {
        let output = self.first().nodeinit(&format!("upgrade apply {}", self.next));
        eprintln!("{}\nupgrade apply took {:.1} s", output.text(), output.seconds);
        output
    }

    fn command(&self) -> String {
        format!("nodeinit upgrade apply {}", self.next)
    }

    /// Gives the image of the next API server another content.
    fn break_api_server_on(&self, master: &Host) {
        let pause = "ctr -n k8s.io images ls -q | grep -m 1 /pause:";
        let image = format!("registry.k8s.io/kube-apiserver:{}", self.next);
        master.must(&format!("ctr -n k8s.io images tag --force $({pause}) {image}"));
    }

    fn repair_api_server_on(&self, master: &Host) {
        let archive = format!("/opt/lab/releases/{}/images/kube-apiserver.tar", self.next);
        master.must(&format!("ctr -n k8s.io images import {archive}"));
    }

    /// Starts an upgrade, and waits until the control plane of `master` is stopped.
    #[track_caller]
    fn until_stopped(&self, master: &Host) -> Running {
        let upgrade = self.first().start(&self.command());
        let stopped = "[ ! -e /etc/kubernetes/manifests/etcd.yaml ]";
        master.until("a stopped control plane", 300.0, stopped);
        upgrade
    }

    #[track_caller]
    fn every_kubelet_has(&self, version: &str) {
        let versions = self
            .first()
            .kubectl(r#"get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion}{"\n"}{end}'"#);
        assert_eq!(versions.lines().collect::<Vec<_>>(), vec![version; self.cluster.hosts().count()]);
    }

    /// The API servers of the masters run in these versions.
    #[track_caller]
    fn every_api_server_has(&self, versions: &[&str]) {
        for (master, version) in self.cluster.masters.iter().zip(versions) {
            let get = format!("--server https://{}:6443 get --raw /version", master.address());
            let found = master.kubectl(&format!("{get} | sed -n 's/.*\"gitVersion\": \"\\(.*\\)\".*/\\1/p'"));
            assert_eq!(found.trim(), *version, "{}", master.name());
        }
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
}

/// The clients use a virtual address. The other tests under load have a load balancer.
#[allow(clippy::disallowed_methods, reason = "the picture is for the documentation")]
pub(crate) fn three_masters_and_two_workers_under_load() {
    let cluster = Cluster::with_images(3, 2);
    virtual_address::use_for(&cluster);
    let upgrade = Upgrade::of(cluster);
    let (first, next) = (upgrade.first(), &upgrade.next);
    first.nodeinit("upgrade apply v1.2.3").exits(64).says(&["is older than", &version()]);
    first.nodeinit("upgrade apply v1.99.0").exits(64).says(&["does not support Kubernetes v1.99.0"]);
    let load = Load::on(&upgrade.cluster);
    let planned = first.run(&upgrade.page(0)).exits(2);
    eprintln!("{}", planned.text());
    let changes = format!("kube-apiserver:{} by registry.k8s.io/kube-apiserver:{next}", version());
    let of = |machine: &Host, component: &str| format!("{}: replace {component}", machine.name());
    let (other, worker) = (&upgrade.cluster.masters[1], &upgrade.cluster.workers[0]);
    planned.says(&[&changes, "drain ", &of(other, "kube-apiserver"), worker.name()]);
    upgrade.every_kubelet_has(&version());
    let applied = first.run(&upgrade.page(1));
    eprintln!("{}\nupgrade apply took {:.1} s", applied.text(), applied.seconds);
    applied.exits(0).says(&[&format!("have Kubernetes {next}")]);
    // docs/images/upgrade.svg is such a picture.
    let picture = first.must("nodeinit timeline -o svg");
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/upgrade.svg"), picture).unwrap();
    load.end_within_limits();
    upgrade.is_complete();
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
        failed.says(&[component, first.name(), "no-such-flag", "has exited 4 times", "the former version runs again"]);
        failed.says(&["run the same command again, which resumes the upgrade"]);
        first.kubectl("get --raw /readyz");
        first.must(&format!("! grep no-such-flag /etc/kubernetes/manifests/{component}.yaml"));
        // The former kubelet has not started an etcd beside the one that ran.
        first.must("! grep -l 'address already in use' /var/log/pods/kube-system_etcd-*/etcd/*.log");
        first.nodeinit("up").exits(1).says(&["the upgrade of this machine to", "has not ended"]);
    }
    first.add_failpoints();
    let is_killed_at = |kind: &str, before: &str, point: &str| {
        first.put("/root/points", before);
        let killed = format!("NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF={kind} nodeinit-failpoints");
        first.run(&format!("{killed} upgrade apply {next}; exit $?")).exits(137);
        assert_eq!(first.must("tail -n 1 /root/points"), format!("{point}\n"));
    };
    // Killed while it waits for a component that does not start. The next run needs a control plane that works before it begins.
    for (section, before, point) in
        [("etcd", "", "started etcd"), ("apiServer", "started etcd\n", "started kube-apiserver")]
    {
        broken(section);
        is_killed_at("started", before, point);
        broken("controllerManager");
        let failed = upgrade.apply().exits(1);
        failed.says(&[
            "left a control plane that does not work",
            "kube-controller-manager",
            "former version runs again",
        ]);
        first.must("! grep -l 'address already in use' /var/log/pods/kube-system_etcd-*/etcd/*.log");
    }
    // Killed while it returns to the former version.
    broken("apiServer");
    is_killed_at("restored", "", "restored etcd");
    // The kubelet reads its configuration strictly.
    first.configure(&format!(
        "{}kubelet: {{config: {{evictionMaxPodGracePeriod: many}}}}\ntimeouts: {{kubelet: 20s}}\n",
        upgrade.artifacts()
    ));
    let failed = upgrade.apply().exits(1);
    failed.says(&["kubelet of", first.name(), "evictionMaxPodGracePeriod", "the former version runs again"]);
    first.must(&format!("kubelet --version | grep -q '{}$'", version()));
    let ready = |node: &Host| {
        let get = format!("kubectl --kubeconfig /etc/kubernetes/admin.conf get node {} --no-headers", node.name());
        first.until("a Ready node", 60.0, &format!("{get} | awk '{{print $2}}' | grep -q '^Ready'"));
    };
    ready(first);

    only_the_worker_fails_and_is_upgraded_alone(&upgrade, ready);
}

/// The first master is upgraded without being drained. Then the kubelet of the worker, which the operator has cordoned, fails.
fn only_the_worker_fails_and_is_upgraded_alone(upgrade: &Upgrade, ready: impl Fn(&Host)) {
    let (first, worker, next) = (upgrade.first(), &upgrade.cluster.workers[0], &upgrade.next);
    first.must("ctr -n k8s.io images import /opt/lab/images/tools.tar >/dev/null");
    first.put("/root/pinned.yaml", &PINNED.replace("NODE", first.name()));
    first.kubectl(&format!("uncordon {}", first.name()));
    first.kubectl("apply -f /root/pinned.yaml");
    first.kubectl("rollout status deployment/pinned --timeout=60s");
    let pod =
        || first.kubectl("get pods -l app=pinned -o jsonpath='{range .items[*]}{.metadata.uid} {.spec.nodeName}{end}'");
    let before = pod();
    assert!(before.ends_with(first.name()), "{before}");
    first.kubectl(&format!("cordon {}", worker.name()));
    let drop_in = "/etc/systemd/system/kubelet.service.d/99-broken.conf";
    worker.put(drop_in, &BROKEN_KUBELET.replace("VERSION", next));
    first.configure(&format!("{}timeouts: {{kubelet: 20s}}\n", upgrade.artifacts()));
    let failed = first.nodeinit(&format!("upgrade apply {next} --no-drain")).exits(1);
    eprintln!("{}", failed.text());
    failed.says(&[worker.name(), "kubelet of", "this kubelet is broken", "the former kubelet runs again"]);
    worker.must(&format!("kubelet --version | grep -q '{}$'", version()));
    ready(worker);
    ready(first);
    assert_eq!(before, pod(), "--no-drain has evicted a pod");
    let is_cordoned = || {
        first.kubectl(&format!("get node {} | grep SchedulingDisabled", worker.name()));
    };
    is_cordoned();

    // CoreDNS needs both nodes.
    first.kubectl(&format!("uncordon {}", worker.name()));
    worker.must(&format!("rm {drop_in}"));
    first.configure(&format!(
        "{}workers: [{{name: {}, address: {}, ssh: {{enabled: false}}}}]\n",
        upgrade.artifacts(),
        worker.name(),
        worker.address()
    ));
    let alone = format!("on {}, run `nodeinit upgrade apply {next} --local`", worker.name());
    upgrade.apply().exits(0).says(&[&alone]);
    first.kubectl(&format!("cordon {}", worker.name()));
    let local = worker.run(&upgrade.page(2));
    eprintln!("{}", local.text());
    local.exits(0).says(&[&format!("{} has Kubernetes {next}", worker.name())]);
    is_cordoned();
    first.kubectl(&format!("uncordon {}", worker.name()));
    upgrade.is_complete();
}

/// Builds the extension of `packaging/sysext` from the host's artifacts. While it is merged, `/usr` is read-only.
const EXTEND: &str = r#"set -e
digests=$(cd /opt/lab && sed -n 's/.*{path: \([^,]*\),.*/\1/p' /etc/nodeinit/config.yaml | xargs sha256sum | sed 's/^\([^ ]*\)  \(.*\)$/    \2: \1/')
printf 'containerRuntime: {manage: false}\nartifacts:\n  sha256:\n%s\n' "$digests" >/root/digests.yaml
nodeinit artifacts bundle --config /etc/nodeinit/config.yaml --config /root/digests.yaml --from /opt/lab --output /root/kubernetes.tar
/root/packaging/sysext/build.sh "$(command -v nodeinit)" /root/kubernetes.tar /var/lib/extensions/nodeinit
rm /root/kubernetes.tar
systemctl enable --now systemd-sysext
systemd-tmpfiles --create /usr/lib/tmpfiles.d/nodeinit.conf
! touch /usr/file"#;

/// The kubelet of an extension is replaced in place, on a machine whose `/usr` is read-only.
pub(crate) fn a_system_extension_is_refreshed_in_place() {
    let cluster = Cluster::with_images(1, 0);
    let first = cluster.first();
    first.put("/root/packaging/sysext/build.sh", include_str!("../../packaging/sysext/build.sh"));
    first.put("/root/systemd/nodeinit.service", include_str!("../../systemd/nodeinit.service"));
    first.must(EXTEND);
    let upgrade = Upgrade::of(cluster);
    let (first, next) = (upgrade.first(), &upgrade.next);
    let has = |version: &str| first.must(&format!("kubelet --version | grep -q '{version}$'"));
    first.must("[ -L /opt/cni/bin/bridge ] && ! ls /var/lib/extensions/nodeinit-programs");

    let drop_in = "/etc/systemd/system/kubelet.service.d/99-broken.conf";
    first.put(drop_in, &BROKEN_KUBELET.replace("VERSION", next));
    first.configure(&format!("{}timeouts: {{kubelet: 20s}}\n", upgrade.artifacts()));
    upgrade.apply().exits(1).says(&["this kubelet is broken", "the former version runs again"]);
    has(&version());
    first.must(&format!("rm {drop_in} && systemctl daemon-reload"));
    upgrade.apply().exits(0);
    upgrade.is_complete();
    first.must("! touch /usr/file && ls /var/lib/extensions/nodeinit-programs/usr/bin/kubelet");

    first.cut_power();
    first.boot();
    first.up();
    has(next);
    upgrade.is_complete();
    first.nodeinit("reset --yes").exits(0);
    has(&version());
    first.must("! touch /usr/file && [ \"$(ls /var/lib/extensions)\" = nodeinit ]");
}

/// A cluster that kubeadm upgrades is taken over when the configuration has the new version.
pub(crate) fn a_cluster_that_kubeadm_upgraded_is_taken_over() {
    let upgrade = Upgrade::ready(1, 1);
    let (first, worker, next) = (upgrade.first(), &upgrade.cluster.workers[0], &upgrade.next);
    let release = format!("/opt/lab/releases/{next}");
    // kubeadm checks the cluster with a pod on any machine.
    for host in upgrade.cluster.hosts() {
        host.must(&format!(
            "for image in {release}/images/*.tar; do ctr -n k8s.io images import $image; done >/dev/null"
        ));
    }
    for (host, command) in [(first, format!("apply --yes {next}")), (worker, "node".to_owned())] {
        let upgraded = host.run(&format!(
            "{release}/bin/kubeadm upgrade {command} --ignore-preflight-errors=SystemVerification 2>&1 &&
            install -m 755 {release}/bin/kubelet {release}/bin/kubectl {release}/bin/kubeadm /usr/bin/ && systemctl restart kubelet"
        ));
        eprintln!("{}", upgraded.text());
        upgraded.exits(0);
    }
    first.until("nodes of the next version", 60.0, &format!(
        "[ $(kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | grep -c ' Ready .*{next}') = 2 ]"
    ));
    first.must(&format!("sed -i 's/^  version: .*/  version: {next}/' /etc/nodeinit/config.yaml"));
    let note = format!("another tool has upgraded this machine from {} to {next}", version());
    first.nodeinit("plan").says(&[&note]);
    let taken = first.nodeinit("up");
    eprintln!("{}", taken.text());
    taken.exits(0).says(&[&note]);
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
    worker.nodeinit("up").exits(0).says(&["nothing to do"]);
    upgrade.every_kubelet_has(next);
}

/// The first master, another master and a worker are each killed at every point.
pub(crate) fn an_upgrade_resumes_after_a_kill_at_every_point() {
    let upgrade = Upgrade::ready(3, 1);
    let (first, others) = (upgrade.first(), [&upgrade.cluster.masters[1], &upgrade.cluster.workers[0]]);
    first.add_failpoints();
    let counter = Counter::of_running(&upgrade.cluster);
    // Kills during their import have tests of their own.
    let import = format!(
        "for image in /opt/lab/releases/{}/images/*.tar; do ctr -n k8s.io images import $image; done",
        upgrade.next
    );
    let importing: Vec<Running> = upgrade.cluster.hosts().map(|host| host.start(&import)).collect();
    importing.into_iter().for_each(|host| drop(host.wait().exits(0)));
    let quorum = Quorum::of(&upgrade.cluster);
    for other in others {
        kill_over_ssh(other, KINDS);
    }
    let (points, ended) = killed_at(first, &format!("upgrade apply {}", upgrade.next), KINDS);
    ended.exits(0);
    for other in others {
        other.must("cp /root/sshd_config /etc/ssh/; systemctl restart ssh.service");
    }
    let of_others = others.map(|other| other.must("cat /root/points"));
    eprintln!("the points:\n{points}\n{}", of_others.join("\n"));
    let control_plane = [
        "step-begin upgrade-begin",
        "step-begin upgrade-control-plane",
        "stop kube-apiserver",
        "stop etcd",
        "kubelet kubelet-binary",
        "kubelet kubelet",
        "started etcd",
        "started kube-apiserver",
        "started kube-scheduler",
        "step-end upgrade-control-plane",
        "step-end version",
    ];
    let leads = [
        "step-begin stage-n",
        "step-end drain",
        "step-end uncordon-n",
        "step-begin host-n",
        "step-begin cluster-config",
    ];
    let kubelet = ["step-begin upgrade-kubelet", "kubelet kubelet", "step-end upgrade-kubelet"];
    let [of_master, of_worker] = &of_others;
    for (points, required) in
        [(&points, &control_plane[..]), (&points, &leads), (of_master, &control_plane), (of_worker, &kubelet)]
    {
        for point in required {
            assert!(points.lines().any(|line| line == *point), "it was not killed at {point}:\n{points}");
        }
    }
    eprintln!("the counter is {}, and was never behind", counter.end());
    quorum.was_kept();
    // The others have the program that tests can kill, and get the usual one first.
    first.nodeinit("up").exits(0);
    upgrade.is_complete();
}

/// Ctrl-C and a power cut of the first master, then a broken image on another master and a power cut there.
pub(crate) fn an_upgrade_survives_ctrl_c_power_cuts_and_a_broken_image() {
    let upgrade = Upgrade::ready(3, 0);
    let (first, other, next) = (upgrade.first(), &upgrade.cluster.masters[1], &upgrade.next);
    let counter = Counter::of_running(&upgrade.cluster);
    let own_api = "curl -skf https://127.0.0.1:6443/readyz";

    let stopped = upgrade.until_stopped(first);
    first.must("pkill -INT -f 'nodeinit [u]pgrade'");
    let stopped = stopped.wait().exits(75);
    eprintln!("{}", stopped.text());
    stopped.says(&["stopped by Ctrl-C", "started the former", "which resumes"]);
    first.must("[ $(ls /etc/kubernetes/manifests | wc -l) = 4 ]");
    let seconds = first.until("the former API server", 120.0, own_api);
    eprintln!("the former API server answers {seconds:.0} s after Ctrl-C");

    let cut = upgrade.until_stopped(first);
    first.cut_power();
    drop(cut.wait());
    first.boot();
    upgrade.break_api_server_on(other);
    let failed = upgrade.apply().exits(1);
    failed.says(&[&format!("{} was not upgraded", other.name()), "kube-apiserver", "the former version runs again"]);
    other.until("the former API server", 60.0, own_api);
    upgrade.every_api_server_has(&[next, &version(), &version()]);

    upgrade.repair_api_server_on(other);
    let cut = upgrade.until_stopped(other);
    other.cut_power();
    first.must("pkill -9 -x nodeinit");
    drop(cut.wait());
    other.boot();
    // Another master ends what the first one began, when it has the newest configuration.
    let last = &upgrade.cluster.masters[2];
    last.nodeinit(&format!("upgrade apply {next}")).exits(78).says(&["is older than that of", "copy /etc/nodeinit"]);
    copy_configuration(first, last);
    let ended = last.nodeinit(&format!("upgrade apply {next}"));
    eprintln!("{}", ended.text());
    ended.exits(0).says(&[&format!("have Kubernetes {next}")]);
    eprintln!("the counter is {}, and was never behind", counter.end());
    // The last one has the operator's file until another master leads.
    first.nodeinit("up").exits(0);
    upgrade.is_complete();
}

/// The last etcd of an upgrade has started, and all members have changed their data, which the former version cannot read. The data is
/// moved away and back, so that no version starts for a while. Then the power fails, and the machine starts before the others.
pub(crate) fn the_last_etcd_of_an_upgrade_keeps_its_version() {
    let upgrade = Upgrade::ready(2, 0);
    let (first, last, next) = (upgrade.first(), &upgrade.cluster.masters[1], &upgrade.next);
    upgrade.break_api_server_on(last);
    upgrade.apply().exits(1).says(&[&format!("{} was not upgraded", last.name())]);
    upgrade.every_api_server_has(&[next, &version()]);
    upgrade.repair_api_server_on(last);
    first.must("echo 'timeouts: {etcd: 40s}' >>/etc/nodeinit/config.yaml");
    copy_configuration(first, last);
    last.add_failpoints();
    last.must("rm -f /root/points");
    let killed = "NODEINIT_FAILPOINTS=/root/points NODEINIT_FAILPOINTS_OF=started nodeinit-failpoints";
    last.run(&format!("{killed} upgrade apply {next}; exit $?")).exits(137);
    assert_eq!(last.must("cat /root/points"), "started etcd\n");
    let raised = "cd /etc/kubernetes/pki/etcd
        curl -s --cacert ca.crt --cert server.crt --key server.key https://127.0.0.1:2379/version | grep -q '\"etcdcluster\":\"3.7'";
    first.until("the cluster version 3.7 of etcd", 60.0, raised);
    let has_new_etcd = "grep -q 'image: registry.k8s.io/etcd:3.7' /etc/kubernetes/manifests/etcd.yaml";

    last.must("mv /var/lib/etcd/member /var/lib/member && pkill -x etcd");
    let failed = last.nodeinit("up").exits(75);
    eprintln!("{}", failed.text());
    failed.says(&["the former version does not work either", "etcd"]);
    last.must(has_new_etcd);
    last.must("rm -rf /var/lib/etcd/member && mv /var/lib/member /var/lib/etcd/");

    for master in &upgrade.cluster.masters {
        master.cut_power();
    }
    last.boot();
    let waits = last.nodeinit("up").exits(75);
    eprintln!("{}", waits.text());
    waits.says(&["a healthy etcd"]);
    last.must(has_new_etcd);
    first.boot();
    let ended = last.nodeinit(&format!("upgrade apply {next}"));
    eprintln!("{}", ended.text());
    ended.exits(0);
    // It has the operator's file until another master leads.
    first.nodeinit("up").exits(0);
    upgrade.is_complete();
}

/// Copies the operator's configuration to another master.
fn copy_configuration(from: &Host, to: &Host) {
    to.must("mkdir -p /etc/nodeinit/conf.d");
    for file in from.must("ls /etc/nodeinit/config.yaml /etc/nodeinit/conf.d/*").lines() {
        to.put(file, &from.must(&format!("cat {file}")));
    }
}

/// Lets a master take the artifacts of each version from a directory of its own.
fn artifacts_of_every_version(host: &Host) {
    // The default lists of artifacts differ for each version.
    let config =
        "sed '/^  binaries:/,$d; s#source: /opt/lab#source: /opt/lab/releases/{version}#' /etc/nodeinit/config.yaml";
    let config = host.must(config);
    host.put("/etc/nodeinit/config.yaml", &config);
}

/// The last machine of an upgrade fails. All masters have the next version then, also of etcd. They return to the former version, although
/// the leading master is killed meanwhile. Then the upgrade succeeds.
pub(crate) fn an_unfinished_upgrade_is_rolled_back_under_load() {
    let cluster = Cluster::with_images(3, 2);
    cluster.up();
    let upgrade = Upgrade { cluster, next: next_version() };
    let (first, worker, next) = (upgrade.first(), &upgrade.cluster.workers[0], &upgrade.next);
    artifacts_of_every_version(first);
    first.run(&upgrade.page(3)).exits(64).says(&["no upgrade is under way: all nodes have"]);
    let drop_in = "/etc/systemd/system/kubelet.service.d/99-broken.conf";
    worker.put(drop_in, &BROKEN_KUBELET.replace("VERSION", next));
    first.must("echo 'timeouts: {kubelet: 20s}' >>/etc/nodeinit/config.yaml");
    upgrade.apply().exits(1).says(&[worker.name(), "the former kubelet runs again"]);
    upgrade.every_api_server_has(&[next, next, next]);
    worker.must(&format!("rm {drop_in}"));
    a_worker_is_rolled_back_alone(&upgrade, worker);
    let load = Load::on(&upgrade.cluster);
    let counter = Counter::of_running(&upgrade.cluster);

    let planned = first.run(&upgrade.page(3)).exits(2);
    eprintln!("{}", planned.text());
    planned.says(&[&format!("by registry.k8s.io/kube-apiserver:{}", version())]);
    upgrade.every_api_server_has(&[next, next, next]);
    let other = &upgrade.cluster.masters[1];
    let killed = first.start("nodeinit upgrade rollback");
    other.until("a stopped control plane", 300.0, "[ ! -e /etc/kubernetes/manifests/etcd.yaml ]");
    first.must("pkill -9 -x nodeinit");
    drop(killed.wait());
    let back = first.run(&upgrade.page(4));
    eprintln!("{}\nupgrade rollback took {:.1} s", back.text(), back.seconds);
    back.exits(0).says(&[&format!("all machines of cluster {} have Kubernetes {}", "lab", version())]);
    load.end_within_limits();
    eprintln!("the counter is {}, and was never behind", counter.end());
    upgrade.every_kubelet_has(&version());
    upgrade.every_api_server_has(&[&version(), &version(), &version()]);
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
    first.run(&upgrade.page(3)).exits(64).says(&["no upgrade is under way"]);

    upgrade.apply().exits(0);
    upgrade.every_kubelet_has(next);
    upgrade.every_api_server_has(&[next, next, next]);
    first.check_pods();
}

/// A worker that the masters do not reach has the next version, and returns before they do.
fn a_worker_is_rolled_back_alone(upgrade: &Upgrade, worker: &Host) {
    let (first, next, name) = (upgrade.first(), &upgrade.next, worker.name());
    let machines = "/etc/nodeinit/conf.d/10-machines.yaml";
    worker.configure("artifacts: {source: \"/opt/lab/releases/{version}\"}\n");
    worker.run(&upgrade.page(2)).exits(0).says(&[&format!("{name} has Kubernetes {next}")]);
    first.must(&format!("sed -i '/^- name: {name}$/a\\  ssh: {{enabled: false}}' {machines}"));
    let alone = pages::ROLL_BACK_WORKER.replace("v1.35.8", &version());
    first.run(&upgrade.page(3)).exits(69).says(&[name, &format!("first run `{alone}` there")]);
    worker.run(&alone).exits(0).says(&[&format!("{name} has Kubernetes {}", version())]);
    worker.must(&format!("kubelet --version | grep -q '{}$' && rm /etc/nodeinit/conf.d/50-test.yaml", version()));
    first.must(&format!("sed -i '/^  ssh: {{enabled: false}}$/d' {machines}"));
}

/// One command passes through every minor version up to the newest, under load. etcd passes through 3.6.11 before 3.7.
pub(crate) fn every_minor_version_in_one_command_under_load() {
    let cluster = Cluster::with_images(3, 2);
    cluster.up();
    let first = cluster.first();
    first.kubectl("create configmap kept");
    artifacts_of_every_version(first);
    let newest = newest_version();
    let minor = |version: &str| version.split('.').nth(1).unwrap().parse::<usize>().unwrap();
    let mut hops = supported_versions();
    hops.retain(|hop| minor(hop) > minor(&version()));
    assert_eq!((hops.len(), hops.last()), (minor(&newest) - minor(&version()), Some(&newest)));
    let planned = first.nodeinit(&format!("upgrade plan {newest}")).exits(2);
    for hop in &hops[1..] {
        planned.says(&[&format!("then all machines are upgraded to {hop}")]);
    }
    let load = Load::on(&cluster);
    let output = first.run_within(1500, &format!("nodeinit upgrade apply {newest}"));
    eprintln!("{}\nupgrade apply took {:.1} s", output.text(), output.seconds);
    let output = output.exits(0);
    output.says(&["etcd-first"]);
    for hop in &hops {
        output.says(&[&format!("all machines of cluster lab have Kubernetes {hop}")]);
    }
    load.end_within_limits();
    for master in &cluster.masters {
        master.must("grep -q 'image: registry.k8s.io/etcd:3.7' /etc/kubernetes/manifests/etcd.yaml");
    }
    let versions =
        first.kubectl(r#"get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion}{"\n"}{end}'"#);
    assert_eq!(versions.lines().collect::<Vec<_>>(), vec![newest.as_str(); 5]);
    first.kubectl("get configmap kept");
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
    first.check_pods();
}
