//! The objects of the cluster, applied through the API server of this master.

use crate::{
    api::kube::{ApiError, KubeClient, local_api},
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    render::{self, kubeconfig::User},
    steps::etcd,
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use nodeinit_base::Wait;
use nodeinit_config::cluster::Cni;
use serde_json::Value;
use std::{net::IpAddr, ops::ControlFlow, path::Path, time::Duration};

/// Number of concurrent requests: enough to keep a starting API server busy.
pub(super) const AT_ONCE: usize = 8;

/// Returns a client of this master's own API server, as super-admin: `kubeadm:cluster-admins` may not be bound yet.
///
/// # Errors
/// If `super-admin.conf` is missing or damaged.
pub fn client(cx: &Context) -> Result<&KubeClient, StepError> {
    if let Some(client) = cx.api.get() {
        return Ok(client);
    }
    let client = client_at(cx, cx.node.address)?;
    Ok(cx.api.get_or_init(|| client))
}

/// Returns a client of a master's API server.
///
/// # Errors
/// If `super-admin.conf` is missing or damaged.
pub(super) fn client_at(cx: &Context, address: IpAddr) -> Result<KubeClient, StepError> {
    let path = Path::new(render::paths::KUBERNETES).join(User::SuperAdmin.file_name());
    let Some(text) = cx.files.read_secret_text(&path)? else {
        return Err(
            StepError::new(format!("{} is missing", path.display())).hint("run `nodeinit up`, which creates it")
        );
    };
    KubeClient::from_kubeconfig(text.expose(), local_api(address))
        .map_err(|e| StepError::caused(format!("cannot use {}", path.display()), e))
}

/// Whether the API server is ready; otherwise returns which checks fail.
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

/// Limit of a request for metrics, which are long.
const METRICS_LIMIT: Duration = Duration::from_secs(20);

/// Limit of one request to another machine's API: nothing answers at an unused address.
const LOOK_LIMIT: Duration = Duration::from_secs(1);

/// Whether the API at another machine's address is ready; otherwise returns which checks fail.
pub(super) async fn ready_at(cx: &Context, address: IpAddr) -> ControlFlow<(), String> {
    let client = match client_at(cx, address) {
        Ok(client) => client,
        Err(e) => return ControlFlow::Continue(e.to_string()),
    };
    let ask = client.health("/readyz");
    match tokio::time::timeout(LOOK_LIMIT, ask).await {
        Ok(Ok((status, _))) if status.is_success() => ControlFlow::Break(()),
        Ok(Ok((status, _))) => ControlFlow::Continue(status.to_string()),
        Ok(Err(e)) => ControlFlow::Continue(e.to_string()),
        Err(_) => ControlFlow::Continue("no answer".to_owned()),
    }
}

/// Returns the metrics of a master's API server.
///
/// # Errors
/// Why there is no answer.
pub(super) async fn metrics_at(cx: &Context, address: IpAddr) -> Result<String, String> {
    let client = client_at(cx, address).map_err(|e| e.to_string())?;
    let ask = client.health("/metrics");
    match tokio::time::timeout(METRICS_LIMIT, ask).await {
        Ok(Ok((status, text))) if status.is_success() => Ok(text),
        Ok(Ok((status, _))) => Err(status.to_string()),
        Ok(Err(e)) => Err(e.to_string()),
        Err(_) => Err("no answer".to_owned()),
    }
}

/// The ConfigMap with kubeadm's configuration of the cluster.
const KUBEADM_CONFIG: &str = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config";

fn cluster_configuration(config_map: &Value) -> Option<&str> {
    config_map.pointer("/data/ClusterConfiguration").and_then(Value::as_str)
}

/// Reads `kubeadm-config` from the API at another machine's address: empty if the cluster has none yet, `None` if the API does not
/// answer within `limit`.
pub(super) async fn kubeadm_config_at(cx: &Context, address: IpAddr, limit: Duration) -> Option<String> {
    let client = client_at(cx, address).ok()?;
    let found = tokio::time::timeout(limit, client.find(KUBEADM_CONFIG)).await.ok()?.ok()?;
    Some(found.as_ref().and_then(cluster_configuration).unwrap_or_default().to_owned())
}

/// The objects that a step applies.
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
    /// Returns the desired objects.
    async fn wanted(self, cx: &Context) -> Result<Vec<Value>, StepError> {
        let token = if self == Self::Bootstrap { etcd_token(cx).await? } else { None };
        self.render(cx, token.as_deref())
    }

    /// Renders the objects; `etcd_token` is etcd's `--initial-cluster-token`.
    pub(super) fn render(self, cx: &Context, etcd_token: Option<&str>) -> Result<Vec<Value>, StepError> {
        let renderer = cx.renderer();
        Ok(match self {
            Self::Bootstrap => {
                let ca = Path::new(render::paths::PKI).join("ca.crt");
                let ca = cx.files.read_text(&ca)?.unwrap_or_default();
                render::cluster_objects::bootstrap(&renderer, &ca, etcd_token)?
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

/// Returns etcd's `--initial-cluster-token` from this machine, else from the cluster. A replaced first master must not remove it
/// from `kubeadm-config`.
async fn etcd_token(cx: &Context) -> Result<Option<String>, StepError> {
    if let Some(token) = etcd::token(cx)? {
        return Ok(Some(token));
    }
    let live =
        client(cx)?.find(KUBEADM_CONFIG).await.map_err(|e| StepError::caused("cannot read kubeadm-config", e))?;
    Ok(live.as_ref().and_then(cluster_configuration).and_then(render::kubeadm_config::etcd_token))
}

#[async_trait(?Send)]
impl Step for Objects {
    fn id(&self) -> StepId {
        match self {
            Self::Bootstrap => StepId::ClusterConfig,
            Self::KubeProxy => StepId::KubeProxy,
            Self::CoreDns => StepId::CoreDns,
            Self::Cni => StepId::Cni,
        }
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
        if ready(cx).await.is_continue() {
            let objects = self.render(cx, None)?;
            return Ok(State::Needed(objects.iter().map(|o| format!("apply {}", title(o))).collect()));
        }
        Ok(State::of(differing(client(cx)?, &self.wanted(cx).await?).await?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        apply_all(client(cx)?, &self.wanted(cx).await?, cx.cluster.timeouts.control_plane).await
    }
}

/// Reads the objects of all manifests in a directory that the user names.
pub(super) fn manifests_in(cx: &Context, directory: &Path) -> Result<Vec<Value>, StepError> {
    let mut objects = Vec::new();
    for name in cx.files.list(directory)?.iter().filter(|name| name.ends_with(".yaml") || name.ends_with(".yml")) {
        let text = cx.files.read_text(directory.join(name))?.unwrap_or_default();
        objects.extend(render::addons::foreign(name, &text)?);
    }
    Ok(objects)
}

/// Describes the objects that differ from the cluster's.
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

/// Applies objects, namespaces and CRDs first.
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

pub(super) fn title(object: &Value) -> String {
    let part = |at: &Value| at.as_str().unwrap_or("?").to_owned();
    format!("{} {}", part(&object["kind"]), part(&object["metadata"]["name"]))
}

pub(super) fn refused(object: &Value, error: ApiError) -> StepError {
    StepError::caused(format!("cannot apply {}", title(object)), error)
}

/// Applies an object; retries errors of an API server that is still starting.
pub(super) async fn apply(client: &KubeClient, object: &Value, limit: Duration) -> Result<(), StepError> {
    let attempt = async || match client.apply(object).await {
        Ok(_) => ControlFlow::Break(Ok(())),
        Err(e) if e.is_passing() => ControlFlow::Continue(e.to_string()),
        Err(e) => ControlFlow::Break(Err(refused(object, e))),
    };
    let wait = Wait::new(format!("{} to be accepted", title(object)), limit).at_most_every(Duration::from_secs(1));
    wait.until(attempt).await?
}

/// Whether the live object has every value of `wanted`. If the API stores a value in another form, a dry run decides.
async fn is_applied(client: &KubeClient, wanted: &Value) -> Result<bool, ApiError> {
    let path = match client.path_of(wanted).await {
        Ok(path) => path,
        // A CustomResourceDefinition of the same list may define the kind.
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

/// Whether `live` contains all of `wanted`; lists must have equal length.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
