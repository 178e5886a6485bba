//! Tests of the items, on a directory: programs are recorded instead of run.

use super::{ITEMS, OsStep};
use crate::{
    context::{Context, testing::context_of},
    engine::step::{State, Step},
    host::{commands::Commands, files::NewFile},
    steps::reset::RemoveFiles,
};
use nodeinit_config::format::PEM_CERTIFICATE;
use std::{path::Path, sync::Arc};

const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\nname: lab\n";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo a@b";

struct Machine {
    _dir: tempfile::TempDir,
    cx: Context,
}

impl Machine {
    fn new(config: &str, files: &[(&str, &str)]) -> Self {
        let (dir, mut cx) = context_of(&format!("{HEAD}{config}"));
        cx.commands = Commands { log: Some(Arc::default()), ..Commands::default() };
        for (path, text) in files {
            for parent in cx.files.missing_parents(Path::new(path)) {
                cx.files.make_directory(&parent, 0o755).unwrap();
            }
            cx.files.write(&[NewFile::public(*path, *text)]).unwrap();
        }
        let machine = Self { _dir: dir, cx };
        for (path, _) in files.iter().filter(|(path, _)| path.starts_with("/dev/")) {
            machine.directory(&format!("/sys/class/block/{}", path.rsplit('/').next().unwrap()));
        }
        machine
    }

    fn directory(&self, path: &str) {
        for directory in self.cx.files.missing(Path::new(path)) {
            self.cx.files.make_directory(&directory, 0o755).unwrap();
        }
    }

    /// Writes the table of the kernel's mounts: where each device is mounted.
    fn mounted(&self, mounts: &[(&str, &str)]) {
        self.directory("/proc/self");
        let line = |(device, directory): &(&str, &str)| format!("36 35 98:0 / {directory} rw - ext4 {device} rw\n");
        let table: String = mounts.iter().map(line).collect();
        self.cx.files.write(&[NewFile::public("/proc/self/mountinfo", table)]).unwrap();
    }

    /// From now on, programs answer this, by the start of their command lines.
    fn answers(&mut self, answers: &[(&str, Result<&str, i32>)]) {
        let own = |(start, answer): &(&str, Result<&str, i32>)| ((*start).to_owned(), answer.map(str::to_owned));
        self.cx.commands.answers = answers.iter().map(own).collect();
    }

    /// Applies an item; returns why it fails.
    async fn refusal(&self, name: &str) -> String {
        item(name).apply(&self.cx).await.unwrap_err().to_string()
    }

    /// The same machine with another configuration.
    fn configured(self, config: &str) -> Self {
        let (_, other) = context_of(&format!("{HEAD}{config}"));
        Self { cx: Context { cluster: other.cluster, loaded: other.loaded, ..self.cx }, ..self }
    }

    async fn plan(&self, name: &str) -> Vec<String> {
        match item(name).check(&self.cx).await.unwrap() {
            State::Done => Vec::new(),
            State::Needed(changes) => changes,
        }
    }

    /// Applies an item; returns what would have been run, without queries.
    async fn apply(&self, name: &str) -> Vec<String> {
        self.ran();
        item(name).apply(&self.cx).await.unwrap();
        self.ran()
    }

    /// Undoes an item, as `reset` does.
    async fn undo(&self, name: &str) -> Vec<String> {
        self.ran();
        item(name).undo(&self.cx).await.unwrap();
        assert!(item(name).left(&self.cx).await.unwrap().is_empty(), "left of {name}");
        self.ran()
    }

    /// Undoes an item; something may be left.
    async fn undo_only(&self, name: &str) -> Result<Vec<String>, String> {
        self.ran();
        item(name).undo(&self.cx).await.map_err(|error| error.to_string())?;
        Ok(self.ran())
    }

    fn ran(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.cx.commands.log.as_ref().unwrap().lock().unwrap());
        all.retain(|line| {
            !["systemctl show", "dpkg-query", "rpm --query", "wipefs", "blkid", "pvs", "lvs"]
                .iter()
                .any(|query| line.starts_with(query))
        });
        all
    }

    fn text(&self, path: &str) -> Option<String> {
        self.cx.files.read_text(path).unwrap()
    }
}

fn item(name: &str) -> super::item::Item {
    ITEMS.into_iter().find(|item| item.name == name).unwrap()
}

#[tokio::test]
async fn without_keys_nothing_is_touched() {
    let machine = Machine::new("", &[]);
    for item in ITEMS {
        assert_eq!(item.check(&machine.cx).await.unwrap(), State::Done, "{}", item.name);
        assert!(item.left(&machine.cx).await.unwrap().is_empty(), "{}", item.name);
    }
    assert!(machine.ran().is_empty());
}

#[tokio::test]
async fn time_zone_locale_and_keymap_are_set_changed_and_restored() {
    let zones = [
        ("/usr/share/zoneinfo/Etc/UTC", ""),
        ("/usr/share/zoneinfo/Europe/Amsterdam", ""),
        ("/usr/share/zoneinfo/UTC", ""),
    ];
    let others = [("/etc/default/locale", "LANG=en_US.UTF-8\nLC_TIME=C\n"), ("/etc/timezone", "Etc/UTC\n")];
    let config = "os: {timezone: Europe/Amsterdam, locale: C.UTF-8, keymap: de}\n";
    let machine = Machine::new(config, &[&zones[..], &others].concat());
    machine.cx.files.link(Path::new("/etc/localtime"), Path::new("/usr/share/zoneinfo/Etc/UTC")).unwrap();
    let changes = machine.plan("os-locale").await;
    assert_eq!(
        changes,
        [
            "set the time zone to Europe/Amsterdam",
            "rewrite /etc/timezone",
            "set LANG to C.UTF-8 in /etc/default/locale",
            "set XKBLAYOUT to de in /etc/default/keyboard",
        ]
    );
    machine.apply("os-locale").await;
    let zone = || machine.cx.files.link_target(Path::new("/etc/localtime")).unwrap();
    assert_eq!(zone(), Path::new("/usr/share/zoneinfo/Europe/Amsterdam"));
    assert_eq!(machine.text("/etc/default/locale").unwrap(), "LANG=C.UTF-8\nLC_TIME=C\n");
    assert_eq!(machine.text("/etc/default/keyboard").unwrap(), "XKBLAYOUT=de\n");
    assert!(machine.plan("os-locale").await.is_empty(), "a second run changes nothing");

    let machine = machine.configured("os: {timezone: UTC}\n");
    assert_eq!(machine.plan("os-locale").await.len(), 4, "the locale and the keymap are restored");
    machine.apply("os-locale").await;
    assert_eq!(machine.text("/etc/default/locale").unwrap(), "LANG=en_US.UTF-8\nLC_TIME=C\n");
    assert_eq!(machine.text("/etc/default/keyboard"), None);
    machine.undo("os-locale").await;
    assert_eq!(machine.text("/etc/timezone").unwrap(), "Etc/UTC\n");
    let zone = machine.cx.files.link_target(Path::new("/etc/localtime")).unwrap();
    assert_eq!(zone, Path::new("/usr/share/zoneinfo/Etc/UTC").to_owned());
}

