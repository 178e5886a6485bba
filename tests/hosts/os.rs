//! The settings of `os`: set, verified with the system's own programs, changed, and undone.

use crate::kill::killed_at;
use nodeinit_tests::{Cluster, Host, difference, version};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo alice";
const OTHER_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMu6xj2gQhmnENfIdXn6W+3E7YuqxlaO5TuNwKTA8k2a other";
/// The password is `test`.
const HASH: &str = "$6$abcdefgh$3rj1vTLX64btReFsM4MQ22otcD40l7vbtw7qCyr0dxc4kxNmgx53xVM8gWiLYbCqTHTbXFaVFU7ZT28pnvdyu0";
/// The password is `changed`.
const OTHER_HASH: &str =
    "$6$ijklmnop$p8uOYfU/qKhTGG4pHGRNV0uzJjjtN0r9QH7Xdk/HDB7UaNfPGvoHJAdBnByYzQoeW2QN9Dh1kwPAxOteA6JUI/";
const CA: &str = "/etc/kubernetes/pki/ca.crt";

/// Every item that the lab's Debian supports. Only a containerd that nodeinit manages gets the proxy.
const ITEMS: &str = r#"containerRuntime: {manage: true}
os:
  timezone: Europe/Amsterdam
  locale: POSIX
  keymap: de
  hostName: machine
  domain: example.org
  hosts: {machines: true, extra: {db.example.org: 10.77.0.1}}
  dns: {servers: [10.77.0.1], search: [example.org]}
  messages: {issue: No entry., motd: "${name}: ${role} of ${cluster}", finished: "${fullName} is finished"}
  sysctls: {net.ipv4.tcp_keepalive_time: 1234}
  openFiles: 16384
  ipv6: "off"
  users:
  - {name: alice, keys: [KEY], groups: [adm], sudo: true, shell: /bin/bash}
  - {name: games, remove: true}
  rootPasswordHash: HASH
  sshd: {PasswordAuthentication: "no", MaxAuthTries: 3}
  timeServers: [10.77.0.1]
  files:
  - {path: /etc/test/template, content: "${name} ${address}", template: true, mode: 0640, owner: "daemon:adm"}
  - {path: /etc/test/copy, source: /root/source, sha256: 3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7}
  units:
  - {name: test.service, content: "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target"}
  trustedCAs:
  - |
CERTIFICATE
  proxy: {http: "http://10.77.0.1:3128", noProxy: [.example.org]}
  logs: {journalMaxSize: 100M, journalMaxDays: 7}
  packages: {updates: all, install: [other]}
  disks: [{device: /dev/loop7, mount: /data}]
"#;

/// The same items with other values. The host's own address as a name server refuses at once.
const CHANGED: &str = r#"containerRuntime: {manage: true}
os:
  timezone: Etc/UTC
  locale: C.UTF-8
  keymap: fr
  hostName: machine
  domain: example.net
  hosts: {machines: true, extra: {cache.example.net: 10.77.0.2}}
  dns: {servers: [ADDRESS], search: [example.net]}
  messages: {issue: Closed., motd: "${cluster} has ${name}", finished: "${fullName} has changed"}
  sysctls: {net.ipv4.tcp_keepalive_time: 1235}
  openFiles: 8192
  ipv6: "on"
  users:
  - {name: alice, keys: [KEY], groups: [audio], shell: /bin/sh}
  - {name: news, remove: true}
  rootPasswordHash: HASH
  sshd: {PasswordAuthentication: "yes", MaxAuthTries: 4}
  timeServers: [10.77.0.2]
  files:
  - {path: /etc/test/template, content: "${role} of ${cluster}", template: true, mode: 0600, owner: "root:daemon"}
  - {path: /etc/test/copy, source: /root/other, sha256: d67e2e944994496c8d8ec76eed0cf9f09679448d584b532bebf941852a37f5ed}
  units:
  - {name: test.service, content: "[Service]\nExecStart=/bin/sleep 1000000\n[Install]\nWantedBy=multi-user.target"}
  trustedCAs:
  - |
CERTIFICATE
  proxy: {http: "http://10.77.0.1:3129", noProxy: [.example.net]}
  logs: {journalMaxSize: 50M, journalMaxDays: 8}
  packages: {updates: security, install: [another]}
  disks: [{device: /dev/loop7, mount: /data}]
