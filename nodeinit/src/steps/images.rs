//! Imports images into containerd: one step for each archive, in the order of need, so that a static pod waits only for its
//! own image.

pub(super) mod audience;
mod pull;
mod remove;

use super::{
    containerd::{self as runtime, Duty},
    source::{lent, obtain},
};
use crate::{
    api::{
        cri::{Cri, SOCKET},
        registry,
    },
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::Record,
        step::{State, Step},
        step_id::{ImageName, StepId},
    },
    host::{commands::CommandError, containerd},
};
use async_trait::async_trait;
use nodeinit_config::{
    Cluster,
    cluster::{ArtifactSource, ImageArchive, KubernetesImage, Role},
};
pub use remove::RemoveImages;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    rc::Rc,
};
use tokio::sync::{OnceCell, Semaphore};

/// Number of concurrent imports. One import uses about half of a processor, because it also waits for the disk. More
/// concurrent imports delay the images that are needed first.
const AT_ONCE: usize = 3;

/// Returns one step for each image. The images of Kubernetes are always included, so that other steps can depend on them; without an
/// archive, their steps only check.
///
/// A worker needs no images of the control plane.
#[must_use]
pub fn steps(cluster: &Cluster, role: Role) -> Vec<Image> {
    of(cluster, |image| audience::is_for(cluster, image, role))
}

fn of(cluster: &Cluster, wanted: impl Fn(&str) -> bool) -> Vec<Image> {
    let shared = Rc::new(Shared { present: OnceCell::new(), slots: Semaphore::new(AT_ONCE) });
    let archives =
        cluster.artifacts.images.iter().filter(|a| wanted(&a.image)).map(|a| (a.image.clone(), Some(a.clone())));
    let listed: BTreeSet<&str> = cluster.artifacts.images.iter().map(|a| a.image.as_str()).collect();
    let kubernetes = KubernetesImage::ALL.map(|image| (cluster.image(image), image));
    let unlisted = kubernetes
        .iter()
        .filter(|(name, _)| wanted(name) && !listed.contains(name.as_str()))
        .map(|(name, _)| (name.clone(), None));
    let mut names: BTreeMap<ImageName, usize> = kubernetes
        .iter()
        .filter(|(name, _)| !listed.contains(name.as_str()))
        .map(|(_, image)| (ImageName::from(*image), 1))
        .collect();
    let mut steps = Vec::new();
    for (image, archive) in archives.chain(unlisted) {
        let mut name = ImageName::of(&image);
        if archive.is_some() {
            // Two images with the same last part: the second is numbered.
            let count = names.entry(name.clone()).or_default();
            *count += 1;
            name = name.numbered(*count);
        }
        let sweeps = steps.is_empty();
        steps.push(Image { name, image, archive, sweeps, shared: shared.clone() });
    }
    steps
}

/// The state that the steps of one run share.
struct Shared {
    /// The images in containerd when the first step asked.
    present: OnceCell<BTreeMap<String, bool>>,
    slots: Semaphore,
}

/// Step `image-NAME`: containerd has the image.
pub struct Image {
    name: ImageName,
    image: String,
    archive: Option<ImageArchive>,
    /// Whether this step removes what interrupted imports left: one of them does.
    sweeps: bool,
    shared: Rc<Shared>,
}

impl Image {
    /// Returns the full name of the image.
    pub(super) fn image(&self) -> &str {
        &self.image
    }

    /// Returns the same step for an image that a release needs in an earlier version, too.
    pub(super) fn earlier(self) -> Self {
        Self { name: self.name.numbered(2), ..self }
    }
}

#[async_trait(?Send)]
impl Step for Image {
    fn id(&self) -> StepId {
        StepId::Image(self.name.clone())
    }

