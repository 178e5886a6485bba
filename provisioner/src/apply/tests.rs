//! What happens where an answer is lost, or the cloud cannot.

use super::{Apply, tasks};
use crate::{
    error::Error,
    openstack::Client,
    output::{Format, Output},
    resources::{
        Found, Kind, Marker, Part, Snapshot,
        plan::{Action, Item, Plan},
    },
    testing::{
        self,
        listener::{Request, Seen, with_cloud},
    },
};
use nodeinit_config::Loaded;
use serde_json::{Value, json};
use std::{cell::RefCell, rc::Rc};

/// The parts of some kinds alone.
fn only(kinds: &[Kind]) -> (Loaded, Snapshot, Plan) {
    let loaded = testing::loaded(1, 0, "");
    let snapshot = Snapshot { ours: Vec::new(), facts: testing::facts() };
    let mut plan = testing::plan(&loaded.cluster, &snapshot);
    plan.items.retain(|item| kinds.contains(&item.part.kind));
    (loaded, snapshot, plan)
}

async fn run(client: &Client, (loaded, snapshot, plan): &(Loaded, Snapshot, Plan)) -> Result<(), Error> {
    let (cloud, marker) = (testing::cloud(&loaded.cluster), Marker::new(testing::ID, "demo"));
    let secrets = crate::secrets::tests::example();
    let output = Output::new(Format::Json);
    Apply::new(client, &marker, (loaded, &cloud, &secrets), snapshot, plan, output).run().await.map(drop)
}

fn posts(seen: &Seen) -> usize {
    seen.borrow().iter().filter(|request| request.method == "POST").count()
}

#[test]
fn what_was_made_although_the_answer_was_lost_is_not_made_twice() {
    let made: Rc<RefCell<Vec<Value>>> = Rc::default();
    let script = |request: &Request| {
        if request.method == "POST" {
            let mut group = request.body["server_group"].clone();
            group["id"] = json!("g");
            made.borrow_mut().push(group);
            return None;
        }
        Some((200, json!({ "server_groups": *made.borrow() })))
    };
    with_cloud(script, |client, seen| async move {
        run(&client, &only(&[Kind::ServerGroup])).await.unwrap();
        assert_eq!(posts(&seen), 1);
    });
}

#[test]
fn what_the_cloud_cannot_make_is_told_and_ends_only_what_needs_it() {
    let script = |request: &Request| match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/block-storage/v2/volumes") => Some((202, json!({ "volume": { "id": "v", "status": "creating" } }))),
        ("GET", "/block-storage/v2/volumes/detail") => {
            Some((200, json!({ "volumes": [{ "id": "v", "status": "error" }] })))
        }
        ("POST", "/compute/v2/os-server-groups") => Some((200, json!({ "server_group": { "id": "g" } }))),
        _ => Some((404, json!({}))),
    };
    with_cloud(script, |client, seen| async move {
        let error = run(&client, &only(&[Kind::ServerGroup, Kind::Volume])).await.unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 operations failed or were not started; the others are done");
        assert_eq!(posts(&seen), 2);
    });
}

#[test]
fn a_server_that_cannot_be_made_active_does_not_stop_the_machines_work() {
    let script = |request: &Request| match request.method.as_str() {
        "POST" => Some((403, json!({ "forbidden": { "message": "locked" } }))),
        _ => Some((200, json!({ "servers": [] }))),
    };
    with_cloud(script, |client, _| async move {
        let loaded = testing::loaded(1, 0, "");
        let mut snapshot = testing::applied(&loaded.cluster);
        testing::alter(&mut snapshot, "server/m1", |body| body["status"] = json!("PAUSED"));
        let plan = testing::plan(&loaded.cluster, &snapshot);
        let (cloud, marker) = (testing::cloud(&loaded.cluster), Marker::new(testing::ID, "demo"));
        let secrets = crate::secrets::tests::example();
        let parts = (&loaded, &cloud, &secrets);
        let apply = Apply::new(&client, &marker, parts, &snapshot, &plan, Output::new(Format::Json));
        let there = apply.run().await.unwrap();
        let server = there.iter().find(|found| found.part.kind == Kind::Server).unwrap();
        assert_eq!(server.state(), "PAUSED");
    });
}

