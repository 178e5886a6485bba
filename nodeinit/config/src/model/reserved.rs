//! Flags and kernel parameters that nodeinit manages and the user cannot set, each with the reason and the alternative.

const PKI: &str = "nodeinit generates the keys in /etc/kubernetes/pki and configures every component to use them";
const KUBECONFIG: &str = "nodeinit writes the kubeconfig and points the component to it";
const MEMBERSHIP: &str = "nodeinit manages etcd's members and their addresses";
const AGGREGATION: &str = "nodeinit sets up the front proxy's certificates";

pub(crate) const ETCD_RESERVED: &[(&str, &str)] = &[
    ("data-dir", "set etcd.dataDirectory, which is also mounted into the pod"),
    ("wal-dir", "only etcd.dataDirectory is mounted into the pod"),
    ("config-file", "etcd would then ignore every flag"),
    ("name", "the member is named after its node"),
    ("advertise-client-urls", MEMBERSHIP),
    ("listen-client-urls", MEMBERSHIP),
    ("initial-advertise-peer-urls", MEMBERSHIP),
    ("listen-peer-urls", MEMBERSHIP),
    ("initial-cluster", MEMBERSHIP),
    ("initial-cluster-state", MEMBERSHIP),
    ("initial-cluster-token", MEMBERSHIP),
    ("force-new-cluster", "it would drop the other members at every start of the pod"),
    ("cert-file", PKI),
    ("key-file", PKI),
    ("trusted-ca-file", PKI),
    ("client-cert-auth", "every client must present a certificate"),
    ("peer-cert-file", PKI),
    ("peer-key-file", PKI),
    ("peer-trusted-ca-file", PKI),
    ("peer-client-cert-auth", "every member must present a certificate"),
    ("auto-tls", PKI),
    ("peer-auto-tls", PKI),
];

pub(crate) const API_SERVER_RESERVED: &[(&str, &str)] = &[
    ("etcd-servers", "each API server uses the etcd member on its own machine"),
    ("etcd-cafile", PKI),
    ("etcd-certfile", PKI),
    ("etcd-keyfile", PKI),
    ("advertise-address", "set the master's address in masters"),
    ("secure-port", "the other components, the probes and the certificates expect 6443"),
    ("service-cluster-ip-range", "set network.serviceCIDR, which other components use, too"),
    ("client-ca-file", PKI),
    ("tls-cert-file", PKI),
    ("tls-private-key-file", PKI),
    ("cert-dir", PKI),
    ("kubelet-client-certificate", PKI),
    ("kubelet-client-key", PKI),
    ("service-account-key-file", PKI),
    ("service-account-signing-key-file", PKI),
    (
        "encryption-provider-config",
        "nodeinit generates the key that encrypts Secrets at rest; with another key they are lost",
    ),
    ("proxy-client-cert-file", AGGREGATION),
    ("proxy-client-key-file", AGGREGATION),
    ("requestheader-client-ca-file", AGGREGATION),
    ("requestheader-allowed-names", AGGREGATION),
    ("requestheader-username-headers", AGGREGATION),
    ("requestheader-group-headers", AGGREGATION),
    ("requestheader-extra-headers-prefix", AGGREGATION),
    ("enable-bootstrap-token-auth", "machines join with bootstrap tokens"),
    ("allow-privileged", "kube-proxy and the pod network are privileged pods"),
];

pub(crate) const CONTROLLER_MANAGER_RESERVED: &[(&str, &str)] = &[
    ("kubeconfig", KUBECONFIG),
    ("authentication-kubeconfig", KUBECONFIG),
    ("authorization-kubeconfig", KUBECONFIG),
    ("client-ca-file", PKI),
    ("root-ca-file", PKI),
    ("requestheader-client-ca-file", AGGREGATION),
    ("cluster-signing-cert-file", PKI),
    ("cluster-signing-key-file", PKI),
    ("service-account-private-key-file", PKI),
    ("cluster-name", "set name"),
    ("cluster-cidr", "set network.podCIDR, which other components use, too"),
    ("service-cluster-ip-range", "set network.serviceCIDR, which other components use, too"),
    ("secure-port", "the pod's probes expect 10257"),
];

pub(crate) const SCHEDULER_RESERVED: &[(&str, &str)] = &[
    ("kubeconfig", KUBECONFIG),
    ("authentication-kubeconfig", KUBECONFIG),
    ("authorization-kubeconfig", KUBECONFIG),
    ("secure-port", "the pod's probes expect 10259"),
];

pub(crate) const SYSCTLS_RESERVED: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "nodeinit sets it to 1: pods need it"),
    ("net.bridge.bridge-nf-call-iptables", "nodeinit sets it to 1: services need it"),
    ("net.bridge.bridge-nf-call-ip6tables", "nodeinit sets it to 1: services need it"),
];

pub(crate) const KUBELET_RESERVED: &[(&str, &str)] = &[
    ("apiVersion", "nodeinit writes it"),
    ("kind", "nodeinit writes it"),
    ("staticPodPath", "nodeinit places its static pods in /etc/kubernetes/manifests"),
    ("healthzPort", "nodeinit waits for the kubelet's health at 127.0.0.1:10248"),
    ("healthzBindAddress", "nodeinit waits for the kubelet's health at 127.0.0.1:10248"),
    ("clusterDomain", "set network.dnsDomain, which the cluster's DNS uses, too"),
];

pub(crate) const KUBE_PROXY_RESERVED: &[(&str, &str)] = &[
    ("apiVersion", "nodeinit writes it"),
    ("kind", "nodeinit writes it"),
    ("clusterCIDR", "set network.podCIDR, which the controller manager and the pod network use, too"),
];
