//! The values that every manifest may use; `manifests/README.md` lists them.

use super::{Renderer, components::extra_args, paths, template::Values};
use nodeinit_config::{
    Component,
    cluster::{API_PORT, KubernetesImage, Network},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, net::IpAddr};

impl Renderer<'_> {
    pub(super) fn values(&self) -> Values {
        let (cluster, node) = (self.cluster, self.node);
        let network = &cluster.network;
        let image = |component| json!(cluster.image(component));
        let ipv6 = node.address.is_ipv6();
        let localhost = if ipv6 { "::1" } else { "127.0.0.1" };
        let etcd = extra_args(cluster, Component::Etcd);
        let probe = etcd_probe(&etcd, localhost);
        // As in kubeadm, the API server follows a changed client address of etcd.
        let etcd_servers = match etcd.get("advertise-client-urls") {
            Some(urls) => urls.clone(),
            None => format!("https://{}:2379", url_host(localhost)),
        };
        let endpoint = cluster.endpoint(node.address);
        let signing =
            |file: &str| if self.facts.external_ca { json!("") } else { json!(format!("{}/{file}", paths::PKI)) };
        Values::from([
            ("anyAddress", json!(if ipv6 { "::" } else { "0.0.0.0" })),
            ("apiPort", json!(API_PORT)),
            ("apiServerImage", image(KubernetesImage::ApiServer)),
            ("clusterName", json!(cluster.name)),
            ("controlPlaneEndpoint", json!(endpoint.to_string())),
            ("controlPlaneHost", json!(endpoint.host)),
            // A string: as the only content of an environment variable, a number would be refused.
            ("controlPlanePort", json!(endpoint.port.to_string())),
            ("controllerManagerImage", image(KubernetesImage::ControllerManager)),
            ("controllerManagerProbeHost", self.probe_host(Component::ControllerManager)),
            ("coreDNSDomains", json!((cluster.masters.len() + cluster.workers.len()).clamp(1, 2))),
            ("coreDNSImage", image(KubernetesImage::CoreDns)),
            ("dnsAddress", json!(network.dns_service())),
            ("dnsDomain", json!(network.dns_domain)),
            ("etcdDataDirectory", json!(cluster.etcd.data_directory)),
            ("etcdImage", image(KubernetesImage::Etcd)),
            ("etcdProbeHost", json!(probe.host)),
            ("etcdProbePort", json!(probe.port)),
            ("etcdProbeScheme", json!(probe.scheme)),
            ("etcdServers", json!(etcd_servers)),
            ("flannelNetwork", json!(flannel_network(network))),
            ("flexVolumeDirectory", json!(self.flex_volume_directory())),
            ("kubeProxyImage", image(KubernetesImage::Proxy)),
            ("kubeProxyLooks", json!(if cluster.addons.kube_proxy { KUBE_PROXY_LOOKS } else { 0 }.to_string())),
            ("kubernetesVersion", json!(cluster.version.to_string())),
            ("localhost", json!(localhost)),
            ("localhostURLHost", json!(url_host(localhost))),
            ("nodeAddress", json!(node.address)),
            ("nodeInterface", json!(self.facts.interface.as_deref().unwrap_or_default())),
            ("nodeName", json!(node.name)),
            ("nodeURLHost", json!(url_host(&node.address.to_string()))),
            ("podCIDR", json!(network.pod_cidr.to_string())),
            ("schedulerImage", image(KubernetesImage::Scheduler)),
            ("schedulerProbeHost", self.probe_host(Component::Scheduler)),
            ("serviceCIDR", json!(network.service_cidr.to_string())),
            ("signingCertificate", signing("ca.crt")),
            ("signingKey", signing("ca.key")),
            ("virtualAddress", json!(cluster.control_plane.virtual_address)),
        ])
    }

    /// Returns where the kubelet probes a component that listens on `bind-address`. A wildcard address cannot be probed: the kubelet
    /// then uses the pod's address.
    fn probe_host(&self, component: Component) -> Value {
        match extra_args(self.cluster, component).get("bind-address").map(String::as_str) {
            None => json!("127.0.0.1"),
            Some("0.0.0.0" | "::") => json!(""),
            Some(address) => json!(address),
        }
    }

    /// Returns the directory of FlexVolume plugins, which every kubelet creates.
    pub(super) fn flex_volume_directory(&self) -> String {
        let args = extra_args(self.cluster, Component::ControllerManager);
        let default = || "/usr/libexec/kubernetes/kubelet-plugins/volume/exec".to_owned();
        args.get("flex-volume-plugin-dir").cloned().unwrap_or_else(default)
    }
}

