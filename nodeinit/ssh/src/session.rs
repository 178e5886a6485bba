//! A connection: reach the host, see that it is the right one, log in.

use super::{
    ClientKey, Phase, SshError, Target, algorithms,
    host_key::{self, HostKey},
};
use russh::{
    ChannelOpenFailure, ChannelReadHalf, ChannelWriteHalf,
    client::{self, AuthResult, ChannelOpenHandle, DisconnectReason, Handle, Handler, Msg},
    keys::PublicKeyOrCertificate,
};
use std::{
    future::Future,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime,
    sync::{OnceCell, Semaphore},
    time,
};

/// What is lent is copied in pieces of this size, in bytes.
const PIECE: usize = 64 << 10;

/// A connection to a machine that has proved to be the right one, and has let us in. Dropping it ends it.
///
/// It may be lent to many at once: each command has a channel of its own. A silent machine is asked every 10 s whether
/// it is there; when it has not answered for 40 s the connection is broken.
pub struct Session {
    handle: Arc<Handle<Watch>>,
    learnt: Arc<Mutex<Learnt>>,
    host_key: String,
    name: String,
    user: String,
    pub(super) may_sudo: OnceCell<()>,
}

/// What the connection's task has learnt of the other side.
#[derive(Default)]
struct Learnt {
    /// The host key that it showed, and what we think of it.
    shown: Option<Result<String, SshError>>,
    /// Why the connection ended.
    end: Option<Arc<russh::Error>>,
    /// What the machine reaches through a port of its loopback.
    lent: Option<SocketAddr>,
}

/// The number of connections that a machine may have at once to what it was lent; more are rejected.
const FORWARDED: usize = 32;

/// Looks at the host's key, lets the machine reach what it was lent, and keeps the reason of the connection's end.
struct Watch {
    target: Target,
    known: Vec<HostKey>,
    learnt: Arc<Mutex<Learnt>>,
    /// Places for connections of the machine to what it was lent.
    forwarded: Arc<Semaphore>,
}

fn lock(learnt: &Mutex<Learnt>) -> MutexGuard<'_, Learnt> {
    learnt.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handler for Watch {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let key = shown.public_key();
        let shown = HostKey { kind: key.algorithm().to_string(), blob: key.to_bytes()? };
        let judged = host_key::judge(&self.target, &self.known, &shown).map(|()| shown.line());
        let right = judged.is_ok();
        lock(&self.learnt).shown = Some(judged);
        Ok(right)
    }

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        channel: russh::Channel<Msg>,
        _connected_address: &str,
        _connected_port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        let lent = lock(&self.learnt).lent;
        // Any process of the machine can connect to what it was lent.
        let Ok(place) = Arc::clone(&self.forwarded).try_acquire_owned() else { return Ok(()) };
        // The connection's task goes on with the other channels meanwhile.
        tokio::spawn(async move {
            let _place = place;
            let Some(lent) = lent else { return };
            let Ok(mut here) = TcpStream::connect(lent).await else { return };
            reply.accept().await;
            // The client notices a broken connection.
            let _ = tokio::io::copy_bidirectional_with_sizes(&mut channel.into_stream(), &mut here, PIECE, PIECE).await;
        });
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<russh::Error>) -> Result<(), russh::Error> {
        if let DisconnectReason::Error(error) = reason {
            lock(&self.learnt).end = Some(Arc::new(error));
        }
        Ok(())
    }
}

impl Session {
    /// One attempt; each [`Phase`] is given `limit`. Through the machine `via`, where one is given: it must allow
    /// forwarding, and gets to see nothing but an encrypted stream.
    ///
    /// # Errors
    /// [`SshError`]; [`SshError::is_temporary`] tells whether another attempt may end otherwise.
    pub async fn connect(
        target: &Target,
        via: Option<&Session>,
        key: &ClientKey,
        limit: Duration,
    ) -> Result<Self, SshError> {
        let known = host_key::known(target)?;
        let shaken = match via {
            None => {
                let stream = within(target, Phase::Connect, limit, direct(target)).await?;
                shake_hands(stream, target, known, limit).await?
            }
            Some(via) => {
                let stream = within(target, Phase::Connect, limit, via.tunnel(target)).await?;
                shake_hands(stream, target, known, limit).await?
            }
        };
        Self::log_in(shaken, target, key, limit).await
    }

