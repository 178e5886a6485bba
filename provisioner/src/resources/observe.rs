//! Asks for everything at once: what is ours by its mark, and what the cloud offers.

use super::{
    Found, Kind, Marker, Part, Snapshot,
    facts::{
        FLAVORS, Facts, Flavor, IMAGES, Image, KEYPAIRS, MEMBERS, Network, Quota, Subnet, VOLUME_TYPES, VOLUME_ZONES,
        ZONES, named,
    },
};
use crate::{
    error::{ApiError, Error},
    openstack::{Client, Service},
};
use futures_util::future::try_join_all;
use nodeinit_config::{
    OpenStack,
    openstack::{AntiAffinity, CloudNetwork, FloatingIps},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::{time::timeout, try_join};

#[cfg(test)]
mod tests;

/// The list of servers that is asked for again while servers are created.
pub const SERVERS: &str = "/servers/detail";
/// As [`SERVERS`].
pub const VOLUMES: &str = "/volumes/detail";

/// Everything, in parallel. A read that fails is a note in [`Facts::unread`], unless the cluster depends on it.
///
/// # Errors
/// The first service that refuses what is needed, or does not answer.
pub async fn snapshot(client: &Client, marker: &Marker, wanted: &OpenStack) -> Result<Snapshot, Error> {
    let (seen, beside, facts) = try_join!(seen(client), beside(client, marker, wanted), facts(client, wanted))?;
    let (networks, subnets, unread) = (seen.all_networks(), seen.all_subnets(), client.unread());
    let facts = Facts { networks, subnets, unread, ..facts };
    let ours: Vec<Found> = seen.ours(client, marker).await.into_iter().chain(beside).collect();
    marker.check(&ours)?;
    Ok(Snapshot { ours, facts })
}

/// What carries the cluster's mark, whatever the configuration says; `wanted` decides only which reads may fail.
///
/// # Errors
/// As [`snapshot`].
pub async fn ours(client: &Client, marker: &Marker, wanted: &OpenStack) -> Result<Vec<Found>, Error> {
    let (seen, beside) = try_join!(seen(client), beside(client, marker, wanted))?;
    let ours: Vec<Found> = seen.ours(client, marker).await.into_iter().chain(beside).collect();
    marker.check(&ours)?;
    Ok(ours)
}

/// The list of servers: only the cluster's, if all of them carry its tag. Those of an older provisioner do not.
pub fn servers(marker: &Marker, ours: &[Found], creates_tags: bool) -> String {
    let tag = marker.tag();
    let mut servers = ours.iter().filter(|found| found.part.kind == Kind::Server);
    let is_tagged = |found: &Found| found.body["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| *t == *tag));
    match creates_tags && servers.all(is_tagged) {
        true => format!("{SERVERS}?tags={}", tag.replace('=', "%3D")),
        false => SERVERS.to_owned(),
    }
}

/// How long a read that is not needed may take, with its retries.
const PATIENCE: Duration = Duration::from_secs(30);

/// A read that is left out where it fails, unless it is needed.
async fn tolerated<T: Default>(
    client: &Client,
    is_needed: bool,
    what: &'static str,
    request: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    if is_needed {
        return request.await;
    }
    let Ok(ended) = timeout(PATIENCE, request).await else {
        client.skip(what, &format_args!("no answer within {} s", PATIENCE.as_secs()));
        return Ok(T::default());
    };
    match ended {
        // Never skip a 401 or a TLS failure: every request fails the same way.
        Err(error) if error.status() != Some(401) && !matches!(error, ApiError::Untrusted { .. }) => {
            client.skip(what, &error);
            Ok(T::default())
        }
        other => other,
    }
}

/// The networks and subnets that the project sees: its own, shared and external ones.
struct Seen {
    networks: Vec<Value>,
    subnets: Vec<Value>,
}

async fn seen(client: &Client) -> Result<Seen, ApiError> {
    let (networks, subnets) = try_join!(
        client.list(Service::Network, "/networks", "networks"),
        client.list(Service::Network, "/subnets", "subnets")
    )?;
    Ok(Seen { networks, subnets })
}

impl Seen {
    fn all_networks(&self) -> Vec<Network> {
        let network = |body: &Value| Network {
            named: named(body),
            external: body["router:external"] == true,
            project: body["project_id"].as_str().unwrap_or_default().to_owned(),
            open: body["port_security_enabled"] == false,
        };
        self.networks.iter().map(network).collect()
    }

    fn all_subnets(&self) -> Vec<Subnet> {
        let subnet = |body: &Value| {
            let network = body["network_id"].as_str()?.to_owned();
            Some(Subnet { named: named(body), network, cidr: body["cidr"].as_str()?.parse().ok()? })
        };
        self.subnets.iter().filter_map(subnet).collect()
    }

    /// Those that carry the mark in this project: another's shared network may carry a mark of the same name.
    async fn ours(self, client: &Client, marker: &Marker) -> Vec<Found> {
        let project = client.project().await;
        let own = self.networks.into_iter().chain(self.subnets).filter(|body| body["project_id"] == project.as_str());
        collect(own.collect(), |body| marker.part_of(body["description"].as_str()?))
    }
}

/// The cluster's, but for networks and subnets.
async fn beside(client: &Client, marker: &Marker, wanted: &OpenStack) -> Result<Vec<Found>, ApiError> {
    let described = |kinds: &'static [Kind]| described(client, marker, kinds);
    let routed = matches!(&wanted.network, CloudNetwork::Made(made) if made.router);
    let floats =
        wanted.floating_ips != FloatingIps::None || wanted.bastion.is_some() || wanted.load_balancer.floating_ip;
    let grouped = wanted.anti_affinity != AntiAffinity::None;
    let balanced = wanted.load_balancer.enabled;
    let (routers, ports, groups, floating, servers, volumes, server_groups, balancers) = try_join!(
        tolerated(client, routed, "routers", described(&[Kind::Router])),
        described(&[Kind::Port, Kind::RouterPort]),
        described(&[Kind::SecurityGroup, Kind::Lock]),
        tolerated(client, floats, "floating IPs", described(&[Kind::FloatingIp])),
        marked(client, marker, Kind::Server),
        marked(client, marker, Kind::Volume),
        tolerated(client, grouped, "server groups", marked(client, marker, Kind::ServerGroup)),
        tolerated(client, balanced, "load balancers", balancing(client, marker)),
    )?;
    let rules: Vec<Found> = groups.iter().flat_map(|group| rules_of(marker, group)).collect();
    let all = [routers, ports, groups, rules, floating, servers, volumes, server_groups, balancers];
    Ok(all.into_iter().flatten().collect())
}

/// The cluster's things of one kind, asked for now.
///
/// # Errors
/// As the service says; or where one of them is another cluster's.
pub async fn of_kind(client: &Client, marker: &Marker, kind: Kind) -> Result<Vec<Found>, Error> {
    let found = marked(client, marker, kind).await?;
    marker.check(&found)?;
    Ok(found)
}

async fn marked(client: &Client, marker: &Marker, kind: Kind) -> Result<Vec<Found>, ApiError> {
    let metadata = |body: &Value| body["metadata"].as_object().and_then(|data| marker.part_in(data));
    let mut found = match kind {
        Kind::Server => collect(client.list(Service::Compute, SERVERS, "servers").await?, metadata),
        Kind::Volume => collect(client.list(Service::Volume, VOLUMES, "volumes").await?, metadata),
        Kind::ServerGroup => {
            let groups = client.list(Service::Compute, "/os-server-groups", "server_groups").await?;
            collect(groups, |body| marker.part_of(body["name"].as_str()?))
        }
        Kind::Balancer | Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member => {
            balancing(client, marker).await?
        }
        Kind::Rule => {
            let groups = described(client, marker, &[Kind::SecurityGroup]).await?;
            groups.iter().flat_map(|group| rules_of(marker, group)).collect()
        }
        Kind::Network => described(client, marker, &[Kind::Network]).await?,
        Kind::Subnet => described(client, marker, &[Kind::Subnet]).await?,
        Kind::Router => described(client, marker, &[Kind::Router]).await?,
        Kind::Port | Kind::RouterPort => described(client, marker, &[Kind::Port]).await?,
        Kind::SecurityGroup | Kind::Lock => described(client, marker, &[Kind::SecurityGroup]).await?,
        Kind::FloatingIp => described(client, marker, &[Kind::FloatingIp]).await?,
    };
    found.retain(|one| one.part.kind == kind);
    Ok(found)
}

/// Neutron's, by their description. It filters only by the whole of it, so that all of the project's are asked for.
async fn described(client: &Client, marker: &Marker, kinds: &[Kind]) -> Result<Vec<Found>, ApiError> {
    let (path, key) = match kinds[0] {
        Kind::Network => ("networks", "networks"),
        Kind::Subnet => ("subnets", "subnets"),
        Kind::Router => ("routers", "routers"),
        Kind::SecurityGroup => ("security-groups", "security_groups"),
        Kind::FloatingIp => ("floatingips", "floatingips"),
        _ => ("ports", "ports"),
    };
    let project = client.project().await;
    let all = client.list(Service::Network, &format!("/{path}?project_id={project}"), key).await?;
    Ok(collect(all, |body| marker.part_of(body["description"].as_str()?)))
}

/// A group's rules that carry the mark.
fn rules_of(marker: &Marker, group: &Found) -> Vec<Found> {
    let rules = group.body["security_group_rules"].as_array().cloned().unwrap_or_default();
    collect(rules, |body| marker.part_of(body["description"].as_str()?))
}

/// The balancer with all that belongs to it.
///
/// # Errors
/// As [`snapshot`].
pub async fn balancing(client: &Client, marker: &Marker) -> Result<Vec<Found>, ApiError> {
    if !client.has(Service::LoadBalancer).await {
        return Ok(Vec::new());
    }
    let tag = marker.tag().replace('=', "%3D");
    let tagged = |path: &'static str, key: &'static str| {
        let path = format!("/{path}?tags={tag}");
        async move {
            let all = client.list(Service::LoadBalancer, &path, key).await?;
            Ok::<_, ApiError>(collect(all, |body| marker.part_among(body["tags"].as_array()?)))
        }
    };
    let mut all = tagged("loadbalancers", "loadbalancers").await?;
    if all.is_empty() {
        return Ok(all);
    }
    let (listeners, pools, monitors) = try_join!(
        tagged("listeners", "listeners"),
        tagged("pools", "pools"),
        tagged("healthmonitors", "healthmonitors")
    )?;
    for pool in &pools {
        let members = client.list(Service::LoadBalancer, &format!("/pools/{}/members", pool.id), "members").await?;
        // The pool is ours, and so are all its members.
        all.extend(members.into_iter().filter_map(|body| {
            let name = body["name"].as_str().unwrap_or_default().to_owned();
            let marked = body["tags"].as_array().and_then(|tags| marker.part_among(tags));
            Found::new(marked.unwrap_or_else(|| Part::new(Kind::Member, name)), body)
        }));
    }
    all.extend(listeners);
    all.extend(pools);
    all.extend(monitors);
    Ok(all)
}

fn collect(all: Vec<Value>, part: impl Fn(&Value) -> Option<Part>) -> Vec<Found> {
    all.into_iter().filter_map(|body| Found::new(part(&body)?, body)).collect()
}

/// What the cloud offers, but for networks and subnets.
async fn facts(client: &Client, wanted: &OpenStack) -> Result<Facts, ApiError> {
    let types = asked(wanted.volume.kind.is_some(), client.list(Service::Volume, "/types", "volume_types"));
    let keypairs = asked(wanted.keypair.is_some(), client.list(Service::Compute, "/os-keypairs", "keypairs"));
    let flavors = client.list(Service::Compute, "/flavors/detail", "flavors");
    let (images, flavors, zones, volume_zones, volume_types, keypairs, quotas) = try_join!(
        tolerated(client, false, IMAGES, images(client, wanted)),
        tolerated(client, false, FLAVORS, flavors),
        tolerated(client, false, ZONES, zones(client, Service::Compute)),
        tolerated(client, false, VOLUME_ZONES, zones(client, Service::Volume)),
        tolerated(client, false, VOLUME_TYPES, types),
        tolerated(client, false, KEYPAIRS, keypairs),
        quotas(client),
    )?;
    let flavor = |body: &Value| Flavor {
        named: named(body),
        cores: body["vcpus"].as_i64().unwrap_or_default(),
        memory: body["ram"].as_i64().unwrap_or_default(),
    };
    Ok(Facts {
        images,
        flavors: flavors.iter().map(flavor).collect(),
        zones,
        volume_zones,
        volume_types: volume_types.iter().map(named).collect(),
        keypairs: keypairs.iter().filter_map(|k| Some(k["keypair"]["name"].as_str()?.to_owned())).collect(),
        quotas,
        balancing: client.has(Service::LoadBalancer).await,
        project: client.project().await,
        is_admin: client.is_admin().await,
        lists_policies: client.nova() < 64,
        lacks_server_tags: client.nova() < 52,
        ..Facts::default()
    })
}

async fn asked(
    wanted: bool,
    request: impl Future<Output = Result<Vec<Value>, ApiError>>,
) -> Result<Vec<Value>, ApiError> {
    if wanted { request.await } else { Ok(Vec::new()) }
}

/// The machines' image, and the bastion's.
async fn images(client: &Client, wanted: &OpenStack) -> Result<Vec<Image>, ApiError> {
    let own = wanted.bastion.as_ref().and_then(|bastion| bastion.image.as_ref());
    let asked = BTreeSet::from_iter(own.into_iter().chain([&wanted.image]));
    let mut all = try_join_all(asked.into_iter().map(|asked| image(client, asked))).await?.concat();
    // One may be asked for by its name and by its id.
    all.sort_by(|a, b| a.named.id.cmp(&b.named.id));
    all.dedup();
    Ok(all)
}

async fn image(client: &Client, asked: &str) -> Result<Vec<Image>, ApiError> {
    let image = |body: &Value| Image {
        named: named(body),
        status: body["status"].as_str().unwrap_or_default().to_owned(),
        min_disk: body["min_disk"].as_i64().unwrap_or_default(),
    };
    // By its id, for lists do not show other projects' community images.
    if nodeinit_config::format::UUID.accepts(asked) {
        match client.get(Service::Image, &format!("/images/{asked}")).await {
            Err(error) if error.status() == Some(404) => {}
            other => return Ok(vec![image(&other?)]),
        }
    }
    let by_name = client.list(Service::Image, &format!("/images?name={}", encoded(asked)), "images").await?;
    Ok(by_name.iter().map(image).collect())
}

async fn zones(client: &Client, service: Service) -> Result<Vec<String>, ApiError> {
    let all = client.list(service, "/os-availability-zone", "availabilityZoneInfo").await?;
    let available = all.iter().filter(|zone| zone["zoneState"]["available"] == true);
    Ok(available.filter_map(|zone| Some(zone["zoneName"].as_str()?.to_owned())).collect())
}

async fn quotas(client: &Client) -> Result<BTreeMap<&'static str, Quota>, ApiError> {
    let project = client.project().await;
    let network = format!("/quotas/{project}/details");
    let (neutron, nova, cinder) = try_join!(
        tolerated(client, false, "quotas of networks", client.get(Service::Network, &network)),
        tolerated(client, false, "quotas of servers", client.get(Service::Compute, "/limits")),
        tolerated(client, false, "quotas of volumes", client.get(Service::Volume, "/limits")),
    )?;
    let quota = |limit: &Value, used: i64| Quota { limit: limit.as_i64().filter(|limit| *limit >= 0), used };
    let mut all = BTreeMap::new();
    for (word, key) in [
        ("networks", "network"),
        ("subnets", "subnet"),
        ("routers", "router"),
        ("ports", "port"),
        ("security groups", "security_group"),
        ("security group rules", "security_group_rule"),
        ("floating IPs", "floatingip"),
    ] {
        let one = &neutron["quota"][key];
        let used = ["used", "reserved"].iter().filter_map(|key| one[key].as_i64()).sum();
        all.insert(word, quota(&one["limit"], used));
    }
    for (word, answer, limit, used) in [
        ("servers", &nova, "maxTotalInstances", "totalInstancesUsed"),
        ("cores", &nova, "maxTotalCores", "totalCoresUsed"),
        ("MiB of memory", &nova, "maxTotalRAMSize", "totalRAMUsed"),
        ("server groups", &nova, "maxServerGroups", "totalServerGroupsUsed"),
        // Of each group; none is used by a group that is not there.
        (MEMBERS, &nova, "maxServerGroupMembers", ""),
        ("volumes", &cinder, "maxTotalVolumes", "totalVolumesUsed"),
        ("GiB of volumes", &cinder, "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
    ] {
        let absolute = &answer["limits"]["absolute"];
        all.insert(word, quota(&absolute[limit], absolute[used].as_i64().unwrap_or_default()));
    }
    Ok(all)
}

/// A name in a query.
fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