"#;

/// Returns a configuration with every item.
fn every_item(host: &Host, changed: bool) -> String {
    let (items, key, hash, ca) = match changed {
        false => (ITEMS, KEY, HASH, "/root/ca.crt"),
        true => (CHANGED, OTHER_KEY, OTHER_HASH, "/root/other.crt"),
    };
    let ca = host.must(&format!("sed 's/^/    /' {ca}"));
    let items = items.replace("[KEY]", &format!("[{key}]")).replace("HASH", hash).replace("ADDRESS", host.address());
    items.replace("CERTIFICATE", ca.trim_end())
}

/// What the machine is like, for a comparison after `reset`.
const STATE: &str = "readlink -f /etc/localtime; hostname; cat /etc/hosts /etc/resolv.conf; getent passwd alice || true
    sshd -T | sort | sha256sum; getent shadow root | cut -d: -f2; sysctl net.ipv4.tcp_keepalive_time; systemctl is-enabled test.service 2>&1 || true
    grep -c . /etc/ssl/certs/ca-certificates.crt; mountpoint -q /data && echo mounted || true
    sysctl net.ipv6.conf.all.disable_ipv6 net.ipv6.conf.default.disable_ipv6; su - root -c 'ulimit -Hn'; bash -lc 'echo $http_proxy'
    apt-config dump Acquire::http::Proxy; systemctl show -p Environment --value containerd kubelet
    systemctl stop systemd-localed; localectl status | grep X11; systemd-analyze cat-config systemd/journald.conf
    for name in other another; do dpkg-query -W $name 2>/dev/null || echo no $name; done";

/// Empties the disk: neither a signature nor any data is left in its first MiB.
const EMPTY: &str = "wipefs -qa /dev/loop7 && dd if=/dev/zero of=/dev/loop7 bs=1M count=1 conv=notrunc status=none";

