//! From machines that boot to a cluster: the first master gets program, configuration and secrets over SSH, and brings up
//! the rest; the balancer gets its members, the operator a kubeconfig.

mod console;
mod first_master;
mod state;

use crate::{
    balancer,
    error::Error,
    openstack::Client,
    output::{Output, write_private},
    resources::{Found, Kind, Marker, Part},
    secrets::Secrets,
    userdata::{self, Inputs},
};
use first_master::FirstMaster;
use nodeinit_config::{
    Cluster, Loaded, OpenStack, Secret,
    cluster::{API_PORT, Endpoint, Machine, Role},
};
use serde_json::json;
pub use state::State;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::PathBuf,
    rc::Rc,
    time::{Duration, Instant},
};

/// How often the nodes are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// All that it needs.
pub struct Delivery<'a> {
    /// What is there.
    pub found: Vec<Found>,
    /// The cloud.
    pub client: &'a Client,
    /// What is ours there.
    pub marker: &'a Marker,
    /// The configuration.
    pub loaded: &'a Loaded,
    /// Its part about the cloud.
    pub cloud: &'a OpenStack,
    /// The bundle.
    pub secrets: &'a Secrets,
    /// Where the kubeconfig is written.
    pub kubeconfig: PathBuf,
    /// Where machines' host keys are kept, so that not each run reads each console.
    pub known_hosts: PathBuf,
    /// How long a machine may take to let us in.
    pub patience: Duration,
    /// Who is told.
    pub output: Output,
    /// Since when.
    pub begun: Instant,
}

