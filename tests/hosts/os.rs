//! The settings of `os`: set, verified with the system's own programs, changed, and undone.

use crate::kill::killed_at;
use nodeinit_tests::{Cluster, Host, difference, version};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo alice";
/// The password is `test`.
const HASH: &str = "$6$abcdefgh$3rj1vTLX64btReFsM4MQ22otcD40l7vbtw7qCyr0dxc4kxNmgx53xVM8gWiLYbCqTHTbXFaVFU7ZT28pnvdyu0";
const CA: &str = "/etc/kubernetes/pki/ca.crt";

/// Returns a configuration with every item that the lab's Debian supports.
fn every_item(ca: &str) -> String {
    let ca: String = ca.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "os:
  timezone: Europe/Amsterdam
  locale: C.UTF-8
  keymap: de
  hostName: machine
  domain: example.org
  hosts: {{machines: true, extra: {{db.example.org: 10.77.0.1}}}}
  dns: {{servers: [10.77.0.1], search: [example.org]}}
  messages: {{issue: No entry., motd: \"${{name}}: ${{role}} of ${{cluster}}\", finished: \"${{fullName}} is finished\"}}
  sysctls: {{net.ipv4.tcp_keepalive_time: 1234}}
  openFiles: 65536
  users:
  - {{name: alice, keys: [{KEY}], groups: [adm], sudo: true, shell: /bin/bash}}
  - {{name: games, remove: true}}
  rootPasswordHash: {HASH}
  sshd: {{PasswordAuthentication: \"no\", MaxAuthTries: 3}}
  timeServers: [10.77.0.1]
  files:
  - {{path: /etc/test/template, content: \"${{name}} ${{address}}\", template: true, mode: 0640, owner: \"daemon:adm\"}}
  - {{path: /etc/test/copy, source: /root/source, sha256: 3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7}}
  units:
  - {{name: test.service, content: \"[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\"}}
  trustedCAs:
  - |
{ca}  logs: {{journalMaxSize: 100M, journalMaxDays: 7}}
  disks: [{{device: /dev/loop7, mount: /data}}]
"
    )
}

/// What the machine is like, for a comparison after `reset`.
const STATE: &str = "readlink -f /etc/localtime; hostname; cat /etc/hosts /etc/resolv.conf; getent passwd alice || true
    sshd -T | sort | sha256sum; getent shadow root | cut -d: -f2; sysctl net.ipv4.tcp_keepalive_time; systemctl is-enabled test.service 2>&1 || true
    grep -c . /etc/ssl/certs/ca-certificates.crt; mountpoint -q /data && echo mounted || true";

fn prepare(host: &Host) {
    host.must(
        "set -e; printf data >/root/source; [ -e /dev/loop7 ] || mknod /dev/loop7 b 7 7
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
    host.must("openssl req -x509 -newkey ed25519 -nodes -keyout /root/ca.key -out /root/ca.crt -subj /CN=test -days 2 2>/dev/null");
}

fn everything_is_set(host: &Host) {
    let (name, address) = (host.name(), host.address());
    for (script, expected) in [
        ("timedatectl show -p Timezone --value", "Europe/Amsterdam"),
        ("localectl status | sed -n 's/.*System Locale: //p'", "LANG=C.UTF-8"),
        (". /etc/default/keyboard; echo $XKBLAYOUT", "de"),
        ("hostnamectl --static", name),
        ("hostname", name),
        ("hostname -f", &format!("{name}.example.org")),
        ("getent hosts db.example.org | awk '{print $1}'", "10.77.0.1"),
        ("awk '/^nameserver/ {print $2; exit}' /etc/resolv.conf", "10.77.0.1"),
        ("cat /etc/motd", &format!("{name}: first-master of lab")),
        ("cat /etc/issue", "No entry."),
        ("sysctl -n net.ipv4.tcp_keepalive_time", "1234"),
        ("systemctl show -p DefaultLimitNOFILE --value", "65536"),
        ("getent passwd alice | cut -d: -f7", "/bin/bash"),
        ("id -Gn alice | tr ' ' '\\n' | grep -x adm", "adm"),
        ("sudo -u alice sudo -n id -un", "root"),
        ("stat -c '%U %a' /etc/ssh/authorized_keys.d/alice", "root 644"),
        ("sshd -T -C user=alice | awk '/^authorizedkeysfile/ {print $NF}'", "/etc/ssh/authorized_keys.d/%u"),
        ("getent passwd games || echo none", "none"),
        ("getent shadow root | cut -d: -f2", HASH),
        (
            "sshd -T | grep -E '^(passwordauthentication|maxauthtries)' | sort | xargs",
            "maxauthtries 3 passwordauthentication no",
        ),
        ("grep -c '^server 10.77.0.1 iburst' /etc/chrony/chrony.conf", "1"),
        ("grep -c '^pool' /etc/chrony/chrony.conf || true", "0"),
        ("cat /etc/test/template", &format!("{name} {address}")),
        ("stat -c '%U:%G %a' /etc/test/template", "daemon:adm 640"),
        ("cat /etc/test/copy", "data"),
        ("systemctl is-active test.service", "active"),
        ("systemctl is-enabled test.service", "enabled"),
        ("openssl verify -CAfile /etc/ssl/certs/ca-certificates.crt /root/ca.crt", "/root/ca.crt: OK"),
        ("findmnt -no FSTYPE /data", "ext4"),
    ] {
        assert_eq!(host.must(script).trim(), expected, "{script}");
    }
    host.must(&format!("grep -qF '{KEY}' /etc/ssh/authorized_keys.d/alice"));
    host.must("grep -q \"^UUID=$(blkid -s UUID -o value /dev/loop7) /data\" /etc/fstab");
}

pub(crate) fn the_operating_system_is_set_up_changed_and_restored() {
    let host = Host::with_images();
    prepare(&host);
    let before = (host.listing(), host.must(STATE));
    let sshd = host.must("systemctl show -p MainPID --value ssh.service");
    let ca = host.must("cat /root/ca.crt");
    host.configure(&every_item(&ca));
    let plan = host.nodeinit("plan").exits(2);
    plan.says(&["set the time zone to Europe/Amsterdam", "create the user alice", "set the password hash of root"]);
    plan.says(&["run `/usr/sbin/sshd -t -f", "format /dev/loop7 with ext4, if it is empty"]);
    assert!(!plan.text().contains(HASH), "the plan shows a password hash");
    let up = host.up();
    up.says(&[&format!("{}.example.org is finished", host.name())]);
    everything_is_set(&host);
    assert_eq!(sshd, host.must("systemctl show -p MainPID --value ssh.service"), "sshd was restarted");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    let digests = host.digests("/etc");
    host.up().says(&["nothing to do"]);
    assert!(difference(&digests, &host.digests("/etc")).is_empty(), "a second up changed a file");

    changes_are_applied_and_mistakes_refused(&host, &ca);
    host.configure(&every_item(&ca));
    host.up();
    everything_is_set(&host);

    a_reset_needs_the_disk(&host);
    host.nodeinit("reset --yes").exits(0);
    host.must("rm -rf /root/.kube /home/alice; sed -i '/^games:/d' /etc/passwd");
    host.must("losetup -d /dev/loop7");
    let after = host.must(STATE);
    assert_eq!(before.1, after);
    let left: Vec<_> = difference(&before.0, &host.listing())
        .into_iter()
        // The backups and caches of the system's own programs.
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
    host.configure(&every_item(&host.must("cat /root/ca.crt")));
    let (points, ended) = killed_at(&host, "up", "step-");
    ended.exits(0);
    for step in ["os-locale", "os-hosts", "os-users", "os-sshd", "os-disks", "os-files", "os-units"] {
        for point in [format!("step-begin {step}"), format!("step-end {step}")] {
            assert!(points.lines().any(|line| line == point), "it was not killed at {point}:\n{points}");
        }
    }
    everything_is_set(&host);
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
            "os:\n  timezone: Europe/Amsterdam\n  messages: {{issue: No entry., motd: all}}\n  {}\n{shared}",
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
fn a_partition_table_is_interrupted(host: &Host, ca: &str) {
    let program = "/usr/local/sbin/sfdisk";
    host.put(
        program,
        "#!/bin/sh\n/usr/sbin/sfdisk \"$@\" && [ \"$1\" = --quiet ] && dd if=/dev/zero of=/dev/loop7 bs=512 count=1 status=none && kill -9 $PPID",
    );
    host.must(&format!("chmod 755 {program}"));
    host.configure(&every_item(ca).replace("mount: /data}", "partitions: [{mount: /data}]}"));
    assert_ne!(host.nodeinit("up").code, 0);
    let signatures = "wipefs -n --noheadings -O TYPE /dev/loop7 | sort -u | xargs";
    assert_eq!(host.must(&format!("rm {program}; {signatures}")).trim(), "gpt");
    host.nodeinit("plan").exits(2).says(&["partition /dev/loop7, if it is empty"]);
    host.nodeinit("up").exits(75).says(&["/dev/loop7p1 does not exist"]);
    assert_eq!(host.must(signatures).trim(), "PMBR gpt");
    host.must("wipefs -qa /dev/loop7");
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

/// A repository of one package, which apt reads from a directory.
const REPOSITORY: &str = "set -e; mkdir -p /root/repo/own/DEBIAN; cd /root/repo
    printf '%s\\n' 'Package: own' 'Version: 1' 'Architecture: all' 'Maintainer: test <test@example.org>' 'Description: test' >own/DEBIAN/control
    dpkg-deb --build own own.deb >/dev/null
    (cat own/DEBIAN/control; echo Filename: ./own.deb; echo Size: $(stat -c %s own.deb); echo SHA256: $(sha256sum own.deb | cut -d' ' -f1)) >Packages
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
fn changes_are_applied_and_mistakes_refused(host: &Host, ca: &str) {
    let changed = every_item(ca)
        .replace("timezone: Europe/Amsterdam", "timezone: Etc/UTC")
        .replace("keymap: de\n", "ipv6: keep\n")
        .replace("MaxAuthTries: 3", "MaxAuthTries: 4")
        .replace("No entry.", "Closed.");
    host.configure(&changed);
    host.up();
    assert_eq!(host.must("timedatectl show -p Timezone --value").trim(), "Etc/UTC");
    assert_eq!(host.must("cat /etc/issue").trim(), "Closed.");
    assert!(host.must("sshd -T").contains("maxauthtries 4"));
    host.must("! grep -q XKBLAYOUT=de /etc/default/keyboard");

    let drop_in = host.must("cat /etc/ssh/sshd_config.d/00-nodeinit.conf");
    host.configure(&every_item(ca).replace("MaxAuthTries: 3", "NoSuchOption: 3"));
    host.nodeinit("up").exits(1).says(&["NoSuchOption", "sshd rejects the options"]);
    assert_eq!(drop_in, host.must("cat /etc/ssh/sshd_config.d/00-nodeinit.conf"), "sshd's options changed");
    let locked = "masters: [{name: NAME, address: ADDRESS}]\nos: {sshd: {PermitRootLogin: \"no\"}}\n";
    host.configure(&locked.replace("NAME", host.name()).replace("ADDRESS", host.address()));
    host.nodeinit("up").exits(78).says(&["os.sshd.PermitRootLogin: locks nodeinit out"]);
    host.must("umount /data && wipefs -qa /dev/loop7 && mkfs.ext4 -q -L theirs /dev/loop7");
    host.configure(&every_item(ca).replace("mount: /data}", "mount: /data, filesystem: xfs}"));
    host.nodeinit("up").exits(1).says(&["/dev/loop7 is not empty: it has ext4", "never formats a disk with data"]);
    host.configure(&every_item(ca));
    host.nodeinit("up").exits(1).says(&["/dev/loop7 is not empty: it has ext4"]);
    assert_eq!(host.must("blkid -s LABEL -o value /dev/loop7").trim(), "theirs");
    host.must("wipefs -qa /dev/loop7");
    host.configure(&every_item(ca).replace("device: /dev/loop7", "device: /root/source"));
    host.nodeinit("up").exits(1).says(&["os.disks: /root/source is not a block device"]);
    a_partition_table_is_interrupted(host, ca);
    assert!(host.must(&format!("cat {CA}")).contains("CERTIFICATE"), "the cluster is still there");
}
