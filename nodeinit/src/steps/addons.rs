//! Optional addons: applies them when the cluster is ready, waits for each, and removes them completely.

mod inventory;

use crate::{
    api::kube::KubeClient,
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    render,
    steps::{
        cluster::{self, client, ready},
        cluster_ready,
    },
};
use async_trait::async_trait;
use inventory::{Inventory, Reference};
use nodeinit_base::Wait;
use nodeinit_config::{Addon, Cluster};
use serde_json::Value;
use std::{collections::BTreeSet, ops::ControlFlow, path::PathBuf, time::Duration};

/// The addon name under which the user's own manifests are applied.
pub const OWN: &str = "manifests";

/// Where an addon's objects come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An addon that nodeinit ships.
    BuiltIn(Addon),
    /// All manifests in a directory that the user names.
    Directory(PathBuf),
}

/// Step `addon-NAME`: applies an addon's objects and waits until its workloads are available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects(pub Source);

/// Returns the addons that the configuration enables.
#[must_use]
pub fn wanted(cluster: &Cluster) -> Vec<Objects> {
    let built_in = cluster.addons.optional.iter().map(|addon| Objects(Source::BuiltIn(*addon)));
    built_in.chain(cluster.addons.manifests.clone().map(|path| Objects(Source::Directory(path)))).collect()
}

impl Objects {
    /// Returns its name.
    #[must_use]
    pub fn addon(&self) -> &'static str {
        match &self.0 {
            Source::BuiltIn(addon) => addon.name(),
            Source::Directory(_) => OWN,
        }
    }

    fn render(&self, cx: &Context) -> Result<Vec<Value>, StepError> {
        match &self.0 {
            Source::BuiltIn(addon) => Ok(render::addons::optional(&cx.renderer(), *addon)?),
            // If a missing directory counted as empty, everything applied from it would be deleted.
            Source::Directory(directory) if !cx.files.exists(directory) => {
                let error =
                    StepError::new(format!("addons.manifests names {}, which does not exist", directory.display()));
                Err(error.exit(Exit::BadConfig).hint("create the directory, or remove the key from the configuration"))
            }
            Source::Directory(directory) => cluster::manifests_in(cx, directory),
        }
    }

    /// Lists the changes that bring the addon to its described state; empty if it is up to date.
    ///
    /// # Errors
    /// If the manifests cannot be read, or if the API refuses a request.
    pub async fn lacking(&self, cx: &Context) -> Result<Vec<String>, StepError> {
        let objects = self.render(cx)?;
        if ready(cx).await.is_continue() {
            return Ok(vec![self.title()]);
        }
        let client = client(cx)?;
        let mut changes = cluster::differing(client, &objects).await?;
        let known = Inventory::read(client, self.addon()).await?;
        let wanted = references(&objects);
        let leftover = known.objects.iter().filter(|reference| !wanted.contains(reference));
        changes.extend(leftover.map(|reference| format!("delete {reference}")));
        if changes.is_empty() {
            changes.extend(cluster_ready::unavailable(client, &objects).await?);
        }
        Ok(changes)
    }
}

fn references(objects: &[Value]) -> Vec<Reference> {
    objects.iter().map(Reference::of).collect()
}

#[async_trait(?Send)]
impl Step for Objects {
    fn id(&self) -> StepId {
        match &self.0 {
            Source::BuiltIn(addon) => StepId::Addon(*addon),
            Source::Directory(_) => StepId::OwnManifests,
        }
    }

    fn title(&self) -> String {
        match &self.0 {
            Source::BuiltIn(addon) => format!("apply {} and wait for it", addon.name()),
            Source::Directory(directory) => format!("apply the manifests in {}", directory.display()),
        }
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(self.lacking(cx).await?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let objects = self.render(cx)?;
        let client = client(cx)?;
        let before = Inventory::read(client, self.addon()).await?;
        let mut ours = Vec::new();
        for reference in references(&objects) {
            // Objects that somebody else created earlier stay when the addon is removed.
            if before.objects.contains(&reference) || !reference.exists(client).await? {
                ours.push(reference);
            }
        }
        // The inventory is written before the objects are created, so an interrupted run leaves no unlisted object.
        let all: BTreeSet<Reference> = before.objects.iter().chain(&ours).cloned().collect();
        let limit = cx.cluster.timeouts.node;
        Inventory::of(self.addon(), all.into_iter().collect()).write(client, limit).await?;
        cluster::apply_all(client, &objects, limit).await?;
        let gone: Vec<Reference> = before.objects.into_iter().filter(|reference| !ours.contains(reference)).collect();
        delete(client, &gone, limit).await?;
        Inventory::of(self.addon(), ours).write(client, limit).await?;
        available(client, self.addon(), &objects, limit).await
    }
}

async fn available(client: &KubeClient, name: &str, objects: &[Value], limit: Duration) -> Result<(), StepError> {
    let look = async || match cluster_ready::unavailable(client, objects).await {
        Ok(None) => ControlFlow::Break(()),
        Ok(Some(what)) => ControlFlow::Continue(what),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new(format!("addon {name}"), limit).at_most_every(Duration::from_millis(500));
    let hint = "see `kubectl --kubeconfig /etc/kubernetes/admin.conf get pods -A -o wide`, then try again";
    wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))
}

/// Removes everything that was applied under this name, even if the configuration no longer contains the addon.
///
/// # Errors
/// If nothing was applied under the name, or if the API refuses.
pub async fn remove(cx: &Context, name: &str) -> Result<usize, StepError> {
    let client = client(cx)?;
    // It becomes part of a path.
    let known = match name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
        true => Inventory::read(client, name).await?,
        false => Inventory::of(name, Vec::new()),
    };
    if known.objects.is_empty() {
        let error =
            StepError::new(format!("the addon {name} has no objects in the cluster: nodeinit did not apply it"));
        return Err(error.hint("see `nodeinit addons list`"));
    }
    let limit = cx.cluster.timeouts.node;
    delete(client, &known.objects, limit).await?;
    known.forget(client).await?;
    Ok(known.objects.len())
}

/// Lists the names of the addons that were applied.
///
/// # Errors
/// If the API refuses.
pub async fn applied(cx: &Context) -> Result<Vec<String>, StepError> {
    inventory::names(client(cx)?).await
}

/// Deletes objects, namespaces and CRDs last, and waits until they are gone.
async fn delete(client: &KubeClient, objects: &[Reference], limit: Duration) -> Result<(), StepError> {
    let (last, first): (Vec<&Reference>, Vec<&Reference>) = objects.iter().partition(|object| object.holds_others());
    for object in first.iter().chain(&last) {
        object.delete(client).await?;
    }
    for object in objects {
        let look = async || match object.exists(client).await {
            Ok(false) => ControlFlow::Break(()),
            Ok(true) => ControlFlow::Continue("it still exists".to_owned()),
            Err(e) => ControlFlow::Continue(e.to_string()),
        };
        let wait = Wait::new(format!("{object} to be deleted"), limit).at_most_every(Duration::from_millis(500));
        wait.until(look).await?;
    }
    Ok(())
}
