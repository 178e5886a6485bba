//! The keys of the section `openstack`.

use crate::{
    format as f,
    schema::{
        Fallback::{Empty, Required, Value, Words},
        Field,
        Kind::{Choice, Flag, Group, List, Text},
    },
};

pub(super) const OPENSTACK: &[Field] = &[
    Field {
        key: "cloud",
        kind: Text(&f::CLOUD_NAME),
        default: Words("`OS_CLOUD`, else the `OS_*` variables of an openrc file", "mycloud"),
        doc: "The cloud's name in `clouds.yaml`.",
    },
    Field {
        key: "clusterID",
        kind: Text(&f::UUID),
        default: Required,
        doc: "Marks all resources of this cluster; the provisioner changes no others. `provisioner init` and \
              `nodeinit config init` generate one. Never change it, and never use one ID for two clusters; an ID from the \
              documentation is rejected.",
    },
    Field {
        key: "image",
        kind: Text(&f::CLOUD_NAME),
        default: Required,
        doc: "The image of every machine, by name or id.",
    },
    Field {
        key: "flavor",
        kind: Text(&f::CLOUD_NAME),
        default: Words("none; needed unless every machine has its own", "m1.medium"),
        doc: "Flavor of machines that set none, by name or id.",
    },
    Field {
        key: "keypair",
        kind: Text(&f::CLOUD_NAME),
        default: Words("none", "operator"),
        doc: "Keypair for SSH access.",
    },
    Field {
        key: "availabilityZones",
        kind: List(&Text(&f::CLOUD_NAME)),
        default: Words("the cloud's choice", "[nova-1, nova-2, nova-3]"),
        doc: "Zones over which masters and workers are spread in turn.",
    },
    Field {
        key: "antiAffinity",
        kind: Choice(&[
            ("soft", "on different hypervisors where that is possible"),
            ("hard", "on different hypervisors, or not at all"),
            ("none", "wherever there is room"),
        ]),
        default: Value("soft"),
        doc: "Placement of masters relative to each other, and of workers.",
    },
    Field {
        key: "configDrive",
        kind: Flag,
        default: Value("true"),
        doc: "Machines read their configuration from a drive instead of the metadata service.",
    },
    Field { key: "volume", kind: Group(VOLUME), default: Empty(""), doc: "Boot volume of each machine." },
    Field {
        key: "network",
        kind: Group(NETWORK),
        default: Empty(""),
        doc: "Network of the machines: an existing or a new one.",
    },
    Field {
        key: "externalNetwork",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the only external network that the project sees", "public"),
        doc: "External network of floating IPs and of a new router, by name or id.",
    },
    Field {
        key: "floatingIPs",
        kind: Choice(&[
            ("none", "machines are reached through `bastion` or `ssh.jumpHost`, or directly"),
            ("first-master", "the first master only"),
            ("masters", "each master"),
        ]),
        default: Value("none"),
        doc: "Which machines get a floating IP. The load balancer's is `loadBalancer.floatingIP`.",
    },
    Field {
        key: "loadBalancer",
        kind: Group(LOAD_BALANCER),
        default: Empty(""),
        doc: "The balancer in front of the API servers.",
    },
    Field {
        key: "bastion",
        kind: Group(BASTION),
        default: Words("none", "{flavor: m1.small}"),
        doc: "A machine with a floating IP that is no node, through which all others are reached: where it is described, if \
              only by `bastion: {}`, it alone takes SSH from `access.ssh`, and machines take it from the bastion.",
    },
    Field { key: "access", kind: Group(ACCESS), default: Empty(""), doc: "External access, as security group rules." },
    Field {
        key: "allowedAddressPairs",
        kind: List(&Text(&f::CIDR)),
        default: Words(
            "none for flannel, whose packets travel as the machines' own; `network.podCIDR` where another pod network is brought",
            "[10.244.0.0/16]",
        ),
        doc: "Additional source addresses that a machine may use, besides its own and `controlPlane.virtualAddress`.",
    },
    Field {
        key: "binary",
        kind: Group(BINARY),
        default: Empty(""),
        doc: "How a machine gets nodeinit; by default it is in the image.",
    },
    Field {
        key: "parallel",
        kind: Text(&f::COUNT),
        default: Value("10"),
        doc: "Maximum number of resources created, and of requests sent, in parallel.",
    },
    Field {
        key: "timeouts",
        kind: Group(TIMEOUTS),
        default: Empty(""),
        doc: "Deadlines for the cloud, one for each kind of wait.",
    },
];

const VOLUME: &[Field] = &[
    Field { key: "size", kind: Text(&f::GIBIBYTES), default: Value("20"), doc: "Size in GiB." },
    Field {
        key: "type",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the cloud's default", "ssd"),
        doc: "Volume type. etcd needs a fast one.",
    },
];

const NETWORK: &[Field] = &[
    Field {
        key: "name",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the cluster's name, for one that is made", "private"),
        doc: "An existing network, by name or id; with `create`, the name of the one that is made.",
    },
    Field {
        key: "subnet",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the only subnet of the network; the cluster's name, for one that is made", "private-v4"),
        doc: "The subnet of an existing network, by name or id; with `create`, the name of the one that is made.",
    },
    Field {
        key: "create",
        kind: Group(CREATE),
        default: Words("the network is there already", "{cidr: 10.0.0.0/24}"),
        doc: "Create a network, a subnet and a router to the external network.",
    },
];

