//! The shell script that starts flanneld, with a flanneld that fails.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test runs the command of a container")]

use nodeinit_config::yaml;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const OBJECTS: &str = include_str!("golden/render/addons/flannel.yaml");

/// Starts the container's command in a directory that has its files.
fn start(directory: &Path, flanneld: &str) -> Child {
    let set = OBJECTS.split("\n---\n").find(|object| object.contains("kind: DaemonSet")).unwrap();
    let set = yaml::document(set).unwrap();
    let script = set.pointer("/spec/template/spec/containers/0/command/2").unwrap().as_str().unwrap();
    let there = directory.display().to_string();
    let program = directory.join("flanneld");
    fs::write(&program, format!("#!/bin/sh\ncd {there}; echo >>starts\n{flanneld}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let script =
        script.replace("/opt/bin", &there).replace("/run/flannel", &there).replace("/etc/", &format!("{there}/"));
    let script = script.replace("iptables -w -t nat -nL KUBE-SERVICES", "true");
    Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn starts(directory: &Path) -> usize {
    fs::read_to_string(directory.join("starts")).unwrap_or_default().lines().count()
}

#[test]
fn flanneld_is_started_again_until_it_has_a_lease_and_stops_with_its_container() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let flanneld = "[ $(wc -l <starts) -ge 3 ] || exit 1
        trap 'kill $!; echo >stopped; exit 0' TERM; echo lease >subnet.env; sleep 60 & wait";
    let mut container = start(directory.path(), flanneld);
    until(|| at("subnet.env").exists());
    assert_eq!(starts(directory.path()), 3);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(container.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let ended = container.wait().unwrap();
    assert!(ended.success() && at("stopped").exists(), "{ended}");
}

#[test]
fn a_flanneld_that_fails_after_it_had_a_lease_ends_the_container() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("subnet.env"), "lease").unwrap();
    let ended = start(directory.path(), "exit 7").wait().unwrap();
    assert_eq!((ended.code(), starts(directory.path())), (Some(7), 1));
}
