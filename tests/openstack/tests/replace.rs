//! Machines are replaced, also the first master, at the same address and at another one, and also by a command that is killed again and again.

use nodeinit_tests::Cloud;
use serde_json::Value;

/// The exit code of a process that called `abort`.
const DIED: i32 = 128 + 6;

#[test]
fn machines_get_new_servers() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1", "t2", "t3"], &["t4"]);
    cloud.run("apply --yes").exits(0);
    cloud.kubectl(&["create", "configmap", "kept", "--from-literal=data=precious"]).exits(0);
    nothing_is_replaced_that_must_not_be(&cloud);

    for (name, leader) in [("t1", "t2"), ("t2", "t1")] {
        switch_off(&cloud, name);
        let former = Machine::of(&cloud, name);
        let run = cloud.run(&format!("master replace {name} --yes --output json")).exits(0);
        run.says(&[
            r#""action":"replace","#,
            &format!(" leads the replacement of {name}"),
            r#""event":"machine""#,
            r#""event":"finished""#,
        ]);
        former.is_replaced(&cloud);
        all_is_up(&cloud, leader);
    }
    for (name, address, leader) in [("t1", "10.77.0.168", "t2"), ("t2", "10.77.0.169", "t1")] {
        is_replaced_at_another_address(&cloud, name, address);
        all_is_up(&cloud, leader);
    }

    // A live worker, which joins on its own.
    let former = Machine::of(&cloud, "t4");
    let run = cloud.run("worker replace t4 --yes").exits(0);
    run.says(&["the former t4 is no longer a worker of the cluster", "worker t4 is Ready", "t4 is replaced"]);
    former.is_replaced(&cloud);
    all_is_up(&cloud, "t1");

    let kept = cloud.kubectl(&["get", "configmap", "kept", "-o", "jsonpath={.data.data}"]).exits(0).stdout;
    assert_eq!(kept, "precious");
}

#[test]
fn killed_after_each_writing_request() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1", "t2", "t3"], &[]);
    cloud.run("apply --yes").exits(0);
    let former = Machine::of(&cloud, "t1");
    killed_all_the_way(&cloud, "t1");
    former.is_replaced(&cloud);
    all_is_up(&cloud, "t2");
    let former = with_another_address(&cloud, "t2", "10.77.0.169");
    killed_all_the_way(&cloud, "t2");
    former.is_replaced_at(&cloud, "10.77.0.169");
    all_is_up(&cloud, "t1");
    cloud.run("destroy --yes").exits(0);
    assert_eq!(cloud.objects(), [""; 0]);
}

fn switch_off(cloud: &Cloud, name: &str) {
    cloud.verb(&["os", "server", "stop", name]);
    cloud.until("it is off", 60, || cloud.part(&format!("server/{name}"))["state"] == "SHUTOFF");
}

/// Configures another address of a machine. Returns what it is still.
fn with_another_address(cloud: &Cloud, name: &'static str, address: &str) -> Machine {
    let former = Machine::of(cloud, name);
    let machines = std::fs::read_to_string(cloud.path("machines.yaml")).unwrap();
    let before = format!("address: {}", former.address.as_str().unwrap());
    assert_eq!(machines.matches(&before).count(), 1, "{machines}");
    cloud.put("machines.yaml", &machines.replace(&before, &format!("address: {address}")));
    former
}

/// The machine is dead, and its successor has another address.
fn is_replaced_at_another_address(cloud: &Cloud, name: &'static str, address: &str) {
    switch_off(cloud, name);
    let former = with_another_address(cloud, name, address);
    let mark = cloud.mark();
    cloud.run("apply --yes").exits(78).says(&[&format!("`provisioner master replace {name}`")]);
    assert_eq!(cloud.writes(&mark), [""; 0]);
    cloud.run(&format!("master replace {name} --yes")).exits(0).says(&[" leads the replacement of"]);
    former.is_replaced_at(cloud, address);
    let nodes = cloud.kubectl(&["get", "node", name, "-o", "jsonpath={.status.addresses[0].address}"]);
    assert_eq!(nodes.exits(0).stdout, address);
}

/// Each of these commands changes nothing.
fn nothing_is_replaced_that_must_not_be(cloud: &Cloud) {
    cloud.verb(&["quota", "cores=+0"]);
    let mark = cloud.mark();
    cloud.run("worker replace t1 --yes").exits(64).says(&["t1 is a master", "`provisioner master add`"]);
    cloud.run("master replace t9 --yes").exits(78).says(&["has no master t9"]);
    cloud.run("master replace t1").exits(64).says(&["add --yes"]);
    // The former server's share of the quota counts as free.
    cloud.answering("n", "master replace t1").exits(1).says(&["replace  server/t1", "nothing was changed"]);
    // Nova's console is read with a POST, too.
    let writes = cloud.writes(&mark);
    assert!(writes.iter().all(|write| write.ends_with("/action")), "{writes:#?}");
    cloud.verb(&["quota", "default"]);
    switch_off(cloud, "t2");
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";
    cloud.put("test.yaml", &with_host_key(cloud, "t1", key));
    cloud.until("etcd misses t2", 60, || {
        let refused = cloud.run("master replace t1 --yes").exits(78);
        refused.says(&["contains `hostKeys` of t1", "nothing was changed"]);
        refused.text().contains("without t1, etcd would lose its quorum: of the 3 voting members, 2 must be healthy")
    });
    cloud.configure("");
    cloud.verb(&["os", "server", "start", "t2"]);
    cloud.until("t2 is healthy", 120, || healthy_members(cloud, "t1") == 3);
}

