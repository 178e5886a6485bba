//! What every command that speaks to the cloud begins with.

use super::{Source, Verbosity};
use crate::{
    cloud,
    error::Error,
    lock::{self, Lock},
    openstack::Client,
    output::Output,
    resources::{
        Found, Kind, Marker, Snapshot, desired, diff, observe,
        plan::{Action, Obstacle, ObstacleKind, Plan},
    },
    secrets::Secrets,
    timeline,
    userdata::{self, UserDataError},
};
use nodeinit_config::{Loaded, OpenStack};
use nodeinit_protocol::run::Header;
use serde_json::json;
use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

/// The configuration, and the cloud that it is about.
pub(super) struct Session {
    pub(super) loaded: Loaded,
    pub(super) cloud: OpenStack,
    pub(super) marker: Marker,
    pub(super) client: Client,
    pub(super) secrets: PathBuf,
    /// How the paths of the cluster's further files on the operator's machine begin: `demo` for `demo.kubeconfig`.
    pub(super) beside: String,
    pub(super) output: Output,
    pub(super) replace_balancer: bool,
}

impl Session {
    pub(super) async fn open(source: &Source, verbosity: Verbosity) -> Result<Self, Error> {
        let loaded = source.read()?;
        let cloud = loaded.cluster.openstack.clone().ok_or_else(|| Error::Configuration {
            what: "the configuration has no section `openstack`".to_owned(),
            remedy: "describe the cloud (`provisioner init` writes an example), or run `nodeinit up` on machines that are there already".to_owned(),
        })?;
        let variables = |name: &str| std::env::var(name).ok();
        let credentials = cloud::find(cloud.cloud.as_deref(), &variables)?;
        let client = Client::connect(credentials, cloud.parallel, cloud.timeouts.request).await?;
        let marker = Marker::new(&cloud.cluster_id, &loaded.cluster.name);
        let (secrets, output) = (source.secrets(), verbosity.applied(Output::new(source.output)));
        let beside = source.beside(&loaded.cluster.name);
        Ok(Self { loaded, marker, client, cloud, secrets, beside, output, replace_balancer: false })
    }

    pub(super) async fn plan(&self) -> Result<(Snapshot, Plan), Error> {
        let snapshot = observe::snapshot(&self.client, &self.marker, &self.cloud).await?;
        self.tell_unread();
        let plan = self.compare(&snapshot);
        Ok((snapshot, plan))
    }

    pub(super) fn compare(&self, snapshot: &Snapshot) -> Plan {
        let cluster = &self.loaded.cluster;
        let mut plan = diff::plan(cluster, &self.cloud, desired::of(cluster, &self.cloud), snapshot);
        if self.replace_balancer {
            diff::replace_balancer(&mut plan);
        }
        let servers = plan.items.iter().filter(|item| item.part.kind == Kind::Server && item.action == Action::Create);
        // `apply` generates a bundle that does not exist; everything else can be reported without one.
        let secrets = self.secrets.exists().then(|| Secrets::read(&self.secrets)).transpose();
        let told = servers.zip(secrets.iter().flatten().cycle()).filter_map(|(item, secrets)| {
            userdata::of(&self.loaded, &item.part.name, &userdata::Inputs::default(), secrets).err()
        });
        let obstacle = |error: UserDataError| Obstacle::new(ObstacleKind::Conflict, error.to_string(), error.remedy());
        let obstacles: Vec<Obstacle> = told.map(obstacle).collect();
        plan.obstacles.extend(obstacles);
        plan.obstacles.extend(
            secrets.err().map(|error| {
                Obstacle::new(ObstacleKind::Conflict, error.to_string(), error.hint().unwrap_or_default())
            }),
        );
        plan
    }

    /// Takes the cluster's lock, and reports a wait for it.
    pub(super) async fn lock(&self, break_lock: bool) -> Result<Lock<'_>, Error> {
        let tell = |text: &str| self.output.tell(text, || json!({ "event": "note", "what": text }));
        lock::take(&self.client, &self.marker, break_lock, tell).await
    }

    /// What is the cluster's in the cloud.
    pub(super) async fn ours(&self) -> Result<Vec<Found>, Error> {
        let ours = observe::ours(&self.client, &self.marker, &self.cloud).await?;
        self.tell_unread();
        Ok(ours)
    }

    /// Records what this command does from now on, for `timeline`.
    pub(super) fn record(&self, command: &str) {
        let cluster = &self.loaded.cluster.name;
        let header = Header {
            run: command.to_owned(),
            time: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            machine: nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned(),
            cluster: cluster.clone(),
        };
        self.output.record(timeline::path(cluster), header);
    }

    fn tell_unread(&self) {
        for (what, why) in self.client.unread() {
            let note = format!("{what} cannot be read and are not checked: {why}");
            self.output.tell(&format!("note     {note}"), || json!({ "event": "note", "what": note }));
        }
    }

    pub(super) fn told(&self) {
        let count = self.client.count();
        self.output.tell(
            &format!("{} reading and {} writing requests", count.reads, count.writes),
            || json!({ "event": "requests", "reads": count.reads, "writes": count.writes }),
        );
    }
}
