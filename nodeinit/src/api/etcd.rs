//! A small client of etcd: its members, their growth and their health.
//!
//! Source: `go.etcd.io/etcd/api/v3`, `etcdserverpb/rpc.proto`; only the fields that are used here. Refusals:
//! `v3rpc/rpctypes/error.go`.

use super::{
    connection::{Http2, HttpError},
    grpc::{self, CallError},
    kube::client_tls,
};
use prost::Message;
use rustls_pki_types::ServerName;
use std::{net::SocketAddr, sync::Arc, time::Duration};

/// etcd's ports. Source: kubeadm's `constants.go`, `EtcdListenClientPort` and `EtcdListenPeerPort`.
pub const CLIENT_PORT: u16 = 2379;
/// Where members talk to each other.
pub const PEER_PORT: u16 = 2380;

/// How long a connection may take: a member that is there answers at once, and one that is not must not hold up others.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// etcd itself gives a change of members up after 5 s and two elections (`ServerConfig.ReqTimeout`).
const CALL_LIMIT: Duration = Duration::from_secs(8);

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
    /// An answer that cannot be read.
    #[error("the answer of etcd at {address} to {call} cannot be read: {reason}")]
    Answer {
        /// The member that was asked.
        address: SocketAddr,
        /// The call's name.
        call: &'static str,
        /// What is wrong with it.
        reason: String,
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
    connection: Http2,
}

impl Etcd {
    /// Connects to the member at `address`, and verifies it.
    ///
    /// # Errors
    /// [`EtcdError::Http`] where nobody answers there, or somebody else.
    pub async fn connect(address: SocketAddr, keys: &Keys) -> Result<Self, EtcdError> {
        let name = ServerName::IpAddress(address.ip().into());
        let connection = Http2::connect(address, name, keys.0.clone(), CONNECT_LIMIT).await?;
        Ok(Self { address, connection })
    }

    /// The member that answers.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether calls can no longer be made.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// All members. Linearizable: an answer proves that there is a quorum.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn members(&self) -> Result<Members, EtcdError> {
        let list: wire::List = self.cluster("MemberList", &wire::ListRequest { linearizable: true }).await?;
        Ok(Members {
            cluster_id: list.header.unwrap_or_default().cluster_id,
            members: list.members.into_iter().map(member).collect(),
        })
    }

    /// Adds a member that does not vote yet, and returns its number.
    ///
    /// # Errors
    /// [`EtcdError`]; after [`Refusal::TimedOut`], or no answer, the member may be there.
    pub async fn add_learner(&self, peer_url: &str) -> Result<u64, EtcdError> {
        let request = wire::Add { peer_urls: vec![peer_url.to_owned()], is_learner: true };
        let added: wire::Added = self.cluster("MemberAdd", &request).await?;
        Ok(added.member.unwrap_or_default().id)
    }

    /// Lets a learner vote.
    ///
    /// # Errors
    /// [`EtcdError`]; after [`Refusal::TimedOut`], or no answer, it may vote.
    pub async fn promote(&self, id: u64) -> Result<(), EtcdError> {
        self.cluster::<wire::Nothing>("MemberPromote", &wire::Id { id }).await.map(drop)
    }

    /// Removes a member, whether or not it runs; its data is of no use from then on.
    ///
    /// # Errors
    /// [`EtcdError`]; after [`Refusal::TimedOut`], or no answer, it may be gone.
    pub async fn remove(&self, id: u64) -> Result<(), EtcdError> {
        self.cluster::<wire::Nothing>("MemberRemove", &wire::Id { id }).await.map(drop)
    }

    /// What the member that answers says of itself.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn status(&self) -> Result<Status, EtcdError> {
        let status: wire::Status = self.call("etcdserverpb.Maintenance", "Status", &wire::Nothing {}).await?;
        Ok(Status {
            member_id: status.header.unwrap_or_default().member_id,
            leader: status.leader,
            db_size: status.db_size,
            version: status.version,
            errors: status.errors,
        })
    }

    /// Hands leadership to another voting member; only the leader can.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn move_leader(&self, to: u64) -> Result<(), EtcdError> {
        self.call::<wire::Nothing>("etcdserverpb.Maintenance", "MoveLeader", &wire::Id { id: to }).await.map(drop)
    }

    async fn cluster<A: Message + Default>(&self, call: &'static str, request: &impl Message) -> Result<A, EtcdError> {
        self.call("etcdserverpb.Cluster", call, request).await
    }

    async fn call<A: Message + Default>(
        &self,
        service: &'static str,
        call: &'static str,
        request: &impl Message,
    ) -> Result<A, EtcdError> {
        let address = self.address;
        let url = format!("https://{address}/{service}/{call}");
        let exchange = grpc::call(self.connection.sender(), url, None, request);
        let answer = tokio::time::timeout(CALL_LIMIT, exchange).await;
        answer.map_err(|_| HttpError::TimedOut { address, limit: CALL_LIMIT })?.map_err(|e| match e {
            CallError::Broke(source) => HttpError::Exchange { address, source }.into(),
            CallError::Status(_, words) => {
                let reason = Refusal::of(&words);
                EtcdError::Refused { address, call, words, reason }
            }
            CallError::Message(reason) => EtcdError::Answer { address, call, reason },
        })
    }
}

fn member(wire: wire::Member) -> Member {
    Member {
        id: wire.id,
        name: wire.name,
        peer_urls: wire.peer_urls,
        client_urls: wire.client_urls,
        learner: wire.is_learner,
    }
}

/// The messages, as far as they are used.
mod wire {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Nothing {}

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Header {
        #[prost(uint64, tag = "1")]
        pub(super) cluster_id: u64,
        #[prost(uint64, tag = "2")]
        pub(super) member_id: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Id {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Member {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(string, tag = "2")]
        pub(super) name: String,
        #[prost(string, repeated, tag = "3")]
        pub(super) peer_urls: Vec<String>,
        #[prost(string, repeated, tag = "4")]
        pub(super) client_urls: Vec<String>,
        #[prost(bool, tag = "5")]
        pub(super) is_learner: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ListRequest {
        #[prost(bool, tag = "1")]
        pub(super) linearizable: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct List {
        #[prost(message, optional, tag = "1")]
        pub(super) header: Option<Header>,
        #[prost(message, repeated, tag = "2")]
        pub(super) members: Vec<Member>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Add {
        #[prost(string, repeated, tag = "1")]
        pub(super) peer_urls: Vec<String>,
        #[prost(bool, tag = "2")]
        pub(super) is_learner: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Added {
        #[prost(message, optional, tag = "2")]
        pub(super) member: Option<Member>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Status {
        #[prost(message, optional, tag = "1")]
        pub(super) header: Option<Header>,
        #[prost(string, tag = "2")]
        pub(super) version: String,
        #[prost(int64, tag = "3")]
        pub(super) db_size: i64,
        #[prost(uint64, tag = "4")]
        pub(super) leader: u64,
        #[prost(string, repeated, tag = "8")]
        pub(super) errors: Vec<String>,
    }
}
