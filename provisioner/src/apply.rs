//! Does what a plan says: everything that is independent at once, each wait with a name and a deadline.

mod create;
mod made;
mod repair;
mod wait;

#[cfg(test)]
mod tests;

use crate::{
    error::{Causes, Error},
    openstack::{Client, Service, listing::Listing},
    output::Output,
    permit, replace,
    resources::{
        Found, Kind, Marker, Part, Snapshot,
        body::Context,
        desired::{Spec, Want},
        observe,
        plan::{Action, Item, Plan},
    },
    secrets::Secrets,
    userdata::{self, Inputs},
};
use futures_util::future::join_all;
use made::Made;
use nodeinit_base::critical_path::{Bar, critical_path};
use nodeinit_config::{Loaded, OpenStack};
use serde_json::json;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use tokio::sync::{Mutex, OnceCell, Semaphore};

/// Lists of servers and volumes are asked for no more often, however many are waited for.
const LOOK: Duration = Duration::from_secs(1);
/// How often a terminal shows what is waited for.
const PATIENCE: Duration = Duration::from_secs(15);
/// Ports that are made by one request: all of them or none.
const PORTS: usize = 20;

/// All that the work needs.
pub struct Apply<'a> {
    client: &'a Client,
    marker: &'a Marker,
    loaded: &'a Loaded,
    cloud: &'a OpenStack,
    secrets: &'a Secrets,
    snapshot: &'a Snapshot,
    plan: &'a Plan,
    output: Output,
    made: Made,
    servers: Listing<'a>,
    volumes: Listing<'a>,
    building: Semaphore,
    balancing: Mutex<()>,
    begun: Instant,
    failures: RefCell<Causes>,
    /// Whether the first master's server is permitted to bootstrap etcd as soon as it is there.
    permits: bool,
    /// Whether it is written that the cluster is new.
    announced: OnceCell<()>,
    finished: RefCell<BTreeMap<Part, Duration>>,
}

/// What is done at once: one item, or several that one request makes.
struct Task<'p> {
    items: Vec<&'p Item>,
}

impl Task<'_> {
    /// The times of its parts that are finished.
    fn bars<'t>(&'t self, finished: &BTreeMap<Part, Duration>) -> impl Iterator<Item = Bar<&'t Part>> {
        let wants = self.items.iter().filter_map(|item| item.want.as_ref());
        let needs: Vec<&Part> = wants.flat_map(|want| &want.needs).collect();
        self.items.iter().filter_map(move |item| {
            let end = *finished.get(&item.part)?;
            Some(Bar { name: &item.part, needs: needs.clone(), start: Duration::ZERO, end })
        })
    }
}

