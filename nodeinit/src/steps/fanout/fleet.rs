//! What all steps of the fan-out share: our own program, the key, the jump host, and how many may be worked on at once.

use crate::{
    api::http::with_causes,
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::{Record, sha256},
        step::{State, Step},
        wait::Wait,
    },
    pki::bundle::JUMP_HOST,
    steps::{
        cluster::{self, Objects},
        pki::bundle,
    },
};
use bytes::Bytes;
use nodeinit_config::cluster::{Cluster, Machine};
use nodeinit_ssh::{ClientKey, Session, Target};
use std::{
    net::{IpAddr, SocketAddr},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{OnceCell, Semaphore};

/// One attempt to log in may take this long.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Our own program.
pub(super) struct Program {
    /// Where it belongs on every machine.
    pub(super) path: PathBuf,
    pub(super) content: Bytes,
    pub(super) sha256: String,
}

/// Shared by the steps of one plan.
pub(super) struct Fleet {
    pub(super) places: Semaphore,
    /// For connections that are kept from a look to the work that it found.
    pub(super) kept: Arc<Semaphore>,
    open: OnceCell<()>,
    program: OnceCell<Program>,
    key: OnceCell<ClientKey>,
}

impl Fleet {
    pub(super) fn new(cluster: &Cluster) -> Self {
        let parallel = cluster.ssh.parallel;
        Self {
            places: Semaphore::new(parallel),
            kept: Arc::new(Semaphore::new(parallel)),
            open: OnceCell::new(),
            program: OnceCell::new(),
            key: OnceCell::new(),
        }
    }

    /// Waits, once for all, until the API lets workers do what they need.
    pub(super) async fn open(&self, cx: &Context) -> Result<(), StepError> {
        let wait = async || {
            let limit = cx.cluster.timeouts.etcd + cx.cluster.timeouts.control_plane;
            Wait::new("a ready API server", limit).until(async || cluster::ready(cx).await).await?;
            let wait = Wait::new("the rights with which workers join", cx.cluster.timeouts.control_plane);
            let look = async || match Objects::Bootstrap.check(cx).await {
                Ok(State::Done) => ControlFlow::Break(()),
                Ok(State::Needed(changes)) => ControlFlow::Continue(changes.join(", ")),
                Err(e) => ControlFlow::Continue(e.to_string()),
            };
            Ok(wait.at_most_every(Duration::from_millis(500)).until(look).await?)
        };
        self.open.get_or_try_init(wait).await.copied()
    }

    /// Our own program, read once.
    pub(super) async fn program(&self) -> Result<&Program, StepError> {
        self.program.get_or_try_init(|| blocking(read_program)).await
    }

    async fn key(&self, cx: &Context) -> Result<&ClientKey, StepError> {
        self.key.get_or_try_init(async || read_key(cx)).await
    }

    /// Logs in to a machine as soon as it lets us in.
    ///
    /// # Errors
    /// At the deadline `limit`; at once where its host key is wrong or unknown.
    pub(super) async fn connect(&self, cx: &Context, machine: &Machine, limit: Duration) -> Result<Session, StepError> {
        let key = self.key(cx).await?;
        let target = target(cx, machine)?;
        let jump = jump_host(cx)?;
        let attempt = async || {
            let result = async {
                let via = match &jump {
                    Some(jump) => Some(Session::connect(jump, None, key, ATTEMPT).await?),
                    None => None,
                };
                Session::connect(&target, via.as_ref(), key, ATTEMPT).await
            };
            match result.await {
                Ok(session) => ControlFlow::Break(Ok(session)),
                Err(e) if e.is_temporary() => ControlFlow::Continue(with_causes(&e)),
                Err(e) => ControlFlow::Break(Err(e)),
            }
        };
        let wait = Wait::new(format!("SSH to {} at {}", target.name, target.address), limit)
            .at_most_every(Duration::from_secs(1));
        let session = match wait.until(attempt).await {
            Ok(Ok(session)) => session,
            Ok(Err(e)) => {
                return Err(StepError::caused(format!("{} is not trusted, or does not trust us", machine.name), e));
            }
            Err(late) => {
                let hint = "see that the machine is up, that port and address are right and that no firewall is between, \
                            then run `nodeinit up` again";
                return Err(StepError::from(late).hint(hint));
            }
        };
        if target.host_keys.is_empty() {
            let record = Record::HostKey { name: machine.name.clone(), key: session.host_key().to_owned() };
            cx.report.note(
                &super::step_name(&machine.name),
                format!("trusting its host key from now on: {}", session.host_key()),
            );
            cx.journal.intend(vec![record])?;
        }
        Ok(session)
    }
}

/// Where a machine listens: its own SSH address, else its address.
pub(super) fn address(machine: &Machine) -> Option<IpAddr> {
    machine.ssh.address.or(machine.address)
}

fn target(cx: &Context, machine: &Machine) -> Result<Target, StepError> {
    let ssh = &cx.cluster.ssh;
    let Some(address) = address(machine) else {
        let what = format!("{} has no address, so that it cannot be reached", machine.name);
        return Err(StepError::new(what).exit(Exit::BadConfig).hint("write its `address`"));
    };
    Ok(Target {
        name: machine.name.clone(),
        address: SocketAddr::new(address, machine.ssh.port.unwrap_or(ssh.port)),
        user: machine.ssh.user.clone().unwrap_or_else(|| ssh.user.clone()),
        host_keys: host_keys(cx, &machine.name, &machine.host_keys)?,
        trust_on_first_use: ssh.trust_on_first_use,
    })
}

fn jump_host(cx: &Context) -> Result<Option<Target>, StepError> {
    let Some(jump) = &cx.cluster.ssh.jump_host else { return Ok(None) };
    Ok(Some(Target {
        name: JUMP_HOST.into(),
        address: SocketAddr::new(jump.address, jump.port),
        user: jump.user.clone(),
        host_keys: host_keys(cx, JUMP_HOST, &jump.host_keys)?,
        trust_on_first_use: cx.cluster.ssh.trust_on_first_use,
    }))
}

/// The keys of the configuration, else of the secrets bundle, else the one that was trusted on first use.
fn host_keys(cx: &Context, name: &str, configured: &[String]) -> Result<Vec<String>, StepError> {
    if !configured.is_empty() {
        return Ok(configured.to_vec());
    }
    let bundle = bundle::read(&cx.files, cx.clock.now())?;
    if let Some(keys) = bundle.and_then(|bundle| bundle.host_keys.get(name).cloned()) {
        return Ok(keys);
    }
    Ok(cx.journal.state().host_keys.get(name).cloned().into_iter().collect())
}

fn read_key(cx: &Context) -> Result<ClientKey, StepError> {
    let (from, text) = match &cx.cluster.ssh.key_file {
        Some(path) => {
            let missing = || StepError::new(format!("{}: there is no such file", path.display()));
            (path.display().to_string(), cx.files.read_text(path)?.ok_or_else(missing)?)
        }
        None => {
            let key = bundle::read(&cx.files, cx.clock.now())?.and_then(|bundle| bundle.ssh_key);
            let none = || {
                StepError::new("there is no key with which to reach other machines").exit(Exit::BadConfig).hint(
                    "set `ssh.keyFile`, or give this machine a secrets bundle, which holds one; \
                           `nodeinit up --local` leaves other machines alone",
                )
            };
            ("the secrets bundle".into(), key.ok_or_else(none)?.private.expose().clone())
        }
    };
    ClientKey::parse(&text)
        .map_err(|e| StepError::caused(format!("cannot use the SSH key of {from}"), e).exit(Exit::BadConfig))
}

fn read_program() -> Result<Program, StepError> {
    let running = Path::new("/proc/self/exe");
    let content = std::fs::read(running).map_err(|e| StepError::caused("cannot read our own program", e))?;
    let ours = std::fs::read_link(running).unwrap_or_default();
    let usual =
        ours.parent().is_some_and(|parent| [Path::new("/usr/bin"), Path::new("/usr/local/bin")].contains(&parent));
    let path = if usual && ours.ends_with("nodeinit") { ours } else { "/usr/local/bin/nodeinit".into() };
    Ok(Program { path, sha256: sha256(&content), content: content.into() })
}
