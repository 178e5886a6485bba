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
pub struct Pki;
#[async_trait(?Send)]
impl Step for Pki {
    fn name(&self) -> String {
        "pki".into()
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
/// stub
pub fn expiries(_: &Context) -> Result<Vec<serde_json::Value>, StepError> {
    Ok(vec![])
}
