//! etcd, asked by one client for each member: the members, their growth and their health.
//!
//! Source of the refusals: `go.etcd.io/etcd/api/v3`, `v3rpc/rpctypes/error.go`.

use super::{
    connection::{HttpError, get_tls, handshake},
    grpc,
    kube::client_tls,
};
use etcd_client::{
    AlarmAction, AlarmOptions, AlarmType, Channel, Client, CompactionOptions, Compare, CompareOp, DowngradeOptions,
    GetOptions, MemberAddOptions, PutOptions, ResponseHeader, SnapshotStreaming, SortOrder, SortTarget, Txn, TxnOp,
};
use hyper::{StatusCode, client::conn::http2::SendRequest};
use rustls_pki_types::ServerName;
use std::{collections::BTreeMap, error::Error, net::SocketAddr, sync::Arc, time::Duration};
use tonic::body::Body;

/// etcd's ports. Source: kubeadm's `constants.go`, `EtcdListenClientPort` and `EtcdListenPeerPort`.
pub const CLIENT_PORT: u16 = 2379;
/// Where members talk to each other.
pub const PEER_PORT: u16 = 2380;

/// How long a connection may take: a member that is there answers at once, and one that is not must not hold up others.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// etcd itself gives a change of members up after 5 s and two elections (`ServerConfig.ReqTimeout`).
const CALL_LIMIT: Duration = Duration::from_secs(8);

/// How long a member may rewrite its database, which has some GB at most.
const LONG_LIMIT: Duration = Duration::from_secs(600);

/// How long a member may take for the next part of a snapshot. Before the first part it writes what is pending to its disk.
const PART_LIMIT: Duration = Duration::from_secs(30);

/// A key that nobody has, for a read that only proves a quorum.
const NO_KEY: &str = "\0";

/// Where an etcd that nodeinit bootstrapped holds its `--initial-cluster-token`. It is there when other masters may join.
const TOKEN_KEY: &str = "/nodeinit/initial-cluster-token";

/// The master whose etcd is being restarted; bound to a lease.
const TURN_KEY: &str = "/nodeinit/etcd-restart";

/// Where each master publishes the digest of its encryption configuration, under its name.
const ENCRYPTION_DIGESTS: &str = "/nodeinit/encryption-config/";

/// Where the API server stores Secrets.
const SECRETS: &str = "/registry/secrets/";

/// What every cluster has once its API works, those of earlier versions and of kubeadm, too.
const CONFIG_KEY: &str = "/registry/configmaps/kube-system/kubeadm-config";

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
    /// An answer that is none of those that etcd gives there.
    #[error("etcd at {address} answered {status} when it was asked about member {id:x}: {words}")]
    Unexpected {
        /// The member that was asked.
        address: SocketAddr,
        /// The member that it was asked about.
        id: u64,
        /// The HTTP status.
        status: StatusCode,
        /// Its own words.
        words: String,
    },
    /// A lease that is renewed has ended.
    #[error("the lease has ended")]
    LeaseEnded,
    /// The keys to etcd.
    #[error("cannot use the etcd client certificate and key: {0}")]
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
    /// The version that its data needs, without the patch number.
    pub storage_version: String,
    /// Whether members of the minor version before may join.
    pub downgrading: bool,
    /// How far its state is, in log entries.
    pub applied: u64,
    /// What it complains of: alarms, or no leader.
    pub errors: Vec<String>,
}

impl Status {
    /// Whether an alarm says that the database of a member is full. Every member reports the alarms of all.
    #[must_use]
    pub fn is_full(&self, member: u64) -> bool {
        let alarm = format!("memberID:{member} alarm:NOSPACE");
        self.errors.iter().any(|error| error.trim() == alarm)
    }
}

/// An alarm that a member raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// The member.
    pub member: u64,
    /// What is wrong.
    pub kind: AlarmKind,
}

/// What an alarm says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmKind {
    /// The database has reached its quota: etcd rejects all writes until the alarm is disarmed.
    Full,
    /// Members have different data.
    Corrupt,
    /// Unknown to this version.
    Other,
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

/// What a cluster knows of a member that its list of members does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// It was a member and was removed. etcd keeps the IDs of removed members and never admits one again.
    Removed,
    /// It was never a member.
    Unknown,
}

