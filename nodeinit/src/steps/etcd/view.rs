//! The state of etcd's members at one moment, read over the network.

use crate::{
    api::etcd::{self, CLIENT_PORT, Etcd, EtcdError, Keys, Member, Members, PEER_PORT, Past, Status},
    context::Context,
    engine::error::StepError,
    steps::pki::{certificate_path, key_path},
};
use futures_util::{StreamExt, future, stream::FuturesUnordered};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

/// The certificate of an etcd client. Source: kubeadm, `etcd.NewFromCluster`.
const CLIENT: &str = "etcd/healthcheck-client";

/// The certificate with which a member connects to another one.
const PEER: &str = "etcd/peer";

/// Connections to etcd, which are reused.
pub struct Peers {
    keys: Keys,
    addresses: Vec<SocketAddr>,
    open: RefCell<BTreeMap<SocketAddr, Etcd>>,
    /// The address that presented a certificate of another CA.
    stranger: Cell<Option<SocketAddr>>,
}

/// The members and their state at one moment.
pub struct View {
    /// The member that answered.
    pub asked: Etcd,
    /// All of them.
    pub members: Members,
    /// The status of each member that has started, by its ID, or why it does not answer.
    pub answers: BTreeMap<u64, Result<Status, String>>,
}

/// The state of the masters' etcd, with or without a quorum.
pub enum Survey {
    /// A quorum confirmed it.
    Confirmed(View),
    /// The most advanced member that answers reported it.
    Unconfirmed(View),
    /// No member answers; why.
    Silent(String),
}

impl View {
    /// The voting members.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.members.iter().filter(|member| !member.learner)
    }

    /// Describes a voting member that is not healthy.
    #[must_use]
    pub fn unhealthy(&self) -> Option<String> {
        let unwell = self.voters().find_map(|member| Some((member, self.complaint(member)?)));
        unwell.map(|(member, complaint)| format!("member {} is not healthy: {complaint}", member.shown()))
    }

    /// Returns why a member cannot be removed: the remaining members would have no quorum.
    #[must_use]
    pub fn loss_of_quorum(&self, id: u64) -> Option<String> {
        if !self.voters().any(|member| member.id == id) {
            return None;
        }
        let left: Vec<&Member> = self.voters().filter(|member| member.id != id).collect();
        let complaints: Vec<String> = left
            .iter()
            .filter_map(|member| Some(format!("{} ({})", member.shown(), self.complaint(member)?)))
            .collect();
        let (healthy, quorum) = (left.len() - complaints.len(), left.len() / 2 + 1);
        if healthy >= quorum {
            return None;
        }
        let of = format!("of the {} voting members left, {quorum} must be healthy, and {healthy} are", left.len());
        Some(if complaints.is_empty() { of } else { format!("{of}; not healthy: {}", complaints.join(", ")) })
    }

    /// Returns what is wrong with a member, if anything.
    #[must_use]
    pub fn complaint(&self, member: &Member) -> Option<String> {
        match self.answers.get(&member.id) {
            Some(Ok(status)) if status.is_full(member.id) => Some("its database is full (NOSPACE alarm)".into()),
            Some(Ok(status)) if !status.errors.is_empty() => Some(format!("reports: {}", status.errors.join(", "))),
            _ => self.failure(member),
        }
    }

    /// Returns why a member cannot take part in a quorum, if so. A full database is not a reason.
    #[must_use]
    pub fn failure(&self, member: &Member) -> Option<String> {
        match self.answers.get(&member.id) {
            None => Some("has not started".into()),
            Some(Err(why)) => Some(why.clone()),
            Some(Ok(status)) if status.leader == 0 => Some("knows no leader".into()),
            Some(Ok(_)) => None,
        }
    }

    /// Returns the leader, according to the member that answered.
    #[must_use]
    pub fn leader(&self) -> Option<u64> {
        self.answers.values().flatten().map(|status| status.leader).find(|leader| *leader != 0)
    }
}