#[tokio::test]
async fn locales_are_generated_where_the_machine_can() {
    let config = "os: {locale: en_GB.UTF-8}\n";
    let machine = Machine::new(config, &[("/usr/sbin/locale-gen", ""), ("/etc/locale.gen", "# en_GB.UTF-8 UTF-8\n")]);
    assert_eq!(machine.apply("os-locale").await, ["locale-gen"]);
    assert!(
        machine
            .text("/etc/locale.gen")
            .unwrap()
            .ends_with("\nen_GB.UTF-8 UTF-8\n# END nodeinit\n# en_GB.UTF-8 UTF-8\n")
    );
    machine.undo("os-locale").await;
    assert_eq!(machine.text("/etc/locale.gen").unwrap(), "# en_GB.UTF-8 UTF-8\n");
    let listed = Machine::new(config, &[("/usr/sbin/locale-gen", ""), ("/etc/locale.gen", "en_GB.UTF-8 UTF-8\n")]);
    listed.apply("os-locale").await;
    assert_eq!(listed.text("/etc/locale.gen").unwrap(), "en_GB.UTF-8 UTF-8\n");
    let without = Machine::new(config, &[]);
    let error = item("os-locale").apply(&without.cx).await.unwrap_err();
    assert!(error.advice().unwrap().contains("add the package locales"), "{error}");
    assert!(without.plan("os-locale").await[0].contains("at present: os.locale"), "a plan shows it, and goes on");
}

#[tokio::test]
async fn a_time_zone_that_the_machine_lacks_is_named() {
    let machine = Machine::new("os: {timezone: Mars/Olympus}\n", &[]);
    let error = item("os-locale").apply(&machine.cx).await.unwrap_err();
    assert!(error.to_string().contains("no time zone Mars/Olympus"), "{error}");
}

#[tokio::test]
async fn the_host_name_loses_the_suffix_of_the_cloud() {
    let machine = Machine::new(
        "os: {hostName: machine}\n",
        &[
            ("/etc/hostname", "m1.novalocal\n"),
            ("/proc/sys/kernel/hostname", "m1.novalocal\n"),
            ("/etc/cloud/cloud.cfg.d/x", ""),
        ],
    );
    assert_eq!(machine.apply("os-host-name").await, ["systemctl try-restart systemd-hostnamed.service"]);
    assert_eq!(machine.text("/etc/hostname").unwrap(), "m1\n");
    assert!(machine.text("/etc/cloud/cloud.cfg.d/99-nodeinit.cfg").unwrap().contains("preserve_hostname: true"));
    assert!(machine.plan("os-host-name").await.is_empty());
    assert_eq!(machine.undo("os-host-name").await.len(), 1);
    assert_eq!(machine.text("/etc/hostname").unwrap(), "m1.novalocal\n");
    assert_eq!(machine.text("/proc/sys/kernel/hostname").unwrap().trim(), "m1.novalocal");
}

#[tokio::test]
async fn hosts_lists_the_machines_and_follows_changes() {
    let machines = "masters: [{name: m1, address: 10.0.0.11}]\nworkers: [{name: w1, address: 10.0.0.21}]\n";
    let os = "os: {domain: example.org, hosts: {machines: true, extra: {db.other.org: 10.0.0.5}}}\n";
    let machine = Machine::new(&format!("{machines}{os}"), &[("/etc/hosts", "127.0.0.1 localhost\n")]);
    machine.apply("os-hosts").await;
    let lines = "10.0.0.5 db.other.org\n10.0.0.11 m1.example.org m1\n10.0.0.21 w1.example.org w1\n# END nodeinit\n127.0.0.1 localhost\n";
    assert!(machine.text("/etc/hosts").unwrap().ends_with(lines), "{:?}", machine.text("/etc/hosts"));
    assert!(machine.plan("os-hosts").await.is_empty());
    let machine = machine.configured(os);
    assert_eq!(machine.plan("os-hosts").await, ["write the section of nodeinit in /etc/hosts"]);
    machine.apply("os-hosts").await;
    assert!(!machine.text("/etc/hosts").unwrap().contains("w1"));
    let theirs = machine.text("/etc/hosts").unwrap() + "10.9.9.9 theirs\n";
    machine.cx.files.write(&[NewFile::public("/etc/hosts", theirs)]).unwrap();
    machine.undo("os-hosts").await;
    assert_eq!(machine.text("/etc/hosts").unwrap(), "127.0.0.1 localhost\n10.9.9.9 theirs\n");
}

#[tokio::test]
async fn name_servers_are_set_where_the_machine_reads_them() {
    let config = "os: {dns: {servers: [10.0.0.2, 10.0.0.3], search: [a.org]}}\n";
    let plain = Machine::new(config, &[("/etc/resolv.conf", "nameserver 1.1.1.1\noptions rotate\nsearch b.org\n")]);
    plain.apply("os-dns").await;
    let expected = "nameserver 10.0.0.2\nnameserver 10.0.0.3\nsearch a.org\noptions rotate\n";
    assert_eq!(plain.text("/etc/resolv.conf").unwrap(), expected);
    assert!(plain.plan("os-dns").await.is_empty());

    let resolved = Machine::new(config, &[("/run/systemd/resolve/stub-resolv.conf", ""), ("/etc/x", "")]);
    resolved
        .cx
        .files
        .link(Path::new("/etc/resolv.conf"), Path::new("../run/systemd/resolve/stub-resolv.conf"))
        .unwrap();
    assert_eq!(resolved.apply("os-dns").await, ["systemctl restart systemd-resolved.service"]);
    let text = resolved.text("/etc/systemd/resolved.conf.d/50-nodeinit.conf").unwrap();
    assert!(text.ends_with("[Resolve]\nDNS=10.0.0.2 10.0.0.3\nDomains=a.org\n"), "{text}");
    assert_eq!(resolved.undo("os-dns").await, ["systemctl restart systemd-resolved.service"]);
    assert_eq!(resolved.text("/etc/systemd/resolved.conf.d/50-nodeinit.conf"), None);

    let unmanaged = ("/etc/NetworkManager/conf.d/99-cloud-init.conf", "[main]\ndns = none\n");
    let cloud = Machine::new(config, &[("/run/NetworkManager/x", ""), ("/etc/resolv.conf", ""), unmanaged]);
    assert!(cloud.apply("os-dns").await.is_empty() && cloud.text("/etc/resolv.conf").unwrap().contains("nameserver"));
    let manager = Machine::new(config, &[("/run/NetworkManager/x", ""), ("/etc/x", "")]);
    assert_eq!(manager.apply("os-dns").await, ["systemctl try-reload-or-restart NetworkManager.service"]);
    let text = manager.text("/etc/NetworkManager/conf.d/90-nodeinit.conf").unwrap();
    assert!(
        text.contains("searches=a.org\n") && text.contains("[global-dns-domain-*]\nservers=10.0.0.2,10.0.0.3\n"),
        "{text}"
    );
}