impl Delivery<'_> {
    /// Brings the cluster up on its machines, or on one machine `only`; on one that is up nothing is changed.
    ///
    /// # Errors
    /// What could not be reached or did not come up, by name.
    pub async fn run(&self, only: Option<(&str, Role)>) -> Result<(), Error> {
        let cluster = &self.loaded.cluster;
        let workers_come = userdata::workers_come(self.loaded);
        let reached = cluster.masters.iter().chain(cluster.workers.iter().filter(|_| !workers_come));
        let inputs = self.inputs();
        let mut host_keys = self.host_keys(&reached.collect::<Vec<_>>()).await?;
        let tokens = match workers_come {
            true => cluster.workers.iter().filter_map(|w| self.token(&w.name, &inputs)).collect(),
            false => BTreeMap::new(),
        };
        let config = userdata::master_config(self.loaded, &inputs)
            .map_err(|e| Error::Configuration { what: e.to_string(), remedy: "mend the configuration".to_owned() })?;
        let reached = FirstMaster::reach(self, &inputs, &host_keys).await;
        if matches!(reached, Err(Error::Machine { .. })) {
            console::forget(self);
        }
        let mut machine = reached?;
        self.tell(&format!("{} lets us in, with the host key of its console", machine.shown()));
        // From inside nobody goes to the bastion.
        self.cloud.bastion.iter().for_each(|bastion| drop(host_keys.remove(&bastion.name)));
        let bundle = self.secrets.for_first_master(&tokens, &host_keys);
        machine.equip(&config, &bundle).await?;
        let ended = match only {
            Some((name, role)) => machine.nodeinit(&format!("{role} add {name}")).await,
            None => machine.nodeinit("up").await,
        };
        let ready = machine.ready_nodes().await.unwrap_or_default();
        if ended.is_ok() || !ready.is_empty() {
            match only {
                Some((name, Role::Master)) if ended.is_ok() => self.add_member(name, &inputs).await?,
                Some(_) => {}
                None => self.balance(&inputs, |name| ended.is_ok() || ready.contains(name)).await?,
            }
            self.write_kubeconfig(&machine.admin().await?, &inputs)?;
        }
        ended?;
        if workers_come {
            let workers = cluster.workers.iter().map(|worker| worker.name.as_str());
            let awaited = workers.filter(|name| only.is_none_or(|(one, _)| one == *name)).collect();
            self.wait_for_workers(&machine, awaited, ready).await?;
            machine.retire_tokens().await?;
        }
        Ok(())
    }

    /// Takes a machine out of the cluster: drained, out of etcd, its node deleted.
    ///
    /// # Errors
    /// Where the first master cannot be reached, pods do not go, or etcd would lose its quorum.
    pub async fn remove(&self, name: &str, role: Role, force: bool) -> Result<(), Error> {
        let Some(first) = self.loaded.cluster.masters.first() else { return Ok(()) };
        let host_keys = self.host_keys(&[first]).await?;
        let mut machine = FirstMaster::reach(self, &self.inputs(), &host_keys).await?;
        machine.remove(name, role, force).await?;
        self.tell(&format!("{name} is drained, and no {role} of the cluster any more"));
        Ok(())
    }

    /// The cluster as its first master tells it.
    ///
    /// # Errors
    /// Where it does not let us in within `patience`.
    pub async fn state(&self) -> Result<State, Error> {
        let is_there = |name: &str| self.found.iter().any(|one| one.part == Part::new(Kind::Server, name));
        let first = self.loaded.cluster.masters.first().filter(|first| is_there(&first.name));
        let first = first.ok_or_else(|| Error::Refused {
            what: "there is no first master yet".to_owned(),
            remedy: "run `provisioner apply`".to_owned(),
        })?;
        let host_keys = self.host_keys(&[first]).await?;
        FirstMaster::reach(self, &self.inputs(), &host_keys).await?.state().await
    }

    /// What is there, for a machine's configuration.
    fn inputs(&self) -> Inputs {
        let part = |kind, name: &str| self.found.iter().find(|f| f.part.kind == kind && f.part.name == name).cloned();
        Inputs::of(&self.loaded.cluster, |kind, name| part(kind, name).map(Rc::new))
    }

    /// The host keys of these machines and of the bastion: those of the configuration, else those of their consoles.
    async fn host_keys(&self, machines: &[&Machine]) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let (known, unknown): (Vec<&Machine>, Vec<&Machine>) =
            machines.iter().copied().partition(|machine| !machine.host_keys.is_empty());
        let mut unknown: Vec<&str> = unknown.iter().map(|machine| machine.name.as_str()).collect();
        unknown.extend(self.cloud.bastion.iter().map(|bastion| bastion.name.as_str()));
        let mut host_keys = console::host_keys(self, &unknown).await?;
        host_keys.extend(known.iter().map(|machine| (machine.name.clone(), machine.host_keys.clone())));
        Ok(host_keys)
    }

    fn token(&self, worker: &str, inputs: &Inputs) -> Option<(String, Secret<String>)> {
        Some((worker.to_owned(), self.secrets.worker_token(worker, inputs.ports.get(worker)?)))
    }

    /// Makes the masters that are of the control plane the balancer's members.
    async fn balance(&self, inputs: &Inputs, is_up: impl Fn(&str) -> bool) -> Result<(), Error> {
        if !self.cloud.load_balancer.enabled {
            return Ok(());
        }
        let masters = self.loaded.cluster.masters.iter().enumerate();
        let up = masters.filter(|(n, master)| *n == 0 || is_up(&master.name));
        let members: Vec<(String, IpAddr)> = up
            .filter_map(|(_, m)| Some((m.name.clone(), m.address.or(inputs.addresses.get(&m.name).copied())?)))
            .collect();
        if balancer::has_members(&self.found, &members) {
            return Ok(());
        }
        if balancer::set_members(self.client, self.marker, &members, self.cloud.timeouts.load_balancer).await? {
            let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
            self.tell(&format!("the balancer's members are {}", names.join(", ")));
        }
        Ok(())
    }

    /// Makes a master one of the balancer's members, beside those that there are.
    async fn add_member(&self, name: &str, inputs: &Inputs) -> Result<(), Error> {
        let there = balancer::members(&self.found);
        self.balance(inputs, |master| master == name || there.iter().any(|(member, _)| member == master)).await
    }

    /// Until all that are `waited` for are Ready; `ready` are those that are.
    async fn wait_for_workers(
        &self,
        machine: &FirstMaster<'_>,
        mut waited: BTreeSet<&str>,
        mut ready: BTreeSet<String>,
    ) -> Result<(), Error> {
        let timeouts = &self.loaded.cluster.timeouts;
        let limit = timeouts.join + timeouts.node;
        waited.iter().for_each(|worker| self.output.begin(worker, "joins until its node is Ready"));
        let begun = Instant::now();
        loop {
            for worker in ready.iter().filter(|name| waited.remove(name.as_str())) {
                self.output.end(worker);
                self.tell(&format!("worker {worker} is Ready"));
            }
            if waited.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > limit {
                let thing = waited.into_iter().collect::<Vec<_>>().join(", ");
                let what = "each worker's node is Ready".to_owned();
                let last = "not Ready: `journalctl -u nodeinit` and the console of that server tell why".to_owned();
                return Err(Error::Deadline { thing, what, seconds: limit.as_secs(), last });
            }
            tokio::time::sleep(LOOK).await;
            ready = machine.ready_nodes().await?;
        }
    }

    /// The administrator's kubeconfig, for this side of the network.
    fn write_kubeconfig(&self, admin: &Secret<String>, inputs: &Inputs) -> Result<(), Error> {
        let endpoint = public_endpoint(&self.loaded.cluster, inputs);
        let line = |line: &str| match (line.trim_start().starts_with("server: "), &endpoint) {
            (true, Some(endpoint)) => format!("    server: https://{endpoint}\n"),
            _ => format!("{line}\n"),
        };
        let text: String = admin.expose().lines().map(line).collect();
        write_private(&self.kubeconfig, &text)?;
        self.tell(&format!("kubectl --kubeconfig {} get nodes", self.kubeconfig.display()));
        Ok(())
    }

    fn tell(&self, text: &str) {
        let at = self.begun.elapsed().as_secs_f64();
        self.output.tell(&format!("{at:6.1} s  {text}"), || json!({ "event": "note", "what": text, "at": at }));
    }
}

/// Where people find the API.
fn public_endpoint(cluster: &Cluster, inputs: &Inputs) -> Option<Endpoint> {
    let first = cluster.masters.first()?;
    let addresses = [
        inputs.balancer_floating,
        inputs.balancer,
        cluster.control_plane.virtual_address,
        inputs.floating.get(&first.name).copied(),
        inputs.addresses.get(&first.name).copied(),
        first.address,
    ];
    let address = addresses.into_iter().flatten().next()?;
    let otherwise = Endpoint { host: address.to_string(), port: API_PORT };
    Some(cluster.control_plane.endpoint.clone().unwrap_or(otherwise))
}
