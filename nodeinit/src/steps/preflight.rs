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
pub const NAME: &str = "preflight";
/// stub
pub struct Preflight;
#[async_trait(?Send)]
impl Step for Preflight {
    fn name(&self) -> String {
        "preflight".into()
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
