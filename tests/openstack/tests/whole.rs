//! From an empty project to a cluster and back, beside the resources of another user.

use nodeinit_tests::Cloud;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::Arc,
    thread,
    time::Duration,
};

const MACHINES: [&str; 5] = ["t1", "t2", "t3", "t4", "t5"];

#[test]
fn the_whole_way() {
    let cloud = Cloud::with_guests();
    cloud.machines(&MACHINES[..3], &MACHINES[3..]);
    let mut strangers: Vec<String> = cloud.verb(&["strangers", "trial"]).lines().map(str::to_owned).collect();
    strangers.sort();

    let under_way = Arc::new(());
    let watched = Arc::downgrade(&under_way);
    let arguments = thread::spawn(move || arguments_while(|| watched.strong_count() > 0));
    let first = cloud.run("apply --yes").exits(0);
    drop(under_way);
    let arguments = arguments.join().unwrap();
    five_nodes_are_ready(&cloud);
    three_members(&cloud);

    let mark = cloud.mark();
    let second = cloud.run("apply --yes").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the second apply wrote");
    cloud.run("plan").exits(0);

    let mut secrets = cloud.secrets();
    let tokens = user_data_has_only_tokens(&cloud, &secrets);
    secrets.extend(tokens.values().filter_map(|token| Some(token.split_once('.')?.1.to_owned())));
    let output = first.text() + &second.text() + &arguments;
    assert!(secrets.iter().all(|secret| !output.contains(secret.as_str())), "a secret was printed, or is an argument");
    machines_show_no_secret(&cloud, &secrets);
    tokens_are_spent(&cloud, &tokens);

    cloud.run("destroy --yes").exits(0).says(&["no resources of this cluster are left"]);
    assert_eq!(cloud.objects(), strangers);
}

fn five_nodes_are_ready(cloud: &Cloud) {
    let nodes = cloud.kubectl(&["get", "nodes", "--no-headers"]).exits(0).stdout;
    let ready = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[1] == "Ready").then(|| words[0].to_owned())
    };
    let mut ready: Vec<String> = nodes.lines().filter_map(ready).collect();
    ready.sort();
    assert_eq!(ready, MACHINES, "{nodes}");
}

fn three_members(cloud: &Cloud) {
    let all = cloud.status();
    let members = all.iter().filter_map(|one| one["part"].as_str()?.strip_prefix("member/"));
    let mut members: Vec<&str> = members.collect();
    members.sort_unstable();
    assert_eq!(members, MACHINES[..3], "{all:#?}");
    cloud.until("all members are healthy", 60, || {
        let all = cloud.status();
        let online = |one: &&serde_json::Value| one["operatingStatus"] == "ONLINE";
        all.iter()
            .filter(|one| one["part"].as_str().is_some_and(|part| part.starts_with("member/")))
            .filter(online)
            .count()
            == 3
    });
}

/// Checks that the user-data contains no secret except bootstrap tokens. Returns the token of each worker.
fn user_data_has_only_tokens(cloud: &Cloud, secrets: &[String]) -> BTreeMap<String, String> {
    let mut texts = cloud.user_data();
    // Another user has a server, too.
    texts.retain(|name, _| MACHINES.contains(&name.as_str()));
    assert_eq!(texts.keys().collect::<Vec<_>>(), MACHINES.iter().collect::<Vec<_>>());
    let token = |text: &str| {
        let all: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("bootstrapToken: ")).collect();
        assert!(all.len() < 2, "{} tokens", all.len());
        all.first().map(|token| token.trim_matches('"').to_owned())
    };
    let tokens: BTreeMap<String, String> =
        texts.iter().filter_map(|(name, text)| Some((name.clone(), token(text)?))).collect();
    assert_eq!(tokens.keys().collect::<Vec<_>>(), MACHINES[3..].iter().collect::<Vec<_>>());
    assert_ne!(tokens["t4"], tokens["t5"]);
    for (name, text) in &texts {
        assert!(!text.is_empty() && !text.contains("PRIVATE KEY"), "{name}: {text}");
        assert!(secrets.iter().all(|secret| !text.contains(secret.as_str())), "the user-data of {name} holds a secret");
        let others = tokens.iter().filter(|(worker, _)| *worker != name);
        others.for_each(|(worker, token)| assert!(!text.contains(token.as_str()), "{name} has the token of {worker}"));
    }
    tokens
}

/// Collects the arguments of all processes of this machine, and so of the guests, while `under_way` returns true.
fn arguments_while(under_way: impl Fn() -> bool) -> String {
    let mut seen = BTreeSet::new();
    while under_way() {
        let processes =
            fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
        seen.extend(processes);
        thread::sleep(Duration::from_millis(50));
    }
    let text: String = seen.iter().map(|one| String::from_utf8_lossy(one).replace('\0', " ") + "\n").collect();
    assert!(["kube-apiserver ", "nodeinit up"].iter().all(|process| text.contains(process)), "{text}");
    text
}

/// Checks that no log and no world-readable file contains a secret, and that cloud-init accepts its user-data.
fn machines_show_no_secret(cloud: &Cloud, secrets: &[String]) {
    cloud.put("values", &(secrets.join("\n") + "\n"));
    let values = cloud.path("values").display().to_string();
    for name in MACHINES {
        cloud.verb(&["copy", name, &values, "/run/values"]);
        let look = "chmod 600 /run/values; cloud-init schema --system; journalctl --no-pager >/run/journal
            [ $(wc -l </run/journal) -gt 100 ] || echo no journal
            grep -arlFf /run/values /var/log /run/journal
            find / /run /var/lib/kubelet -xdev -type f -perm /044 -print0 | xargs -0 grep -alFf /run/values
            rm /run/values /run/journal";
        assert_eq!(cloud.verb(&["ssh", name, look]).trim(), "Valid cloud-config: system userdata", "{name}");
    }
    fs::remove_file(values).unwrap();
}

/// Checks that no bootstrap token exists in the API any more.
fn tokens_are_spent(cloud: &Cloud, tokens: &BTreeMap<String, String>) {
    let there = cloud.kubectl(&["-n", "kube-system", "get", "secrets", "-o", "name"]).exits(0).stdout;
    let kubeconfig = fs::read_to_string(cloud.path("trial.kubeconfig")).unwrap();
    let server = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    for (worker, token) in tokens {
        let id = token.split('.').next().unwrap();
        assert!(!there.contains(&format!("bootstrap-token-{id}")), "the token of {worker} still exists: {there}");
        let token = format!("--token={token}");
        let server = format!("--server={server}");
        let arguments =
            ["--kubeconfig=/dev/null", &server, "--insecure-skip-tls-verify", &token, "get", "--raw", "/api/v1/nodes"];
        cloud.kubectl(&arguments).exits(1).says(&["Unauthorized"]);
    }
}
