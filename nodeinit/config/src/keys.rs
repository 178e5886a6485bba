//! Every key of the configuration.

use crate::{
    format as f,
    schema::{
        Fallback::{Empty, Required, Value, Words},
        Field,
        Kind::{Choice, ChoiceOrGroup, Dict, Flag, Free, Group, List, Text},
    },
};

mod openstack;
mod reserved;

use reserved::{API_SERVER_RESERVED, CONTROLLER_MANAGER_RESERVED, ETCD_RESERVED, SCHEDULER_RESERVED, SYSCTLS_RESERVED};

/// What `apiVersion` must say.
pub const API_VERSION: &str = "nodeinit.dev/v1alpha1";
/// What `kind` must say.
pub const KIND: &str = "Cluster";

/// The keys of `cluster.yaml`.
pub const CLUSTER: &[Field] = &[
    Field {
        key: "apiVersion",
        kind: Choice(&[(API_VERSION, "the only one so far")]),
        default: Required,
        doc: "The version of this format. Required in the first file, optional in others.",
    },
    Field {
        key: "kind",
        kind: Choice(&[(KIND, "the configuration of a cluster")]),
        default: Required,
        doc: "What the file describes. Required in the first file, optional in others.",
    },
    Field {
        key: "name",
        kind: Text(&f::LABEL),
        default: Value("kubernetes"),
        doc: "The cluster's name; used in kubeconfigs and in `kubeadm-config`.",
    },
    Field { key: "kubernetes", kind: Group(KUBERNETES), default: Empty(""), doc: "The Kubernetes release." },
    Field { key: "images", kind: Group(IMAGES), default: Empty(""), doc: "Registries and mirrors of images." },
    Field {
        key: "containerRuntime",
        kind: Group(CONTAINER_RUNTIME),
        default: Empty(""),
        doc: "containerd on every machine. See `docs/containerd.md`.",
    },
    Field {
        key: "controlPlane",
        kind: Group(CONTROL_PLANE),
        default: Empty(""),
        doc: "Settings that all masters share.",
    },
    Field {
        key: "masters",
        kind: List(&Group(MACHINE)),
        default: Empty("[{name: master-1, address: 10.0.0.11}]"),
        doc: "The masters; the first entry is the first master. A machine is a first master only if it is listed here.",
    },
    Field {
        key: "workers",
        kind: List(&Group(MACHINE)),
        default: Empty("[{name: worker-1, address: 10.0.0.21}]"),
        doc: "The workers.",
    },
    Field {
        key: "ssh",
        kind: Group(SSH),
        default: Empty(""),
        doc: "SSH access from the first master to the other machines. Workers without an address join on their own.",
    },
    Field {
        key: "join",
        kind: Group(JOIN),
        default: Empty(""),
        doc: "Trust settings of a self-joining worker. The first master and the provisioner write them into the \
              worker's own configuration.",
    },
    Field {
        key: "agent",
        kind: Group(AGENT),
        default: Empty(""),
        doc: "The service `nodeinit-agent` on every master, which approves the certificates of kubelets.",
    },
    Field { key: "network", kind: Group(NETWORK), default: Empty(""), doc: "Addresses inside the cluster." },
    Field { key: "etcd", kind: Group(ETCD), default: Empty(""), doc: "etcd, a static pod on every master." },
    Field {
        key: "apiServer",
        kind: Group(API_SERVER),
        default: Empty(""),
        doc: "kube-apiserver, a static pod on every master.",
    },
    Field {
        key: "controllerManager",
        kind: Group(CONTROLLER_MANAGER),
        default: Empty(""),
        doc: "kube-controller-manager, a static pod on every master.",
    },
    Field {
        key: "scheduler",
        kind: Group(SCHEDULER),
        default: Empty(""),
        doc: "kube-scheduler, a static pod on every master.",
    },
    Field { key: "kubelet", kind: Group(KUBELET), default: Empty(""), doc: "The kubelet of every machine." },
    Field { key: "kubeProxy", kind: Group(KUBE_PROXY), default: Empty(""), doc: "kube-proxy of every machine." },
    Field {
        key: "addons",
        kind: Group(ADDONS),
        default: Empty(""),
        doc: "Addons, applied when the API server is ready.",
    },
    Field {
        key: "artifacts",
        kind: Group(ARTIFACTS),
        default: Empty(""),
        doc: "Source of programs and image archives.",
    },
    Field { key: "os", kind: Group(OS), default: Empty(""), doc: "Settings of the operating system." },
    Field {
        key: "manifestsDirectory",
        kind: Text(&f::ABSOLUTE_PATH),
        default: Words("the built-in manifests", "/etc/nodeinit/manifests"),
        doc: "Directory with files that replace built-in manifests of the same name.",
    },
    Field {
        key: "secretsDelivery",
        kind: Choice(&[
            ("ssh", "over SSH; only a worker's own single-use token may be in user-data"),
            ("ssh-only", "over SSH, even a worker's token"),
            ("user-data", "in user-data, which every process of the machine can read; warned about"),
        ]),
        default: Value("ssh"),
        doc: "How secrets reach a machine.",
    },
    Field {
        key: "openstack",
        kind: Group(openstack::OPENSTACK),
        default: Empty(""),
        doc: "The cloud in which `provisioner` creates the machines. Omit it if the machines exist. Machines do not \
              receive this section.",
    },
    Field { key: "timeouts", kind: Group(TIMEOUTS), default: Empty(""), doc: "Deadlines, one for each kind of wait." },
];

