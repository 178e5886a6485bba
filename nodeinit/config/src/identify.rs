//! Identifies this machine in the configuration.

use crate::cluster::{Bastion, Cluster, Machine, MachineSsh, Node, Role};
use std::{collections::BTreeMap, net::IpAddr};

/// The name and addresses of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The kernel's host name, short or with a domain.
    pub host_name: String,
    /// Its addresses; the one of the default route is first.
    pub addresses: Vec<IpAddr>,
}

/// Why a machine cannot be identified, or cannot have the requested role. A fault of the configuration (exit 78).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMachine {
    /// No entry has its name or one of its addresses.
    #[error(
        "this machine matches no entry in `masters` or `workers`: its host name is {host_name}, its addresses are {}; the configuration lists {}; add this machine there, or set its host name to the `name` of its entry",
        list(.addresses), list(.configured)
    )]
    NotListed {
        /// The host name that was compared.
        host_name: String,
        /// The addresses that were compared.
        addresses: Vec<IpAddr>,
        /// The configured machines.
        configured: Vec<String>,
    },
    /// `--role bastion`, but no bastion is configured.
    #[error("the configuration has no bastion; add the section `bastion`, or omit `--role`")]
    NoBastion,
    /// The bastion has no address in its network.
    #[error(
        "{name} is the bastion of {network}, but has no address there: its addresses are {}; give one of its interfaces an \
         address of that network, or correct `bastion.network`",
        list(.addresses)
    )]
    OutsideNetwork {
        /// The bastion.
        name: String,
        /// Its private network.
        network: String,
        /// The addresses that were checked.
        addresses: Vec<IpAddr>,
    },
    /// Its entry has another role than the requested one.
    #[error("{name} is configured as {configured}, not as {wanted}; omit `--role`, or move its entry")]
    OtherRole {
        /// The machine.
        name: String,
        /// The role in its entry.
        configured: Role,
        /// The requested role.
        wanted: Role,
    },
    /// Neither an entry nor an interface has an address that the cluster can use.
    #[error(
        "no address for {name}: none of {} is in the address family of network.serviceCIDR and outside the cluster's \
         ranges; set its `address` in `masters` or `workers`",
        list(.addresses)
    )]
    NoAddress {
        /// The machine.
        name: String,
        /// The addresses that were checked.
        addresses: Vec<IpAddr>,
    },
}

fn list<T: ToString>(items: &[T]) -> String {
    match items {
        [] => "none".to_owned(),
        _ => items.iter().map(T::to_string).collect::<Vec<_>>().join(", "),
    }
}

impl Cluster {
    /// Finds the machine that `local` describes: by host name, complete or up to its first dot, else by an address.
    ///
    /// A machine that matches no entry has no role: only the first entry of `masters` is ever a first master.
    ///
    /// With the wanted role [`Role::Bastion`], it is the bastion although its name is another one.
    ///
    /// # Errors
    /// If no entry matches, if `wanted` contradicts it, or if no address can be found.
    pub fn node(&self, local: &Local, wanted: Option<Role>) -> Result<Node, UnknownMachine> {
        let (role, machine) = match (self.find(local), &self.bastion) {
            (Some(found), _) => found,
            (None, Some(bastion)) if wanted == Some(Role::Bastion) => (Role::Bastion, entry(bastion)),
            (None, None) if wanted == Some(Role::Bastion) => return Err(UnknownMachine::NoBastion),
            (None, _) => return Err(self.not_listed(local)),
        };
        if let Some(wanted) = wanted.filter(|wanted| *wanted != role) {
            return Err(UnknownMachine::OtherRole { name: machine.name, configured: role, wanted });
        }
        if let (Role::Bastion, Some(Bastion { network, .. })) = (role, &self.bastion) {
            let inside = local.addresses.iter().copied().find(|address| network.contains(address));
            let (name, addresses) = (machine.name.clone(), local.addresses.clone());
            let outside = || UnknownMachine::OutsideNetwork { name, network: network.to_string(), addresses };
            return Ok(Node { name: machine.name.clone(), address: inside.ok_or_else(outside)?, role, machine });
        }
        let address = machine.address.or_else(|| local.addresses.iter().copied().find(|a| self.may_announce(*a)));
        let Some(address) = address else {
            return Err(UnknownMachine::NoAddress { name: machine.name, addresses: local.addresses.clone() });
        };
        Ok(Node { name: machine.name.clone(), address, role, machine })
    }