#[tokio::test]
async fn network_manager_needs_name_servers_for_search_domains() {
    let config = "os: {dns: {search: [a.org]}}\n";
    let manager = Machine::new(config, &[("/run/NetworkManager/x", ""), ("/etc/x", "")]);
    let error = item("os-dns").apply(&manager.cx).await.unwrap_err().to_string();
    assert!(error.contains("NetworkManager uses search domains only together with name servers"), "{error}");
}

#[tokio::test]
async fn messages_name_the_role_and_the_cluster() {
    let config = "os: {messages: {issue: No entry., motd: \"${name} ${address}: ${role} of ${cluster}\"}}\n";
    let machine = Machine::new(config, &[("/etc/issue", "Debian\n"), ("/etc/default/motd-news", "ENABLED=1\n")]);
    machine.apply("os-messages").await;
    assert_eq!(machine.text("/etc/issue").unwrap(), "No entry.\n");
    assert_eq!(machine.text("/etc/motd").unwrap(), "m1 10.0.0.11: first-master of lab\n");
    assert_eq!(machine.text("/etc/default/motd-news").unwrap(), "ENABLED=0\n");
    machine.undo("os-messages").await;
    assert_eq!((machine.text("/etc/issue").unwrap().as_str(), machine.text("/etc/motd")), ("Debian\n", None));
    let linked = Machine::new(config, &[("/run/issue", "")]);
    linked.cx.files.make_directory(Path::new("/etc"), 0o755).unwrap();
    linked.cx.files.link(Path::new("/etc/issue"), Path::new("../run/issue")).unwrap();
    let error = item("os-messages").apply(&linked.cx).await.unwrap_err().to_string();
    assert_eq!(error, "/etc/issue is a symbolic link to ../run/issue");
}

#[tokio::test]
async fn users_are_created_and_passwords_never_are_arguments() {
    let hash = "$6$abcdefgh$X1aN5l6W0lqhYcmpx1mZpZQUjNQ9hJ3hFTfDAVnSPdm0M4pGbvVxY4m5gNfOzCzGJtLrG2pQ9kd3B8hVnC8jX0";
    let former = "$y$j9T$former$hash";
    let config = format!(
        "os:\n  rootPasswordHash: {hash}\n  users:\n  - {{name: alice, groups: [adm], sudo: true, shell: /bin/bash}}\n  - {{name: bob, remove: true}}\n"
    );
    let accounts = "root:x:0:0::/root:/bin/sh\nbob:x:1000:1000::/home/bob:/bin/sh\n";
    let machine = Machine::new(
        &config,
        &[
            ("/etc/passwd", accounts),
            ("/etc/shadow", &format!("root:{former}:1:0\n")),
            ("/etc/group", "root:x:0:\nadm:x:4:\n"),
        ],
    );
    let changes = machine.plan("os-users").await;
    assert!(
        changes.contains(&"set the password hash of root".into()) && !changes.concat().contains(hash),
        "{changes:?}"
    );
    let ran = machine.apply("os-users").await;
    assert_eq!(
        ran,
        [
            "useradd --create-home --user-group --home-dir /home/alice alice",
            "usermod --shell /bin/bash alice",
            "usermod --append --groups adm alice",
            "userdel bob",
            &format!("chpasswd --encrypted < root:{hash}\n"),
        ]
    );
    let sudo = Path::new("/etc/sudoers.d/nodeinit-alice");
    assert_eq!(machine.cx.files.mode(sudo), Some(0o440));
    let journal = machine.text("/var/lib/nodeinit/journal.jsonl").unwrap();
    assert!(journal.contains("password root") && !journal.contains(former), "users attach the journal to reports");
    let restored = format!("chpasswd --encrypted < root:{former}\n");
    let shadow = format!("root:{hash}:1:0\n");
    machine.cx.files.write(&[NewFile::private("/etc/shadow", shadow)]).unwrap();
    assert!(machine.undo_only("os-users").await.unwrap().contains(&restored));
}

#[tokio::test]
async fn a_reset_that_cannot_undo_something_undoes_the_rest_and_fails() {
    let config = "os: {users: [{name: alice}, {name: bob}]}\n";
    let mut machine = Machine::new(config, &[("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")]);
    machine.apply("os-users").await;
    let accounts = "alice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n";
    machine.cx.files.write(&[NewFile::public("/etc/passwd", accounts)]).unwrap();
    machine.answers(&[("userdel bob", Err(8))]);
    let error = super::RestoreOs.apply(&machine.cx).await.unwrap_err().to_string();
    assert!(error.contains("userdel bob"), "{error}");
    assert!(machine.ran().contains(&"userdel alice".to_owned()));
    let left: Vec<String> = machine.cx.journal.state().os["os-users"].set.iter().map(|set| set.key.clone()).collect();
    assert_eq!(left, ["user bob"], "the journal knows what is left");
}

#[tokio::test]
async fn keys_are_in_a_directory_of_root_and_those_of_the_login_user_stay() {
    let config = format!(
        "os: {{users: [{{name: alice, keys: [{KEY}]}}, {{name: ops, keys: [{KEY}]}}], sshd: {{X11Forwarding: \"no\"}}}}\nssh: {{user: ops}}\n"
    );
    let machine = Machine::new(&config, &[("/etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n")]);
    machine.apply("os-users").await;
    assert_eq!(machine.text("/etc/ssh/authorized_keys.d/alice").unwrap(), format!("{KEY}\n"));
    machine.apply("os-sshd").await;
    let drop_in = machine.text("/etc/ssh/sshd_config.d/00-nodeinit.conf").unwrap();
    assert!(
        drop_in
            .contains("AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2 /etc/ssh/authorized_keys.d/%u\n")
    );
    let machine = machine.configured("os: {sshd: {X11Forwarding: \"no\"}}\nssh: {user: ops}\n");
    let stays = |when: &str| {
        assert!(machine.text("/etc/ssh/authorized_keys.d/ops").is_some(), "{when}: nodeinit logs in as this user");
        let drop_in = machine.text("/etc/ssh/sshd_config.d/00-nodeinit.conf").unwrap_or_default();
        assert!(drop_in.contains("/etc/ssh/authorized_keys.d/%u"), "{when}: sshd does not read these keys");
    };
    for name in ["os-users", "os-sshd"] {
        machine.apply(name).await;
    }
    assert_eq!(machine.text("/etc/ssh/authorized_keys.d/alice"), None);
    stays("no longer configured");
    assert!(machine.plan("os-sshd").await.is_empty());
    super::RestoreOs.apply(&machine.cx).await.unwrap();
    stays("after restore-kernel");
    RemoveFiles.apply(&machine.cx).await.unwrap();
    stays("after reset");
    let left = machine.text("/etc/ssh/sshd_config.d/00-nodeinit.conf").unwrap();
    assert!(!left.contains("X11Forwarding"), "only the places of keys stay: {left}");
}

