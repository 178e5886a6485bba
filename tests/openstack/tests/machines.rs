//! Machines with an unexpected host key, state or binary.

use nodeinit_tests::{Cloud, Server};

#[test]
fn a_host_key_that_is_not_that_of_the_console() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1"], &["t4"]);
    cloud.apply();
    cloud.until("the console shows host keys", 180, || cloud.console("t1").contains("END SSH HOST KEY KEYS"));
    let other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";
    cloud.put(
        "console",
        &format!("-----BEGIN SSH HOST KEY KEYS-----\n{other} root@t1\n-----END SSH HOST KEY KEYS-----\n"),
    );
    cloud.verb(&["console", "t1", &cloud.path("console").display().to_string()]);
    cloud.run("apply --yes").exits(1).says(&["t1", "host key"]);
    // Nobody has logged in, and no file was sent.
    cloud.verb(&[
        "ssh",
        "t1",
        "! test -e /etc/nodeinit/secrets.yaml && ! journalctl --no-pager | grep 'Accepted publickey for debian'",
    ]);
    cloud.verb(&["console", "t1", "off"]);
    cloud.until("the console shows the server's own log again", 60, || !cloud.console("t1").contains(other));
    cloud.run("apply --yes").exits(0);
    from_another_laptop_with_an_unhealthy_worker(&cloud);
}

/// Applies without the file of host keys, with a console that has dropped its first lines, and with a server in ERROR.
fn from_another_laptop_with_an_unhealthy_worker(cloud: &Cloud) {
    std::fs::remove_file(cloud.path("trial.known_hosts")).unwrap();
    cloud.put("console", "a console keeps its last 100 KiB\n");
    cloud.verb(&["console", "t1", &cloud.path("console").display().to_string()]);
    cloud.until("the console has no host keys", 60, || !cloud.console("t1").contains("HOST KEY"));
    let mark = cloud.mark();
    cloud.run("apply --yes").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the key was not read from the server's metadata");
    cloud.verb(&["state", "server", "t4", "error"]);
    let port = cloud.part("port/t1")["id"].as_str().unwrap().to_owned();
    cloud.verb(&["os", "port", "set", "--disable", &port]);
    let applied = cloud.run("apply --yes").exits(3);
    applied.says(&[
        "UNHEALTHY server/t4: it is ERROR",
        "changed  port/t1",
        "kubectl --kubeconfig",
        "1 machine is unhealthy: t4 (ERROR)",
    ]);
    cloud.run("plan").exits(3);
    cloud.verb(&["state", "server", "t4", "active"]);
    let mark = cloud.mark();
    cloud.run("apply --yes").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the second apply wrote");
}

#[test]
fn a_program_with_a_wrong_digest() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1"], &[]);
    let good = std::env::var("NODEINIT_LAB").unwrap();
    cloud.without_baked("usr/local/bin/nodeinit");
    let digest = cloud.digest(&good);
    let mirror = cloud.path("mirror");
    let _ = std::fs::remove_dir_all(&mirror);
    std::fs::create_dir(&mirror).unwrap();
    cloud.put("mirror/nodeinit", "#!/bin/sh\ntouch /root/it-was-run\n");
    let served = Server::of(&mirror.display().to_string(), 8172, None);
    cloud.configure(&format!("openstack: {{binary: {{urls: [\"{}/nodeinit\"], sha256: {digest}}}}}", served.url()));
    let apply = cloud.start("apply --yes");
    let said = format!(", not {digest}");
    cloud.until("the console shows the digest", 240, || {
        // At first, Nova does not know the server.
        cloud.try_verb(&["os", "console", "log", "show", "t1"]).text().contains(&said)
    });
    // The machine continues as soon as the mirror has the right binary.
    std::fs::copy(&good, mirror.join("new")).unwrap();
    std::fs::rename(mirror.join("new"), mirror.join("nodeinit")).unwrap();
    apply.wait().exits(0);
    cloud.verb(&[
        "ssh",
        "t1",
        &format!("! test -e /root/it-was-run && sha256sum /usr/local/bin/nodeinit | grep -q {digest}"),
    ]);
    cloud.kubectl(&["get", "node", "t1"]).exits(0).says(&[" Ready "]);
}

#[test]
fn everything_is_brought_over_ssh() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1"], &["t4"]);
    let program = std::env::var("NODEINIT_LAB").unwrap();
    cloud.without_baked("usr/local/bin/nodeinit");
    cloud.configure(&format!("secretsDelivery: ssh-only\nopenstack: {{binary: {{file: {program}}}}}"));
    cloud.run("apply --yes").exits(0);
    for name in ["t1", "t4"] {
        cloud.kubectl(&["get", "node", name]).exits(0).says(&[" Ready "]);
    }
    let texts = cloud.user_data();
    assert_eq!(texts.keys().collect::<Vec<_>>(), ["t1", "t4"]);
    for (name, text) in &texts {
        let open = cloud.secrets().iter().all(|secret| !text.contains(secret.as_str()));
        assert!(open && !text.contains("bootstrapToken") && !text.contains("PRIVATE KEY"), "{name}: {text}");
        cloud.verb(&["ssh", name, &format!("sha256sum /usr/local/bin/nodeinit | grep -q {}", cloud.digest(&program))]);
    }
    let mark = cloud.mark();
    cloud.run("apply --yes").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the second apply wrote");
}
