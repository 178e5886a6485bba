//! Two provisioner runs on the same cluster.

use nodeinit_tests::Cloud;
use std::{thread, time::Duration};

#[test]
fn two_applies_at_once() {
    let cloud = Cloud::empty();
    let (one, other) = (cloud.start("apply --yes --resources-only"), cloud.start("apply --yes --resources-only"));
    let ended = [one.wait(), other.wait()];
    let mut codes = [ended[0].code, ended[1].code];
    codes.sort_unstable();
    assert_eq!(codes, [0, 75], "{}\n{}", ended[0].text(), ended[1].text());
    let refused = ended.iter().find(|output| output.code == 75).unwrap();
    refused.says(&["another run holds the cluster's lock: ", "--break-lock"]);
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
