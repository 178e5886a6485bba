//! Deletes everything that carries the cluster's mark, in an order in which nothing is in use any more.

use crate::{
    error::{Causes, Error},
    gone,
    openstack::{Client, Method, Service, backoff, listing::Listing},
    output::Output,
    resources::{Found, Kind, Marker, body::collection, observe},
};
use futures_util::future::join_all;
use nodeinit_config::OpenStack;
use serde_json::json;
use std::{
    cell::RefCell,
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;

/// What goes together; each stage begins when the one before is gone.
const STAGES: [&[Kind]; 5] = [
    &[Kind::FloatingIp, Kind::Server],
    &[Kind::Balancer, Kind::Volume, Kind::Port, Kind::ServerGroup],
    &[Kind::RouterPort],
    &[Kind::Router, Kind::Subnet],
    &[Kind::Network, Kind::SecurityGroup],
];

/// Lists of servers and volumes are asked for no more often.
const LOOK: Duration = Duration::from_secs(1);

/// What will be deleted, in the order of a report. Rules, and what is below the balancer, go with what they are of.
pub fn doomed(ours: &[Found]) -> Vec<&Found> {
    let staged = |kind: Kind| STAGES.iter().any(|stage| stage.contains(&kind));
    let mut all: Vec<&Found> = ours.iter().filter(|found| staged(found.part.kind)).collect();
    all.sort_by(|a, b| a.part.cmp(&b.part));
    all
}

/// Deletes, and waits until all is gone.
///
/// # Errors
/// How many could not be deleted; each failure has been told.
pub async fn run(client: &Client, marker: &Marker, cloud: &OpenStack, output: &Output) -> Result<(), Error> {
    let ours = observe::ours(client, marker, cloud).await?;
    delete_all(client, marker, cloud, output, &ours).await
}

/// Deletes one machine's resources.
///
/// # Errors
/// As [`run`].
pub async fn machine(
    client: &Client,
    marker: &Marker,
    cloud: &OpenStack,
    name: &str,
    output: &Output,
    ours: &[Found],
) -> Result<(), Error> {
    delete_all(client, marker, cloud, output, &of_machine(ours, name)).await
}

/// What is a machine's alone.
pub fn of_machine(ours: &[Found], name: &str) -> Vec<Found> {
    let own = [Kind::Server, Kind::Volume, Kind::Port, Kind::FloatingIp];
    ours.iter().filter(|found| found.part.name == name && own.contains(&found.part.kind)).cloned().collect()
}

/// Deletes these resources, and waits until all are gone.
///
/// # Errors
/// As [`run`].
pub async fn delete_all(
    client: &Client,
    marker: &Marker,
    cloud: &OpenStack,
    output: &Output,
    ours: &[Found],
) -> Result<(), Error> {
    let work = Destroy {
        client,
        cloud,
        output,
        servers: Listing::new(client, Service::Compute, &observe::servers(marker, ours, true), "servers", LOOK),
        volumes: Listing::new(client, Service::Volume, observe::VOLUMES, "volumes", LOOK),
        deleting: Semaphore::new(cloud.parallel),
        begun: Instant::now(),
        failures: RefCell::default(),
    };
    // The balancer needs no machine to be gone first, and takes long.
    let balancers: Vec<&Found> = ours.iter().filter(|found| found.part.kind == Kind::Balancer).collect();
    let begin = join_all(balancers.iter().map(|found| work.begin_balancer(found)));
    let first = join_all(ours.iter().filter(|found| STAGES[0].contains(&found.part.kind)).map(|found| work.one(found)));
    tokio::join!(begin, first);
    for stage in &STAGES[1..] {
        join_all(ours.iter().filter(|found| stage.contains(&found.part.kind)).map(|found| work.one(found))).await;
    }
    work.failures.into_inner().outcome(doomed(ours).len())
}

struct Destroy<'a> {
    client: &'a Client,
    cloud: &'a OpenStack,
    output: &'a Output,
    servers: Listing<'a>,
    volumes: Listing<'a>,
    deleting: Semaphore,
    begun: Instant,
    failures: RefCell<Causes>,
}

