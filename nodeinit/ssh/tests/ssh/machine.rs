//! Machines that nodeinit brings up: the way to them, their files, and nodeinit there.

use crate::server::{LIMIT, Server, free_address};
use bytes::Bytes;
use nodeinit_protocol::{Event, Line};
use nodeinit_ssh::{Executable, LockWait, NotReached, Ran, RemoteFile, Session, SshError, Target, Wanted, Way};
use std::{
    cell::RefCell,
    convert::Infallible,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    time::{Duration, Instant},
};

async fn nothing(_: &Target, _: &str) -> Result<(), Infallible> {
    Ok(())
}

fn way(server: &Server) -> Way {
    Way { key: server.key.clone(), target: server.target(), jump: None }
}

#[tokio::test]
async fn host_keys_that_are_accepted_on_first_use_are_handed_over_before_the_connection() {
    let (jump, server) = (Server::start(""), Server::start(""));
    fs::copy(server.file("authorized_keys"), jump.file("authorized_keys")).unwrap();
    let unknown = |server: &Server, name: &str| Target {
        name: name.into(),
        host_keys: Vec::new(),
        trust_on_first_use: true,
        ..server.target()
    };
    let mut way =
        Way { key: server.key.clone(), target: unknown(&server, "m2"), jump: Some(unknown(&jump, "jump-host")) };
    let trusted = RefCell::new(Vec::new());
    let trust = async |target: &Target, key: &str| {
        trusted.borrow_mut().push((target.name.clone(), key.to_owned()));
        Ok::<(), Infallible>(())
    };
    way.connect(LIMIT, trust).await.unwrap();
    let both = [("jump-host".to_owned(), jump.host_key.clone()), ("m2".to_owned(), server.host_key.clone())];
    assert_eq!(trusted.take(), both);

    let refuse = async |target: &Target, _: &str| Err(format!("not {}", target.name));
    let refused = way.connect(LIMIT, refuse).await.err().unwrap();
    assert!(matches!(&refused, NotReached::HostKey(why) if why == "not jump-host"), "{refused:?}");

    // A known key is not handed over again.
    way.jump = Some(jump.target());
    let trusted = RefCell::new(Vec::new());
    let trust = async |target: &Target, _: &str| {
        trusted.borrow_mut().push(target.name.clone());
        Ok::<(), Infallible>(())
    };
    way.attempt(trust).await.unwrap();
    assert_eq!(trusted.take(), ["m2"]);
}

#[tokio::test]
async fn only_what_may_change_is_waited_for() {
    let server = Server::start("");
    let limit = Duration::from_secs(2);
    let mut way = way(&server);
    way.target.address = free_address();
    let NotReached::Late(late) = way.connect(limit, nothing).await.err().unwrap() else { panic!("nobody listens") };
    assert_eq!(late.what, format!("SSH to m2 at {}", way.target.address));
    assert!(late.seen.starts_with("cannot reach the SSH server of m2"), "{late}");

    way.target = Target { host_keys: vec![Server::start("").host_key.clone()], ..server.target() };
    let begun = Instant::now();
    let wrong = way.connect(LIMIT, nothing).await.err().unwrap();
    assert!(matches!(wrong, NotReached::Ssh(SshError::WrongHostKey { .. })), "{wrong:?}");
    assert!(begun.elapsed() < LIMIT / 2);
}

#[tokio::test]
async fn files_are_uploaded_where_their_digests_differ() {
    let server = Server::start("");
    let session = way(&server).connect(LIMIT, nothing).await.unwrap();
    let (config, program) = (server.file("it's etc/config.yaml"), server.file("program"));
    fs::write(server.file("built"), [0x7f; 100_000]).unwrap();
    let executable = Executable::read(fs::File::open(server.file("built")).unwrap()).unwrap();
    let (config, program) = (config.to_str().unwrap(), program.to_str().unwrap());
    let place = async |text: &'static str| {
        let to = RemoteFile { path: config, mode: 0o600, directory: Some(0o700) };
        let files = [Wanted::executable(program, &executable), Wanted::new(to, Bytes::from_static(text.as_bytes()))];
        let placed = session.place("echo before", &files).await.unwrap();
        assert!(placed.output.starts_with("before\n"), "{placed:?}");
        for file in &files {
            assert_eq!(session.run(&file.is_there(), b"", LIMIT).await.unwrap().code, 0);
        }
        placed.uploaded
    };
    assert_eq!(place("one").await, [program, config]);
    assert_eq!(place("one").await, Vec::<&str>::new());
    assert_eq!(place("two").await, [config]);
    assert_eq!(fs::read(config).unwrap(), b"two");
    assert_eq!(fs::read(program).unwrap(), [0x7f; 100_000]);
    let mode = |path: &str| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(program), mode(config)), (0o755, 0o600));
    // As long as before.
    fs::write(program, [0x7e; 100_000]).unwrap();
    assert_eq!(place("two").await, [program]);

    let to = RemoteFile { path: config, mode: 0o600, directory: None };
    let files = [Wanted::new(to, Bytes::from_static(b"three"))];
    let error = session.place("echo no >&2; exit 7", &files).await.unwrap_err();
    assert_eq!(error.to_string(), "m2: a command ended with 7: no");
    assert_eq!(fs::read(config).unwrap(), b"two");
}