#[tokio::test]
async fn the_keys_of_who_ran_nodeinit_stay_in_use_when_it_runs_at_boot() {
    let config = format!("os: {{users: [{{name: ops, keys: [{KEY}]}}]}}\nssh: {{user: ops}}\n");
    let machine = Machine::new(&config, &[("/etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n")]);
    machine.apply("os-users").await;
    machine.apply("os-sshd").await;
    let machine = machine.configured("ssh: {user: ops}\n");
    machine.apply("os-users").await;
    let machine = machine.configured("ssh: {user: root}\n");
    for name in ["os-users", "os-sshd"] {
        assert!(machine.plan(name).await.is_empty(), "{name}: {:?}", machine.plan(name).await);
    }
}

#[tokio::test]
async fn a_package_that_others_need_by_now_stays() {
    let config = "os: {packages: {install: [python3]}}\n";
    let mut machine = Machine::new(config, &[]);
    machine.answers(&[("dpkg-query", Err(1))]);
    machine.apply("os-packages").await;
    machine.answers(&[("dpkg-query", Ok("installed ")), ("dpkg --remove", Err(1))]);
    item("os-packages").undo(&machine.cx).await.unwrap();
    assert!(machine.cx.journal.state().os["os-packages"].set.is_empty());
}

#[tokio::test]
async fn no_plan_shows_the_password_of_a_former_proxy() {
    let config = "os: {proxy: {https: \"http://proxy:3128\"}}\n";
    let machine = Machine::new(config, &[("/etc/dnf/dnf.conf", "proxy=http://user:former@proxy\n")]);
    let plan = machine.plan("os-proxy").await;
    assert!(plan.contains(&"change proxy in /etc/dnf/dnf.conf".to_owned()), "{plan:?}");
    machine.apply("os-proxy").await;
    let left = item("os-proxy").left(&machine.cx).await.unwrap();
    assert!(!format!("{plan:?} {left:?}").contains("former"), "{left:?}");
    assert!(!machine.text("/var/lib/nodeinit/journal.jsonl").unwrap().contains("former"));
    machine.undo("os-proxy").await;
    assert_eq!(machine.text("/etc/dnf/dnf.conf").unwrap(), "proxy=http://user:former@proxy\n");
}

#[tokio::test]
async fn keys_that_the_site_manages_stay_in_use() {
    let lines = |main: &str, other: &str| {
        let config = format!("os: {{users: [{{name: alice, keys: [{KEY}]}}]}}\n");
        let files = [("/etc/ssh/sshd_config", main), ("/etc/ssh/sshd_config.d/50-site.conf", other)];
        Machine::new(&config, &files)
    };
    let include = "Include /etc/ssh/sshd_config.d/*.conf\n";
    let usual = ".ssh/authorized_keys .ssh/authorized_keys2 ";
    for (main, other, expected) in [
        ("AuthorizedKeysFile /etc/ssh/keys/%u", "", "/etc/ssh/keys/%u "),
        ("Match User x\nAuthorizedKeysFile /x", "", usual),
        ("authorizedkeysfile=\"/main\"", "AuthorizedKeysFile /site /etc/%u\n", "/site /etc/%u "),
        ("# AuthorizedKeysFile /x", "AuthorizedKeysFile none\n", ""),
        ("AuthorizedKeysFile /etc/ssh/keys/%u # of the site", "", "/etc/ssh/keys/%u "),
        ("Include /etc/ssh/sshd_config", "", usual),
    ] {
        let machine = lines(&format!("{include}{main}\n"), other);
        machine.apply("os-sshd").await;
        let drop_in = machine.text("/etc/ssh/sshd_config.d/00-nodeinit.conf").unwrap();
        let line = format!("\nAuthorizedKeysFile {expected}/etc/ssh/authorized_keys.d/%u\n");
        assert!(drop_in.contains(&line), "{main}: {drop_in}");
        assert!(machine.plan("os-sshd").await.is_empty(), "its own file does not count");
    }
}

#[tokio::test]
async fn sshd_tests_a_candidate_before_the_options_are_written() {
    let config = "os: {sshd: {PasswordAuthentication: \"no\"}}\n";
    let machine = Machine::new(config, &[("/etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n")]);
    let test = "/usr/sbin/sshd -t -f /etc/ssh/sshd_config.nodeinit-test";
    let reload = "systemctl try-reload-or-restart ssh.service";
    assert_eq!(machine.apply("os-sshd").await, ["install -d -m 0755 /run/sshd", test, reload]);
    assert!(machine.text("/etc/ssh/sshd_config.d/00-nodeinit.conf").unwrap().ends_with("PasswordAuthentication no\n"));
    assert!(machine.plan("os-sshd").await.is_empty());
    assert_eq!(machine.undo("os-sshd").await, [reload]);
    assert_eq!(machine.text("/etc/ssh/sshd_config.d/00-nodeinit.conf"), None);
    let without = Machine::new(config, &[("/etc/ssh/sshd_config", "# Include /etc/ssh/sshd_config.d/*.conf\n")]);
    let error = item("os-sshd").apply(&without.cx).await.unwrap_err().to_string();
    assert!(error.contains("does not include"), "{error}");
}

#[tokio::test]
async fn a_program_that_an_interrupted_run_left_out_runs() {
    let machine = Machine::new("os: {openFiles: 2048}\n", &[("/proc/sys/fs/nr_open", "1048576\n")]);
    machine.apply("os-limits").await;
    assert_eq!(machine.text("/etc/sysctl.d/98-nodeinit-files.conf"), None);
    assert!(machine.plan("os-limits").await.is_empty());
    let interrupted = crate::engine::journal::Record::OsRan { item: "os-limits".into(), state: String::new() };
    machine.cx.journal.intend(vec![interrupted]).unwrap();
    assert_eq!(machine.plan("os-limits").await, ["run `systemctl daemon-reexec`"]);
    assert_eq!(machine.apply("os-limits").await, ["systemctl daemon-reexec"]);
}

#[tokio::test]
async fn time_servers_replace_those_of_chrony() {
    let old = "pool 2.debian.pool.ntp.org iburst\ndriftfile /var/lib/chrony/drift\n";
    let machine = Machine::new("os: {timeServers: [ntp.example.org]}\n", &[("/etc/chrony/chrony.conf", old)]);
    let ran = machine.apply("os-time").await;
    assert_eq!(ran, ["systemctl enable --now chrony.service", "systemctl try-restart chrony.service"]);
    let text = machine.text("/etc/chrony/chrony.conf").unwrap();
    assert!(text.contains("server ntp.example.org iburst\n# END"), "{text}");
    assert!(
        text.ends_with("#nodeinit# pool 2.debian.pool.ntp.org iburst\ndriftfile /var/lib/chrony/drift\n"),
        "{text}"
    );
    // The operator's later lines stay.
    machine.cx.files.write(&[NewFile::public("/etc/chrony/chrony.conf", format!("{text}makestep 1 3\n"))]).unwrap();
    assert!(!machine.plan("os-time").await.concat().contains("chrony.conf"));
    machine.undo("os-time").await;
    assert_eq!(machine.text("/etc/chrony/chrony.conf").unwrap(), format!("{old}makestep 1 3\n"));
    let none = Machine::new("os: {timeServers: [ntp.example.org]}\n", &[]);
    assert!(item("os-time").apply(&none.cx).await.unwrap_err().to_string().contains("neither chrony"));
}