fn prepare(host: &Host) {
    host.must(
        "set -e; printf data >/root/source; printf changed >/root/other; [ -e /dev/loop7 ] || mknod /dev/loop7 b 7 7
        [ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
        losetup -d /dev/loop7 2>/dev/null || true # An ended run has left it.
        truncate -s 64M /var/tmp/os-disk; losetup /dev/loop7 /var/tmp/os-disk
        mkdir -p /srv/data; ln -sfn srv/data /data # Mount points may be behind symbolic links.
        echo m.novalocal >/etc/hostname && hostname m.novalocal && mkdir -p /etc/chrony",
    );
    // The lab has no chrony: a service of the same name shows that it is restarted.
    host.put("/etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst");
    host.put(
        "/etc/systemd/system/chrony.service",
        "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target",
    );
    host.must("systemctl daemon-reload && grep -q '^Include' /etc/ssh/sshd_config && install -d /run/sshd");
    for name in ["ca", "other"] {
        host.must(&format!(
            "openssl req -x509 -newkey ed25519 -nodes -keyout /root/{name}.key -out /root/{name}.crt -subj /CN={name} -days 2 2>/dev/null"
        ));
    }
    host.must(REPOSITORY);
    host.must("dpkg --install /root/repo/own-1.deb");
}

/// Compares every item with what the system's own programs say.
fn everything_is_set(host: &Host, changed: bool) {
    let (name, address) = (host.name(), host.address());
    let (both, sshd) = (|value| (value, value), "sshd -T -C user=alice | awk '/^authorizedkeysfile/ {print $NF}'");
    for (script, (first, second)) in [
        ("timedatectl show -p Timezone --value", ("Europe/Amsterdam", "Etc/UTC")),
        // It would keep what it has read for a while.
        (
            "systemctl stop systemd-localed; localectl status | sed -n 's/.*System Locale: *//p'",
            ("LANG=POSIX", "LANG=C.UTF-8"),
        ),
        ("localectl status | sed -n 's/.*X11 Layout: *//p'", ("de", "fr")),
        ("hostnamectl --static", both(name)),
        ("hostname", both(name)),
        ("hostname -f", (&format!("{name}.example.org"), &format!("{name}.example.net"))),
        ("getent -s files hosts db.example.org cache.example.net | awk '{print $1}'; true", ("10.77.0.1", "10.77.0.2")),
        (
            "awk '/^(nameserver|search)/ {print $2}' /etc/resolv.conf | xargs",
            ("10.77.0.1 example.org", &format!("{address} example.net")),
        ),
        ("cat /etc/motd", (&format!("{name}: first-master of lab"), &format!("lab has {name}"))),
        ("cat /etc/issue", ("No entry.", "Closed.")),
        ("sysctl -n net.ipv4.tcp_keepalive_time", ("1234", "1235")),
        ("systemctl show -p DefaultLimitNOFILE --value", ("16384", "8192")),
        ("su - root -c 'ulimit -Hn'", ("16384", "8192")),
        ("sysctl -n net.ipv6.conf.all.disable_ipv6 net.ipv6.conf.default.disable_ipv6 | xargs", ("1 1", "0 0")),
        ("ip -6 address show dev host0 | grep -c inet6 || true", ("0", "1")),
        ("getent passwd alice | cut -d: -f7", ("/bin/bash", "/bin/sh")),
        ("id -Gn alice | tr ' ' '\n' | sort | xargs", ("adm alice", "alice audio")),
        ("sudo -u alice sudo -n id -un 2>/dev/null || echo no", ("root", "no")),
        ("cat /etc/ssh/authorized_keys.d/alice", (KEY, OTHER_KEY)),
        ("stat -c '%U %a' /etc/ssh/authorized_keys.d/alice", both("root 644")),
        (sshd, both("/etc/ssh/authorized_keys.d/%u")),
        // A reset does not bring back a removed user, and neither does another configuration.
        ("getent passwd games || echo none", both("none")),
        ("getent shadow root | cut -d: -f2", (HASH, OTHER_HASH)),
        (
            "sshd -T | grep -E '^(passwordauthentication|maxauthtries)' | sort | xargs",
            ("maxauthtries 3 passwordauthentication no", "maxauthtries 4 passwordauthentication yes"),
        ),
        ("sed -n 's/^server //p' /etc/chrony/chrony.conf", ("10.77.0.1 iburst", "10.77.0.2 iburst")),
        ("grep -c '^pool' /etc/chrony/chrony.conf || true", both("0")),
        ("cat /etc/test/template", (&format!("{name} {address}"), "first-master of lab")),
        ("stat -c '%U:%G %a' /etc/test/template", ("daemon:adm 640", "root:daemon 600")),
        ("cat /etc/test/copy", ("data", "changed")),
        (
            "tr '\\0' ' ' </proc/$(systemctl show -p MainPID --value test.service)/cmdline",
            ("/bin/sleep infinity", "/bin/sleep 1000000"),
        ),
        ("systemctl is-enabled test.service", both("enabled")),
        (
            "openssl verify -CAfile /etc/ssl/certs/ca-certificates.crt /root/ca.crt /root/other.crt 2>/dev/null | grep OK",
            ("/root/ca.crt: OK", "/root/other.crt: OK"),
        ),
        (
            "systemctl show -p Environment --value kubelet | tr ' ' '\n' | grep ^HTTP_PROXY=",
            ("HTTP_PROXY=http://10.77.0.1:3128", "HTTP_PROXY=http://10.77.0.1:3129"),
        ),
        (
            "tr '\\0' '\\n' </proc/$(systemctl show -p MainPID --value containerd)/environ | grep ^HTTP_PROXY=",
            ("HTTP_PROXY=http://10.77.0.1:3128", "HTTP_PROXY=http://10.77.0.1:3129"),
        ),
        ("bash -lc 'echo $http_proxy'", ("http://10.77.0.1:3128", "http://10.77.0.1:3129")),
        ("bash -lc 'echo $no_proxy' | cut -d, -f1", (".example.org", ".example.net")),
        (
            "apt-config dump Acquire::http::Proxy",
            ("Acquire::http::Proxy \"http://10.77.0.1:3128\";", "Acquire::http::Proxy \"http://10.77.0.1:3129\";"),
        ),
        (
            "systemd-analyze cat-config systemd/journald.conf | grep -E '^(SystemMaxUse|MaxRetentionSec)=' | sort | xargs",
            ("MaxRetentionSec=7day SystemMaxUse=100M", "MaxRetentionSec=8day SystemMaxUse=50M"),
        ),
        ("dpkg-query -W -f '${Version}' own", both("2")),
        ("dpkg-query -W -f '${Version}' other 2>/dev/null || echo none", ("1", "none")),
        ("dpkg-query -W -f '${Version}' another 2>/dev/null || echo none", ("none", "1")),
        ("findmnt -no FSTYPE /data", both("ext4")),
    ] {
        assert_eq!(host.must(script).trim(), if changed { second } else { first }, "{script}");
    }
    host.must("grep -q \"^UUID=$(blkid -s UUID -o value /dev/loop7) /data\" /etc/fstab");
}

pub(crate) fn the_operating_system_is_set_up_changed_and_restored() {
    let host = Host::with_images();
    prepare(&host);
    let before = (host.listing(), host.must(STATE));
    let sshd = host.must("systemctl show -p MainPID --value ssh.service");
    host.configure(&every_item(&host, false));
    let plan = host.nodeinit("plan").exits(2);
    plan.says(&["set the time zone to Europe/Amsterdam", "create the user alice", "set the password hash of root"]);
    plan.says(&["run `/usr/sbin/sshd -t -f", "format /dev/loop7 with ext4, if it is empty"]);
    assert!(!plan.text().contains(HASH), "the plan shows a password hash");
    let up = host.up();
    up.says(&[&format!("{}.example.org is finished", host.name())]);
    everything_is_set(&host, false);
    assert_eq!(sshd, host.must("systemctl show -p MainPID --value ssh.service"), "sshd was restarted");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    let digests = host.digests("/etc");
    host.up().says(&["nothing to do"]);
    assert!(difference(&digests, &host.digests("/etc")).is_empty(), "a second up changed a file");

    changes_are_applied_and_mistakes_refused(&host);
    host.configure(&every_item(&host, false));
    host.up();
    everything_is_set(&host, false);

    a_reset_needs_the_disk(&host);
    host.nodeinit("reset --yes").exits(0);
    host.must("rm -rf /root/.kube /home/alice; sed -i '/^games:/d' /etc/passwd");
    host.must("losetup -d /dev/loop7");
    let after = host.must(STATE);
    assert_eq!(before.1, after);
    let left: Vec<_> = difference(&before.0, &host.listing())
        .into_iter()
        // The backups and caches of the system's own programs. `reset` removes the package `other`, but apt keeps its lists, dpkg its
        // database, and updates stay.
        .filter(|line| {
            ![
                // This test's.
                "/etc/nodeinit/conf.d/50-test.yaml",
                "/etc/passwd",
                "/etc/shadow",
                "/etc/group",
                "/etc/gshadow",
                "/etc/subuid",
                "/etc/subgid",
                "/etc/ssl/certs",
                "/var/cache/apt",
                "/var/lib/apt",
                "/var/lib/dpkg",
            ]
            .iter()
            .any(|path| line.contains(path))
        })
        .collect();
    assert!(left.is_empty(), "reset left {left:#?}");
}

pub(crate) fn the_setup_resumes_after_a_kill_at_every_step() {
    let host = Host::with_images();
    prepare(&host);
    host.add_failpoints();
    let before = host.must(STATE);
    host.configure(&every_item(&host, false));
    let (points, ended) = killed_at(&host, "up", "step-");
    ended.exits(0);
    for step in [
        "os-hosts",
        "os-proxy",
        "os-updates",
        "os-packages",
        "os-locale",
        "os-ipv", // Points have no digits.
        "os-users",
        "os-sshd",
        "os-disks",
        "os-files",
        "os-units",
    ] {
        for point in [format!("step-begin {step}"), format!("step-end {step}")] {
            assert!(points.lines().any(|line| line == point), "it was not killed at {point}:\n{points}");
        }
    }
    everything_is_set(&host, false);
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.nodeinit("reset --yes").exits(0);
    host.must("losetup -d /dev/loop7; sed -i '/^games:/d' /etc/passwd");
    assert_eq!(before, host.must(STATE));
}

pub(crate) fn each_machine_has_the_values_of_its_role_and_host() {
    const FOLDER: &str = "/root/clusters";
    let cluster = Cluster::with_images(1, 1);
    let (first, worker) = (cluster.first(), &cluster.workers[0]);
    let in_folder = |command: &str| first.run(&format!("cd {FOLDER} && nodeinit {command} --cluster lab.example.org"));
    first.must(&format!(
        "install -d {FOLDER}/clusters {FOLDER}/environments && cd {FOLDER}
        mv /etc/nodeinit/conf.d/10-machines.yaml clusters/lab.example.org.yaml
        mv /etc/nodeinit/config.yaml environments/defaults.yaml"
    ));
    let shared = first.must(&format!("cat {FOLDER}/environments/defaults.yaml"));
    let file = |path: &str, text: &str| first.put(&format!("{FOLDER}/{path}"), text);
    let keepalive = |value: u32| format!("sysctls: {{net.ipv4.tcp_keepalive_time: {value}}}");
    file(
        "environments/defaults.yaml",
        &format!(
            "os:\n  timezone: Europe/Amsterdam\n  messages: {{issue: No entry., motd: all}}\n  {}\n  hosts: {{machines: true}}\n{shared}",
            keepalive(1001)
        ),
    );
    file("environments/example.org.yaml", "os: {messages: {motd: \"${name} of example.org\"}}");
    file("roles/worker.yaml", &format!("os: {{timezone: Etc/UTC, {}}}", keepalive(1002)));
    let own = format!("hosts/{}.example.org.yaml", worker.name());
    file(&own, "os: {timezone: Asia/Tokyo, messages: {motd: \"${name}: reports\"}}");
    in_folder("config validate").exits(0);
    in_folder("plan").exits(2).says(&["set the time zone to Europe/Amsterdam"]);
    in_folder("up").exits(0);

    let has = |host: &Host, zone: &str, motd: &str, keepalive: &str| {
        for (script, expected) in [
            ("timedatectl show -p Timezone --value", zone),
            ("cat /etc/motd", motd),
            ("cat /etc/issue", "No entry."),
            ("sysctl -n net.ipv4.tcp_keepalive_time", keepalive),
        ] {
            assert_eq!(host.must(script).trim(), expected, "{script} on {}", host.name());
        }
    };
    has(first, "Europe/Amsterdam", &format!("{} of example.org", first.name()), "1001");
    has(worker, "Asia/Tokyo", &format!("{}: reports", worker.name()), "1002");
    let digests = || [first, worker].map(|host| host.digests("/etc"));
    let before = digests();
    in_folder("plan").exits(0).says(&["nothing to do"]);
    in_folder("up").exits(0).says(&["nothing to do"]);
    for (before, after) in before.iter().zip(&digests()) {
        assert!(difference(before, after).is_empty(), "a second up changed a file");
    }

    a_machine_is_added_and_removed(&cluster, &format!("{FOLDER}/clusters/lab.example.org.yaml"), &|| {
        in_folder("up").exits(0);
    });

    // What is shown is what applies there, and each value names its file.
    let shown = in_folder(&format!("config show --machine {}", worker.name())).exits(0).stdout;
    let line = |key: &str| shown.lines().find(|line| line.contains(key)).unwrap_or_default().to_owned();
    assert!(line("timezone:").contains("Asia/Tokyo") && line("timezone:").contains(&own), "{shown}");
    assert!(line("tcp_keepalive_time").contains("roles/worker.yaml:1:"), "{shown}");
    assert!(line("issue:").contains("environments/defaults.yaml:3:"), "{shown}");

    // Another value of one machine changes that machine only.
    file(&own, "os: {timezone: Asia/Seoul}");
    let plan = in_folder("plan").exits(2);
    plan.says(&[&format!("bring up {} as worker over SSH", worker.name())]);
    assert!(!plan.text().contains("os-"), "no step of the master changes: {}", plan.text());
    in_folder("up").exits(0);
    has(first, "Europe/Amsterdam", &format!("{} of example.org", first.name()), "1001");
    has(worker, "Asia/Seoul", &format!("{} of example.org", worker.name()), "1002");
    in_folder("plan").exits(0).says(&["nothing to do"]);
    worker.nodeinit("plan").exits(0).says(&["nothing to do"]);

    file(&own, "os: {timezone: \"a b\"}");
    in_folder("up").exits(78).says(&[&own, ":1:16: workers[0].os.timezone: "]);

    // An upgrade reads the configuration once, so that it prints a warning once. It may fail: the lab has not built every etcd.
    file(&own, "os: {timezone: Asia/Seoul}");
    file("environments/example.org.yaml", "secretsDelivery: user-data");
    for command in ["plan", "apply"] {
        let output = in_folder(&format!("upgrade {command} {}", version()));
        assert_eq!(output.text().matches("warning: ").count(), 1, "{command}: {}", output.text());
    }
}

/// `/etc/hosts` of each machine follows the configuration. The third machine does not exist: it would join on its own.
fn a_machine_is_added_and_removed(cluster: &Cluster, file: &str, up: &dyn Fn()) {
    let (first, third) = (cluster.first(), cluster.first().spare_address());
    let listed = |host: &Host, name: &str| {
        host.must(&format!("getent -s files hosts {name} | awk '{{print $1}}' | sort -u; true")).trim().to_owned()
    };
    let all_list = |address: &str| {
        for host in cluster.hosts() {
            assert_eq!(listed(host, "third"), address, "{}", host.name());
            for other in cluster.hosts() {
                assert_eq!(listed(host, other.name()), other.address(), "{}", host.name());
            }
        }
    };
    all_list("");
    let line = format!("- {{name: third, address: {third}, ssh: {{enabled: false}}}}");
    first.must(&format!("cp {file} /root/machines && echo '{line}' >>{file}"));
    up();
    all_list(&third);
    first.must(&format!("mv /root/machines {file}"));
    up();
    all_list("");
}

pub(crate) fn what_lets_users_log_in_stays() {
    let host = Host::with_images();
    let logs_in = || {
        let ssh = "ssh -i /root/ops -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR";
        assert_eq!(host.must(&format!("{ssh} ops@127.0.0.1 sudo -n id -un")).trim(), "root");
    };
    let reads = |file: &str| {
        let read = host.must("sshd -T | grep '^authorizedkeysfile '");
        assert!(read.split_whitespace().any(|word| word == file), "sshd does not read {file}: {read}");
    };

    // sshd reads root's key from a directory of the operator, and still does so after nodeinit has added its own.
    host.must(
        "set -e; install -d /etc/ssh/keys; mv /root/.ssh/authorized_keys /etc/ssh/keys/root; grep -q '^Include /etc/ssh/sshd_config.d' /etc/ssh/sshd_config
        echo 'AuthorizedKeysFile /etc/ssh/keys/%u' >>/etc/ssh/sshd_config; systemctl reload ssh; ssh-keygen -q -t ed25519 -N '' -C ops -f /root/ops",
    );
    let key = host.must("cat /root/ops.pub");
    let (alice, ops) =
        (format!("{{name: alice, keys: [{KEY}]}}"), format!("{{name: ops, keys: [{}], sudo: true}}", key.trim()));
    host.configure(&format!("os: {{users: [{alice}, {ops}]}}\n"));
    host.up();
    reads("/etc/ssh/keys/%u");
    reads("/etc/ssh/authorized_keys.d/%u");
    logs_in();
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);

    // The user who has logged in to run nodeinit can do so again.
    host.configure("os: {timezone: Etc/UTC}\n");
    let stays = || {
        host.must("[ -s /etc/ssh/authorized_keys.d/ops ] && [ -s /etc/sudoers.d/nodeinit-ops ]");
        host.must("[ ! -e /etc/ssh/authorized_keys.d/alice ] && ! getent passwd alice");
        reads("/etc/ssh/keys/%u");
        reads("/etc/ssh/authorized_keys.d/%u");
        logs_in();
    };
    host.run("SUDO_USER=ops nodeinit up").exits(0).says(&["kept: nodeinit logs in as ops"]);
    stays();
    host.run("SUDO_USER=ops nodeinit plan").exits(0).says(&["nothing to do"]);
    host.run("SUDO_USER=ops nodeinit reset --yes").exits(0);
    stays();
}