const KUBERNETES: &[Field] = &[Field {
    key: "version",
    kind: Text(&f::VERSION),
    default: Value(crate::releases::DEFAULT),
    doc: "The version of Kubernetes. Its minor version selects the release, which determines all other versions and \
          flags: see `docs/releases.md`.",
}];

const IMAGES: &[Field] = &[
    Field {
        key: "repository",
        kind: Text(&f::REPOSITORY),
        default: Value(crate::cluster::DEFAULT_IMAGE_REPOSITORY),
        doc: "Registry and path of Kubernetes' own images.",
    },
    Field {
        key: "mirrors",
        kind: List(&Group(&[
            Field {
                key: "registry",
                kind: Text(&f::HOST),
                default: Required,
                doc: "The registry as images are named after it, such as `docker.io`.",
            },
            Field {
                key: "urls",
                kind: List(&Text(&f::URL)),
                default: Required,
                doc: "The mirrors' base URLs, tried in turn before the registry itself. A path is prepended to image \
                      names.",
            },
        ])),
        default: Empty("[{registry: docker.io, urls: [\"https://mirror.example.org/hub\"]}]"),
        doc: "Mirrors that containerd pulls from, on machines where nodeinit manages containerd.",
    },
    Field {
        key: "registryAuthFile",
        kind: Text(&f::ABSOLUTE_PATH),
        default: Words("no logins", "/etc/nodeinit/registry-auth.json"),
        doc: "A file on each machine with the logins of registries and mirrors, in the form of docker's `config.json`, mode 0600. containerd \
              uses it where nodeinit manages containerd, and so does the step `fetch`.",
    },
];

const CONTAINER_RUNTIME: &[Field] = &[
    Field {
        key: "manage",
        kind: Flag,
        default: Words("`true` where containerd is not installed, else `false`", "true"),
        doc: "`true`: installs containerd where it is missing, and sets what Kubernetes needs in its configuration. \
              `false`: only checks containerd.",
    },
    Field {
        key: "proxy",
        kind: Group(&[
            Field {
                key: "http",
                kind: Text(&f::URL),
                default: Words("none", "\"http://proxy.example.org:3128\""),
                doc: "The proxy for registries with `http://`.",
            },
            Field {
                key: "https",
                kind: Text(&f::URL),
                default: Words("none", "\"http://proxy.example.org:3128\""),
                doc: "The proxy for registries with `https://`.",
            },
            Field {
                key: "noProxy",
                kind: List(&Text(&f::NO_PROXY)),
                default: Empty("[10.0.0.0/8, .example.org]"),
                doc: "Hosts, domains and networks that are reached without a proxy.",
            },
        ]),
        default: Empty(""),
        doc: "Proxies through which containerd pulls images, on machines where nodeinit manages containerd.",
    },
];

