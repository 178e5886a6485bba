//! `apply`: shows the plan, asks, and does it. `add` does the same for one machine without asking.

use super::{Operator, Source, Verbosity, confirm, session::Session};
use crate::{
    apply::Apply,
    delivery::{Delivery, open_program},
    error::Error,
    lock, permit, replace, report,
    resources::{
        Found, Kind, Part, Snapshot, observe,
        plan::{Action, Item, Plan},
    },
    secrets::Secrets,
    userdata,
};
use clap::Args;
use nodeinit_config::{Cluster, Loaded, cluster::Role};
use nodeinit_protocol::Exit;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) source: Source,
    #[command(flatten)]
    operator: Operator,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Take over the cluster's lock; use it only if the run that holds the lock is dead
    #[arg(long)]
    break_lock: bool,
    /// Replace a load balancer in ERROR; clients cannot reach the API until the new one is ACTIVE
    #[arg(long)]
    replace_balancer: bool,
}

pub(super) async fn run(args: &Arguments, verbosity: Verbosity) -> Result<Exit, Error> {
    if !args.yes {
        confirm::needs_terminal("apply")?;
    }
    let session = Session { replace_balancer: args.replace_balancer, ..Session::open(&args.source, verbosity).await? };
    session.record("apply");
    let work = Work { operator: &args.operator, break_lock: args.break_lock, only: None, asks: !args.yes };
    create(&session, &work).await
}

/// Which resources `apply` creates, and how.
pub(super) struct Work<'a> {
    /// Files on the operator's machine.
    pub(super) operator: &'a Operator,
    /// Whether the lock is taken over.
    pub(super) break_lock: bool,
    /// One machine instead of all.
    pub(super) only: Option<(&'a str, Role)>,
    /// Whether the operator sees the plan first, and may refuse.
    pub(super) asks: bool,
}

impl Work<'_> {
    fn alone(&self) -> Option<&str> {
        self.only.map(|(name, _)| name)
    }
}

/// Creates all resources, or those of one machine (`only`).
pub(super) async fn create(session: &Session, work: &Work<'_>) -> Result<Exit, Error> {
    let (operator, alone) = (work.operator, work.alone());
    if !operator.resources_only {
        // A program that cannot be sent is reported before anything is created.
        program(&session.loaded).map(open_program).transpose()?;
    }
    let mut begun = Instant::now();
    let (snapshot, mut first) = session.plan().await?;
    restrict(&mut first, alone);
    is_possible(&first, session)?;
    let shown = (work.asks && !first.is_empty()).then_some(&first);
    match shown {
        Some(plan) => {
            report::plan(plan, &session.output);
            if !confirm::agrees("apply these changes? [y/N]") {
                session.output.text("nothing was changed");
                return Ok(Exit::Failed);
            }
            begun = Instant::now();
            session.output.restart();
        }
        None => report::unhealthy(&first, &session.output),
    }
    let secrets = secrets(&snapshot.ours, &session.secrets, program(&session.loaded))?;
    let found = if first.is_empty() {
        lock::clear(&session.client, &snapshot.ours).await?;
        snapshot.ours
    } else {
        let lock = session.lock(work.break_lock).await?;
        session.output.live(lock.hold(locked(session, &secrets, snapshot, work, shown))).await?
    };
    if operator.resources_only {
        permit::leave_to_operator(&session.client, &found).await?;
    }
    let (unhealthy, is_closed) = unhealthy(&session.loaded.cluster, &found, alone);
    if !operator.resources_only && !is_closed {
        let delivery = delivery(session, operator, &secrets, found, begun);
        session.output.live(delivery.run(work.only)).await?;
        if work.only.is_none() {
            end_replacements(session, &delivery.found).await?;
        }
    }
    session.output.tell_timeline();
    if unhealthy.is_empty() {
        session.output.tell("everything matches the configuration; nothing to do", || json!({ "event": "finished" }));
    }
    session.told();
    let rest = match is_closed && !operator.resources_only {
        true => "no other machine was reached",
        false => "the rest is up to date",
    };
    match unhealthy.is_empty() {
        true => Ok(Exit::Done),
        false => Err(Error::Unhealthy { machines: unhealthy, rest }),
    }
}