pub(crate) fn the_disk_of_etcd_is_emptied_by_a_reset_and_used_again() {
    let host = Host::with_images();
    prepare(&host);
    host.must("truncate -s 640M /var/tmp/os-disk; losetup -c /dev/loop7");
    host.configure("os: {disks: [{device: /dev/loop7, mount: /var/lib/etcd}]}\n");
    let lists = "mkdir -p /mnt; mount /dev/loop7 /mnt; ls /mnt; umount /mnt";
    for _ in 0..2 {
        host.up();
        host.must("findmnt /var/lib/etcd && [ -d /var/lib/etcd/member ]");
        host.nodeinit("plan").exits(0).says(&["nothing to do"]);
        host.nodeinit("reset --yes").exits(0);
        assert_eq!(host.must(lists).trim(), "lost+found");
    }
    host.must("losetup -d /dev/loop7");
}

/// sfdisk is killed before it writes the protective MBR, and nodeinit with it. The table has no partitions for which the lab has devices.
fn a_partition_table_is_interrupted(host: &Host) {
    let program = "/usr/local/sbin/sfdisk";
    host.put(
        program,
        "#!/bin/sh\n/usr/sbin/sfdisk \"$@\" && [ \"$1\" = --quiet ] && dd if=/dev/zero of=/dev/loop7 bs=512 count=1 status=none && kill -9 $PPID",
    );
    host.must(&format!("chmod 755 {program}"));
    host.configure(&every_item(host, false).replace("mount: /data}", "partitions: [{mount: /data}]}"));
    assert_ne!(host.nodeinit("up").code, 0);
    let signatures = "wipefs -n --noheadings -O TYPE /dev/loop7 | sort -u | xargs";
    assert_eq!(host.must(&format!("rm {program}; {signatures}")).trim(), "gpt");
    host.nodeinit("plan").exits(2).says(&["partition /dev/loop7, if it is empty"]);
    host.nodeinit("up").exits(75).says(&["/dev/loop7p1 does not exist"]);
    assert_eq!(host.must(signatures).trim(), "PMBR gpt");
    host.must(EMPTY);
}