    /// The host key that a machine shows, as `type base64`. Nothing but the key exchange is sent to it, and nobody has verified that
    /// the key is its own.
    ///
    /// # Errors
    /// [`SshError`] where it shows none.
    pub async fn shown_host_key(target: &Target, limit: Duration) -> Result<String, SshError> {
        let unknown = Target { host_keys: Vec::new(), trust_on_first_use: false, ..target.clone() };
        let stream = within(&unknown, Phase::Connect, limit, direct(&unknown)).await?;
        match shake_hands(stream, &unknown, Vec::new(), limit).await {
            Ok(Shaken { host_key, .. }) | Err(SshError::UnknownHostKey { line: host_key, .. }) => Ok(host_key),
            Err(e) => Err(e),
        }
    }

    async fn log_in(shaken: Shaken, target: &Target, key: &ClientKey, limit: Duration) -> Result<Self, SshError> {
        let Shaken { mut handle, learnt, host_key } = shaken;
        let (name, user) = (target.name.clone(), target.user.clone());
        let authentication = async { Ok(handle.authenticate_publickey(&user, key.signer()).await) };
        let authentication = within(target, Phase::Login, limit, authentication).await?;
        let session = Self { handle: Arc::new(handle), learnt, host_key, name, user, may_sudo: OnceCell::new() };
        session.let_in(authentication, key).map(|()| session)
    }

    fn let_in(&self, answer: Result<AuthResult, russh::Error>, key: &ClientKey) -> Result<(), SshError> {
        let (name, user) = (self.name.clone(), self.user.clone());
        match answer {
            Ok(AuthResult::Success) => Ok(()),
            Ok(AuthResult::Failure { partial_success: false, .. }) if !self.is_closed() => {
                Err(SshError::Refused { name, user, public: key.public().to_owned() })
            }
            Ok(AuthResult::Failure { partial_success: true, remaining_methods }) => {
                Err(SshError::NotEnough { name, user, methods: format!("{remaining_methods:?}") })
            }
            Ok(AuthResult::Failure { .. }) => Err(self.broken(Phase::Login, None)),
            Err(source) => Err(self.broken(Phase::Login, Some(source))),
        }
    }

    /// The host key that it showed: `type base64`. To be written down where it was trusted on first use.
    #[must_use]
    pub fn host_key(&self) -> &str {
        &self.host_key
    }

