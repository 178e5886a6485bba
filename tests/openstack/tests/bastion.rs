//! A cluster behind a bastion: its machines are reachable from outside only through the bastion.

use nodeinit_tests::Cloud;
use std::{
    net::{IpAddr, TcpListener, TcpStream},
    time::Duration,
};

#[test]
fn a_cluster_behind_a_bastion() {
    let cloud = Cloud::with_guests();
    cloud.configure("openstack: {floatingIPs: none}");
    cloud.run("plan").exits(78).says(&["t1 cannot be reached: it has no floating IP", "`openstack.bastion`"]);
    cloud.configure("openstack: {floatingIPs: none, bastion: {}}");
    there_and_back(&cloud, 2, |bastion| {
        has_a_public_key_alone(&cloud, bastion);
        cloud.all_is_well();
    });
}

#[test]
fn a_cluster_in_two_networks() {
    let cloud = Cloud::with_guests();
    // The lab has one bridge for both.
    cloud.configure(&format!("openstack: {{floatingIPs: none, bastion: {{name: gate, {TWO_NETWORKS}}}}}}}"));
    there_and_back(&cloud, 2, |bastion| {
        has_a_public_key_alone(&cloud, bastion);
        cloud.all_is_well();
    });
}

#[test]
fn a_cluster_whose_only_way_out_is_its_bastion() {
    let cloud = Cloud::with_guests();
    cloud.machines(&["t1", "t2", "t3"], &["t4", "t5"]);
    let role = "openstack: {floatingIPs: none, loadBalancer: {floatingIP: false}, bastion: {name: gate";
    cloud.configure(&format!("bastion: {{}}\n{role}}}}}"));
    cloud.run("plan").exits(78).says(&["openstack.network.create.publicCIDR is missing"]);
    cloud.configure(&format!("bastion: {{sshRate: 600}}\n{role}, {TWO_NETWORKS}, dhcp: true}}}}}}"));
    there_and_back(&cloud, 5, |bastion| is_the_only_way_out(&cloud, bastion));
}

/// The rest of the section, from the address of the bastion on, without the braces at its end.
const TWO_NETWORKS: &str = "address: 10.77.0.180}, network: {create: {cidr: 10.77.0.160/28, gateway: 10.77.0.174, \
    firstAddress: 10.77.0.170, lastAddress: 10.77.0.173, publicCIDR: 10.77.0.176/28";

/// Creates and destroys a cluster of so many nodes. The bastion is the only server whose name is not that of a node.
fn there_and_back(cloud: &Cloud, nodes: usize, inspect: impl Fn(&str)) {
    let first = cloud.run("apply --yes").exits(0);
    let servers = cloud.status();
    let names = servers.iter().filter_map(|one| one["part"].as_str()?.strip_prefix("server/"));
    let bastion = names.filter(|name| !name.starts_with('t')).collect::<Vec<_>>();
    assert_eq!(bastion.len(), 1, "{servers:#?}");
    let bastion = bastion[0];
    let address = cloud.part(&format!("floating-ip/{bastion}"))["address"].as_str().unwrap().to_owned();
    first.says(&[&format!("logged in to t1 at 10.77.0.161:22 through {bastion} at {address}:22, which has")]);
    let listed = cloud.kubectl(&["get", "nodes", "--no-headers"]).exits(0).stdout;
    assert_eq!((listed.matches(" Ready ").count(), listed.lines().count()), (nodes, nodes), "{listed}");

    let lets_in = |address: &str| {
        TcpStream::connect_timeout(&format!("{address}:22").parse().unwrap(), Duration::from_secs(3)).is_ok()
    };
    assert!(lets_in(&address), "the bastion refuses our SSH connection");
    assert!(!lets_in("10.77.0.161") && !lets_in("10.77.0.164"), "a machine accepts SSH connections past the bastion");

    let mark = cloud.mark();
    cloud.run("apply --yes").exits(0);
    assert_eq!(cloud.writes(&mark), [""; 0], "the second apply wrote");
    inspect(bastion);

    cloud.run("destroy --yes").exits(0).says(&["no resources of this cluster are left"]);
    assert_eq!(cloud.objects(), [""; 0]);
}

fn has_a_public_key_alone(cloud: &Cloud, bastion: &str) {
    let text = &cloud.user_data()[bastion];
    assert!(text.contains("ssh_authorized_keys:") && !text.contains("write_files:"), "{text}");
    cloud.verb(&["ssh", bastion, "! test -e /etc/nodeinit && ! test -e /etc/kubernetes"]);
}

fn is_the_only_way_out(cloud: &Cloud, bastion: &str) {
    let on_bastion = |command: &str| cloud.verb(&["ssh", bastion, command]);
    let text = &cloud.user_data()[bastion];
    let leaked: Vec<String> = cloud.secrets().into_iter().filter(|secret| text.contains(secret)).collect();
    assert!(leaked.is_empty() && text.contains("/etc/nodeinit/config.yaml"), "{text}");
    on_bastion("! test -e /etc/kubernetes && ! test -e /etc/nodeinit/secrets.yaml && systemctl is-enabled nodeinit");

    // The private network has no router, and no machine another route.
    let routers =
        ["os", "port", "list", "--device-owner", "network:router_interface", "-f", "value", "-c", "Fixed IP Addresses"];
    let routers = cloud.verb(&routers);
    assert!(routers.lines().count() == 1 && routers.contains("10.77.0.177"), "{routers}");
    for machine in ["t1", "t2", "t3", "t4", "t5"] {
        let routes = cloud.verb(&["ssh", machine, "ip -4 route show default"]);
        assert_eq!(routes.trim(), "default via 10.77.0.174 dev host0", "{machine}");
        assert_eq!(seen(cloud, machine), "10.77.0.180".parse().ok(), "{machine}");
    }
    let counters = "nft list chain inet nodeinit_bastion postrouting | grep -o 'packets [0-9]*'";
    let counted = on_bastion(counters);
    on_bastion("nft delete table inet nodeinit_bastion");
    assert_eq!(seen(cloud, "t4"), None, "without the rules");
    cloud.run("apply --yes").exits(0);
    assert!(seen(cloud, "t4").is_some(), "after a repair");
    assert_ne!(on_bastion(counters), counted);

    // Neutron drops what the bastion forwards if the port has port security.
    let port = cloud.part("port/api")["id"].as_str().unwrap().to_owned();
    cloud.verb(&["os", "port", "set", "--enable-port-security", &port]);
    cloud.run("plan").exits(2).says(&["port security: on → off"]);
    cloud.run("apply --yes --resources-only").exits(0);
    cloud.run("plan").exits(0).says(&["0 to create, 0 to change, 0 to delete, "]);

    // It forwards again after a reboot.
    cloud.verb(&["os", "server", "reboot", "--hard", "--wait", bastion]);
    cloud.until("the way out after a reboot", 120, || seen(cloud, "t4").is_some());
}

/// Returns the address as which the outside, this machine, sees another one; `None` if it sees nothing.
fn seen(cloud: &Cloud, machine: &str) -> Option<IpAddr> {
    let listener = TcpListener::bind("10.77.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let _ = cloud.try_verb(&["ssh", machine, &format!("timeout 3 bash -c ': </dev/tcp/10.77.0.1/{port}'")]);
    listener.accept().ok().map(|(_, peer)| peer.ip())
}
