//! The validated configuration. Every value of these types has passed `validate`, so that no later code checks it again.

use crate::{addon::Addon, openstack::OpenStack, releases::Release, versions::KubernetesVersion};
use ipnet::IpNet;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

/// One cluster, as its `cluster.yaml` and the layers over it describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// `name`: a DNS label; used in kubeconfigs and in `kubeadm-config`. Default `kubernetes`.
    pub name: String,
    /// `kubernetes.version`.
    pub version: KubernetesVersion,
    /// The release that the version belongs to: embedded, or of a file in `/etc/nodeinit/releases`.
    pub release: Release,
    /// `images.repository`: where Kubernetes' own images come from. Default `registry.k8s.io`.
    pub image_repository: String,
    /// `images.mirrors`.
    pub registry_mirrors: Vec<RegistryMirrors>,
    /// `images.registryAuthFile`.
    pub registry_auth: Option<PathBuf>,
    /// `containerRuntime`.
    pub container_runtime: ContainerRuntime,
    /// `controlPlane`.
    pub control_plane: ControlPlane,
    /// `masters`: the first entry is the first master. Empty: the machine that `up` runs on is the only master.
    pub masters: Vec<Machine>,
    /// `workers`.
    pub workers: Vec<Machine>,
    /// `ssh`.
    pub ssh: Ssh,
    /// `join`.
    pub join: Join,
    /// `agent`.
    pub agent: Agent,
    /// `network`.
    pub network: Network,
    /// `etcd`.
    pub etcd: Etcd,
    /// `apiServer`.
    pub api_server: Component,
    /// `controllerManager`.
    pub controller_manager: Component,
    /// `scheduler`.
    pub scheduler: Component,
    /// `kubelet.config`: merged over our `KubeletConfiguration`, on every machine.
    pub kubelet: Map<String, Value>,
    /// `kubeProxy.config`: merged over our `KubeProxyConfiguration`.
    pub kube_proxy: Map<String, Value>,
    /// `addons`.
    pub addons: Addons,
    /// `artifacts`.
    pub artifacts: Artifacts,
    /// `os`.
    pub os: Os,
    /// `manifestsDirectory`: files here replace our own manifests of the same name.
    pub manifests_directory: Option<PathBuf>,
    /// `secretsDelivery`.
    pub secrets_delivery: SecretsDelivery,
    /// `openstack`. `None`: the machines are there already.
    pub openstack: Option<OpenStack>,
    /// `timeouts`.
    pub timeouts: Timeouts,
}

/// The mirrors of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryMirrors {
    /// `registry`: the host that images are named after.
    pub registry: String,
    /// `urls`, tried in turn.
    pub urls: Vec<String>,
}

/// containerd of every machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerRuntime {
    /// `containerRuntime.manage`. `None`: where containerd is not installed.
    pub manage: Option<bool>,
    /// `containerRuntime.proxy`.
    pub proxy: Proxy,
}

/// Proxies through which containerd pulls images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// `http`.
    pub http: Option<String>,
    /// `https`.
    pub https: Option<String>,
    /// `noProxy`.
    pub no: Vec<String>,
}

/// Settings that all masters share.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlPlane {
    /// `controlPlane.endpoint`: what workers and people use. `None`: the first master's address and port 6443.
    pub endpoint: Option<Endpoint>,
    /// `controlPlane.virtualAddress`: held by one master at a time.
    pub virtual_address: Option<IpAddr>,
    /// `controlPlane.certSANs`: further DNS names and addresses in the API server's certificate.
    pub cert_sans: Vec<String>,
    /// `controlPlane.schedulable`: masters run ordinary pods too (no taint). Default false.
    pub schedulable: bool,
}

/// A host and a port, written `host:port`; an IPv6 address has brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A DNS name or an address, without brackets.
    pub host: String,
    /// 6443 where none is given.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// A machine of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// `name`: the node's name, and the machine's host name.
    pub name: String,
    /// `address`: where the other machines reach it. On the machine itself it may be left out.
    pub address: Option<IpAddr>,
    /// `labels` of the node.
    pub labels: BTreeMap<String, String>,
    /// `taints` of the node, beside the control plane's.
    pub taints: Vec<Taint>,
    /// `hostKeys`: type and base64 of each.
    pub host_keys: Vec<String>,
    /// `ssh`: where it differs from the cluster's.
    pub ssh: MachineSsh,
    /// `flavor`. Default: `openstack.flavor`.
    pub flavor: Option<String>,
    /// `availabilityZone`. Default: one of `openstack.availabilityZones`.
    pub availability_zone: Option<String>,
}