#[tokio::test]
async fn files_come_from_a_text_a_template_or_a_source() {
    let sha256 = nodeinit_base::sha256_hex(b"data");
    let config = format!(
        "os:\n  files:\n  - {{path: /etc/x/a, content: \"${{name}}\", mode: 0600}}\n  - {{path: /etc/x/b, content: \"${{name}}\", template: true}}\n  \
         - {{path: /etc/x/c, source: /opt/c, sha256: {sha256}}}\n"
    );
    let machine = Machine::new(&config, &[("/opt/c", "data")]);
    assert_eq!(machine.plan("os-files").await, ["write /etc/x/a", "write /etc/x/b", "write /etc/x/c from /opt/c"]);
    machine.apply("os-files").await;
    let texts = ["a", "b", "c"].map(|name| machine.text(&format!("/etc/x/{name}")).unwrap());
    assert_eq!(texts, ["${name}", "m1", "data"]);
    assert_eq!(machine.cx.files.mode(Path::new("/etc/x/a")), Some(0o600));
    assert!(machine.plan("os-files").await.is_empty());
    machine.cx.files.write(&[NewFile::public("/opt/c", "other")]).unwrap();
    machine.cx.files.remove_file("/etc/x/c").unwrap();
    let error = item("os-files").apply(&machine.cx).await.unwrap_err().to_string();
    assert!(error.contains("but") && error.contains(&sha256), "{error}");
    machine.undo("os-files").await;
    assert_eq!(machine.text("/etc/x/a"), None);
}

#[tokio::test]
async fn units_start_and_stop() {
    let config = "os: {units: [{name: a.service, content: \"[Service]\"}]}\n";
    let machine = Machine::new(config, &[]);
    assert_eq!(
        machine.apply("os-units").await,
        ["systemctl daemon-reload", "systemctl enable --now a.service", "systemctl restart a.service"]
    );
    assert_eq!(machine.text("/etc/systemd/system/a.service").unwrap(), "[Service]\n");
    let two = "os: {units: [{name: a.service, content: \"[Service]\"}, {name: b.service, content: \"[Service]\"}]}\n";
    let machine = machine.configured(two);
    assert!(!machine.plan("os-units").await.contains(&"run `systemctl restart a.service`".into()));
    // The log knows no state, so both are enabled again.
    let ran = machine.apply("os-units").await;
    assert!(ran.contains(&"systemctl restart b.service".into()), "{ran:?}");
    assert!(!ran.contains(&"systemctl restart a.service".into()), "{ran:?}");
    machine.cx.files.write(&[NewFile::public("/etc/systemd/system/a.service", "edited")]).unwrap();
    let ran = machine.apply("os-units").await;
    assert!(ran.contains(&"systemctl restart a.service".into()), "{ran:?}");
    assert!(!ran.contains(&"systemctl restart b.service".into()), "{ran:?}");
    let interrupted = crate::engine::journal::Record::OsRan {
        item: "os-units /etc/systemd/system/b.service".into(),
        state: String::new(),
    };
    machine.cx.journal.intend(vec![interrupted]).unwrap();
    assert!(machine.apply("os-units").await.contains(&"systemctl restart b.service".into()));
    assert_eq!(machine.undo("os-units").await, ["systemctl daemon-reload"]);
}

#[tokio::test]
async fn packages_are_installed_by_the_package_manager_of_the_distribution() {
    let config = "os: {packages: {updates: security, install: [chrony]}}\n";
    let rocky = ("/etc/os-release", "ID=rocky\nID_LIKE=\"rhel fedora\"\n");
    let machine =
        Machine::new(config, &[rocky, ("/etc/yum.repos.d/a.repo", "[a]\nbaseurl=https://mirror.example.org/a\n")]);
    let ran = machine.apply("os-packages").await;
    assert!(ran[0].ends_with("makecache") && ran[1].ends_with("install chrony"), "{ran:?}");
    let ran = machine.apply("os-updates").await;
    assert!(ran[1].ends_with("upgrade --security"), "{ran:?}");
    assert!(machine.plan("os-updates").await.is_empty(), "updates are installed once");
    assert!(machine.undo("os-updates").await.is_empty());
    let wants = (item("os-updates").wants)(&machine.cx).unwrap();
    let super::want::Want::Run(run) = &wants[0] else { panic!("no program") };
    assert!(run.hint.contains("https://mirror.example.org/a"), "{}", run.hint);
    let flatcar = Machine::new(config, &[("/etc/os-release", "ID=flatcar\n")]);
    assert!(item("os-packages").apply(&flatcar.cx).await.unwrap_err().to_string().contains("no package manager"));
}

#[tokio::test]
async fn proxies_spare_the_cluster() {
    let config = "os: {proxy: {https: \"http://p:3128\", noProxy: [.example.org]}}\n";
    let machine = Machine::new(config, &[("/etc/apt/apt.conf.d/x", "")]);
    assert_eq!(machine.apply("os-proxy").await, ["systemctl daemon-reload"]);
    let text = machine.text("/etc/profile.d/nodeinit-proxy.sh").unwrap();
    assert!(text.contains("export https_proxy='http://p:3128' HTTPS_PROXY='http://p:3128'\n"), "{text}");
    assert!(text.contains("no_proxy='.example.org,localhost,") && text.contains("10.96.0.0/12"), "{text}");
    assert!(machine.text("/etc/apt/apt.conf.d/95nodeinit-proxy").unwrap().contains("Acquire::https::Proxy"));
    assert_eq!(machine.cx.cluster.container_runtime.proxy.https.as_deref(), Some("http://p:3128"));
}

#[tokio::test]
async fn cas_journal_limits_and_rotation_are_files() {
    let config = format!(
        "os:\n  trustedCAs: [{:?}]\n  logs: {{journalMaxSize: 1G, journalMaxDays: 30, rotate: [/var/log/audit/audit.log]}}\n",
        PEM_CERTIFICATE.example
    );
    let machine = Machine::new(&config, &[("/etc/logrotate.d/x", "")]);
    assert_eq!(machine.apply("os-cas").await, ["update-ca-certificates"]);
    assert_eq!(machine.cx.files.list("/usr/local/share/ca-certificates").unwrap().len(), 1);
    assert_eq!(machine.undo("os-cas").await, ["update-ca-certificates"]);
    assert_eq!(machine.apply("os-logs").await, ["systemctl try-restart systemd-journald.service"]);
    let journal = machine.text("/etc/systemd/journald.conf.d/50-nodeinit.conf").unwrap();
    assert!(journal.ends_with("[Journal]\nSystemMaxUse=1G\nMaxRetentionSec=30day\n"), "{journal}");
    assert!(machine.text("/etc/logrotate.d/nodeinit").unwrap().contains("\"/var/log/audit/audit.log\" {\n    daily\n"));
}

