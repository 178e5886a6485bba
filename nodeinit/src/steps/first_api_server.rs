//! Starts a further master's API server after the first master's answers.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::files::FileError,
    render::paths::STATIC_PODS,
    steps::cluster,
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use nodeinit_config::Component;
use std::{net::IpAddr, path::Path, time::Duration};

/// If the first API server takes longer, it has a problem, and the others start without it.
const COURTESY: Duration = Duration::from_secs(30);
/// Pause between two requests to a busy server.
const PAUSE: Duration = Duration::from_millis(200);

/// Step `first-api-server`: waits, because API servers that start together on an empty etcd all write the same objects, while every
/// node waits for the first one that answers.
pub struct FirstApiServer;

/// Returns the address of the first master's API server, if it is configured.
fn first(cx: &Context) -> Option<IpAddr> {
    cx.cluster.masters.first()?.address
}

/// Whether this machine's API server was started before.
fn is_started(cx: &Context) -> Result<bool, FileError> {
    let manifest = Path::new(STATIC_PODS).join(format!("{}.yaml", Component::ApiServer.name()));
    Ok(cx.files.read(manifest)?.is_some())
}

#[async_trait(?Send)]
impl Step for FirstApiServer {
    fn id(&self) -> StepId {
        StepId::FirstApiServer
    }

    fn title(&self) -> String {
        "wait for the first master's API server".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let Some(first) = first(cx) else { return Ok(State::Done) };
        let over = is_started(cx)? || cluster::ready_at(cx, first).await.is_break();
        Ok(if over { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let Some(first) = first(cx) else { return Ok(()) };
        let wait = Wait::new(format!("the API server at {first}"), COURTESY).at_most_every(PAUSE);
        if let Err(late) = wait.until(async || cluster::ready_at(cx, first).await).await {
            cx.report.note(&self.name(), format!("{late}; continuing without it"));
        }
        Ok(())
    }
}
