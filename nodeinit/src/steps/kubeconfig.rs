//! stub
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
    },
};
use async_trait::async_trait;
/// stub
pub struct Kubeconfigs;
#[async_trait(?Send)]
impl Step for Kubeconfigs {
    fn name(&self) -> String {
        "kubeconfig".into()
    }
    fn needs(&self) -> Vec<String> {
        vec![]
    }
    fn title(&self) -> String {
        "".into()
    }
    async fn check(&self, _: &Context) -> Result<State, StepError> {
        Ok(State::Done)
    }
    async fn apply(&self, _: &Context) -> Result<(), StepError> {
        Ok(())
    }
}
