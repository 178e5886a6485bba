//! What is read of the API's objects. Fields that nobody uses are not declared, so that long lists need little memory.
//!
//! Objects that nodeinit applies stay JSON: they may be of any kind, and are compared as a whole.
//!
//! Source: `k8s.io/api` and `k8s.io/apimachinery/pkg/apis/meta/v1`.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What the API answers where it refuses.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    /// The HTTP status.
    pub(super) code: u16,
    /// Why.
    pub(super) message: Option<String>,
}

/// A list, or a part of one.
#[derive(Clone, Debug, Deserialize)]
pub struct List<O> {
    /// How it goes on.
    #[serde(default)]
    pub metadata: ListMetadata,
    /// Its objects.
    pub items: Vec<O>,
}

/// How a list goes on.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ListMetadata {
    /// Asks for the next part; empty: there is none.
    #[serde(default, rename = "continue")]
    pub next: String,
}

/// What all objects have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace; empty for objects that have none.
    pub namespace: String,
    /// Changes with each change of the object.
    pub resource_version: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
    /// Since when it is being deleted.
    pub deletion_timestamp: Option<String>,
    /// The objects that it belongs to.
    pub owner_references: Vec<Owner>,
}

impl Metadata {
    /// Returns the namespace and the name.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// An object to which another one belongs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether it recreates what belongs to it.
    pub controller: bool,
}

/// A statement about an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// What it is about, for instance `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

fn ready(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.kind == "Ready")
}

/// A machine of the cluster. Its kubelet may fill the status as it likes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its name and labels.
    pub metadata: Metadata,
    /// What is wanted of it.
    pub spec: NodeSpec,
    /// What its kubelet reports.
    pub status: NodeStatus,
}

/// What is wanted of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Whole, because a change of one writes all of them again.
    pub taints: Vec<Value>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
}

/// What a kubelet reports of its node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// Among them `Ready`.
    pub conditions: Vec<Condition>,
    /// Its addresses.
    pub addresses: Vec<NodeAddress>,
    /// Its machine and versions.
    pub node_info: NodeInfo,
    /// Where the kubelet serves.
    pub daemon_endpoints: DaemonEndpoints,
}

/// An address of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// For instance `InternalIP`.
    #[serde(rename = "type")]
    pub kind: String,
    /// An IP address or a name.
    pub address: String,
}

/// A node's machine and versions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeInfo {
    /// `/etc/machine-id`; empty: no kubelet has reported yet.
    #[serde(rename = "machineID")]
    pub machine_id: String,
    /// The firmware's UUID.
    #[serde(rename = "systemUUID")]
    pub system_uuid: String,
    /// The kubelet's version.
    #[serde(rename = "kubeletVersion")]
    pub kubelet_version: String,
}

/// Where a node's programs serve.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonEndpoints {
    /// The kubelet's.
    pub kubelet_endpoint: DaemonEndpoint,
}

/// Where a program serves.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DaemonEndpoint {
    /// Its port; the API does not limit it to 16 bits.
    #[serde(rename = "Port")]
    pub port: Option<i32>,
}

impl Node {
    /// Whether it says that it is Ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        ready(&self.status.conditions).is_some_and(|condition| condition.status == "True")
    }

    /// Why it is not Ready, in its own words; `None` where it is.
    #[must_use]
    pub fn not_ready(&self) -> Option<String> {
        if self.is_ready() {
            return None;
        }
        let message = ready(&self.status.conditions).map(|condition| condition.message.as_str());
        let message = message.filter(|text| !text.is_empty()).unwrap_or("its kubelet has not reported yet");
        Some(format!("the node is not Ready: {message}"))
    }
}

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Its name and owners.
    pub metadata: Metadata,
    /// What it should be.
    pub spec: PodSpec,
    /// What its kubelet reports.
    pub status: PodStatus,
}

/// What a pod should be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodSpec {
    /// Its volumes.
    pub volumes: Vec<Volume>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// Data that ends with the pod; `None`: a volume of another kind.
    pub empty_dir: Option<IgnoredAny>,
}

/// A limit to how many pods may be evicted at the same time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudget {
    /// Its name.
    pub metadata: Metadata,
    /// The pods that it protects.
    pub spec: PodDisruptionBudgetSpec,
    /// What its controller reports.
    pub status: PodDisruptionBudgetStatus,
}

