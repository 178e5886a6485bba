//! The kubelet's configuration and flags.

use super::{Manifest, RenderError, Renderer, yaml};
use nodeinit_config::{
    Cluster,
    cluster::{KubernetesImage, Role, Taint},
    releases::Program,
};
use serde_json::{Map, Value, json};

/// containerd's socket, unless `kubelet.config` names another.
pub const CONTAINERD: &str = "unix:///run/containerd/containerd.sock";

/// The resolver file of systemd-resolved for processes that cannot reach its stub.
const RESOLVED: &str = "/run/systemd/resolve/resolv.conf";

/// Keeps the kubelet from deleting the pause image. Since Kubernetes 1.35, containerd tells the kubelet which image that is.
const PAUSE_FLAG: &str = "pod-infra-container-image";

/// Keeps pods off masters.
const CONTROL_PLANE_TAINT: &str = "node-role.kubernetes.io/control-plane";

/// Renders [`super::paths::KUBELET_CONFIG`]: the cluster's configuration with this machine's settings.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn config(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    let mut config = renderer.kubelet_config()?;
    config.entry("containerRuntimeEndpoint").or_insert_with(|| json!(CONTAINERD));
    if renderer.facts.systemd_resolved {
        config.entry("resolvConf").or_insert_with(|| json!(RESOLVED));
    }
    yaml::text("the kubelet's configuration", &Value::Object(config))
}

/// Renders the text of the ConfigMap `kubelet-config`: the settings that all machines share.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn shared_config(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    yaml::text("kubelet-config", &Value::Object(renderer.kubelet_config()?))
}

/// Renders [`super::paths::KUBELET_INSTANCE_CONFIG`] (kubeadm's feature `NodeLocalCRISocket`, always on since v1.36).
#[must_use]
pub fn instance_config(renderer: &Renderer<'_>) -> String {
    format!("containerRuntimeEndpoint: {:?}\n", runtime_endpoint(renderer))
}

/// Returns the container runtime's socket, as a `unix://` address.
#[must_use]
pub fn runtime_endpoint<'a>(renderer: &Renderer<'a>) -> &'a str {
    renderer.cluster.kubelet.get("containerRuntimeEndpoint").and_then(Value::as_str).unwrap_or(CONTAINERD)
}

/// Renders [`super::paths::KUBELET_FLAGS`]. The kubelet registers its node with the taints, so that no pod is scheduled to a
/// master before it is tainted.
#[must_use]
pub fn flags(renderer: &Renderer<'_>) -> String {
    let mut flags = Vec::new();
    if renderer.node.name != renderer.facts.host_name {
        flags.push(format!("--hostname-override={}", renderer.node.name));
    }
    if renderer.cluster.release.lost(Program::Kubelet, PAUSE_FLAG).is_none() {
        flags.push(format!("--{PAUSE_FLAG}={}", renderer.cluster.image(KubernetesImage::Pause)));
    }
    let taints = taints(renderer);
    if !taints.is_empty() {
        let taints: Vec<String> = taints.iter().map(|t| format!("{}={}:{}", t.key, t.value, t.effect)).collect();
        flags.push(format!("--register-with-taints={}", taints.join(",")));
    }
    // By default, the kubelet uses the address of its host name or of the default route, but the agent and the other machines
    // know this one. A worker without a configured address keeps the kubelet's choice: nothing else depends on it.
    if renderer.node.role.is_master() || renderer.node.machine.address.is_some() {
        flags.push(format!("--node-ip={}", renderer.node.address));
    }
    // Only its kubelet labels a worker; nodeinit labels a master.
    let labels = &renderer.node.machine.labels;
    if renderer.node.role == Role::Worker && !labels.is_empty() {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        flags.push(format!("--node-labels={}", labels.join(",")));
    }
    format!("KUBELET_KUBEADM_ARGS=\"{}\"\n", flags.join(" "))
}

/// Whether the kubelets of this cluster request their serving certificates from it: the agent approves them, and `kubelet.config` sets
/// neither another certificate nor `serverTLSBootstrap: false`. API servers and metrics-server verify kubelets only then.
#[must_use]
pub fn requests_serving_certificate(cluster: &Cluster) -> bool {
    let own = cluster.kubelet.get("tlsCertFile").and_then(Value::as_str).unwrap_or_default();
    let requests = cluster.kubelet.get("serverTLSBootstrap").and_then(Value::as_bool);
    cluster.agent.enabled && requests.unwrap_or(own.is_empty())
}

/// Returns the node's taints: the control plane's on a master that runs no ordinary pods, then its own.
pub(super) fn taints(renderer: &Renderer<'_>) -> Vec<Taint> {
    let node = renderer.node;
    let mut taints = Vec::new();
    if node.role.is_master() && !renderer.cluster.control_plane.schedulable {
        taints.push(Taint { key: CONTROL_PLANE_TAINT.into(), value: String::new(), effect: "NoSchedule".into() });
    }
    taints.extend(node.machine.taints.iter().cloned());
    taints
}

