//! A private network that reaches the outside only through its bastion. Its interfaces are macvlans: all hosts share one bridge.

use nodeinit_tests::{Cluster, Host};

/// Sends each client the address that it has for the outside host.
const ECHO: &str = "systemd-run -q --unit=echo socat TCP4-LISTEN:8000,fork,reuseaddr SYSTEM:'echo $SOCAT_PEERADDR'";

struct Network<'a> {
    bastion: &'a Host,
    outside: &'a Host,
    /// The third part of its addresses, which no other test uses.
    number: &'a str,
}

impl Network<'_> {
    fn address(&self, last: u8) -> String {
        format!("10.78.{}.{last}", self.number)
    }

    /// An address to which only the bastion has a route.
    fn target(&self) -> String {
        format!("192.0.2.{}", self.number)
    }

    fn join(&self, host: &Host, last: u8) {
        // Both networks share a bridge: without this, the outer interface answers for the address of the inner one.
        host.must(&format!(
            "sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2; ip link add link host0 name inner type macvlan mode bridge; ip address add {}/24 dev inner; ip link set inner up",
            self.address(last)
        ));
    }

    fn connect_bastion(&self) {
        self.join(self.bastion, 1);
        self.bastion.must(&format!("ip route add {} via {}", self.target(), self.outside.address()));
    }

    /// Configures the bastion. Its rate must let the test itself in.
    fn configure(&self, more: &str) {
        self.bastion.configure(&self.section(more));
    }

    fn section(&self, more: &str) -> String {
        format!(
            "bastion: {{name: {}, address: {}, network: 10.78.{}.0/24{more}}}\n",
            self.bastion.name(),
            self.address(1),
            self.number
        )
    }

    /// Returns what the outside host sees as the address of a private one; empty if it sees nothing.
    fn seen(&self, private: &Host) -> String {
        private.run(&format!("socat -t 3 - TCP:{}:8000,connect-timeout=3", self.target())).stdout.trim().to_owned()
    }

    /// What the outside host sees of each private one, which has no other route out.
    fn all_are_seen(&self, cluster: &Cluster, from: &str) {
        for host in cluster.hosts() {
            let way = host.must(&format!("ip route get {} | head -n 1; ip route show default", self.target()));
            let inside = format!(" via {} dev inner", self.address(1));
            assert!(
                way.lines().count() == 2 && way.lines().all(|line| line.contains(&inside)),
                "{}: {way}",
                host.name()
            );
            assert_eq!(self.seen(host), from, "{}", host.name());
        }
    }

    /// Returns the packets that the rules of a chain counted, in order.
    fn counted(&self, chain: &str) -> Vec<u64> {
        let script = format!("nft list chain inet nodeinit_bastion {chain} | grep -o 'counter packets [0-9]*'");
        let printed = self.bastion.must(&script);
        printed.lines().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
    }
}

