//! Reads that fail.

use super::*;
use crate::testing::{
    ID, cloud, cluster,
    listener::{Answer, Request, with_cloud},
};
use serde_json::json;

/// A cloud in which nothing is, and in which these paths are forbidden.
fn without<'p>(forbidden: &'p [&'p str]) -> impl Fn(&Request) -> Answer + 'p {
    move |request| match forbidden.iter().any(|path| request.path.contains(path)) {
        true => Some((403, json!({ "forbidden": { "message": "Policy does not allow this" } }))),
        false => Some((200, json!({}))),
    }
}

#[test]
fn a_read_that_nothing_depends_on_may_be_forbidden() {
    let forbidden = ["/lbaas", "/load-balancer", "/quotas", "/limits", "os-availability-zone"];
    with_cloud(without(&forbidden), |client, _| async move {
        let cluster = cluster("  loadBalancer: {enabled: false}\n  floatingIPs: first-master\n");
        let snapshot = snapshot(&client, &Marker::new(ID, "demo"), &cloud(&cluster)).await;
        let unread: Vec<&str> = snapshot.unwrap().facts.unread.into_keys().collect();
        assert_eq!(
            unread,
            [
                "availability zones",
                "availability zones of volumes",
                "load balancers",
                "quotas of networks",
                "quotas of servers",
                "quotas of volumes"
            ]
        );
    });
}

#[test]
fn a_read_that_is_needed_fails_by_its_name() {
    with_cloud(without(&["/load-balancer"]), |client, _| async move {
        let cluster = cluster("  floatingIPs: first-master\n");
        let error = snapshot(&client, &Marker::new(ID, "demo"), &cloud(&cluster)).await.unwrap_err();
        assert!(error.to_string().starts_with("get loadbalancer /loadbalancers: answered 403"), "{error}");
        assert!(error.hint().unwrap().contains("load-balancer_member"));
    });
}

#[test]
fn servers_are_listed_by_their_tag_once_all_have_it() {
    let marker = Marker::new(ID, "demo");
    let server = |name: &str, tags: &[String]| {
        Found::new(Part::new(Kind::Server, name), json!({ "id": name, "tags": tags })).unwrap()
    };
    let tagged = server("m1", &[marker.tag()]);
    let filtered = format!("/servers/detail?tags=nodeinit-cluster%3D{ID}");
    assert_eq!(servers(&marker, &[], true), filtered);
    assert_eq!(servers(&marker, std::slice::from_ref(&tagged), true), filtered);
    assert_eq!(servers(&marker, &[tagged.clone(), server("m2", &[])], true), "/servers/detail");
    assert_eq!(servers(&marker, &[tagged], false), "/servers/detail");
}

#[test]
fn an_image_is_found_by_its_id_even_in_no_list() {
    const IMAGE: &str = "5c3b1e0a-6a1d-4b8e-9a63-0d6a2f4c1b77";
    let script = |request: &Request| match request.path.ends_with(&format!("/images/{IMAGE}")) {
        true => Some((200, json!({ "id": IMAGE, "name": "debian", "status": "active", "visibility": "community" }))),
        false => Some((200, json!({ "images": [] }))),
    };
    with_cloud(script, |client, _| async move {
        let mut wanted = cloud(&cluster(""));
        wanted.image = IMAGE.to_owned();
        let images = images(&client, &wanted).await.unwrap();
        assert_eq!(images.iter().map(|image| image.named.name.as_str()).collect::<Vec<_>>(), ["debian"]);
    });
}
