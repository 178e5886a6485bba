//! The objects of a new cluster, without addons, for server-side apply.

use super::{Manifest, RenderError, Renderer, kubeadm_config, kubeconfig, kubelet};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::{Cluster, Secret};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The group of a worker's bootstrap token (kubeadm: `NodeBootstrapTokenAuthGroup`).
pub const NODE_TOKEN_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

/// The group of workers' tokens whose requests nodeinit's agent approves.
pub const WORKER_TOKEN_GROUP: &str = "system:bootstrappers:nodeinit:worker";

/// Returns the group of a worker's token.
#[must_use]
pub fn worker_token_group(cluster: &Cluster) -> &'static str {
    if cluster.agent.enabled { WORKER_TOKEN_GROUP } else { NODE_TOKEN_GROUP }
}

/// Renders ConfigMaps and RBAC in the order in which they must be applied: namespaces first, then `kubeadm:cluster-admins`,
/// without which `admin.conf` has no rights (apply it as super-admin). `ca` is the cluster CA's certificate as PEM, and
/// `etcd_token` etcd's `--initial-cluster-token`.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn bootstrap(renderer: &Renderer<'_>, ca: &str, etcd_token: Option<&str>) -> Result<Vec<Value>, RenderError> {
    let mut objects = renderer.objects(
        Manifest::Bootstrap,
        &[
            ("clusterConfiguration", &kubeadm_config::cluster_configuration(renderer, etcd_token)?),
            ("clusterInfo", &kubeconfig::cluster_info(renderer, ca)?),
            ("kubeletConfiguration", &kubelet::shared_config(renderer)?),
        ],
    )?;
    if renderer.cluster.agent.enabled {
        objects.extend(renderer.objects(Manifest::Agent, &[])?);
    }
    Ok(objects)
}

/// A bootstrap token, `id.secret`.
#[derive(Clone, Debug)]
pub struct BootstrapToken {
    /// Six characters of `a-z0-9`; not secret.
    pub id: String,
    /// Sixteen characters of `a-z0-9`.
    pub secret: Secret<String>,
    /// A description for humans; no program reads it.
    pub description: String,
    /// When it expires, RFC 3339 in UTC; `None`: never.
    pub expiration: Option<String>,
    /// The only worker that may join with it; `None`: any machine.
    pub worker: Option<String>,
    /// The group of its owner: [`NODE_TOKEN_GROUP`], or for a worker [`worker_token_group`].
    pub group: &'static str,
}

/// Marks a worker's token: the annotation contains the worker's name, the label contains [`worker_label`], because a name may be
/// too long for a label.
pub const WORKER_LABEL: &str = "nodeinit.dev/worker";

/// Returns the value of the label [`WORKER_LABEL`] for a worker.
#[must_use]
pub fn worker_label(worker: &str) -> String {
    digest(&SHA256, worker.as_bytes()).as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Renders the Secret of a token that lets machines join and that signs `cluster-info` (kubeadm:
/// `apis/bootstraptoken/v1/utils.go`).
#[must_use]
pub fn bootstrap_token(token: &BootstrapToken) -> Value {
    let mut data = Map::new();
    let mut put = |key: &str, value: &str| data.insert(key.to_owned(), json!(STANDARD.encode(value)));
    put("token-id", &token.id);
    put("token-secret", token.secret.expose());
    put("description", &token.description);
    // cluster-info contains a signature by each such token, and a ConfigMap may have 1 MiB: thousands would not fit. Workers of
    // nodeinit know the CA and need no signature.
    if token.worker.is_none() {
        put("usage-bootstrap-signing", "true");
    }
    put("usage-bootstrap-authentication", "true");
    put("auth-extra-groups", token.group);
    if let Some(expiration) = &token.expiration {
        put("expiration", expiration);
    }
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": format!("bootstrap-token-{}", token.id), "namespace": "kube-system"},
        "data": data,
    });
    if let Some(worker) = &token.worker {
        object["metadata"]["labels"] = json!({WORKER_LABEL: worker_label(worker)});
        object["metadata"]["annotations"] = json!({WORKER_LABEL: worker});
    }
    object
}

/// A node as the API has it.
#[derive(Clone, Copy, Debug)]
pub struct RegisteredNode<'a> {
    /// Its version in the API.
    pub resource_version: &'a str,
    /// Its labels.
    pub labels: &'a BTreeMap<String, String>,
    /// Its taints, with all their fields.
    pub taints: &'a [Value],
}

