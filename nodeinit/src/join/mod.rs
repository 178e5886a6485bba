//! Joins a worker: uses a bootstrap token to request the kubelet's client certificate, in three requests.
//!
//! 1. GET of the node with its own name: the token is known, and the name is free or belongs to this machine.
//! 2. POST of a CertificateSigningRequest named after the key, so that the run after a kill finds its request again.
//! 3. A watch of that request until the controller manager has signed it.
//!
//! Each failure adds one or two of these requests. The kubelet's bootstrap (`pkg/kubelet/certificate/bootstrap`) needs more,
//! and kubeadm, which also waits for files, takes several seconds. Nothing here reads this machine, so a test can join
//! hundreds of names at the same time.

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

/// The first pause between two rounds over the endpoints; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause while no endpoint accepts connections: an attempt is cheap.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause while an API server answers: each attempt costs it work.
const BUSY_PAUSE: Duration = Duration::from_secs(5);

/// A worker's attempt to join.
#[derive(Debug)]
pub struct JoinRequest<'a> {
    /// The node's name.
    pub node: &'a str,
    /// The endpoints of the API, tried in turn.
    pub endpoints: &'a [Endpoint],
    /// The trusted CA or its pin.
    pub trust: &'a Trust,
    /// The bootstrap token.
    pub token: &'a Secret<String>,
    /// The kubelet's private key, which is already on disk.
    pub key: &'a Key,
    /// This machine.
    pub machine: &'a MachineIdentity,
    /// The time limit for all attempts.
    pub limit: Duration,
    /// The start is delayed by up to this time at random, so that workers that boot together do not all send requests together.
    pub spread: Duration,
}

/// A worker that has joined.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The kubelet's client certificate, as PEM.
    pub certificate: String,
    /// The cluster's CA, as PEM.
    pub ca: String,
    /// The number of requests that were sent.
    pub requests: u32,
}

impl JoinRequest<'_> {
    /// Describes the requested certificate.
    #[must_use]
    pub fn leaf(&self) -> Leaf {
        crate::pki::catalog::node_client(self.node)
    }

    /// Joins, and retries until the deadline if that may help. `note` receives the obstacle whenever it changes.
    ///
    /// # Errors
    /// If the worker cannot join.
    pub async fn run(&self, mut note: impl FnMut(&str)) -> Result<Joined, JoinError> {
        let deadline = Instant::now() + self.limit;
        tokio::time::sleep(self.spread.mul_f64(random())).await;
        let seen = Arc::default();
        let mut clients: Vec<Option<KubeClient>> = self.endpoints.iter().map(|_| None).collect();
        let mut attempt = Attempt::new(self)?;
        let mut backoff = Backoff::new(FIRST_PAUSE, BUSY_PAUSE).jitter(0.5).until(deadline);
        let mut last_message = String::new();
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
            if what != last_message {
                note(&what);
                last_message = what;
            }
            backoff.grow_to(if late.is_unreachable() { UNREACHABLE_PAUSE } else { BUSY_PAUSE });
            backoff.pause().await;
        }
    }
}