    fn title(&self) -> String {
        format!("import {}", self.image)
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = Vec::new();
        let left = if self.sweeps { self.leftovers(cx).await? } else { Vec::new() };
        if !left.is_empty() {
            changes.push(format!("remove {} image names that an interrupted import left in containerd", left.len()));
        }
        if self.is_missing(cx).await? {
            match (&self.archive, &cx.cluster.artifacts.source) {
                (Some(_), source) if *source != ArtifactSource::Image => {
                    changes.push(format!("import {} into containerd", self.image));
                }
                _ => cx
                    .report
                    .note(&self.name(), format!("{} is not in containerd yet; the kubelet will pull it", self.image)),
            }
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if self.sweeps {
            self.sweep(cx).await?;
        }
        let Some(archive) = &self.archive else { return Ok(()) };
        if !self.is_missing(cx).await? {
            return Ok(());
        }
        // First in, first out: the plan's order is the order of need.
        let slot = self.shared.slots.acquire().await;
        if self.borrow(cx, archive).await? {
            return Ok(());
        }
        let mut obtained = obtain(cx, &self.name(), &archive.path, archive.sha256).await?;
        if !pull::import(cx, &self.name(), &self.image, &obtained.section).await? {
            obtained = obtained.into_file(cx, &self.name()).await?;
            let record = Record::Image { name: self.image.clone() };
            let context = cx.clone();
            blocking(move || Ok(context.journal.intend(vec![record])?)).await?;
            containerd::import(&cx.commands, &obtained.section.file, cx.cluster.timeouts.image_import)
                .await
                .map_err(|e| refused(&obtained.name, e))?;
            if !containerd::images(&cx.commands).await.map_err(no_answer)?.contains_key(&self.image) {
                let what = format!("the archive {} was imported, but it does not contain {}", archive.path, self.image);
                return Err(StepError::new(what)
                    .hint("`ctr -n k8s.io images ls` shows what it contained; fix artifacts.images"));
            }
        }
        drop(slot);
        let files = cx.files.clone();
        blocking(move || obtained.release(&files)).await
    }
}

impl Image {
    /// Returns the images in containerd when the first step asked, each with whether it is unpacked.
    async fn present(&self, cx: &Context) -> Result<&BTreeMap<String, bool>, StepError> {
        let ask = || async {
            match containerd::images(&cx.commands).await {
                // This happens in a plan for a new machine.
                Err(e) if e.is_missing() && runtime::duty(cx) == Duty::Install => Ok(BTreeMap::new()),
                asked => asked.map_err(no_answer),
            }
        };
        self.shared.present.get_or_try_init(ask).await
    }

    async fn is_missing(&self, cx: &Context) -> Result<bool, StepError> {
        let is_unpacked = self.present(cx).await?.get(&self.image);
        Ok(!is_unpacked.is_some_and(|is_unpacked| *is_unpacked || !self.is_incomplete(cx)))
    }

    /// Returns the image names that an earlier, interrupted run pulled from nodeinit's registry and did not remove.
    async fn leftovers(&self, cx: &Context) -> Result<Vec<String>, StepError> {
        let known = cx.journal.state().images;
        let is_left = |name: &&String| known.contains(*name) && registry::is_passing(name);
        Ok(self.present(cx).await?.keys().filter(is_left).cloned().collect())
    }

