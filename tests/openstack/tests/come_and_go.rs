//! Adding and removing machines, one at a time.

use nodeinit_tests::Cloud;
use serde_json::Value;

const IMAGE: &str = "--image=registry.k8s.io/pause:3.10.2";

#[test]
fn a_worker_comes_and_goes() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1"], &["t4"]);
    cloud.run("apply --yes").exits(0);
    assert_eq!(rows(&cloud), ["t1 first-master ACTIVE Ready leader", "t4 worker ACTIVE Ready -"]);

    cloud.machines(&["t1"], &["t4", "t5"]);
    assert_eq!(rows(&cloud)[2], "t5 worker - - -");
    cloud.run("worker add t5").exits(0).says(&["worker t5 is Ready"]);
    assert_eq!(rows(&cloud)[2], "t5 worker ACTIVE Ready -");
    cloud.run("plan").exits(0);

    cloud.kubectl(&["create", "deployment", "web", IMAGE, "--replicas=4"]).exits(0);
    cloud.kubectl(&["rollout", "status", "deployment/web", "--timeout=25s"]).exits(0);
    let there = "--overrides={\"spec\":{\"nodeName\":\"t5\"}}";
    cloud.kubectl(&["run", "lone", IMAGE, there]).exits(0);
    for (arguments, said) in [
        ("worker remove t1", "t1 is the first master"),
        ("master remove t1", "t1 is the first master"),
        ("master remove t5", "t5 is a worker"),
    ] {
        cloud.run(arguments).exits(64).says(&[said]);
    }
    cloud
        .run("worker remove t5")
        .exits(1)
        .says(&["t5 cannot be drained: no controller recreates default/lone elsewhere", "nothing was changed"]);
    assert_eq!(cloud.part("server/t5")["state"], "ACTIVE");

    cloud.run("worker remove t5 --force").exits(0).says(&["t5 is drained", "no resources of t5 are left"]);
    assert_eq!(rows(&cloud)[2], "t5 worker - - -");
    nothing_is_left(&cloud, "t5");
    cloud.kubectl(&["rollout", "status", "deployment/web", "--timeout=25s"]).exits(0);
    let pods = cloud.kubectl(&["get", "pods", "-o", "wide", "--no-headers"]).exits(0).stdout;
    assert!(pods.lines().count() == 4 && pods.lines().all(|pod| pod.contains(" t4 ")), "{pods}");
    cloud.run("worker remove t5").exits(0).says(&["no resources of t5 are left"]);

    // The rest of the status does not need the first master.
    cloud.verb(&["os", "server", "stop", "t1"]);
    cloud.until("the first master is off", 60, || cloud.part("server/t1")["state"] == "SHUTOFF");
    cloud.run("status").exits(0).says(&["server/t4", "not reached", "the first master was not reached"]);
}

#[test]
fn masters_come_and_go() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1"], &[]);
    cloud.run("apply --yes").exits(0);
    for (masters, new) in [(&["t1", "t2"][..], "t2"), (&["t1", "t2", "t3"], "t3")] {
        cloud.machines(masters, &[]);
        cloud.run(&format!("master add {new}")).exits(0);
        assert_eq!(members(&cloud), masters);
        assert!(rows(&cloud).contains(&format!("{new} master ACTIVE Ready voter")), "{:?}", rows(&cloud));
    }
    cloud.run("plan").exits(0);

    // One master is off: if another one were removed, etcd would lose its quorum.
    cloud.verb(&["os", "server", "stop", "t2"]);
    cloud.until("t2 is off", 60, || cloud.part("server/t2")["state"] == "SHUTOFF");
    cloud.run("master remove t3").exits(75).says(&["etcd would lose its quorum"]);
    assert_eq!(members(&cloud), ["t1", "t2", "t3"]);
    assert_eq!(cloud.part("server/t3")["state"], "ACTIVE");

    // The master that is off can be removed.
    for (gone, left) in [("t2", &["t1", "t3"][..]), ("t3", &["t1"])] {
        cloud.run(&format!("master remove {gone}")).exits(0).says(&[&format!("no resources of {gone} are left")]);
        nothing_is_left(&cloud, gone);
        assert_eq!(members(&cloud), left);
    }
    cloud.run("master remove t2").exits(0);
    cloud.machines(&["t1"], &[]);
    assert_eq!(rows(&cloud), ["t1 first-master ACTIVE Ready leader"]);
    cloud.run("apply --yes").exits(0);
}

/// Returns one line for each machine, from the output of `status`.
fn rows(cloud: &Cloud) -> Vec<String> {
    let output = cloud.run("status --output json").exits(0).stdout;
    let rows = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let row = |row: Value| {
        let cells =
            ["machine", "role", "server", "node", "etcd"].map(|key| row[key].as_str().unwrap_or("-").to_owned());
        cells.join(" ")
    };
    rows.filter(|row| row["event"] == "machine-status").map(row).collect()
}

fn members(cloud: &Cloud) -> Vec<String> {
    let all = cloud.status();
    let names = all.iter().filter_map(|one| one["part"].as_str()?.strip_prefix("member/").map(str::to_owned));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[track_caller]
fn nothing_is_left(cloud: &Cloud, machine: &str) {
    let end = format!("/{machine}");
    let left: Vec<Value> = cloud.status();
    let left = left.iter().filter(|one| one["part"].as_str().is_some_and(|part| part.ends_with(&end)));
    assert_eq!(left.collect::<Vec<_>>(), [&Value::Null; 0]);
    cloud.kubectl(&["get", "node", machine]).exits(1).says(&["not found"]);
}