/// The JSON merge patch that gives the node its labels and taints, or `None` where `current` has them all. The taints that others set stay.
#[must_use]
pub fn node_patch(renderer: &Renderer<'_>, current: RegisteredNode<'_>) -> Option<Value> {
    let labels: Map<String, Value> = labels(renderer)
        .into_iter()
        .filter(|(key, value)| current.labels.get(key).map(String::as_str) != value.as_str())
        .collect();
    let present = current.taints;
    let is = |taint: &Value, field: &str, text: &str| taint[field].as_str().unwrap_or_default() == text;
    let missing: Vec<Value> = kubelet::taints(renderer)
        .iter()
        .filter(|t| {
            !present.iter().any(|p| is(p, "key", &t.key) && is(p, "value", &t.value) && is(p, "effect", &t.effect))
        })
        .map(|t| match t.value.is_empty() {
            true => json!({"key": t.key, "effect": t.effect}),
            false => json!({"key": t.key, "value": t.value, "effect": t.effect}),
        })
        .collect();
    let mut patch = json!({});
    if !labels.is_empty() {
        patch["metadata"]["labels"] = Value::Object(labels);
    }
    if !missing.is_empty() {
        patch["spec"]["taints"] = missing.into_iter().chain(present.iter().cloned()).collect();
        // The patch replaces the complete list. The API server compares the version, so that a taint that is added
        // meanwhile is not lost.
        patch["metadata"]["resourceVersion"] = json!(current.resource_version);
    }
    (patch != json!({})).then_some(patch)
}

/// Returns kubeadm's labels of a master (`phases/markcontrolplane`) and the machine's own.
fn labels(renderer: &Renderer<'_>) -> Map<String, Value> {
    let mut labels = Map::new();
    if renderer.node.role.is_master() {
        labels.insert("node-role.kubernetes.io/control-plane".into(), json!(""));
        labels.insert("node.kubernetes.io/exclude-from-external-load-balancers".into(), json!(""));
    }
    labels.extend(renderer.node.machine.labels.iter().map(|(key, value)| (key.clone(), json!(value))));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::*;
    use nodeinit_config::cluster::Taint;

    #[test]
    fn objects_match_their_golden_file() {
        let fixture = Fixture::new();
        golden("bootstrap.yaml", &stream(&bootstrap(&fixture.renderer(), "CA", None).unwrap()));
        golden("agent.yaml", &stream(&fixture.renderer().objects(Manifest::Agent, &[]).unwrap()));
        let token = BootstrapToken {
            id: "abcdef".into(),
            secret: Secret::new("0123456789abcdef".into()),
            description: "for w1".into(),
            expiration: Some("2026-01-01T00:00:00Z".into()),
            worker: None,
            group: NODE_TOKEN_GROUP,
        };
        golden("bootstrap-token.yaml", &stream(&[bootstrap_token(&token)]));
    }

    #[test]
    fn namespaces_come_before_their_objects() {
        let fixture = Fixture::new();
        let objects = bootstrap(&fixture.renderer(), "CA", None).unwrap();
        let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[..3], ["Namespace", "Namespace", "ClusterRoleBinding"]);
        assert!(!kinds[2..].contains(&"Namespace"));
    }

    #[test]
    fn a_node_is_patched_only_where_it_differs_and_keeps_others_taints() {
        let mut fixture = Fixture::new();
        fixture.node.machine.labels.insert("zone".into(), "a".into());
        fixture.node.machine.taints =
            vec![Taint { key: "dedicated".into(), value: "db".into(), effect: "NoExecute".into() }];
        let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let mut labels = BTreeMap::from(
            [("zone", "b"), ("kubernetes.io/os", "linux")].map(|(key, value)| (key.into(), value.into())),
        );
        let taints =
            [not_ready.clone(), json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"})];
        let current = RegisteredNode { resource_version: "7", labels: &labels, taints: &taints };
        let patch = node_patch(&fixture.renderer(), current).unwrap();
        assert_eq!(
            patch,
            json!({
                "metadata": {
                    "resourceVersion": "7",
                    "labels": {
                        "node-role.kubernetes.io/control-plane": "",
                        "node.kubernetes.io/exclude-from-external-load-balancers": "",
                        "zone": "a",
                    },
                },
                "spec": {"taints": [
                    {"key": "dedicated", "value": "db", "effect": "NoExecute"},
                    not_ready,
                    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
                ]},
            })
        );
        let added: BTreeMap<String, String> = serde_json::from_value(patch["metadata"]["labels"].clone()).unwrap();
        labels.extend(added);
        let taints = patch["spec"]["taints"].as_array().unwrap();
        let patched = RegisteredNode { resource_version: "8", labels: &labels, taints };
        assert_eq!(node_patch(&fixture.renderer(), patched), None);
    }
}