/// Asks a member, on its peer port, whether its cluster removed the member `id`.
///
/// The client API has no such call: this is the request with which a member connects to another one. It names no peer URL, so
/// etcd remembers nothing of it, and no recipient, so a present member is refused as well. `keys` are those of a peer.
/// Source: etcd, `server/etcdserver/api/rafthttp/http.go`, `streamHandler.ServeHTTP`.
///
/// # Errors
/// [`EtcdError`]; [`EtcdError::Unexpected`] also where the cluster has another ID, or `id` is a member.
pub async fn past(address: SocketAddr, keys: &Keys, cluster: u64, id: u64) -> Result<Past, EtcdError> {
    // The port speaks HTTP/1.1 only, although its TLS offers HTTP/2.
    let mut tls = rustls::ClientConfig::clone(&keys.0);
    tls.alpn_protocols.clear();
    // Without versions etcd takes the client for an etcd 2.0. Any from this on up to its own will do.
    let headers = [
        ("X-Etcd-Cluster-ID", format!("{cluster:x}")),
        ("X-Server-Version", "3.5.0".to_owned()),
        ("X-Min-Cluster-Version", "3.0.0".to_owned()),
    ];
    let path = format!("/raft/stream/message/{id:x}");
    match get_tls(address, Arc::new(tls), &path, &headers, CALL_LIMIT).await? {
        (StatusCode::GONE, _) => Ok(Past::Removed),
        (status, body) => match String::from_utf8_lossy(&body).trim() {
            words if status == StatusCode::NOT_FOUND && words.contains("sender not found") => Ok(Past::Unknown),
            words => Err(EtcdError::Unexpected { address, id, status, words: words.to_owned() }),
        },
    }
}

/// A value in etcd, and the revision of etcd at which it was written: 0 if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The value.
    pub value: Option<String>,
    /// Its revision.
    pub revision: i64,
}

