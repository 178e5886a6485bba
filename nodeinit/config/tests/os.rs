//! The rules of `os`: what is refused, and why.

use nodeinit_config::{Layer, load};

const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

/// Returns the problems of a configuration.
fn problems(yaml: &str) -> String {
    match load(&[Layer::file("cluster.yaml", format!("{HEAD}{yaml}"))]) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn sshd_options_that_lock_nodeinit_out_are_refused() {
    let masters = "masters: [{name: m1, address: 10.0.0.11}, {name: m2, address: 10.0.0.12}]\n";
    for (user, option, is_refused) in [
        ("root", "PermitRootLogin: \"no\"", true),
        ("root", "permitRootLogin: \"no\"", true),
        ("root", "PERMITROOTLOGIN: \"no\"", true),
        ("root", "PermitRootLogin: prohibit-password", false),
        ("debian", "PermitRootLogin: \"no\"", false),
        ("debian", "PubkeyAuthentication: \"no\"", true),
        ("debian", "AllowUsers: alice debian", false),
        ("debian", "AllowUsers: alice", true),
        ("debian", "DenyUsers: debian@10.0.0.0/8", true),
        ("debian", "AllowGroups: wheel", true),
        ("debian", "AuthenticationMethods: password", true),
        ("debian", "AuthenticationMethods: publickey", false),
        ("debian", "AuthorizedKeysFile: /etc/keys", true),
        ("debian", "DSAAuthentication: \"no\"", true),
        ("debian", "UsePAM: \"no\"", true),
        ("debian", "RevokedKeys: /missing", true),
        ("debian", "AddressFamily: inet6", true),
        ("debian", "MaxAuthTries: 0", true),
        ("debian", "Ciphers: \"-aes*,chacha*\"", true),
        ("debian", "PubkeyAuthentication: '\"no\"'", true),
        ("debian", "PubkeyAuthentication: '= no'", true),
        ("debian", "DenyUsers: deb*", true),
        ("debian", "Ciphers: aes128-cbc", true),
        ("debian", "Ciphers: \"aes128-cbc,aes256-ctr\"", false),
        ("debian", "KexAlgorithms: \"-diffie-hellman-group14-sha256\"", false),
        ("debian", "AllowTcpForwarding: \"no\"", true),
        ("debian", "AllowTcpForwarding: remote", false),
        ("debian", "PermitListen: none", true),
        ("debian", "PermitListen: \"8080\"", true),
        ("debian", "PermitListen: any", false),
        ("debian", "PermitListen: \"localhost:*\"", true),
        ("debian", "PermitListen: \"8080 127.0.0.1:*\"", false),
        ("debian", "PermitOpen: none", false),
        ("debian", "LoginGraceTime: 5", true),
        ("debian", "LoginGraceTime: 9s", true),
        ("debian", "LoginGraceTime: 0", false),
        ("debian", "LoginGraceTime: 10", false),
        ("debian", "LoginGraceTime: 1m", false),
        ("debian", "Match: all", true),
        ("debian", "Port: 2222", true),
        ("debian", "PasswordAuthentication: \"no\"", false),
    ] {
        let text = problems(&format!("{masters}ssh: {{user: {user}}}\nos: {{sshd: {{{option}}}}}\n"));
        assert_eq!(!text.is_empty(), is_refused, "{user} {option}: {text}");
        assert!(text.is_empty() || text.contains("cluster.yaml:5:"), "{text}");
    }
    let bastion = "bastion: {name: gate, network: 10.0.0.0/24}\n";
    let text = problems(&format!("{masters}{bastion}os: {{sshd: {{AllowTcpForwarding: remote}}}}\n"));
    assert!(text.contains("os.sshd.AllowTcpForwarding"), "a jump host forwards in the other direction: {text}");
    let text = problems(&format!("{masters}{bastion}os: {{sshd: {{PermitOpen: none}}}}\n"));
    assert!(text.contains("os.sshd.PermitOpen"), "a jump host opens connections to the other machines: {text}");
    let jump = format!("{masters}{bastion}ssh: {{user: nodeinit, jumpHost: {{address: 10.0.0.1, user: debian}}}}\n");
    let text = problems(&format!("{jump}os: {{sshd: {{AllowUsers: nodeinit}}}}\n"));
    assert!(text.contains("logs in as debian and nodeinit with a key"), "{text}");
    assert_eq!(problems(&format!("{jump}os: {{sshd: {{AllowUsers: debian nodeinit}}}}\n")), "");
    for (section, users) in [("roles: {worker: ", "nodeinit"), ("roles: {bastion: ", "debian")] {
        let of = |users: &str| problems(&format!("{jump}{section}{{os: {{sshd: {{AllowUsers: {users}}}}}}}}}\n"));
        assert_eq!(of(users), "", "{section}");
        assert!(of("alice").contains(&format!("logs in as {users} with a key")), "{}", of("alice"));
    }
    let text = problems(&format!("{jump}os: {{users: [{{name: debian, remove: true}}]}}\n"));
    assert!(text.contains("the machine needs the user debian for logins"), "{text}");
    let own = masters.replace("10.0.0.12}", "10.0.0.12, ssh: {user: root}}");
    let text = problems(&format!("{own}ssh: {{user: debian}}\nos: {{sshd: {{PermitRootLogin: \"no\"}}}}\n"));
    assert!(text.contains("logs in as debian and root"), "each machine can have its own user: {text}");
    let text = problems("os: {ipv6: \"off\"}\nmasters: [{name: m1, address: \"fd00::11\"}]\n");
    assert!(text.contains("masters[0].address is an IPv6 address"), "{text}");
    let text = problems("os: {sshd: {PermitRootLogin: \"no\"}}\n");
    assert_eq!(text, "", "a worker does not know the user");
}

#[test]
fn wrong_values_name_the_key_and_the_fix() {
    for (yaml, expected) in [
        ("timezone: \"Europe Berlin\"", "os.timezone: \"Europe Berlin\" is not a time zone"),
        ("rootPasswordHash: hunter2", "os.rootPasswordHash: not a password hash"),
        ("users: [{name: a}, {name: a}]", "os.users[1].name: a is already set in os.users[0].name"),
        ("users: [{name: root, remove: true}]", "os.users[0].remove: the machine needs the user root"),
        ("users: [{name: sshd, remove: true}]", "os.users[0].remove: the machine needs the user sshd"),
        ("files: [{path: /etc/sudoers.d/x, content: x}]", "os.files[0].path: other programs"),
        ("files: [{path: /home/a/.ssh/authorized_keys, content: x}]", "hint: use `os.users[].keys`"),
        ("files: [{path: /etc/systemd/system/kubelet.service, content: x}]", "hint: use `kubelet.config`"),
        (
            "files: [{path: /etc/systemd/system/kubelet.service.d/20-nodeinit.conf, content: x}]",
            "a name without `nodeinit`",
        ),
        (
            "files: [{path: /etc/systemd/system/kubelet.service.d/10-kubeadm.conf, content: x}]",
            "os.files[0].path: other",
        ),
        ("files: [{path: /usr/bin/kubelet, content: x}]", "hint: use `artifacts`"),
        ("files: [{path: /etc/sysctl.d/99-nodeinit.conf, content: x}]", "hint: use a name without `nodeinit`"),
        ("files: [{path: /etc/containerd/config.toml, content: x}]", "`containerRuntime.manage: false`"),
        ("messages: {issue: a}, files: [{path: /etc/issue, content: x}]", "hint: use `os.messages.issue` only"),
        ("messages: {motd: a}, files: [{path: /etc/motd, content: x}]", "hint: use `os.messages.motd` only"),
        ("timeServers: [a], files: [{path: /etc/chrony/chrony.conf, content: x}]", "hint: use `os.timeServers` only"),
        ("locale: C.UTF-8, files: [{path: /etc/default/locale, content: x}]", "hint: use `os.locale` only"),
        ("timezone: Etc/UTC, files: [{path: /etc/timezone, content: x}]", "hint: use `os.timezone` only"),
        ("keymap: us, files: [{path: /etc/vconsole.conf, content: x}]", "hint: use `os.keymap` only"),
        ("timeServers: [\"ntp.example.org:123\"]", "os.timeServers[0]: \"ntp.example.org:123\" is not a DNS name"),
        ("trustedCAs: [/etc/ssl/ca.crt]", "os.trustedCAs[0]: \"/etc/ssl/ca.crt\" is not a certificate as PEM"),
        ("units: [{name: ssh.service, enabled: false}]", "os.units[0].name: the machine"),
        ("disks: [{device: /dev/vdb, mount: /home}]", "os.disks[0].mount: a disk there would hide"),
        ("disks: [{device: /dev/vdb, mount: /data/}]", "os.disks[0].mount: not a plain path"),
        ("disks: [{device: /dev/vdb}]", "os.disks[0]: needs one of `mount`, `partitions` and `volumeGroup`"),
        ("disks: [{device: /dev/vdb, mount: /a, volumeGroup: vg}]", "os.disks[0]: needs one of"),
        ("disks: [{device: /dev/vdb, volumeGroup: vg}]", "os.disks[0].volumeGroup: not in `os.volumeGroups`"),
        ("disks: [{device: /dev/vdb, partitions: [{size: 1G}]}]", "os.disks[0].partitions[0]: needs either `mount`"),
        (
            "disks: [{device: /dev/vdb, partitions: [{mount: /a}, {mount: /b}]}]",
            "partitions[0]: needs a size: only the last one",
        ),
        (
            "disks: [{device: /dev/vdb, partitions: [{size: 1G, mount: /a}, {mount: /a}]}]",
            "partitions[1].mount: /a is already set",
        ),
        (
            "disks: [{device: /dev/vdb, mount: /a}], volumeGroups: [{name: vg}]",
            "os.volumeGroups[0].name: no disk and no partition",
        ),
        ("files: [{path: /a}]", "os.files[0]: needs either `content` or `source`"),
        ("files: [{path: /a, content: x, source: /b}]", "os.files[0]: needs either `content` or `source`"),
        ("files: [{path: /a, source: \"https://x/y\"}]", "`source` and `sha256` need each other"),
        ("files: [{path: /a, content: x, mode: 0888}]", "os.files[0].mode: \"0888\" is not a file mode"),
        ("files: [{path: /a, content: \"${host}\", template: true}]", "unknown placeholder `${host}`"),
        ("messages: {motd: \"${host}\"}", "known placeholders: ${name}, ${fullName}"),
        ("dns: {servers: [a.example.org]}", "os.dns.servers[0]: \"a.example.org\" is not an IP address"),
        ("ipv6: \"no\"", "os.ipv6: unknown value"),
        ("hostname: machine", "did you mean `hostName`?"),
    ] {
        let text = problems(&format!("os: {{{yaml}}}\n"));
        assert!(
            text.contains(expected) && text.contains("cluster.yaml:3:") && !text.contains("hunter2"),
            "{yaml}: {text}"
        );
    }
    let text = problems("os: {ipv6: \"off\"}\nnetwork: {podCIDR: \"fd00:1::/56\", serviceCIDR: \"fd00:2::/112\"}\n");
    assert!(text.contains("network.podCIDR is an IPv6 network"), "{text}");
}

#[test]
fn a_file_that_no_other_step_writes_is_accepted() {
    for path in [
        "/etc/issue",
        "/etc/motd",
        "/etc/chrony.conf",
        "/etc/locale.conf",
        "/etc/timezone",
        "/etc/systemd/system/kubelet.service.d/20-own.conf",
        "/etc/sysctl.d/99-own.conf",
        "/opt/nodeinit/file",
    ] {
        assert_eq!(problems(&format!("os: {{files: [{{path: {path}, content: x}}]}}\n")), "", "{path}");
    }
    let own = "containerRuntime: {manage: false}\nos: {files: [{path: /etc/containerd/config.toml, content: x}]}\n";
    assert_eq!(problems(own), "");
    let program = "artifacts: {source: /opt/k, binaries: [{path: tool, to: /usr/local/bin/tool}]}\n\
                   os: {files: [{path: /usr/local/bin/tool, content: x}]}\n";
    assert!(problems(program).contains("hint: use `artifacts.binaries` only"), "{}", problems(program));
}

#[test]
fn rules_apply_to_the_merged_values_and_name_the_place_of_the_override() {
    let head = "masters: [{name: m1, address: 10.0.0.11, OS}]\nworkers: [{name: w1}]\n";
    for (own, rest, expected) in [
        ("os: {swap: keep}", "", "cluster.yaml:3:53: masters[0].os.swap: the kubelet refuses to start"),
        ("os: {swap: keep}", "kubelet: {config: {failSwapOn: false}}", ""),
        ("labels: {}", "roles: {worker: {os: {swap: keep}}}", "cluster.yaml:5:29: roles.worker.os.swap: the kubelet"),
        (
            "labels: {}",
            "roles: {bastion: {os: {users: [{name: a}, {name: a}]}}}",
            "roles.bastion.os.users[1].name: a is already set in roles.bastion.os.users[0].name",
        ),
        (
            "labels: {}",
            "roles: {bastion: {os: {swap: keep}}}",
            "cluster.yaml:5:30: roles.bastion.os.swap: only nodes use this key",
        ),
        (
            "labels: {}",
            "bastion: {name: gate, network: 10.1.0.0/24, os: {modules: [ip_vs]}}",
            "cluster.yaml:5:59: bastion.os.modules: only nodes use this key",
        ),
        (
            "os: {timezone: Etc/UTC}",
            "os: {swap: keep}\nroles: {master: {os: {openFiles: 4096}}}",
            "cluster.yaml:5:12: os.swap: ",
        ),
        ("os: {openFiles: 4096}", "roles: {master: {os: {swap: keep}}}", "cluster.yaml:5:29: roles.master.os.swap: "),
        ("os: {sshd: {PermitRootLogin: \"no\"}}", "", "masters[0].os.sshd.PermitRootLogin: locks nodeinit out"),
    ] {
        let text = problems(&format!("{}{rest}\n", head.replace("OS", own)));
        assert!(text.contains(expected) && text.is_empty() == expected.is_empty(), "{own} {rest}: {text}");
        assert!(text.is_empty() || text.contains("has 1 problem\n"), "reported once: {text}");
    }
}

#[test]
fn a_worker_receives_the_addresses_of_all_machines_for_its_hosts_file() {
    let text = "os: {hosts: {machines: true}}\nmasters: [{name: m1, address: 10.0.0.11}]\n\
                workers: [{name: w1, address: 10.0.0.21}, {name: w2.example.org, address: 10.0.0.22}]\n";
    let loaded = load(&[Layer::file("cluster.yaml", format!("{HEAD}{text}"))]).unwrap();
    let trust = nodeinit_config::Trust {
        endpoints: vec!["10.0.0.11:6443".into()],
        ca_certificate: nodeinit_config::format::PEM_CERTIFICATE.example.into(),
        ca_pin: format!("sha256:{}", "0".repeat(64)),
    };
    let own = loaded.worker_config("w1", &trust).unwrap();
    let extra = load(&[Layer::file("config.yaml", own)]).unwrap().cluster.os.hosts.extra;
    let names: Vec<_> = extra.iter().map(|(name, address)| format!("{name}={address}")).collect();
    assert_eq!(names, ["m1=10.0.0.11", "w1=10.0.0.21", "w2.example.org=10.0.0.22"]);
}

#[test]
fn a_message_of_a_machine_names_the_place_of_the_value() {
    let cluster = format!(
        "{HEAD}os: {{timezone: Etc/UTC, sysctls: {{vm.swappiness: 1}}, disks: [], locale: C.UTF-8}}\n\
         masters: [{{name: m1, address: 10.0.0.1}}]\nworkers: [{{name: w1}}, {{name: w2}}]\n"
    );
    let layers = [
        Layer::file("cluster.yaml", cluster),
        Layer::role("roles/worker.yaml", "worker", "os: {timezone: Etc/GMT, sysctls: {vm.max_map_count: 262144}}"),
        Layer::machine("hosts/w2.yaml", "w2", "os:\n  timezone: Etc/GMT+1\n"),
    ];
    let loaded = load(&layers).unwrap();
    for (machine, message, expected) in [
        ("m1", "os.timezone: no such zone", "cluster.yaml:3:16: os.timezone: no such zone"),
        ("w1", "os.timezone: no such zone", "roles/worker.yaml:1:16: roles.worker.os.timezone: no such zone"),
        ("w2", "w2: os.timezone: no such zone", "w2: hosts/w2.yaml:2:13: workers[1].os.timezone: no such zone"),
        ("w1", "os.locale: cannot", "cluster.yaml:3:73: os.locale: cannot"),
        ("w1", "os.sysctls: merged", "os.sysctls: merged"),
        ("w1", "os.swap: a default", "os.swap: a default"),
        ("w1", "remove it from os.timezone", "remove it from os.timezone"),
    ] {
        assert_eq!(loaded.located(machine, message, None), expected);
    }
    let without_line = loaded.located("w2", "os.timezone: x", Some("hosts/w2.yaml"));
    assert_eq!(without_line, "workers[1].os.timezone: x");
    // Another machine adds the line.
    assert_eq!(loaded.located("w2", &without_line, None), "hosts/w2.yaml:2:13: workers[1].os.timezone: x");
}
