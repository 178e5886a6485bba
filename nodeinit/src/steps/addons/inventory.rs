//! The inventory of each addon: a ConfigMap lists the applied objects, so that any master can remove them.

use crate::{
    api::kube::{
        ApiError, KubeClient,
        types::{ConfigMap, List},
    },
    engine::error::StepError,
    steps::cluster,
};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::{fmt, time::Duration};

const NAMESPACE: &str = "kube-system";
const PREFIX: &str = "nodeinit-addon-";
const LABEL: &str = "nodeinit.dev/addon";

/// A reference to an object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Reference {
    pub(super) fn of(object: &Value) -> Self {
        let text = |at: &Value| at.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
        }
    }

    /// Formats it as four words: no part can contain a space.
    fn line(&self) -> String {
        let namespace = if self.namespace.is_empty() { "-" } else { &self.namespace };
        format!("{} {} {namespace} {}", self.api_version, self.kind, self.name)
    }

    fn parse(line: &str) -> Option<Self> {
        let [api_version, kind, namespace, name] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let own = |text: &str| text.to_owned();
        let namespace = if namespace == "-" { String::new() } else { own(namespace) };
        Some(Self { api_version: own(api_version), kind: own(kind), namespace, name: own(name) })
    }

    /// Whether deleting it deletes other objects, too.
    pub(super) fn holds_others(&self) -> bool {
        matches!(self.kind.as_str(), "Namespace" | "CustomResourceDefinition")
    }

    fn object(&self) -> Value {
        let metadata = json!({"name": self.name, "namespace": self.namespace});
        json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata})
    }

    /// Returns its API path, or `None` if the cluster does not know its kind.
    async fn path(&self, client: &KubeClient) -> Result<Option<String>, StepError> {
        match client.path_of(&self.object()).await {
            Ok(path) => Ok(Some(path)),
            Err(ApiError::Object { .. }) => Ok(None),
            Err(e) => Err(self.failed(e)),
        }
    }

    pub(super) async fn exists(&self, client: &KubeClient) -> Result<bool, StepError> {
        let Some(path) = self.path(client).await? else { return Ok(false) };
        Ok(client.find::<IgnoredAny>(&path).await.map_err(|e| self.failed(e))?.is_some())
    }

    pub(super) async fn delete(&self, client: &KubeClient) -> Result<(), StepError> {
        let Some(path) = self.path(client).await? else { return Ok(()) };
        client.delete(&path).await.map_err(|e| self.failed(e))
    }

    fn failed(&self, error: ApiError) -> StepError {
        StepError::caused(format!("cannot delete {self}"), error)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// The objects of one addon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inventory {
    addon: String,
    pub(super) objects: Vec<Reference>,
}

impl Inventory {
    pub(super) fn of(addon: &str, objects: Vec<Reference>) -> Self {
        Self { addon: addon.to_owned(), objects }
    }

    fn path(addon: &str) -> String {
        format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{PREFIX}{addon}")
    }

    pub(super) async fn read(client: &KubeClient, addon: &str) -> Result<Self, StepError> {
        let found = client.find(&Self::path(addon)).await;
        let found: Option<ConfigMap> =
            found.map_err(|e| StepError::caused(format!("cannot read the inventory of addon {addon}"), e))?;
        let lines = found.and_then(|mut map| map.data.remove("objects")).unwrap_or_default();
        Ok(Self::of(addon, lines.lines().filter_map(Reference::parse).collect()))
    }

    pub(super) async fn write(&self, client: &KubeClient, limit: Duration) -> Result<(), StepError> {
        cluster::apply(client, &self.object(), limit).await
    }

    fn object(&self) -> Value {
        let lines: String = self.objects.iter().map(|object| object.line() + "\n").collect();
        let name = format!("{PREFIX}{}", self.addon);
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {LABEL: self.addon}},
            "data": {"objects": lines},
        })
    }

    pub(super) async fn forget(&self, client: &KubeClient) -> Result<(), StepError> {
        let gone = client.delete(&Self::path(&self.addon)).await;
        gone.map_err(|e| StepError::caused(format!("cannot delete the inventory of addon {}", self.addon), e))
    }
}

/// Lists the addons that have an inventory.
pub(super) async fn names(client: &KubeClient) -> Result<Vec<String>, StepError> {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps?labelSelector={}", LABEL.replace('/', "%2F"));
    let list = client.get(&path).await;
    let list: List<ConfigMap> = list.map_err(|e| StepError::caused("cannot list the addons", e))?;
    Ok(list.items.into_iter().filter_map(|mut map| map.metadata.labels.remove(LABEL)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_survive_a_round_trip() {
        for object in [
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}}),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}),
        ] {
            let reference = Reference::of(&object);
            assert_eq!(Reference::parse(&reference.line()), Some(reference));
        }
        assert_eq!(Reference::parse("v1 Namespace a"), None);
    }
}