/// Neither a disk that somebody unmounted nor one that is in use is forgotten.
fn a_reset_needs_the_disk(host: &Host) {
    host.must("touch /data/theirs && umount /data");
    let unmounted = "/dev/loop7, a disk of `os.disks`, is not mounted at /data: its data would stay";
    host.nodeinit("reset --yes").exits(1).says(&[unmounted, "`mount /data`, then run the same command again"]);
    host.must("systemctl is-active kubelet && mount /data");
    host.must("systemd-run -q --unit=user --working-directory=/data tail -f /dev/null");
    host.nodeinit("reset --yes").exits(1).says(&["cannot unmount /data: tail ("]);
    host.must("systemctl stop user && [ -e /data/theirs ] && ! grep /data /etc/fstab");
}

/// A repository that apt reads from a directory, and an older version of one package, which is not in it.
const REPOSITORY: &str = "set -e; mkdir -p /root/repo; cd /root/repo
    package() { # NAME VERSION: prints its entry
        mkdir -p $1-$2/DEBIAN
        printf '%s\\n' \"Package: $1\" \"Version: $2\" 'Architecture: all' 'Maintainer: test <test@example.org>' 'Description: test' >$1-$2/DEBIAN/control
        dpkg-deb --build $1-$2 $1-$2.deb >/dev/null
        cat $1-$2/DEBIAN/control; echo Filename: ./$1-$2.deb; echo Size: $(stat -c %s $1-$2.deb)
        echo SHA256: $(sha256sum $1-$2.deb | cut -d' ' -f1); echo
    }
    package own 1 >/dev/null; (package own 2; package other 1; package another 1) >Packages
    echo 'deb [trusted=yes] file:/root/repo ./' >/etc/apt/sources.list";

