//! OpenStack services that fail temporarily.

use nodeinit_tests::Cloud;

#[test]
fn answers_that_fail_or_are_lost() {
    let cloud = Cloud::empty();
    // The service executes the request and the answer is lost: the provisioner must not repeat it.
    for (service, path) in [
        ("neutron", "/security-groups$"),
        ("neutron", "/networks$"),
        ("neutron", "/ports$"),
        ("neutron", "/floatingips$"),
        ("cinder", "/volumes$"),
        ("nova", "/os-server-groups$"),
        ("nova", "/servers$"),
        ("octavia", "/loadbalancers$"),
        ("octavia", "/listeners$"),
        ("octavia", "/members$"),
    ] {
        cloud.verb(&["answer", service, "lost", "--times", "1", "--method", "POST", "--path", path]);
    }
    // The service does not execute the request.
    cloud.verb(&["answer", "neutron", "500", "--times", "2", "--method", "POST", "--path", "/routers$"]);
    cloud.verb(&["answer", "nova", "503", "--times", "3"]);
    cloud.verb(&["answer", "cinder", "reset", "--times", "2", "--method", "POST"]);
    cloud.verb(&["answer", "octavia", "500", "--times", "2", "--path", "/pools"]);
    cloud.verb(&["answer", "keystone", "503", "--times", "2"]);
    let mark = cloud.mark();
    cloud.apply();
    let calls = cloud.calls(&mark);
    let count = |what: &str| calls.lines().filter(|line| line.contains(what)).count();
    assert_eq!(
        (count(" lost "), count(" reset "), count(" 503 fault "), count(" 500 fault ")),
        (10, 2, 5, 4),
        "{calls}"
    );
    cloud.all_is_well();
}

#[test]
fn a_service_that_does_not_answer() {
    let cloud = Cloud::as_it_is();
    cloud.configure("openstack: {timeouts: {request: 10s}}");
    cloud.verb(&["answer", "neutron", "hang"]);
    let ended = cloud.run("plan").exits(75);
    ended.says(&["no answer", "run it again"]);
    assert!(ended.seconds < 60.0, "it took {} s", ended.seconds);
    cloud.verb(&["answer", "neutron", "off"]);
    cloud.verb(&["answer", "neutron", "503"]);
    cloud.run("apply --yes --resources-only").exits(75).says(&["run it again"]);
    cloud.verb(&["answer", "neutron", "off"]);
    cloud.configure("");
    cloud.apply();
    cloud.all_is_well();
}

#[test]
fn a_token_that_ends_in_the_middle() {
    let cloud = Cloud::empty();
    // A token with a lifetime of seconds would also expire for the services, which use it for calls between themselves.
    for (service, method, path) in [
        ("neutron", "POST", "/ports$"),
        ("cinder", "GET", "/volumes/detail"),
        ("nova", "POST", "/servers$"),
        ("octavia", "POST", "/listeners$"),
        ("octavia", "GET", "/loadbalancers/"),
    ] {
        cloud.verb(&["answer", service, "401", "--times", "1", "--method", method, "--path", path]);
    }
    let mark = cloud.mark();
    cloud.apply();
    let calls = cloud.calls(&mark);
    let refused = calls.lines().filter(|line| line.contains(" 401 fault ")).count();
    let tokens = calls.lines().filter(|line| line.contains("POST /v3/auth/tokens 201 ")).count();
    assert_eq!(refused, 5, "{calls}");
    // Requests refused at the same time share one new token.
    assert!((2..=6).contains(&tokens), "{tokens} tokens: {calls}");
    cloud.all_is_well();
}

#[test]
fn a_balancer_that_is_being_changed() {
    let cloud = Cloud::as_it_is();
    cloud.apply();
    let monitor = cloud.verb(&["os", "loadbalancer", "healthmonitor", "list", "-f", "value", "-c", "id"]);
    cloud.verb(&["os", "loadbalancer", "healthmonitor", "delete", monitor.trim()]);
    let settled = || cloud.part("balancer/api")["state"] == "ACTIVE";
    cloud.until("the balancer is ACTIVE", 60, settled);
    // A client that checks before the change sees ACTIVE; Octavia still refuses the request.
    cloud.verb(&["answer", "octavia", "409", "--times", "2", "--method", "POST"]);
    cloud.verb(&["state", "loadbalancer", "trial", "PENDING_UPDATE"]);
    let mark = cloud.mark();
    let apply = cloud.start("apply --yes --resources-only");
    let looks = || cloud.calls(&mark).lines().filter(|line| line.contains("/lbaas/loadbalancers/")).count();
    cloud.until("it waits for the balancer", 60, || looks() > 2);
    cloud.verb(&["state", "loadbalancer", "trial", "ACTIVE"]);
    apply.wait().exits(0).says(&["created  monitor/api"]);
    assert_eq!(cloud.calls(&mark).lines().filter(|line| line.contains(" 409 fault ")).count(), 2);
    cloud.all_is_well();
}