    /// Returns all nodes with their roles, masters first.
    pub fn machines(&self) -> impl Iterator<Item = (&Machine, Role)> {
        let master = |index| if index == 0 { Role::FirstMaster } else { Role::Master };
        let masters = self.masters.iter().enumerate().map(move |(index, machine)| (machine, master(index)));
        masters.chain(self.workers.iter().map(|machine| (machine, Role::Worker)))
    }

    /// Whether a machine, or the bastion, has this name.
    #[must_use]
    pub fn has_machine(&self, name: &str) -> bool {
        self.machines().any(|(machine, _)| machine.name == name)
            || self.bastion.as_ref().is_some_and(|bastion| bastion.name == name)
    }

    /// Returns the entry of the bastion that nodeinit sets up.
    #[must_use]
    pub fn bastion_machine(&self) -> Option<Machine> {
        self.bastion.as_ref().map(entry)
    }

    fn find(&self, local: &Local) -> Option<(Role, Machine)> {
        let bastion = self.bastion_machine();
        let mut machines: Vec<_> = self.machines().map(|(machine, role)| (role, machine)).collect();
        machines.extend(bastion.iter().map(|machine| (Role::Bastion, machine)));
        let host_name = local.host_name.to_lowercase();
        let short = short(&host_name);
        let by = |fits: &dyn Fn(&Machine) -> bool| machines.iter().find(|(_, machine)| fits(machine));
        by(&|m| m.name == host_name)
            .or_else(|| by(&|m| m.name == short))
            .or_else(|| by(&|m| m.address.is_some_and(|a| local.addresses.contains(&a))))
            .map(|(role, machine)| (*role, (*machine).clone()))
    }

    fn may_announce(&self, address: IpAddr) -> bool {
        let network = &self.network;
        let unfit = address.is_loopback() || address.is_unspecified() || is_link_local(address);
        let family = address.is_ipv4() == network.service_cidr.addr().is_ipv4();
        family && !unfit && !network.service_cidr.contains(&address) && !network.pod_cidr.contains(&address)
    }

    fn not_listed(&self, local: &Local) -> UnknownMachine {
        let shown = |m: &Machine| m.address.map_or(m.name.clone(), |address| format!("{} ({address})", m.name));
        UnknownMachine::NotListed {
            host_name: local.host_name.clone(),
            addresses: local.addresses.clone(),
            configured: self.masters.iter().chain(&self.workers).chain(&self.bastion_machine()).map(shown).collect(),
        }
    }
}

/// The entry of a bastion, which has neither labels nor taints.
fn entry(bastion: &Bastion) -> Machine {
    let Bastion { name, address, os, .. } = bastion.clone();
    Machine {
        name,
        address,
        labels: BTreeMap::new(),
        taints: Vec::new(),
        host_keys: Vec::new(),
        ssh: MachineSsh::default(),
        os,
        flavor: None,
        availability_zone: None,
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_link_local(),
        IpAddr::V6(a) => a.is_unicast_link_local(),
    }
}

