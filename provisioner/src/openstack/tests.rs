//! Faults of services, each from a listener that shows it.

use super::{Client, Method, Service};
use crate::testing::listener::with_cloud;
use serde_json::json;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

#[test]
fn a_token_that_has_ended_is_renewed_once() {
    let script = |request: &crate::testing::listener::Request| match request.token.as_str() {
        "token-1" => Some((401, json!({ "error": { "message": "expired" } }))),
        _ => Some((200, json!({ "networks": [] }))),
    };
    with_cloud(script, |client: Client, seen| async move {
        for _ in 0..2 {
            assert_eq!(client.list(Service::Network, "/networks", "networks").await.unwrap().len(), 0);
        }
        let tokens: Vec<String> = seen.borrow().iter().map(|request| request.token.clone()).collect();
        assert_eq!(tokens, ["token-1", "token-2", "token-2"]);
    });
}

#[test]
fn the_first_request_to_a_service_goes_alone() {
    let asked: Rc<RefCell<Option<Rc<Client>>>> = Rc::default();
    let sent: Rc<RefCell<Vec<usize>>> = Rc::default();
    let script = |_: &crate::testing::listener::Request| {
        sent.borrow_mut().extend(asked.borrow().as_ref().map(|client| client.count().reads));
        Some((200, json!({})))
    };
    let (client, counts) = (Rc::clone(&asked), Rc::clone(&sent));
    with_cloud(script, |made: Client, _| async move {
        let made = Rc::new(made);
        *client.borrow_mut() = Some(Rc::clone(&made));
        let get = |path: &'static str| made.get(Service::Network, path);
        let (a, b, c) = tokio::join!(get("/networks"), get("/ports"), get("/routers"));
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        assert_eq!(*counts.borrow(), [1, 3, 3]);
    });
}

#[test]
fn a_service_that_heals_is_asked_again() {
    let tries = Cell::new(0);
    let script = |_: &crate::testing::listener::Request| {
        tries.set(tries.get() + 1);
        match tries.get() {
            1 => Some((503, json!({ "message": "busy" }))),
            2 => Some((500, json!({}))),
            3 => None,
            _ => Some((200, json!({ "server": { "id": "s" } }))),
        }
    };
    with_cloud(script, |client: Client, seen| async move {
        assert_eq!(client.get(Service::Compute, "/servers/s").await.unwrap()["server"]["id"], "s");
        assert_eq!(seen.borrow().len(), 4);
        assert_eq!(client.count().reads, 4);
    });
}

#[test]
fn what_creates_is_not_repeated_unseen() {
    with_cloud(
        |_| Some((500, json!({}))),
        |client: Client, seen| async move {
            let error = client.once(Service::Compute, "/servers", &json!({})).await.unwrap_err();
            assert!(error.may_heal());
            assert_eq!(seen.borrow().len(), 1);
        },
    );
}

#[test]
fn a_refusal_is_told_at_once_in_the_services_words() {
    let script = |_: &crate::testing::listener::Request| {
        Some((403, json!({ "forbidden": { "message": "Quota exceeded for instances" } })))
    };
    with_cloud(script, |client: Client, seen| async move {
        let error = client.get(Service::Compute, "/servers").await.unwrap_err();
        assert_eq!(error.to_string(), "get compute /servers: answered 403: Quota exceeded for instances");
        assert_eq!(seen.borrow().len(), 1);
    });
}

#[test]
fn a_balancer_that_is_being_changed_is_waited_for() {
    let tries = Cell::new(0);
    let script = |_: &crate::testing::listener::Request| {
        tries.set(tries.get() + 1);
        match tries.get() {
            1 | 2 => Some((409, json!({ "faultstring": "Load Balancer x is immutable and cannot be updated." }))),
            _ => Some((202, json!({}))),
        }
    };
    with_cloud(script, |client: Client, seen| async move {
        client
            .send(Method::PUT, Service::LoadBalancer, "/pools/p/members", Some(&json!({ "members": [] })))
            .await
            .unwrap();
        assert_eq!(seen.borrow().len(), 3);
    });
}
