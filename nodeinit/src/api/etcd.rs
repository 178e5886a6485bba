//! etcd, asked by one client for each member: the members, their growth and their health.
//!
//! Source of the refusals: `go.etcd.io/etcd/api/v3`, `v3rpc/rpctypes/error.go`.

use super::{
    connection::{HttpError, handshake},
    grpc,
    kube::client_tls,
};
use etcd_client::{Channel, Client, MemberAddOptions, ResponseHeader};
use hyper::client::conn::http2::SendRequest;
use rustls_pki_types::ServerName;
use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};
use tonic::body::Body;

/// etcd's ports. Source: kubeadm's `constants.go`, `EtcdListenClientPort` and `EtcdListenPeerPort`.
pub const CLIENT_PORT: u16 = 2379;
/// Where members talk to each other.
pub const PEER_PORT: u16 = 2380;

/// How long a connection may take: a member that is there answers at once, and one that is not must not hold up others.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// etcd itself gives a change of members up after 5 s and two elections (`ServerConfig.ReqTimeout`).
const CALL_LIMIT: Duration = Duration::from_secs(8);

/// A key that nobody has, for a read that only proves a quorum.
const NO_KEY: &str = "\0";

/// Why etcd gave no answer, or refused.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// There was no answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// etcd refused.
    #[error("etcd at {address} refused {call}: {words}")]
    Refused {
        /// The member that was asked.
        address: SocketAddr,
        /// The call's name.
        call: &'static str,
        /// Its own words.
        words: String,
        /// What they mean.
        reason: Refusal,
    },
    /// The connection broke, or the answer cannot be read.
    #[error("etcd at {address} did not answer {call}: {source}")]
    Call {
        /// The member that was asked.
        address: SocketAddr,
        /// The call's name.
        call: &'static str,
        /// Why.
        source: etcd_client::Error,
    },
    /// The keys to etcd.
    #[error("the keys to etcd cannot be used: {0}")]
    Keys(String),
}

/// What a refusal means for who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A learner is not in sync with the leader yet.
    NotInSync,
    /// As many learners as etcd allows are there.
    TooManyLearners,
    /// Not every member has been connected for 5 s.
    Unhealthy,
    /// The change would leave too few started members.
    NotEnoughStarted,
    /// A member has this peer URL.
    PeerUrlExists,
    /// There is no such member.
    MemberNotFound,
    /// The member votes already.
    NotLearner,
    /// The change may have been made or not.
    TimedOut,
    /// Something else.
    Other,
}

impl Refusal {
    fn of(words: &str) -> Self {
        let meanings = [
            ("in sync with leader", Self::NotInSync),
            ("too many learner members", Self::TooManyLearners),
            ("unhealthy cluster", Self::Unhealthy),
            ("not enough started members", Self::NotEnoughStarted),
            ("Peer URLs already exists", Self::PeerUrlExists),
            ("member not found", Self::MemberNotFound),
            ("can only promote a learner member", Self::NotLearner),
            ("timed out", Self::TimedOut),
            ("deadline exceeded", Self::TimedOut),
        ];
        meanings.into_iter().find(|(part, _)| words.contains(part)).map_or(Self::Other, |(_, meaning)| meaning)
    }
}

impl EtcdError {
    /// What a refusal means; `None` where there was no answer.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        if let Self::Refused { reason, .. } = self { Some(*reason) } else { None }
    }
}

/// A member as the cluster knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its number; etcd writes it in hex.
    pub id: u64,
    /// Its name, which it tells when it has started: empty before.
    pub name: String,
    /// Where the others reach it.
    pub peer_urls: Vec<String>,
    /// Where clients reach it; empty before it has started.
    pub client_urls: Vec<String>,
    /// It does not vote.
    pub learner: bool,
}

impl Member {
    /// Its name, or else its peer URL, for messages.
    #[must_use]
    pub fn shown(&self) -> &str {
        if self.name.is_empty() { self.peer_urls.first().map_or("?", String::as_str) } else { &self.name }
    }
}

/// All members, as the leader knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The cluster's number.
    pub cluster_id: u64,
    /// Learners among them.
    pub members: Vec<Member>,
}

/// What a member says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Its own number.
    pub member_id: u64,
    /// Whom it takes for the leader; 0 for nobody.
    pub leader: u64,
    /// Its database on disk, in bytes.
    pub db_size: i64,
    /// Its version.
    pub version: String,
    /// What it complains of: alarms, or no leader.
    pub errors: Vec<String>,
}

/// What opens etcd to a client.
#[derive(Clone, Debug)]
pub struct Keys(Arc<rustls::ClientConfig>);