pub(crate) fn a_private_network_reaches_the_outside_only_through_its_bastion() {
    let cluster = Cluster::with_images(3, 2);
    let (bastion, outside) = (&Host::fresh(), &Host::fresh());
    let first = cluster.first();
    let number = bastion.address().rsplit('.').next().unwrap();
    let network = Network { bastion, outside, number };
    outside.must(&format!(
        "ip address add {}/32 dev host0; {ECHO}; ip route add 10.78.{number}.0/24 via {}",
        network.target(),
        bastion.address()
    ));
    network.connect_bastion();
    let masters: Vec<(&Host, u8)> = cluster.masters.iter().zip(11..).collect();
    let workers: Vec<(&Host, u8)> = cluster.workers.iter().zip(21..).collect();
    for (host, last) in masters.iter().chain(&workers) {
        network.join(host, *last);
        host.must(&format!("ip route replace default via {}", network.address(1)));
    }
    bastion.must("rm /etc/nodeinit/conf.d/10-machines.yaml");
    network.all_are_seen(&cluster, "");

    // A program that is missing is named before anything changes.
    network.configure(", sshRate: 1000, dns: true, ntp: true");
    bastion.nodeinit("up").exits(69).says(&["systemd-resolved or dnsmasq", "chrony"]);
    bastion.must("[ ! -e /etc/nodeinit/bastion.nft ]");

    network.configure(", sshRate: 1000");
    bastion.nodeinit("plan").exits(2).says(&["nodeinit_bastion", "net.ipv4.ip_forward", "10-nodeinit-bastion.conf"]);
    bastion.nodeinit("up").exits(0).says(&["bastion of cluster lab"]);
    bastion.nodeinit("plan").exits(0);
    bastion.nodeinit("status").exits(0).says(&["is the bastion of cluster lab"]);
    bastion.must("sshd -T | grep -qx 'passwordauthentication no' && sshd -T | grep -qx 'allowtcpforwarding local'");

    // The outside sees the bastion's address, and starts no connection to the private network.
    network.all_are_seen(&cluster, bastion.address());
    assert!(network.counted("postrouting").iter().all(|packets| *packets > 0));
    let dropped = || *network.counted("forward").last().unwrap();
    assert_eq!(dropped(), 0);
    let into = format!("socat -u TCP:{}:22,connect-timeout=3 -", network.address(21));
    assert_ne!(outside.run(&into).code, 0);
    assert!(dropped() > 0);

    // The cluster comes up through the bastion, the default jump host: the other machines accept SSH from no other private machine.
    let key = |host: &Host| host.must("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub").trim().to_owned();
    let listed = |machines: &[(&Host, u8)]| {
        let machine = |(host, last): &(&Host, u8)| {
            format!("- {{name: {}, address: {}, hostKeys: [{}]}}\n", host.name(), network.address(*last), key(host))
        };
        machines.iter().map(machine).collect::<String>()
    };
    for host in cluster.hosts().skip(1) {
        host.must(&format!(
            "for from in {} {}; do iptables -I INPUT -p tcp --dport 22 -s $from -j DROP; done",
            first.address(),
            network.address(11)
        ));
    }
    first.configure(&format!(
        "{}ssh: {{jumpHost: {{hostKeys: [{}]}}}}\ncontrolPlane: {{endpoint: \"{}:6443\"}}\nmasters:\n{}workers:\n{}",
        network.section(""),
        key(bastion),
        network.address(11),
        listed(&masters),
        listed(&workers)
    ));
    cluster.up();
    first.kubectl("wait --for=condition=Ready nodes --all --timeout=120s");
    assert_eq!(first.kubectl("get nodes -o name").lines().count(), 5);
    network.all_are_seen(&cluster, bastion.address());

    limits_new_connections(&network);

    // A flushed table is loaded again, also by Debian's own service and at boot.
    bastion.must("nft flush table inet nodeinit_bastion");
    bastion.nodeinit("plan").exits(2).says(&["load table inet nodeinit_bastion"]);
    bastion.nodeinit("up").exits(0);
    assert_eq!(network.seen(first), bastion.address());
    for verb in ["start", "restart", "reload", "stop"] {
        bastion.must(&format!("systemctl {verb} nftables.service"));
        bastion.until(&format!("the rules after a {verb}"), 10.0, "nft list table inet nodeinit_bastion");
    }
    bastion.cut_power();
    bastion.boot();
    network.connect_bastion();
    // The inner interface is another one, with another MAC address.
    for host in cluster.hosts() {
        host.must("ip neighbour flush dev inner");
    }
    network.all_are_seen(&cluster, bastion.address());
    bastion.nodeinit("plan").exits(0);

    // Without the rules, the kernel does not forward.
    bastion.must("cp /etc/nodeinit/bastion.nft /root/rules && echo broken >/etc/nodeinit/bastion.nft");
    bastion.cut_power();
    bastion.boot();
    bastion.must("grep -qx 0 /proc/sys/net/ipv4/ip_forward && systemctl is-failed nodeinit-bastion.service");
    bastion.must("mv /root/rules /etc/nodeinit/bastion.nft && systemctl restart nodeinit-bastion.service");
    bastion.must("grep -qx 1 /proc/sys/net/ipv4/ip_forward");

    // Passwords in a `Match` block are found.
    let drop_in = "/etc/ssh/sshd_config.d/90-test.conf";
    network.connect_bastion();
    let (inside, private) = (network.address(1), format!("Address 10.78.{number}.0/24"));
    for (pattern, from) in [("User root", "192.0.2.1"), (private.as_str(), inside.as_str())] {
        bastion.must(&format!("printf 'Match {pattern}\\nPasswordAuthentication yes\\n' >{drop_in}"));
        bastion.nodeinit("plan").exits(2).says(&[&format!("accepts a password of root from {from}")]);
    }
    bastion.must(&format!("rm {drop_in}"));

    bastion.nodeinit("reset --yes").exits(0);
    network.all_are_seen(&cluster, "");
    bastion.must(
        "! nft list table inet nodeinit_bastion 2>/dev/null && grep -qx 0 /proc/sys/net/ipv4/ip_forward
        [ ! -e /etc/ssh/sshd_config.d/10-nodeinit-bastion.conf ] && [ ! -e /etc/nodeinit/bastion.nft ]
        [ ! -e /etc/systemd/system/nodeinit-bastion.service ] && [ ! -e /etc/nodeinit/bastion-sysctl.conf ]",
    );
}

/// Runs while a low rate is set, which would also lock out the tests: one session sets it and restores the former one.
fn limits_new_connections(network: &Network) {
    let (file, low) = ("/etc/nodeinit/conf.d/50-test.yaml", network.section(", sshRate: 5"));
    let script = format!(
        "cp {file} /root/former; echo '{}' >{file}; nodeinit up; sleep 20; mv /root/former {file}; nodeinit up",
        low.trim()
    );
    let limited = network.bastion.start(&script);
    let ask = |address: &str| {
        format!("for n in $(seq 12); do timeout 1 bash -c ': </dev/tcp/{address}/22' && echo open; done | wc -l")
    };
    let outside = format!("sleep 6; {}", ask(network.bastion.address()));
    let open: usize = network.outside.must(&outside).trim().parse().unwrap();
    assert!((1..=6).contains(&open), "{open} of 12");
    limited.wait().exits(0);
    let input = network.counted("input");
    assert_eq!(input.len(), 3, "{input:?}");
    let open: usize = network.outside.must(&ask(network.bastion.address())).trim().parse().unwrap();
    assert_eq!(open, 12, "the former rate");
}
