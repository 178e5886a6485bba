//! The settings that cannot change in place.

use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    steps::{upgrade::record::KEY, virtual_address},
};
use nodeinit_config::{cluster::Role, versions::KubernetesVersion};
use std::collections::BTreeMap;

const ENDPOINT: &str = "controlPlane.endpoint";
const ADDRESS: &str = "this machine's address";
const ROLE: &str = "this machine's role";

/// Returns the values that cannot change after the first run on a machine, by key.
#[must_use]
pub fn values(cx: &Context) -> BTreeMap<String, String> {
    let cluster = &cx.cluster;
    let own = [
        ("this machine's node name", cx.node.name.clone()),
        (ADDRESS, cx.node.address.to_string()),
        // A master becomes the first one when the configuration loses the former first master.
        (ROLE, cx.node.role.kind().to_owned()),
    ];
    let own = own.map(|(key, value)| (key.to_owned(), value));
    if cx.node.role == Role::Bastion {
        // Nothing on it depends on the cluster, and its rules follow its addresses.
        return own.into_iter().filter(|(key, _)| key != ADDRESS).collect();
    }
    let address = cluster.control_plane.virtual_address.map(|address| address.to_string());
    let mut values = cluster.immutable.clone();
    let shared = [
        (ENDPOINT, cluster.endpoint(cx.node.address).to_string()),
        (virtual_address::RECORDED_AS, address.unwrap_or_else(|| "none".to_owned())),
    ];
    values.extend(shared.map(|(key, value)| (key.to_owned(), value)));
    values.extend(own);
    if cx.node.role == Role::Worker {
        // Only the kubeconfig of a worker contains the endpoint, and a wrong one must be correctable.
        values.remove(ENDPOINT);
    }
    values
}

/// Compares the values with those that the first run recorded.
///
/// # Errors
/// If values differ; names each, with the fix.
pub fn refuse_changes(now: &BTreeMap<String, String>, before: &BTreeMap<String, String>) -> Result<(), StepError> {
    let changed: Vec<String> = now
        .iter()
        .filter_map(|(key, value)| {
            let was = before.get(key).filter(|was| *was != value)?;
            // Earlier versions of nodeinit recorded this.
            if key == ROLE && was == "first-master" && value == "master" {
                return None;
            }
            Some(format!("{key} was {was:?} and is now {value:?}"))
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let what = format!("the configuration changes values that cannot change in place: {}", changed.join("; "));
    let version = |values: &BTreeMap<String, String>| values.get(KEY)?.parse::<KubernetesVersion>().ok();
    let hint = match (version(before), version(now)) {
        (Some(before), Some(now)) if now > before && changed.len() == 1 => {
            format!("to change the version of Kubernetes, run `nodeinit upgrade apply {now}` on a master")
        }
        _ => "restore the previous values; only a machine without data takes others: `nodeinit reset` deletes its data, then run `nodeinit up`".to_owned(),
    };
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_may_become_the_first_one() {
        let role = |role: &str| BTreeMap::from([(ROLE.to_owned(), role.to_owned())]);
        for (before, now, stays) in [
            ("master", "master", true),
            ("first-master", "master", true),
            ("worker", "master", false),
            ("master", "worker", false),
        ] {
            assert_eq!(refuse_changes(&role(now), &role(before)).is_ok(), stays, "{before} {now}");
        }
        let (_dir, cx) = crate::context::testing::context();
        assert_eq!((cx.node.role, values(&cx)[ROLE].as_str()), (Role::FirstMaster, "master"));
    }

    #[test]
    fn only_a_newer_version_alone_is_an_upgrade() {
        let values = |version: &str, name: &str| {
            [(KEY, version), ("name", name)].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
        };
        let before: BTreeMap<_, _> = values("v1.36.4", "lab");
        for (version, name, hint) in [
            ("v1.37.1", "lab", "`nodeinit upgrade apply v1.37.1`"),
            ("v1.36.3", "lab", "restore the previous values"),
            ("v1.37.1", "another", "restore the previous values"),
        ] {
            let error = refuse_changes(&values(version, name), &before).expect_err("a changed value");
            assert!(error.advice().is_some_and(|text| text.contains(hint)), "{version} {name}: {error:?}");
        }
    }
}