/// How one machine is reached by SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSsh {
    /// `enabled`: whether the first master brings it up over SSH. Default true.
    pub enabled: bool,
    /// `address`. Default: the machine's.
    pub address: Option<IpAddr>,
    /// `port`. Default: the cluster's.
    pub port: Option<u16>,
    /// `user`. Default: the cluster's.
    pub user: Option<String>,
}

impl Default for MachineSsh {
    fn default() -> Self {
        Self { enabled: true, address: None, port: None, user: None }
    }
}

/// How the first master reaches other machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// `ssh.user`. Default `root`; anybody else uses sudo.
    pub user: String,
    /// `ssh.port`. Default 22.
    pub port: u16,
    /// `ssh.keyFile`: a private key on the first master. `None`: the secrets bundle's.
    pub key_file: Option<PathBuf>,
    /// `ssh.trustOnFirstUse`. Default false.
    pub trust_on_first_use: bool,
    /// `ssh.parallel`: how many machines at once. Default 50.
    pub parallel: usize,
    /// `ssh.jumpHost`.
    pub jump_host: Option<JumpHost>,
}

/// A machine through which others are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpHost {
    /// `address`.
    pub address: IpAddr,
    /// `port`. Default 22.
    pub port: u16,
    /// `user`. Default: `ssh.user`.
    pub user: String,
    /// `hostKeys`: type and base64 of each.
    pub host_keys: Vec<String>,
}

/// What a worker trusts when it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Join {
    /// `join.caCertificate`: PEM.
    pub ca_certificate: Option<String>,
    /// `join.caPins`: SHA-256 of the DER of the CA's SubjectPublicKeyInfo (RFC 7469), one of which must fit.
    pub ca_pins: Vec<[u8; 32]>,
    /// `join.endpoints`. Empty: the cluster's endpoint.
    pub endpoints: Vec<Endpoint>,
}

/// nodeinit's service on masters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent {
    /// `agent.enabled`.
    pub enabled: bool,
}

/// A taint of a node, written `key=value:Effect` or `key:Effect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// For instance `dedicated`.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// Addresses inside the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// `network.podCIDR`. Default 10.244.0.0/16.
    pub pod_cidr: IpNet,
    /// `network.serviceCIDR`. Default 10.96.0.0/12.
    pub service_cidr: IpNet,
    /// `network.dnsDomain`. Default `cluster.local`.
    pub dns_domain: String,
    /// `network.podsMayReadMetadata`. Default: false on OpenStack, else true.
    pub pods_may_read_metadata: bool,
}

impl Network {
    /// The address of the `kubernetes` service: the first of the service range.
    #[must_use]
    pub fn api_service(&self) -> IpAddr {
        nth(self.service_cidr, 1)
    }

    /// The address of the cluster's DNS service: the tenth of the service range, as kubeadm has it.
    #[must_use]
    pub fn dns_service(&self) -> IpAddr {
        nth(self.service_cidr, 10)
    }
}

/// The address `n` after the network's own. Validation has refused ranges that are too small for it.
fn nth(net: IpNet, n: u8) -> IpAddr {
    match net.network() {
        IpAddr::V4(a) => IpAddr::V4((u32::from(a).wrapping_add(u32::from(n))).into()),
        IpAddr::V6(a) => IpAddr::V6((u128::from(a).wrapping_add(u128::from(n))).into()),
    }
}

/// etcd, as a static pod on every master.
#[derive(Clone, Debug, PartialEq)]
pub struct Etcd {
    /// `etcd.dataDirectory`. Default `/var/lib/etcd`.
    pub data_directory: PathBuf,
    /// `etcd.extraArgs`: flags that are added to ours or replace them.
    pub extra_args: BTreeMap<String, String>,
}

/// A component of the control plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Component {
    /// `extraArgs`: flags, without dashes, that are added to ours or replace them.
    pub extra_args: BTreeMap<String, String>,
}

/// Addons, applied when the API server is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Addons {
    /// `addons.kubeProxy`. Default true.
    pub kube_proxy: bool,
    /// `addons.coreDNS`. Default true.
    pub coredns: bool,
    /// `addons.cni`. Default `flannel`.
    pub cni: Cni,
    /// Those that are switched on. Default none.
    pub optional: Vec<Addon>,
    /// `addons.manifests`: a directory of the user's own.
    pub manifests: Option<PathBuf>,
}