    async fn sweep(&self, cx: &Context) -> Result<(), StepError> {
        let left = self.leftovers(cx).await?;
        if left.is_empty() {
            return Ok(());
        }
        let failed = |e| StepError::caused("cannot remove what an interrupted import left in containerd", e);
        let cri = Cri::connect(cx.files.real(Path::new(SOCKET))).await.map_err(failed)?;
        for name in &left {
            cri.forget_image(name).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Lets containerd pull the image from the first master, if that lends it and this machine's own source does not have it.
    async fn borrow(&self, cx: &Context, archive: &ImageArchive) -> Result<bool, StepError> {
        let Some(lent) = lent(cx, &archive.path)? else { return Ok(false) };
        let Some(pull) = lent.images.get(&self.image) else { return Ok(false) };
        let Some(relay) = cx.lent.relay(&cx.files).await? else { return Ok(false) };
        let pulling = pull::pull(cx, &self.image, relay.address, &lent.repository, pull);
        let pulled = relay.while_lent(pulling).await?;
        if let Err(e) = &pulled {
            cx.report.note(&self.name(), format!("{e}; downloading the archive"));
        }
        Ok(pulled.is_ok())
    }

    /// Whether nodeinit's import of this image was interrupted: `ctr` names an image before it has unpacked it, and so before it has
    /// found out that it is damaged.
    fn is_incomplete(&self, cx: &Context) -> bool {
        let known = cx.journal.state();
        known.images.contains(&self.image) && !known.ended.contains(&self.name())
    }
}

fn no_answer(error: CommandError) -> StepError {
    if error.is_missing() {
        return StepError::caused("containerd's `ctr` is not installed", error).hint("install containerd");
    }
    StepError::caused("containerd does not answer", error)
        .exit(Exit::TryAgain)
        .hint("see `systemctl status containerd` and `journalctl -u containerd`")
}

fn refused(archive: &str, error: CommandError) -> StepError {
    let what = format!("containerd rejected the archive {archive}");
    let words = match &error {
        CommandError::Failed { stderr, .. } => stderr.clone(),
        _ => return no_answer(error),
    };
    let is = |part: &str| words.contains(part);
    let step = StepError::caused(what, error);
    if is("no space left on device") || is("disk quota exceeded") {
        return step
            .exit(Exit::TryAgain)
            .hint("free some space (`df -h /var/lib/containerd`), then run the same command again to resume");
    }
    if is("failed to dial") || is("connection refused") || is("Unavailable") || is("error reading from server") {
        return step
            .exit(Exit::TryAgain)
            .hint("see `systemctl status containerd` and `journalctl -u containerd`, then run the same command again");
    }
    step.hint(
        "the archive is damaged or not an image archive: copy it again, and compare its SHA-256 with that of the original",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    #[test]
    fn the_error_of_containerd_decides_the_hint() {
        let failure = |stderr: &str| {
            let error = CommandError::Failed {
                command: "ctr".into(),
                status: ExitStatus::from_raw(1 << 8),
                stderr: stderr.into(),
            };
            refused("/a.tar", error)
        };
        assert_eq!(failure("ctr: write /x: no space left on device: unknown").exit, Exit::TryAgain);
        let broken = failure("ctr: archive/tar: invalid tar header");
        assert_eq!(broken.exit, Exit::Failed);
        assert!(broken.to_string().contains("/a.tar"));
        assert!(broken.causes()[0].contains("invalid tar header"));
    }

    #[tokio::test]
    async fn an_image_whose_import_was_interrupted_is_imported_again() {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\nartifacts: {source: /source}\n";
        let (_dir, cx) = crate::context::testing::context_of(config);
        let name = "registry.k8s.io/pause:3.10.1".to_owned();
        let archive = ImageArchive { path: "pause.tar".into(), image: name.clone(), sha256: None };
        let present = OnceCell::new_with(Some([(name.clone(), false)].into()));
        let shared = Rc::new(Shared { present, slots: Semaphore::new(1) });
        let step =
            Image { name: ImageName::of(&name), image: name.clone(), archive: Some(archive), sweeps: false, shared };
        assert_eq!(step.check(&cx).await.unwrap(), State::Done, "another program's image, unpacked when it is used");
        cx.journal.intend(vec![Record::Image { name }]).unwrap();
        assert!(matches!(step.check(&cx).await.unwrap(), State::Needed(_)));
        cx.journal.note(Record::End { step: "image-pause".into(), milliseconds: 1 }).unwrap();
        assert_eq!(step.check(&cx).await.unwrap(), State::Done);
    }

    #[tokio::test]
    async fn names_that_an_interrupted_pull_left_are_removed_by_the_first_image_step() {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\nartifacts: {source: /source}\n";
        let (_dir, cx) = crate::context::testing::context_of(config);
        let image = "registry.k8s.io/pause:3.10.1".to_owned();
        let ours = format!("127.0.0.1:1/nodeinit/{}:{}", "a".repeat(32), "b".repeat(64));
        let theirs = ours.replace(":1/", ":2/");
        cx.journal.intend(vec![Record::Image { name: ours.clone() }]).unwrap();
        let images = [&image, &ours, &theirs].map(|name| (name.clone(), true));
        let shared = || {
            let present = OnceCell::new_with(Some(images.clone().into()));
            Rc::new(Shared { present, slots: Semaphore::new(1) })
        };
        let step = |sweeps| Image {
            name: ImageName::of(&image),
            image: image.clone(),
            archive: None,
            sweeps,
            shared: shared(),
        };
        assert_eq!(step(true).leftovers(&cx).await.unwrap(), [ours]);
        assert!(matches!(step(true).check(&cx).await.unwrap(), State::Needed(_)));
        assert_eq!(step(false).check(&cx).await.unwrap(), State::Done);
    }
}