impl<'a> Apply<'a> {
    /// Ready to run.
    pub fn new(
        client: &'a Client,
        marker: &'a Marker,
        (loaded, cloud, secrets): (&'a Loaded, &'a OpenStack, &'a Secrets),
        snapshot: &'a Snapshot,
        plan: &'a Plan,
        output: Output,
    ) -> Self {
        Self {
            client,
            marker,
            loaded,
            cloud,
            secrets,
            snapshot,
            plan,
            output,
            made: Made::default(),
            servers: Listing::new(
                client,
                Service::Compute,
                &observe::servers(marker, &snapshot.ours, !snapshot.facts.lacks_server_tags),
                "servers",
                LOOK,
            ),
            volumes: Listing::new(client, Service::Volume, observe::VOLUMES, "volumes", LOOK),
            building: Semaphore::new(cloud.parallel),
            balancing: Mutex::new(()),
            begun: Instant::now(),
            failures: RefCell::default(),
            permits: false,
            announced: OnceCell::new(),
            finished: RefCell::default(),
        }
    }

    /// Permits the first master's server to bootstrap etcd, if this run, or an interrupted one before it, makes the cluster's first
    /// machines.
    #[must_use]
    pub fn permitting(self) -> Self {
        let ours = &self.snapshot.ours;
        Self { permits: permit::is_new(ours) || permit::announced(ours).is_some(), ..self }
    }

    /// Does everything; a failure ends only what depends on it. Returns what is there then; servers among it that are not
    /// ACTIVE could not be repaired.
    ///
    /// # Errors
    /// How many parts failed; each failure has been told.
    pub async fn run(self) -> Result<Vec<Found>, Error> {
        for item in &self.plan.items {
            if let (Action::Keep, Some(found)) = (&item.action, &item.found) {
                self.made.add(item.part.clone(), found.clone());
            }
        }
        let tasks = tasks(self.plan);
        let todo: BTreeSet<&Part> = tasks.iter().flat_map(|task| &task.items).map(|item| &item.part).collect();
        for item in self.plan.items.iter().filter(|item| item.action != Action::Keep && !todo.contains(&item.part)) {
            self.made.fail(&item.part);
        }
        let all = join_all(tasks.iter().map(|task| self.task(task)));
        tokio::select! {
            _ = all => {}
            () = self.tell_waits() => {}
        }
        self.tell_critical_path(&tasks);
        self.failures.take().outcome(tasks.iter().map(|task| task.items.len()).sum())?;
        let mut there = self.made.all();
        there.extend(self.snapshot.ours.iter().filter(|one| self.made.get(&one.part).is_none()).cloned());
        Ok(there)
    }

    /// Tells now and then what is still under way; never ends.
    async fn tell_waits(&self) {
        loop {
            tokio::time::sleep(PATIENCE).await;
            if self.output.is_live() {
                continue;
            }
            let under_way = self.output.under_way().into_iter();
            let under_way: Vec<String> =
                under_way.map(|(name, since)| format!("{name} ({:.0} s)", since.as_secs_f64())).collect();
            let at = self.begun.elapsed().as_secs_f64();
            self.output.tell(
                &format!("{at:6.1} s  waiting  {}", under_way.join(", ")),
                || json!({ "event": "waiting", "for": under_way, "at": at }),
            );
        }
    }

    /// What everything had to wait for, from the last that was done back to the first.
    fn tell_critical_path(&self, tasks: &[Task<'_>]) {
        let finished = self.finished.borrow();
        let bars: Vec<Bar<&Part>> = tasks.iter().flat_map(|task| task.bars(&finished)).collect();
        let path = critical_path(&bars);
        let Some(last) = path.last() else { return };
        let end = last.end;
        let steps: Vec<String> =
            path.iter().map(|bar| format!("{} {:.1} s", bar.name, bar.end.as_secs_f64())).collect();
        self.output.tell(&format!("{:6.1} s  in all; the last waited for {}", end.as_secs_f64(), steps.join(" → ")), || {
            json!({ "event": "critical_path", "seconds": end.as_secs_f64(), "parts": path.iter().map(|bar| bar.name.to_string()).collect::<Vec<_>>() })
        });
    }

    async fn task(&self, task: &Task<'_>) {
        let parts: Vec<&Part> = task.items.iter().map(|item| &item.part).collect();
        let name = match parts[..] {
            [one] => one.to_string(),
            _ => format!("{} and {} more", parts[0], parts.len() - 1),
        };
        let outcome = match self.needs(task).await {
            Ok(()) => {
                let begun = Instant::now();
                self.output.begin(&name, verbs(&task.items[0].action).0);
                let done = self.work(task).await;
                self.output.end_as(&name, done.is_err());
                done.map(|()| begun.elapsed())
            }
            Err(failed) => Err(Error::NotBegun(failed.to_string())),
        };
        let at = self.begun.elapsed().as_secs_f64();
        match outcome {
            Ok(took) => {
                let (_, verb) = verbs(&task.items[0].action);
                self.finished.borrow_mut().extend(parts.iter().map(|part| ((*part).clone(), self.begun.elapsed())));
                let took = took.as_secs_f64();
                let text = format!("{at:6.1} s  {verb:<8} {name} ({took:.1} s)");
                let names: Vec<String> = parts.iter().map(ToString::to_string).collect();
                self.output.tell(
                    &text,
                    || json!({ "event": "done", "parts": names, "action": verb, "seconds": took, "at": at }),
                );
            }
            Err(error) => {
                // A server that is there and cannot be made ACTIVE is unhealthy: the machines' work goes on without it.
                let is_server = parts[0].kind == Kind::Server && matches!(task.items[0].action, Action::Change(_));
                if !is_server {
                    self.failures.borrow_mut().add(parts.iter().map(ToString::to_string).collect(), &error);
                }
                parts.iter().for_each(|part| self.made.fail(part));
                self.output.fail(&name, &error, at);
            }
        }
    }

    /// Waits until all that a task needs is there.
    async fn needs(&self, task: &Task<'_>) -> Result<(), Part> {
        let own: Vec<&Part> = task.items.iter().map(|item| &item.part).collect();
        let wants = task.items.iter().filter_map(|item| item.want.as_ref());
        for need in wants.flat_map(|want| &want.needs).filter(|need| !own.contains(need)) {
            self.made.wait(need).await.map_err(|()| need.clone())?;
        }
        Ok(())
    }

    async fn work(&self, task: &Task<'_>) -> Result<(), Error> {
        let item = task.items[0];
        match (&item.action, &item.want, &item.found) {
            (Action::Create, Some(_), _) if task.items.len() > 1 => {
                let wants: Vec<&Want> = task.items.iter().filter_map(|item| item.want.as_ref()).collect();
                self.create_many(item.part.kind, &wants).await
            }
            (Action::Create, Some(want), _) => self.create(want).await,
            (Action::Change(fixes), Some(want), Some(found)) => self.repair(want, found, fixes).await,
            (Action::Replace(_), Some(want), Some(found)) => {
                self.remove(found).await?;
                self.create(want).await
            }
            (Action::Delete(_), _, Some(found)) => self.remove(found).await,
            _ => Err(Error::Defect(format!("{}: nothing can be done about {:?}", item.part, item.action))),
        }
    }

    fn context<'c>(&'c self, made: &'c dyn Fn(&Part) -> Option<std::rc::Rc<Found>>) -> Context<'c> {
        Context {
            name: &self.loaded.cluster.name,
            marker: self.marker,
            cloud: self.cloud,
            facts: &self.snapshot.facts,
            place: &self.plan.place,
            made,
        }
    }

    /// The ID of the token in a worker's user-data.
    fn token_id(&self, name: &str) -> Option<String> {
        let is_worker = self.loaded.cluster.workers.iter().any(|worker| worker.name == name);
        let port = self
            .made
            .get(&Part::new(Kind::Port, name))
            .filter(|_| is_worker && userdata::workers_self_join(self.loaded))?;
        let token = self.secrets.worker_token(name, &replace::origin(&port));
        token.expose().split('.').next().map(str::to_owned)
    }

    /// A machine's user-data, with what is there by now.
    fn user_data(&self, name: &str) -> Result<String, Error> {
        let inputs = Inputs::of(&self.loaded.cluster, |kind, name| self.made.get(&Part::new(kind, name)));
        Ok(userdata::of(self.loaded, name, &inputs, self.secrets)?)
    }
}

/// What is to be done, with what one request makes together.
fn tasks(plan: &Plan) -> Vec<Task<'_>> {
    let todo = plan.items.iter().filter(|item| item.action.is_work());
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for item in todo {
        let joins = |task: &&mut Task<'_>| {
            let first = task.items[0];
            let together = match item.part.kind {
                // Neutron (Zed) forgets allowed address pairs where it makes several at once.
                Kind::Port => task.items.len() < PORTS && !is_lenient(first) && !is_lenient(item),
                // Neutron takes several rules at once, but only of one group.
                Kind::Rule => group(first) == group(item),
                _ => false,
            };
            let alike =
                item.action == Action::Create && first.action == Action::Create && first.part.kind == item.part.kind;
            alike && together
        };
        match tasks.iter_mut().find(joins) {
            Some(task) => task.items.push(item),
            None => tasks.push(Task { items: vec![item] }),
        }
    }
    tasks
}

/// Whether it is a port that may send from other addresses.
fn is_lenient(item: &Item) -> bool {
    let spec = item.want.as_ref().map(|want| &want.spec);
    matches!(spec, Some(Spec::Port { pairs, groups, .. }) if !pairs.is_empty() || groups.is_empty())
}

/// Whose rule it is.
fn group(item: &Item) -> Option<&'static str> {
    match &item.want.as_ref()?.spec {
        Spec::Rule(rule) => Some(rule.group),
        _ => None,
    }
}

/// What is being done, and what is done then.
fn verbs(action: &Action) -> (&'static str, &'static str) {
    match action {
        Action::Create => ("creating", "created"),
        Action::Change(_) => ("changing", "changed"),
        Action::Replace(_) => ("replacing", "replaced"),
        _ => ("deleting", "deleted"),
    }
}
