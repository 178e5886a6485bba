//! containerd that nodeinit installs, and one that is already installed.

use nodeinit_tests::{Host, difference};

/// containerd's settings that the lab's hosts need, added as an operator would: no CAP_SYS_RESOURCE.
pub(crate) const OWN: &str = "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n";

/// The lab's programs, with containerd's.
const ARTIFACTS: &str = "artifacts:\n  binaries:\n\
    \x20 - {path: bin/kubelet, to: /usr/bin/kubelet}\n  - {path: bin/kubectl, to: /usr/bin/kubectl}\n\
    \x20 - {path: bin/bridge, to: /opt/cni/bin/bridge}\n  - {path: bin/host-local, to: /opt/cni/bin/host-local}\n\
    \x20 - {path: bin/loopback, to: /opt/cni/bin/loopback}\n  - {path: bin/portmap, to: /opt/cni/bin/portmap}\n\
    \x20 - {path: bin/runtime/containerd, to: /usr/local/bin/containerd}\n\
    \x20 - {path: bin/runtime/containerd-shim-runc-v2, to: /usr/local/bin/containerd-shim-runc-v2}\n\
    \x20 - {path: bin/runtime/ctr, to: /usr/local/bin/ctr}\n  - {path: bin/runtime/runc, to: /usr/local/sbin/runc}\n";

/// Runtime settings with a proxy and a mirror that do not exist in the lab.
const PROXY: &str = "containerRuntime: {MANAGE proxy: {https: \"http://proxy.example.org:3128\", noProxy: [10.77.0.0/24]}}\n\
    images: {mirrors: [{registry: docker.io, urls: [\"https://mirror.example.org/hub\"]}]}\n";

/// Checks the findings of preflight without the test's own configuration.
fn without_configuration(host: &Host, why: &[&str]) {
    host.must("mv /etc/nodeinit/conf.d/50-test.yaml /root/");
    host.nodeinit("preflight").exits(69).says(why);
    host.must("mv /root/50-test.yaml /etc/nodeinit/conf.d/");
}

pub(crate) fn containerd_is_installed_if_it_is_missing() {
    let host = Host::bare();
    host.run("containerd --version || ctr version || runc --version").exits(127);
    host.put("/etc/containerd/conf.d/lab.toml", OWN);
    host.configure(&format!("{ARTIFACTS}{}", PROXY.replace("MANAGE ", "")));
    let before = host.listing();
    without_configuration(&host, &["/opt/lab/bin/containerd is missing", "containerRuntime.manage"]);
    host.nodeinit("plan").exits(2).says(&["place /usr/local/bin/containerd", "start and enable containerd.service"]);
    let up = host.up();
    assert!(!up.text().contains("importing with ctr"), "containerd does not pull from loopback: {}", up.text());
    assert!(host.must("containerd --version").contains(" v2."), "containerd is the installed one");
    let environment = host.must("systemctl show -p Environment --value containerd");
    assert!(environment.contains("HTTPS_PROXY=http://proxy.example.org:3128"), "{environment}");
    assert!(host.must("cat /etc/containerd/certs.d/docker.io/hosts.toml").contains("mirror.example.org/v2/hub"));
    host.check_pods();
    let since = host.must("systemctl show -p ExecMainStartTimestampMonotonic containerd");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.up();
    assert_eq!(since, host.must("systemctl show -p ExecMainStartTimestampMonotonic containerd"), "it was restarted");

    host.nodeinit("reset --yes").exits(0);
    host.must("rm -rf /root/.kube");
    let changes = difference(&before, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
    host.must("! pgrep containerd && ! ls /run/containerd /var/lib/containerd/*");
}

/// Debian's 1.6 with another pause image, which is not on the machine, and a runtime of others.
const FOREIGN: &str = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"registry.k8s.io/pause:3.6\"\n  \
    restrict_oom_score_adj = true\n  [plugins.\"io.containerd.grpc.v1.cri\".cni]\n    bin_dir = \"/usr/lib/cni\"\n  \
    [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n    runtime_type = \"io.containerd.runc.v2\"\n  \
    [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.foreign]\n    runtime_type = \"io.containerd.runc.v2\"\n    \
    [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.foreign.options]\n      BinaryName = \"/usr/bin/foreign\"\n";

pub(crate) fn an_installed_containerd_is_reconfigured_and_restored() {
    let host = Host::fresh();
    host.put("/etc/containerd/config.toml", FOREIGN);
    host.must("systemctl restart containerd");
    let file = host.must("cat /etc/containerd/config.toml");
    host.configure(&PROXY.replace("MANAGE", "manage: true,"));
    let before = host.listing();
    without_configuration(&host, &["/usr/lib/cni", "so no pod starts"]);
    host.nodeinit("plan")
        .exits(2)
        .says(&["rewrite /etc/containerd/config.toml", "restart containerd.service; pods keep running"]);
    host.up();
    let config = host.must("containerd config dump");
    for wanted in
        ["/usr/bin/foreign", "pause:3.10", "bin_dir = \"/opt/cni/bin\"", "config_path = \"/etc/containerd/certs.d\""]
    {
        assert!(config.contains(wanted), "{wanted} is not in {config}");
    }
    host.check_pods();
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);

    // Other settings stay; those that Kubernetes needs are restored, and the pods keep running.
    let pods = "ctr -n k8s.io tasks ls -q | sort";
    let running = host.must(pods);
    host.must("sed -i 's#/opt/cni/bin#/elsewhere#; s#/usr/bin/foreign#/usr/bin/other#' /etc/containerd/config.toml");
    host.up();
    let config = host.must("cat /etc/containerd/config.toml");
    assert!(config.contains("\"/opt/cni/bin\"") && config.contains("/usr/bin/other"), "{config}");
    assert_eq!(running, host.must(pods), "containers were restarted");

    host.nodeinit("reset --yes").exits(0);
    host.must("rm -rf /root/.kube");
    assert_eq!(file, host.must("cat /etc/containerd/config.toml"));
    let changes = difference(&before, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
    assert!(host.must("containerd config dump").contains("pause:3.6"));
    let environment = host.must("systemctl is-active containerd && systemctl show -p Environment --value containerd");
    assert!(!environment.contains("proxy.example.org"), "{environment}");
}
