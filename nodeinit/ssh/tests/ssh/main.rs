//! The SSH client against OpenSSH's own server, which runs as a child of the test on loopback.
#![allow(clippy::unwrap_used, reason = "a test panics on an unexpected value")]
#![allow(clippy::disallowed_methods, reason = "a test starts sshd, and writes its files")]

mod machine;
mod server;

use bytes::Bytes;
use nodeinit_ssh::{ClientKey, Content, Phase, RemoteFile, Session, SshError, Target};
use server::{LIMIT, Server, free_address, user};
use std::{
    cell::RefCell,
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    os::unix::fs::MetadataExt,
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::io::AsyncWriteExt;

const SHORT: Duration = Duration::from_millis(400);

fn file(path: &str, mode: u32) -> RemoteFile<'_> {
    RemoteFile { path, mode, directory: None }
}

async fn refusal(target: &Target, via: Option<&Session>, key: &ClientKey, limit: Duration) -> SshError {
    match Session::connect(target, via, key, limit).await {
        Ok(_) => panic!("it let us in"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_command_ends_with_its_code_and_its_output() {
    let server = Server::start("");
    let session = server.session().await;
    assert_eq!(session.host_key(), server.host_key);
    let output = session.run("cat; echo \"it's\" wrong >&2; exit 7", b"in\n", LIMIT).await.unwrap();
    assert_eq!((output.code, &*output.stdout, &*output.stderr), (7, "in\n", "it's wrong\n"));
    let root = session.run("id -u", b"", LIMIT).await.unwrap().stdout;
    assert!(root == "0\n" || user() != "root");
    let output = session.run("head -c 7000000 /dev/zero | tr '\\0' x", b"", LIMIT).await.unwrap();
    assert_eq!((output.code, output.stdout.len()), (0, 7_000_000));
    // Standard input that nobody reads, and one that is large.
    assert_eq!(session.run("true", &[b'x'; 5_000_000], LIMIT).await.unwrap().code, 0);
    let counted = session.run("cat | wc -c", &[b'x'; 5_000_000], LIMIT).await.unwrap();
    assert_eq!(counted.stdout.trim(), "5000000");
    let killed = session.run("kill -9 $$", b"", LIMIT).await.unwrap_err();
    assert!(matches!(&killed, SshError::Killed { signal, .. } if signal == "KILL"), "{killed}");
    let endless = session.run("yes", b"", LIMIT).await.unwrap_err();
    assert!(matches!(endless, SshError::TooMuch { .. }), "{endless}");
    let many: Vec<_> = (0..8).map(|n| (n, format!("sleep 0.2; exit {n}"))).collect();
    let all = futures_util::future::join_all(many.iter().map(|(_, command)| session.run(command, b"", LIMIT)));
    for ((n, _), output) in many.iter().zip(all.await) {
        assert_eq!(output.unwrap().code, *n);
    }
}

#[tokio::test]
async fn lines_come_as_they_are_written() {
    let server = Server::start("");
    let session = server.session().await;
    let begun = Instant::now();
    let seen = RefCell::new(Vec::new());
    let each = |line: &str| seen.borrow_mut().push((line.to_owned(), begun.elapsed()));
    let command = "printf 'one\\ntw'; sleep 1; printf 'o\\nend'; echo last >&2; exit 3";
    let output = session.lines(command, b"", LIMIT, each).await.unwrap();
    assert_eq!((output.code, &*output.stdout, &*output.stderr), (3, "", "last\n"));
    let seen = seen.into_inner();
    let lines: Vec<&str> = seen.iter().map(|(line, _)| &**line).collect();
    assert_eq!(lines, ["one", "two", "end"]);
    assert!(seen[1].1 - seen[0].1 > Duration::from_millis(500), "{seen:?}");
}

#[tokio::test]
async fn only_the_right_host_is_talked_to() {
    let server = Server::start("");
    let other = Server::start("");
    let mut target = Target { host_keys: vec![other.host_key.clone()], trust_on_first_use: true, ..server.target() };
    let error = refusal(&target, None, &server.key, LIMIT).await;
    assert!(matches!(error, SshError::WrongHostKey { .. }) && !error.is_temporary(), "{error}");
    let shown = nodeinit_ssh::fingerprint(&server.host_key).unwrap();
    assert!(error.to_string().contains(&shown), "{error}");
    let fingerprint = Command::new("ssh-keygen").args(["-l", "-f"]).arg(server.file("host.pub")).output().unwrap();
    let fingerprint = String::from_utf8(fingerprint.stdout).unwrap();
    assert_eq!(fingerprint.split_whitespace().nth(1), shown.split_whitespace().nth(1));
    target.host_keys.clear();
    assert!(Session::connect(&target, None, &server.key, LIMIT).await.is_ok());
    target.trust_on_first_use = false;
    let error = refusal(&target, None, &server.key, LIMIT).await;
    assert!(
        matches!(error, SshError::UnknownHostKey { .. }) && error.to_string().contains(&server.host_key),
        "{error}"
    );
    // Of its two keys, that is shown of which the type is known.
    target.host_keys = vec![fs::read_to_string(server.file("host-ecdsa.pub")).unwrap()];
    let session = Session::connect(&target, None, &server.key, LIMIT).await.unwrap();
    assert!(session.host_key().starts_with("ecdsa-sha2-nistp256 "));
    let log = fs::read_to_string(server.file("log")).unwrap();
    assert_eq!(log.matches("Accepted publickey").count(), 2, "a refused host was told who we are: {log}");
}

#[tokio::test]
async fn a_host_key_is_shown_to_somebody_who_does_not_log_in() {
    let server = Server::start("");
    // Whatever is known of it.
    for host_keys in [Vec::new(), vec![Server::start("").host_key.clone()]] {
        let target = Target { host_keys, ..server.target() };
        assert_eq!(Session::shown_host_key(&target, LIMIT).await.unwrap(), server.host_key);
    }
    let log = fs::read_to_string(server.file("log")).unwrap();
    assert!(!log.contains("publickey"), "it was told who we are: {log}");
    let nowhere = Target { address: free_address(), ..server.target() };
    let error = Session::shown_host_key(&nowhere, LIMIT).await.unwrap_err();
    assert!(matches!(error, SshError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_refused_key_is_named() {
    let server = Server::start("");
    let other = Server::start("");
    let error = refusal(&server.target(), None, &other.key, LIMIT).await;
    assert!(matches!(error, SshError::Refused { .. }) && error.is_temporary(), "{error}");
    assert!(error.to_string().contains(other.key.public()), "{error}");
    let server = Server::start("AuthenticationMethods publickey,password\nPasswordAuthentication yes");
    let error = refusal(&server.target(), None, &server.key, LIMIT).await;
    assert!(!error.is_temporary(), "{error}");
}

#[tokio::test]
async fn servers_that_do_not_speak_ssh_are_told_apart() {
    let key = Server::start("").key.clone();
    let target =
        |address| Target { name: "m2".into(), address, user: user(), host_keys: Vec::new(), trust_on_first_use: true };
    let error = refusal(&target(free_address()), None, &key, LIMIT).await;
    assert!(matches!(error, SshError::Unreachable { .. }) && error.is_temporary(), "{error}");

    // The kernel accepts; nobody says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = refusal(&target(silent.local_addr().unwrap()), None, &key, SHORT).await;
    assert!(matches!(error, SshError::TimedOut { phase: Phase::Handshake, .. }) && error.is_temporary(), "{error}");

    const ZEROS: [u8; 5000] = [0; 5000];
    let not_ssh = b"SSH-2.0-x\r\n\x00\x00\x00\x0c\x0a\x14garbage garbage garbage garbage".as_slice();
    let huge = b"SSH-2.0-x\r\n\xff\xff\xff\xff\x0a".as_slice();
    for (said, temporary) in
        [(&ZEROS[..], false), (b"HTTP/1.1 400 Bad Request\r\n\r\n", true), (b"", true), (not_ssh, false), (huge, false)]
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.write_all(said).await;
            let _ = stream.shutdown().await;
            // Read, so that the end is no reset.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        });
        let error = refusal(&target(address), None, &key, LIMIT).await;
        assert!(matches!(error, SshError::Handshake { .. }), "{said:?}: {error}");
        assert_eq!(error.is_temporary(), temporary, "{said:?}: {error:?}");
        server.abort();
    }
}

#[tokio::test]
async fn a_jump_host_leads_on() {
    let (jump, server) = (Server::start(""), Server::start(""));
    let via = jump.session().await;
    let session = Session::connect(&server.target(), Some(&via), &server.key, LIMIT).await.unwrap();
    assert_eq!(session.host_key(), server.host_key);
    let content = Bytes::from(vec![7; 5_000_000]);
    let to = server.file("uploaded");
    session.upload(content.clone(), &file(to.to_str().unwrap(), 0o600), LIMIT).await.unwrap();
    assert_eq!(fs::read(to).unwrap(), content);

    let nowhere = Target { address: free_address(), ..server.target() };
    let error = refusal(&nowhere, Some(&via), &server.key, LIMIT).await;
    assert!(matches!(error, SshError::NoTunnel { .. }) && error.is_temporary(), "{error}");

    drop(jump);
    let strict = Server::start("AllowTcpForwarding no");
    let via = strict.session().await;
    let error = refusal(&server.target(), Some(&via), &server.key, LIMIT).await;
    assert!(matches!(error, SshError::NoTunnel { .. }) && !error.is_temporary(), "{error}");
}

#[tokio::test]
async fn a_limit_ends_a_command_and_not_the_connection() {
    let server = Server::start("");
    let session = server.session().await;
    let error = session.run("sleep 1", b"", SHORT).await.unwrap_err();
    assert!(matches!(error, SshError::TimedOut { phase: Phase::Command, .. }), "{error}");
    // Its output goes nowhere, and holds nobody up.
    let error = session.lines("yes", b"", SHORT, |_| ()).await.unwrap_err();
    assert!(matches!(error, SshError::TimedOut { phase: Phase::Command, .. }), "{error}");
    assert_eq!(session.run("echo yes", b"", LIMIT).await.unwrap().stdout, "yes\n");
    // sshd allows ten at once, and gives a place back when its command has ended: also that of one given up at once.
    let all: Vec<_> = (0..12).map(|_| session.run("sleep 2", b"", LIMIT)).collect();
    let all = futures_util::future::join_all(all).await;
    let full: Vec<_> = all.into_iter().filter_map(Result::err).collect();
    assert!(full.len() >= 2 && full.iter().all(|e| matches!(e, SshError::Busy { .. }) && e.is_temporary()), "{full:?}");
    for n in 0..30 {
        let _ = session.run("true", b"", Duration::from_millis(n % 5)).await;
    }
    let begun = Instant::now();
    loop {
        let ten: Vec<_> = (0..10).map(|_| session.run("sleep 1", b"", LIMIT)).collect();
        if futures_util::future::join_all(ten).await.iter().all(Result::is_ok) {
            break;
        }
        assert!(begun.elapsed() < LIMIT, "places were lost");
    }
}

#[tokio::test]
async fn an_upload_is_whole_or_did_not_happen() {
    let server = Server::start("");
    let session = server.session().await;
    let to = server.file("it's \"the\" $file");
    let name = to.to_str().unwrap();
    session.upload(Bytes::from_static(b"old"), &file(name, 0o640), LIMIT).await.unwrap();
    let content = Bytes::from((0..50_000_000_u32).map(|n| (n >> 8) as u8).collect::<Vec<_>>());
    // Given up in the middle: the old one stays, and nothing beside it.
    session.upload(content.clone(), &file(name, 0o755), Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(fs::read(&to).unwrap(), b"old");
    session.upload(content.clone(), &file(name, 0o755), LIMIT).await.unwrap();
    assert!(fs::read(&to).unwrap() == content);
    assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o755);
    session.upload(Bytes::new(), &file(name, 0o600), LIMIT).await.unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"");
    let from = server.file("from");
    fs::write(&from, &content).unwrap();
    let of_file = |length| Content::File { file: Arc::new(fs::File::open(&from).unwrap()), length };
    session.upload(of_file(4_999_999), &file(name, 0o600), LIMIT).await.unwrap();
    assert!(fs::read(&to).unwrap() == content[..4_999_999]);
    let error = session.upload(of_file(50_000_001), &file(name, 0o600), LIMIT).await.unwrap_err();
    assert!(matches!(error, SshError::Input { .. }), "the file has become shorter: {error}");
    let left = || {
        fs::read_dir(server.dir.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name().to_str().unwrap().contains("nodeinit-new"))
    };
    let begun = Instant::now();
    while left().count() > 0 && begun.elapsed() < LIMIT {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(left().count(), 0);
    let error = session.upload(Bytes::new(), &file("/none/file", 0o600), LIMIT).await.unwrap_err();
    assert!(error.to_string().contains("cannot write /none/file on m2: "), "{error}");
}

#[tokio::test]
async fn a_killed_server_is_noticed() {
    let server = Server::start("");
    let session = server.session().await;
    let begun = Instant::now();
    let seen = RefCell::new(Vec::new());
    let each = |line: &str| seen.borrow_mut().push(line.to_owned());
    // The shell's parent is the server's process for this connection.
    let error =
        session.lines("echo one; sleep 0.5; kill -9 $PPID; sleep 1; echo two", b"", LIMIT, each).await.unwrap_err();
    assert!(matches!(error, SshError::Broken { .. }) && error.is_temporary(), "{error}");
    assert_eq!(seen.into_inner(), ["one"]);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(session.is_closed());
    let error = session.run("true", b"", LIMIT).await.unwrap_err();
    assert!(matches!(error, SshError::Broken { .. }), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("eof") || cause.contains("reset"), "it goes on telling why: {cause}");
}

#[tokio::test]
async fn what_is_lent_answers_on_the_other_machines_loopback() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let lent = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                std::io::copy(&mut std::io::repeat(b'x').take(line.trim().parse().unwrap()), &mut &stream).unwrap();
            });
        }
    });
    let server = Server::start("");
    let session = server.session().await;
    let port = session.lend(lent).await.unwrap();
    let ask = |bytes: u32| format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo {bytes} >&3; wc -c <&3");
    let ask = |bytes| format!("bash -c '{}'", ask(bytes));
    // Larger than any window, and several at once.
    let (large, small, none) = (ask(300_000_000), ask(1), ask(0));
    let all = [&large, &small, &none].map(|command| session.run(command, b"", LIMIT));
    let counts: Vec<String> =
        futures_util::future::join_all(all).await.into_iter().map(|output| output.unwrap().stdout).collect();
    assert_eq!(counts, ["300000000\n", "1\n", "0\n"]);
    drop(session);

    let server = Server::start("AllowTcpForwarding no");
    let error = server.session().await.lend(lent).await.unwrap_err();
    assert!(matches!(error, SshError::NotLent { .. }) && !error.is_temporary(), "{error}");
}
