//! Faults of services, each from a listener that shows it.

use super::{Client, Method, Service, listing::Listing};
use crate::testing::listener::{LENGTH, LOCATION, RETRY_AFTER, with_cloud};
use serde_json::json;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};
use tokio::time::Instant;

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
            let error = client.post_without_retry(Service::Compute, "/servers", &json!({})).await.unwrap_err();
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

#[test]
fn a_client_that_is_told_to_wait_waits_for_that_long() {
    for status in [413, 429, 503] {
        let tries = Cell::new(0);
        let script = |_: &crate::testing::listener::Request| {
            tries.set(tries.get() + 1);
            match tries.get() {
                1 => Some((status, json!({ "overLimit": { "message": "slow down" }, RETRY_AFTER: 1 }))),
                _ => Some((200, json!({ "volumes": [] }))),
            }
        };
        with_cloud(script, |client: Client, seen| async move {
            let begun = Instant::now();
            let answer = client.list(Service::Volume, "/volumes/detail", "volumes").await;
            let (answer, waited) = (answer.map(|all| all.len()), begun.elapsed());
            assert!(answer.as_ref().is_ok_and(|all| *all == 0), "{status}: {answer:?}");
            assert!(waited >= Duration::from_secs(1), "{status}: waited {waited:?}");
            assert_eq!(seen.borrow().len(), 2);
        });
    }
}

#[test]
fn one_service_that_is_overloaded_slows_down_all_requests() {
    let script = |request: &crate::testing::listener::Request| match request.path.contains("/servers") {
        true => Some((429, json!({ RETRY_AFTER: 1 }))),
        false => Some((200, json!({}))),
    };
    with_cloud(script, |client: Client, _| async move {
        let _ = client.post_without_retry(Service::Compute, "/servers", &json!({})).await;
        let begun = Instant::now();
        client.get(Service::Network, "/ports").await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(900), "asked again after {:?}", begun.elapsed());
    });
}

#[test]
fn a_list_is_asked_for_again_only_a_pause_after_its_answer() {
    let answered: Rc<RefCell<Vec<Instant>>> = Rc::default();
    let script = |_: &crate::testing::listener::Request| {
        // A service that takes its time.
        #[allow(clippy::disallowed_methods, reason = "the listener has nothing else to do")]
        std::thread::sleep(Duration::from_millis(400));
        answered.borrow_mut().push(Instant::now());
        Some((200, json!({ "servers": [] })))
    };
    let ends = Rc::clone(&answered);
    with_cloud(script, |client: Client, _| async move {
        let pause = Duration::from_millis(500);
        let listing = Listing::new(&client, Service::Compute, "/servers/detail", "servers", pause);
        listing.since(Instant::now()).await.unwrap();
        listing.since(Instant::now()).await.unwrap();
        let between = ends.borrow()[1] - ends.borrow()[0] - Duration::from_millis(400);
        assert!(between >= pause, "only {between:?} between an answer and the next request");
    });
}

#[test]
fn an_older_nova_is_asked_in_its_own_version() {
    let script = |request: &crate::testing::listener::Request| match request.path.as_str() {
        "/compute/v2/" => Some((200, json!({ "version": { "id": "v2.1", "version": "2.60", "min_version": "2.1" } }))),
        _ if request.version != "compute 2.60" => {
            Some((406, json!({ "computeFault": { "message": "Version 2.64 is not supported by the API." } })))
        }
        _ => Some((200, json!({ "servers": [] }))),
    };
    with_cloud(script, |client: Client, seen| async move {
        for _ in 0..2 {
            let answer = client.list(Service::Compute, "/servers/detail", "servers").await;
            assert!(answer.is_ok(), "{answer:?}");
        }
        // The refused request, the negotiation, and the two requests.
        assert_eq!(seen.borrow().len(), 4);
    });
}

#[test]
fn a_redirect_takes_no_token_to_another_host() {
    let script = |request: &crate::testing::listener::Request| {
        let elsewhere = request.host.replace("127.0.0.1", "localhost");
        match request.path.as_str() {
            _ if request.host == elsewhere => Some((200, json!({ "networks": [] }))),
            "/network/v2/networks" => Some((307, json!({ LOCATION: format!("http://{elsewhere}/networks") }))),
            // Another port may be another's service.
            "/network/v2/ports" => Some((307, json!({ LOCATION: "http://127.0.0.1:1/ports" }))),
            "/network/v2/routers" => Some((302, json!({ LOCATION: "/network/v2.0/routers" }))),
            _ => Some((200, json!({ "routers": [] }))),
        }
    };
    with_cloud(script, |client: Client, seen| async move {
        for path in ["/networks", "/ports"] {
            let answer = client.get(Service::Network, path).await;
            let hosts: Vec<String> = seen.borrow().iter().map(|r| format!("{} {}", r.host, r.token)).collect();
            assert!(hosts.iter().all(|host| host.starts_with("127.0.0.1:")), "the token went to {hosts:?}");
            let error = answer.unwrap_err();
            assert!(!error.may_heal(), "{error}");
            assert!(error.to_string().contains("redirects to http://"), "{error}");
        }
        // Within the service it is followed.
        assert!(client.get(Service::Network, "/routers").await.is_ok());
    });
}

#[test]
fn an_answer_that_is_too_long_is_not_read() {
    let script = |request: &crate::testing::listener::Request| {
        let long = json!({ LENGTH: 65 << 20 });
        Some((200, if request.path.ends_with("/action") { long } else { json!({ "images": [] }) }))
    };
    with_cloud(script, |client: Client, _| async move {
        assert!(client.get(Service::Image, "/images").await.is_ok());
        let console = client.send(Method::POST, Service::Compute, "/servers/s/action", None).await;
        let error = console.map(|answer| answer["output"].as_str().map(str::len)).unwrap_err();
        assert!(!error.may_heal(), "{error}");
        let error = error.to_string();
        assert!(error.contains("/compute/v2/servers/s/action") && error.contains("64 MiB"), "{error}");
    });
}
