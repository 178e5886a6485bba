//! `ClusterConfiguration` (kubeadm.k8s.io/v1beta4): what `kubeadm upgrade` and `kubeadm join` start from.

use super::{
    RenderError, Renderer,
    components::{self, Component},
    paths, yaml,
};
use serde_json::{Map, Value, json};

/// The text for the ConfigMap `kubeadm-config`.
///
/// # Errors
/// [`RenderError::Emit`].
pub fn cluster_configuration(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    let cluster = renderer.cluster;
    let mut api_server = renderer.component(Component::ApiServer);
    // The endpoint is in every certificate anyway; where it is a name, the address behind it must be said.
    let named = cluster.control_plane.endpoint.as_ref().and(cluster.control_plane.virtual_address);
    let mut sans = cluster.control_plane.cert_sans.clone();
    sans.extend(named.map(|address| address.to_string()));
    if !sans.is_empty() {
        api_server.insert("certSANs".into(), json!(sans));
    }
    let mut etcd = renderer.component(Component::Etcd);
    etcd.insert("dataDir".into(), json!(cluster.etcd.data_directory));
    let addon = |enabled: bool| if enabled { json!({}) } else { json!({"disabled": true}) };
    let configuration = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
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

impl Renderer<'_> {
    fn component(&self, component: Component) -> Map<String, Value> {
        let mut fields = Map::new();
        let args = components::extra_args(self.cluster, component);
        if !args.is_empty() {
            let args = args.iter().map(|(name, value)| json!({"name": name, "value": value}));
            fields.insert("extraArgs".into(), args.collect());
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

    #[test]
    fn is_as_it_was() {
        let mut fixture = Fixture::new();
        fixture.cluster.control_plane.cert_sans = vec!["k8s.example.org".into(), "10.1.2.3".into()];
        golden("kubeadm-config.yaml", &cluster_configuration(&fixture.renderer()).unwrap());
    }

    #[test]
    fn addons_that_are_off_are_said_to_be() {
        let mut fixture = Fixture::new();
        fixture.cluster.addons.coredns = false;
        let text = cluster_configuration(&fixture.renderer()).unwrap();
        assert!(text.contains("dns:\n  disabled: true\n") && text.contains("proxy: {}\n"), "{text}");
    }
}