/// The pod network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cni {
    /// `none`: somebody else brings one; nodes stay NotReady until then.
    None,
    /// `flannel`: our default, vxlan.
    Flannel,
    /// `{directory: PATH}`: every manifest in this directory is applied.
    Directory(PathBuf),
}

/// Where binaries and images come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifacts {
    /// `artifacts.source`.
    pub source: ArtifactSource,
    /// `artifacts.from` is `first`: machines take from the first master what their own directory lacks.
    pub lend: bool,
    /// `artifacts.binaries`.
    pub binaries: Vec<Binary>,
    /// containerd, its shim, `ctr` and runc, for machines where nodeinit installs them. Empty: there is no source, or
    /// `containerRuntime.manage` is false.
    pub runtime: Vec<Binary>,
    /// `artifacts.images`, in the order in which a first master needs them.
    pub images: Vec<ImageArchive>,
    /// `artifacts.sha256sums`: the digest of the mirror's list of digests. Only with a mirror.
    pub sha256sums: Option<[u8; 32]>,
    /// `artifacts.bundleKey`: the ed25519 key that must have signed the bundle, as `ssh-ed25519 BASE64`. Only with a bundle.
    pub bundle_key: Option<String>,
    /// `artifacts.mirrors`: the host of an official server or registry → the base URL to ask instead.
    pub mirrors: BTreeMap<String, String>,
    /// `artifacts.caCertificate`: PEM; trusted for downloads in addition to the machine's CAs.
    pub ca_certificate: Option<String>,
}

/// The source of artifacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactSource {
    /// `image`: baked into the machine's image; binaries are in place, and images in containerd or fetched by it.
    Image,
    /// An absolute path: a directory of this machine.
    Directory(PathBuf),
    /// An absolute path that ends in `.tar`: a bundle, one file with all artifacts.
    Bundle(PathBuf),
    /// `http://` or `https://`: a mirror, without a slash at its end; every artifact has its `sha256`, or there is `sha256sums`.
    Mirror(String),
    /// `upstream`: the official servers. `nodeinit up` fetches what they publish into [`FETCHED`].
    Upstream,
}

/// Where a machine keeps what it fetches from the official servers.
pub const FETCHED: &str = "/var/lib/nodeinit/artifacts";

impl ArtifactSource {
    /// The directory of this machine that has the artifacts, or gets them.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::Upstream => Some(Path::new(FETCHED)),
            Self::Image | Self::Bundle(_) | Self::Mirror(_) => None,
        }
    }
}

/// A program that is placed on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// `path` below the source.
    pub path: String,
    /// `to`: the absolute path on the machine.
    pub to: PathBuf,
    /// Its entry in `artifacts.sha256`.
    pub sha256: Option<[u8; 32]>,
}

/// An archive (docker or OCI layout, plain or compressed) that is imported into containerd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArchive {
    /// `path` below the source.
    pub path: String,
    /// `image`: the full name that it brings.
    pub image: String,
    /// Its entry in `artifacts.sha256`.
    pub sha256: Option<[u8; 32]>,
}

/// What is done to the machine's operating system.
#[derive(Clone, Debug, PartialEq)]
pub struct Os {
    /// `os.swap`. Default `off`.
    pub swap: Swap,
    /// `os.sysctls`: set beside those that Kubernetes needs.
    pub sysctls: BTreeMap<String, String>,
    /// `os.modules`: loaded beside those that Kubernetes needs.
    pub modules: Vec<String>,
}

/// What happens to swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// `off`: switched off, now and at each boot.
    Off,
    /// `refuse`: preflight fails where swap is on.
    Refuse,
    /// `keep`: left as it is; the kubelet's configuration must allow it.
    Keep,
}

/// How secrets reach a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretsDelivery {
    /// `ssh`: over SSH; only a worker's own token may be in user-data.
    Ssh,
    /// `ssh-only`: over SSH, even a worker's token.
    SshOnly,
    /// `user-data`: in user-data, which every process of the machine can read.
    UserData,
}

/// Deadlines, one for each kind of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `timeouts.download`: one artifact. Default 10 minutes.
    pub download: Duration,
    /// `timeouts.imageImport`: one archive. Default 5 minutes.
    pub image_import: Duration,
    /// `timeouts.kubelet`: from its start to healthy. Default 2 minutes.
    pub kubelet: Duration,
    /// `timeouts.etcd`: from the kubelet's health to etcd's. Default 5 minutes.
    pub etcd: Duration,
    /// `timeouts.controlPlane`: from etcd's health to the control plane's. Default 5 minutes.
    pub control_plane: Duration,
    /// `timeouts.ssh`: until a machine lets us in by SSH. Default 5 minutes.
    pub ssh: Duration,
    /// `timeouts.join`: until a worker has found the API and been let in, or a master been made a member of etcd. Default 10 minutes.
    pub join: Duration,
    /// `timeouts.node`: from the control plane's health to a Ready node and running addons. Default 5 minutes.
    pub node: Duration,
}

