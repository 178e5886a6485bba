//! Whether the configuration has the machine that a command names.

use crate::{error::Error, userdata};
use nodeinit_config::{Cluster, cluster::Role};

/// Rejects a machine that is not in the configuration.
pub(super) fn is_listed(cluster: &Cluster, name: &str, role: Role) -> Result<(), Error> {
    match userdata::role(cluster, name) {
        Some(_) => Ok(()),
        None => Err(Error::Configuration {
            what: format!("the configuration of {} has no {role} {name}", cluster.name),
            remedy: format!("add it to `{role}s`"),
        }),
    }
}

/// Rejects a machine of another kind.
pub(super) fn fits(cluster: &Cluster, name: &str, role: Role) -> Result<(), Error> {
    let bastion = cluster.openstack.as_ref().and_then(|cloud| cloud.bastion.as_ref());
    if bastion.is_some_and(|bastion| bastion.name == name) {
        return Err(Error::Usage(format!(
            "{name} is the bastion, not a node: use `provisioner apply`, which creates it"
        )));
    }
    let kind = match userdata::role(cluster, name) {
        Some(Role::FirstMaster) => Some(Role::Master),
        other => other,
    };
    match kind.filter(|kind| *kind != role) {
        Some(other) => Err(Error::Usage(format!(
            "{name} is a {other}: use `provisioner {other} add`, `{other} replace` and `{other} remove`"
        ))),
        None => Ok(()),
    }
}
