//! How a worker joins: with a bootstrap token it asks for its kubelet's client certificate, in three requests.
//!
//! 1. GET of the node of its own name: the token is known, the name is free or this machine's own.
//! 2. POST of a CertificateSigningRequest named after the key, so that a killed run finds its own again.
//! 3. A watch of that request until the controller manager has signed it.
//!
//! Each failure adds a request or two of the same. The kubelet's own way (`pkg/kubelet/certificate/bootstrap`) takes more,
//! and kubeadm's, which waits around it for files, several seconds. Nothing here looks at this machine, so that a test can
//! join hundreds of names at once.

mod attempt;
mod error;
mod trust;

pub use crate::host::facts::MachineIdentity;
pub use error::JoinError;
pub use trust::Trust;

use crate::{
    api::kube::KubeClient,
    pki::{Key, catalog::Leaf},
};
use attempt::{Attempt, Stop};
use nodeinit_base::{Backoff, backoff::random};
use nodeinit_config::{Secret, cluster::Endpoint};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Pauses between two rounds over the endpoints begin at this and double.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause while nobody listens: a look costs nobody anything.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause while an API server answers and has to work for it.
const BUSY_PAUSE: Duration = Duration::from_secs(5);

/// One worker about to join.
#[derive(Debug)]
pub struct Join<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Where the API may be, tried in turn.
    pub endpoints: &'a [Endpoint],
    /// Whom to believe that it is the API.
    pub trust: &'a Trust,
    /// The bootstrap token.
    pub token: &'a Secret<String>,
    /// The kubelet's private key, which is on disk already.
    pub key: &'a Key,
    /// This machine.
    pub machine: &'a MachineIdentity,
    /// How long all of it may take.
    pub limit: Duration,
    /// The start is put off by up to this at random, so that workers which boot at once do not ask at once.
    pub spread: Duration,
}

/// A worker that was let in.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The kubelet's client certificate, as PEM.
    pub certificate: String,
    /// The cluster's CA, as PEM.
    pub ca: String,
    /// How many requests were sent.
    pub requests: u32,
}

impl Join<'_> {
    /// What the certificate will say.
    #[must_use]
    pub fn leaf(&self) -> Leaf {
        crate::pki::catalog::node_client(self.node)
    }

    /// Joins, and retries until the deadline where that may help. `note` receives the obstacle, whenever
    /// that changes.
    ///
    /// # Errors
    /// [`JoinError`].
    pub async fn run(&self, mut note: impl FnMut(&str)) -> Result<Joined, JoinError> {
        let deadline = Instant::now() + self.limit;
        tokio::time::sleep(self.spread.mul_f64(random())).await;
        let seen = Arc::default();
        let mut clients: Vec<Option<KubeClient>> = self.endpoints.iter().map(|_| None).collect();
        let mut attempt = Attempt::new(self)?;
        let mut backoff = Backoff::new(FIRST_PAUSE, BUSY_PAUSE).jitter(0.5).until(deadline);
        let mut told = String::new();
        loop {
            let mut obstacles = Vec::new();
            for (endpoint, client) in self.endpoints.iter().zip(&mut clients) {
                let left = deadline.saturating_duration_since(Instant::now());
                let work = attempt.run(endpoint, client, &seen, left);
                let stop = match tokio::time::timeout_at(deadline, work).await {
                    Ok(Ok(joined)) => return Ok(joined),
                    Ok(Err(stop)) => stop,
                    Err(_) => Stop::Now(attempt.unanswered()),
                };
                match stop {
                    Stop::ForGood(error) => return Err(error),
                    Stop::Now(obstacle) => obstacles.push((endpoint.clone(), obstacle)),
                }
            }
            let late = JoinError::Late { node: self.node.to_owned(), limit: self.limit, obstacles };
            if !backoff.has_time() {
                return Err(late);
            }
            let what = late.obstacles();
            if what != told {
                note(&what);
                told = what;
            }
            backoff.grow_to(if late.is_unreachable() { UNREACHABLE_PAUSE } else { BUSY_PAUSE });
            backoff.pause().await;
        }
    }
}
