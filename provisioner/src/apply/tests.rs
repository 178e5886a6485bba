//! What happens where an answer is lost, or the cloud cannot.

use super::{Apply, tasks};
use crate::{
    error::Error,
    openstack::Client,
    output::{Format, Output},
    resources::{Kind, Marker, Snapshot, diff::Plan},
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
    let (cloud, marker) = (testing::cloud(&loaded.cluster), Marker::new(testing::ID));
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
        assert_eq!(error.to_string(), "1 of 2 failed or were not begun; the rest is done");
        assert_eq!(posts(&seen), 2);
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
