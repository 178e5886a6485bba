//! Whether what will be made fits into the project's quotas.

use super::{
    Kind,
    desired::Spec,
    facts::{self, Facts},
    plan::{Action, Item, Obstacle, ObstacleKind},
};
use std::collections::BTreeMap;

/// Every quota that is too small, with by how much.
pub fn shortfalls(items: &[Item], facts: &Facts) -> Vec<Obstacle> {
    let mut needs: BTreeMap<&'static str, i64> = BTreeMap::new();
    for item in items.iter().filter(|item| item.action == Action::Create) {
        for (word, amount) in uses(item, facts) {
            *needs.entry(word).or_default() += amount;
        }
    }
    let short = |(word, need): (&'static str, i64)| {
        let quota = facts.quotas.get(word)?;
        let free = quota.limit? - quota.used;
        let free = free.max(0);
        let what =
            || format!("quota: {need} {word} are needed, and {free} of {} are free", quota.limit.unwrap_or_default());
        let remedy = || format!("ask for {} more, or make fewer or smaller machines", need - free);
        (need > free).then(|| Obstacle::new(ObstacleKind::Quota, what(), remedy()))
    };
    needs.into_iter().filter_map(short).collect()
}

fn uses(item: &Item, facts: &Facts) -> Vec<(&'static str, i64)> {
    let spec = item.want.as_ref().map(|want| &want.spec);
    match item.part.kind {
        Kind::Network => vec![("networks", 1)],
        Kind::Subnet => vec![("subnets", 1)],
        Kind::Router => vec![("routers", 1)],
        // The balancer's address is a port of the project.
        Kind::Port | Kind::RouterPort | Kind::Balancer => vec![("ports", 1)],
        // Each comes with two rules that let everything out.
        Kind::SecurityGroup => vec![("security groups", 1), ("security group rules", 2)],
        Kind::Rule => vec![("security group rules", 1)],
        Kind::FloatingIp => vec![("floating IPs", 1)],
        Kind::ServerGroup => vec![("server groups", 1)],
        Kind::Volume => {
            let Some(Spec::Volume { size, .. }) = spec else { return Vec::new() };
            vec![("volumes", 1), ("GiB of volumes", i64::from(*size))]
        }
        Kind::Server => {
            let Some(Spec::Server { flavor, .. }) = spec else { return Vec::new() };
            let size = facts::pick(&facts.flavors, |one| &one.named, flavor, "flavour")
                .map_or((0, 0), |f| (f.cores, f.memory));
            vec![("servers", 1), ("cores", size.0), ("MiB of memory", size.1)]
        }
        Kind::Lock | Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member => Vec::new(),
    }
}
