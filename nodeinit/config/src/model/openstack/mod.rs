//! The section `openstack`: the resources that the provisioner creates. No machine receives it.

mod network;
mod rules;

pub use super::values::Opening;
pub use network::{CloudNetwork, MadeNetwork};
pub(super) use rules::check;

use super::{
    declare::{choice, keys},
    texts::{CloudName, LocalPath, NodeName, Url, Uuid},
};
use ipnet::IpNet;
use network::NetworkKeys;
use std::{net::IpAddr, path::PathBuf, time::Duration};

keys! {
    /// Where and how the cluster's machines are created.
    #[derive(Eq)]
    pub struct OpenStack {
        /// The cloud's name in `clouds.yaml`.
        "cloud" cloud: Option<String> as Option<CloudName>,
            else "`OS_CLOUD`, else the `OS_*` variables of an openrc file", example "mycloud", to nobody;
        /// Marks all resources of this cluster; the provisioner changes no others. `provisioner init` and `nodeinit config init` generate
        /// one. Never change it, and never use one ID for two clusters; an ID from the documentation is rejected.
        "clusterID" cluster_id: String as Uuid = required, to nobody;
        /// The image of every machine, by name or id.
        "image" image: String as CloudName = required, to nobody;
        /// Flavor of machines that set none, by name or id.
        "flavor" flavor: Option<String> as Option<CloudName>,
            else "none; required unless every machine sets one", example "m1.medium", to nobody;
        /// Keypair for SSH access.
        "keypair" keypair: Option<String> as Option<CloudName>, else "none", example "operator", to nobody;
        /// Zones to which masters and workers are assigned in turn.
        "availabilityZones" availability_zones: Vec<String> as Vec<CloudName>,
            else "the cloud's choice", example "[nova-1, nova-2, nova-3]", to nobody;
        /// Whether masters are placed on different hypervisors; the same for workers.
        "antiAffinity" anti_affinity: AntiAffinity = "soft", to nobody;
        /// Machines read their configuration from a drive instead of the metadata service.
        "configDrive" config_drive: bool = "true", to nobody;
        /// Boot volume of each machine.
        "volume" volume: Volume, to nobody;
        /// Network of the machines: an existing or a new one.
        "network" network: CloudNetwork as NetworkKeys, to nobody;
        /// External network of floating IPs and of a new router, by name or id.
        "externalNetwork" external_network: Option<String> as Option<CloudName>,
            else "the only external network that the project sees", example "public", to nobody;
        /// Which machines get a floating IP. For the load balancer, set `loadBalancer.floatingIP`.
        "floatingIPs" floating_ips: FloatingIps = "none", to nobody;
        /// The load balancer in front of the API servers.
        "loadBalancer" load_balancer: LoadBalancer, to nobody;
        /// A machine with a floating IP that is not a node and is the jump host to all others. If this section exists, even as `bastion: {}`,
        /// `access.ssh` applies to the bastion only, and the other machines accept SSH from the bastion. With the section `bastion` and
        /// `network.create.publicCIDR`, it is also the machines' only way out.
        "bastion" bastion: Option<Bastion>, else "none", example "{flavor: m1.small}", to nobody;
        /// External access, as security group rules.
        "access" access: Access, to nobody;
        /// Additional source addresses that a machine may use, besides its own and `controlPlane.virtualAddress`.
        "allowedAddressPairs" allowed_address_pairs: Vec<IpNet>,
            else "none with flannel, whose packets have the machines' addresses; `network.podCIDR` with another pod network", example "[10.244.0.0/16]", to nobody;
        /// How machines get nodeinit; by default it is in the image.
        "binary" binary: BinaryDelivery, to nobody;
        /// Maximum number of resources created, and of requests sent, in parallel.
        "parallel" parallel: usize = "10", to nobody;
        /// Deadlines for the cloud, one for each kind of wait.
        "timeouts" timeouts: CloudTimeouts, to nobody;
    }
}

choice! {
    /// The placement of machines of one kind.
    pub enum AntiAffinity {
        /// on different hypervisors if possible
        "soft" Soft,
        /// on different hypervisors, otherwise creation fails
        "hard" Hard,
        /// on any hypervisor
        "none" None,
    }
}

choice! {
    /// Which machines get a floating IP.
    pub enum FloatingIps {
        /// none; use `bastion`, `ssh.jumpHost` or a direct route
        "none" None,
        /// the first master only
        "first-master" FirstMaster,
        /// each master
        "masters" Masters,
    }
}

