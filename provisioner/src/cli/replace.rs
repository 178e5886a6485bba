//! `master replace` and `worker replace`: another machine under the same name.

use super::{
    Operator, Source, Verbosity,
    apply::{delivery, is_agreed, is_possible, program, restrict},
    confirm,
    listed::{fits, is_listed},
    session::Session,
};
use crate::{
    apply::Apply,
    balancer,
    delivery::open_program,
    destroy,
    error::Error,
    machine,
    openstack::{Client, Service},
    permit, replace, report,
    resources::{
        Found, Kind, Part, Snapshot,
        desired::{API, Spec},
        diff::ADDRESS,
        observe,
        plan::{Action, Obstacle, ObstacleKind, Plan},
        quota,
    },
    secrets::Secrets,
    userdata,
};
use clap::Args;
use nodeinit_config::{Cluster, cluster::Role};
use nodeinit_protocol::Exit;
use serde_json::json;
use std::{
    cell::Cell,
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::time::timeout;

#[derive(Args)]
pub(super) struct Replace {
    /// The machine's name in the configuration
    name: String,
    #[command(flatten)]
    pub(super) source: Source,
    /// Where to write the administrator's kubeconfig; by default NAME.kubeconfig, where NAME is the cluster's name; with --cluster, clusters/NAME.kubeconfig
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Take over the cluster's lock; use it only if the run that holds the lock is dead
    #[arg(long)]
    break_lock: bool,
}

/// What the work needs.
struct Work<'a> {
    session: &'a Session,
    secrets: &'a Secrets,
    operator: Operator,
    name: &'a str,
    role: Role,
    begun: Instant,
}

pub(super) async fn run(args: &Replace, role: Role, verbosity: Verbosity) -> Result<Exit, Error> {
    if !args.yes {
        confirm::needs_terminal(&format!("{role} replace"))?;
    }
    let session = &Session::open(&args.source, verbosity).await?;
    let name = args.name.as_str();
    fits(&session.loaded.cluster, name, role)?;
    is_listed(&session.loaded.cluster, name, role)?;
    let secrets = &Secrets::existing(&session.secrets)?;
    program(&session.loaded).map(open_program).transpose()?;
    session.record(&format!("{role} replace {name}"));
    let operator = Operator { kubeconfig: args.kubeconfig.clone(), resources_only: false };
    let mut work = Work { session, secrets, operator, name, role, begun: Instant::now() };
    let (snapshot, _) = session.plan().await?;
    let mut plan = work.plan(&snapshot);
    let delivery = delivery(session, &work.operator, secrets, snapshot.ours.clone(), work.begun);
    plan.obstacles.extend(work.refused_address(&plan, &snapshot).await?);
    plan.obstacles.extend(work.closed_console(&snapshot.ours).await);
    plan.obstacles.extend(snapshots(&session.client, &replace::former(&snapshot.ours, name)).await?);
    plan.obstacles.extend(session.output.live(delivery.obstacle_to_replacement(name)).await);
    is_possible(&plan, session)?;
    report::plan(&plan, &session.output);
    if !args.yes {
        if !confirm::agrees(&format!(
            "replace {name}, and delete all data on its disk? Its pods stop without notice. [y/N]"
        )) {
            session.output.text("nothing was changed");
            return Ok(Exit::Failed);
        }
        work.begun = Instant::now();
        session.output.restart();
    }
    let lock = session.lock(args.break_lock).await?;
    let ended = Cell::new(false);
    let replaced = session.output.live(lock.hold(work.replace(snapshot, &plan, &ended))).await;
    replaced.map_err(|error| unless_replaced(error, name, &ended))?;
    session.output.tell_timeline();
    session.output.tell(&format!("{name} is replaced"), || json!({ "event": "finished" }));
    session.told();
    Ok(Exit::Done)
}

/// Returns `error`, also that of the lock, unless the replacement has ended: then its hint must not begin another one.
fn unless_replaced(error: Error, name: &str, ended: &Cell<bool>) -> Error {
    match ended.get() {
        true => Error::Replaced { machine: name.to_owned(), what: error.to_string() },
        false => error,
    }
}

