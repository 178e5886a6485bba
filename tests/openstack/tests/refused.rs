//! Impossible requests are reported before anything is created.

use nodeinit_tests::Cloud;

/// Checks that both `plan` and `apply` stop with these messages and write nothing.
#[track_caller]
fn is_told(cloud: &Cloud, parts: &[&str]) {
    let mark = cloud.mark();
    cloud.run("plan").exits(78).says(parts);
    let refused = cloud.run("apply --yes --resources-only").exits(78);
    refused.says(parts);
    refused.says(&["the plan has conflicts; nothing was changed"]);
    assert_eq!(cloud.writes(&mark), [""; 0], "something was written");
}

#[test]
fn a_quota_that_is_one_short() {
    let cloud = Cloud::empty();
    cloud.verb(&["quota", "instances=+1", "volumes=+1"]);
    is_told(
        &cloud,
        &["quota: 2 servers are needed, and 1 of 1 are free", "quota: 2 volumes are needed", "ask for 1 more"],
    );
    cloud.verb(&["quota", "instances=+2", "volumes=+2"]);
    cloud.run("plan").exits(2);
}

#[test]
fn what_is_not_there_all_at_once() {
    let cloud = Cloud::empty();
    cloud.configure(
        "openstack: {image: no-such-image, flavor: no-such-flavor, keypair: no-such-key, externalNetwork: no-such-network, \
         availabilityZones: [no-such-zone]}",
    );
    is_told(&cloud, &["no-such-image", "no-such-flavor", "no-such-key", "no-such-network", "no-such-zone"]);
}

#[test]
fn user_data_that_is_too_long() {
    let cloud = Cloud::empty();
    let long: String = (0..400).map(|n| format!("  - another-name-of-the-api-{n}.example.org\n")).collect();
    cloud.configure(&format!("controlPlane:\n  certSANs:\n{long}"));
    is_told(&cloud, &["the user-data of t1 has ", " bytes, but the maximum is 16384"]);
}

#[test]
fn a_cloud_without_octavia() {
    let cloud = Cloud::empty();
    cloud.verb(&["catalogue", "load-balancer", "off"]);
    is_told(
        &cloud,
        &["the cloud's catalogue has no load balancing (Octavia)", "openstack.loadBalancer.enabled: false"],
    );
    cloud.configure(
        "controlPlane: {virtualAddress: 10.77.0.160}\nopenstack: {loadBalancer: {enabled: false, floatingIP: false}}",
    );
    cloud.run("plan").exits(2);
}

#[test]
fn two_clusters_with_one_id() {
    let cloud = Cloud::empty();
    cloud.apply();
    let (mark, before) = (cloud.mark(), cloud.objects());
    cloud.put("test.yaml", "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: second\n");
    for command in ["plan", "apply --yes --resources-only", "destroy --yes", "worker remove t4 --resources-only"] {
        let refused = cloud.run(command).exits(78);
        refused.says(&["belongs to the cluster trial, not to second", "generate another clusterID"]);
    }
    assert_eq!(cloud.writes(&mark), [""; 0], "something was written");
    assert_eq!(cloud.objects(), before);
    cloud.configure("");
    cloud.all_is_well();
}