#[test]
fn ports_with_address_pairs_are_made_one_by_one() {
    let sizes = |more: &str| -> Vec<usize> {
        let loaded = testing::loaded(3, 30, more);
        let plan = testing::plan(&loaded.cluster, &Snapshot { ours: Vec::new(), facts: testing::facts() });
        tasks(&plan).iter().filter(|task| task.items[0].part.kind == Kind::Port).map(|task| task.items.len()).collect()
    };
    assert_eq!(sizes(""), [20, 13]);
    assert_eq!(sizes("  allowedAddressPairs: [10.244.0.0/16]\n"), [1; 33]);
}

/// One master's server, whose volume and masters' security group are there; what was written, in order.
fn server_made(permitting: bool, group: &str) -> Vec<(String, Value)> {
    let description = RefCell::new(json!(group));
    let script = |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let volume = json!({ "id": "v", "status": "available", "metadata": { "nodeinit-attached": "never" } });
        Some(match (request.method.as_str(), path.rsplit('/').next().unwrap_or_default()) {
            ("POST", "volumes") => (202, json!({ "volume": volume })),
            ("GET", "detail") if path.starts_with("/block-storage") => (200, json!({ "volumes": [volume] })),
            ("GET", "detail") => (200, json!({ "servers": [{ "id": "s", "status": "ACTIVE" }] })),
            ("POST", "metadata") => (200, json!({ "metadata": {} })),
            ("POST", "servers") => (202, json!({ "server": { "id": "s" } })),
            ("PUT", "masters") => {
                *description.borrow_mut() = request.body["security_group"]["description"].clone();
                (200, json!({}))
            }
            ("GET", "masters") => {
                (200, json!({ "security_group": { "id": "masters", "description": *description.borrow() } }))
            }
            _ => (404, json!({})),
        })
    };
    let written = RefCell::new(Vec::new());
    with_cloud(script, |client, seen| {
        let written = &written;
        async move {
            let (loaded, snapshot, mut plan) = only(&[Kind::Volume, Kind::Server]);
            for item in &mut plan.items {
                let want = item.want.as_mut().unwrap();
                want.needs.retain(|need| need.kind == Kind::Volume);
            }
            for (kind, name) in [(Kind::Port, "m1"), (Kind::ServerGroup, "masters"), (Kind::SecurityGroup, "masters")] {
                let part = Part::new(kind, name);
                let found = Found::new(part.clone(), json!({ "id": name, "description": group }));
                plan.items.push(Item { part, action: Action::Keep, want: None, found });
            }
            let (cloud, marker) = (testing::cloud(&loaded.cluster), Marker::new(testing::ID, "demo"));
            let secrets = crate::secrets::tests::example();
            let parts = (&loaded, &cloud, &secrets);
            let apply = Apply::new(&client, &marker, parts, &snapshot, &plan, Output::new(Format::Json));
            let apply = if permitting { apply.permitting() } else { apply };
            apply.run().await.unwrap();
            let seen = seen.borrow();
            let writes = seen.iter().filter(|request| request.method != "GET");
            written.borrow_mut().extend(writes.map(|request| (request.path.clone(), request.body.clone())));
        }
    });
    written.into_inner()
}

#[test]
fn a_volume_says_that_it_may_hold_data_before_there_is_a_server() {
    let written = server_made(false, "mark");
    let paths: Vec<&str> = written.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/block-storage/v2/volumes", "/block-storage/v2/volumes/v/metadata", "/compute/v2/servers"]);
    assert_eq!(written[0].1["volume"]["metadata"]["nodeinit-attached"], "never");
    assert_eq!(written[1].1["metadata"]["nodeinit-attached"], "once");
}

#[test]
fn a_new_clusters_first_server_alone_is_permitted_to_bootstrap_etcd() {
    let group = |state: &str| {
        let body = json!({ "security_group": { "description": format!("mark etcd={state}") } });
        ("/network/v2/security-groups/masters".to_owned(), body)
    };
    let written = server_made(true, "mark");
    assert_eq!(written.len(), 5);
    // Before anything that could hold data.
    assert_eq!(written[1], group("new"));
    assert_eq!(written[4], group("permitted:s"));
    let after_an_interrupted_run = server_made(true, "mark etcd=new");
    assert_eq!(after_an_interrupted_run.len(), 4);
    assert_eq!(after_an_interrupted_run[3], group("permitted:s"));
    for state in ["mark etcd=permitted:another", "mark etcd=bootstrapped"] {
        assert_eq!(server_made(true, state).len(), 3, "{state}");
    }
}