pub(crate) fn a_mirror_that_does_not_answer_is_named_and_dpkg_repaired() {
    let host = Host::with_images();
    let mirror = "http://10.77.0.99/debian";
    // Nothing answers, not even with a refusal, as behind a firewall.
    host.must(&format!(
        "echo 'deb {mirror} bookworm main' >/etc/apt/sources.list; iptables -A OUTPUT -d 10.77.0.99 -j DROP"
    ));
    host.configure("os: {packages: {install: [own]}}\n");
    let failed = host.nodeinit("up").exits(75);
    failed.says(&[&format!("check that apt-get reaches its mirrors ({mirror})"), "apt-get -q -o=Acquire::Retries=1"]);
    assert!(failed.seconds > 25.0, "it gave up before its deadline, after {:.1} s", failed.seconds);
    host.must("iptables -D OUTPUT -d 10.77.0.99 -j DROP");

    host.must(REPOSITORY);
    // What dpkg leaves if it is killed.
    host.must("touch /var/lib/dpkg/updates/0001");
    assert!(host.run("apt-get -qy install own 2>&1").text().contains("dpkg --configure -a"));
    host.nodeinit("phase run os-packages").exits(0);
    host.must("dpkg-query --show own");
    host.nodeinit("phase run os-packages").exits(0).says(&["nothing to do"]);
    host.nodeinit("reset --yes").exits(0);
    assert_ne!(host.run("dpkg-query --show own").code, 0, "reset left the package");
}