impl Work<'_> {
    /// What the replacement does to the machine's resources, and every problem that the cloud and the configuration show.
    fn plan(&self, snapshot: &Snapshot) -> Plan {
        let (session, name) = (self.session, self.name);
        let former = replace::former(&snapshot.ours, name);
        let rest = replace::without(snapshot, &former);
        let mut plan = self.rest(&rest);
        plan.items.retain(|item| item.part.name == name || item.action.is_work());
        for item in &mut plan.items {
            let gone = former.iter().find(|gone| gone.part == item.part);
            if let Some(gone) = gone.filter(|_| item.action == Action::Create) {
                item.action = Action::Replace(format!("{} is deleted with its data", gone.id));
                item.found = Some(gone.clone());
            }
        }
        plan.notes = match replace::successor(&snapshot.ours, name) {
            Some(server) => {
                vec![format!("an interrupted replacement has created the server {}, which stays", server.id)]
            }
            None => Vec::new(),
        };
        if !self.other_members(&snapshot.ours).is_empty() {
            plan.notes.push(format!("the load balancer does not use {name} until its API server answers again"));
        }
        let port = Part::new(Kind::Port, name);
        let moves = plan.changes(&port, ADDRESS) || snapshot.find(&port).is_some_and(replace::moves);
        if moves || !self.joins_alone() {
            let note = "at the end, the master that leads applies its configuration to the other machines, too (`nodeinit up --lead`)";
            plan.notes.push(note.to_owned());
        }
        if let Some(server) = replace::successor(&snapshot.ours, name) {
            let own = plan.items.iter_mut().filter(|item| item.part.name == name);
            for remedy in own.filter_map(|item| match &mut item.action {
                Action::Refuse { remedy, .. } if item.part.kind == Kind::Port => Some(remedy),
                _ => None,
            }) {
                *remedy = format!(
                    "delete the new server with `openstack server delete {}`, then run the same command again",
                    server.id
                );
            }
        }
        plan.obstacles.extend(self.lost_endpoint(&plan));
        let conflict = |what: String, remedy: &str| Obstacle::new(ObstacleKind::Conflict, what, remedy);
        let uses = replace::foreign_uses(&snapshot.ours, name).into_iter();
        plan.obstacles
            .extend(uses.map(|what| conflict(what, "detach it from that server; the provisioner does not delete it")));
        plan.obstacles.extend(pinned(&session.loaded.cluster, self.secrets, &snapshot.ours, name));
        plan
    }

    /// Why the machine cannot get another address: the other machines reach the API at its former one.
    fn lost_endpoint(&self, plan: &Plan) -> Option<Obstacle> {
        let Cluster { control_plane, masters, .. } = &self.session.loaded.cluster;
        let derived = masters.first().is_some_and(|first| first.name == self.name)
            && control_plane.endpoint.is_none()
            && control_plane.virtual_address.is_none()
            && !self.session.cloud.load_balancer.enabled;
        let written = control_plane.endpoint.as_ref().and_then(|endpoint| endpoint.host.parse().ok());
        let port = Part::new(Kind::Port, self.name);
        let former = plan.items.iter().find(|item| item.part == port).and_then(|item| item.found.as_ref());
        let is_written = former.zip(written).is_some_and(|(former, address)| former.has_address(address));
        ((derived || is_written) && plan.changes(&port, ADDRESS)).then(|| {
            let what = format!("the address of {} is the endpoint of the API, which cannot change", self.name);
            Obstacle::new(ObstacleKind::Conflict, what, "restore its `address` in the configuration")
        })
    }

    /// Why Neutron would refuse the machine's new address, found before anything is deleted.
    async fn refused_address(&self, plan: &Plan, snapshot: &Snapshot) -> Result<Option<Obstacle>, Error> {
        let port = Part::new(Kind::Port, self.name);
        let item = plan.items.iter().find(|item| item.part == port).filter(|_| plan.changes(&port, ADDRESS));
        let spec = item.and_then(|item| Some(&item.want.as_ref()?.spec));
        let Some(&Spec::Port { address: Some(address), .. }) = spec else { return Ok(None) };
        let conflict = |what: String, remedy: &str| Ok(Some(Obstacle::new(ObstacleKind::Conflict, what, remedy)));
        let place = &plan.place;
        if place.foreign {
            let what = format!("the network belongs to another project, which alone may choose {address} in it");
            return conflict(what, "restore the `address` in the configuration");
        }
        if let Some(cidr) = place.cidr.filter(|cidr| !cidr.contains(&address)) {
            return conflict(format!("{address} is not in the subnet {cidr}"), "choose another `address`");
        }
        let made = snapshot.find(&Part::new(Kind::Network, API)).map(|network| network.id.as_str());
        let Some(network) = place.network.as_deref().or(made) else { return Ok(None) };
        let path = format!("/ports?network_id={network}&fixed_ips=ip_address%3D{address}");
        let answer = self.session.client.get(Service::Network, &path).await?;
        match answer["ports"].as_array().and_then(|ports| ports.first()) {
            Some(other) => {
                let other = other["id"].as_str().unwrap_or_default();
                conflict(format!("the port {other} has the address {address}"), "choose another `address`")
            }
            None => Ok(None),
        }
    }

    /// Why no console would show the new server's host key; a worker that joins on its own needs none.
    async fn closed_console(&self, ours: &[Found]) -> Option<Obstacle> {
        let former = replace::former(ours, self.name);
        let server = former.iter().find(|found| found.part.kind == Kind::Server && !self.joins_alone())?;
        closed_console(&self.session.client, server).await
    }

    fn joins_alone(&self) -> bool {
        self.role == Role::Worker && userdata::workers_self_join(&self.session.loaded)
    }

    /// What `apply` would do, for this machine alone; without its load balancer member, which comes last.
    fn rest(&self, snapshot: &Snapshot) -> Plan {
        let mut plan = self.session.compare(snapshot);
        restrict(&mut plan, Some(self.name));
        plan.items.retain(|item| item.part != Part::new(Kind::Member, self.name));
        // The other machines' missing parts are not created now.
        plan.obstacles.retain(|obstacle| obstacle.kind != ObstacleKind::Quota);
        plan.obstacles.extend(quota::shortfalls(&plan.items, &snapshot.facts));
        plan
    }

    /// The load balancer's members without this machine, if it is one of several.
    fn other_members(&self, ours: &[Found]) -> Vec<(String, std::net::IpAddr)> {
        let members = balancer::members(ours);
        match members.iter().any(|(member, _)| member == self.name) {
            true => members.into_iter().filter(|(member, _)| member != self.name).collect(),
            false => Vec::new(),
        }
    }

    async fn replace(&self, mut snapshot: Snapshot, shown: &Plan, ended: &Cell<bool>) -> Result<(), Error> {
        let (session, name) = (self.session, self.name);
        let (client, marker, cloud) = (&session.client, &session.marker, &session.cloud);
        // Another run may have changed the resources before this run got the lock.
        snapshot.ours = observe::ours(client, marker, cloud).await?;
        let mut plan = self.plan(&snapshot);
        if !replace::former(&snapshot.ours, name).is_empty() {
            // A master may have failed, or was replaced, since the plan was shown.
            let delivery = self.delivery(snapshot.ours.clone());
            plan.obstacles.extend(delivery.obstacle_to_replacement(name).await);
        }
        is_possible(&plan, session)?;
        is_agreed(&plan, shown)?;
        // The new machine joins the etcd of the others.
        permit::leave_to_operator(client, &snapshot.ours).await?;
        replace::begin(client, &snapshot.ours, &plan, name).await?;
        let others = self.other_members(&snapshot.ours);
        if !others.is_empty() {
            balancer::set_members(client, marker, &others, cloud.timeouts.load_balancer).await?;
        }
        let former = replace::former(&snapshot.ours, name);
        destroy::delete_all(client, marker, cloud, &session.output, &former).await?;
        snapshot.ours = observe::ours(client, marker, cloud).await?;
        let server = Part::new(Kind::Server, name);
        if self.joins_alone() && snapshot.find(&server).is_none() {
            self.delivery(snapshot.ours.clone()).remove_former_worker(name).await?;
        }
        let plan = self.rest(&snapshot);
        is_possible(&plan, session).map_err(|_| Error::Configuration {
            what: format!("the former server of {name} is deleted, and the new one cannot be created yet"),
            remedy: "fix the conflicts listed above, then run the command again".to_owned(),
        })?;
        let parts = (&session.loaded, cloud, self.secrets);
        let apply = Apply::new(client, marker, parts, &snapshot, &plan, session.output.clone());
        let found = apply.run().await?;
        let state = found.iter().find(|one| one.part == server).map_or("missing", Found::state);
        if state != "ACTIVE" {
            let machines = vec![format!("{name} ({state})")];
            return Err(Error::Unhealthy { machines, rest: "no machine was reached" });
        }
        self.delivery(found).replace(name, self.role, ended).await
    }

    fn delivery(&self, found: Vec<Found>) -> crate::delivery::Delivery<'_> {
        delivery(self.session, &self.operator, self.secrets, found, self.begun)
    }
}

