//! The service on each master: watches this master's own API server, and restarts the watch until the process ends.

use super::{
    approve::{Rules, Verdict},
    approver::{Approver, REQUESTS},
};
use crate::{
    api::kube::{KubeClient, local_api},
    host::{files::Files, systemd},
};
use nodeinit_base::{Backoff, with_causes};
use nodeinit_config::cluster::{Cluster, Node};
use serde::de::IgnoredAny;
use std::{cell::Cell, convert::Infallible, path::PathBuf, time::Duration};

/// The pauses between attempts double from the first to the last: an API server that restarts is back within seconds.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Limit for a connection to this machine itself.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Every master has an approver. Each waits this long for every master before it in the configuration, so that they do not all
/// do the same work.
const PATIENCE: Duration = Duration::from_millis(50);

/// The service.
pub struct Service {
    files: Files,
    kubeconfig: PathBuf,
    node: Node,
    rules: Rules,
    patience: Duration,
}

impl Service {
    /// Creates the service of the master `node`, with the kubeconfig at this path, which is read again for each connection.
    #[must_use]
    pub fn new(files: Files, kubeconfig: PathBuf, cluster: &Cluster, node: Node) -> Self {
        let place = cluster.masters.iter().position(|master| master.name == node.name).unwrap_or_default();
        let patience = PATIENCE * u32::try_from(place).unwrap_or_default();
        Self { files, kubeconfig, rules: Rules::new(cluster, &node), node, patience }
    }

    /// Runs until the process is stopped. `log` receives one line for each decision, and for each new problem.
    pub async fn run(&self, log: impl Fn(&str)) -> Infallible {
        let (approved, denied) = (Cell::new(0_u64), Cell::new(0_u64));
        let status = || {
            let counts = format!("{} approved, {} denied since its start", approved.get(), denied.get());
            systemd::status(&format!("watching the certificate requests of kubelets: {counts}"));
        };
        let report = |request: &str, verdict: &Verdict| {
            let (what, why) = match verdict {
                Verdict::Approve(why) => ("approved", why),
                Verdict::Deny(why) => ("denied", why),
                Verdict::Leave(why) => ("left pending", why),
            };
            match verdict {
                Verdict::Approve(_) => approved.set(approved.get() + 1),
                Verdict::Deny(_) => denied.set(denied.get() + 1),
                Verdict::Leave(_) => {}
            }
            log(&format!("{what}: certificate request {request}: {why}"));
            status();
        };
        // The API server may start later; until then, the status says so.
        systemd::ready();
        let (mut backoff, mut last) = (Backoff::new(FIRST_PAUSE, LAST_PAUSE), None);
        loop {
            let watched = async {
                let api = self.client()?;
                // A watch sends nothing while there is no request, so this reads a request that does not exist.
                api.get::<IgnoredAny>(&format!("{REQUESTS}?fieldSelector=metadata.name%3Dnodeinit-agent"))
                    .await
                    .map_err(|e| with_causes(&e))?;
                if last.take() != Some(String::new()) {
                    log("watching the certificate requests of kubelets");
                }
                last = Some(String::new());
                status();
                Approver::new(&api, &self.rules, self.patience, &report).watch().await.map_err(|e| with_causes(&e))
            };
            match watched.await {
                Ok(()) => backoff.reset(),
                Err(why) => {
                    systemd::status(&format!("cannot watch certificate requests; retrying: {why}"));
                    if last.as_ref() != Some(&why) {
                        log(&format!("cannot watch certificate requests; retrying: {why}"));
                        if last.as_deref() == Some("") {
                            backoff.reset();
                        }
                    }
                    last = Some(why);
                }
            }
            backoff.pause().await;
        }
    }

    fn client(&self) -> Result<KubeClient, String> {
        let path = self.kubeconfig.display();
        let text = self.files.read_secret_text(&self.kubeconfig).map_err(|e| with_causes(&e))?;
        let text = text.ok_or_else(|| format!("{path} is missing; run `nodeinit up`"))?;
        let client = KubeClient::from_kubeconfig(text.expose(), local_api(self.node.address));
        Ok(client.map_err(|e| format!("cannot use {path}: {e}"))?.connect_within(CONNECT_LIMIT))
    }
}
