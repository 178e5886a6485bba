//! Where host keys come from, and that none is lost.

use super::*;
use crate::{
    output::{Format, Output},
    resources::Marker,
    testing::{
        self,
        listener::{Answer, Request, with_cloud},
    },
};
use serde_json::Value;
use std::{cell::Cell, fs, path::Path};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";
const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

fn found(name: &str, state: &str, metadata: Value) -> Found {
    let body = json!({ "id": format!("id-{name}"), "status": state, "metadata": metadata });
    Found::new(Part::new(Kind::Server, name), body).unwrap()
}

fn console_with(key: &str) -> Answer {
    let log = format!("boot\n-----BEGIN SSH HOST KEY KEYS-----\n{key} root@m1\n-----END SSH HOST KEY KEYS-----\n");
    Some((200, json!({ "output": log })))
}

/// Runs `test` on a delivery to these servers, whose file of host keys is `file`; returns the file's last content.
fn with_delivery(
    file: &str,
    servers: Vec<Found>,
    script: impl Fn(&Request) -> Answer,
    test: impl AsyncFnOnce(&Delivery<'_>),
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let known_hosts: &Path = &folder.path().join("demo.known_hosts");
    write_private(known_hosts, file).unwrap();
    with_cloud(script, |client, _| async move {
        let loaded = testing::loaded(2, 1, "");
        let (cloud, marker) = (testing::cloud(&loaded.cluster), Marker::new(testing::ID, "demo"));
        let secrets = crate::secrets::tests::example();
        let work = Delivery {
            found: servers,
            client: &client,
            marker: &marker,
            loaded: &loaded,
            cloud: &cloud,
            secrets: &secrets,
            kubeconfig: "kubeconfig".into(),
            known_hosts: known_hosts.to_owned(),
            patience: Duration::ZERO,
            output: Output::new(Format::Json),
            begun: Instant::now(),
        };
        test(&work).await;
    });
    fs::read_to_string(known_hosts).unwrap()
}

#[test]
fn the_signed_key_of_the_metadata_is_known_without_the_file_or_a_console() {
    let secrets = crate::secrets::tests::example();
    let metadata = json!({ ITEM: secrets.signed_host_key("id-m1", KEY) });
    let file = with_delivery(
        "",
        vec![found("m1", "ACTIVE", metadata)],
        |_| Some((500, json!({}))),
        async |work| {
            let keys = host_keys(work, &["m1"], &["m1"]).await.unwrap();
            assert_eq!(keys["m1"], [KEY]);
        },
    );
    assert_eq!(file, format!("m1 {KEY} id-m1\n"));
}

#[test]
fn a_key_that_this_bundle_did_not_sign_for_this_server_is_ignored() {
    let secrets = crate::secrets::tests::example();
    let of_another = secrets.signed_host_key("id-m2", OTHER);
    for value in [of_another.clone(), OTHER.to_owned(), of_another.replace("AAAAC3", "AAAAC4"), String::new()] {
        let servers = vec![found("m1", "ACTIVE", json!({ ITEM: value }))];
        with_delivery(
            "",
            servers,
            |_| console_with(KEY),
            async |work| {
                assert_eq!(host_keys(work, &["m1"], &["m1"]).await.unwrap()["m1"], [KEY], "{value}");
            },
        );
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test damages a file")]
fn a_file_that_cannot_be_read_is_not_replaced() {
    let servers = vec![found("m1", "ACTIVE", json!({}))];
    with_delivery(
        &format!("m2 {KEY} id-m2\n"),
        servers,
        |_| console_with(KEY),
        async |work| {
            let damaged: &[u8] = b"m2 \xff id-m2\n";
            fs::write(&work.known_hosts, damaged).unwrap();
            let error = host_keys(work, &["m1"], &["m1"]).await.unwrap_err();
            assert!(error.to_string().contains("cannot read the machines' pinned host keys"), "{error}");
            assert_eq!(fs::read(&work.known_hosts).unwrap(), damaged);
            fs::remove_file(&work.known_hosts).unwrap();
            assert_eq!(host_keys(work, &["m1"], &["m1"]).await.unwrap()["m1"], [KEY]);
        },
    );
}

#[test]
fn a_key_is_pinned_in_the_metadata_once() {
    let writes = Cell::new(0);
    let script = |request: &Request| {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/compute/v2/servers/id-m1/metadata"));
        let value = request.body["metadata"][ITEM].as_str().unwrap();
        let secrets = crate::secrets::tests::example();
        assert_eq!(secrets.verified_host_key("id-m1", value).as_deref(), Some(KEY));
        assert!(value.len() <= ITEM_MAX);
        writes.set(writes.get() + 1);
        Some((200, json!({})))
    };
    let rsa = format!("ssh-rsa {}", "A".repeat(544));
    let secrets = crate::secrets::tests::example();
    let there = json!({ ITEM: secrets.signed_host_key("id-m2", OTHER) });
    let servers =
        vec![found("m1", "ACTIVE", json!({})), found("m2", "ACTIVE", there), found("w1", "SHELVED", json!({}))];
    with_delivery("", servers, script, async |work| {
        let keys =
            [("m1", vec![rsa.clone(), KEY.to_owned()]), ("m2", vec![OTHER.to_owned()]), ("w1", vec![KEY.to_owned()])];
        keep(work, &keys.into_iter().map(|(name, keys)| (name.to_owned(), keys)).collect()).await;
    });
    assert_eq!(writes.get(), 1);
}

#[test]
fn a_console_is_read_only_where_the_key_is_unknown_and_the_server_active() {
    let file = format!("m1 {KEY} id-m1\nm2 {KEY} of-an-earlier-server\nother {OTHER} id-other\n");
    let servers =
        vec![found("m1", "ACTIVE", json!({})), found("m2", "ACTIVE", json!({})), found("w1", "SHELVED", json!({}))];
    let script = |request: &Request| {
        assert_eq!(request.path, "/compute/v2/servers/id-m2/action");
        console_with(OTHER)
    };
    let file = with_delivery(&file, servers, script, async |work| {
        let keys = host_keys(work, &["m1", "m2", "w1"], &["m1"]).await.unwrap();
        assert_eq!(keys, HostKeys::from([("m1".into(), vec![KEY.into()]), ("m2".into(), vec![OTHER.into()])]));
        // The first master's is indispensable.
        let error = host_keys(work, &["w1"], &["w1"]).await.unwrap_err();
        assert_eq!(error.to_string(), "no host key of w1 is known, and its server is SHELVED");
    });
    // What is not of these machines stays.
    assert_eq!(file, format!("other {OTHER} id-other\nm1 {KEY} id-m1\nm2 {OTHER} id-m2\n"));
}

#[test]
fn an_error_forgets_no_key_and_names_the_setting() {
    let file = format!("m1 {KEY} id-m1\nm2 {KEY} id-m2\n");
    for console in [Some((500, json!({}))), Some((200, json!({ "output": "m1 login:" }))), console_with(KEY)] {
        let servers = vec![found("m1", "ACTIVE", json!({})), found("m2", "ACTIVE", json!({}))];
        let script = |request: &Request| match request.path.contains("id-m1") {
            true => console.clone().filter(|(status, _)| *status == 200).or(Some((404, json!({})))),
            false => panic!("{request:?}"),
        };
        let left = with_delivery(&file, servers, script, async |work| assert_eq!(renew(work, "m1").await, None));
        assert_eq!(left, file);
    }
    let servers = vec![found("m1", "ACTIVE", json!({}))];
    with_delivery(
        "",
        servers,
        |_| Some((200, json!({ "output": "m1 login:" }))),
        async |work| {
            let error = host_keys(work, &["m1"], &["m1"]).await.unwrap_err();
            assert!(error.to_string().ends_with("the last console line is: m1 login:"), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("under `hostKeys` of m1")), "{:?}", error.hint());
        },
    );
}

#[test]
fn one_machine_that_was_installed_again_gets_its_new_key() {
    let file = format!("m1 {KEY} id-m1\nm2 {KEY} id-m2\n");
    let servers = vec![found("m1", "ACTIVE", json!({})), found("m2", "ACTIVE", json!({}))];
    let left = with_delivery(
        &file,
        servers,
        |_| console_with(OTHER),
        async |work| {
            assert_eq!(renew(work, "m1").await, Some(vec![OTHER.to_owned()]));
        },
    );
    assert_eq!(left, format!("m2 {KEY} id-m2\nm1 {OTHER} id-m1\n"));
}

#[test]
fn consoles_are_looked_at_less_and_less_often() {
    let seconds = |waited| pause(Duration::from_secs(waited)).as_secs();
    assert_eq!([0, 8, 16, 40, 80, 300].map(seconds), [1, 1, 2, 5, 10, 10]);
}

#[test]
fn what_was_read_is_known_by_the_servers_id() {
    let known = read("m1 ssh-ed25519 AAAA 17\nm1 ecdsa-sha2-nistp256 BBBB 17\nm2 ssh-ed25519 CCCC 18\nnonsense\n");
    assert_eq!(known["17"], ["ssh-ed25519 AAAA", "ecdsa-sha2-nistp256 BBBB"]);
    assert_eq!(known.len(), 2);
}
