//! A cluster behind a bastion: its machines are reachable from outside only through the bastion.

use nodeinit_tests::Cloud;
use std::{fs, net::TcpStream, time::Duration};

#[test]
fn a_cluster_behind_a_bastion() {
    let cloud = Cloud::with_guests();
    cloud.configure("openstack: {floatingIPs: none}");
    cloud.run("plan").exits(78).says(&["t1 cannot be reached: it has no floating IP", "`openstack.bastion`"]);
    cloud.configure("openstack: {floatingIPs: none, bastion: {}}");
    there_and_back(&cloud);
}

#[test]
fn a_cluster_in_two_networks() {
    let cloud = Cloud::with_guests();
    // The lab has one bridge for both.
    cloud.configure(
        "openstack: {floatingIPs: none, bastion: {name: gate, address: 10.77.0.180}, network: {create: {cidr: 10.77.0.160/28, \
         gateway: 10.77.0.174, firstAddress: 10.77.0.170, lastAddress: 10.77.0.173, publicCIDR: 10.77.0.176/28}}}",
    );
    there_and_back(&cloud);
}

/// Creates and destroys the cluster. The bastion is the only server whose name is not that of a machine.
fn there_and_back(cloud: &Cloud) {
    let first = cloud.run("apply --yes").exits(0);
    let servers = cloud.status();
    let names = servers.iter().filter_map(|one| one["part"].as_str()?.strip_prefix("server/"));
    let bastion = names.filter(|name| !["t1", "t4"].contains(name)).collect::<Vec<_>>();
    assert_eq!(bastion.len(), 1, "{servers:#?}");
    let bastion = bastion[0];
    let address = cloud.part(&format!("floating-ip/{bastion}"))["address"].as_str().unwrap().to_owned();
    first.says(&[&format!("logged in to t1 at 10.77.0.161:22 through {bastion} at {address}:22, which has")]);
    let nodes = cloud.kubectl(&["get", "nodes", "--no-headers"]).exits(0).stdout;
    let ready: Vec<&str> = nodes.lines().filter(|line| line.contains(" Ready ")).map(|line| &line[..2]).collect();
    assert_eq!((ready, nodes.lines().count()), (vec!["t1", "t4"], 2), "{nodes}");

    let lets_in = |address: &str| {
        TcpStream::connect_timeout(&format!("{address}:22").parse().unwrap(), Duration::from_secs(3)).is_ok()
    };
    assert!(lets_in(&address), "the bastion refuses our SSH connection");
    assert!(!lets_in("10.77.0.161") && !lets_in("10.77.0.164"), "a machine accepts SSH connections past the bastion");
    has_a_public_key_alone(cloud, bastion);

    let mark = cloud.mark();
    cloud.run("apply --yes").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the second apply wrote");
    cloud.all_is_well();

    cloud.run("destroy --yes").exits(0).says(&["no resources of this cluster are left"]);
    assert_eq!(cloud.objects(), [""; 0]);
}

fn has_a_public_key_alone(cloud: &Cloud, bastion: &str) {
    let directory = cloud.path("userdata");
    let _ = fs::remove_dir_all(&directory);
    cloud.verb(&["userdata", &directory.display().to_string()]);
    let text = fs::read_to_string(directory.join(bastion)).unwrap();
    assert!(text.contains("ssh_authorized_keys:") && !text.contains("write_files:"), "{text}");
    cloud.verb(&["ssh", bastion, "! test -e /etc/nodeinit && ! test -e /etc/kubernetes"]);
}
