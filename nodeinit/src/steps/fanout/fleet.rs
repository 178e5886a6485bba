//! What all steps of the fan-out share: our own program, the key, the jump host, and how many may be worked on at once.

use super::{
    depot::Depot,
    key::{host_keys, read_key},
};
use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::Record,
        step::{State, Step},
        step_id::StepId,
    },
    host::own_program,
    pki::bundle::JUMP_HOST,
    steps::{
        cluster::{self, Objects},
        rollout::Rollout,
        tokens,
    },
};
use nodeinit_base::{Wait, with_causes};
use nodeinit_config::cluster::{Cluster, Machine};
use nodeinit_protocol::paths::PROGRAM;
use nodeinit_ssh::{ClientKey, Executable, NotReached, Session, Target, Way};
use std::{
    fs::File,
    net::IpAddr,
    ops::ControlFlow,
    path::Path,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OnceCell, Semaphore};

/// How long a machine may take to answer a question that is asked again.
const ANSWER: Duration = Duration::from_secs(10);

/// Our own program.
pub(super) struct Program {
    /// Where it belongs on every machine.
    pub(super) path: String,
    pub(super) executable: Executable,
}

/// Shared by the steps of one plan.
pub(in crate::steps) struct Fleet {
    pub(super) places: Semaphore,
    /// For connections that are kept from a look to the work that it found.
    pub(super) kept: Arc<Semaphore>,
    /// The order in which machines that are up restart their components.
    pub(super) rollout: Rc<Rollout>,
    /// Issues and deletes the workers' bootstrap tokens.
    pub(super) tokens: tokens::Fleet,
    open: OnceCell<()>,
    program: OnceCell<Program>,
    key: OnceCell<ClientKey>,
    depot: OnceCell<Depot>,
    /// Held from the look at the recorded host keys until a new one is recorded: many machines are reached through the jump host
    /// at the same time, and all of them must meet the same one.
    trusting: Arc<Mutex<()>>,
}