/// What a machine is in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `first-master`: begins the cluster.
    FirstMaster,
    /// `master`: joins the control plane.
    Master,
    /// `worker`: runs pods.
    Worker,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstMaster => "first-master",
            Self::Master => "master",
            Self::Worker => "worker",
        })
    }
}

/// The machine that this process runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The node's name.
    pub name: String,
    /// The address that it announces.
    pub address: IpAddr,
    /// Its role.
    pub role: Role,
    /// Labels and taints of its own.
    pub machine: Machine,
}

impl Cluster {
    /// Whether containerd needs files of registries: `images` has mirrors or logins.
    #[must_use]
    pub fn sets_registries(&self) -> bool {
        !self.registry_mirrors.is_empty() || self.registry_auth.is_some()
    }

    /// What workers and people connect to: the configured endpoint, else the virtual address, else the first master's
    /// address (`fallback`, where none is configured).
    #[must_use]
    pub fn endpoint(&self, fallback: IpAddr) -> Endpoint {
        let address = || self.control_plane.virtual_address.or(self.masters.first().and_then(|m| m.address));
        let otherwise = || Endpoint { host: address().unwrap_or(fallback).to_string(), port: API_PORT };
        self.control_plane.endpoint.clone().unwrap_or_else(otherwise)
    }

    /// Where a worker looks for the API: at the [endpoint](Self::endpoint), then at those of `join`; where nothing stands before
    /// the masters, at each of them.
    #[must_use]
    pub fn join_endpoints(&self, fallback: IpAddr) -> Vec<Endpoint> {
        let first = self.endpoint(fallback);
        let others = if self.control_plane.endpoint.is_none() && self.control_plane.virtual_address.is_none() {
            let addresses = self.masters.iter().filter_map(|master| master.address);
            addresses.map(|address| Endpoint { host: address.to_string(), port: API_PORT }).collect()
        } else {
            self.join.endpoints.clone()
        };
        let others = others.into_iter().filter(|other| *other != first);
        std::iter::once(first.clone()).chain(others).collect()
    }

    /// The full name of an image of Kubernetes itself, such as `registry.k8s.io/kube-apiserver:v1.37.1`.
    #[must_use]
    pub fn image(&self, component: KubernetesImage) -> String {
        let repository = &self.image_repository;
        let Self { version, release, .. } = self;
        match component {
            KubernetesImage::Pause => format!("{repository}/pause:{}", release.pause),
            KubernetesImage::Etcd => format!("{repository}/etcd:{}", release.etcd),
            KubernetesImage::ApiServer => format!("{repository}/kube-apiserver:{version}"),
            KubernetesImage::ControllerManager => format!("{repository}/kube-controller-manager:{version}"),
            KubernetesImage::Scheduler => format!("{repository}/kube-scheduler:{version}"),
            KubernetesImage::Proxy => format!("{repository}/kube-proxy:{version}"),
            // kubeadm: the default repository holds CoreDNS in a folder of its own, any other beside the rest.
            KubernetesImage::CoreDns if repository == DEFAULT_IMAGE_REPOSITORY => {
                format!("{repository}/coredns/coredns:{}", release.coredns)
            }
            KubernetesImage::CoreDns => format!("{repository}/coredns:{}", release.coredns),
        }
    }
}

/// The port of every API server.
pub const API_PORT: u16 = 6443;

/// Where Kubernetes publishes its images.
pub const DEFAULT_IMAGE_REPOSITORY: &str = "registry.k8s.io";

/// The images of Kubernetes itself, in the order in which a first master needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubernetesImage {
    /// The sandbox of every pod.
    Pause,
    /// etcd.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kube-proxy.
    Proxy,
    /// CoreDNS.
    CoreDns,
}

impl KubernetesImage {
    /// All of them, in the order of need.
    pub const ALL: [Self; 7] = [
        Self::Pause,
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Proxy,
        Self::CoreDns,
    ];

    /// The name of its archive below a source of artifacts, without `.tar`; also the last part of the image's name.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Proxy => "kube-proxy",
            Self::CoreDns => "coredns",
        }
    }
}