/// Whose turn it is to restart etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The one who asks, by this lease.
    Ours(i64),
    /// Another master's.
    Of(String),
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
        self.unconfirmed_members().await
    }

    /// All members, as the one that is asked knows them, with or without a quorum.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn unconfirmed_members(&self) -> Result<Members, EtcdError> {
        let list = self.call("MemberList", async |mut etcd| etcd.member_list().await).await?;
        Ok(Members {
            cluster_id: list.header().map_or(0, ResponseHeader::cluster_id),
            members: list.members().iter().map(member).collect(),
        })
    }

    /// The cluster's `--initial-cluster-token`, where it has one.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn cluster_token(&self) -> Result<Option<String>, EtcdError> {
        Ok(self.stored(TOKEN_KEY).await?.value)
    }

    /// Stores the cluster's `--initial-cluster-token`, which lets other masters join.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn put_cluster_token(&self, token: &str) -> Result<(), EtcdError> {
        self.call("Put", async |mut etcd| etcd.put(TOKEN_KEY, token, None).await).await.map(drop)
    }

    /// The SHA-256 of each master's encryption configuration, by the master's name, as far as they have published it.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn encryption_digests(&self) -> Result<BTreeMap<String, String>, EtcdError> {
        let all = GetOptions::new().with_prefix();
        let found = self.call("Range", async |mut etcd| etcd.get(ENCRYPTION_DIGESTS, Some(all)).await).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let name = |key: &[u8]| text(key).trim_start_matches(ENCRYPTION_DIGESTS).to_owned();
        Ok(found.kvs().iter().map(|kv| (name(kv.key()), text(kv.value()))).collect())
    }

    /// Publishes the SHA-256 of a master's encryption configuration.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn put_encryption_digest(&self, master: &str, digest: &str) -> Result<(), EtcdError> {
        let key = format!("{ENCRYPTION_DIGESTS}{master}");
        self.call("Put", async |mut etcd| etcd.put(key, digest, None).await).await.map(drop)
    }

    /// The Secret that was written last, as the API server stores it.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn newest_secret(&self) -> Result<Option<Vec<u8>>, EtcdError> {
        let newest = GetOptions::new().with_prefix().with_sort(SortTarget::Mod, SortOrder::Descend).with_limit(1);
        let found = self.call("Range", async |mut etcd| etcd.get(SECRETS, Some(newest)).await).await?;
        Ok(found.kvs().first().map(|kv| kv.value().to_vec()))
    }

    /// The version of Kubernetes that the cluster's `kubeadm-config` names; `None` where there is none yet, or it cannot be read.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn kubernetes_version(&self) -> Result<Option<String>, EtcdError> {
        let found = self.call("Range", async |mut etcd| etcd.get(CONFIG_KEY, None).await).await?;
        Ok(found.kvs().first().and_then(|kv| version_in(kv.value())))
    }

    /// Whether other masters may join: the machine that bootstrapped this etcd has recorded that it is healthy.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn is_settled(&self) -> Result<bool, EtcdError> {
        if self.cluster_token().await?.is_some() {
            return Ok(true);
        }
        let keys = GetOptions::new().with_keys_only();
        let found = self.call("Range", async |mut etcd| etcd.get(CONFIG_KEY, Some(keys)).await).await?;
        Ok(!found.kvs().is_empty())
    }

    /// Takes the turn to restart etcd for the master `holder`, unless another one has it. It ends by itself after `seconds`.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn take_turn(&self, holder: &str, seconds: i64) -> Result<Turn, EtcdError> {
        let found = self.call("Range", async |mut etcd| etcd.get(TURN_KEY, None).await).await?;
        if let Some(kv) = found.kvs().first() {
            let other = String::from_utf8_lossy(kv.value()).into_owned();
            if other != holder {
                return Ok(Turn::Of(other));
            }
            // A killed run of ours left it, perhaps long ago.
            self.renew_lease(kv.lease()).await?;
            return Ok(Turn::Ours(kv.lease()));
        }
        let lease = self.grant_lease(seconds).await?;
        if self.store(TURN_KEY, holder, Some(lease), 0).await?.is_none() {
            self.end_lease(lease).await?;
            return Ok(Turn::Of("another master".into()));
        }
        Ok(Turn::Ours(lease))
    }

    /// Reads a value.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn stored(&self, key: &str) -> Result<Stored, EtcdError> {
        let found = self.call("Range", async |mut etcd| etcd.get(key, None).await).await?;
        let kv = found.kvs().first();
        Ok(Stored {
            value: kv.map(|kv| String::from_utf8_lossy(kv.value()).into_owned()),
            revision: kv.map_or(0, etcd_client::KeyValue::mod_revision),
        })
    }

    /// Writes a value, which ends with the lease, if it still has this revision. Returns the new revision; `None` if another client was
    /// faster.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn store(
        &self,
        key: &str,
        value: &str,
        lease: Option<i64>,
        revision: i64,
    ) -> Result<Option<i64>, EtcdError> {
        let options = lease.map(|lease| PutOptions::new().with_lease(lease));
        let put = TxnOp::put(key, value, options);
        let txn = Txn::new().when([Compare::mod_revision(key, CompareOp::Equal, revision)]).and_then([put]);
        let answer = self.call("Txn", async |mut etcd| etcd.txn(txn).await).await?;
        Ok(answer.succeeded().then(|| answer.header().map_or(0, ResponseHeader::revision)))
    }

    /// Returns a new lease, which lasts so many seconds unless it is renewed.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn grant_lease(&self, seconds: i64) -> Result<i64, EtcdError> {
        let grant = async |mut etcd: Client| etcd.lease_grant(seconds, None).await;
        Ok(self.call("LeaseGrant", grant).await?.id())
    }

    /// Lets a lease last for its whole time again.
    ///
    /// # Errors
    /// [`EtcdError`], also if the lease has ended.
    pub async fn renew_lease(&self, lease: i64) -> Result<(), EtcdError> {
        // The client renews the lease once to begin with.
        let renew = async |mut etcd: Client| etcd.lease_keep_alive(lease).await;
        self.call("LeaseKeepAlive", renew).await.map(drop)
    }

    /// Ends a lease. What is bound to it is deleted.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn end_lease(&self, lease: i64) -> Result<(), EtcdError> {
        self.call("LeaseRevoke", async |mut etcd| etcd.lease_revoke(lease).await).await.map(drop)
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
            applied: status.raft_applied_index(),
            version: status.version().to_owned(),
            storage_version: status.storage_version().to_owned(),
            downgrading: status.downgrade_info().is_some_and(|info| info.enabled()),
            errors: status.errors().to_vec(),
        })
    }

    /// Lets members of an older minor version join, once each member has made its data readable for them. Source: etcd's `Downgrade`.
    ///
    /// # Errors
    /// [`EtcdError`], if the cluster's version is not one minor version newer.
    pub async fn enable_downgrade(&self, version: &str) -> Result<(), EtcdError> {
        let options = DowngradeOptions::Enable(version.to_owned());
        self.call("Downgrade", async |etcd: Client| etcd.maintenance_client().downgrade(options.clone()).await)
            .await
            .map(drop)
    }

    /// Ends what [`Self::enable_downgrade`] began.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn cancel_downgrade(&self) -> Result<(), EtcdError> {
        let call = async |etcd: Client| etcd.maintenance_client().downgrade(DowngradeOptions::Cancel).await;
        self.call("Downgrade", call).await.map(drop)
    }

    /// Hands leadership to another voting member; only the leader can.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn move_leader(&self, to: u64) -> Result<(), EtcdError> {
        self.call("MoveLeader", async |mut etcd| etcd.move_leader(to).await).await.map(drop)
    }

    /// All alarms.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn alarms(&self) -> Result<Vec<Alarm>, EtcdError> {
        let get = async |mut etcd: Client| etcd.alarm(AlarmAction::Get, AlarmType::None, None).await;
        let answer = self.call("Alarm", get).await?;
        let kind = |alarm| match alarm {
            AlarmType::Nospace => AlarmKind::Full,
            AlarmType::Corrupt => AlarmKind::Corrupt,
            AlarmType::None => AlarmKind::Other,
        };
        Ok(answer.alarms().iter().map(|a| Alarm { member: a.member_id(), kind: kind(a.alarm()) }).collect())
    }

    /// Disarms a member's alarm that its database is full.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn disarm_full(&self, member: u64) -> Result<(), EtcdError> {
        let mut of = AlarmOptions::new();
        of.with_member(member);
        let disarm = async |mut etcd: Client| etcd.alarm(AlarmAction::Deactivate, AlarmType::Nospace, Some(of)).await;
        self.call("Alarm", disarm).await.map(drop)
    }

    /// Returns the present revision, which a quorum confirms.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn revision(&self) -> Result<i64, EtcdError> {
        let read = self.call("Range", async |mut etcd| etcd.get(NO_KEY, None).await).await?;
        Ok(read.header().map_or(0, ResponseHeader::revision))
    }

    /// Starts a snapshot of the member's database.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn snapshot(&self) -> Result<SnapshotStream<'_>, EtcdError> {
        let start = async |mut etcd: Client| etcd.snapshot().await;
        let stream = self.call_within(PART_LIMIT, "Snapshot", start).await?;
        Ok(SnapshotStream { etcd: self, stream })
    }

    /// Discards all revisions before the present one, in the database too. Clients that watch from an older one must list
    /// again.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn compact(&self) -> Result<(), EtcdError> {
        let revision = self.revision().await?;
        let physical = CompactionOptions::new().with_physical();
        let compact = async |mut etcd: Client| etcd.compact(revision, Some(physical)).await;
        match self.call_within(LONG_LIMIT, "Compact", compact).await {
            // Another client was faster.
            Err(EtcdError::Refused { words, .. }) if words.contains("has been compacted") => Ok(()),
            compacted => compacted.map(drop),
        }
    }

    /// Defragments the member's database. The member is unavailable until it is done.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn defragment(&self) -> Result<(), EtcdError> {
        let defragment = async |mut etcd: Client| etcd.defragment().await;
        self.call_within(LONG_LIMIT, "Defragment", defragment).await.map(drop)
    }

    async fn call<A>(
        &self,
        call: &'static str,
        exchange: impl AsyncFnOnce(Client) -> Result<A, etcd_client::Error>,
    ) -> Result<A, EtcdError> {
        self.call_within(CALL_LIMIT, call, exchange).await
    }

    async fn call_within<A>(
        &self,
        limit: Duration,
        call: &'static str,
        exchange: impl AsyncFnOnce(Client) -> Result<A, etcd_client::Error>,
    ) -> Result<A, EtcdError> {
        let address = self.address;
        let answer = tokio::time::timeout(limit, exchange(self.client.clone())).await;
        answer.map_err(|_| HttpError::TimedOut { address, limit })?.map_err(|e| match e {
            // What etcd itself says has no source; a broken connection has.
            etcd_client::Error::GRpcStatus(status) if status.source().is_none() => {
                let words = status.message().to_owned();
                let reason = Refusal::of(&words);
                EtcdError::Refused { address, call, words, reason }
            }
            etcd_client::Error::LeaseKeepAliveError(why) if why.contains("not found") => EtcdError::LeaseEnded,
            source => EtcdError::Call { address, call, source },
        })
    }
}

