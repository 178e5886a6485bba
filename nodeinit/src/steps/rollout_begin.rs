//! The begin of a rollout on the leading master itself. Not a part of `rollout`, on which the fan-out depends: this knows the steps of a master.

use super::{
    artifacts,
    kubelet::{self, KubeletConfig, KubeletService},
    rollout::Rollout,
    static_pods::PlaceManifest,
    virtual_address::PlaceKubeVip,
};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::systemd,
};
use async_trait::async_trait;
use nodeinit_config::{Cluster, Component, cluster::Hooks};
use std::rc::Rc;

/// Step `rollout-begin`: runs the hooks before this master restarts its kubelet or static pods.
pub struct Begin(Rc<Rollout>);

impl Begin {
    /// Returns the step if the configuration has hooks.
    #[must_use]
    pub fn of(cluster: &Cluster, rollout: &Rc<Rollout>) -> Option<Self> {
        (cluster.rollout.hooks != Hooks::default()).then(|| Self(rollout.clone()))
    }
}

#[async_trait(?Send)]
impl Step for Begin {
    fn id(&self) -> StepId {
        StepId::RolloutBegin
    }

    fn title(&self) -> String {
        "run the hooks before this master changes".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let runs = cx.files.exists(systemd::enabled(kubelet::UNIT));
        Ok(if runs && restarts(cx).await? { State::needed(self.title()) } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        self.0.begin_own(cx).await
    }
}

/// Whether one of the later steps restarts what runs on this machine.
async fn restarts(cx: &Context) -> Result<bool, StepError> {
    let [kubelet, _] = artifacts::steps(&cx.cluster);
    let machine: [Box<dyn Step>; 3] = [Box::new(KubeletConfig), Box::new(kubelet), Box::new(KubeletService)];
    let pods = Component::ALL.map(|component| Box::new(PlaceManifest(component)) as Box<dyn Step>);
    let address = cx.cluster.control_plane.virtual_address.map(|_| Box::new(PlaceKubeVip) as Box<dyn Step>);
    for step in machine.into_iter().chain(pods).chain(address) {
        if step.check(cx).await? != State::Done {
            return Ok(true);
        }
    }
    Ok(false)
}