const CONTROL_PLANE: &[Field] = &[
    Field {
        key: "endpoint",
        kind: Text(&f::ENDPOINT),
        default: Words("the first master's address and port 6443", "api.example.org:6443"),
        doc: "Address of the API for workers and clients: a load balancer or a DNS name. The default port is 6443.",
    },
    Field {
        key: "virtualAddress",
        kind: Text(&f::ADDRESS),
        default: Words("none", "10.0.0.10"),
        doc: "Virtual IP of the API, held by one master at a time, for clusters without a load balancer. It must be a free \
              address of the masters' network.",
    },
    Field {
        key: "certSANs",
        kind: List(&Text(&f::CERT_SAN)),
        default: Empty("[api.example.org, 10.0.0.10]"),
        doc: "Further DNS names and addresses in the API server's certificate.",
    },
    Field {
        key: "schedulable",
        kind: Flag,
        default: Value("false"),
        doc: "Masters run ordinary pods too: they get no taint.",
    },
];

const MACHINE: &[Field] = &[
    Field {
        key: "name",
        kind: Text(&f::NODE_NAME),
        default: Required,
        doc: "The node's name, and the machine's host name; a suffix such as `.novalocal` on the machine is ignored.",
    },
    Field {
        key: "address",
        kind: Text(&f::ADDRESS),
        default: Words("found on the machine itself; needed where other machines must reach it", "10.0.0.11"),
        doc: "The address at which other machines reach it. The node has this address (`--node-ip`); an interface of \
              the machine must have it.",
    },
    Field {
        key: "labels",
        kind: Dict { keys: &f::LABEL_KEY, values: &f::LABEL_VALUE, reserved: &[] },
        default: Words("none", "{example.org/zone: north}"),
        doc: "Labels of the node.",
    },
    Field {
        key: "taints",
        kind: List(&Text(&f::TAINT)),
        default: Words("none", "[dedicated=db:NoSchedule]"),
        doc: "Taints of the node, in addition to the control plane's own.",
    },
    Field {
        key: "hostKeys",
        kind: List(&Text(&f::HOST_KEY)),
        default: Words(
            "those of the secrets bundle",
            "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo]",
        ),
        doc: "Its SSH host keys, as in its /etc/ssh/ssh_host_*_key.pub; one match is enough.",
    },
    Field {
        key: "ssh",
        kind: Group(MACHINE_SSH),
        default: Empty(""),
        doc: "SSH settings of this machine that differ from `ssh`.",
    },
    Field {
        key: "flavor",
        kind: Text(&f::CLOUD_NAME),
        default: Words("`openstack.flavor`", "m1.large"),
        doc: "The flavor of the server, by name or id.",
    },
    Field {
        key: "availabilityZone",
        kind: Text(&f::CLOUD_NAME),
        default: Words("one of `openstack.availabilityZones`, in turn", "nova-1"),
        doc: "The availability zone of the server.",
    },
];

const MACHINE_SSH: &[Field] = &[
    Field {
        key: "enabled",
        kind: Flag,
        default: Words("`true`", "false"),
        doc: "Whether the first master brings up this worker over SSH. If `false`, the worker joins on its own, like \
              one without an address.",
    },
    Field {
        key: "address",
        kind: Text(&f::ADDRESS),
        default: Words("the machine's address", "192.168.0.11"),
        doc: "Address of its SSH server.",
    },
    Field {
        key: "port",
        kind: Text(&f::PORT),
        default: Words("`ssh.port`", "2222"),
        doc: "The port of its SSH server.",
    },
    Field { key: "user", kind: Text(&f::USER), default: Words("`ssh.user`", "debian"), doc: "Login user." },
];