impl Peers {
    /// Creates connections to these addresses.
    ///
    /// # Errors
    /// If this machine has no etcd client key, or a damaged one.
    pub fn new(cx: &Context, addresses: impl IntoIterator<Item = IpAddr>) -> Result<Self, StepError> {
        let keys = keys(cx, CLIENT)?;
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, CLIENT_PORT)).collect();
        Ok(Self { keys, addresses, open: RefCell::default(), stranger: Cell::default() })
    }

    /// Creates connections to the other masters of the configuration.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_others(cx: &Context) -> Result<Self, StepError> {
        Self::new(cx, cx.cluster.masters.iter().filter_map(|m| m.address).filter(|a| *a != cx.node.address))
    }

    /// Creates connections to all masters, including this one.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_all(cx: &Context) -> Result<Self, StepError> {
        let others = cx.cluster.masters.iter().filter_map(|m| m.address).filter(|a| *a != cx.node.address);
        Self::new(cx, std::iter::once(cx.node.address).chain(others))
    }

    /// Returns the address that presented a certificate of another CA.
    pub(super) fn stranger(&self) -> Option<SocketAddr> {
        self.stranger.get()
    }

    async fn open(&self, address: SocketAddr) -> Result<Etcd, EtcdError> {
        if let Some(open) = self.open.borrow().get(&address).filter(|etcd| !etcd.is_closed()) {
            return Ok(open.clone());
        }
        let new = Etcd::connect(address, &self.keys).await.inspect_err(|e| {
            if matches!(e, EtcdError::Http(e) if e.is_of_another_ca()) {
                self.stranger.set(Some(address));
            }
        })?;
        self.open.borrow_mut().insert(address, new.clone());
        Ok(new)
    }

    /// Returns the members, from the first address that answers.
    ///
    /// # Errors
    /// If no address answers; all reasons in one line.
    pub async fn members(&self) -> Result<(Etcd, Members), String> {
        let mut asked: FuturesUnordered<_> = self
            .addresses
            .iter()
            .map(|address| async {
                let etcd = self.open(*address).await?;
                let members = etcd.members().await?;
                Ok::<_, EtcdError>((etcd, members))
            })
            .collect();
        let mut reasons = Vec::new();
        while let Some(answer) = asked.next().await {
            match answer {
                Ok(found) => return Ok(found),
                Err(e) => reasons.push(shown(&e)),
            }
        }
        reasons.sort();
        Err(if reasons.is_empty() { "no other master is configured".into() } else { reasons.join("; ") })
    }

    /// Returns the members with their own reports.
    ///
    /// # Errors
    /// As [`Self::members`].
    pub async fn look(&self) -> Result<View, String> {
        let (asked, members) = self.members().await?;
        Ok(self.view(asked, members).await)
    }

    /// Stores the token of etcd's cluster through the first address.
    pub(super) async fn put_cluster_token(&self, token: &str) -> Result<(), String> {
        self.at_first(async |etcd| etcd.put_cluster_token(token).await).await
    }

    /// Publishes the digest of a master's encryption configuration through the first address, unless it is published already.
    pub(super) async fn publish_encryption_digest(&self, master: &str, digest: &str) -> Result<(), String> {
        let publish = async |etcd: Etcd| match etcd.encryption_digests().await?.get(master) {
            Some(published) if published == digest => Ok(()),
            _ => etcd.put_encryption_digest(master, digest).await,
        };
        self.at_first(publish).await
    }

    async fn at_first(&self, act: impl AsyncFnOnce(Etcd) -> Result<(), EtcdError>) -> Result<(), String> {
        let address = *self.addresses.first().ok_or("no address is known")?;
        let done = async { act(self.open(address).await?).await };
        done.await.map_err(|e| shown(&e))
    }

    /// Returns the members with their own reports, even without a quorum.
    pub async fn survey(&self) -> Survey {
        let why = match self.look().await {
            Ok(view) => return Survey::Confirmed(view),
            Err(why) => why,
        };
        let asked = self.addresses.iter().map(|address| async {
            let etcd = self.open(*address).await?;
            let applied = etcd.status().await?.applied;
            let members = etcd.unconfirmed_members().await?;
            Ok::<_, EtcdError>((applied, etcd, members))
        });
        let answers = future::join_all(asked).await.into_iter().flatten();
        match answers.max_by_key(|(applied, ..)| *applied) {
            Some((_, etcd, members)) => Survey::Unconfirmed(self.view(etcd, members).await),
            None => Survey::Silent(why),
        }
    }

    /// Asks every member that has started for its status. A member that hangs delays the result until its request times out.
    pub async fn view(&self, asked: Etcd, members: Members) -> View {
        let started = members.members.iter().filter(|member| !member.client_urls.is_empty());
        let answers = future::join_all(started.map(|member| async { (member.id, self.status(member).await) })).await;
        View { asked, members, answers: answers.into_iter().collect() }
    }

    async fn status(&self, member: &Member) -> Result<Status, String> {
        let addresses = member.client_urls.iter().filter_map(|url| address_of(url));
        let Some(address) = addresses.into_iter().next() else {
            return Err(format!("has no usable client URL: {}", member.client_urls.join(", ")));
        };
        let answer = async { self.open(address).await?.status().await };
        answer.await.map_err(|e| shown(&e))
    }

    /// Connects to a member that has started.
    ///
    /// # Errors
    /// If it does not answer; says why.
    pub async fn connection(&self, member: &Member) -> Result<Etcd, String> {
        let address = member.client_urls.iter().find_map(|url| address_of(url)).ok_or("has not started")?;
        self.open(address).await.map_err(|e| shown(&e))
    }
}

/// Returns the TLS keys for etcd, with a certificate from its folder.
fn keys(cx: &Context, certificate: &str) -> Result<Keys, StepError> {
    let read = |path: PathBuf| {
        let missing = || {
            StepError::new(format!("{} is missing", path.display()))
                .hint("run `nodeinit up` on a master, which generates the file")
        };
        cx.files.read_secret(&path)?.ok_or_else(missing)
    };
    let (authority, certificate, key) =
        (read(certificate_path("etcd/ca"))?, read(certificate_path(certificate))?, read(key_path(certificate))?);
    Keys::new(authority.expose(), certificate.expose(), key.expose())
        .map_err(|e| StepError::caused("cannot connect to etcd", e))
}

/// Asks a member whether its cluster removed member `id`.
pub(super) async fn past(cx: &Context, etcd: &Etcd, cluster: u64, id: u64) -> Result<Result<Past, String>, StepError> {
    let address = SocketAddr::new(etcd.address().ip(), PEER_PORT);
    Ok(etcd::past(address, &keys(cx, PEER)?, cluster, id).await.map_err(|e| shown(&e)))
}

/// Formats an error with its cause.
pub(super) fn shown(error: &EtcdError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    let text = error.to_string();
    if text.ends_with(&cause) { text } else { text + &cause }
}

/// Returns the address in a URL such as `https://10.0.0.12:2379`.
fn address_of(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("https://")?.trim_end_matches('/').parse().ok()
}

/// Returns a host's URL for members or clients.
pub(super) fn url(address: IpAddr, port: u16) -> String {
    format!("https://{}", SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_addresses_survive_a_round_trip() {
        for address in ["10.0.0.12", "fd00::12"] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(address_of(&url(address, 2379)), Some(SocketAddr::new(address, 2379)));
        }
        assert_eq!(url("fd00::12".parse().unwrap(), 2380), "https://[fd00::12]:2380");
        assert_eq!(address_of("https://etcd.example.org:2379"), None);
    }
}