/// The cluster's secrets. A bundle is generated only for a new cluster: machines, and disks that a machine has used, have the CA of a
/// bundle that exists.
fn secrets(ours: &[Found], path: &Path, nodeinit: Option<&Path>) -> Result<Secrets, Error> {
    match permit::is_new(ours) {
        true => Secrets::open(path, nodeinit),
        false => Secrets::existing(path),
    }
}

/// The machines of the configuration, or one machine `only`, whose servers are not ACTIVE; and whether that keeps the
/// others from being reached, or leaves nothing to do on machines.
fn unhealthy(cluster: &Cluster, found: &[Found], only: Option<&str>) -> (Vec<String>, bool) {
    let is_listed = |name: &str| userdata::role(cluster, name).is_some() || userdata::is_bastion(cluster, name);
    let servers = found.iter().filter(|one| one.part.kind == Kind::Server && is_listed(&one.part.name));
    let all: Vec<&Found> = servers.filter(|server| server.state() != "ACTIVE").collect();
    let is_gate = |name: &str| {
        userdata::role(cluster, name) == Some(Role::FirstMaster)
            || userdata::is_bastion(cluster, name)
            || only == Some(name)
    };
    let is_closed = all.iter().any(|server| is_gate(&server.part.name));
    let told = all.iter().filter(|server| only.is_none_or(|only| is_closed || only == server.part.name));
    (told.map(|server| format!("{} ({})", server.part.name, server.state())).collect(), is_closed)
}

/// Another run may have changed the resources before this run got the lock, so this run reads them again.
async fn locked(
    session: &Session,
    secrets: &Secrets,
    mut snapshot: Snapshot,
    work: &Work<'_>,
    shown: Option<&Plan>,
) -> Result<Vec<Found>, Error> {
    snapshot.ours = observe::ours(&session.client, &session.marker, &session.cloud).await?;
    let mut plan = session.compare(&snapshot);
    restrict(&mut plan, work.alone());
    if let Some(shown) = shown {
        is_possible(&plan, session)?;
        is_agreed(&plan, shown)?;
    }
    let parts = (&session.loaded, &session.cloud, secrets);
    let apply = Apply::new(&session.client, &session.marker, parts, &snapshot, &plan, session.output.clone());
    // Where the machines are left to the operator, nobody here knows what became of their etcd.
    let permits = !work.operator.resources_only && work.only.is_none();
    if permits { apply.permitting().run().await } else { apply.run().await }
}

/// Ends the interrupted replacements of machines that a complete run brought up: `replace` would take their servers for those that
/// it created itself.
async fn end_replacements(session: &Session, up: &[Found]) -> Result<(), Error> {
    let is_listed = |name: &&str| userdata::role(&session.loaded.cluster, name).is_some();
    if replace::completed(up, up).iter().any(is_listed) {
        let end = async {
            let ours = session.ours().await?;
            for name in replace::completed(&ours, up).into_iter().filter(is_listed) {
                replace::end(&session.client, &ours, name).await?;
            }
            Ok(())
        };
        session.lock(false).await?.hold(end).await?;
    }
    Ok(())
}

/// Reports a plan with conflicts, which is not applied.
pub(super) fn is_possible(plan: &Plan, session: &Session) -> Result<(), Error> {
    if !plan.is_blocked() {
        return Ok(());
    }
    report::plan(plan, &session.output);
    Err(Error::Configuration {
        what: "the plan has conflicts; nothing was changed".to_owned(),
        remedy: "fix the conflicts listed above".to_owned(),
    })
}

/// The operator agreed to the plan that was `shown`, and to nothing beyond it.
pub(super) fn is_agreed(plan: &Plan, shown: &Plan) -> Result<(), Error> {
    let beyond: Vec<String> = plan.beyond(shown).into_iter().map(ToString::to_string).collect();
    if beyond.is_empty() {
        return Ok(());
    }
    Err(Error::Busy {
        what: format!(
            "the cluster changed after the plan was shown: now {} would change, too; nothing was changed",
            beyond.join(", ")
        ),
        remedy: "run it again to see the new plan".to_owned(),
    })
}