const SSH: &[Field] = &[
    Field {
        key: "user",
        kind: Text(&f::USER),
        default: Value("root"),
        doc: "Login user. A user other than root needs sudo without a password.",
    },
    Field { key: "port", kind: Text(&f::PORT), default: Value("22"), doc: "The port of the SSH servers." },
    Field {
        key: "keyFile",
        kind: Text(&f::ABSOLUTE_PATH),
        default: Words("the secrets bundle's key", "/root/.ssh/id_ed25519"),
        doc: "A private key on the first master, ed25519 or ECDSA, without a passphrase.",
    },
    Field {
        key: "trustOnFirstUse",
        kind: Flag,
        default: Value("false"),
        doc: "Accept an unknown host key at the first contact, and pin it. A man in the middle at first contact obtains the \
              cluster's keys.",
    },
    Field {
        key: "parallel",
        kind: Text(&f::COUNT),
        default: Value("50"),
        doc: "Maximum number of machines brought up in parallel.",
    },
    Field {
        key: "jumpHost",
        kind: Group(JUMP_HOST),
        default: Words("none", "{address: 192.0.2.1}"),
        doc: "A jump host through which all other machines are reached.",
    },
];

const JUMP_HOST: &[Field] = &[
    Field { key: "address", kind: Text(&f::ADDRESS), default: Required, doc: "Address of its SSH server." },
    Field { key: "port", kind: Text(&f::PORT), default: Words("22", "2222"), doc: "The port of its SSH server." },
    Field { key: "user", kind: Text(&f::USER), default: Words("`ssh.user`", "debian"), doc: "Login user." },
    Field {
        key: "hostKeys",
        kind: List(&Text(&f::HOST_KEY)),
        default: Words(
            "those of the secrets bundle under the name `jump-host`",
            "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo]",
        ),
        doc: "Its SSH host keys; one match is enough.",
    },
];

const JOIN: &[Field] = &[
    Field {
        key: "caCertificate",
        kind: Text(&f::PEM_CERTIFICATE),
        default: Words(
            "asked from the API, and then held against `caPins`",
            "\"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n\"",
        ),
        doc: "The cluster's CA. With `caPins` it must have one of them. Without it, the worker asks the API for the ConfigMap \
              `cluster-info`, anonymously, over unverified TLS, and accepts the CA in it only if it has one of \
              `caPins`. Without both, the worker connects to nothing.",
    },
    Field {
        key: "caPins",
        kind: List(&Text(&f::CA_PIN)),
        default: Empty("[\"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"]"),
        doc: "Digests of the CA's public key, as `kubeadm token create --print-join-command` prints them. The CA must \
              have one.",
    },
    Field {
        key: "endpoints",
        kind: List(&Text(&f::ENDPOINT)),
        default: Words("`controlPlane.endpoint`", "[10.0.0.11:6443, 10.0.0.12:6443]"),
        doc: "Addresses of the API, tried in turn.",
    },
];

const AGENT: &[Field] = &[Field {
    key: "enabled",
    kind: Flag,
    default: Value("true"),
    doc: "A worker's token is valid for that worker's name only, and kubelets have serving certificates of the \
          cluster's CA, which the agent approves. `false`: a worker's token is valid for any name, like kubeadm's \
          tokens, and kubelets' serving certificates are not verified.",
}];

/// The path of the key that selects the release.
pub(crate) const VERSION: &str = "kubernetes.version";

/// The path of the key that all machines of a cluster must agree on.
pub(crate) const AGENT_ENABLED: &str = "agent.enabled";

/// The path of the key that the configuration's `openstack` decides where it is absent.
pub(crate) const POD_METADATA: &str = "network.podsMayReadMetadata";

