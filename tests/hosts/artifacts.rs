//! Binaries and images that are damaged, wrong, or truncated during the download.

use crate::containerd;
use nodeinit_tests::{Cluster, Host, Server, Upstream, build_addons, release_directory};
use std::fs;

/// A directory on the host with the lab's binaries and images, in which single files can be replaced.
const OWN_SOURCE: &str =
    "mkdir -p /root/own/images && ln -s /opt/lab/bin /root/own/bin && ln -s /opt/lab/images/* /root/own/images/";

pub(crate) fn a_broken_image_archive() {
    let host = Host::fresh();
    host.must(OWN_SOURCE);
    host.must("rm /root/own/images/etcd.tar && head -c 3000000 /opt/lab/images/etcd.tar >/root/own/images/etcd.tar");
    host.configure("artifacts: {source: /root/own}");
    let broken = host.nodeinit("up").exits(1);
    broken.says(&["/root/own/images/etcd.tar", "unexpected EOF", "the archive is damaged"]);
    let ca = host.ca();
    host.must("ln -sf /opt/lab/images/etcd.tar /root/own/images/etcd.tar");
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was generated again");
}

pub(crate) fn a_digest_that_is_not_the_pinned_one() {
    let host = Host::fresh();
    let wrong = "0123456789abcdef".repeat(4);
    let right = host.must("sha256sum </opt/lab/images/pause.tar | cut -d' ' -f1").trim().to_owned();
    host.configure(&format!("artifacts: {{sha256: {{images/pause.tar: {wrong}}}}}"));
    let refused = host.nodeinit("up").exits(1);
    refused.says(&["images/pause.tar", &wrong, &right]);
    assert_eq!(host.must("ctr -n k8s.io images ls -q | grep pause || true"), "", "the image was imported");
    let ca = host.ca();
    host.configure(&format!("artifacts: {{sha256: {{images/pause.tar: {right}}}}}"));
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was generated again");
}

