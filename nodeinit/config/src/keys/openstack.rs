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
        doc: "Marks everything that belongs to this cluster, so that nothing else is ever changed. `provisioner init` and \
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
        doc: "The flavour of machines that name none, by name or id.",
    },
    Field {
        key: "keypair",
        kind: Text(&f::CLOUD_NAME),
        default: Words("none", "operator"),
        doc: "The keypair whose public key lets you in by SSH.",
    },
    Field {
        key: "availabilityZones",
        kind: List(&Text(&f::CLOUD_NAME)),
        default: Words("the cloud's choice", "[nova-1, nova-2, nova-3]"),
        doc: "Masters and workers are spread over these, in turn.",
    },
    Field {
        key: "antiAffinity",
        kind: Choice(&[
            ("soft", "on different hypervisors where that is possible"),
            ("hard", "on different hypervisors, or not at all"),
            ("none", "wherever there is room"),
        ]),
        default: Value("soft"),
        doc: "Where masters run among themselves, and workers among themselves.",
    },
    Field {
        key: "configDrive",
        kind: Flag,
        default: Value("true"),
        doc: "Machines read their configuration from a drive, and not from the metadata service.",
    },
    Field { key: "volume", kind: Group(VOLUME), default: Empty(""), doc: "The disk that each machine boots from." },
    Field {
        key: "network",
        kind: Group(NETWORK),
        default: Empty(""),
        doc: "The network of the machines: an existing one, or one that is made.",
    },
    Field {
        key: "externalNetwork",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the only external network that the project sees", "public"),
        doc: "Where floating IPs come from, and where a router that is made leads to; by name or id.",
    },
    Field {
        key: "floatingIPs",
        kind: Choice(&[
            ("none", "machines are reached through `bastion` or `ssh.jumpHost`, or directly from where you are"),
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
    Field { key: "access", kind: Group(ACCESS), default: Empty(""), doc: "Who may connect from outside the cluster." },
    Field {
        key: "allowedAddressPairs",
        kind: List(&Text(&f::CIDR)),
        default: Words(
            "none for flannel, whose packets travel as the machines' own; `network.podCIDR` where another pod network is brought",
            "[10.244.0.0/16]",
        ),
        doc: "Further addresses that a machine may send from, beside its own and `controlPlane.virtualAddress`.",
    },
    Field {
        key: "binary",
        kind: Group(BINARY),
        default: Empty(""),
        doc: "How nodeinit comes to a machine; where nothing is written, the image holds it.",
    },
    Field {
        key: "parallel",
        kind: Text(&f::COUNT),
        default: Value("10"),
        doc: "How many resources are made at once, and how many requests are under way.",
    },
    Field {
        key: "timeouts",
        kind: Group(TIMEOUTS),
        default: Empty(""),
        doc: "How long the cloud may take; each is the deadline of one kind of wait.",
    },
];

const VOLUME: &[Field] = &[
    Field { key: "size", kind: Text(&f::GIBIBYTES), default: Value("20"), doc: "How large, in GiB." },
    Field {
        key: "type",
        kind: Text(&f::CLOUD_NAME),
        default: Words("the cloud's default", "ssd"),
        doc: "The volume type. etcd wants a fast one.",
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
        doc: "Makes network, subnet, and a router to the external network.",
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
        doc: "Where the addresses begin that the cloud may give out by itself.",
    },
    Field {
        key: "lastAddress",
        kind: Text(&f::ADDRESS),
        default: Words("the last of the range", "10.0.0.200"),
        doc: "Where they end.",
    },
    Field {
        key: "dhcp",
        kind: Flag,
        default: Words("true", "false"),
        doc: "Whether the cloud serves DHCP in the subnet. Without it, machines read their address from the configuration drive.",
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
        doc: "Whether a router to the external network is made. Floating IPs need one.",
    },
    Field {
        key: "publicCIDR",
        kind: Text(&f::CIDR),
        default: Words("none: all are in one network", "10.0.1.0/24"),
        doc: "Makes a second network with these addresses for what is reached from outside, the bastion and the load balancer, \
              and leaves the first one to the machines. The router leads from each to the other; its address is the first.",
    },
];

const LOAD_BALANCER: &[Field] = &[
    Field {
        key: "enabled",
        kind: Flag,
        default: Value("true"),
        doc: "Whether Octavia balances the API servers. Without it, set `controlPlane.virtualAddress` or `controlPlane.endpoint`.",
    },
    Field {
        key: "floatingIP",
        kind: Flag,
        default: Value("false"),
        doc: "Whether it gets a floating IP, so that the API can be reached from outside; see `access.api`.",
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
        doc: "Its name; no machine has the same.",
    },
    Field {
        key: "address",
        kind: Text(&f::ADDRESS),
        default: Words("the cloud's choice", "10.0.0.5"),
        doc: "Its address in the machines' subnet, or of `network.create.publicCIDR`, beside its floating IP.",
    },
    Field {
        key: "flavor",
        kind: Text(&f::CLOUD_NAME),
        default: Words("`openstack.flavor`", "m1.small"),
        doc: "How large it is: a flavour's name or id.",
    },
    Field {
        key: "image",
        kind: Text(&f::CLOUD_NAME),
        default: Words("`openstack.image`", "debian-12"),
        doc: "What it boots from, by name or id; an image with cloud-init.",
    },
];

const ACCESS: &[Field] = &[
    Field {
        key: "ssh",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[192.0.2.0/24]"),
        doc: "Who reaches the machines' SSH, or the bastion's where there is one. Masters reach the others anyway.",
    },
    Field {
        key: "api",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[192.0.2.0/24]"),
        doc: "Who reaches the Kubernetes API, by the balancer or directly. The cluster's own network does anyway.",
    },
    Field {
        key: "ingress",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[0.0.0.0/0]"),
        doc: "Who reaches ports 80 and 443 of the machines.",
    },
    Field {
        key: "nodePorts",
        kind: List(&Text(&f::CIDR)),
        default: Words("nobody", "[192.0.2.0/24]"),
        doc: "Who reaches services of type NodePort, TCP and UDP.",
    },
    Field {
        key: "betweenNodes",
        kind: List(&Text(&f::OPENING)),
        default: Words("what the built-in addons need", "[udp/4789, tcp/179]"),
        doc: "What else machines of the cluster may use of each other, such as a pod network of your own; `any` is everything.",
    },
];

const BINARY: &[Field] = &[
    Field {
        key: "urls",
        kind: List(&Text(&f::URL)),
        default: Words("none", "[\"https://mirror.example.org/nodeinit\"]"),
        doc: "Machines fetch it from one of these, tried in turn, and check `sha256` before they run it.",
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
        doc: "A file on this side that is sent over SSH to a machine that has no nodeinit, or another one.",
    },
];

const TIMEOUTS: &[Field] = &[
    Field {
        key: "request",
        kind: Text(&f::DURATION),
        default: Value("2m"),
        doc: "For one request, with all the tries that a service needs which answers 500, 503, 409 or nothing.",
    },
    Field { key: "volume", kind: Text(&f::DURATION), default: Value("10m"), doc: "Until a volume holds its image." },
    Field { key: "server", kind: Text(&f::DURATION), default: Value("10m"), doc: "Until a server is ACTIVE." },
    Field {
        key: "loadBalancer",
        kind: Text(&f::DURATION),
        default: Value("10m"),
        doc: "Until the balancer is ACTIVE, and for each change of it.",
    },
    Field { key: "deletion", kind: Text(&f::DURATION), default: Value("10m"), doc: "Until something is gone." },
];