impl Fleet {
    pub(in crate::steps) fn new(cluster: &Cluster) -> Self {
        let parallel = cluster.ssh.parallel;
        Self {
            places: Semaphore::new(parallel),
            kept: Arc::new(Semaphore::new(parallel)),
            rollout: Rc::default(),
            tokens: tokens::Fleet::default(),
            open: OnceCell::new(),
            program: OnceCell::new(),
            key: OnceCell::new(),
            depot: OnceCell::new(),
            trusting: Arc::default(),
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

    /// Our own program, whose digest is computed once.
    pub(super) async fn program(&self) -> Result<&Program, StepError> {
        self.program.get_or_try_init(|| blocking(read_program)).await
    }

    /// What this machine lends, opened once.
    pub(super) async fn depot(&self, cx: &Context) -> Result<&Depot, StepError> {
        let open = || {
            let cx = cx.clone();
            blocking(move || Depot::open(&cx))
        };
        self.depot.get_or_try_init(open).await
    }

    async fn key(&self, cx: &Context) -> Result<&ClientKey, StepError> {
        self.key.get_or_try_init(async || read_key(&cx.files, &cx.cluster, cx.clock.now())).await
    }

    /// What it takes to log in to a machine.
    async fn way(&self, cx: &Context, machine: &Machine) -> Result<Way, StepError> {
        Ok(Way { key: self.key(cx).await?.clone(), target: target(cx, machine)?, jump: jump_host(cx)? })
    }

    /// Logs in to a machine as soon as it lets us in.
    ///
    /// # Errors
    /// At the deadline `limit`; at once where its host key is wrong or unknown.
    pub(super) async fn connect(&self, cx: &Context, machine: &Machine, limit: Duration) -> Result<Session, StepError> {
        let way = self.way(cx, machine).await?;
        let trust = async |target: &Target, key: &str| self.trust(cx, machine, target, key).await;
        way.connect(limit, trust).await.map_err(|error| match error {
            NotReached::Late(late) => StepError::from(late).hint(
                "check that the machine is up, that its address and port are correct, and that no firewall blocks the connection; then run the same command again",
            ),
            NotReached::Ssh(e) => {
                StepError::caused(format!("{}: the SSH host-key check or login failed", machine.name), e)
            }
            NotReached::HostKey(e) => e,
        })
    }

    /// Runs a command on a machine; one attempt. For a question that is asked again until it is answered.
    ///
    /// # Errors
    /// Why there is no answer, in one line.
    pub(in crate::steps) async fn ask(&self, cx: &Context, machine: &Machine, command: &str) -> Result<String, String> {
        let unable = |e: StepError| match e.advice() {
            Some(advice) => format!("{e} ({advice})"),
            None => e.to_string(),
        };
        let way = self.way(cx, machine).await.map_err(unable)?;
        let trust = async |target: &Target, key: &str| self.trust(cx, machine, target, key).await;
        let session = way.attempt(trust).await.map_err(|error| match error {
            NotReached::Late(late) => late.to_string(),
            NotReached::Ssh(e) => with_causes(&e),
            NotReached::HostKey(e) => unable(e),
        })?;
        session.output(command, ANSWER).await.map_err(|e| with_causes(&e))
    }

    /// Records a host key that was accepted on first use: that of `machine`, or of the jump host on the way to it.
    async fn trust(&self, cx: &Context, machine: &Machine, target: &Target, key: &str) -> Result<(), StepError> {
        let (cx, trusting, step) = (cx.clone(), Arc::clone(&self.trusting), StepId::Host(machine.name.clone()).name());
        let (name, key) = (target.name.clone(), key.to_owned());
        let record = move || {
            let _trusting = trusting.lock().unwrap_or_else(PoisonError::into_inner);
            match cx.journal.state().host_keys.get(&name) {
                Some(known) if *known == key => Ok(()),
                Some(known) => {
                    Err(StepError::new(format!("{name} shows two host keys at the same time: {known} and {key}"))
                        .hint(format!("find out which of them is its own, and write it as `hostKeys` of {name}")))
                }
                None => {
                    cx.report.note(&step, format!("trusting the host key of {name} from now on: {key}"));
                    Ok(cx.journal.intend(vec![Record::HostKey { name, key }])?)
                }
            }
        };
        blocking(record).await
    }
}

/// Where a machine listens: its own SSH address, else its address. `None`: it joins by itself.
pub(super) fn address(machine: &Machine) -> Option<IpAddr> {
    machine.ssh.address.or(machine.address).filter(|_| machine.ssh.enabled)
}

fn target(cx: &Context, machine: &Machine) -> Result<Target, StepError> {
    let ssh = &cx.cluster.ssh;
    let Some(address) = address(machine) else {
        let what = format!("{} has no address in the configuration, so nodeinit cannot reach it", machine.name);
        return Err(StepError::new(what).exit(Exit::BadConfig).hint("write its `address`"));
    };
    let host_keys = host_keys(cx, &machine.name, &machine.host_keys)?;
    let target = Target::machine(machine, ssh, address, host_keys);
    Ok(Target { trust_on_first_use: ssh.trust_on_first_use, ..target })
}

fn jump_host(cx: &Context) -> Result<Option<Target>, StepError> {
    let ssh = &cx.cluster.ssh;
    let Some(jump) = &ssh.jump_host else { return Ok(None) };
    let target = Target::jump_host(jump, host_keys(cx, JUMP_HOST, &jump.host_keys)?);
    Ok(Some(Target { trust_on_first_use: ssh.trust_on_first_use, ..target }))
}

fn read_program() -> Result<Program, StepError> {
    let running = Path::new("/proc/self/exe");
    let executable = File::open(running).and_then(Executable::read);
    let executable = executable.map_err(|e| StepError::caused("cannot read the nodeinit program file", e))?;
    let ours = own_program::path();
    let usual =
        ours.parent().is_some_and(|parent| [Path::new("/usr/bin"), Path::new("/usr/local/bin")].contains(&parent));
    let path = if usual && ours.ends_with("nodeinit") { ours.display().to_string() } else { PROGRAM.to_owned() };
    Ok(Program { path, executable })
}

#[cfg(test)]
mod tests {
    use super::{super::server::Server, *};
    use crate::{context::testing::context_of, engine::journal::JOURNAL};
    use nodeinit_config::format::HOST_KEY;

    #[tokio::test]
    #[allow(clippy::disallowed_methods, reason = "a test writes sshd's files")]
    async fn the_jump_hosts_key_is_trusted_once() {
        let (jump, server) = (Server::start(""), Server::start(""));
        std::fs::copy(server.file("authorized_keys"), jump.file("authorized_keys")).unwrap();
        let port = |server: &Server| server.target().address.port();
        let user = server.target().user;
        let (dir, mut cx) = context_of(&format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: v1.34.4}}\n\
             ssh: {{keyFile: /key, user: {user}, port: {}, trustOnFirstUse: true, jumpHost: {{address: 10.0.0.9, user: {user}, port: {}}}}}\n\
             controlPlane: {{endpoint: api.example.org}}\nworkers: [{{name: w1, address: 10.0.0.21}}]\n",
            port(&server),
            port(&jump)
        ));
        let cluster = Arc::make_mut(&mut cx.cluster);
        cluster.ssh.jump_host.as_mut().unwrap().address = [127, 0, 0, 1].into();
        cluster.workers[0].address = Some([127, 0, 0, 1].into());
        std::fs::copy(server.file("client"), dir.path().join("key")).unwrap();
        let machine = cx.cluster.workers[0].clone();
        let fleet = Fleet::new(&cx.cluster);
        let machines: Vec<Machine> = (1..=6).map(|n| Machine { name: format!("w{n}"), ..machine.clone() }).collect();
        // All of them meet the jump host before its key is recorded.
        let all = machines.iter().map(|machine| fleet.connect(&cx, machine, Duration::from_secs(20)));
        for session in futures_util::future::join_all(all).await {
            session.unwrap();
        }
        let known = cx.journal.state().host_keys;
        assert!(machines.iter().all(|machine| known.get(&machine.name) == Some(&server.host_key)), "{known:?}");
        assert_eq!(known.get(JUMP_HOST), Some(&jump.host_key), "{known:?}");
        let records = cx.files.read_text(Path::new(JOURNAL)).unwrap().unwrap();
        assert_eq!(records.matches(JUMP_HOST).count(), 1, "{records}");

        // Another machine at the jump host's address.
        let other = HOST_KEY.example.to_owned();
        cx.journal.intend(vec![Record::HostKey { name: JUMP_HOST.into(), key: other }]).unwrap();
        let error = fleet.connect(&cx, &machine, Duration::from_secs(20)).await.err().unwrap();
        assert!(error.causes().join(": ").contains("jump-host shows the host key"), "{error} {:?}", error.causes());
    }
}
