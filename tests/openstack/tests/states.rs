//! Resources that the cloud could not create, or that failed later, are reported with the cloud's message and created again.

use nodeinit_tests::Cloud;

#[test]
fn a_server_and_a_volume_that_cannot_be_made() {
    let cloud = Cloud::empty();
    cloud.verb(&["fail", "server", "t4"]);
    cloud.verb(&["fail", "volume", ".*t1"]);
    let failed = cloud.run("apply --yes --resources-only").exits(3);
    failed.says(&[
        "FAILED   volume/t1: volume/t1: the cloud could not create it: it is in the state error",
        "FAILED   server/t1: not started: volume/t1 failed",
        "FAILED   server/t4: server/t4: the cloud could not create it: ",
        "told to fail",
        "run it again",
    ]);
    cloud.run("plan").exits(2).says(&["replace  volume/t1", "replace  server/t4", "told to fail"]);
    cloud.verb(&["fail", "server", "off"]);
    cloud.verb(&["fail", "volume", "off"]);
    cloud.apply().says(&["replaced server/t4", "replaced volume/t1"]);
    cloud.all_is_well();
}

#[test]
fn a_server_in_error_that_has_run() {
    let cloud = Cloud::as_it_is();
    cloud.apply();
    cloud.verb(&["state", "server", "t4", "error"]);
    let id = cloud.part("server/t4")["id"].clone();
    let applied = cloud.run("apply --yes --resources-only").exits(3);
    applied.says(&["UNHEALTHY server/t4: it is ERROR", "or delete the server", "1 machine is unhealthy: t4 (ERROR)"]);
    assert_eq!(cloud.part("server/t4")["id"], id, "it was created again");
    cloud.verb(&["state", "server", "t4", "active"]);
    cloud.all_is_well();
}

#[test]
fn a_shelved_server_does_not_stop_the_rest() {
    let cloud = Cloud::as_it_is();
    cloud.apply();
    cloud.verb(&["os", "server", "shelve", "--wait", "t4"]);
    let port = cloud.part("port/t1")["id"].as_str().unwrap().to_owned();
    cloud.verb(&["os", "port", "set", "--disable", &port]);
    cloud.run("plan").exits(2).says(&["UNHEALTHY server/t4", "openstack server unshelve", "change   port/t1"]);
    cloud
        .run("apply --yes --resources-only")
        .exits(3)
        .says(&["UNHEALTHY server/t4: it is SHELVED_OFFLOADED", "changed  port/t1"]);
    cloud.run("plan").exits(3).says(&["0 to create, 0 to change, 0 to delete, "]);
    cloud.verb(&["os", "server", "unshelve", "--wait", "t4"]);
    cloud.all_is_well();
}

#[test]
fn a_volume_in_error_that_may_hold_data_stays() {
    let cloud = Cloud::as_it_is();
    cloud.apply();
    // The server of a worker is gone, and its detached volume fails.
    cloud.verb(&["os", "server", "delete", "--wait", "t4"]);
    let id = cloud.part("volume/t4")["id"].clone();
    for state in ["error", "error_deleting", "error_extending"] {
        cloud.verb(&["state", "volume", "trial-t4", state]);
        let refused = cloud.run("apply --yes --resources-only").exits(78);
        refused.says(&[&format!("volume/t4 is in the state {state}, and may hold data")]);
        assert_eq!(cloud.part("volume/t4")["id"], id, "it was created again");
    }
    cloud.verb(&["state", "volume", "trial-t4", "available"]);
    cloud.apply().says(&["created  server/t4"]);
    assert_eq!(cloud.part("volume/t4")["id"], id);
    cloud.all_is_well();
}

#[test]
fn a_volume_that_stays_on_its_way() {
    let cloud = Cloud::empty();
    cloud.configure("openstack: {timeouts: {volume: 8s}}");
    cloud.verb(&["stop", "cinder-volume"]);
    let failed = cloud.run("apply --yes --resources-only").exits(3);
    failed.says(&[
        "volume/t1: timed out after 8 s waiting until the volume holds its image; last state: creating",
        "`openstack.timeouts`",
    ]);
    cloud.verb(&["start", "cinder-volume"]);
    cloud.configure("");
    cloud.apply();
    cloud.all_is_well();
}

#[test]
fn a_balancer_in_error_is_replaced_on_request_and_keeps_its_address() {
    let cloud = Cloud::as_it_is();
    cloud.apply();
    let before = cloud.part("balancer/api");
    cloud.verb(&["state", "loadbalancer", "trial", "ERROR"]);
    cloud.run("plan").exits(78).says(&["REFUSED  balancer/api", "--replace-balancer"]);
    cloud.run("apply --yes --resources-only").exits(78);
    cloud.run("apply --yes --resources-only --replace-balancer").exits(0);
    let after = cloud.part("balancer/api");
    assert_ne!(before["id"], after["id"]);
    assert_eq!(before["address"], after["address"]);
    cloud.all_is_well();
}
