//! Waits, each with a name, a deadline and the cloud's own words.

use super::Apply;
use crate::{
    balancer,
    error::Error,
    openstack::listing::Listing,
    resources::{Found, Kind, Part, desired::API, diff::fault},
};
use nodeinit_base::Wait;
use serde_json::Value;
use std::{ops::ControlFlow, time::Duration};
use tokio::time::Instant;

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

    async fn listed(
        &self,
        listing: &Listing<'_>,
        found: &Found,
        what: &str,
        limit: Duration,
        verdict: impl Fn(&Value) -> Option<Result<(), String>>,
    ) -> Result<Found, Error> {
        let part = &found.part;
        let look = async || {
            let body = match listing.since(Instant::now()).await {
                Ok(objects) => objects.get(&found.id).cloned().unwrap_or_default(),
                Err(error) => return ControlFlow::Break(Err(error.into())),
            };
            match verdict(&body) {
                Some(Ok(())) => ControlFlow::Break(
                    Found::new(part.clone(), body).ok_or_else(|| Error::Defect(format!("{part} has no id"))),
                ),
                Some(Err(fault)) => ControlFlow::Break(Err(Error::Fault { thing: part.to_string(), fault })),
                None => ControlFlow::Continue(body["status"].as_str().unwrap_or("not in the list").to_owned()),
            }
        };
        Wait::new(what, limit).until(look).await.map_err(|expired| Error::timed_out(part, expired))?
    }

    /// Until the balancer takes changes again.
    pub(super) async fn balancer_settled(&self) -> Result<(), Error> {
        let part = Part::new(Kind::Balancer, API);
        let found = self.made.get(&part).ok_or_else(|| Error::Defect(format!("{part} does not exist")))?;
        self.balancer_active(&found).await
    }

    /// Until the balancer is ACTIVE.
    pub(super) async fn balancer_active(&self, found: &Found) -> Result<(), Error> {
        balancer::active(self.client, &found.id, self.cloud.timeouts.load_balancer).await
    }
}