/// Formats a host as in a URL: with brackets around an IPv6 address.
pub(super) fn url_host(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

struct Probe {
    host: String,
    port: u16,
    scheme: &'static str,
}

/// Returns the first of etcd's `listen-metrics-urls` (kubeadm: `util/staticpod/utils.go`, `GetEtcdProbeEndpoint`), completed with
/// kubeadm's defaults.
fn etcd_probe(args: &BTreeMap<String, String>, localhost: &str) -> Probe {
    let default = Probe { host: localhost.to_owned(), port: 2381, scheme: "HTTP" };
    let Some(urls) = args.get("listen-metrics-urls") else { return default };
    let first = urls.split(',').next().unwrap_or_default();
    let Some((scheme, rest)) = first.split_once("://") else { return default };
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Probe {
        host: if host.is_empty() { default.host } else { host.to_owned() },
        port: port.unwrap_or(default.port),
        scheme: if scheme == "https" { "HTTPS" } else { default.scheme },
    }
}

/// How often flannel looks for kube-proxy's rules, five times per second, before it continues without: other modes have no chain.
const KUBE_PROXY_LOOKS: u32 = 50;

/// Returns the part of flannel's `net-conf.json` that depends on the address family of the pods.
fn flannel_network(network: &Network) -> String {
    let pods = network.pod_cidr;
    match pods.addr() {
        IpAddr::V4(_) => format!("\"Network\": \"{pods}\""),
        IpAddr::V6(_) => format!("\"EnableIPv4\": false, \"EnableIPv6\": true, \"IPv6Network\": \"{pods}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::Fixture, *};

    #[test]
    fn etcds_probe_follows_its_metrics_url() {
        let probe = |url: Option<&str>| {
            let args = url.map(|url| ("listen-metrics-urls".to_owned(), url.to_owned())).into_iter().collect();
            let probe = etcd_probe(&args, "127.0.0.1");
            (probe.host, probe.port, probe.scheme)
        };
        let is = |host: &str, port, scheme| (host.to_owned(), port, scheme);
        assert_eq!(probe(None), is("127.0.0.1", 2381, "HTTP"));
        assert_eq!(probe(Some("https://1.2.3.4:678,https://[::1]:2381")), is("1.2.3.4", 678, "HTTPS"));
        assert_eq!(probe(Some("http://[fd00::1]:1234/metrics")), is("fd00::1", 1234, "HTTP"));
        assert_eq!(probe(Some("https://[fd00::1]")), is("fd00::1", 2381, "HTTPS"));
        assert_eq!(probe(Some("http://:2381")), is("127.0.0.1", 2381, "HTTP"));
        assert_eq!(probe(Some("nonsense")), is("127.0.0.1", 2381, "HTTP"));
    }

    #[test]
    fn flannel_supports_both_address_families() {
        let mut network = Fixture::new().cluster.network;
        assert_eq!(flannel_network(&network), "\"Network\": \"10.244.0.0/16\"");
        network.pod_cidr = "fd00::/56".parse().unwrap();
        assert!(flannel_network(&network).contains("\"IPv6Network\": \"fd00::/56\""));
    }
}
