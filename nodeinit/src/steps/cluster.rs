//! What the cluster itself holds: objects applied to its API.

use crate::{
    api::kube::{ApiError, KubeClient, local_api},
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        wait::Wait,
    },
    host::processes,
    render::{self, kubeconfig::User},
    steps::{kubelet, static_pods},
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use nodeinit_config::cluster::Cni;
use serde_json::Value;
use std::{net::IpAddr, ops::ControlFlow, path::Path, time::Duration};

/// How many requests are under way at once: enough to keep a starting API server busy.
const AT_ONCE: usize = 8;

/// The client of this master's own API server, as super-admin: `kubeadm:cluster-admins` may not be bound yet.
///
/// # Errors
/// Where there is no `super-admin.conf` yet, or it is damaged.
pub fn client(cx: &Context) -> Result<&KubeClient, StepError> {
    if let Some(client) = cx.api.get() {
        return Ok(client);
    }
    let path = Path::new(render::paths::KUBERNETES).join(User::SuperAdmin.file_name());
    let Some(text) = cx.files.read_text(&path)? else {
        return Err(StepError::new(format!("{} is missing", path.display())).hint("run `nodeinit up`: it makes it"));
    };
    let client = KubeClient::from_kubeconfig(&text, local_api(cx.node.address))
        .map_err(|e| StepError::caused(format!("cannot use {}", path.display()), e))?;
    Ok(cx.api.get_or_init(|| client))
}

/// Whether the API server is ready; else what it lacks.
pub(super) async fn ready(cx: &Context) -> ControlFlow<(), String> {
    let client = match client(cx) {
        Ok(client) => client,
        Err(e) => return ControlFlow::Continue(e.to_string()),
    };
    match client.health("/readyz").await {
        Ok((status, _)) if status.is_success() => ControlFlow::Break(()),
        Ok((status, text)) => {
            let lacking: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("[-]")).collect();
            ControlFlow::Continue(format!("{status}: {}", lacking.join(", ")))
        }
        Err(e) => ControlFlow::Continue(e.to_string()),
    }
}

/// One look at another machine's API may take this long: nobody answers for an address that nobody holds.
const LOOK_LIMIT: Duration = Duration::from_secs(1);

/// Whether the API at another machine's address is ready; else what it lacks.
pub(super) async fn ready_at(cx: &Context, address: IpAddr) -> ControlFlow<(), String> {
    let path = Path::new(render::paths::KUBERNETES).join(User::SuperAdmin.file_name());
    let kubeconfig = match cx.files.read_text(&path) {
        Ok(text) => text.unwrap_or_default(),
        Err(e) => return ControlFlow::Continue(e.to_string()),
    };
    let ask = async { KubeClient::from_kubeconfig(&kubeconfig, local_api(address))?.health("/readyz").await };
    match tokio::time::timeout(LOOK_LIMIT, ask).await {
        Ok(Ok((status, _))) if status.is_success() => ControlFlow::Break(()),
        Ok(Ok((status, _))) => ControlFlow::Continue(status.to_string()),
        Ok(Err(e)) => ControlFlow::Continue(e.to_string()),
        Err(_) => ControlFlow::Continue("no answer".to_owned()),
    }
}

/// How long a restart of the kubelet waits for containers that it is starting.
const STATIC_PODS_LIMIT: Duration = Duration::from_secs(5);

/// Which objects a step applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// `cluster-config`: ConfigMaps and RBAC.
    Bootstrap,
    /// `addon-kube-proxy`.
    KubeProxy,
    /// `addon-coredns`.
    CoreDns,
    /// `addon-cni`.
    Cni,
}