#[tokio::test]
async fn an_empty_disk_is_formatted_and_mounted() {
    let config = "os: {disks: [{device: /dev/vdb, mount: /data}]}\n";
    let machine = Machine::new(config, &[("/dev/vdb", ""), ("/etc/fstab", "# theirs\n")]);
    let ran = machine.apply("os-disks").await;
    let [format, reload, mount] = &ran[..] else { panic!("{ran:?}") };
    assert!(format.starts_with("mkfs.ext4 -U ") && format.ends_with(" /dev/vdb"), "{format}");
    assert_eq!((reload.as_str(), mount.as_str()), ("systemctl daemon-reload", "mount /data"));
    let uuid = format.split(' ').nth(2).unwrap();
    assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(machine.text("/etc/fstab").unwrap().contains(&format!("UUID={uuid} /data ext4 defaults,nofail,x-systemd.before=containerd.service,x-systemd.before=kubelet.service 0 2\n")));
    machine.undo("os-disks").await;
    assert_eq!(machine.text("/etc/fstab").unwrap(), "# theirs\n");
    let missing = Machine::new(config, &[]);
    assert!(item("os-disks").apply(&missing.cx).await.unwrap_err().to_string().contains("/dev/vdb does not exist"));
    let used = Machine::new(config, &[("/dev/vdb", ""), ("/data/file", "")]);
    assert!(item("os-disks").apply(&used.cx).await.unwrap_err().to_string().contains("/data is not empty"));
    let table = "36 35 98:0 / /data rw,noatime - nfs server:/export rw\n";
    let other = Machine::new(config, &[("/dev/vdb", ""), ("/proc/self/mountinfo", table)]);
    let refused = item("os-disks").apply(&other.cx).await.unwrap_err().to_string();
    assert_eq!(refused, "os.disks: server:/export is mounted at /data, not /dev/vdb");
    let cut = Machine::new(
        config,
        &[("/dev/vdb", ""), ("/etc/fstab", "# BEGIN nodeinit: do not edit; change cluster.yaml\n/dev/sda1 /\n")],
    );
    assert!(item("os-disks").apply(&cut.cx).await.unwrap_err().to_string().contains("without `# END nodeinit`"));
}

#[tokio::test]
async fn disks_are_partitioned_and_joined_to_volume_groups() {
    let config = "os:\n  disks:\n  - {device: /dev/vdb, partitions: [{size: 2G, mount: /data/inner, filesystem: xfs}, {volumeGroup: vg}]}\n  \
                  - {device: /dev/nvme0n1, volumeGroup: vg}\n  \
                  volumeGroups: [{name: vg, volumes: [{name: a, size: 1G, mount: /data}, {name: b, mount: /b}]}]\n";
    let devices = ["vdb", "vdb1", "vdb2", "nvme0n1", "vg/a", "vg/b"].map(|name| format!("/dev/{name}"));
    let machine = Machine::new(config, &devices.each_ref().map(|device| (device.as_str(), "")));
    let changes = machine.plan("os-disks").await;
    for change in [
        "partition /dev/vdb, if it is empty",
        "format /dev/vdb1 with xfs, if it is empty",
        "make /dev/vdb2 a physical volume of LVM, if it is empty",
        "make the volume group vg of /dev/vdb2 /dev/nvme0n1",
        "make the volume a in the volume group vg",
        "format /dev/vg/b with ext4, if it is empty",
    ] {
        assert!(changes.iter().any(|found| found == change), "{change}: {changes:#?}");
    }
    let ran = machine.apply("os-disks").await;
    let programs: Vec<&str> = ran.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        programs,
        [
            "sfdisk",
            "udevadm",
            "mkfs.xfs",
            "pvcreate",
            "pvcreate",
            "vgcreate",
            "lvcreate",
            "udevadm",
            "mkfs.ext4",
            "lvcreate",
            "udevadm",
            "mkfs.ext4",
            "systemctl",
            "mount",
            "mount",
            "mount"
        ],
        "{ran:#?}"
    );
    let (sfdisk, script) = ran[0].split_once(" < ").unwrap();
    assert_eq!(sfdisk, "sfdisk --quiet --wipe never --wipe-partitions never /dev/vdb");
    let lines: Vec<&str> = script.lines().collect();
    assert!(lines[0] == "label: gpt" && lines[1].starts_with("label-id: ") && lines.len() == 4, "{script}");
    assert!(lines[2].starts_with("size=2GiB,type=0FC63DAF-") && lines[3].starts_with("type=E6D6D379-"), "{script}");
    assert_eq!(ran[5], "vgcreate --quiet vg /dev/vdb2 /dev/nvme0n1");
    assert!(
        ran[6].ends_with("--name a --size 1G vg") && ran[9].ends_with("--name b --extents 100%FREE vg"),
        "{ran:#?}"
    );
    assert_eq!(ran[13..], ["mount /b", "mount /data", "mount /data/inner"]);
    let fstab = machine.text("/etc/fstab").unwrap();
    assert!(fstab.lines().filter(|line| line.starts_with("UUID=")).count() == 3, "{fstab}");
    assert_eq!(machine.undo("os-disks").await, ["systemctl daemon-reload"]);
    assert_eq!(machine.text("/etc/fstab"), None);
}

#[tokio::test]
async fn what_somebody_has_changed_since_stays() {
    let zones = ["Etc/UTC", "Europe/Amsterdam", "Europe/Paris"].map(|zone| format!("/usr/share/zoneinfo/{zone}"));
    let files = zones.iter().map(|zone| (zone.as_str(), "")).chain([("/etc/hostname", "m1\n")]);
    let machine = Machine::new("os: {timezone: Europe/Amsterdam}\n", &files.collect::<Vec<_>>());
    let link = |zone: &str| {
        machine.cx.files.link(Path::new("/etc/localtime"), &Path::new("/usr/share/zoneinfo").join(zone)).unwrap();
    };
    link("Etc/UTC");
    machine.apply("os-locale").await;
    link("Europe/Paris");
    machine.undo("os-locale").await;
    let target = machine.cx.files.link_target(Path::new("/etc/localtime")).unwrap();
    assert!(target.ends_with("Europe/Paris"), "{}", target.display());
}

#[tokio::test]
async fn a_mounted_disk_is_not_unmounted_while_the_machine_is_in_use() {
    let config = "os: {disks: [{device: /dev/vdb, mount: /data}]}\n";
    let machine = Machine::new(config, &[("/dev/vdb", "")]);
    machine.apply("os-disks").await;
    machine.mounted(&[("/dev/vdb", "/data")]);
    let machine = machine.configured("");
    let error = item("os-disks").apply(&machine.cx).await.unwrap_err().to_string();
    assert!(error.contains("/data is mounted, but no disk"), "{error}");
    assert!(machine.text("/etc/fstab").unwrap().contains("/data"), "{error}");
}

const DATA: &str = "os: {disks: [{device: /dev/vdb, mount: /data, filesystem: xfs}]}\n";
const FORMAT: &str = "format /dev/vdb with xfs, if it is empty";