/// Why the machine's host keys must not be written down yet: they are those of the server that is deleted.
fn pinned(cluster: &Cluster, secrets: &Secrets, ours: &[Found], name: &str) -> Option<Obstacle> {
    if replace::successor(ours, name).is_some() {
        return None;
    }
    let machine = cluster.masters.iter().chain(&cluster.workers).find(|machine| machine.name == name);
    let configured = machine.is_some_and(|machine| !machine.host_keys.is_empty());
    let place = match configured {
        true => "the configuration",
        false if secrets.host_keys(name).is_empty() => return None,
        false => "the secrets bundle",
    };
    let what = format!("{place} contains `hostKeys` of {name}, but the new server generates other host keys");
    Some(Obstacle::new(
        ObstacleKind::Conflict,
        what,
        "remove them: the provisioner reads the new ones from the console, or asks for them",
    ))
}

/// How long the console of a server may take, whose hypervisor may be dead.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why the cloud shows no console, as far as that of the former server tells. Of one that is not ACTIVE, Nova may only have lost it.
async fn closed_console(client: &Client, server: &Found) -> Option<Obstacle> {
    let error = timeout(PATIENCE, machine::console(client, server)).await.ok()?.err()?;
    let Error::Api(answer) = &error else { return None };
    let is_closed = match answer.status() {
        Some(403 | 501) => true,
        Some(404) => server.state() == "ACTIVE",
        _ => false,
    };
    let name = &server.part.name;
    let what = format!("no console would show the host key of the new server: {error}");
    let remedy = format!(
        "have the console enabled; or run `openstack server delete {}`, then the same command, which creates the new server and ends; \
         then write the new host key under `hostKeys` of {name}, and run the command again",
        server.id
    );
    is_closed.then(|| Obstacle::new(ObstacleKind::Conflict, what, remedy))
}