impl Destroy<'_> {
    async fn one(&self, found: &Found) {
        // As many as `apply` creates at once. The semaphore is never closed.
        let is_heavy = matches!(found.part.kind, Kind::Server | Kind::Volume);
        let _permit = if is_heavy { Some(self.deleting.acquire().await) } else { None };
        let begun = Instant::now();
        let part = found.part.to_string();
        self.output.begin(&part, "deleting");
        let outcome = self.delete(found).await;
        self.output.end_as(&part, outcome.is_err());
        let (at, took) = (self.begun.elapsed().as_secs_f64(), begun.elapsed().as_secs_f64());
        match outcome {
            Ok(()) => self.output.tell(
                &format!("{at:6.1} s  deleted  {part} ({took:.1} s)"),
                || json!({ "event": "done", "part": part, "action": "deleted", "seconds": took, "at": at }),
            ),
            Err(error) => {
                self.failures.borrow_mut().add(vec![part.clone()], &error);
                self.output.fail(&part, &error, at);
            }
        }
    }

    /// Octavia works on it while machines go. What it says is heard when it is waited for.
    async fn begin_balancer(&self, found: &Found) {
        let _ = self.client.delete(Service::LoadBalancer, &format!("/loadbalancers/{}?cascade=true", found.id)).await;
    }

    async fn delete(&self, found: &Found) -> Result<(), Error> {
        let (service, path, _) = collection(found.part.kind);
        let path = format!("{path}/{}", found.id);
        let limit = self.cloud.timeouts.deletion;
        match found.part.kind {
            Kind::Server => {
                self.client.delete(service, &path).await?;
                gone::from_list(&self.servers, found, limit).await
            }
            Kind::Volume => {
                self.patient(service, &path).await?;
                gone::from_list(&self.volumes, found, limit).await
            }
            // Octavia was asked for it at the beginning.
            Kind::Balancer => gone::balancer(self.client, found, limit).await,
            Kind::RouterPort => self.router_port(found).await,
            _ => self.patient(service, &path).await,
        }
    }

    /// A thing may be held for a moment by what was just deleted.
    async fn patient(&self, service: Service, path: &str) -> Result<(), Error> {
        let mut backoff = backoff::within(self.client.limit());
        loop {
            match self.client.delete(service, path).await {
                Err(error) if matches!(error.status(), Some(400 | 409)) && backoff.pause().await => {}
                other => return Ok(other?),
            }
        }
    }

    async fn router_port(&self, found: &Found) -> Result<(), Error> {
        let router = found.text("device_id");
        if router.is_empty() {
            return self.patient(Service::Network, &format!("/ports/{}", found.id)).await;
        }
        let path = format!("/routers/{router}/remove_router_interface");
        let body = json!({ "port_id": found.id });
        let mut backoff = backoff::within(self.client.limit());
        loop {
            match self.client.send(Method::PUT, Service::Network, &path, Some(&body)).await {
                Err(error) if error.status() == Some(404) => return Ok(()),
                // Floating IPs through the router hold it.
                Err(error) if error.status() == Some(409) && backoff.pause().await => {}
                other => return Ok(other.map(drop)?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        output::Format,
        resources::Part,
        testing::{
            cloud, cluster,
            listener::{Request, with_cloud},
        },
    };
    use std::{
        cell::{Cell, RefCell},
        collections::BTreeSet,
        rc::Rc,
    };

    #[test]
    fn no_more_machines_are_deleted_at_once_than_are_made() {
        let under_way: Rc<RefCell<BTreeSet<String>>> = Rc::default();
        let most = Rc::new(Cell::new(0));
        let script = |request: &Request| {
            let mut under_way = under_way.borrow_mut();
            if request.method == "DELETE" {
                under_way.insert(request.path.clone());
                most.set(most.get().max(under_way.len()));
                return Some((204, json!({})));
            }
            let deleted = std::mem::take(&mut *under_way);
            let left = deleted.iter().filter(|path| path.ends_with("never"));
            Some((200, json!({ "servers": left.map(|path| json!({ "id": path })).collect::<Vec<_>>() })))
        };
        let seen = Rc::clone(&most);
        with_cloud(script, |client, _| async move {
            let mut cloud = cloud(&cluster(""));
            cloud.parallel = 2;
            let server = |n: i32| {
                let part = Part::new(Kind::Server, format!("w{n}"));
                Found::new(part, json!({ "id": format!("id-{n}") })).unwrap()
            };
            let ours: Vec<Found> = (0..6).map(server).collect();
            delete_all(&client, &Marker::new(crate::testing::ID, "demo"), &cloud, &Output::new(Format::Json), &ours)
                .await
                .unwrap();
            assert!(seen.get() <= 2, "{} servers were deleted at once", seen.get());
        });
    }
}