#[tokio::test]
async fn an_interrupted_format_is_repeated() {
    let mut machine = Machine::new(DATA, &[("/dev/vdb", "")]);
    let ran = machine.apply("os-disks").await;
    let id = ran[0].split(['=', ' ']).nth(3).unwrap();
    let found = format!("xfs {id}\n");
    machine.answers(&[("wipefs", Ok(&found)), ("blkid", Ok("/dev/vdb\n"))]);
    let write =
        |flag| machine.cx.files.write(&[NewFile::public("/dev/vdb", [b"XFSB", &[0; 122][..], &[flag, 0]].concat())]);
    write(1).unwrap();
    assert!(machine.plan("os-disks").await.contains(&FORMAT.to_owned()));
    assert_eq!(machine.apply("os-disks").await[0], format!("mkfs.xfs -f -m uuid={id} /dev/vdb"));
    write(0).unwrap();
    assert!(!machine.plan("os-disks").await.contains(&FORMAT.to_owned()), "it is complete");
    // Somebody else formats it, for example at this moment.
    write(1).unwrap();
    machine.answers(&[("wipefs", Ok("xfs 0b7e2c4e-theirs\n"))]);
    let refused = machine.refusal("os-disks").await;
    assert_eq!(refused, "os.disks: /dev/vdb is not empty: it has xfs 0b7e2c4e-theirs, unfinished");
}

#[tokio::test]
async fn an_interrupted_partition_table_is_written_again() {
    let config = "os: {disks: [{device: /dev/vdb, partitions: [{mount: /data}]}]}\n";
    let mut machine = Machine::new(config, &[("/dev/vdb", ""), ("/dev/vdb1", "")]);
    let ran = machine.apply("os-disks").await;
    let id = ran[0].lines().find_map(|line| line.strip_prefix("label-id: ")).unwrap();
    let bytes = |text: &str| -> Vec<u8> {
        let hex = text.replace('-', "");
        (0..16).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
    };
    let write = |id: &str| {
        let mut guid = bytes(id);
        guid[..4].reverse();
        guid[4..6].reverse();
        guid[6..8].reverse();
        let content = [&[0; 512][..], b"EFI PART", &[0; 48], &guid, &[0; 1024]].concat();
        machine.cx.files.write(&[NewFile::public("/dev/vdb", content)]).unwrap();
    };
    write(id);
    let theirs = "44332211-6655-8877-9999-999999999999";
    let one = "wipefs --no-act --noheadings --output TYPE,UUID /dev/vdb1";
    let answers = [(one, Ok("")), ("wipefs", Ok("gpt\ngpt\n"))];
    machine.cx.commands.answers = answers.map(|(start, answer)| (start.to_owned(), answer.map(str::to_owned))).into();
    let ran = machine.apply("os-disks").await;
    assert!(ran[0].starts_with("sfdisk"), "{ran:?}");
    write(theirs);
    let refused = machine.refusal("os-disks").await;
    assert_eq!(refused, format!("os.disks: /dev/vdb is not empty: it has gpt {theirs}, unfinished"));
}

#[tokio::test]
async fn only_a_block_device_is_a_disk() {
    for device in ["/var/disk.img", "/etc"] {
        let config = format!("os: {{disks: [{{device: {device}, mount: /data}}]}}\n");
        let machine = Machine::new(&config, &[("/var/disk.img", ""), ("/etc/fstab", "")]);
        let error = item("os-disks").apply(&machine.cx).await.unwrap_err();
        assert_eq!(error.to_string(), format!("os.disks: {device} is not a block device"));
        assert!(error.advice().unwrap().contains("/dev/disk/by-id"));
        assert!(machine.ran().is_empty());
    }
}

#[tokio::test]
async fn a_mount_behind_a_symbolic_link_is_found() {
    let config = "os: {disks: [{device: /dev/vdb, mount: /link/data}]}\n";
    let machine = Machine::new(config, &[("/dev/vdb", ""), ("/srv/x", "")]);
    machine.cx.files.link(Path::new("/link"), Path::new("srv")).unwrap();
    assert!(machine.plan("os-disks").await.contains(&"mount /link/data".to_owned()));
    machine.apply("os-disks").await;
    machine.mounted(&[("/dev/vdb", "/srv/data")]);
    assert!(!machine.plan("os-disks").await.contains(&"mount /link/data".to_owned()));
    assert!(machine.undo_only("os-disks").await.unwrap().contains(&"umount /link/data".to_owned()));
    let twice = "os: {disks: [{device: /dev/vdb, mount: /link/data}, {device: /dev/vdc, mount: /srv/data}]}\n";
    let machine = Machine::new(twice, &[("/dev/vdb", ""), ("/dev/vdc", ""), ("/srv/x", "")]);
    machine.cx.files.link(Path::new("/link"), Path::new("srv")).unwrap();
    assert_eq!(machine.refusal("os-disks").await, "os.disks: /link/data and /srv/data are the same directory");
}

#[tokio::test]
async fn a_physical_volume_keeps_its_uuid_under_another_name_of_its_disk() {
    let id = "/dev/disk/by-id/scsi-1";
    let config = format!(
        "os: {{disks: [{{device: {id}, partitions: [{{size: 1G, mount: /a}}, {{volumeGroup: vg}}]}}], \
         volumeGroups: [{{name: vg, volumes: [{{name: b, mount: /b}}]}}]}}\n"
    );
    let files =
        ["sdb", "sdb1", "sdb2", "sdc", "sdc1", "sdc2", "vg/b", "disk/by-id/x"].map(|name| format!("/dev/{name}"));
    let machine = Machine::new(&config, &files.each_ref().map(|file| (file.as_str(), "")));
    let created = async |disk: &str| {
        machine.cx.files.link(Path::new(id), &Path::new("../..").join(disk)).unwrap();
        let ran = machine.apply("os-disks").await;
        ran.into_iter().find(|line| line.starts_with("pvcreate")).unwrap()
    };
    let (first, second) = (created("sdb").await, created("sdc").await);
    assert!(first.ends_with("/dev/sdb2") && second.ends_with("/dev/sdc2"), "{first} {second}");
    assert_eq!(first.replace("sdb2", "sdc2"), second);
}

#[tokio::test]
async fn a_reset_needs_the_disks_mounted() {
    let mut machine = Machine::new(DATA, &[("/dev/vdb", "")]);
    super::refuse_unmounted(&machine.cx).await.unwrap();
    machine.apply("os-disks").await;
    machine.mounted(&[("/dev/vdb", "/data")]);
    let attached = [("blkid", Ok("/dev/vdb\n"))];
    machine.answers(&attached);
    super::refuse_unmounted(&machine.cx).await.unwrap();
    for others in [&[][..], &[("/dev/vdc", "/data")]] {
        machine.mounted(others);
        let error = super::refuse_unmounted(&machine.cx).await.unwrap_err();
        assert_eq!(error.to_string(), "/dev/vdb, a disk of `os.disks`, is not mounted at /data: its data would stay");
        assert!(error.advice().unwrap().starts_with("`mount /data`, then run"));
    }
    machine.mounted(&[]);
    machine.answers(&[("blkid", Err(2))]);
    let left = super::refuse_unmounted(&machine.cx).await.unwrap();
    assert_eq!(left, ["the disk of /data is not there: its data stay on it"]);
    machine.answers(&attached);
    let fstab = machine.text("/etc/fstab").unwrap();
    machine.cx.files.write(&[NewFile::public("/etc/fstab", fstab.replace(" /data ", " /elsewhere "))]).unwrap();
    let left = super::refuse_unmounted(&machine.cx).await.unwrap();
    assert_eq!(left, ["/data is not in /etc/fstab any more: the data of its disk stay"]);
}

