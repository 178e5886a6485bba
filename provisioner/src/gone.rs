//! Waits until something that was deleted is gone.

use crate::{
    error::Error,
    openstack::{Client, Service, listing::Listing},
    resources::Found,
};
use nodeinit_base::Wait;
use std::{ops::ControlFlow, time::Duration};
use tokio::time::Instant;

/// How often a balancer is looked at.
const LOOK: Duration = Duration::from_millis(700);

fn wait(limit: Duration) -> Wait {
    Wait::new("it is deleted", limit)
}

/// Until a thing is in the list no more.
///
/// # Errors
/// As the service says; or it is there still after `limit`.
pub async fn from_list(listing: &Listing<'_>, found: &Found, limit: Duration) -> Result<(), Error> {
    let look = async || match listing.since(Instant::now()).await {
        Ok(objects) => match objects.get(&found.id) {
            Some(body) => ControlFlow::Continue(body["status"].as_str().unwrap_or_default().to_owned()),
            None => ControlFlow::Break(Ok(())),
        },
        Err(error) => ControlFlow::Break(Err(error.into())),
    };
    wait(limit).until(look).await.map_err(|expired| Error::timed_out(&found.part, expired))?
}

/// Until a balancer is gone. One that is ACTIVE or in ERROR is asked for its deletion again: the first request was refused, or came
/// while the balancer was being changed.
///
/// # Errors
/// As [`from_list`].
pub async fn balancer(client: &Client, found: &Found, limit: Duration) -> Result<(), Error> {
    let look = async || match balancer_state(client, found).await {
        Ok(None) => ControlFlow::Break(Ok(())),
        Ok(Some(state)) => ControlFlow::Continue(state),
        Err(error) => ControlFlow::Break(Err(error)),
    };
    let wait = wait(limit).first_pause(LOOK);
    wait.until(look).await.map_err(|expired| Error::timed_out(&found.part, expired))?
}

async fn balancer_state(client: &Client, found: &Found) -> Result<Option<String>, Error> {
    let path = format!("/loadbalancers/{}", found.id);
    let body = match client.get(Service::LoadBalancer, &path).await {
        Err(error) if error.status() == Some(404) => return Ok(None),
        other => other?,
    };
    let state = body["loadbalancer"]["provisioning_status"].as_str().unwrap_or_default();
    if state == "DELETED" {
        return Ok(None);
    }
    if matches!(state, "ACTIVE" | "ERROR") {
        client.delete(Service::LoadBalancer, &format!("{path}?cascade=true")).await?;
    }
    Ok(Some(state.to_owned()))
}
