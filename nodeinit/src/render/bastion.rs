//! The firewall of a bastion, and the drop-in of its SSH server.

use nodeinit_base::sha256_hex;
use nodeinit_config::cluster::IpNet;

/// nodeinit's own nftables table.
pub const TABLE: [&str; 3] = ["table", "inet", "nodeinit_bastion"];

/// What sshd reads before the other drop-ins: the first value of a keyword counts.
pub const SSHD: &str = "# Written by nodeinit for a bastion: it accepts keys only, and leads on to other machines.\n\
    PubkeyAuthentication yes\n\
    PasswordAuthentication no\n\
    KbdInteractiveAuthentication no\n\
    AllowAgentForwarding no\n\
    X11Forwarding no\n\
    DisableForwarding no\n\
    AllowTcpForwarding local\n";

/// What the rules depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firewall {
    /// The interface of the default route.
    pub outer: String,
    /// The interface with an address in the private network.
    pub inner: String,
    /// The private network.
    pub network: IpNet,
    /// The ports of the SSH server.
    pub ssh_ports: Vec<u16>,
    /// New SSH connections per minute from one outside address.
    pub ssh_rate: usize,
}

/// Rules in the form that `nft -f` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The file, which replaces the table in one transaction.
    pub text: String,
    mark: String,
    count: usize,
}

impl Rules {
    /// Whether `nft list table` shows all of these rules. Each rule has the digest of all as a comment, because `nft` prints rules
    /// differently in each version.
    #[must_use]
    pub fn are_in(&self, listed: &str) -> bool {
        listed.matches(&self.mark).count() == self.count
    }
}

/// Renders the rules. They refer to interfaces by name, so that they can be loaded before the network is up.
#[must_use]
pub fn rules(firewall: &Firewall) -> Rules {
    let Firewall { outer, inner, network, ssh_ports, ssh_rate } = firewall;
    // The metadata service of a cloud would give the private network the user-data of the bastion.
    let (ip, metadata) = match network.addr().is_ipv4() {
        true => ("ip", "169.254.0.0/16"),
        false => ("ip6", "fd00:ec2::254"),
    };
    let ports: Vec<String> = ssh_ports.iter().map(u16::to_string).collect();
    let new = format!("iifname != \"{inner}\" tcp dport {{ {} }} ct state new", ports.join(", "));
    let over = format!("limit rate over {ssh_rate}/minute burst {ssh_rate} packets }} counter drop");
    let chains = [
        (
            "input",
            "filter hook input priority 0",
            vec![
                // Linux accepts packets for any of its addresses on every interface.
                format!("iifname \"{outer}\" {ip} daddr {network} counter drop"),
                format!("{new} update @ssh4 {{ ip saddr {over}"),
                format!("{new} update @ssh6 {{ ip6 saddr & ffff:ffff:ffff:ffff:: {over}"),
            ],
        ),
        (
            "forward",
            "filter hook forward priority 0",
            vec![
                format!("iifname \"{outer}\" oifname \"{inner}\" ct state established,related counter accept"),
                format!(
                    "iifname \"{inner}\" oifname \"{outer}\" {ip} saddr {network} {ip} daddr != {metadata} counter accept"
                ),
                format!("iifname {{ \"{inner}\", \"{outer}\" }} oifname \"{outer}\" counter drop"),
                format!("iifname != {{ \"{inner}\", \"{outer}\" }} oifname \"{inner}\" ct state new counter drop"),
                // Forwarding is on for every interface. A published port of a container is a translated address.
                format!(
                    "iifname {{ \"{inner}\", \"{outer}\" }} oifname != {{ \"{inner}\", \"{outer}\" }} ct state new ct status & dnat != dnat counter drop"
                ),
                format!("iifname \"{outer}\" oifname \"{inner}\" counter drop"),
            ],
        ),
        (
            "postrouting",
            "nat hook postrouting priority 100",
            vec![format!("oifname \"{outer}\" {ip} saddr {network} {ip} daddr != {network} counter masquerade")],
        ),
    ];
    let digest = sha256_hex(format!("{chains:?}").as_bytes());
    let mark = format!("comment \"nodeinit {}\"", digest.get(..16).unwrap_or(&digest));
    let [_, family, name] = TABLE;
    let mut text = format!(
        "# Written by nodeinit: NAT for the private network, and a limit for new SSH connections (bastion).\n\
         table {family} {name}\ndelete table {family} {name}\ntable {family} {name} {{\n"
    );
    for (set, kind) in [("ssh4", "ipv4_addr"), ("ssh6", "ipv6_addr")] {
        text += &format!("\tset {set} {{\n\t\ttype {kind}\n\t\tsize 65535\n\t\tflags dynamic\n\t\ttimeout 2m\n\t}}\n");
    }
    let mut count = 0;
    for (chain, hook, rules) in chains {
        text += &format!("\tchain {chain} {{\n\t\ttype {hook}; policy accept;\n");
        count += rules.len();
        rules.iter().for_each(|rule| text += &format!("\t\t{rule} {mark}\n"));
        text += "\t}\n";
    }
    text += "}\n";
    Rules { text, mark, count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::golden;

    fn firewall(network: &str) -> Firewall {
        Firewall {
            outer: "eth0".into(),
            inner: "eth1".into(),
            network: network.parse().unwrap(),
            ssh_ports: vec![22, 2222],
            ssh_rate: 30,
        }
    }

    #[test]
    fn the_rules_of_both_families() {
        golden("bastion.nft", &rules(&firewall("10.0.0.0/24")).text);
        golden("bastion6.nft", &rules(&firewall("fd00:1::/64")).text);
    }

    #[test]
    fn a_changed_flushed_or_incomplete_table_is_recognized() {
        let wanted = rules(&firewall("10.0.0.0/24"));
        assert!(wanted.are_in(&wanted.text));
        let less: String = wanted.text.split_inclusive('\n').filter(|line| !line.contains("masquerade")).collect();
        let other = rules(&Firewall { ssh_rate: 31, ..firewall("10.0.0.0/24") });
        for listed in ["", less.as_str(), other.text.as_str()] {
            assert!(!wanted.are_in(listed), "{listed}");
        }
    }
}
