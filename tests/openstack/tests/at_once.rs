//! Two provisioner runs on the same cluster.

use nodeinit_tests::{Cloud, Output};
use std::{thread, time::Duration};

#[test]
fn two_applies_at_once() {
    let cloud = Cloud::empty();
    let (one, other) = (cloud.start("apply --yes --resources-only"), cloud.start("apply --yes --resources-only"));
    let ended = [one.wait(), other.wait()];
    let text = format!("{}\n{}", ended[0].text(), ended[1].text());
    let created = |output: &Output| output.text().contains("created  network/api");
    assert_eq!(ended.iter().filter(|output| output.code == 0 && created(output)).count(), 1, "{text}");
    let other = ended.iter().find(|output| !created(output)).expect(&text);
    match other.code {
        // Its lock is the older one by Neutron's whole seconds, but came second: it waits for the run that works.
        0 => other.says(&["everything matches the configuration; nothing to do"]),
        75 => other.says(&["another run holds the cluster's lock: ", "--break-lock"]),
        code => panic!("exit code {code}:\n{text}"),
    };
    cloud.all_is_well();

    let (one, other) = (cloud.start("destroy --yes"), cloud.start("destroy --yes"));
    let ended = [one.wait(), other.wait()];
    assert!(ended.iter().any(|output| output.code == 0), "{}\n{}", ended[0].text(), ended[1].text());
    assert!(ended.iter().all(|output| [0, 75].contains(&output.code)), "{}\n{}", ended[0].text(), ended[1].text());
    assert_eq!(cloud.objects(), [""; 0]);
}

#[test]
fn a_run_on_another_machine() {
    let cloud = Cloud::empty();
    // The run cannot finish until the test starts cinder-volume again.
    cloud.verb(&["stop", "cinder-volume"]);
    let group = |verb: &[&str]| cloud.verb(&[&["os", "security", "group"], verb].concat());
    let running = cloud.start("apply --yes --resources-only");
    cloud.until("the run holds the lock", 60, || cloud.objects().iter().any(|one| one.ends_with(" nodeinit-lock")));
    let description = group(&["show", "nodeinit-lock", "-f", "value", "-c", "description"]);
    // Someone takes over the lock: the next heartbeat finds that it is gone.
    group(&["delete", "nodeinit-lock"]);
    let ended = running.wait().exits(75);
    ended.says(&["another run has taken over the cluster's lock; this run stopped", "continues where it stopped"]);

    // The same lock, as a run on another machine would hold it: only the heartbeat shows that the holder is alive.
    let (mark, process) = description.trim().split_once(" process=").unwrap();
    let (before, _) = process.split_once(' ').unwrap();
    let (number, _) = before.rsplit_once(':').unwrap();
    let elsewhere = format!("{mark} process={number}:0123456789abcdef host=elsewhere");
    group(&["create", "nodeinit-lock", "--description", &elsewhere]);
    let running = cloud.start("apply --yes --resources-only");
    thread::sleep(Duration::from_secs(10));
    group(&["set", "nodeinit-lock", "--description", &elsewhere.replace(" beat=", " beat=9")]);
    let ended = running.wait().exits(75);
    ended.says(&[
        "holds the cluster's lock, but sent no heartbeat for",
        "another run holds the cluster's lock: ",
        " on elsewhere",
    ]);

    cloud.verb(&["start", "cinder-volume"]);
    cloud
        .run("apply --yes --resources-only --break-lock")
        .exits(0)
        .says(&["took over the lock of ", "--break-lock was given"]);
    cloud.all_is_well();
}