impl Objects {
    pub(super) fn render(self, cx: &Context) -> Result<Vec<Value>, StepError> {
        let renderer = cx.renderer();
        Ok(match self {
            Self::Bootstrap => {
                let ca = Path::new(render::paths::PKI).join("ca.crt");
                let ca = cx.files.read_text(&ca)?.unwrap_or_default();
                render::cluster_objects::bootstrap(&renderer, &ca)?
            }
            Self::KubeProxy => render::addons::kube_proxy(&renderer)?,
            Self::CoreDns => render::addons::coredns(&renderer)?,
            Self::Cni => match &cx.cluster.addons.cni {
                Cni::None => Vec::new(),
                Cni::Flannel => render::addons::flannel(&renderer)?,
                Cni::Directory(directory) => manifests_in(cx, directory)?,
            },
        })
    }
}

#[async_trait(?Send)]
impl Step for Objects {
    fn name(&self) -> String {
        match self {
            Self::Bootstrap => "cluster-config",
            Self::KubeProxy => "addon-kube-proxy",
            Self::CoreDns => "addon-coredns",
            Self::Cni => "addon-cni",
        }
        .into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["kube-apiserver".into()]
    }

    fn title(&self) -> String {
        match self {
            Self::Bootstrap => "apply kubeadm-config, kubelet-config, cluster-info and RBAC",
            Self::KubeProxy => "apply kube-proxy",
            Self::CoreDns => "apply CoreDNS",
            Self::Cni => "apply the pod network",
        }
        .into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let objects = self.render(cx)?;
        if ready(cx).await.is_continue() {
            return Ok(State::Needed(objects.iter().map(|o| format!("apply {}", title(o))).collect()));
        }
        Ok(State::of(differing(client(cx)?, &objects).await?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        apply_all(client(cx)?, &self.render(cx)?, cx.cluster.timeouts.control_plane).await
    }
}

/// The objects of every manifest in a directory of the user's.
pub(super) fn manifests_in(cx: &Context, directory: &Path) -> Result<Vec<Value>, StepError> {
    let mut objects = Vec::new();
    for name in cx.files.list(directory)?.iter().filter(|name| name.ends_with(".yaml") || name.ends_with(".yml")) {
        let text = cx.files.read_text(directory.join(name))?.unwrap_or_default();
        objects.extend(render::addons::foreign(name, &text)?);
    }
    Ok(objects)
}

/// The objects that are not applied as they are, as sentences.
pub(super) async fn differing(client: &KubeClient, objects: &[Value]) -> Result<Vec<String>, StepError> {
    let looks = stream::iter(objects).map(|object| async move { (object, is_applied(client, object).await) });
    let mut changes = Vec::new();
    for (object, applied) in looks.buffered(AT_ONCE).collect::<Vec<_>>().await {
        if !applied.map_err(|e| refused(object, e))? {
            changes.push(format!("apply {}", title(object)));
        }
    }
    Ok(changes)
}

/// Applies objects, those that others live in first.
pub(super) async fn apply_all(client: &KubeClient, objects: &[Value], limit: Duration) -> Result<(), StepError> {
    let (first, rest): (Vec<_>, Vec<_>) =
        objects.iter().partition(|o| matches!(o["kind"].as_str(), Some("Namespace" | "CustomResourceDefinition")));
    for group in [first, rest] {
        let work = stream::iter(group).map(|object| apply(client, object, limit));
        let results: Vec<Result<(), StepError>> = work.buffer_unordered(AT_ONCE).collect().await;
        results.into_iter().collect::<Result<(), _>>()?;
    }
    Ok(())
}

fn title(object: &Value) -> String {
    let part = |at: &Value| at.as_str().unwrap_or("?").to_owned();
    format!("{} {}", part(&object["kind"]), part(&object["metadata"]["name"]))
}

fn refused(object: &Value, error: ApiError) -> StepError {
    StepError::caused(format!("cannot apply {}", title(object)), error)
}

/// Applies an object; what an API server that is still starting answers is tried again.
pub(super) async fn apply(client: &KubeClient, object: &Value, limit: Duration) -> Result<(), StepError> {
    let attempt = async || match client.apply(object).await {
        Ok(_) => ControlFlow::Break(Ok(())),
        Err(e) if e.is_passing() => ControlFlow::Continue(e.to_string()),
        Err(e) => ControlFlow::Break(Err(refused(object, e))),
    };
    let wait = Wait::new(format!("{} to be accepted", title(object)), limit).at_most_every(Duration::from_secs(1));
    wait.until(attempt).await?
}

/// Whether the live object has all that `wanted` says. Where the API writes a value in another form, a dry run decides.
async fn is_applied(client: &KubeClient, wanted: &Value) -> Result<bool, ApiError> {
    let path = match client.path_of(wanted).await {
        Ok(path) => path,
        // The kind may come with a CustomResourceDefinition of the same list.
        Err(ApiError::Object { .. }) => return Ok(false),
        Err(e) => return Err(e),
    };
    let Some(live) = client.find(&path).await? else { return Ok(false) };
    if contains(&live, wanted) {
        return Ok(true);
    }
    let applied = client.apply_dry(wanted).await?;
    Ok(without_bookkeeping(applied) == without_bookkeeping(live))
}

/// Whether `live` has everything that `wanted` has; lists must be equally long.
fn contains(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| value.is_null() || live.get(key).is_some_and(|l| contains(l, value)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(l, w)| contains(l, w))
        }
        _ => live == wanted,
    }
}