/// A snapshot that a member sends in parts: its database, then the SHA-256 of the database.
pub struct SnapshotStream<'a> {
    etcd: &'a Etcd,
    stream: SnapshotStreaming,
}

impl SnapshotStream<'_> {
    /// Returns the next part; `None` after the last one.
    ///
    /// # Errors
    /// [`EtcdError`], also if no part arrives for half a minute.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, EtcdError> {
        let Self { etcd, stream } = self;
        let part = etcd.call_within(PART_LIMIT, "Snapshot", async |_| stream.message().await).await?;
        Ok(part.map(|part| part.blob().to_vec()))
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

/// The API server stores the ConfigMap as protobuf, in which kubeadm's YAML is a plain text.
fn version_in(stored: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stored);
    let (_, rest) = text.split_once("kubernetesVersion: ")?;
    rest.lines().next().map(|version| version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_out_of_the_stored_config_map() {
        let stored = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\xf6\x06\x12\x14ClusterConfiguration\x12\xdd\x05\
            apiVersion: kubeadm.k8s.io/v1beta4\nkubernetesVersion: v1.34.4\nnetworking:\n  dnsDomain: cluster.local\n\x1a\0\"\0";
        assert_eq!(version_in(stored).as_deref(), Some("v1.34.4"));
        assert_eq!(version_in(b"k8s:enc:secretbox:v1:key1:\x8f\x02"), None);
    }
}
