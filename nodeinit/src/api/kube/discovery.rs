//! The path of an object of any kind that the API serves.
//!
//! Source: Kubernetes API concepts, "API Discovery".

use super::error::ApiError;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use tokio::sync::Mutex;

/// What the API serves under one group and version.
#[derive(Deserialize)]
pub(super) struct Resources {
    resources: Vec<Resource>,
}

/// How the objects of a kind are addressed.
#[derive(Clone, Deserialize)]
struct Resource {
    kind: String,
    /// The plural; with a slash, a part of another resource such as `pods/status`.
    name: String,
    namespaced: bool,
}

/// Remembers what the API serves, by group and version.
#[derive(Default)]
pub(super) struct Discovery {
    known: Mutex<BTreeMap<String, Vec<Resource>>>,
}

impl Discovery {
    /// The path of `object`; `list` reads what the API serves below a path.
    pub(super) async fn path_of(
        &self,
        object: &Value,
        list: impl AsyncFn(&str) -> Result<Option<Resources>, ApiError>,
    ) -> Result<String, ApiError> {
        let part = |at: &Value| at.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (part(&object["apiVersion"]), part(&object["kind"]));
        let (name, namespace) = (part(&object["metadata"]["name"]), part(&object["metadata"]["namespace"]));
        let bad = |reason| ApiError::Object { object: format!("{kind} {name:?}"), reason };
        if version.is_empty() || kind.is_empty() || name.is_empty() {
            return Err(bad("needs apiVersion, kind and metadata.name".into()));
        }
        let base = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let found = self.resource(&version, &kind, async || list(&base).await).await?;
        let Resource { name: plural, namespaced, .. } =
            found.ok_or_else(|| bad(format!("this cluster has no kind {kind} in {version}")))?;
        Ok(match (namespaced, namespace.as_str()) {
            (false, _) => format!("{base}/{plural}/{name}"),
            (true, "") => format!("{base}/namespaces/default/{plural}/{name}"),
            (true, namespace) => format!("{base}/namespaces/{namespace}/{plural}/{name}"),
        })
    }

    async fn resource(
        &self,
        version: &str,
        kind: &str,
        list: impl AsyncFn() -> Result<Option<Resources>, ApiError>,
    ) -> Result<Option<Resource>, ApiError> {
        let mut known = self.known.lock().await;
        let of = |resources: &[Resource]| resources.iter().find(|resource| resource.kind == kind).cloned();
        if let Some(found) = known.get(version).and_then(|resources| of(resources)) {
            return Ok(Some(found));
        }
        // A kind that was not there may have come since, by a CustomResourceDefinition.
        let Some(Resources { mut resources }) = list().await? else { return Ok(None) };
        resources.retain(|resource| !resource.name.contains('/'));
        let found = of(&resources);
        known.insert(version.to_owned(), resources);
        Ok(found)
    }
}
