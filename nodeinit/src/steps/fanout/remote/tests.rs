//! Files on another machine, through OpenSSH's own server.
#![allow(clippy::disallowed_methods, reason = "a test starts sshd, and plays the other machine")]

use super::{super::server::Server, *};
use nodeinit_ssh::Executable;
use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

/// The command of a login: /etc/nodeinit and /run/nodeinit are directories of the test. If a file `cut` exists, the
/// connection breaks after so many bytes of standard input, for a command that has any.
const MACHINE: &str = r#"
command=$(printf %s "$SSH_ORIGINAL_COMMAND" | sed "s|/etc/nodeinit|$root/etc|g; s|/run/nodeinit|$root/run|g")
[ -e "$root/cut" ] || exec sh -c "$command"
head -c "$(cat "$root/cut")" >"$root/part"
[ -s "$root/part" ] || exec sh -c "$command" </dev/null
sh -c "$command" <"$root/part"
kill -9 $PPID
"#;

struct Machine {
    server: Server,
    program: Program,
}

impl Machine {
    fn start() -> Self {
        let server = Server::start("");
        let script = server.file("machine");
        fs::write(&script, format!("#!/bin/sh\nroot={}\n{MACHINE}", server.dir.path().display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let forced = format!("command=\"{}\" ", script.display());
        let key = fs::read_to_string(server.file("authorized_keys")).unwrap();
        fs::write(server.file("authorized_keys"), forced + &key).unwrap();
        let path = server.file("nodeinit");
        fs::write(&path, "program").unwrap();
        let executable = Executable::read(fs::File::open(&path).unwrap()).unwrap();
        let program = Program { path: path.display().to_string(), executable };
        Self { server, program }
    }

    async fn remote(&self) -> Remote {
        let task =
            Task { look: "plan --local".to_owned(), command: "up --local".to_owned(), failure: "did not come up" };
        Remote { name: "m2".into(), step: "host-m2".into(), task, session: self.server.session().await }
    }

    fn cut(&self, bytes: usize) {
        fs::write(self.server.file("cut"), bytes.to_string()).unwrap();
    }

    fn repair(&self) {
        fs::remove_file(self.server.file("cut")).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.server.file(name)).unwrap()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.server.file(name)).unwrap().permissions().mode() & 0o777
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.server.file(directory)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn a_broken_connection_installs_no_part_of_the_configuration() {
    let machine = Machine::start();
    let config = |version: &str| format!("{} on m1.\n{version}\n", payload::HEAD);
    machine.remote().await.equip(&machine.program, Some((CONFIG, &config("one"))), &[], &[]).await.unwrap();
    assert_eq!(machine.text("etc/config.yaml"), config("one"));
    assert_eq!((machine.mode("etc"), machine.mode("etc/config.yaml")), (0o755, 0o600));
    let written = || fs::metadata(machine.server.file("etc/config.yaml")).unwrap().modified().unwrap();
    let before = written();
    machine.remote().await.equip(&machine.program, Some((CONFIG, &config("one"))), &[], &[]).await.unwrap();
    assert_eq!(written(), before, "what is the same is not written again");

    machine.cut(30);
    let error =
        machine.remote().await.equip(&machine.program, Some((CONFIG, &config("two"))), &[], &[]).await.unwrap_err();
    assert_eq!(machine.text("etc/config.yaml"), config("one"), "half a file is there");
    assert_eq!(error.exit, Exit::TryAgain, "{error}");
    assert_eq!(machine.names("etc"), ["config.yaml"]);

    machine.repair();
    machine.remote().await.equip(&machine.program, Some((CONFIG, &config("two"))), &[], &[]).await.unwrap();
    assert_eq!(machine.text("etc/config.yaml"), config("two"));
    assert_eq!(machine.names("etc"), ["config.yaml"], "our own configuration is not kept beside");
}

#[tokio::test]
async fn a_newer_nodeinit_is_never_replaced() {
    let machine = Machine::start();
    let config = format!("{} on m1.\n", payload::HEAD);
    let install = |text: &str| {
        // Our program is open, and must not change.
        fs::remove_file(&machine.program.path).unwrap();
        fs::write(&machine.program.path, text).unwrap();
        fs::set_permissions(&machine.program.path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let [major, minor, patch] = VERSION.split('.').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>()[..] else {
        panic!("{VERSION}")
    };
    for newer in [(major, minor, patch + 1), (major, minor + 10, 0), (major + 1, 0, 0)] {
        let newer = format!("{}.{}.{}", newer.0, newer.1, newer.2);
        for suffix in ["", "-rc.1"] {
            install(&format!("#!/bin/sh\necho nodeinit {newer}{suffix}\n"));
            let error =
                machine.remote().await.equip(&machine.program, Some((CONFIG, &config)), &[], &[]).await.unwrap_err();
            let expected = format!("m2 has nodeinit {newer}, which is newer than {VERSION}");
            assert!(error.to_string().starts_with(&expected), "{error}");
            assert!(machine.text("nodeinit").contains(&newer) && !machine.server.file("etc").exists());
        }
    }
    let older = ["0.0.0".to_owned(), format!("{VERSION}-rc.1"), "9; reboot".to_owned(), "99".to_owned()];
    let older = older.map(|version| format!("#!/bin/sh\necho nodeinit '{version}'\n"));
    for replaceable in older.iter().map(String::as_str).chain(["#!/bin/sh\nexit 1\n", "no program"]) {
        install(replaceable);
        machine.remote().await.equip(&machine.program, Some((CONFIG, &config)), &[], &[]).await.unwrap();
        assert_eq!(machine.text("nodeinit"), "program");
    }
}

#[tokio::test]
async fn files_of_releases_come_along() {
    let machine = Machine::start();
    let config = format!("{} on m1.\n", payload::HEAD);
    let release =
        |text: &'static str| [("/etc/nodeinit/releases/1.38.yaml".to_owned(), Bytes::from_static(text.as_bytes()))];
    for text in ["one", "two"] {
        machine.remote().await.equip(&machine.program, Some((CONFIG, &config)), &release(text), &[]).await.unwrap();
        assert_eq!(machine.text("etc/releases/1.38.yaml"), text);
        let planned =
            machine.remote().await.plan(&machine.program, Some(&config), &release("three"), Vec::new()).await.unwrap();
        assert_eq!(planned, None, "it has another file");
    }
}

#[tokio::test]
async fn a_machine_says_whether_it_lacks_artifacts() {
    let machine = Machine::start();
    let config = format!("{} on m1.\n", payload::HEAD);
    let lacks = async |paths: &[PathBuf]| {
        machine.remote().await.equip(&machine.program, Some((CONFIG, &config)), &[], paths).await.unwrap()
    };
    let there = machine.server.file("it's");
    fs::write(&there, "").unwrap();
    assert!(!lacks(&[]).await.lacks);
    assert!(!lacks(std::slice::from_ref(&there)).await.lacks);
    assert!(lacks(&[there, machine.server.file("bin/kubelet")]).await.lacks);
}

#[tokio::test]
async fn a_configuration_of_the_operator_is_kept_beside() {
    let machine = Machine::start();
    fs::create_dir(machine.server.file("etc")).unwrap();
    fs::write(machine.server.file("etc/config.yaml"), "theirs").unwrap();
    fs::set_permissions(machine.server.file("etc/config.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    let ours = format!("{} on m1.\n", payload::HEAD);
    for _ in 0..2 {
        machine.remote().await.equip(&machine.program, Some((CONFIG, &ours)), &[], &[]).await.unwrap();
        assert_eq!(machine.text("etc/config.yaml"), ours);
        assert_eq!(machine.text("etc/config.yaml.before"), "theirs");
        assert_eq!(machine.mode("etc/config.yaml.before"), 0o640);
    }
}

#[tokio::test]
async fn a_broken_connection_installs_no_part_of_the_secrets() {
    let machine = Machine::start();
    let secrets = |text: &str| Secret::new(text.to_owned());
    machine.cut(5);
    machine.remote().await.send(&secrets("first secrets")).await.unwrap_err();
    assert!(machine.names("run").is_empty(), "{:?}", machine.names("run"));

    machine.repair();
    machine.remote().await.send(&secrets("first secrets")).await.unwrap();
    assert_eq!((machine.mode("run"), machine.mode("run/secrets.yaml")), (0o700, 0o600));

    machine.cut(5);
    let error = machine.remote().await.send(&secrets("second secrets")).await.unwrap_err();
    assert_eq!(machine.text("run/secrets.yaml"), "first secrets");
    assert_eq!(error.exit, Exit::TryAgain, "{error}");

    machine.repair();
    // What an upload left whose machine lost its power, and what an earlier version of nodeinit left.
    fs::write(machine.server.file("run/.secrets.yaml.nodeinit-new.4194305"), "half").unwrap();
    fs::write(machine.server.file("run/secrets.yaml.new"), "half").unwrap();
    machine.remote().await.forget().await.unwrap();
    assert!(machine.names("run").is_empty(), "{:?}", machine.names("run"));
}

#[tokio::test]
async fn a_machine_that_is_locked_forever_ends_the_run() {
    let machine = Machine::start();
    let busy = "another nodeinit (process 12) is changing this machine";
    let event = format!(r#"{{"event":"failed","step":"lock","error":"{busy}","causes":[],"hint":null}}"#);
    fs::write(&machine.program.path, format!("#!/bin/sh\necho '{event}'; exit 75\n")).unwrap();
    fs::set_permissions(&machine.program.path, fs::Permissions::from_mode(0o755)).unwrap();
    let (_dir, mut cx) = crate::context::testing::context();
    let timeouts = &mut std::sync::Arc::make_mut(&mut cx.cluster).timeouts;
    let nothing = Duration::ZERO;
    (timeouts.download, timeouts.image_import, timeouts.kubelet) = (nothing, nothing, nothing);
    (timeouts.etcd, timeouts.control_plane, timeouts.join) = (nothing, nothing, nothing);
    timeouts.node = Duration::from_secs(5);
    let remote = machine.remote().await;
    let mut locked = LockWait::new("m2", run_limit(&cx.cluster.timeouts));
    let up = remote.run(&cx, &machine.program, &mut locked);
    let ended = tokio::time::timeout(Duration::from_secs(60), up).await.unwrap();
    let error = ended.err().unwrap();
    assert_eq!(error.exit, Exit::TryAgain);
    assert!(error.to_string().contains("the other nodeinit run on m2"), "{error}");
    assert!(error.to_string().contains("5 s") && error.to_string().contains(busy), "{error}");
}
