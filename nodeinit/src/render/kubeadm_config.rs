//! kubeadm's `ClusterConfiguration`, which `kubeadm upgrade` and `kubeadm join` read.

use super::{RenderError, Renderer, components, paths, yaml};
use nodeinit_config::Component;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Renders the text of the ConfigMap `kubeadm-config`; `etcd_token` is etcd's `--initial-cluster-token`, if it has one.
///
/// # Errors
/// [`RenderError::Emit`].
pub fn cluster_configuration(renderer: &Renderer<'_>, etcd_token: Option<&str>) -> Result<String, RenderError> {
    let cluster = renderer.cluster;
    let mut api_server = renderer.component(Component::ApiServer);
    // Every certificate contains the endpoint; if it is a name, the virtual address must be added.
    let named = cluster.control_plane.endpoint.as_ref().and(cluster.control_plane.virtual_address);
    let mut sans = cluster.control_plane.cert_sans.clone();
    sans.extend(named.map(|address| address.to_string()));
    if !sans.is_empty() {
        api_server.insert("certSANs".into(), json!(sans));
    }
    let mut etcd = Map::new();
    etcd.insert("extraArgs".into(), args(&components::etcd_args(cluster, etcd_token)));
    etcd.insert("dataDir".into(), json!(cluster.etcd.data_directory));
    let addon = |enabled: bool| if enabled { json!({}) } else { json!({"disabled": true}) };
    let configuration = json!({
        "apiVersion": cluster.release.kubeadm_api,
        "kind": "ClusterConfiguration",
        "apiServer": api_server,
        "caCertificateValidityPeriod": "87600h0m0s",
        "certificateValidityPeriod": "8760h0m0s",
        "certificatesDir": paths::PKI,
        "clusterName": cluster.name,
        "controlPlaneEndpoint": cluster.endpoint(renderer.node.address).to_string(),
        "controllerManager": renderer.component(Component::ControllerManager),
        "dns": addon(cluster.addons.coredns),
        "encryptionAlgorithm": "ECDSA-P256",
        "etcd": {"local": etcd},
        "imageRepository": cluster.image_repository,
        "kubernetesVersion": cluster.version.to_string(),
        "networking": {
            "dnsDomain": cluster.network.dns_domain,
            "podSubnet": cluster.network.pod_cidr.to_string(),
            "serviceSubnet": cluster.network.service_cidr.to_string(),
        },
        "proxy": addon(cluster.addons.kube_proxy),
        "scheduler": renderer.component(Component::Scheduler),
    });
    yaml::text("kubeadm-config", &configuration)
}

/// Returns etcd's `--initial-cluster-token` from the text of a ConfigMap `kubeadm-config`.
#[must_use]
pub fn etcd_token(configuration: &str) -> Option<String> {
    let configuration = nodeinit_config::yaml::document(configuration).ok()?;
    let args = configuration.pointer("/etcd/local/extraArgs")?.as_array()?;
    let token = args.iter().find(|arg| arg["name"] == components::TOKEN_FLAG)?;
    token["value"].as_str().map(str::to_owned)
}

/// Whether the API servers of a cluster verify kubelets, according to its ConfigMap `kubeadm-config`.
#[must_use]
pub fn verifies_kubelets(configuration: &str) -> bool {
    let configuration = nodeinit_config::yaml::document(configuration).unwrap_or_default();
    let args = configuration.pointer("/apiServer/extraArgs").and_then(Value::as_array);
    args.into_iter().flatten().any(|arg| arg["name"] == components::KUBELET_CA_FLAG)
}

fn args(args: &BTreeMap<String, String>) -> Value {
    args.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

impl Renderer<'_> {
    fn component(&self, component: Component) -> Map<String, Value> {
        let mut fields = Map::new();
        let args = self.extra_args(component);
        if !args.is_empty() {
            fields.insert("extraArgs".into(), self::args(&args));
        }
        let volumes = components::extra_volumes(self.cluster, component);
        if !volumes.is_empty() {
            let volumes = volumes.iter().map(|volume| {
                let mut fields = json!({
                    "name": volume.name,
                    "hostPath": volume.path,
                    "mountPath": volume.path,
                    "pathType": volume.kind,
                });
                if volume.read_only {
                    fields["readOnly"] = json!(true);
                }
                fields
            });
            fields.insert("extraVolumes".into(), volumes.collect());
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::*;

    const TOKEN: &str = "nodeinit-0123456789abcdef0123456789abcdef";

    #[test]
    fn the_token_of_etcd_can_be_read_back() {
        let fixture = Fixture::new();
        let of = |token| etcd_token(&cluster_configuration(&fixture.renderer(), token).unwrap());
        assert_eq!(of(Some(TOKEN)).as_deref(), Some(TOKEN));
        assert_eq!(of(None), None, "a cluster of an earlier version");
        assert_eq!(etcd_token("etcd: {external: {}}"), None);
        assert_eq!(etcd_token("{"), None);
    }

    #[test]
    fn the_configuration_matches_its_golden_file() {
        for release in nodeinit_config::releases::embedded() {
            let name = format!("{}/kubeadm-config.yaml", release.name());
            let mut fixture = Fixture::of(release);
            fixture.cluster.control_plane.cert_sans = vec!["k8s.example.org".into(), "10.1.2.3".into()];
            golden(&name, &cluster_configuration(&fixture.renderer(), Some(TOKEN)).unwrap());
        }
    }

    #[test]
    fn verification_of_kubelets_can_be_read_back() {
        let mut fixture = Fixture::new();
        let of = |fixture: &Fixture| verifies_kubelets(&cluster_configuration(&fixture.renderer(), None).unwrap());
        assert!(of(&fixture));
        fixture.cluster.agent.enabled = false;
        assert!(!of(&fixture));
        assert!(!verifies_kubelets("apiServer: {}") && !verifies_kubelets("{"));
    }

    #[test]
    fn disabled_addons_are_marked() {
        let mut fixture = Fixture::new();
        fixture.cluster.addons.coredns = false;
        let text = cluster_configuration(&fixture.renderer(), None).unwrap();
        assert!(text.contains("dns:\n  disabled: true\n") && text.contains("proxy: {}\n"), "{text}");
    }
}
