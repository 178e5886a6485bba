//! The validated section `openstack`: what the provisioner makes. No machine ever gets it.

use ipnet::IpNet;
use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

/// Where and how the cluster's machines are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenStack {
    /// `cloud`: a name in `clouds.yaml`. `None`: `OS_CLOUD`, or the variables of an openrc file.
    pub cloud: Option<String>,
    /// `clusterID`: a UUID in lower case, which marks all that is ours.
    pub cluster_id: String,
    /// `image`: name or id.
    pub image: String,
    /// `flavor` of machines that name none. `None` only where each names its own.
    pub flavor: Option<String>,
    /// `keypair`.
    pub keypair: Option<String>,
    /// `availabilityZones`. Empty: the cloud chooses.
    pub availability_zones: Vec<String>,
    /// `antiAffinity`. Default soft.
    pub anti_affinity: AntiAffinity,
    /// `configDrive`. Default true.
    pub config_drive: bool,
    /// `volume`.
    pub volume: Volume,
    /// `network`.
    pub network: CloudNetwork,
    /// `externalNetwork`: name or id. `None`: the only one.
    pub external_network: Option<String>,
    /// `floatingIPs`. Default none.
    pub floating_ips: FloatingIps,
    /// `loadBalancer`.
    pub load_balancer: LoadBalancer,
    /// `bastion`. `None`: there is none.
    pub bastion: Option<Bastion>,
    /// `access`.
    pub access: Access,
    /// `allowedAddressPairs`, of every machine, beside the virtual address.
    pub allowed_address_pairs: Vec<IpNet>,
    /// `binary`. All empty: the image holds it.
    pub binary: BinaryDelivery,
    /// `parallel`. Default 10.
    pub parallel: usize,
    /// `timeouts`.
    pub timeouts: CloudTimeouts,
}

/// How machines of a kind keep apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AntiAffinity {
    /// Where possible.
    Soft,
    /// Or not at all.
    Hard,
    /// Not.
    None,
}

/// The disk that a machine boots from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// `size` in GiB. Default 20.
    pub size: u32,
    /// `type`. `None`: the cloud's default.
    pub kind: Option<String>,
}

/// The machines' network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudNetwork {
    /// One that is there.
    Existing {
        /// Name or id.
        network: String,
        /// Name or id. `None`: the only one.
        subnet: Option<String>,
    },
    /// One that is made.
    Made(MadeNetwork),
}

/// A network that is made, with a subnet and a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeNetwork {
    /// Its name. Default: the cluster's.
    pub name: Option<String>,
    /// Its subnet's name. Default: the cluster's.
    pub subnet: Option<String>,
    /// The machines' addresses.
    pub cidr: IpNet,
    /// The router's address: the first, where none is written.
    pub gateway: IpAddr,
    /// What the cloud may give out, first and last. Empty: all that is free.
    pub pools: Vec<(IpAddr, IpAddr)>,
    /// Default true.
    pub dhcp: bool,
    /// Empty: the cloud's own.
    pub dns_servers: Vec<IpAddr>,
    /// A router to the external network. Default true.
    pub router: bool,
    /// `publicCIDR`: a second network, of the bastion and the balancer. `None`: they are among the machines.
    pub public: Option<IpNet>,
}

/// Which machines get a floating IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatingIps {
    /// None.
    None,
    /// The first master.
    FirstMaster,
    /// Each master.
    Masters,
}

/// The balancer in front of the API servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancer {
    /// Default true.
    pub enabled: bool,
    /// Default false.
    pub floating_ip: bool,
    /// In the machines' subnet. `None`: the cloud chooses.
    pub address: Option<IpAddr>,
    /// Octavia's driver. `None`: the cloud's default.
    pub provider: Option<String>,
}

/// The machine between the operator and all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bastion {
    /// `name`. Default `bastion`.
    pub name: String,
    /// `address`, beside its floating IP. `None`: the cloud chooses.
    pub address: Option<IpAddr>,
    /// `flavor`. `None`: `openstack.flavor`.
    pub flavor: Option<String>,
    /// `image`. `None`: `openstack.image`.
    pub image: Option<String>,
}

/// Who may connect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// To SSH.
    pub ssh: Vec<IpNet>,
    /// To the API.
    pub api: Vec<IpNet>,
    /// To ports 80 and 443.
    pub ingress: Vec<IpNet>,
    /// To node ports.
    pub node_ports: Vec<IpNet>,
    /// What machines may use of each other.
    pub between_nodes: Vec<Opening>,
}

/// A protocol and its ports, written `tcp/179`, `udp/4000-4010`, `112` (a protocol's number or name) or `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// In lower case; `None`: any.
    pub protocol: Option<String>,
    /// First and last. `None`: all.
    pub ports: Option<(u16, u16)>,
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.protocol.as_deref().unwrap_or("any"))?;
        match self.ports {
            Some((first, last)) if first == last => write!(f, "/{first}"),
            Some((first, last)) => write!(f, "/{first}-{last}"),
            None => Ok(()),
        }
    }
}

/// How nodeinit comes to a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinaryDelivery {
    /// Fetched from one of these.
    pub urls: Vec<String>,
    /// Its digest. There wherever `urls` are.
    pub sha256: Option<[u8; 32]>,
    /// Sent over SSH.
    pub file: Option<PathBuf>,
}

/// How long the cloud may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloudTimeouts {
    /// One request with its retries. Default 2 minutes.
    pub request: Duration,
    /// A volume. Default 10 minutes.
    pub volume: Duration,
    /// A server. Default 10 minutes.
    pub server: Duration,
    /// The balancer, each change. Default 10 minutes.
    pub load_balancer: Duration,
    /// A deletion. Default 10 minutes.
    pub deletion: Duration,
}