pub(crate) fn a_mirror_that_cuts_every_answer_and_stops() {
    let host = Host::fresh();
    let digests = host.must(
        "cd /opt/lab; sed -n 's/.*path: \\([^,]*\\),.*/\\1/p' /etc/nodeinit/config.yaml | xargs sha256sum \
         | sed 's/^\\([^ ]*\\)  \\(.*\\)$/    \\2: \\1/'",
    );
    let release = release_directory().display().to_string();
    let serve = || Server::of(&release, host.spare_port(), Some(20_000_000));
    let mirror = serve();
    let artifacts = format!("artifacts:\n  source: {}\n  sha256:\n{digests}", mirror.url());

    host.configure(&format!("{artifacts}timeouts: {{download: 15s}}"));
    let first = host.start("nodeinit up");
    host.until("a part of a download", 60.0, "find /var/lib/nodeinit/downloads -size +4M | grep -q .");
    drop(mirror);
    first.wait().exits(75).says(&[&format!("http://10.77.0.1:{}/", host.spare_port()), "run the same command again"]);
    let ca = host.ca();

    host.configure(&artifacts);
    let _mirror = serve();
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was generated again");
    host.must("cmp /opt/lab/bin/kubelet /usr/bin/kubelet");
    assert_eq!(host.must("ls -A /var/lib/nodeinit/downloads"), "", "downloads are kept");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Writes the login of the registry as `docker login` does. Returns its password.
fn put_logins(host: &Host, registry: &str, path: &str) -> String {
    let kept = fs::read_to_string(Upstream::kept("password")).unwrap();
    let (user, password) = kept.trim().split_once(':').unwrap();
    let server = registry.trim_start_matches("https://");
    host.put(path, &format!(r#"{{"auths": {{"{server}": {{"username": "{user}", "password": "{password}"}}}}}}"#));
    host.must(&format!("chmod 600 {path}"));
    password.to_owned()
}

/// From replacements of the official servers, with only the mirrors and the CA in the configuration.
pub(crate) fn a_cluster_from_fetched_artifacts() {
    const FETCH: &str = "artifacts fetch --to /opt/kubernetes --registry-auth /root/logins.json";
    build_addons(&["etcd-3.6"]);
    let host = Host::fresh();
    let upstream = Upstream::of(&host, "token");
    let registry = upstream.registry();
    // The host has Debian's containerd.
    host.put("/etc/nodeinit/conf.d/40-runtime.yaml", "containerRuntime: {manage: false}\n");
    host.configure(&of_stand_ins(&upstream));
    host.nodeinit("artifacts list").exits(0).says(&[
        "https://dl.k8s.io/release/",
        "registry.k8s.io/etcd:",
        "etcd:3.6.11-0",
    ]);

    let stranger = host.nodeinit("artifacts fetch --to /opt/kubernetes").exits(1);
    stranger.says(&["images/etcd.tar", &registry, "--registry-auth"]);
    host.must(
        "[ -e /opt/kubernetes/bin/kubelet ] && [ ! -e /opt/kubernetes/images/etcd.tar ] && [ ! -e /usr/bin/kubelet ]",
    );

    let password = put_logins(&host, &registry, "/root/logins.json");
    let fetching = host.start(&format!("nodeinit {FETCH}"));
    host.until("a part of an image", 60.0, "find /opt/kubernetes/.downloads -size +1M | grep -q .");
    host.must("pkill -9 -f 'nodeinit [a]rtifacts'");
    drop(fetching.wait());
    let fetched = host.nodeinit(FETCH).exits(0);
    assert!(!fetched.text().contains(&password), "the password is shown");
    host.must(
        "cmp /opt/lab/bin/kubelet /opt/kubernetes/bin/kubelet && cmp /opt/lab/bin/bridge /opt/kubernetes/bin/bridge",
    );
    host.must("! grep -q 10.77.0.1 /opt/kubernetes/artifacts.lock");

    drop(upstream);
    host.nodeinit(FETCH).exits(0);
    host.must("rm /etc/nodeinit/conf.d/50-test.yaml && cp /opt/kubernetes/artifacts.yaml /etc/nodeinit/conf.d/50-artifacts.yaml");
    host.must("cp -r /opt/kubernetes /root/damaged && head -c 1M /opt/kubernetes/images/etcd.tar >/root/damaged/images/etcd.tar");
    host.configure("artifacts: {source: /root/damaged}");
    host.nodeinit("up").exits(1).says(&["images/etcd.tar"]);
    host.must("rm -r /root/damaged /etc/nodeinit/conf.d/50-test.yaml");
    host.nodeinit("plan").exits(2);

    bundle(&host);
    host.must("rm /etc/nodeinit/conf.d/50-artifacts.yaml");
    a_cluster_of_the_bundle(&host);

    // The same directory as a mirror, pinned by one digest.
    host.must("mv /root/away /opt/kubernetes && rm /usr/bin/kubectl");
    host.must("systemd-run -q -u mirror python3 -m http.server 8000 --bind 127.0.0.1 --directory /opt/kubernetes");
    host.until("the mirror", 10.0, "curl -sf http://127.0.0.1:8000/SHA256SUMS | cmp - /opt/kubernetes/SHA256SUMS");
    let pin = host.must("sha256sum </opt/kubernetes/SHA256SUMS | cut -d' ' -f1").trim().to_owned();
    let mirror = |pin: &str| format!("artifacts: {{source: 'http://127.0.0.1:8000', sha256sums: '{pin}'}}");
    host.configure(&mirror(&"0".repeat(64)));
    host.nodeinit("up").exits(1).says(&["SHA256SUMS has the SHA-256", &pin, "artifacts.sha256sums"]);
    host.configure(&mirror(&pin));
    host.up();
    host.must("cmp /opt/lab/bin/kubectl /usr/bin/kubectl && systemctl stop mirror");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Writes the fetched artifacts to /var/bundle/kubernetes.tar, signed by /root/key.
fn bundle(host: &Host) {
    const BUNDLE: &str = "artifacts bundle --output /var/bundle/kubernetes.tar --sign-key /root/key";
    host.must("for key in key other; do ssh-keygen -q -t ed25519 -N '' -f /root/$key; done");
    host.disk("/var/bundle", "100m");
    let full = host.nodeinit(BUNDLE).exits(75);
    full.says(&["/var/bundle/kubernetes.tar", "No space left on device", "df -h /var/bundle"]);
    assert_eq!(host.must("ls -A /var/bundle"), "", "a part of the bundle is left");
    host.disk("/var/bundle", "off");

    host.must(&format!(
        "nodeinit {BUNDLE} & part=/var/bundle/.kubernetes.tar.nodeinit-new
        until [ \"$(stat -c %s $part 2>/dev/null || echo 0)\" -gt 50000000 ]; do :; done
        kill -9 $!; wait $! || [ $? = 137 ]; [ -e $part ] && [ ! -e /var/bundle/kubernetes.tar ]"
    ));
    host.nodeinit(BUNDLE).exits(0).says(&["signed by ssh-ed25519 SHA256:"]);
    assert_eq!(host.must("ls -A /var/bundle"), "kubernetes.tar\n");

    let shown = host.nodeinit("artifacts inspect /var/bundle/kubernetes.tar").exits(0);
    shown.says(&["bin/kubelet", "images/etcd.tar", "https://dl.k8s.io/release/", "Apache-2.0"]);
    let verify =
        |file: &str, key: &str| host.nodeinit(&format!("artifacts verify {file} --public-key /root/{key}.pub"));
    verify("/var/bundle/kubernetes.tar", "key").exits(0).says(&["is complete"]);
    verify("/var/bundle/kubernetes.tar", "other").exits(1).says(&[
        "is signed by",
        &fingerprint(host, "key"),
        &fingerprint(host, "other"),
    ]);
    host.must(
        "cp /var/bundle/kubernetes.tar /root/flipped.tar && at=$(($(stat -c %s /root/flipped.tar) / 2))
        byte=$(od -An -tu1 -j $at -N 1 /root/flipped.tar)
        printf \"\\\\$(printf %o $((byte ^ 1)))\" | dd of=/root/flipped.tar bs=1 seek=$at conv=notrunc status=none",
    );
    verify("/root/flipped.tar", "key").exits(1).says(&["is damaged", "has the SHA-256"]);
    host.must("rm /root/flipped.tar");
}

fn fingerprint(host: &Host, key: &str) -> String {
    host.must(&format!("ssh-keygen -l -f /root/{key} | cut -d' ' -f2")).trim().to_owned()
}

/// From the bundle only: the directory is removed.
fn a_cluster_of_the_bundle(host: &Host) {
    host.nodeinit("reset --yes").exits(0);
    host.must("mv /opt/kubernetes /root/away && [ ! -e /usr/bin/kubelet ] && [ -z \"$(ctr -n k8s.io images ls -q)\" ]");
    let configure = |key: &str| {
        let key = host.must(&format!("cat /root/{key}.pub"));
        host.configure(&format!("artifacts: {{source: /var/bundle/kubernetes.tar, bundleKey: '{}'}}", key.trim()));
    };
    configure("other");
    host.nodeinit("up").exits(69).says(&["is signed by", &fingerprint(host, "key"), &fingerprint(host, "other")]);
    configure("key");
    let killed = host.start("nodeinit up");
    host.until("the kubelet of the bundle", 60.0, "cmp /usr/bin/kubelet /opt/lab/bin/kubelet");
    host.must("pkill -9 -f 'nodeinit [u]p'");
    drop(killed.wait());
    let up = host.up();
    assert!(!up.text().contains("importing with ctr"), "an image was not read where it is:\n{}", up.text());
    host.check_pods();
    assert_eq!(host.must("ls -A /var/lib/nodeinit/downloads 2>/dev/null || true"), "", "something was unpacked");
    host.nodeinit("up").exits(0).says(&["nothing to do"]);
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// A machine whose image has the programs where a distribution's packages install them; the kubelet pulls all images through a mirror.
pub(crate) fn programs_from_the_machine_image_and_images_from_a_registry() {
    const LOGINS: &str = "/etc/nodeinit/registry-auth.json";
    let host = Host::fresh();
    let upstream = Upstream::of(&host, "basic");
    let registry = upstream.registry();
    host.configure(&format!(
        "{}  source: image\n  binaries: []\n  images: []\ncontainerRuntime: {{manage: true}}\n\
         images:\n  mirrors: [{{registry: registry.k8s.io, urls: [\"{registry}\"]}}, {{registry: ghcr.io, urls: [\"{registry}\"]}}]\n  \
         registryAuthFile: {LOGINS}\n",
        of_stand_ins(&upstream)
    ));
    host.nodeinit("preflight").says(&["there is no kubelet at /usr/bin/kubelet", &format!("{LOGINS} is missing")]);
    let password = put_logins(&host, &registry, LOGINS);
    host.nodeinit("preflight").exits(69).says(&["there is no kubelet at /usr/bin/kubelet"]);
    host.must("cp /opt/lab/bin/{kubelet,kubectl} /usr/bin/ && mkdir -p /opt/cni/bin && cp /opt/lab/bin/{bridge,host-local,loopback,portmap} /opt/cni/bin/");
    let up = host.up();
    up.says(&["registry.k8s.io/etcd:", "is not in containerd yet; the kubelet will pull it"]);
    assert!(!up.text().contains(&password), "the password is shown");
    host.must("[ $(stat -c %a /etc/containerd/certs.d/registry.k8s.io/hosts.toml) = 600 ]");
    host.must("ctr -n k8s.io images ls -q | grep -q ^registry.k8s.io/coredns/coredns:");
    host.must("kubectl --kubeconfig /etc/kubernetes/admin.conf wait pods -A --all --for=condition=Ready --timeout=60s");
    host.check_pods();
    drop(upstream);
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.nodeinit("reset --yes").exits(0);
    host.must("[ -x /usr/bin/kubelet ] && [ -x /opt/cni/bin/bridge ]");
}

/// The tutorial's three commands, with hosts in the place of its machines. Beside them is only what the lab needs: what its kernel demands,
/// and stand-ins for upstream's servers.
pub(crate) fn the_tutorial_makes_three_masters_of_official_artifacts() {
    const ALONE: &str = "[ -e /usr/bin/kubelet ] && [ ! -e /var/lib/nodeinit/artifacts ]";
    build_addons(&["kube-vip"]);
    let cluster = Cluster::bare(3, 0);
    let first = cluster.first();
    first.must("rm -r /etc/nodeinit");
    let upstream = Upstream::of(first, "none");
    first.put("/etc/nodeinit/conf.d/90-lab.yaml", &(lab_settings() + &of_stand_ins(&upstream)));
    for host in &cluster.masters {
        host.put("/etc/containerd/conf.d/lab.toml", containerd::OWN);
    }
    let page = page(&cluster);
    let (init, rest) = page.split_once("\nnodeinit up\n").unwrap();
    assert!(init.starts_with("nodeinit config init ") && rest.starts_with("kubectl "), "not three commands: {page}");

    first.must(init);
    let planned = first.nodeinit("plan").exits(2);
    planned.says(&["fetch bin/kubelet from", "fetch bin/runc from", "fetch images/kube-vip.tar from"]);
    first.must("[ ! -e /var/lib/nodeinit/artifacts ]");
    let killed = first.start("nodeinit up");
    first.until("a part of a download", 60.0, "find /var/lib/nodeinit/artifacts -size +1M | grep -q .");
    first.must("pkill -9 -x nodeinit");
    drop(killed.wait());
    let up = first.run(&format!("nodeinit up && {rest}")).exits(0);
    eprintln!("up took {:.1} s", up.seconds);
    assert_eq!(up.stdout.matches("   Ready    control-plane ").count(), 3, "{}", up.stdout);
    for other in &cluster.masters[1..] {
        other.must(ALONE);
    }

    drop(upstream);
    first.nodeinit("up").exits(0).says(&["nothing to do"]);
    cluster.masters[1].nodeinit("plan").exits(0).says(&["nothing to do"]);
    first.check_pods();
    first.must("rm -r /var/lib/nodeinit/artifacts");
    first.nodeinit("preflight").exits(75).says(&["no answer from https://10.77.0.1:", "HTTPS_PROXY"]);
    cluster.masters[2].nodeinit("reset --yes").exits(0);
    first.nodeinit("reset --yes").exits(0);
    first.must("[ ! -e /var/lib/nodeinit/artifacts ] && [ ! -e /usr/local/bin/containerd ]");
}

/// The commands of the tutorial, with the names, addresses and keys of these hosts.
fn page(cluster: &Cluster) -> String {
    let text = include_str!("../../docs/tutorials/bare-metal.md");
    let (_, marked) = text.split_once("<!-- a test runs this -->\n\n").unwrap();
    let (block, _) = marked.split_once("\n\n").unwrap();
    let mut page: String = block.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap())).collect();
    page = page.replace("10.0.0.10", &cluster.first().spare_address());
    for (number, host) in cluster.masters.iter().enumerate() {
        page = page.replace(&format!("name: m{}", number + 1), &format!("name: {}", host.name()));
        page = page.replace(&format!("10.0.0.1{}", number + 1), host.address());
        if number > 0 {
            let key = host.must("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
            page = page.replacen("ssh-ed25519 AAAA…", key.trim(), 1);
        }
    }
    assert!(!page.contains("10.0.0.") && !page.contains('…'), "{page}");
    page
}

/// Returns the settings that the lab's kernel requires.
fn lab_settings() -> String {
    let text = fs::read_to_string(release_directory().join("cluster.yaml")).unwrap();
    let from = text.find("\nkubelet:").unwrap();
    let to = text.find("\n# The hosts see").unwrap();
    text[from..to].to_owned()
}

/// Returns the configuration of the replacements of the official servers, and their CA.
fn of_stand_ins(upstream: &Upstream) -> String {
    let (files, registry) = (upstream.files(), upstream.registry());
    let ca = fs::read_to_string(Upstream::kept("ca.pem")).unwrap();
    let ca: String = ca.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "\nartifacts:\n  mirrors: {{dl.k8s.io: {files}, github.com: {files}, registry.k8s.io: {registry}, ghcr.io: {registry}}}\n  \
         caCertificate: |\n{ca}"
    )
}

/// The directory is only on the first master. A worker reaches only its ports for SSH and the API.
pub(crate) fn only_the_first_master_needs_the_artifacts() {
    let cluster = Cluster::fresh(2, 1);
    let (first, worker) = (cluster.first(), &cluster.workers[0]);
    first.must(OWN_SOURCE);
    first.configure("artifacts: {source: /root/own}");
    worker.must(&format!("iptables -A OUTPUT -d {} -p tcp --syn --dport 10000:65535 -j DROP", first.address()));
    let up = first.start("nodeinit up");
    let other = &cluster.masters[1];
    other.until(
        "a program from the first master",
        120.0,
        "[ -e /usr/bin/kubelet ] && [ -e /run/nodeinit/artifacts.json ]",
    );
    first.must("pkill -9 -x nodeinit");
    drop(up.wait());
    cluster.up();
    for host in [other, worker] {
        host.must(
            "cmp /opt/lab/bin/kubelet /usr/bin/kubelet && [ ! -e /root/own ] && [ ! -e /run/nodeinit/artifacts.json ]",
        );
        assert_eq!(host.must("ls -A /var/lib/nodeinit/downloads"), "", "downloads are kept");
        host.must("! ctr -n k8s.io images ls -q | grep -E '^127|nodeinit/'");
    }
    first.check_pods();
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);
}

/// Hosts with only Debian. The first one has nodeinit, the configuration and the bundle; the bridge has no other connection.
pub(crate) fn five_bare_machines_from_one_bundle() {
    let cluster = Cluster::bare(3, 2);
    let first = cluster.first();
    first.must(OWN_SOURCE);
    first.must("rm /root/own/bin && mkdir /root/own/bin && ln -s /opt/lab/bin/runtime/* /opt/lab/bin/* /root/own/bin/");
    let digests = first.must(
        "cd /root/own; { sed -n 's/.*path: \\([^,]*\\),.*/\\1/p' /etc/nodeinit/config.yaml; ls -d bin/containerd* bin/ctr bin/runc; } \
         | xargs sha256sum | sed 's/^\\([^ ]*\\)  \\(.*\\)$/    \\2: \\1/'",
    );
    let configure = |source: &str| {
        first.configure(&format!(
            "containerRuntime: {{manage: true}}\nartifacts:\n  source: {source}\n  sha256:\n{digests}"
        ));
    };
    configure("/root/own");
    first.nodeinit("artifacts bundle --output /root/kubernetes.tar").exits(0);
    configure("/root/kubernetes.tar");
    for host in cluster.hosts() {
        host.put("/etc/containerd/conf.d/lab.toml", containerd::OWN);
        host.must("rm -rf /root/own && mount -t tmpfs -o ro hidden /opt/lab && [ -z \"$(ls /opt/lab)\" ]");
        host.run("containerd --version || kubelet --version || ctr version || runc --version").exits(127);
        host.must("! timeout 3 bash -c ': </dev/tcp/1.1.1.1/443' 2>/dev/null");
    }
    cluster.up();
    let nodes = first.kubectl("get nodes --no-headers");
    assert_eq!(nodes.matches(" Ready ").count(), 5, "{nodes}");
    for host in cluster.hosts() {
        host.must("[ -x /usr/bin/kubelet ] && containerd --version | grep -q ' v2'");
        host.must("! ls /var/lib/nodeinit/downloads/* && [ ! -e /run/nodeinit/artifacts.json ]");
        // The image of the pods that test the network.
        host.must("umount /opt/lab");
    }
    first.check_pods();
    first.nodeinit("up").exits(0).says(&["nothing to do"]);
    first.nodeinit("plan").exits(0).says(&["nothing to do"]);

    // Without the bundle, another master's artifacts rebuild a machine.
    let (other, worker) = (&cluster.masters[1], &cluster.workers[1]);
    other.nodeinit("artifacts export --to /root/exported").exits(0).says(&["artifacts are in /root/exported"]);
    other.must("cd /root/exported && sha256sum --quiet -c SHA256SUMS && ls bin/containerd bin/runc images/etcd.tar");
    worker.nodeinit("artifacts export --to /root/exported").exits(1).says(&[
        "does not have",
        "images/etcd.tar",
        "another master",
    ]);
    let copy = format!("scp -qr -o StrictHostKeyChecking=no root@{}:/root/exported /root/", other.address());
    first.must(&format!(
        "rm /root/kubernetes.tar && {copy} && cp /root/exported/artifacts.yaml /etc/nodeinit/conf.d/60-exported.yaml"
    ));
    for host in cluster.hosts() {
        host.must("mount -t tmpfs -o ro hidden /opt/lab");
    }
    worker.nodeinit("reset --yes").exits(0);
    worker.must("[ ! -e /usr/local/bin/containerd ] && [ ! -e /usr/bin/kubelet ]");
    cluster.up();
    worker.must("[ -x /usr/bin/kubelet ] && containerd --version | grep -q ' v2'");
    let nodes = first.kubectl("get nodes --no-headers");
    assert_eq!(nodes.matches(" Ready ").count(), 5, "{nodes}");
}
