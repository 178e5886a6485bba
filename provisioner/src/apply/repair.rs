//! Changing and removing parts.

use super::Apply;
use crate::{
    error::Error,
    gone,
    openstack::{Method, Service},
    resources::{
        Found, Kind, Part,
        body::collection,
        desired::{API, Want},
        plan::Fix,
    },
};
use serde_json::json;

impl Apply<'_> {
    /// Repairs the drift of an existing part.
    pub(super) async fn repair(&self, want: &Want, found: &Found, fixes: &[Fix]) -> Result<(), Error> {
        let part = &want.part;
        if part.kind == Kind::Balancer {
            // Others may name its address meanwhile.
            self.made.add(part.clone(), found.clone());
            self.balancer_active(found).await?;
        }
        let mut found = found.clone();
        if fixes.iter().any(|fix| matches!(fix, Fix::Update { .. })) {
            found = self.update(want, &found).await?;
        }
        for fix in fixes {
            match fix {
                Fix::Update { .. } | Fix::Wait { .. } => {}
                Fix::Act(action, _) => {
                    let path = format!("/servers/{}/action", found.id);
                    match self.client.post_without_retry(Service::Compute, &path, &json!({ *action: null })).await {
                        // It has reached that state meanwhile, or is on the way there.
                        Err(error) if error.status() == Some(409) => {}
                        other => drop(other?),
                    }
                }
                Fix::Attach => self.attach(&found).await?,
            }
        }
        let found = match part.kind {
            Kind::Server => self.server_active(&found).await?,
            Kind::Volume => self.volume_ready(&found).await?,
            Kind::Listener | Kind::Balancer => {
                self.balancer_settled().await?;
                found
            }
            _ => found,
        };
        self.made.add(part.clone(), found);
        Ok(())
    }

    async fn update(&self, want: &Want, found: &Found) -> Result<Found, Error> {
        let made = |part: &Part| self.made.get(part);
        let body = self.context(&made).update(want, Some(found));
        let body = body
            .ok_or_else(|| Error::Defect(format!("{}: no update exists for the property that differs", want.part)))?;
        let (service, path, key) = collection(want.part.kind);
        let mut answer = self
            .client
            .send(Method::PUT, service, &format!("{path}/{}", found.id), Some(&json!({ key: body })))
            .await?;
        Ok(Found::new(want.part.clone(), answer[key].take()).unwrap_or_else(|| found.clone()))
    }

    /// Puts the router's port into the router.
    async fn attach(&self, port: &Found) -> Result<(), Error> {
        let router = Part::new(Kind::Router, API);
        let router = self.made.get(&router).ok_or_else(|| Error::Defect(format!("{router} does not exist")))?;
        let path = format!("/routers/{}/add_router_interface", router.id);
        let body = json!({ "port_id": port.id });
        match self.client.send(Method::PUT, Service::Network, &path, Some(&body)).await {
            // A first try whose answer was lost has put it there.
            Err(error) if error.status() == Some(409) && self.is_attached(&port.id, &router.id).await? => {}
            other => drop(other?),
        }
        self.made.add(port.part.clone(), port.clone());
        Ok(())
    }

    async fn is_attached(&self, port: &str, router: &str) -> Result<bool, Error> {
        let body = self.client.get(Service::Network, &format!("/ports/{port}")).await?;
        Ok(body["port"]["device_id"] == *router)
    }

    /// Deletes a part, and waits until it is gone.
    pub(super) async fn remove(&self, found: &Found) -> Result<(), Error> {
        let (service, path, _) = collection(found.part.kind);
        let path = match found.part.kind {
            Kind::Balancer => format!("{path}/{}?cascade=true", found.id),
            Kind::Member => {
                let pool = Part::new(Kind::Pool, API);
                let pool = self.snapshot.find(&pool).ok_or_else(|| Error::Defect(format!("{pool} does not exist")))?;
                format!("{path}/{}/members/{}", pool.id, found.id)
            }
            _ => format!("{path}/{}", found.id),
        };
        self.client.delete(service, &path).await?;
        let limit = self.cloud.timeouts.deletion;
        match found.part.kind {
            Kind::Server => gone::from_list(&self.servers, found, limit).await,
            Kind::Volume => gone::from_list(&self.volumes, found, limit).await,
            Kind::Balancer => gone::balancer(self.client, found, limit).await,
            Kind::Member => match self.snapshot.find(&Part::new(Kind::Balancer, API)) {
                Some(balancer) => self.balancer_active(balancer).await,
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
