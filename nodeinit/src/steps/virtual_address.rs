//! The virtual address: a static pod on every master, of which one at a time holds the address.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{Plan, State, Step},
        wait::Wait,
    },
    host::files::NewFile,
    render::{self, static_pod},
    steps::cluster,
};
use async_trait::async_trait;
use std::{net::IpAddr, path::Path};

/// The name of the wait, for steps that depend on the address.
pub const ANSWERS: &str = "virtual-address";

/// The key under which a machine's first run records the address, as it cannot change.
pub const RECORDED_AS: &str = "controlPlane.virtualAddress";

/// Step `manifest-kube-vip`: the pod's manifest, from which the kubelet starts it. It keeps trying until this machine's API server lets it in.
pub struct Manifest {
    /// The step that brings its image; `None` where no archive does.
    image: Option<String>,
}

impl Manifest {
    /// The step, for a plan that holds the images' steps already.
    #[must_use]
    pub fn after(plan: &Plan) -> Self {
        let image = "image-kube-vip";
        Self { image: plan.iter().any(|step| step.name() == image).then(|| image.to_owned()) }
    }
}

fn manifest(cx: &Context) -> Result<NewFile, StepError> {
    let pod = static_pod::kube_vip(&cx.renderer())?;
    Ok(NewFile::private(Path::new(render::paths::STATIC_PODS).join(pod.file_name), pod.text))
}

#[async_trait(?Send)]
impl Step for Manifest {
    fn name(&self) -> String {
        "manifest-kube-vip".into()
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = vec!["kubeconfig".into(), "kubelet-config".into(), "image-pause".into()];
        needs.extend(self.image.clone());
        needs
    }

    fn title(&self) -> String {
        "place the static pod kube-vip".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(cx.differing(&[manifest(cx)?])?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.place(vec![manifest(cx)?]).await.map(drop)
    }
}

/// Step `virtual-address`: the API answers at it. Workers, other masters and the pod network come to it.
pub struct Answers(pub IpAddr);

#[async_trait(?Send)]
impl Step for Answers {
    fn name(&self) -> String {
        ANSWERS.into()
    }

    fn needs(&self) -> Vec<String> {
        // Before its role is bound, kube-vip may not take the lease.
        vec!["manifest-kube-vip".into(), "kube-apiserver".into(), "cluster-config".into()]
    }

    fn title(&self) -> String {
        format!("wait for the API at {}", self.0)
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(if cluster::ready_at(cx, self.0).await.is_break() { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let wait = Wait::new(format!("the API at the virtual address {}", self.0), cx.cluster.timeouts.control_plane);
        let logs = format!("/var/log/pods/kube-system_kube-vip-{}_*", cx.node.name);
        let hint = format!("see {logs}, and whether another machine has the address; then run `nodeinit up` again");
        wait.until(async || cluster::ready_at(cx, self.0).await).await.map_err(|late| StepError::from(late).hint(hint))
    }
}

/// A step that comes to the API by the virtual address, or makes pods that do.
pub struct Behind(pub Box<dyn Step>);

#[async_trait(?Send)]
impl Step for Behind {
    fn name(&self) -> String {
        self.0.name()
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = self.0.needs();
        needs.push(ANSWERS.into());
        needs
    }

    fn title(&self) -> String {
        self.0.title()
    }

    fn is_elsewhere(&self) -> bool {
        self.0.is_elsewhere()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        self.0.check(cx).await
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        self.0.apply(cx).await
    }
}