/// The machines of the configuration, with a host key of one of them.
fn with_host_key(cloud: &Cloud, machine: &str, key: &str) -> String {
    let machines = std::fs::read_to_string(cloud.path("machines.yaml")).unwrap();
    machines.replace(&format!("{{name: {machine},"), &format!("{{name: {machine}, hostKeys: [\"{key}\"],"))
}

/// What a machine is in the cloud.
struct Machine {
    name: &'static str,
    server: Value,
    volume: Value,
    port: Value,
    address: Value,
}

impl Machine {
    fn of(cloud: &Cloud, name: &'static str) -> Self {
        let all = cloud.status();
        let value = |kind: &str, key: &str| {
            let part = format!("{kind}/{name}");
            all.iter().find(|one| one["part"] == part).unwrap_or_else(|| panic!("no {part}"))[key].clone()
        };
        let (server, volume) = (value("server", "id"), value("volume", "id"));
        Self { name, server, volume, port: value("port", "id"), address: value("port", "address") }
    }

    #[track_caller]
    fn is_replaced(&self, cloud: &Cloud) {
        self.is_replaced_at(cloud, self.address.as_str().unwrap());
    }

    #[track_caller]
    fn is_replaced_at(&self, cloud: &Cloud, address: &str) {
        let now = Self::of(cloud, self.name);
        assert!(now.server != self.server && now.volume != self.volume);
        assert_eq!((now.port, now.address), (self.port.clone(), Value::from(address)));
    }
}

/// Checks nodes, etcd members and load balancer members, and that `apply` finds nothing to do.
#[track_caller]
fn all_is_up(cloud: &Cloud, master: &str) {
    cloud.until("etcd has three healthy members", 60, || healthy_members(cloud, master) == 3);
    let nodes = cloud.kubectl(&["get", "nodes", "--no-headers"]).exits(0).stdout;
    let all = cloud.status();
    let servers = all.iter().filter(|one| one["part"].as_str().is_some_and(|part| part.starts_with("server/"))).count();
    assert_eq!((nodes.lines().count(), nodes.matches(" Ready ").count()), (servers, servers), "{nodes}");
    let members = all.iter().filter_map(|one| one["part"].as_str()?.strip_prefix("member/"));
    let mut members: Vec<&str> = members.collect();
    members.sort_unstable();
    assert_eq!(members, ["t1", "t2", "t3"]);
    let mark = cloud.mark();
    let again = cloud.run("apply --yes").exits(0);
    again.says(&["everything matches the configuration; nothing to do"]);
    assert_eq!(cloud.writes(&mark), [""; 0], "apply wrote after the replacement");
    // A busy machine that does not answer at once is asked by a run of its own (`host-NAME`), which then finds nothing to do.
    let changed = |line: &&str| line.contains(": done (") && !line.contains(": host-");
    let said = again.text();
    let changed: Vec<&str> = said.lines().filter(changed).collect();
    assert!(changed.is_empty(), "apply changed a machine after the replacement: {changed:#?}");
}

fn healthy_members(cloud: &Cloud, master: &str) -> usize {
    let members = cloud.try_verb(&["ssh", master, "nodeinit etcd members --output json"]).text();
    eprintln!("etcd members on {master}: {members}");
    let votes = |line: &&str| line.contains("\"voter\":true") && line.contains("\"healthy\":true");
    members.lines().filter(votes).count()
}

/// Kills the command after one more write request each time.
fn killed_all_the_way(cloud: &Cloud, name: &str) {
    let port = cloud.part(&format!("port/{name}"))["id"].as_str().unwrap().to_owned();
    let command = format!("master replace {name} --yes");
    let is_recorded = || {
        let show = ["os", "port", "show", &port, "-f", "value", "-c", "description"];
        cloud.verb(&show).contains(" replaced=")
    };
    // While the former server is there, the first request reads its console. The next two take over the lock of the previous run.
    // Later, requests for the console of the new server count, too.
    let mut killed = 0;
    for writes in [1, 2, 3, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9] {
        let ended = cloud.killed_after(writes, &command);
        if ended.code != DIED {
            ended.exits(0);
            break;
        }
        killed += 1;
        if is_recorded() {
            break;
        }
    }
    eprintln!("{command} was killed {killed} times");
    assert!(killed > 9 && is_recorded(), "killed {killed} times");
    // The last run may have left its lock.
    cloud.run("apply --yes").exits(0);
}