/// The pods that a budget protects.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodDisruptionBudgetSpec {
    /// Selects pods of its namespace; `None` selects none.
    pub selector: Option<LabelSelector>,
    /// `AlwaysAllow`: it does not protect running pods that are not Ready.
    pub unhealthy_pod_eviction_policy: String,
}

/// What the controller reports of a budget.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodDisruptionBudgetStatus {
    /// How many healthy pods it requires.
    pub desired_healthy: i64,
    /// How many pods it protects.
    pub expected_pods: i64,
}

impl PodDisruptionBudget {
    /// Whether it permits no eviction of a Ready pod, even if all its pods are healthy.
    #[must_use]
    pub fn is_impossible(&self) -> bool {
        self.status.expected_pods > 0 && self.status.desired_healthy >= self.status.expected_pods
    }

    /// Whether it prevents the eviction of the pod if it [is impossible](Self::is_impossible).
    #[must_use]
    pub fn blocks(&self, pod: &Pod) -> bool {
        let exempt = self.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" && !pod.is_ready();
        self.selects(&pod.metadata) && !exempt && !pod.ignores_budgets()
    }

    /// Whether it selects the pod.
    #[must_use]
    pub fn selects(&self, pod: &Metadata) -> bool {
        let selector = self.spec.selector.as_ref();
        pod.namespace == self.metadata.namespace && selector.is_some_and(|selector| selector.matches(&pod.labels))
    }
}

/// Selects objects by their labels. Source: `LabelSelectorAsSelector` in `k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that an object must have.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    pub match_expressions: Vec<LabelRequirement>,
}

/// A requirement of a label selector.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LabelRequirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values of `In` and `NotIn`.
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether it selects an object with these labels. An empty selector selects all.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let meets = |requirement: &LabelRequirement| {
            let value = labels.get(&requirement.key);
            match requirement.operator.as_str() {
                "In" => value.is_some_and(|value| requirement.values.contains(value)),
                "NotIn" => value.is_none_or(|value| !requirement.values.contains(value)),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        };
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(meets)
    }
}

/// What a kubelet reports of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// For instance `Running`.
    pub phase: String,
    /// Among them `Ready`.
    pub conditions: Vec<Condition>,
    /// Its containers.
    pub container_statuses: Vec<ContainerStatus>,
    /// The containers that run before those.
    pub init_container_statuses: Vec<ContainerStatus>,
}

/// What a kubelet reports of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerStatus {
    /// The runtime and its id, such as `containerd://0123`.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// `None`: not reported.
    pub state: Option<ContainerState>,
}

/// What a container does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It has not been started.
    pub waiting: Option<IgnoredAny>,
}

impl Pod {
    /// Whether it says that it is Ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        ready(&self.status.conditions).is_some_and(|condition| condition.status == "True")
    }

    /// Whether the API evicts it without regard to budgets. Source: `canIgnorePDB` in Kubernetes'
    /// `pkg/registry/core/pod/storage/eviction.go`.
    #[must_use]
    pub fn ignores_budgets(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
            || ["Pending", "Succeeded", "Failed"].contains(&self.status.phase.as_str())
    }

    /// Whether it is a machine's own, which the API only mirrors.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.metadata.annotations.contains_key("kubernetes.io/config.mirror")
    }
}

/// Text by key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConfigMap {
    /// Its name and labels.
    pub metadata: Metadata,
    /// The text.
    pub data: BTreeMap<String, String>,
}

/// A CertificateSigningRequest. The requester controls all fields that are not declared here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CertificateRequest {
    /// Its name and version.
    pub metadata: Metadata,
    /// What is requested.
    pub spec: CertificateRequestSpec,
    /// What has become of it.
    pub status: CertificateRequestStatus,
}

/// What is requested, and by whom.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestSpec {
    /// Who requests it.
    pub username: String,
    /// Who is to sign it.
    pub signer_name: String,
    /// The groups of the requester.
    pub groups: Vec<String>,
    /// What the certificate is for.
    pub usages: BTreeSet<String>,
    /// The request in PEM, in base64.
    pub request: String,
}

/// What has become of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CertificateRequestStatus {
    /// Among them `Approved`, `Denied` and `Failed`.
    pub conditions: Vec<Condition>,
    /// The certificate in PEM, in base64; empty: not signed yet.
    pub certificate: String,
}