impl Keys {
    /// etcd's CA, a client's certificate and its key, as PEM.
    ///
    /// # Errors
    /// [`EtcdError::Keys`] where they are malformed.
    pub fn new(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, EtcdError> {
        client_tls(authority, certificate, key).map(|tls| Self(Arc::new(tls))).map_err(EtcdError::Keys)
    }
}

/// A connection to one member; clones share it.
#[derive(Clone)]
pub struct Etcd {
    address: SocketAddr,
    client: Client,
    sender: SendRequest<Body>,
}

impl Etcd {
    /// Connects to the member at `address`, and verifies it.
    ///
    /// # Errors
    /// [`EtcdError::Http`] where nobody answers there, or somebody else.
    pub async fn connect(address: SocketAddr, keys: &Keys) -> Result<Self, EtcdError> {
        let name = ServerName::IpAddress(address.ip().into());
        let sender = handshake::<Body>(address, name, keys.0.clone(), CONNECT_LIMIT).await?;
        let channel = Channel::Custom(grpc::channel(sender.clone(), "https", address.to_string()));
        let client = Client::from_channel(channel, None).await;
        let client = client.map_err(|source| EtcdError::Call { address, call: "the greeting", source })?;
        Ok(Self { address, client, sender })
    }

    /// The member that answers.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether calls can no longer be made.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// All members, as a quorum has them: a learner, and one that is cut off or was removed, does not answer.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn members(&self) -> Result<Members, EtcdError> {
        // The client lists the members as the one that is asked knows them. After a read that a quorum has confirmed it knows
        // all that was decided before.
        self.call("Range", async |mut etcd| etcd.get(NO_KEY, None).await).await?;
        let list = self.call("MemberList", async |mut etcd| etcd.member_list().await).await?;
        Ok(Members {
            cluster_id: list.header().map_or(0, ResponseHeader::cluster_id),
            members: list.members().iter().map(member).collect(),
        })
    }

    /// Adds a member that does not vote yet.
    ///
    /// # Errors
    /// [`EtcdError`]; after [`Refusal::TimedOut`], or no answer, the member may be there.
    pub async fn add_learner(&self, peer_url: &str) -> Result<(), EtcdError> {
        let learner = MemberAddOptions::new().with_is_learner();
        let add = async |mut etcd: Client| etcd.member_add([peer_url], Some(learner)).await;
        self.call("MemberAdd", add).await.map(drop)
    }

    /// Lets a learner vote.
    ///
    /// # Errors
    /// [`EtcdError`]; after [`Refusal::TimedOut`], or no answer, it may vote.
    pub async fn promote(&self, id: u64) -> Result<(), EtcdError> {
        self.call("MemberPromote", async |mut etcd| etcd.member_promote(id).await).await.map(drop)
    }

    /// Removes a member, whether or not it runs; its data is of no use from then on.
    ///
    /// # Errors
    /// [`EtcdError`]; after [`Refusal::TimedOut`], or no answer, it may be gone.
    pub async fn remove(&self, id: u64) -> Result<(), EtcdError> {
        self.call("MemberRemove", async |mut etcd| etcd.member_remove(id).await).await.map(drop)
    }

    /// What the member that answers says of itself.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn status(&self) -> Result<Status, EtcdError> {
        let status = self.call("Status", async |mut etcd| etcd.status().await).await?;
        Ok(Status {
            member_id: status.header().map_or(0, ResponseHeader::member_id),
            leader: status.leader(),
            db_size: status.db_size(),
            version: status.version().to_owned(),
            errors: status.errors().to_vec(),
        })
    }

    /// Hands leadership to another voting member; only the leader can.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn move_leader(&self, to: u64) -> Result<(), EtcdError> {
        self.call("MoveLeader", async |mut etcd| etcd.move_leader(to).await).await.map(drop)
    }

    async fn call<A>(
        &self,
        call: &'static str,
        exchange: impl AsyncFnOnce(Client) -> Result<A, etcd_client::Error>,
    ) -> Result<A, EtcdError> {
        let address = self.address;
        let answer = tokio::time::timeout(CALL_LIMIT, exchange(self.client.clone())).await;
        answer.map_err(|_| HttpError::TimedOut { address, limit: CALL_LIMIT })?.map_err(|e| match e {
            // What etcd itself says has no source; a broken connection has.
            etcd_client::Error::GRpcStatus(status) if status.source().is_none() => {
                let words = status.message().to_owned();
                let reason = Refusal::of(&words);
                EtcdError::Refused { address, call, words, reason }
            }
            source => EtcdError::Call { address, call, source },
        })
    }
}

fn member(member: &etcd_client::Member) -> Member {
    Member {
        id: member.id(),
        name: member.name().to_owned(),
        peer_urls: member.peer_urls().to_vec(),
        client_urls: member.client_urls().to_vec(),
        learner: member.is_learner(),
    }
}