const NETWORK: &[Field] = &[
    Field {
        key: "podCIDR",
        kind: Text(&f::CIDR),
        default: Value("10.244.0.0/16"),
        doc: "The pods' addresses. Each node takes a /24 of it (IPv6: a /64), so that its size limits the nodes.",
    },
    Field {
        key: "serviceCIDR",
        kind: Text(&f::CIDR),
        default: Value("10.96.0.0/12"),
        doc: "The services' addresses; the first is the API's, the tenth the cluster DNS'.",
    },
    Field {
        key: "dnsDomain",
        kind: Text(&f::SUBDOMAIN),
        default: Value("cluster.local"),
        doc: "The domain of the cluster's DNS.",
    },
    Field {
        key: "podsMayReadMetadata",
        kind: Flag,
        default: Words("`false` on OpenStack, else `true`", "false"),
        doc: "`false`: drops the traffic of pods to the cloud's metadata service, where user-data can be read. See \
              `docs/security.md`.",
    },
];

const ETCD: &[Field] = &[
    Field {
        key: "dataDirectory",
        kind: Text(&f::ABSOLUTE_PATH),
        default: Value("/var/lib/etcd"),
        doc: "Directory of etcd's data.",
    },
    Field {
        key: "extraArgs",
        kind: Dict { keys: &f::FLAG, values: &f::ARGUMENT, reserved: ETCD_RESERVED },
        default: Empty("{quota-backend-bytes: 4294967296}"),
        doc: "Flags, without leading dashes, merged over nodeinit's own.",
    },
];

const API_SERVER: &[Field] = &[Field {
    key: "extraArgs",
    kind: Dict { keys: &f::FLAG, values: &f::ARGUMENT, reserved: API_SERVER_RESERVED },
    default: Empty("{max-requests-inflight: 800}"),
    doc: "Flags, without leading dashes, merged over nodeinit's own.",
}];

const CONTROLLER_MANAGER: &[Field] = &[Field {
    key: "extraArgs",
    kind: Dict { keys: &f::FLAG, values: &f::ARGUMENT, reserved: CONTROLLER_MANAGER_RESERVED },
    default: Empty("{node-monitor-grace-period: 20s}"),
    doc: "Flags, without leading dashes, merged over nodeinit's own.",
}];

const SCHEDULER: &[Field] = &[Field {
    key: "extraArgs",
    kind: Dict { keys: &f::FLAG, values: &f::ARGUMENT, reserved: SCHEDULER_RESERVED },
    default: Empty("{v: 2}"),
    doc: "Flags, without leading dashes, merged over nodeinit's own.",
}];

const KUBELET: &[Field] = &[Field {
    key: "config",
    kind: Free {
        reserved: &[
            ("apiVersion", "nodeinit writes it"),
            ("kind", "nodeinit writes it"),
            ("staticPodPath", "nodeinit places its static pods in /etc/kubernetes/manifests"),
            ("healthzPort", "nodeinit waits for the kubelet's health at 127.0.0.1:10248"),
            ("healthzBindAddress", "nodeinit waits for the kubelet's health at 127.0.0.1:10248"),
            ("clusterDomain", "set network.dnsDomain, which the cluster's DNS follows too"),
        ],
    },
    default: Empty("{maxPods: 200}"),
    doc: "Keys of `KubeletConfiguration` merged over nodeinit's own.",
}];

const KUBE_PROXY: &[Field] = &[Field {
    key: "config",
    kind: Free {
        reserved: &[
            ("apiVersion", "nodeinit writes it"),
            ("kind", "nodeinit writes it"),
            ("clusterCIDR", "set network.podCIDR, which the controller manager and the pod network follow too"),
        ],
    },
    default: Empty("{mode: nftables}"),
    doc: "Keys of `KubeProxyConfiguration` merged over nodeinit's own.",
}];