/// Changes values, leaves out others, and writes some that are refused before anything changes.
fn changes_are_applied_and_mistakes_refused(host: &Host) {
    host.configure(&every_item(host, true));
    host.up().says(&[&format!("{}.example.net has changed", host.name())]);
    everything_is_set(host, true);
    host.must("! getent passwd news");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.configure(&every_item(host, true).replace("  keymap: fr\n", "").replace(", install: [another]", ""));
    host.up();
    host.must("! grep -q XKBLAYOUT=fr /etc/default/keyboard && ! dpkg-query -W another");

    let drop_in = host.must("cat /etc/ssh/sshd_config.d/00-nodeinit.conf");
    host.configure(&every_item(host, false).replace("MaxAuthTries: 3", "NoSuchOption: 3"));
    host.nodeinit("up").exits(1).says(&["NoSuchOption", "sshd rejects the options"]);
    assert_eq!(drop_in, host.must("cat /etc/ssh/sshd_config.d/00-nodeinit.conf"), "sshd's options changed");
    let locked = "masters: [{name: NAME, address: ADDRESS}]\nos: {sshd: {PermitRootLogin: \"no\"}}\n";
    host.configure(&locked.replace("NAME", host.name()).replace("ADDRESS", host.address()));
    host.nodeinit("up").exits(78).says(&["os.sshd.PermitRootLogin: locks nodeinit out"]);
    disks_with_data_are_refused(host);
    host.configure(&every_item(host, false).replace("device: /dev/loop7", "device: /root/source"));
    host.nodeinit("up").exits(1).says(&["os.disks: /root/source is not a block device"]);
    a_partition_table_is_interrupted(host);
    assert!(host.must(&format!("cat {CA}")).contains("CERTIFICATE"), "the cluster is still there");
}

