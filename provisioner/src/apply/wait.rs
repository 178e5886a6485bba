//! Waits, each with a name, a deadline and the cloud's own words.

use super::Apply;
use crate::{
    error::Error,
    openstack::{Service, listing::Listing},
    resources::{Found, Kind, Part, desired::API, diff::fault},
};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How often a balancer is looked at.
const LOOK: Duration = Duration::from_millis(700);

impl Apply<'_> {
    /// Until the volume holds its image.
    pub(super) async fn volume_ready(&self, found: &Found) -> Result<Found, Error> {
        let verdict = |body: &Value| match body["status"].as_str().unwrap_or_default() {
            "available" | "in-use" => Some(Ok(())),
            state if state.starts_with("error") => Some(Err(format!("it is in the state {state}"))),
            _ => None,
        };
        self.listed(&self.volumes, found, "the volume holds its image", self.cloud.timeouts.volume, verdict).await
    }

    /// Until the server is ACTIVE.
    pub(super) async fn server_active(&self, found: &Found) -> Result<Found, Error> {
        let verdict = |body: &Value| match body["status"].as_str().unwrap_or_default() {
            "ACTIVE" => Some(Ok(())),
            "ERROR" => Some(Err(fault(body))),
            _ => None,
        };
        self.listed(&self.servers, found, "the server is ACTIVE", self.cloud.timeouts.server, verdict).await
    }

    /// Until something is in no list any more.
    pub(super) async fn gone(&self, listing: &Listing<'_>, found: &Found) -> Result<(), Error> {
        let limit = self.cloud.timeouts.deletion;
        let begun = Instant::now();
        loop {
            let objects = listing.since(Instant::now()).await?;
            let Some(body) = objects.get(&found.id) else { return Ok(()) };
            if begun.elapsed() > limit {
                return Err(deadline(&found.part, "it is deleted", limit, &body["status"]));
            }
        }
    }

    async fn listed(
        &self,
        listing: &Listing<'_>,
        found: &Found,
        what: &str,
        limit: Duration,
        verdict: impl Fn(&Value) -> Option<Result<(), String>>,
    ) -> Result<Found, Error> {
        let begun = Instant::now();
        loop {
            let objects = listing.since(Instant::now()).await?;
            let body = objects.get(&found.id).cloned().unwrap_or_default();
            match verdict(&body) {
                Some(Ok(())) => {
                    return Found::new(found.part.clone(), body)
                        .ok_or_else(|| Error::Defect(format!("{} has no id", found.part)));
                }
                Some(Err(fault)) => return Err(Error::Fault { thing: found.part.to_string(), fault }),
                None if begun.elapsed() > limit => return Err(deadline(&found.part, what, limit, &body["status"])),
                None => {}
            }
        }
    }

    /// Until the balancer takes changes again.
    pub(super) async fn balancer_settled(&self) -> Result<(), Error> {
        let part = Part::new(Kind::Balancer, API);
        let found = self.made.get(&part).ok_or_else(|| Error::Defect(format!("{part} is not there")))?;
        self.balancer_active(&found).await
    }

    /// Until the balancer is ACTIVE.
    pub(super) async fn balancer_active(&self, found: &Found) -> Result<(), Error> {
        crate::balancer::active(self.client, &found.id, self.cloud.timeouts.load_balancer).await
    }

    /// Until the balancer is gone.
    pub(super) async fn balancer_gone(&self, found: &Found) -> Result<(), Error> {
        let limit = self.cloud.timeouts.deletion;
        let begun = Instant::now();
        loop {
            let state = match self.client.get(Service::LoadBalancer, &format!("/loadbalancers/{}", found.id)).await {
                Err(error) if error.status() == Some(404) => return Ok(()),
                other => other?["loadbalancer"]["provisioning_status"].take(),
            };
            if state == "DELETED" {
                return Ok(());
            }
            if begun.elapsed() > limit {
                return Err(deadline(&found.part, "it is deleted", limit, &state));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn deadline(part: &Part, what: &str, limit: Duration, last: &Value) -> Error {
    let last = last.as_str().unwrap_or("not in the list").to_owned();
    Error::Deadline { thing: part.to_string(), what: what.to_owned(), seconds: limit.as_secs(), last }
}
