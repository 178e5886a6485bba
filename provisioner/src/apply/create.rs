//! Making parts. A request whose answer is lost is not repeated before the mark was looked for.

use super::Apply;
use crate::{
    error::Error,
    openstack::{Method, backoff},
    permit::{self, Permission},
    resources::{
        Found, Kind, Part,
        body::collection,
        desired::Want,
        observe,
        part::{ATTACHED, NEVER, ONCE, TOKEN},
        plan::Fix,
    },
};
use base64::Engine as _;
use serde_json::{Value, json};

impl Apply<'_> {
    /// One part, until it is as the next ones need it.
    pub(super) async fn create(&self, want: &Want) -> Result<(), Error> {
        let part = &want.part;
        let heavy = matches!(part.kind, Kind::Server | Kind::Volume);
        let balancing = matches!(part.kind, Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member);
        // Octavia takes one change of a balancer at a time, and refuses others until it is ACTIVE again.
        let _turn = if balancing { Some(self.balancing.lock().await) } else { None };
        if balancing {
            self.balancer_settled().await?;
        }
        // The semaphore is never closed.
        let _permit = if heavy { Some(self.building.acquire().await) } else { None };
        let user_data = match part.kind {
            Kind::Server => Some(base64::engine::general_purpose::STANDARD.encode(self.user_data(&part.name)?)),
            _ => None,
        };
        let made = |part: &Part| self.made.get(part);
        let body = self.context(&made).create(want, user_data.as_deref());
        let mut body =
            body.ok_or_else(|| Error::Defect(format!("{part}: a resource that it depends on does not exist")))?;
        if part.kind == Kind::Server {
            if let Some(id) = self.token_id(&part.name) {
                body["server"]["metadata"][TOKEN] = json!(id);
            }
            self.announce().await?;
            self.mark_attached(&part.name).await?;
        }
        let (_, path, key) = collection(part.kind);
        let (path, body) = match part.kind {
            Kind::Server => (path.to_owned(), body),
            _ if balancing => self.below_the_balancer(part.kind, body)?,
            _ => (path.to_owned(), json!({ key: body })),
        };
        let found = self.post(part.kind, std::slice::from_ref(part), &path, &body).await?;
        for one in found {
            self.settle(want, one).await?;
        }
        Ok(())
    }

    /// Writes that the cluster is new, before its first machine: if this run is interrupted, the next one finds it.
    async fn announce(&self) -> Result<(), Error> {
        let announce = async || {
            let Some(group) = self.made.get(&permit::part()).filter(|_| self.permits) else { return Ok(()) };
            if Permission::of(&group) == Permission::None {
                self.made.add(permit::part(), permit::write(self.client, &group, &Permission::New).await?);
            }
            Ok(())
        };
        self.announced.get_or_try_init(announce).await.copied()
    }

    /// Says on a machine's volume that it may hold data, before there is a server that could write on it.
    async fn mark_attached(&self, name: &str) -> Result<(), Error> {
        let Some(volume) = self.made.get(&Part::new(Kind::Volume, name)) else { return Ok(()) };
        if volume.body["metadata"][ATTACHED] != NEVER {
            return Ok(());
        }
        let (service, path, _) = collection(Kind::Volume);
        let body = json!({ "metadata": { ATTACHED: ONCE } });
        self.client.send(Method::POST, service, &format!("{path}/{}/metadata", volume.id), Some(&body)).await?;
        Ok(())
    }

    /// Rules or ports, by one request: all of them or none.
    pub(super) async fn create_many(&self, kind: Kind, wants: &[&Want]) -> Result<(), Error> {
        let made = |part: &Part| self.made.get(part);
        let context = self.context(&made);
        let bodies: Option<Vec<Value>> = wants.iter().map(|want| context.create(want, None)).collect();
        let bodies = bodies
            .ok_or_else(|| Error::Defect(format!("{}: a resource that it depends on does not exist", wants[0].part)))?;
        let (_, path, key) = collection(kind);
        let parts: Vec<Part> = wants.iter().map(|want| want.part.clone()).collect();
        let found = self.post(kind, &parts, path, &json!({ format!("{key}s"): bodies })).await?;
        found.into_iter().for_each(|one| self.made.add(one.part.clone(), one));
        Ok(())
    }

    /// Sends what creates, until it is certain that it was done once.
    async fn post(&self, kind: Kind, parts: &[Part], path: &str, body: &Value) -> Result<Vec<Found>, Error> {
        let (service, _, key) = collection(kind);
        let mut backoff = backoff::within(self.client.limit());
        loop {
            let error = match self.client.post_without_retry(service, path, body).await {
                Ok(mut answer) => return read(parts, key, &mut answer),
                Err(error) => error,
            };
            let pending = error.status() == Some(409) && service == crate::openstack::Service::LoadBalancer;
            if !(error.may_heal() || pending) || !backoff.pause().await {
                return Err(error.into());
            }
            // The service may have done it all the same.
            let there = observe::of_kind(self.client, self.marker, kind).await?;
            let there: Vec<Found> = there.into_iter().filter(|found| parts.contains(&found.part)).collect();
            if there.len() >= parts.len() {
                return Ok(there);
            }
        }
    }

    /// Waits for what was made, as far as others depend on it.
    async fn settle(&self, want: &Want, found: Found) -> Result<(), Error> {
        match want.part.kind {
            Kind::Volume => {
                let found = self.volume_ready(&found).await?;
                self.made.add(want.part.clone(), found);
            }
            Kind::Server => {
                let found = self.server_active(&found).await?;
                self.permit(&found).await?;
                self.made.add(want.part.clone(), found);
            }
            Kind::Balancer => {
                // Its address is known from now on, which is all that servers wait for.
                self.made.add(want.part.clone(), found.clone());
                self.balancer_active(&found).await?;
            }
            Kind::RouterPort => return self.repair(want, &found, &[Fix::Attach]).await,
            Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member => {
                self.balancer_settled().await?;
                self.made.add(want.part.clone(), found);
            }
            _ => self.made.add(want.part.clone(), found),
        }
        Ok(())
    }

    /// Writes that the first master's new server may bootstrap etcd, before anybody can tell the machine so.
    async fn permit(&self, server: &Found) -> Result<(), Error> {
        let is_first = self.loaded.cluster.masters.first().is_some_and(|first| first.name == server.part.name);
        let Some(group) = self.made.get(&permit::part()).filter(|_| self.permits && is_first) else { return Ok(()) };
        if matches!(Permission::of(&group), Permission::None | Permission::New) {
            let permission = Permission::Permitted { server: server.id.clone(), machine: None };
            self.made.add(permit::part(), permit::write(self.client, &group, &permission).await?);
        }
        Ok(())
    }

    /// What is below the balancer names what it belongs to.
    fn below_the_balancer(&self, kind: Kind, mut body: Value) -> Result<(String, Value), Error> {
        let (_, path, key) = collection(kind);
        let id = |kind: Kind| {
            let part = Part::new(kind, crate::resources::desired::API);
            let found = self.made.get(&part);
            found.map(|found| found.id.clone()).ok_or_else(|| Error::Defect(format!("{part} does not exist")))
        };
        let mut path = path.to_owned();
        match kind {
            Kind::Listener => body["loadbalancer_id"] = json!(id(Kind::Balancer)?),
            Kind::Pool => body["listener_id"] = json!(id(Kind::Listener)?),
            Kind::Monitor => body["pool_id"] = json!(id(Kind::Pool)?),
            _ => path = format!("/pools/{}/members", id(Kind::Pool)?),
        }
        Ok((path, json!({ key: body })))
    }
}

/// One object, or several in the order in which they were asked for.
fn read(parts: &[Part], key: &str, answer: &mut Value) -> Result<Vec<Found>, Error> {
    let bodies = match answer[format!("{key}s")].take() {
        Value::Array(bodies) => bodies,
        _ => vec![answer[key].take()],
    };
    let found: Option<Vec<Found>> =
        parts.iter().zip(bodies).map(|(part, body)| Found::new(part.clone(), body)).collect();
    found
        .filter(|found| found.len() == parts.len())
        .ok_or_else(|| Error::Defect(format!("{}: the cloud's answer contains no ID", parts[0])))
}
