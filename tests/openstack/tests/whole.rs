//! From an empty project to a cluster, and back, beside somebody else's things.

use nodeinit_tests::Cloud;
use std::{collections::BTreeMap, fs};

const MACHINES: [&str; 5] = ["t1", "t2", "t3", "t4", "t5"];

#[test]
fn the_whole_way() {
    let cloud = Cloud::with_guests();
    cloud.machines(&MACHINES[..3], &MACHINES[3..]);
    let mut strangers: Vec<String> = cloud.verb(&["strangers", "trial"]).lines().map(str::to_owned).collect();
    strangers.sort();

    let first = cloud.run("apply").exits(0);
    five_nodes_are_ready(&cloud);
    three_members(&cloud);

    let mark = cloud.mark();
    let second = cloud.run("apply").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the second apply wrote");
    cloud.run("plan").exits(0);

    let secrets = values(&fs::read_to_string(cloud.path("secrets.yaml")).unwrap());
    assert!(secrets.len() > 15, "only {} secrets to look for", secrets.len());
    for output in [&first, &second] {
        let told = output.text();
        assert!(secrets.iter().all(|secret| !told.contains(secret.as_str())), "a secret was told");
    }
    let tokens = user_data_has_only_tokens(&cloud, &secrets);
    tokens_are_spent(&cloud, &tokens);

    cloud.run("destroy --yes").exits(0).says(&["nothing of this cluster is left"]);
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

/// Each private value of a bundle: the lines of each private key, and what stands alone.
fn values(bundle: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut inside = false;
    for line in bundle.lines().map(str::trim) {
        match line {
            _ if line.starts_with("-----BEGIN") => inside = line.contains("PRIVATE KEY"),
            _ if line.starts_with("-----END") => inside = false,
            _ if inside => all.push(line.to_owned()),
            _ => {
                let alone = line.strip_prefix("encryptionKey: ").or_else(|| line.strip_prefix("- "));
                all.extend(alone.map(|value| value.trim_matches('"').to_owned()));
            }
        }
    }
    // The first line of an OpenSSH key says only what it is.
    all.retain(|value| !value.starts_with("b3BlbnNzaC1rZXktdjEA"));
    // A short end of a key may stand anywhere.
    all.retain(|value| value.len() >= 16);
    all
}

/// Returns each worker's token.
fn user_data_has_only_tokens(cloud: &Cloud, secrets: &[String]) -> BTreeMap<String, String> {
    let directory = cloud.path("userdata");
    let _ = fs::remove_dir_all(&directory);
    cloud.verb(&["userdata", &directory.display().to_string()]);
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    let texts: BTreeMap<&str, String> = MACHINES.iter().map(|name| (*name, read(name))).collect();
    let token = |text: &str| {
        let all: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("bootstrapToken: ")).collect();
        assert!(all.len() < 2, "{} tokens", all.len());
        all.first().map(|token| token.trim_matches('"').to_owned())
    };
    let tokens: BTreeMap<String, String> =
        texts.iter().filter_map(|(name, text)| Some(((*name).to_owned(), token(text)?))).collect();
    assert_eq!(tokens.keys().collect::<Vec<_>>(), MACHINES[3..].iter().collect::<Vec<_>>());
    assert_ne!(tokens["t4"], tokens["t5"]);
    for (name, text) in &texts {
        assert!(!text.is_empty() && !text.contains("PRIVATE KEY"), "{name}: {text}");
        assert!(secrets.iter().all(|secret| !text.contains(secret.as_str())), "the user-data of {name} holds a secret");
        let others = tokens.iter().filter(|(worker, _)| worker != name);
        others.for_each(|(worker, token)| assert!(!text.contains(token.as_str()), "{name} has the token of {worker}"));
    }
    tokens
}

/// The API knows none of them any more.
fn tokens_are_spent(cloud: &Cloud, tokens: &BTreeMap<String, String>) {
    let there = cloud.kubectl(&["-n", "kube-system", "get", "secrets", "-o", "name"]).exits(0).stdout;
    let kubeconfig = fs::read_to_string(cloud.path("trial.kubeconfig")).unwrap();
    let server = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    for (worker, token) in tokens {
        let id = token.split('.').next().unwrap();
        assert!(!there.contains(&format!("bootstrap-token-{id}")), "the token of {worker} is there: {there}");
        let token = format!("--token={token}");
        let server = format!("--server={server}");
        let arguments =
            ["--kubeconfig=/dev/null", &server, "--insecure-skip-tls-verify", &token, "get", "--raw", "/api/v1/nodes"];
        cloud.kubectl(&arguments).exits(1).says(&["Unauthorized"]);
    }
}
