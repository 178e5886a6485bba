//! Removes the imported images.

use crate::{
    api::cri,
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    steps::containerd,
};
use async_trait::async_trait;
use std::{path::Path, time::Duration};

/// Limit for one call of `ctr`.
const LIMIT: Duration = Duration::from_secs(60);

/// Step `remove-images`: removes the images that nodeinit imported.
pub struct RemoveImages;

#[async_trait(?Send)]
impl Step for RemoveImages {
    fn id(&self) -> StepId {
        StepId::RemoveImages
    }

    fn title(&self) -> String {
        "remove the imported images".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(images(cx).await?.iter().map(|image| format!("remove image {image}")).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for image in images(cx).await? {
            cx.commands.run(&["ctr", "-n", "k8s.io", "images", "rm", &image], LIMIT).await?;
        }
        Ok(())
    }
}

async fn images(cx: &Context) -> Result<Vec<String>, StepError> {
    let ours = cx.journal.state().images;
    if ours.is_empty() || containerd::is_removed(cx) || !cx.files.exists(Path::new(cri::SOCKET)) {
        return Ok(Vec::new());
    }
    let present = cx.commands.run(&["ctr", "-n", "k8s.io", "images", "ls", "-q"], LIMIT).await?;
    Ok(present.lines().filter(|name| ours.contains(*name)).map(str::to_owned).collect())
}