fn without_bookkeeping(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "generation", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    object
}

/// Step `node`: the kubelet has registered this node, and it has its labels and taints.
pub struct Node;

pub(super) async fn node(cx: &Context) -> Result<Option<Value>, StepError> {
    let path = format!("/api/v1/nodes/{}", cx.node.name);
    client(cx)?.find(&path).await.map_err(|e| StepError::caused(format!("cannot read node {}", cx.node.name), e))
}

fn ready_condition(node: &Value) -> Option<&Value> {
    node["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

/// Whether a node, or a pod, says that it is Ready.
#[must_use]
pub fn is_ready(node: &Value) -> bool {
    ready_condition(node).is_some_and(|condition| condition["status"] == "True")
}

/// Why a node is not Ready, in its own words; `None` where it is.
pub(super) fn not_ready(node: &Value) -> Option<String> {
    if is_ready(node) {
        return None;
    }
    let message = ready_condition(node).and_then(|condition| condition["message"].as_str());
    Some(format!("the node is not Ready: {}", message.unwrap_or("its kubelet has not reported yet")))
}

/// The pods on this machine's node.
pub(super) async fn own_pods(cx: &Context) -> Result<Vec<Value>, StepError> {
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", cx.node.name);
    let mut pods = client(cx)?.get(&path).await.map_err(|e| StepError::caused("cannot list this node's pods", e))?;
    Ok(pods["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// Waits until `lacking` finds nothing any more.
pub(super) async fn wait_until_ready(
    cx: &Context,
    lacking: impl AsyncFn() -> Result<Option<String>, StepError>,
) -> Result<(), StepError> {
    let look = async || match lacking().await {
        Ok(None) => ControlFlow::Break(()),
        Ok(Some(what)) => ControlFlow::Continue(what),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new("a Ready node with running addons", cx.cluster.timeouts.node);
    let hint =
        "see `kubectl --kubeconfig /etc/kubernetes/admin.conf get pods -A -o wide`, then run `nodeinit up` again";
    let wait = wait.at_most_every(Duration::from_millis(100));
    wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))
}

/// Whether the kubelet speaks with the API server: its node is Ready, or it has started a pod that is not its own.
async fn works(cx: &Context) -> Result<bool, StepError> {
    match node(cx).await? {
        None => return Ok(false),
        Some(node) if is_ready(&node) => return Ok(true),
        Some(_) => {}
    }
    Ok(own_pods(cx).await?.iter().any(has_started))
}

/// Whether a pod is a machine's own, which the API only mirrors.
pub(super) fn is_static(pod: &Value) -> bool {
    !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null()
}

/// Whether a pod of the API's has a container that was started. Each watch of the kubelet has a back-off of its own: it may have
/// taken the pod on long before it has read the Services, without which it starts no container of such a pod.
fn has_started(pod: &Value) -> bool {
    let containers = ["initContainerStatuses", "containerStatuses"].into_iter();
    let mut containers = containers.filter_map(|field| pod["status"][field].as_array()).flatten();
    !is_static(pod)
        && containers.any(|container| container["state"]["waiting"].is_null() && !container["state"].is_null())
}

#[async_trait(?Send)]
impl Step for Node {
    fn name(&self) -> String {
        "node".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["kube-apiserver".into()]
    }

    fn title(&self) -> String {
        "register, label and taint the node".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        let Some(node) = node(cx).await? else { return Ok(State::needed(self.title())) };
        let patch = render::cluster_objects::node_patch(&cx.renderer(), &node);
        Ok(if patch.is_some() { State::needed("label and taint the node") } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let path = format!("/api/v1/nodes/{}", cx.node.name);
        if !works(cx).await? {
            // While there was no API server, the kubelet's watches and its registration went into a back-off of up to 30 s.
            // It takes half a second to start anew. A container that it has made and not yet started would be made again.
            let started = Wait::new("the containers of all static pods", STATIC_PODS_LIMIT);
            let commands = static_pods::commands(cx)?;
            let look = async || match commands.iter().all(|command| processes::runs(&cx.files, command)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue("not all run".into()),
            };
            // One that does not come is another step's failure.
            let _ = started.until(look).await;
            kubelet::restart(cx).await?;
        }
        let client = client(cx)?;
        let attempt = async || {
            let patch = match client.find(&path).await {
                Ok(Some(node)) => render::cluster_objects::node_patch(&cx.renderer(), &node),
                Ok(None) => return ControlFlow::Continue("the kubelet has not registered it yet".into()),
                Err(e) => return ControlFlow::Continue(e.to_string()),
            };
            let Some(patch) = patch else { return ControlFlow::Break(()) };
            match client.merge(&path, &patch).await {
                Ok(_) => ControlFlow::Break(()),
                Err(e) => ControlFlow::Continue(e.to_string()),
            }
        };
        let wait = Wait::new(format!("the registration of node {}", cx.node.name), cx.cluster.timeouts.node);
        let hint = "see `journalctl -u kubelet`, then run `nodeinit up` again";
        wait.until(attempt).await.map_err(|late| StepError::from(late).hint(hint))
    }
}

/// Step `ready`: the node is Ready, and the addons that were asked for run.
pub struct Ready {
    /// The steps before it: all others.
    pub needs: Vec<String>,
}

/// What must run: the path of each workload.
fn workloads(cx: &Context) -> Result<Vec<Value>, StepError> {
    let addons = &cx.cluster.addons;
    let mut objects = Vec::new();
    if addons.kube_proxy {
        objects.extend(Objects::KubeProxy.render(cx)?);
    }
    if addons.cni != Cni::None {
        objects.extend(Objects::Cni.render(cx)?);
        if addons.coredns {
            objects.extend(Objects::CoreDns.render(cx)?);
        }
    }
    objects.retain(|o| matches!(o["kind"].as_str(), Some("DaemonSet" | "Deployment")));
    Ok(objects)
}

/// `None` where everything runs, else what does not.
async fn lacking(cx: &Context, workloads: &[Value]) -> Result<Option<String>, StepError> {
    let client = client(cx)?;
    if cx.cluster.addons.cni != Cni::None {
        let Some(node) = node(cx).await? else { return Ok(Some("the node is not registered".into())) };
        if let Some(what) = not_ready(&node) {
            return Ok(Some(what));
        }
    }
    for workload in workloads {
        let path = client.path_of(workload).await.map_err(|e| refused(workload, e))?;
        let live = client.find(&path).await.map_err(|e| refused(workload, e))?.unwrap_or_default();
        let number = |at: &str| live["status"][at].as_i64().unwrap_or_default();
        let (mut wanted, running) = match live["kind"].as_str() {
            Some("DaemonSet") => (number("desiredNumberScheduled").max(1), number("numberAvailable")),
            _ => (live["spec"]["replicas"].as_i64().unwrap_or(1), number("availableReplicas")),
        };
        let domains = live.pointer("/spec/template/spec/topologySpreadConstraints/0/minDomains");
        let one_a_node = live["kind"] == "DaemonSet" || domains.and_then(Value::as_i64) > Some(1);
        if running < wanted && one_a_node {
            // A node whose machine is gone is told of elsewhere; the others are not to wait for it.
            wanted = wanted.min(ready_nodes(client).await.map_err(|e| refused(workload, e))?);
        }
        if running < wanted || live["status"]["observedGeneration"] != live["metadata"]["generation"] {
            return Ok(Some(format!("{}: {running} of {wanted} pods run", title(workload))));
        }
    }
    Ok(None)
}

/// The first of these objects that does not work yet, as a sentence: pods that do not run, an API that is not served.
pub(super) async fn unavailable(client: &KubeClient, objects: &[Value]) -> Result<Option<String>, StepError> {
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        if !["DaemonSet", "Deployment", "StatefulSet", "APIService"].contains(&kind) {
            continue;
        }
        let path = client.path_of(object).await.map_err(|e| refused(object, e))?;
        let live = client.find(&path).await.map_err(|e| refused(object, e))?.unwrap_or_default();
        let number = |at: &str| live["status"][at].as_i64().unwrap_or_default();
        if kind == "APIService" {
            let conditions = live["status"]["conditions"].as_array().into_iter().flatten();
            let available = conditions.clone().find(|condition| condition["type"] == "Available");
            if available.is_none_or(|condition| condition["status"] != "True") {
                let message =
                    available.and_then(|condition| condition["message"].as_str()).unwrap_or("not looked at yet");
                return Ok(Some(format!("{}: {message}", title(object))));
            }
            continue;
        }
        let (wanted, running) = match kind {
            // No node may have to run it.
            "DaemonSet" => (number("desiredNumberScheduled"), number("numberAvailable")),
            _ => (live["spec"]["replicas"].as_i64().unwrap_or(1), number("availableReplicas")),
        };
        if running < wanted || live["status"]["observedGeneration"] != live["metadata"]["generation"] {
            return Ok(Some(format!("{}: {running} of {wanted} pods run", title(object))));
        }
    }
    Ok(None)
}

async fn ready_nodes(client: &KubeClient) -> Result<i64, ApiError> {
    let nodes = client.get("/api/v1/nodes").await?;
    Ok(nodes["items"].as_array().into_iter().flatten().filter(|node| is_ready(node)).count() as i64)
}

#[async_trait(?Send)]
impl Step for Ready {
    fn name(&self) -> String {
        "ready".into()
    }

    fn needs(&self) -> Vec<String> {
        self.needs.clone()
    }

    fn title(&self) -> String {
        "wait for the node to be Ready and the addons to run".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        Ok(State::of(lacking(cx, &workloads(cx)?).await?.into_iter().collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let workloads = workloads(cx)?;
        wait_until_ready(cx, async || lacking(cx, &workloads).await).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_that_was_taken_on_has_not_started() {
        let pod = |state: Value| json!({"status": {"startTime": "t", "containerStatuses": [{"state": state}]}});
        assert!(has_started(&pod(json!({"running": {}}))) && has_started(&pod(json!({"terminated": {}}))));
        assert!(!has_started(&pod(json!({"waiting": {"reason": "ContainerCreating"}}))));
        assert!(!has_started(&json!({"status": {"startTime": "t"}})));
        let mut mirror = pod(json!({"running": {}}));
        mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("x");
        assert!(!has_started(&mirror));
    }

    #[test]
    fn a_live_object_may_have_more_but_not_less() {
        let live = json!({"spec": {"replicas": 2, "list": [{"name": "a", "default": 1}]}, "status": {}});
        assert!(contains(&live, &json!({"spec": {"list": [{"name": "a"}]}})));
        assert!(contains(&live, &json!({"spec": {"absent": null}})));
        assert!(!contains(&live, &json!({"spec": {"list": []}})));
        assert!(!contains(&live, &json!({"spec": {"replicas": 3}})));
        assert!(!contains(&live, &json!({"data": {}})));
    }
}