/// Why Cinder would not delete the former volume: it keeps one that has snapshots. Who may not list them may still delete the volume.
async fn snapshots(client: &Client, former: &[Found]) -> Result<Option<Obstacle>, Error> {
    let Some(volume) = former.iter().find(|found| found.part.kind == Kind::Volume) else { return Ok(None) };
    let path = format!("/snapshots/detail?volume_id={}", volume.id);
    let all = match client.list(Service::Volume, &path, "snapshots").await {
        Err(error) if matches!(error.status(), Some(403 | 404)) => return Ok(None),
        all => all?,
    };
    let own = all.iter().filter(|snapshot| snapshot["volume_id"] == volume.id.as_str());
    let ids: Vec<&str> = own.filter_map(|snapshot| snapshot["id"].as_str()).collect();
    let ids = ids.join(" ");
    let what = format!("Cinder does not delete {}, which has snapshots: {ids}", volume.part);
    let remedy = format!("delete them with `openstack volume snapshot delete {ids}`");
    Ok((!ids.is_empty()).then(|| Obstacle::new(ObstacleKind::Conflict, what, remedy)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alter, applied, cluster, listener::with_cloud};

    #[test]
    fn host_keys_may_be_written_down_when_the_former_server_is_gone() {
        let mut cluster = cluster("");
        cluster.masters[0].host_keys = vec!["ssh-ed25519 AAAA".to_owned()];
        let secrets = crate::secrets::tests::example();
        let mut snapshot = applied(&cluster);
        let told = |snapshot: &Snapshot| pinned(&cluster, &secrets, &snapshot.ours, "m1").map(|one| one.what);
        assert!(told(&snapshot).is_some_and(|what| what.starts_with("the configuration contains")));
        alter(&mut snapshot, "port/m1", |body| {
            body["description"] = json!(format!("{} replaces=former", body["description"].as_str().unwrap()));
        });
        assert_eq!(told(&snapshot), None);
    }

    #[test]
    fn no_error_after_the_replacement_tells_to_replace_again() {
        let told = |ended| {
            let lost = Error::Busy { what: "the lock is lost".into(), remedy: "run the same command again".into() };
            let error = unless_replaced(lost, "m1", &Cell::new(ended));
            (error.exit(), error.hint().unwrap_or_default())
        };
        assert_eq!(told(false), (Exit::TryAgain, "run the same command again".to_owned()));
        let (exit, hint) = told(true);
        assert_eq!(exit, Exit::Failed);
        assert!(
            hint.starts_with("do not run the same command again") && hint.contains("`provisioner apply`"),
            "{hint}"
        );
    }

    #[test]
    fn a_volume_with_snapshots_is_told_before_the_server_is_deleted() {
        let snapshot = |id: &str, volume: &str| json!({ "id": id, "volume_id": volume });
        let some =
            json!({ "snapshots": [snapshot("a", "volume/m1"), snapshot("b", "other"), snapshot("c", "volume/m1")] });
        for (status, body, told) in [
            (200, some, Some("delete them with `openstack volume snapshot delete a c`")),
            (200, json!({ "snapshots": [] }), None),
            (403, json!({}), None),
            (404, json!({}), None),
        ] {
            let former = applied(&cluster("")).ours;
            let former: Vec<Found> =
                former.into_iter().filter(|one| one.part == Part::new(Kind::Volume, "m1")).collect();
            with_cloud(
                move |request| {
                    assert!(request.path.ends_with("/snapshots/detail?volume_id=volume/m1"), "{}", request.path);
                    Some((status, body.clone()))
                },
                |client, _| async move {
                    let obstacle = snapshots(&client, &former).await.unwrap();
                    assert_eq!(obstacle.map(|one| one.remedy).as_deref(), told, "{status}");
                },
            );
        }
    }

    #[test]
    fn a_console_that_the_cloud_does_not_show_is_told_before_the_server_is_deleted() {
        for (status, state, is_told) in [
            (403, "ACTIVE", true),
            (404, "ACTIVE", true),
            (501, "SHUTOFF", true),
            (404, "SHUTOFF", false),
            (409, "SHUTOFF", false),
            (200, "ACTIVE", false),
        ] {
            let body = json!({ "id": "former", "status": state });
            let server = Found::new(Part::new(Kind::Server, "m1"), body).unwrap();
            with_cloud(
                |_| Some((status, json!({ "output": "" }))),
                |client, _| async move {
                    let told = closed_console(&client, &server).await;
                    assert_eq!(told.is_some(), is_told, "{status} {state}");
                    assert!(told.is_none_or(|one| one.remedy.contains("`openstack server delete former`")));
                },
            );
        }
    }
}