keys! {
    /// The boot disk of a machine.
    #[derive(Eq)]
    pub struct Volume {
        /// Size in GiB.
        "size" size: u32 = "20", to nobody;
        /// Volume type. etcd needs a fast one.
        "type" kind: Option<String> as Option<CloudName>, else "the cloud's default", example "ssd", to nobody;
    }
}

keys! {
    /// The load balancer in front of the API servers.
    #[derive(Eq)]
    pub struct LoadBalancer {
        /// Whether Octavia balances the API servers. Without it, set `controlPlane.virtualAddress` or `controlPlane.endpoint`.
        "enabled" enabled: bool = "true", to nobody;
        /// Whether it gets a floating IP for external access to the API; see `access.api`.
        "floatingIP" floating_ip: bool = "false", to nobody;
        /// Its address: in the machines' subnet, or in `network.create.publicCIDR` if that is set and there is no section `bastion`.
        "address" address: Option<IpAddr>, else "the cloud's choice", example "10.0.0.10", to nobody;
        /// Octavia's driver.
        "provider" provider: Option<String> as Option<CloudName>, else "the cloud's default", example "ovn", to nobody;
    }
}

keys! {
    /// The jump host between the operator and all other machines.
    #[derive(Eq)]
    pub struct Bastion {
        /// Its name, different from every machine's.
        "name" name: String as NodeName = "bastion", to nobody;
        /// Its internal address, in addition to its floating IP: in the machines' subnet, or in `network.create.publicCIDR` if that is set.
        "address" address: Option<IpAddr>, else "the cloud's choice", example "10.0.0.5", to nobody;
        /// Its flavor, by name or id.
        "flavor" flavor: Option<String> as Option<CloudName>, else "`openstack.flavor`", example "m1.small", to nobody;
        /// Its image, by name or id, with cloud-init.
        "image" image: Option<String> as Option<CloudName>, else "`openstack.image`", example "debian-12", to nobody;
    }
}

keys! {
    /// External access.
    #[derive(Default, Eq)]
    pub struct Access {
        /// Ranges with SSH access to the machines, or to the bastion if there is one. Masters always reach the other machines.
        "ssh" ssh: Vec<IpNet>, else "nobody", example "[192.0.2.0/24]", to nobody;
        /// Ranges with access to the Kubernetes API, through the load balancer or directly. The cluster's own network always has access.
        "api" api: Vec<IpNet>, else "nobody", example "[192.0.2.0/24]", to nobody;
        /// Ranges with access to ports 80 and 443 of the machines.
        "ingress" ingress: Vec<IpNet>, else "nobody", example "[0.0.0.0/0]", to nobody;
        /// Ranges with access to services of type NodePort, TCP and UDP.
        "nodePorts" node_ports: Vec<IpNet>, else "nobody", example "[192.0.2.0/24]", to nobody;
        /// Further protocols and ports between machines of the cluster, for example for your own pod network; `any` allows everything.
        "betweenNodes" between_nodes: Vec<Opening>, else "the ports of the built-in addons", example "[udp/4789, tcp/179]", to nobody;
    }
}

keys! {
    /// How machines get nodeinit.
    #[derive(Default, Eq)]
    pub struct BinaryDelivery {
        /// URLs of the program, tried in turn. Machines verify `sha256` before they run it.
        "urls" urls: Vec<String> as Vec<Url>, else "none", example "[\"https://mirror.example.org/nodeinit\"]", to nobody;
        /// Its digest, as `sha256sum` prints it.
        "sha256" sha256: Option<[u8; 32]>,
            else "none; needed for `urls`", example "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", to nobody;
        /// A local file, sent over SSH to machines without nodeinit or with another version.
        "file" file: Option<PathBuf> as Option<LocalPath>, else "none", example "./nodeinit", to nobody;
    }
}

keys! {
    /// Deadlines for the cloud.
    #[derive(Copy, Eq)]
    pub struct CloudTimeouts {
        /// For one request, including retries after 409, 500, 503 or no answer.
        "request" request: Duration = "2m", to nobody;
        /// Until a volume contains its image.
        "volume" volume: Duration = "10m", to nobody;
        /// Until a server is ACTIVE.
        "server" server: Duration = "10m", to nobody;
        /// Until the load balancer is ACTIVE, and for each change to it.
        "loadBalancer" load_balancer: Duration = "10m", to nobody;
        /// Until a deleted resource is gone.
        "deletion" deletion: Duration = "10m", to nobody;
    }
}
