//! The balancer's members: the masters that are of the control plane.

use crate::{
    error::Error,
    openstack::{Client, Method, Service},
    resources::{Found, Kind, Marker, Part, body::collection, desired::API, observe},
};
use nodeinit_base::Wait;
use nodeinit_config::cluster::API_PORT;
use serde_json::{Value, json};
use std::{collections::BTreeSet, net::IpAddr, ops::ControlFlow, time::Duration};

/// When a balancer is looked at again: a change takes a second, a new balancer a minute.
const FIRST_LOOK: Duration = Duration::from_millis(400);
const LAST_LOOK: Duration = Duration::from_secs(1);

/// Until the balancer is ACTIVE.
///
/// # Errors
/// Where it is in the state ERROR, or not ACTIVE at the deadline.
pub async fn active(client: &Client, id: &str, limit: Duration) -> Result<(), Error> {
    let part = Part::new(Kind::Balancer, API);
    let look = async || {
        let body = match client.get(Service::LoadBalancer, &format!("/loadbalancers/{id}")).await {
            Ok(body) => body,
            Err(error) => return ControlFlow::Break(Err(error.into())),
        };
        match body["loadbalancer"]["provisioning_status"].as_str().unwrap_or_default() {
            "ACTIVE" => ControlFlow::Break(Ok(())),
            "ERROR" => ControlFlow::Break(Err(Error::Fault {
                thing: part.to_string(),
                fault: "its provisioning_status is ERROR; Octavia gives no reason".to_owned(),
            })),
            state => ControlFlow::Continue(state.to_owned()),
        }
    };
    let wait = Wait::new("the balancer is ACTIVE", limit).first_pause(FIRST_LOOK).at_most_every(LAST_LOOK);
    wait.until(look).await.map_err(|expired| Error::timed_out(&part, expired))?
}

/// The members that there are, by name and address.
pub fn members(ours: &[Found]) -> Vec<(String, IpAddr)> {
    let members = ours.iter().filter(|found| found.part.kind == Kind::Member);
    members.filter_map(|member| Some((member.part.name.clone(), member.address()?))).collect()
}

/// Whether exactly these masters are its members already.
pub fn has_members(ours: &[Found], masters: &[(String, IpAddr)]) -> bool {
    let has: BTreeSet<IpAddr> = members(ours).into_iter().map(|(_, address)| address).collect();
    has == masters.iter().map(|(_, address)| *address).collect()
}

/// Makes the balancer's members exactly these masters, given by name and address, by one request. `false`: they were
/// so already, and nothing was written.
///
/// # Errors
/// Where there is no balancer of this cluster, or the service refuses.
pub async fn set_members(
    client: &Client,
    marker: &Marker,
    masters: &[(String, IpAddr)],
    limit: Duration,
) -> Result<bool, Error> {
    let ours = observe::balancing(client, marker).await?;
    let of = |kind: Kind| ours.iter().filter(move |found| found.part.kind == kind);
    let balancer = of(Kind::Balancer).next().ok_or_else(|| missing("balancer"))?;
    let pool = of(Kind::Pool).next().ok_or_else(|| missing("pool"))?;
    if has_members(&ours, masters) {
        return Ok(false);
    }
    // The machines' subnet, which may be another one than the balancer's; the first master is a member from the start.
    let subnet = of(Kind::Member).map(|member| member.text("subnet_id")).find(|id| !id.is_empty());
    let subnet = subnet.unwrap_or(balancer.text("vip_subnet_id"));
    let member = |(name, address): &(String, IpAddr)| {
        json!({
            "name": name, "address": address, "protocol_port": API_PORT, "subnet_id": subnet,
            "tags": marker.tags(&Part::new(Kind::Member, name)),
        })
    };
    let body: Vec<Value> = masters.iter().map(member).collect();
    active(client, &balancer.id, limit).await?;
    let (service, path, _) = collection(Kind::Member);
    client
        .send(Method::PUT, service, &format!("{path}/{}/members", pool.id), Some(&json!({ "members": body })))
        .await?;
    active(client, &balancer.id, limit).await?;
    Ok(true)
}

fn missing(what: &str) -> Error {
    Error::Refused {
        what: format!("this cluster has no {what} in the cloud"),
        remedy: "run `provisioner apply` first".to_owned(),
    }
}