pub(super) fn delivery<'s>(
    session: &'s Session,
    operator: &Operator,
    secrets: &'s Secrets,
    found: Vec<Found>,
    begun: Instant,
) -> Delivery<'s> {
    let beside = |end: &str| PathBuf::from(format!("{}.{end}", session.beside));
    Delivery {
        found,
        client: &session.client,
        marker: &session.marker,
        loaded: &session.loaded,
        cloud: &session.cloud,
        secrets,
        kubeconfig: operator.kubeconfig.clone().unwrap_or_else(|| beside("kubeconfig")),
        known_hosts: beside("known_hosts"),
        patience: session.loaded.cluster.timeouts.ssh,
        output: session.output.clone(),
        begun,
    }
}

/// The local path of the nodeinit program that is sent to the machines.
pub(super) fn program(loaded: &Loaded) -> Option<&Path> {
    loaded.cluster.openstack.as_ref()?.binary.file.as_deref()
}

/// Does not change resources that do not belong to this machine. A changed address of another one remains an obstacle, because the
/// machines receive the whole configuration.
pub(super) fn restrict(plan: &mut Plan, only: Option<&str>) {
    let Some(name) = only else { return };
    let own = plan.items.iter().filter(|item| item.part.name == name).filter_map(|item| item.want.as_ref());
    let groups: Vec<Part> =
        own.flat_map(|want| &want.needs).filter(|need| need.kind == Kind::ServerGroup).cloned().collect();
    let others = plan.items.iter_mut().filter(|item| item.part.name != name && !groups.contains(&item.part));
    let is_moved = |item: &Item| item.part.kind == Kind::Port && matches!(item.action, Action::Refuse { .. });
    for item in others.filter(|item| item.action != Action::Keep && !is_moved(item)) {
        item.action = Action::Left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::part::{ATTACHED, NEVER, ONCE},
        testing::{alter, applied, plan, sized},
    };

    #[test]
    fn beside_disks_that_were_used_no_bundle_is_generated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.yaml");
        let told = |attached: &str| {
            let body = json!({ "id": "v", "metadata": { ATTACHED: attached } });
            let volume = Found::new(Part::new(Kind::Volume, "m1"), body).unwrap();
            secrets(&[volume], &path, Some(Path::new("/not/there"))).unwrap_err().to_string()
        };
        assert!(told(ONCE).starts_with("there is no secrets bundle"), "{}", told(ONCE));
        assert!(!told(NEVER).starts_with("there is no secrets bundle"), "{}", told(NEVER));
    }

    #[test]
    fn an_unhealthy_server_ends_the_way_to_the_others_only_if_it_is_on_that_way() {
        let cluster = sized(2, 2, "  bastion: {name: gate}\n");
        let told = |part: &str, only: Option<&str>| {
            let mut snapshot = applied(&cluster);
            alter(&mut snapshot, part, |body| body["status"] = json!("SHELVED"));
            unhealthy(&cluster, &snapshot.ours, only)
        };
        let one = |name: &str| vec![format!("{name} (SHELVED)")];
        assert_eq!(told("server/w1", None), (one("w1"), false));
        assert_eq!(told("server/m2", None), (one("m2"), false));
        assert_eq!(told("server/m1", None), (one("m1"), true));
        assert_eq!(told("server/gate", Some("w2")), (one("gate"), true));
        assert_eq!(told("server/w1", Some("w1")), (one("w1"), true));
        assert_eq!(told("server/w1", Some("w2")), (Vec::new(), false));
        let error = Error::Unhealthy { machines: told("server/w1", None).0, rest: "the rest is up to date" };
        assert_eq!(error.to_string(), "1 machine is unhealthy: w1 (SHELVED); the rest is up to date");
    }

    #[test]
    fn what_was_not_shown_is_not_done() {
        let cluster = sized(1, 1, "");
        let changed = |part: &str, status: &str| {
            let mut snapshot = applied(&cluster);
            alter(&mut snapshot, part, |body| body["status"] = json!(status));
            plan(&cluster, &snapshot)
        };
        let shown = changed("server/w1", "SHUTOFF");
        assert!(is_agreed(&shown, &shown).is_ok() && is_agreed(&plan(&cluster, &applied(&cluster)), &shown).is_ok());
        assert!(is_agreed(&changed("server/w1", "PAUSED"), &shown).is_ok());
        let error = is_agreed(&changed("server/m1", "SHUTOFF"), &shown).unwrap_err().to_string();
        assert!(error.contains("now server/m1 would change, too"), "{error}");
    }
}
