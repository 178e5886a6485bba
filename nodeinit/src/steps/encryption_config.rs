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
pub struct EncryptionConfig;
#[async_trait(?Send)]
impl Step for EncryptionConfig {
    fn name(&self) -> String {
        "encryption-config".into()
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
