//! One master or worker is added, removed or replaced.

use super::{
    Operator, Source, Verbosity,
    apply::{Work, create, delivery},
    example,
    listed::{fits, is_listed},
    replace::{self, Replace},
    session::Session,
};
use crate::{balancer, destroy, error::Error, resources::Found, secrets::Secrets, userdata};
use clap::{Args, Subcommand};
use nodeinit_config::{Cluster, cluster::Role};
use nodeinit_protocol::Exit;
use serde_json::json;
use std::time::Instant;

#[derive(Subcommand)]
pub(super) enum Machine {
    /// Create one machine of the configuration and join it to the cluster
    #[command(after_help = example!("provisioner master add m3\n  provisioner worker add w3"))]
    Add(Named),
    /// Drain one machine, remove it from the cluster, and delete its resources
    #[command(after_help = example!("provisioner master remove m3\n  provisioner worker remove w3"))]
    Remove {
        #[command(flatten)]
        named: Named,
        /// Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline
        #[arg(long)]
        force: bool,
    },
    /// Replace the server and the volume of one machine by new ones, which join the cluster under the same name; all data on the volume is deleted; show the plan and ask first
    #[command(after_help = example!("provisioner master replace m1\n  provisioner worker replace w1 --yes"))]
    Replace(Replace),
}

#[derive(Args)]
pub(super) struct Named {
    /// The machine's name in the configuration
    name: String,
    #[command(flatten)]
    source: Source,
    /// Take over the cluster's lock; use it only if the run that holds the lock is dead
    #[arg(long)]
    break_lock: bool,
    #[command(flatten)]
    operator: Operator,
}

impl Machine {
    pub(super) fn source(&self) -> &Source {
        match self {
            Self::Add(named) | Self::Remove { named, .. } => &named.source,
            Self::Replace(args) => &args.source,
        }
    }
}

pub(super) async fn run(machine: &Machine, role: Role, verbosity: Verbosity) -> Result<Exit, Error> {
    match machine {
        Machine::Add(named) => add(&Session::open(&named.source, verbosity).await?, named, role).await,
        Machine::Remove { named, force } => {
            remove(&Session::open(&named.source, verbosity).await?, named, role, *force).await
        }
        Machine::Replace(args) => replace::run(args, role, verbosity).await,
    }
}

/// As `apply`, but for one machine alone.
async fn add(session: &Session, named: &Named, role: Role) -> Result<Exit, Error> {
    let cluster = &session.loaded.cluster;
    comes_and_goes(cluster, &named.name, role)?;
    is_listed(cluster, &named.name, role)?;
    session.record(&format!("{role} add {}", named.name));
    let only = Some((named.name.as_str(), role));
    let work = Work { operator: &named.operator, break_lock: named.break_lock, only, asks: false };
    create(session, &work).await
}

/// Takes a machine out of the balancer and the cluster, then deletes its resources.
async fn remove(session: &Session, named: &Named, role: Role, force: bool) -> Result<Exit, Error> {
    comes_and_goes(&session.loaded.cluster, &named.name, role)?;
    let ours = session.ours().await?;
    if !destroy::of_machine(&ours, &named.name).is_empty() {
        session.record(&format!("{role} remove {}", named.name));
        let lock = session.lock(named.break_lock).await?;
        session.output.live(lock.hold(leave(session, named, role, force, &ours))).await?;
    }
    let gone = format!("no resources of {} are left; also remove it from `{role}s` in the configuration", named.name);
    session.output.tell(&gone, || json!({ "event": "finished" }));
    session.told();
    Ok(Exit::Done)
}

async fn leave(session: &Session, named: &Named, role: Role, force: bool, ours: &[Found]) -> Result<(), Error> {
    let (client, marker, limit) = (&session.client, &session.marker, session.cloud.timeouts.load_balancer);
    let members = balancer::members(ours);
    let others: Vec<_> = members.iter().filter(|(name, _)| *name != named.name).cloned().collect();
    let is_member = others.len() < members.len();
    if is_member {
        balancer::set_members(client, marker, &others, limit).await?;
    }
    if !named.operator.resources_only {
        let secrets = Secrets::read(&session.secrets)?;
        let delivery = delivery(session, &named.operator, &secrets, ours.to_vec(), Instant::now());
        if let Err(refused) = delivery.remove(&named.name, role, force).await {
            // It is of the control plane still.
            if is_member {
                balancer::set_members(client, marker, &members, limit).await?;
            }
            return Err(refused);
        }
    }
    destroy::machine(client, marker, &session.cloud, &named.name, &session.output, ours).await
}

/// Rejects the first master as well, which is neither added nor removed.
fn comes_and_goes(cluster: &Cluster, name: &str, role: Role) -> Result<(), Error> {
    match userdata::role(cluster, name) {
        Some(Role::FirstMaster) => Err(Error::Usage(format!(
            "{name} is the first master, which starts the cluster and adds and removes all other machines: only `apply` creates it, and only `destroy` deletes it, together with the whole cluster; `provisioner master replace` replaces it"
        ))),
        _ => fits(cluster, name, role),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    #[test]
    fn each_command_is_for_machines_of_its_kind() {
        let cluster = cluster("");
        let said = |name: &str, role| comes_and_goes(&cluster, name, role).err().map(|error| error.to_string());
        for (name, role) in [("m2", Role::Master), ("w1", Role::Worker), ("gone", Role::Master), ("gone", Role::Worker)]
        {
            assert_eq!(said(name, role), None, "{name}");
        }
        let behind = crate::testing::cluster("  bastion: {name: gate}\n");
        let said_there = fits(&behind, "gate", Role::Worker).unwrap_err().to_string();
        assert!(said_there.starts_with("gate is the bastion"), "{said_there}");
        for role in [Role::Master, Role::Worker] {
            assert!(said("m1", role).is_some_and(|said| said.starts_with("m1 is the first master")));
        }
        assert!(said("w1", Role::Master).is_some_and(|said| said.contains("`provisioner worker add`")));
        assert!(said("m2", Role::Worker).is_some_and(|said| said.contains("`provisioner master add`")));
        // Also the first master can be replaced, but not as a worker.
        assert!(fits(&cluster, "m1", Role::Master).is_ok() && fits(&cluster, "m1", Role::Worker).is_err());
        let unknown = is_listed(&cluster, "m9", Role::Master).unwrap_err().to_string();
        assert_eq!(unknown, "the configuration of demo has no master m9");
    }
}