const ADDONS: &[Field] = &[
    Field {
        key: "kubeProxy",
        kind: Flag,
        default: Value("true"),
        doc: "kube-proxy: services by iptables or nftables.",
    },
    Field { key: "coreDNS", kind: Flag, default: Value("true"), doc: "CoreDNS: names inside the cluster." },
    Field {
        key: "cni",
        kind: ChoiceOrGroup(
            &[("flannel", "our default, vxlan"), ("none", "somebody else brings one; nodes stay NotReady until then")],
            &[Field {
                key: "directory",
                kind: Text(&f::ABSOLUTE_PATH),
                default: Required,
                doc: "Every manifest in this directory is applied.",
            }],
        ),
        default: Value("flannel"),
        doc: "The pod network.",
    },
    Field {
        key: "metricsServer",
        kind: Flag,
        default: Value("false"),
        doc: "metrics-server: what pods and nodes use, for `kubectl top` and autoscaling.",
    },
    Field {
        key: "localStorage",
        kind: Flag,
        default: Value("false"),
        doc: "local-path-provisioner: volumes on the nodes' own disks, by the default storage class `local-path`.",
    },
    Field {
        key: "monitoring",
        kind: Flag,
        default: Value("false"),
        doc: "Prometheus, node-exporter and kube-state-metrics, in the namespace `monitoring`.",
    },
    Field {
        key: "logging",
        kind: Flag,
        default: Value("false"),
        doc: "Fluent Bit and VictoriaLogs: what containers write, in the namespace `logging`.",
    },
    Field {
        key: "ingress",
        kind: Flag,
        default: Value("false"),
        doc: "Traefik: HTTP from outside, on ports 80 and 443 of every node that runs ordinary pods.",
    },
    Field {
        key: "dashboard",
        kind: Flag,
        default: Value("false"),
        doc: "Headlamp: the cluster in a browser, in the namespace `dashboard`.",
    },
    Field {
        key: "manifests",
        kind: Text(&f::ABSOLUTE_PATH),
        default: Words("none", "/etc/nodeinit/addons"),
        doc: "A directory on the first master: every manifest in it is applied when the cluster is ready, as it is. An object that is \
              taken out of it is deleted.",
    },
];