/// Leaves the disk empty.
fn disks_with_data_are_refused(host: &Host) {
    host.must(&format!("umount /data && {EMPTY} && mkfs.ext4 -q -L theirs /dev/loop7"));
    host.configure(&every_item(host, false).replace("mount: /data}", "mount: /data, filesystem: xfs}"));
    host.nodeinit("up").exits(1).says(&["/dev/loop7 is not empty: it has ext4", "never formats a disk with data"]);
    host.configure(&every_item(host, false));
    host.nodeinit("up").exits(1).says(&["/dev/loop7 is not empty: it has ext4"]);
    assert_eq!(host.must("blkid -s LABEL -o value /dev/loop7").trim(), "theirs");

    // Encrypted data looks like this. Not at the start, where a few random bytes might be a signature.
    host.must(&format!("{EMPTY} && dd if=/dev/urandom of=/dev/loop7 bs=1K seek=900 count=20 conv=notrunc status=none"));
    let before = host.must("sha256sum /dev/loop7");
    assert_eq!(host.must("wipefs --no-act --noheadings /dev/loop7").trim(), "", "it has a signature");
    host.nodeinit("up").exits(1).says(&["/dev/loop7 is not empty: it has data without a known signature"]);
    assert_eq!(before, host.must("sha256sum /dev/loop7"), "the disk was changed");
    host.must(EMPTY);
}