    /// The machine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the connection is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// Lends the machine a server of ours at `lent`: returns the port of the machine's loopback at which it answers, until
    /// the connection ends. Source: RFC 4254, 7.
    ///
    /// # Errors
    /// [`SshError::NotLent`] where the machine's SSH server forbids it, [`SshError::Broken`] where the connection is gone.
    pub async fn lend(&self, lent: SocketAddr) -> Result<u16, SshError> {
        lock(&self.learnt).lent = Some(lent);
        let ask = |handle: Arc<Handle<Watch>>| async move { handle.tcpip_forward("127.0.0.1", 0).await };
        match self.opened(ask).await {
            Ok(port) => u16::try_from(port).map_err(|_| SshError::NotLent { name: self.name.clone() }),
            Err(russh::Error::RequestDenied) => Err(SshError::NotLent { name: self.name.clone() }),
            Err(source) => Err(self.broken(Phase::Connect, Some(source))),
        }
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// A stream to the target's SSH server from here.
    async fn tunnel(&self, target: &Target) -> Result<russh::ChannelStream<Msg>, SshError> {
        let (host, port) = (target.address.ip().to_string(), target.address.port());
        let open = |handle: Arc<Handle<Watch>>| async move {
            handle.channel_open_direct_tcpip(host, port.into(), "127.0.0.1", 0).await.map(russh::Channel::into_stream)
        };
        match self.opened(open).await {
            Ok(stream) => Ok(stream),
            Err(russh::Error::ChannelOpenFailure(reason)) => Err(SshError::NoTunnel {
                name: target.name.clone(),
                address: target.address,
                via: self.name.clone(),
                forbidden: matches!(reason, ChannelOpenFailure::AdministrativelyProhibited),
                reason: match reason {
                    ChannelOpenFailure::AdministrativelyProhibited => {
                        "its SSH server forbids forwarding (`AllowTcpForwarding`)".into()
                    }
                    ChannelOpenFailure::ConnectFailed => "the jump host cannot connect to the machine".into(),
                    other => format!("{other:?}"),
                },
            }),
            Err(source) => Err(self.broken(Phase::Connect, Some(source))),
        }
    }

    /// A channel for one command; dropping it closes it.
    pub(super) async fn channel(&self) -> Result<Channel, russh::Error> {
        let open = |handle: Arc<Handle<Watch>>| async move {
            let (reader, writer) = handle.channel_open_session().await?.split();
            Ok(Channel { reader, writer: Arc::new(writer) })
        };
        self.opened(open).await
    }

    /// Opens something, in a task of its own: where this is given up meanwhile, it still comes, and is closed. Otherwise
    /// it would keep one of the few places that a server has for as long as the connection lasts.
    async fn opened<T, F>(&self, open: impl FnOnce(Arc<Handle<Watch>>) -> F) -> Result<T, russh::Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, russh::Error>> + Send + 'static,
    {
        tokio::spawn(open(Arc::clone(&self.handle))).await.unwrap_or(Err(russh::Error::Disconnect))
    }

    /// The connection broke: with the reason that its task gave, or what is seen of it here.
    pub(super) fn broken(&self, phase: Phase, seen: Option<russh::Error>) -> SshError {
        let source = lock(&self.learnt).end.clone().or(seen.map(Arc::new));
        SshError::Broken { name: self.name.clone(), phase, source }
    }
}

/// One command's way there and back.
pub(super) struct Channel {
    pub(super) reader: ChannelReadHalf,
    pub(super) writer: Arc<ChannelWriteHalf<Msg>>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        let writer = Arc::clone(&self.writer);
        if let Ok(runtime) = runtime::Handle::try_current() {
            runtime.spawn(async move { writer.close().await });
        }
    }
}

/// A connection over which only the keys were exchanged.
struct Shaken {
    handle: Handle<Watch>,
    learnt: Arc<Mutex<Learnt>>,
    /// What the machine showed.
    host_key: String,
}

async fn shake_hands(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    target: &Target,
    known: Vec<HostKey>,
    limit: Duration,
) -> Result<Shaken, SshError> {
    let kinds: Vec<&str> = known.iter().map(|key| key.kind.as_str()).collect();
    let config = Arc::new(algorithms::config(&kinds));
    let learnt = Arc::new(Mutex::new(Learnt::default()));
    let forwarded = Arc::new(Semaphore::new(FORWARDED));
    let watch = Watch { target: target.clone(), known, learnt: Arc::clone(&learnt), forwarded };
    let handshake = async {
        let made = client::connect_stream(config, stream, watch).await;
        match (made, lock(&learnt).shown.take()) {
            (_, Some(Err(wrong))) => Err(wrong),
            (Ok(handle), Some(Ok(line))) => Ok((handle, line)),
            (Ok(_), None) => Err(no_handshake(target, russh::Error::UnknownKey)),
            (Err(source), _) => Err(no_handshake(target, source)),
        }
    };
    let (handle, host_key) = within(target, Phase::Handshake, limit, handshake).await?;
    Ok(Shaken { handle, learnt, host_key })
}

async fn direct(target: &Target) -> Result<TcpStream, SshError> {
    let (name, address) = (target.name.clone(), target.address);
    let stream = TcpStream::connect(address).await.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    stream.map_err(|source| SshError::Unreachable { name, address, source })
}

fn no_handshake(target: &Target, source: russh::Error) -> SshError {
    SshError::Handshake { name: target.name.clone(), address: target.address, source: Box::new(source) }
}

async fn within<T>(
    target: &Target,
    phase: Phase,
    limit: Duration,
    work: impl Future<Output = Result<T, SshError>>,
) -> Result<T, SshError> {
    let timed_out = |_| Err(SshError::TimedOut { name: target.name.clone(), phase, limit });
    time::timeout(limit, work).await.unwrap_or_else(timed_out)
}
