//! From machines that boot to a cluster: the first master gets program, configuration and secrets over SSH, and brings up
//! the rest; the balancer gets its members, the operator a kubeconfig.

mod host_keys;
mod master;
mod replace;
mod state;

use crate::{
    balancer,
    error::Error,
    openstack::Client,
    output::{Output, write_private},
    permit,
    resources::{Found, Kind, Marker, Part, part::TOKEN},
    secrets::Secrets,
    userdata::{self, Inputs},
};
use host_keys::HostKeys;
use master::Master;
pub(crate) use master::open_program;
use nodeinit_base::Wait;
use nodeinit_config::{
    Cluster, Loaded, OpenStack, Secret,
    cluster::{API_PORT, Endpoint, Machine, Role},
};
use serde_json::json;
pub use state::State;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    ops::ControlFlow,
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
    /// Where machines' host keys are pinned, beside their servers' metadata.
    pub known_hosts: PathBuf,
    /// How long a machine may take to let us in.
    pub patience: Duration,
    /// Where progress goes.
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
        let workers_self_join = userdata::workers_self_join(self.loaded);
        let reached = cluster.masters.iter().chain(cluster.workers.iter().filter(|_| !workers_self_join));
        let inputs = self.inputs();
        let mut host_keys = self.host_keys(&reached.collect::<Vec<_>>()).await?;
        let tokens = match workers_self_join {
            true => cluster.workers.iter().filter_map(|w| self.token(&w.name, &inputs)).collect(),
            false => BTreeMap::new(),
        };
        let config = userdata::master_config(self.loaded, &inputs)?;
        if only.is_none() {
            self.set_up_bastion(&inputs, &mut host_keys).await?;
        }
        let mut machine = self.reach(&cluster.masters[0], &inputs, &mut host_keys, self.patience).await?;
        self.tell(&format!("logged in to {}, which has the known host key", machine.shown()));
        host_keys::keep(self, &host_keys).await;
        // From inside nobody goes to the bastion.
        self.cloud.bastion.iter().for_each(|bastion| drop(host_keys.remove(&bastion.name)));
        let bundle = self.secrets.for_first_master(&tokens, &host_keys);
        machine.equip(&config).await?;
        // With the keys, the machine can bootstrap etcd by itself, also after a reboot.
        let permit = match only {
            Some(_) => permit::leave_to_operator(self.client, &self.found).await.map(|()| None)?,
            None => machine.take_permit().await?,
        };
        machine.entrust(&bundle).await?;
        let ended = match only {
            Some((name, role)) => machine.nodeinit(&format!("{role} add {name}")).await,
            None => machine.up(permit).await,
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
        // Where some machines failed, the others are helped on.
        if ended.as_ref().is_err_and(|error| !error.is_partly()) {
            return ended;
        }
        if workers_self_join {
            let workers = cluster.workers.iter().map(|worker| worker.name.as_str());
            let awaited: BTreeSet<&str> =
                workers.filter(|name| self.is_active(name) && only.is_none_or(|(one, _)| one == *name)).collect();
            self.let_in_again(&mut machine, &awaited, &ready, &tokens, host_keys).await?;
            let waited = self.wait_for_workers(&machine, awaited, ready).await;
            machine.delete_spent_tokens().await?;
            waited?;
        }
        ended
    }

    /// Sets up the bastion that is the machines' way out.
    async fn set_up_bastion(&self, inputs: &Inputs, host_keys: &mut HostKeys) -> Result<(), Error> {
        let (Some(mut bastion), Some(config)) =
            (self.loaded.cluster.bastion_machine(), userdata::bastion_config(self.loaded))
        else {
            return Ok(());
        };
        if !userdata::is_bastion(&self.loaded.cluster, &bastion.name) {
            return Ok(());
        }
        bastion.ssh.address = inputs.bastion;
        let mut there = self.reach(&bastion, inputs, host_keys, self.patience).await?;
        there.equip(&config).await?;
        there.enable().await?;
        there.nodeinit("up").await
    }

    /// Logs in to a master. A machine on the way whose console shows another key than the pinned one was installed
    /// again; then its key is replaced, and no other.
    async fn reach(
        &self,
        master: &Machine,
        inputs: &Inputs,
        host_keys: &mut HostKeys,
        limit: Duration,
    ) -> Result<Master<'_>, Error> {
        // The key may be replaced by that of the metadata first, then by that of the console; on the way is a bastion.
        for _ in 0..4 {
            let error = match Master::reach(self, master, inputs, host_keys, limit).await {
                Err(error @ Error::HostKey { .. }) => error,
                other => return other,
            };
            let Error::HostKey { machine, .. } = &error else { return Err(error) };
            let Some(keys) = host_keys::renew(self, machine).await else { return Err(error) };
            host_keys.insert(machine.clone(), keys);
        }
        Master::reach(self, master, inputs, host_keys, limit).await
    }

    fn is_active(&self, machine: &str) -> bool {
        let part = Part::new(Kind::Server, machine);
        self.found.iter().any(|found| found.part == part && found.state() == "ACTIVE")
    }

    /// Takes a machine out of the cluster: drained, out of etcd, its node deleted.
    ///
    /// # Errors
    /// Where the first master cannot be reached, pods do not go, or etcd would lose its quorum.
    pub async fn remove(&self, name: &str, role: Role, force: bool) -> Result<(), Error> {
        let Some(first) = self.loaded.cluster.masters.first() else { return Ok(()) };
        let host_keys = self.host_keys(&[first]).await?;
        let mut machine = Master::reach(self, first, &self.inputs(), &host_keys, self.patience).await?;
        machine.remove(name, role, force).await?;
        self.tell(&format!("{name} is drained and is no longer a {role} of the cluster"));
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
        Master::reach(self, first, &self.inputs(), &host_keys, self.patience).await?.state().await
    }

    /// What is there, for a machine's configuration.
    fn inputs(&self) -> Inputs {
        let part = |kind, name: &str| self.found.iter().find(|f| f.part.kind == kind && f.part.name == name).cloned();
        Inputs::of(&self.loaded.cluster, |kind, name| part(kind, name).map(Rc::new))
    }

    /// The host keys of these machines and of the bastion: those of the configuration, else the pinned ones, else those of
    /// their consoles. Those of the first master and of the bastion must be known.
    async fn host_keys(&self, machines: &[&Machine]) -> Result<HostKeys, Error> {
        let bastion = self.cloud.bastion.as_ref().map(|bastion| bastion.name.as_str());
        let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).chain(bastion).collect();
        let first = self.loaded.cluster.masters.first().map(|first| first.name.as_str());
        let needed: Vec<&str> = first.into_iter().chain(bastion).collect();
        host_keys::host_keys(self, &names, &needed).await
    }

    fn token(&self, worker: &str, inputs: &Inputs) -> Option<(String, Secret<String>)> {
        Some((worker.to_owned(), self.secrets.worker_token(worker, inputs.origins.get(worker)?)))
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

    /// Gives a new token to each awaited worker whose own is no longer valid: it came late, or its machine was rebuilt. The
    /// first master brings it over SSH, to the host key of the worker's console.
    async fn let_in_again(
        &self,
        first: &mut Master<'_>,
        awaited: &BTreeSet<&str>,
        ready: &BTreeSet<String>,
        tokens: &BTreeMap<String, Secret<String>>,
        mut host_keys: BTreeMap<String, Vec<String>>,
    ) -> Result<(), Error> {
        if awaited.iter().all(|worker| ready.contains(*worker)) {
            return Ok(());
        }
        let valid = first.valid_tokens().await?;
        let servers = self.found.iter().filter(|found| found.part.kind == Kind::Server);
        let handed = servers.filter_map(|server| {
            Some((server.part.name.as_str(), server.body["metadata"][TOKEN].as_str()?.to_owned()))
        });
        let handed: BTreeMap<&str, String> = handed.collect();
        let late = state::without_token(awaited, ready, tokens, &handed, &valid);
        if late.is_empty() {
            return Ok(());
        }
        let workers = self.loaded.cluster.workers.iter().filter(|worker| late.contains(worker.name.as_str()));
        let workers: Vec<&Machine> = workers.collect();
        let bastion = self.cloud.bastion.as_ref().map(|bastion| bastion.name.as_str());
        host_keys
            .extend(self.host_keys(&workers).await?.into_iter().filter(|(name, _)| Some(name.as_str()) != bastion));
        first.bring_secrets(&self.secrets.for_first_master(tokens, &host_keys)).await?;
        let inputs = self.inputs();
        for worker in workers {
            let name = &worker.name;
            if !host_keys.contains_key(name) {
                continue;
            }
            let Some(address) = worker.address.or(inputs.addresses.get(name).copied()) else { continue };
            self.tell(&format!("the bootstrap token of {name} is no longer valid; the first master sends a new one"));
            // The others come all the same; this one is named when it is not Ready in time.
            if let Err(error) = first.nodeinit(&format!("worker add {name} --address {address}")).await {
                self.tell(&format!("{name} got no new token: {error}"));
            }
        }
        Ok(())
    }

    /// Until all that are `waited` for are Ready; `ready` are those that are.
    async fn wait_for_workers(
        &self,
        machine: &Master<'_>,
        mut waited: BTreeSet<&str>,
        ready: BTreeSet<String>,
    ) -> Result<(), Error> {
        let timeouts = &self.loaded.cluster.timeouts;
        waited.iter().for_each(|worker| self.output.begin(worker, "joins the cluster and becomes Ready"));
        self.end_ready(&mut waited, &ready);
        if waited.is_empty() {
            return Ok(());
        }
        let look = async || {
            match machine.ready_nodes().await {
                Ok(ready) => self.end_ready(&mut waited, &ready),
                Err(error) => return ControlFlow::Break(Err(error)),
            }
            if waited.is_empty() {
                return ControlFlow::Break(Ok(()));
            }
            ControlFlow::Continue(
                "not Ready: for the cause, see `journalctl -u nodeinit` on that server, or its console".to_owned(),
            )
        };
        let wait = Wait::new("the workers' nodes to be Ready", timeouts.join + timeouts.node).first_pause(LOOK);
        wait.until(look).await.unwrap_or_else(|late| {
            let thing = waited.into_iter().collect::<Vec<_>>().join(", ");
            let what = "each worker's node is Ready".to_owned();
            Err(Error::Deadline { thing, what, seconds: late.limit.as_secs(), last: late.seen })
        })
    }

    /// Reports those of the `waited` that are Ready, and waits for them no longer.
    fn end_ready(&self, waited: &mut BTreeSet<&str>, ready: &BTreeSet<String>) {
        for worker in ready.iter().filter(|name| waited.remove(name.as_str())) {
            self.output.end(worker);
            self.tell(&format!("worker {worker} is Ready"));
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