#[tokio::test]
async fn a_disk_that_is_in_use_fails_the_reset_which_can_run_again() {
    let mut machine = Machine::new(DATA, &[("/dev/vdb", ""), ("/proc/123/comm", "sleep\n")]);
    machine.cx.files.link(Path::new("/proc/123/cwd"), Path::new("/data/x")).unwrap();
    machine.apply("os-disks").await;
    machine.mounted(&[("/dev/vdb", "/data"), ("/dev/vdc", "/data/inner")]);
    machine.answers(&[("umount", Err(32)), ("blkid", Ok("/dev/vdb\n"))]);
    let error = machine.undo_only("os-disks").await.unwrap_err();
    assert!(error.starts_with("cannot unmount /data: the mount /data/inner, sleep (123) use it"), "{error}");
    assert_eq!(machine.text("/etc/fstab"), None, "the rest is undone");
    // What comes after it, such as the removal of the journal, does not run.
    machine.undo_only("os-disks").await.unwrap_err();
    // Somebody unmounts it, or it is not mounted at the next boot.
    machine.mounted(&[]);
    super::refuse_unmounted(&machine.cx).await.unwrap();
    assert!(machine.undo("os-disks").await.is_empty());
    assert!(machine.cx.journal.state().os["os-disks"].set.is_empty());
}

/// pam_limits ends a login whose limit is above the maximum.
#[tokio::test]
async fn a_high_limit_of_open_files_raises_the_maximum_first() {
    let machine = Machine::new("os: {openFiles: 2000000}\n", &[("/proc/sys/fs/nr_open", "1048576\n")]);
    let changes = machine.plan("os-limits").await;
    assert_eq!(changes[1], "set fs.nr_open to 2000000", "{changes:?}");
    machine.apply("os-limits").await;
    assert!(machine.text("/etc/sysctl.d/98-nodeinit-files.conf").unwrap().ends_with("fs.nr_open = 2000000\n"));
    assert!(machine.plan("os-limits").await.is_empty());
    machine.undo("os-limits").await;
    assert_eq!(machine.text("/proc/sys/fs/nr_open").unwrap().trim(), "1048576");
    let higher = Machine::new("os: {openFiles: 2000000}\n", &[("/proc/sys/fs/nr_open", "1073741816\n")]);
    higher.apply("os-limits").await;
    assert_eq!(higher.text("/proc/sys/fs/nr_open").unwrap().trim(), "1073741816", "it is never lowered");
}

#[tokio::test]
async fn ipv6_is_disabled_and_enabled_again() {
    let files = ["all", "default"].map(|name| format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"));
    let machine = Machine::new("os: {ipv6: \"off\"}\n", &[(&files[0], "0\n"), (&files[1], "0\n")]);
    machine.apply("os-ipv6").await;
    let now = |machine: &Machine| files.each_ref().map(|file| machine.text(file).unwrap().trim().to_owned());
    assert_eq!(now(&machine), ["1", "1"]);
    assert!(machine.plan("os-ipv6").await.is_empty());
    let machine = machine.configured("os: {ipv6: keep}\n");
    machine.apply("os-ipv6").await;
    assert_eq!(now(&machine), ["0", "0"], "what was there before");
    assert_eq!(machine.text("/etc/sysctl.d/98-nodeinit-ipv6.conf"), None);
    let link = (
        "/run/systemd/netif/links/2",
        "ADMIN_STATE=configured\nNETWORK_FILE=/run/systemd/network/10-netplan-eth0.network\n",
    );
    let networkd =
        Machine::new("os: {ipv6: \"off\"}\n", &[(&files[0], "0\n"), link, ("/run/systemd/netif/links/3", "")]);
    networkd.apply("os-ipv6").await;
    let drop_in = "/etc/systemd/network/10-netplan-eth0.network.d/98-nodeinit.conf";
    assert!(networkd.text(drop_in).unwrap().contains("[Network]\nLinkLocalAddressing=no\n"));
    assert!(networkd.plan("os-ipv6").await.is_empty());
    networkd.undo("os-ipv6").await;
    assert_eq!(networkd.text(drop_in), None);
    let without = Machine::new("os: {ipv6: \"off\"}\n", &[]);
    assert!(without.apply("os-ipv6").await.is_empty() && without.plan("os-ipv6").await.is_empty());
}

#[tokio::test]
async fn cloud_init_does_not_write_hosts_again() {
    let config = "os: {hosts: {extra: {api.example.org: 10.0.0.5}}}\n";
    let machine = Machine::new(config, &[("/etc/hosts", ""), ("/etc/cloud/cloud.cfg.d/x", "")]);
    machine.apply("os-hosts").await;
    assert!(
        machine.text("/etc/cloud/cloud.cfg.d/99-nodeinit-hosts.cfg").unwrap().ends_with("manage_etc_hosts: false\n")
    );
}

#[tokio::test]
async fn a_disk_with_data_of_no_known_kind_is_refused() {
    let config = "os: {disks: [{device: /dev/vdb, mount: /data}]}\n";
    let mut machine = Machine::new(config, &[("/dev/vdb", "\0\0data\0"), ("/proc/sys/kernel/random/boot_id", "1\n")]);
    let error = machine.refusal("os-disks").await;
    assert_eq!(error, "os.disks: /dev/vdb is not empty: it has data without a known signature");
    // mkfs that has ended, and not formatted: then the data are of somebody else.
    machine.cx.files.write(&[NewFile::public("/dev/vdb", "")]).unwrap();
    machine.answers(&[("mkfs.ext4", Err(1))]);
    machine.refusal("os-disks").await;
    assert!(!super::begun::is_here(&machine.cx, "/dev/vdb").unwrap());
    machine.answers(&[]);
    machine.cx.files.write(&[NewFile::public("/dev/vdb", "\0\0data\0")]).unwrap();
    // What mkfs left that was killed.
    super::begun::note(&machine.cx, "/dev/vdb").await.unwrap();
    let ran = machine.apply("os-disks").await.join("\n");
    assert!(ran.contains("mkfs.ext4"), "{ran}");
    assert!(!super::begun::is_here(&machine.cx, "/dev/vdb").unwrap(), "it has ended");
    super::begun::note(&machine.cx, "/dev/vdb").await.unwrap();
    machine.cx.files.write(&[NewFile::public("/proc/sys/kernel/random/boot_id", "2\n")]).unwrap();
    assert!(!super::begun::is_here(&machine.cx, "/dev/vdb").unwrap(), "another disk may have the name");
}

#[tokio::test]
async fn a_disk_of_the_device_mapper_is_not_partitioned() {
    let config = "os: {disks: [{device: /dev/dm-0, partitions: [{mount: /data}]}]}\n";
    let machine = Machine::new(config, &[("/dev/dm-0", "")]);
    let error = machine.refusal("os-disks").await;
    assert!(error.contains("/dev/dm-0 is a device of the device mapper"), "{error}");
}