impl Renderer<'_> {
    fn kubelet_config(&self) -> Result<Map<String, Value>, RenderError> {
        let mut config = self.merged(Manifest::Kubelet, &self.cluster.kubelet)?;
        if requests_serving_certificate(self.cluster) {
            config.entry("serverTLSBootstrap").or_insert(Value::Bool(true));
        }
        Ok(config)
    }

    /// Merges the user's configuration into a manifest.
    pub(super) fn merged(
        &self,
        manifest: Manifest,
        over: &Map<String, Value>,
    ) -> Result<Map<String, Value>, RenderError> {
        let Value::Object(mut config) = self.object(manifest, &[])? else {
            return Err(RenderError::Shape { manifest: manifest.to_string(), expected: "a mapping" });
        };
        yaml::merge(&mut config, over);
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::*;
    use nodeinit_config::releases;

    #[test]
    fn the_configuration_matches_its_golden_file() {
        for release in releases::embedded() {
            let directory = release.name();
            let mut fixture = Fixture::of(release);
            fixture.facts.systemd_resolved = true;
            golden(&format!("{directory}/kubelet-config.yaml"), &config(&fixture.renderer()).unwrap());
            golden(&format!("{directory}/kubeadm-flags.env"), &flags(&fixture.renderer()));
        }
        golden("instance-config.yaml", &instance_config(&Fixture::new().renderer()));
    }

    #[test]
    fn the_users_configuration_takes_precedence() {
        let mut fixture = Fixture::new();
        let over = json!({
            "cgroupDriver": "cgroupfs",
            "authentication": {"webhook": {"cacheTTL": "1m"}},
            "containerRuntimeEndpoint": "unix:///run/crio/crio.sock",
            "tlsMinVersion": null,
        });
        fixture.cluster.kubelet = over.as_object().unwrap().clone();
        let text = config(&fixture.renderer()).unwrap();
        for line in ["cgroupDriver: cgroupfs", "    cacheTTL: 1m", "    enabled: true", "unix:///run/crio/crio.sock"] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(!text.contains("tlsMinVersion"), "{text}");
        assert_eq!(instance_config(&fixture.renderer()), "containerRuntimeEndpoint: \"unix:///run/crio/crio.sock\"\n");
    }

    #[test]
    fn the_shared_configuration_contains_nothing_of_this_machine() {
        let mut fixture = Fixture::new();
        fixture.facts.systemd_resolved = true;
        let text = shared_config(&fixture.renderer()).unwrap();
        assert!(!text.contains("containerRuntimeEndpoint") && !text.contains("resolvConf"), "{text}");
    }

    #[test]
    fn the_flags_of_a_worker_contain_its_labels() {
        let mut fixture = Fixture::new();
        fixture.node.role = Role::Worker;
        fixture.node.machine.address = None;
        fixture.node.machine.labels = [("rack".to_owned(), "07".to_owned()), ("zone".to_owned(), String::new())].into();
        let text = flags(&fixture.renderer());
        assert_eq!(text, "KUBELET_KUBEADM_ARGS=\"--node-labels=rack=07,zone=\"\n");
    }

    #[test]
    fn the_kubelet_accepts_every_flag() {
        for release in releases::embedded() {
            let text = flags(&Fixture::of(release.clone()).renderer());
            for (flag, _) in release.removed(Program::Kubelet) {
                assert!(!text.contains(&format!("--{flag}=")), "{}: {text}", release.name());
            }
        }
    }

    #[test]
    fn flags_contain_name_and_taints() {
        let mut fixture = Fixture::of(releases::embedded().remove(0));
        fixture.facts.host_name = "m1.novalocal".into();
        fixture.cluster.control_plane.schedulable = true;
        fixture.node.machine.taints =
            vec![Taint { key: "dedicated".into(), value: "db".into(), effect: "NoExecute".into() }];
        assert_eq!(
            flags(&fixture.renderer()),
            "KUBELET_KUBEADM_ARGS=\"--hostname-override=m1 --pod-infra-container-image=registry.k8s.io/pause:3.10.1 \
             --register-with-taints=dedicated=db:NoExecute --node-ip=10.77.0.11\"\n"
        );
    }

    #[test]
    fn the_node_has_the_address_that_the_others_know() {
        let mut fixture = Fixture::new();
        let mut has_address = |role, address: Option<&str>| {
            fixture.node.role = role;
            fixture.node.machine.address = address.map(|address| address.parse().unwrap());
            fixture.node.address = address.unwrap_or("fd00::21").parse().unwrap();
            let text = flags(&fixture.renderer());
            text.split(['"', ' ']).find_map(|flag| flag.strip_prefix("--node-ip=").map(str::to_owned))
        };
        assert_eq!(has_address(Role::Worker, Some("10.0.0.21")).as_deref(), Some("10.0.0.21"));
        assert_eq!(has_address(Role::Worker, None), None, "the kubelet's own choice");
        assert_eq!(has_address(Role::Master, Some("fd00::11")).as_deref(), Some("fd00::11"));
        assert_eq!(has_address(Role::FirstMaster, None).as_deref(), Some("fd00::21"), "its certificates have it");
    }

    #[test]
    fn kubelets_with_another_certificate_are_not_verified() {
        let of = |agent, config: Value| {
            let mut fixture = Fixture::new();
            fixture.cluster.agent.enabled = agent;
            fixture.cluster.kubelet = config.as_object().unwrap().clone();
            let text = shared_config(&fixture.renderer()).unwrap();
            (requests_serving_certificate(&fixture.cluster), text.contains("serverTLSBootstrap: true"))
        };
        for config in
            [json!({}), json!({"serverTLSBootstrap": true}), json!({"serverTLSBootstrap": null, "tlsCertFile": ""})]
        {
            assert_eq!(of(true, config.clone()), (true, true), "{config}");
        }
        for config in [json!({"serverTLSBootstrap": false}), json!({"tlsCertFile": "/etc/kubelet.crt"})] {
            assert_eq!(of(true, config.clone()), (false, false), "{config}");
        }
        assert_eq!(of(false, json!({})), (false, false));
    }
}
