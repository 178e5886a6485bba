//! The machines' network.

use crate::model::{
    declare::{keys, place::Place},
    texts::CloudName,
};
use ipnet::IpNet;
use std::net::IpAddr;

keys! {
    /// `openstack.network` as it is written.
    pub(crate) struct NetworkKeys as CloudNetwork, by network {
        /// An existing network, by name or id; with `create`, the name of the new one.
        "name" name: Option<String> as Option<CloudName>, else "the cluster's name for a new network", example "private", to nobody;
        /// The subnet of an existing network, by name or id; with `create`, the name of the new one.
        "subnet" subnet: Option<String> as Option<CloudName>,
            else "the only subnet of the network; the cluster's name for a new subnet", example "private-v4", to nobody;
        /// Create a network, a subnet and a router to the external network.
        "create" create: Option<Create>, else "none: the network exists", example "{cidr: 10.0.0.0/24}", to nobody;
    }
}

keys! {
    /// `openstack.network.create` as it is written.
    pub(crate) struct Create {
        /// The machines' addresses.
        "cidr" cidr: IpNet, else "none; required for a new network", example "10.0.0.0/24", to nobody;
        /// The router's address; with the section `bastion`, that of the bastion.
        "gateway" gateway: Option<IpAddr>, else "the first address", example "10.0.0.1", to nobody;
        /// First address of the allocation pool.
        "firstAddress" first_address: Option<IpAddr>, else "the first free address", example "10.0.0.100", to nobody;
        /// Last address of the allocation pool.
        "lastAddress" last_address: Option<IpAddr>, else "the last address of the range", example "10.0.0.200", to nobody;
        /// Whether the cloud serves DHCP in the subnet. Without it, machines read their address from the configuration drive.
        "dhcp" dhcp: bool, else "true" (|_| Some(true)), example "false", to nobody;
        /// The machines' name servers; with `bastion.dns`, those of the bastion.
        "dnsServers" dns_servers: Vec<IpAddr>, else "the cloud's own", example "[192.0.2.53]", to nobody;
        /// Whether to create a router to the external network. Floating IPs need one.
        "router" router: bool, else "true" (|_| Some(true)), example "false", to nobody;
        /// Create a second network with this range for the bastion and the load balancer, which have external access; the machines stay in
        /// the first one. A router connects both networks; it has the first address of this range. With the section `bastion`, the bastion
        /// connects them, and the load balancer is in the first one.
        "publicCIDR" public_cidr: Option<IpNet>, else "none: one network for all", example "10.0.1.0/24", to nobody;
    }
}

/// The machines' network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudNetwork {
    /// An existing network.
    Existing {
        /// Name or id.
        network: String,
        /// Name or id. `None` for the only one.
        subnet: Option<String>,
    },
    /// A new network.
    Made(MadeNetwork),
}

/// A new network, with a subnet and a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeNetwork {
    /// Its name. Default: the cluster's.
    pub name: Option<String>,
    /// Its subnet's name. Default: the cluster's.
    pub subnet: Option<String>,
    /// The machines' addresses.
    pub cidr: IpNet,
    /// The address of the router, or of the bastion. Default: the first.
    pub gateway: IpAddr,
    /// The first and last address that the cloud may assign. Empty: all free addresses.
    pub pools: Vec<(IpAddr, IpAddr)>,
    /// Default true.
    pub dhcp: bool,
    /// Empty: the cloud's own.
    pub dns_servers: Vec<IpAddr>,
    /// A router to the external network. Default true.
    pub router: bool,
    /// `publicCIDR`: a second network for the bastion and the load balancer. `None`: they are in the machines' network.
    pub public: Option<IpNet>,
}

fn network(keys: NetworkKeys) -> Option<CloudNetwork> {
    let NetworkKeys { name, subnet, create: Some(made) } = keys else {
        return Some(CloudNetwork::Existing { network: keys.name?, subnet: keys.subnet });
    };
    let gateway = made.gateway.or_else(|| made.cidr.hosts().next())?;
    let pools = match (made.first_address, made.last_address) {
        (None, None) => Vec::new(),
        (first, last) => {
            let first = first.or_else(|| made.cidr.hosts().find(|host| *host != gateway))?;
            vec![(first, last.unwrap_or_else(|| last_host(made.cidr)))]
        }
    };
    Some(CloudNetwork::Made(MadeNetwork {
        name,
        subnet,
        cidr: made.cidr,
        gateway,
        pools,
        dhcp: made.dhcp,
        dns_servers: made.dns_servers,
        router: made.router,
        public: made.public_cidr,
    }))
}

impl Place<'_, Create> {
    /// Returns the router's address in the range `cidr`: the configured one, or the first.
    pub(super) fn gateway_of(&self, cidr: IpNet) -> Option<IpAddr> {
        self.gateway().value().or_else(|| cidr.hosts().next())
    }
}

fn last_host(cidr: IpNet) -> IpAddr {
    match cidr {
        IpNet::V4(net) => IpAddr::V4((u32::from(net.broadcast()).saturating_sub(1)).into()),
        IpNet::V6(net) => IpAddr::V6(net.broadcast()),
    }
}