const CREATE: &[Field] = &[
    Field {
        key: "cidr",
        kind: Text(&f::CIDR),
        default: Words("none; needed for a network that is made", "10.0.0.0/24"),
        doc: "The machines' addresses.",
    },
    Field {
        key: "gateway",
        kind: Text(&f::ADDRESS),
        default: Words("the first address", "10.0.0.1"),
        doc: "The router's address.",
    },
    Field {
        key: "firstAddress",
        kind: Text(&f::ADDRESS),
        default: Words("the first that is free", "10.0.0.100"),
        doc: "First address of the allocation pool.",
    },
    Field {
        key: "lastAddress",
        kind: Text(&f::ADDRESS),
        default: Words("the last of the range", "10.0.0.200"),
        doc: "Last address of the allocation pool.",
    },
    Field {
        key: "dhcp",
        kind: Flag,
        default: Words("true", "false"),
        doc: "Whether the cloud serves DHCP in the subnet. Without it, machines read their address from the \
              configuration drive.",
    },
    Field {
        key: "dnsServers",
        kind: List(&Text(&f::ADDRESS)),
        default: Words("the cloud's own", "[192.0.2.53]"),
        doc: "The machines' name servers.",
    },
    Field {
        key: "router",
        kind: Flag,
        default: Words("true", "false"),
        doc: "Whether to create a router to the external network. Floating IPs need one.",
    },
    Field {
        key: "publicCIDR",
        kind: Text(&f::CIDR),
        default: Words("none: all are in one network", "10.0.1.0/24"),
        doc: "Create a second network with this range for the bastion and the load balancer, which have external \
              access; the machines stay in the first one. A router connects both; it has the first address.",
    },
];

const LOAD_BALANCER: &[Field] = &[
    Field {
        key: "enabled",
        kind: Flag,
        default: Value("true"),
        doc: "Whether Octavia balances the API servers. Without it, set `controlPlane.virtualAddress` or \
              `controlPlane.endpoint`.",
    },
    Field {
        key: "floatingIP",
        kind: Flag,
        default: Value("false"),
        doc: "Whether it gets a floating IP for external access to the API; see `access.api`.",
    },
    Field {
        key: "address",
        kind: Text(&f::ADDRESS),
        default: Words("the cloud's choice", "10.0.0.10"),
        doc: "Its address in the machines' subnet, or of `network.create.publicCIDR`.",
    },
    Field {
        key: "provider",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the cloud's default", "ovn"),
        doc: "Octavia's driver.",
    },
];

const BASTION: &[Field] = &[
    Field {
        key: "name",
        kind: Text(&f::NODE_NAME),
        default: Value("bastion"),
        doc: "Its name, different from every machine's.",
    },
    Field {
        key: "address",
        kind: Text(&f::ADDRESS),
        default: Words("the cloud's choice", "10.0.0.5"),
        doc: "Its address in the machines' subnet, or of `network.create.publicCIDR`, in addition to its floating IP.",
    },
    Field {
        key: "flavor",
        kind: Text(&f::CLOUD_NAME),
        default: Words("`openstack.flavor`", "m1.small"),
        doc: "Its flavor, by name or id.",
    },
    Field {
        key: "image",
        kind: Text(&f::CLOUD_NAME),
        default: Words("`openstack.image`", "debian-12"),
        doc: "Its image, by name or id, with cloud-init.",
    },
];

const ACCESS: &[Field] = &[
    Field {
        key: "ssh",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[192.0.2.0/24]"),
        doc: "Ranges with SSH access to the machines, or to the bastion if there is one. Masters always reach the \
              other machines.",
    },
    Field {
        key: "api",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[192.0.2.0/24]"),
        doc: "Ranges with access to the Kubernetes API, through the load balancer or directly. The cluster's own \
              network always has access.",
    },
    Field {
        key: "ingress",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[0.0.0.0/0]"),
        doc: "Ranges with access to ports 80 and 443 of the machines.",
    },
    Field {
        key: "nodePorts",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[192.0.2.0/24]"),
        doc: "Ranges with access to services of type NodePort, TCP and UDP.",
    },
    Field {
        key: "betweenNodes",
        kind: List(&Text(&f::OPENING)),
        default: Words("what the built-in addons need", "[udp/4789, tcp/179]"),
        doc: "Further protocols and ports between machines of the cluster, for example for your own pod network; \
              `any` allows everything.",
    },
];

const BINARY: &[Field] = &[
    Field {
        key: "urls",
        kind: List(&Text(&f::URL)),
        default: Words("none", "[\"https://mirror.example.org/nodeinit\"]"),
        doc: "URLs of the program, tried in turn. Machines verify `sha256` before they run it.",
    },
    Field {
        key: "sha256",
        kind: Text(&f::SHA256),
        default: Words("none; needed for `urls`", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        doc: "Its digest, as `sha256sum` prints it.",
    },
    Field {
        key: "file",
        kind: Text(&f::LOCAL_PATH),
        default: Words("none", "./nodeinit"),
        doc: "A local file, sent over SSH to machines without nodeinit or with another version.",
    },
];

const TIMEOUTS: &[Field] = &[
    Field {
        key: "request",
        kind: Text(&f::DURATION),
        default: Value("2m"),
        doc: "For one request, including retries after 409, 500, 503 or no answer.",
    },
    Field { key: "volume", kind: Text(&f::DURATION), default: Value("10m"), doc: "Until a volume holds its image." },
    Field { key: "server", kind: Text(&f::DURATION), default: Value("10m"), doc: "Until a server is ACTIVE." },
    Field {
        key: "loadBalancer",
        kind: Text(&f::DURATION),
        default: Value("10m"),
        doc: "Until the load balancer is ACTIVE, and for each change to it.",
    },
    Field {
        key: "deletion",
        kind: Text(&f::DURATION),
        default: Value("10m"),
        doc: "Until a deleted resource is gone.",
    },
];
