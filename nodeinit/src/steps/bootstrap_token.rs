//! The first tokens with which machines join.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
    },
    pki::{expiry::date, random},
    render::cluster_objects::{BootstrapToken, bootstrap_token},
    steps::{
        cluster::{apply, client},
        pki::bundle,
    },
};
use async_trait::async_trait;
use nodeinit_config::Secret;
use std::time::Duration;

/// How long they are valid, as kubeadm's first one.
const VALIDITY: Duration = Duration::from_secs(24 * 3600);

/// Step `bootstrap-token`: the secrets bundle's tokens, or a fresh one; valid for a day.
///
/// It runs once: what became of them later is the operator's business.
pub struct FirstToken;

/// A new token, which is valid once it is registered.
///
/// # Errors
/// Where the system has no randomness.
pub fn random() -> Result<Secret<String>, StepError> {
    random::bootstrap_token().map(Secret::new).map_err(|e| StepError::caused("cannot make a token", e))
}

#[async_trait(?Send)]
impl Step for FirstToken {
    fn name(&self) -> String {
        "bootstrap-token".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["kube-apiserver".into()]
    }

    fn title(&self) -> String {
        "make the first bootstrap token".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(match cx.journal.state().ended.contains(&self.name()) {
            true => State::Done,
            false => State::needed("make a bootstrap token that is valid for 24 h"),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let now = cx.clock.now();
        let tokens = match bundle::read(&cx.files, now)? {
            Some(bundle) => bundle.bootstrap_tokens,
            None => vec![random()?],
        };
        for token in tokens {
            let (id, secret) = token.expose().split_once('.').unwrap_or_default();
            let object = bootstrap_token(&BootstrapToken {
                id: id.to_owned(),
                secret: Secret::new(secret.to_owned()),
                description: "made by nodeinit up".into(),
                expiration: Some(date(now + VALIDITY)),
                worker: None,
            });
            apply(client(cx)?, &object, cx.cluster.timeouts.control_plane).await?;
        }
        Ok(())
    }
}