fn short(host_name: &str) -> &str {
    host_name.split('.').next().unwrap_or(host_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, load};

    fn cluster(text: &str) -> Cluster {
        let header = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";
        load(&[Layer::file("cluster.yaml", format!("{header}{text}"))]).unwrap().cluster
    }

    fn local(host_name: &str, addresses: &[&str]) -> Local {
        let addresses = addresses.iter().map(|a| a.parse().unwrap()).collect();
        Local { host_name: host_name.to_owned(), addresses }
    }

    const THREE: &str = "masters:\n- {name: m1, address: 10.0.0.1}\n- {name: m2, address: 10.0.0.2}\n\
                         workers:\n- {name: w1, address: 10.0.0.9}\n- {name: w2.example.org}\n";

    #[test]
    fn machines_are_found_by_name_then_by_address() {
        let cluster = cluster(THREE);
        let role = |host: &str, address: &str| cluster.node(&local(host, &[address]), None).map(|n| (n.name, n.role));
        assert_eq!(role("m1", "10.9.9.9"), Ok(("m1".into(), Role::FirstMaster)));
        assert_eq!(role("m2.novalocal", "10.9.9.9"), Ok(("m2".into(), Role::Master)));
        assert_eq!(role("W2.example.org", "10.9.9.9"), Ok(("w2.example.org".into(), Role::Worker)));
        assert_eq!(role("debian", "10.0.0.9"), Ok(("w1".into(), Role::Worker)));
        let unknown = role("debian", "10.9.9.9").unwrap_err().to_string();
        assert!(
            unknown.contains("host name is debian, its addresses are 10.9.9.9; the configuration lists m1 (10.0.0.1)"),
            "{unknown}"
        );
    }

    #[test]
    fn a_role_that_contradicts_is_refused() {
        let cluster = cluster(THREE);
        let wrong = cluster.node(&local("m1", &[]), Some(Role::Worker)).unwrap_err().to_string();
        assert!(wrong.starts_with("m1 is configured as first-master, not as worker"), "{wrong}");
        assert!(cluster.node(&local("m1", &[]), Some(Role::FirstMaster)).is_ok());
    }

    #[test]
    fn a_bastion_is_found_by_name_address_or_role() {
        let text = format!("{THREE}bastion: {{name: gate, address: 192.0.2.1, network: 10.0.0.0/24}}\n");
        let cluster = cluster(&text);
        let both = ["192.0.2.1", "10.0.0.254"];
        for (host, wanted) in [("gate", None), ("debian", None), ("gate.novalocal", Some(Role::Bastion))] {
            let node = cluster.node(&local(host, &both), wanted).unwrap();
            assert_eq!((node.name.as_str(), node.role), ("gate", Role::Bastion), "{host}");
            assert_eq!(node.address, "10.0.0.254".parse::<IpAddr>().unwrap(), "the inner address");
        }
        let elsewhere = local("debian", &["192.0.2.7", "10.0.0.253"]);
        assert!(cluster.node(&elsewhere, None).is_err(), "a machine is no bastion unless that is configured");
        assert_eq!(cluster.node(&elsewhere, Some(Role::Bastion)).unwrap().name, "gate");
        let error = |local: Local, wanted| cluster.node(&local, wanted).unwrap_err().to_string();
        let outside = error(local("gate", &["192.0.2.1"]), None);
        assert!(outside.starts_with("gate is the bastion of 10.0.0.0/24, but has no address there"), "{outside}");
        let other = error(local("m1", &[]), Some(Role::Bastion));
        assert!(other.starts_with("m1 is configured as first-master, not as bastion"), "{other}");
        let other = error(local("gate", &both), Some(Role::Worker));
        assert!(other.starts_with("gate is configured as bastion, not as worker"), "{other}");
        let none = self::cluster(THREE).node(&elsewhere, Some(Role::Bastion));
        assert_eq!(none, Err(UnknownMachine::NoBastion));
    }

    #[test]
    fn a_machine_that_is_not_listed_has_no_role() {
        let here = local("solo", &["10.0.0.5"]);
        for text in ["", "masters: []\n", "masters: [{name: m1, address: 10.0.0.1}]\nworkers: [{name: w1}]\n"] {
            for wanted in [None, Some(Role::FirstMaster), Some(Role::Worker)] {
                let error = cluster(text).node(&here, wanted).unwrap_err();
                assert!(error.to_string().starts_with("this machine matches no entry in `masters` or"), "{error}");
            }
        }
    }

    #[test]
    fn the_address_of_a_machine_is_one_that_the_cluster_can_use() {
        let cluster = cluster("masters: [{name: solo}]\n");
        let here = local("Solo.novalocal", &["127.0.0.1", "169.254.1.1", "10.244.0.1", "fd00::1", "10.0.0.5"]);
        let node = cluster.node(&here, None).unwrap();
        assert_eq!((node.name.as_str(), node.role), ("solo", Role::FirstMaster));
        assert_eq!(node.address, "10.0.0.5".parse::<IpAddr>().unwrap());
        assert!(matches!(cluster.node(&local("solo", &["::1"]), None), Err(UnknownMachine::NoAddress { .. })));
    }
}