/// Puts a shell script in the place of nodeinit.
fn install(server: &Server, script: &str) {
    let path = server.file("bin/nodeinit");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs it, and returns the events that came, too. It waits for the lock for a second.
async fn run(session: &Session) -> (Ran, Vec<Line>) {
    let mut lines = Vec::new();
    let (mut lock, each) = (LockWait::new("m2", Duration::from_secs(1)), |line: &Line| lines.push(line.clone()));
    let ran = session.nodeinit("nodeinit up --local", b"permit", LIMIT, &mut lock, |_| {}, each).await.unwrap();
    (ran, lines)
}

#[tokio::test]
async fn events_are_followed_and_failures_collected() {
    let server = Server::start("");
    let session = way(&server).connect(LIMIT, nothing).await.unwrap();
    const DONE: &str = r#"{"event":"done","step":"etcd","changed":true,"seconds":1.5,"elapsed":2.0}"#;
    let failed = |host: &str, step: &str| format!(r#"{{"event":"failed","step":"{step}","error":"no"{host}}}"#);

    install(&server, &format!("echo Welcome; echo '{DONE}'; [ \"$*/$(cat)\" = 'up --local --output json/permit' ]"));
    let (ran, lines) = run(&session).await;
    assert!(matches!(ran, Ran::Done), "{ran:?}");
    assert!(matches!(&lines[..], [Line { event: Event::Done { step, .. }, .. }] if step == "etcd"), "{lines:?}");

    let (own, other) = (failed("", "etcd"), failed(r#","host":"m3""#, "node"));
    install(&server, &format!("echo '{own}'; echo '{other}'; echo noise >&2; exit 3"));
    let (ran, lines) = run(&session).await;
    assert!(matches!(&ran, Ran::Failed { code: 3, why } if why == "etcd: no; m3: node: no"), "{ran:?}");
    assert_eq!(lines.len(), 2);

    for (script, expected) in [("echo ' noise ' >&2; exit 9", "noise"), ("exit 9", "exit code 9")] {
        install(&server, script);
        let (ran, _) = run(&session).await;
        assert!(matches!(&ran, Ran::Failed { code: 9, why } if why == expected), "{ran:?}");
    }
}

#[tokio::test]
async fn a_run_that_holds_the_lock_and_a_broken_connection_are_told_apart_from_failures() {
    let server = Server::start("");
    let session = way(&server).connect(LIMIT, nothing).await.unwrap();
    let locked = r#"{"event":"failed","step":"lock","error":"another nodeinit (process 12) is changing this machine"}"#;
    install(&server, &format!("echo '{locked}'; exit 75"));
    let (ran, lines) = run(&session).await;
    let expected = "another nodeinit (process 12) is changing this machine";
    assert!(matches!(&ran, Ran::Locked(late) if late.seen == expected), "{ran:?}");
    assert!(lines.is_empty(), "{lines:?}");

    // The other run ends during the wait.
    let ended = server.file("ended").display().to_string();
    install(&server, &format!("[ -e {ended} ] && exit; touch {ended}; echo '{locked}'; exit 75"));
    let (ran, _) = run(&session).await;
    assert!(matches!(ran, Ran::Done), "{ran:?}");

    // A deadline of the run itself.
    install(&server, r#"echo '{"event":"failed","step":"etcd","error":"timed out"}'; exit 75"#);
    let (ran, _) = run(&session).await;
    assert!(matches!(&ran, Ran::Failed { code: 75, why } if why == "etcd: timed out"), "{ran:?}");

    install(&server, "kill -9 $PPID; sleep 1");
    let (ran, _) = run(&session).await;
    assert!(matches!(&ran, Ran::Lost(SshError::Broken { .. })), "{ran:?}");
}