const ARTIFACTS: &[Field] = &[
    Field {
        key: "source",
        kind: Text(&f::SOURCE),
        default: Value("image"),
        doc: "`image`: all is baked into the machine's image. An absolute path: a directory of this machine, \
              or a bundle if it ends in `.tar`. `http://` or `https://`: a mirror, which needs `sha256sums`, or a `sha256` for every artifact. \
              `upstream`: the official servers, or `mirrors` of them, from which `nodeinit up` fetches into `/var/lib/nodeinit/artifacts`.",
    },
    Field {
        key: "from",
        kind: Choice(&[
            ("first", "a machine that the first master reaches over SSH takes from there what its own directory lacks"),
            ("each", "each machine has the whole directory, or fetches from `upstream` itself"),
        ]),
        default: Value("first"),
        doc: "Which machines need the directory of `source`. A mirror is asked by each machine.",
    },
    Field {
        key: "sha256",
        kind: Dict { keys: &f::RELATIVE_PATH, values: &f::SHA256, reserved: &[] },
        default: Empty("{bin/kubelet: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}"),
        doc: "The digest of each artifact by its path below the source, as `sha256sum` prints it.",
    },
    Field {
        key: "sha256sums",
        kind: Text(&f::SHA256),
        default: Words("none", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        doc: "The digest of the file `SHA256SUMS` of a mirror. That file has the digest of each artifact that is not \
              in `sha256`.",
    },
    Field {
        key: "bundleKey",
        kind: Text(&f::BUNDLE_KEY),
        default: Words("none", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo"),
        doc: "The public key that must have signed the bundle. Nothing of a bundle without its signature is used. See \
              `docs/artifacts.md`.",
    },
    Field {
        key: "binaries",
        kind: List(&Group(&[
            Field { key: "path", kind: Text(&f::RELATIVE_PATH), default: Required, doc: "The file below the source." },
            Field {
                key: "to",
                kind: Text(&f::ABSOLUTE_PATH),
                default: Required,
                doc: "Where it is placed on the machine.",
            },
        ])),
        default: Words(
            "none from an image; else kubelet, kubectl and the CNI plugins",
            "[{path: bin/kubelet, to: /usr/bin/kubelet}]",
        ),
        doc: "Programs that are placed on the machine.",
    },
    Field {
        key: "images",
        kind: List(&Group(&[
            Field {
                key: "path",
                kind: Text(&f::RELATIVE_PATH),
                default: Required,
                doc: "The archive below the source: docker or OCI layout, plain or compressed.",
            },
            Field {
                key: "image",
                kind: Text(&f::IMAGE),
                default: Required,
                doc: "The full name of the image that it brings.",
            },
        ])),
        default: Words(
            "none from an image; else `images/NAME.tar` for all that the version and the addons need",
            "[{path: images/pause.tar, image: \"registry.k8s.io/pause:3.10.1\"}]",
        ),
        doc: "Archives that are imported into containerd, in the order in which a first master needs them.",
    },
    Field {
        key: "mirrors",
        kind: Dict { keys: &f::HOST, values: &f::URL, reserved: &[] },
        default: Empty("{registry.k8s.io: \"https://mirror.example.org/k8s\"}"),
        doc: "For `artifacts fetch` and the source `upstream`: the base URL to ask instead of an official server or registry. A registry's path \
              becomes the folder of its images. See `docs/artifacts.md`.",
    },
    Field {
        key: "caCertificate",
        kind: Text(&f::PEM_CERTIFICATE),
        default: Words(
            "none but the machine's own",
            "\"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n\"",
        ),
        doc: "A CA that downloads trust in addition to those of the machine: that of a mirror or of a proxy.",
    },
];

const OS: &[Field] = &[
    Field {
        key: "swap",
        kind: Choice(&[
            ("off", "switched off, now and at each boot"),
            ("refuse", "preflight fails where swap is on"),
            ("keep", "left as it is; needs `failSwapOn: false` in `kubelet.config`"),
        ]),
        default: Value("off"),
        doc: "What happens to swap.",
    },
    Field {
        key: "sysctls",
        kind: Dict { keys: &f::SYSCTL, values: &f::ARGUMENT, reserved: SYSCTLS_RESERVED },
        default: Empty("{vm.max_map_count: 262144}"),
        doc: "Kernel parameters (sysctls) in addition to those that Kubernetes needs.",
    },
    Field {
        key: "modules",
        kind: List(&Text(&f::MODULE)),
        default: Empty("[ip_vs]"),
        doc: "Kernel modules to load in addition to those that Kubernetes needs.",
    },
];

const TIMEOUTS: &[Field] = &[
    Field { key: "download", kind: Text(&f::DURATION), default: Value("10m"), doc: "For one artifact." },
    Field { key: "imageImport", kind: Text(&f::DURATION), default: Value("5m"), doc: "For one image archive." },
    Field {
        key: "kubelet",
        kind: Text(&f::DURATION),
        default: Value("2m"),
        doc: "Until the kubelet is healthy after its start.",
    },
    Field {
        key: "etcd",
        kind: Text(&f::DURATION),
        default: Value("5m"),
        doc: "Until etcd is healthy after the kubelet.",
    },
    Field {
        key: "controlPlane",
        kind: Text(&f::DURATION),
        default: Value("5m"),
        doc: "Until the control plane is healthy after etcd.",
    },
    Field {
        key: "ssh",
        kind: Text(&f::DURATION),
        default: Value("5m"),
        doc: "Until the first master can log in to a machine over SSH.",
    },
    Field {
        key: "join",
        kind: Text(&f::DURATION),
        default: Value("10m"),
        doc: "Until a worker has joined the cluster; until a master is a member of etcd.",
    },
    Field {
        key: "node",
        kind: Text(&f::DURATION),
        default: Value("5m"),
        doc: "Until the node is Ready and the addons run, after the control plane is healthy.",
    },
];
