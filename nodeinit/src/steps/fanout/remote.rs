//! One machine, over one SSH connection.

use super::{STAGED, depot::Depot, fleet::Program, payload};
use crate::{
    api::lent::LENT,
    context::Context,
    engine::{
        error::{Exit, StepError},
        led::Led,
        report::Event,
        step_id::StepId,
    },
    host::{failpoint, systemd::enabled},
    pki::bundle::SENT_SECRETS,
    steps::kubelet,
};
use bytes::Bytes;
use nodeinit_config::Secret;
use nodeinit_protocol::{Line, paths::CONFIG};
use nodeinit_ssh::{
    COMMAND, LockWait, Ran, RemoteFile, Session, SshError, UPLOAD, Wanted, hex_word, quoted, run_limit,
};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// What a machine says that does not have all artifacts itself.
const LACKS: &str = "lacks-artifacts";

/// What a machine says whose kubelet was started before.
const RUNS: &str = "kubelet-runs";

/// What a look says where there is work without asking nodeinit.
const OTHER: u32 = 100;

/// How a machine refuses our program because its own is newer. It prints the version.
const NEWER: u32 = 101;

/// This program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to do if a file cannot be written there.
const UNWRITABLE: &str =
    "check that the machine's disk is not full and that root may write to it, then run the same command again";

/// What nodeinit does on a machine.
pub(super) struct Task {
    /// The arguments with which it prints what it would do.
    pub(super) look: String,
    /// The arguments with which it does it.
    pub(super) command: String,
    /// What an error says if it fails.
    pub(super) failure: &'static str,
}

/// A machine that lets us in.
pub(super) struct Remote {
    /// Its name.
    pub(super) name: String,
    /// The step that it belongs to.
    pub(super) step: String,
    pub(super) task: Task,
    pub(super) session: Session,
}

/// What was found on a machine that has all files.
#[derive(Debug)]
pub(super) struct Found {
    /// Whether artifacts are missing there.
    pub(super) lacks: bool,
    /// Whether its kubelet was started before.
    pub(super) runs: bool,
}

/// How a try ended.
pub(super) enum Ended {
    /// The machine is as described.
    Well,
    /// The machine has booted again, and is to be looked at once more.
    Rebooted,
    /// The connection broke; whatever ran there goes on.
    Lost(SshError),
}

impl Remote {
    /// What nodeinit would do there; `None` where it does not have our program, this configuration and its releases, or a run that was
    /// cut off has left its secrets.
    pub(super) async fn plan(
        &self,
        program: &Program,
        config: Option<&str>,
        releases: &[(String, Bytes)],
        keys: Vec<(&'static str, Bytes)>,
    ) -> Result<Option<Vec<String>>, StepError> {
        let config = config.map(|config| (CONFIG, config));
        let mut all: Vec<String> = wanted(program, config, releases).iter().map(Wanted::is_there).collect();
        let key = |(path, key)| Wanted::new(RemoteFile { path, mode: 0o600, directory: None }, key).is_there();
        all.extend(keys.into_iter().map(key));
        let command = format!(
            "{} && [ ! -e {SENT_SECRETS} ] && [ ! -e {LENT} ] || exit {OTHER}; exec {} {} --output json",
            all.join(" && "),
            program.path,
            self.task.look
        );
        let output = self.session.run(&command, b"", COMMAND).await.map_err(|e| self.failed(e))?;
        if output.code == OTHER {
            return Ok(None);
        }
        let mut changes = Vec::new();
        for event in output.stdout.lines().filter_map(Line::read).map(|line| line.event) {
            match event {
                Event::Planned { changes: planned, .. } => {
                    changes.extend(planned.iter().map(|change| format!("{}: {change}", self.name)));
                }
                Event::Failed { error, .. } => changes.push(format!("{}: {error}", self.name)),
                _ => {}
            }
        }
        Ok(Some(changes))
    }

    /// Whether nodeinit would restart the kubelet or static pods there; or why it cannot tell.
    pub(super) async fn restarts(&self, program: &Program) -> Result<Result<bool, String>, StepError> {
        let command = format!("{} {} --output json", program.path, self.task.look);
        let output = self.session.run(&command, b"", COMMAND).await.map_err(|e| self.failed(e))?;
        let mut restarts = false;
        for event in output.stdout.lines().filter_map(Line::read).map(|line| line.event) {
            match event {
                Event::Planned { step, .. } => restarts |= StepId::restarts(&step),
                Event::Failed { error, .. } => return Ok(Err(error)),
                _ => {}
            }
        }
        Ok(Ok(restarts))
    }

    /// Returns the digest of the configuration that the machine has; `None` if it has no nodeinit, an older one, or no configuration.
    ///
    /// # Errors
    /// If the machine refuses this leading master.
    pub(super) async fn admission(
        &self,
        program: &Program,
        led: &Led,
        master: bool,
    ) -> Result<Option<String>, StepError> {
        let master = if master { " --master" } else { "" };
        let command = format!("{} config admit {led}{master}", program.path);
        let output = self.session.run(&command, b"", COMMAND).await.map_err(|e| self.failed(e))?;
        let refused = [Exit::Failed, Exit::BadConfig].iter().any(|exit| output.code == u32::from(*exit as u8));
        match output.stderr.split_once("error: ") {
            Some((_, why)) if refused => Err(StepError::new(format!("{} refuses: {}", self.name, why.trim()))),
            _ => Ok(hex_word(&output.stdout, 64).map(str::to_owned)),
        }
    }

    /// Brings what differs of our program, the configuration, and the files of releases that it needs. Looks for `artifacts`.
    ///
    /// # Errors
    /// If the machine has a newer nodeinit: that one may have written what ours cannot read.
    pub(super) async fn equip(
        &self,
        program: &Program,
        config: Option<(&str, &str)>,
        releases: &[(String, Bytes)],
        artifacts: &[PathBuf],
    ) -> Result<Found, StepError> {
        // A configuration that nodeinit did not write is kept beside.
        let before = format!(
            "{}
            if [ -s {CONFIG} ] && ! head -n 1 {CONFIG} | grep -q '^{}'
            then cp -p {CONFIG} {CONFIG}.before; sync {CONFIG}.before; fi
            {}
            if [ -L {} ]; then echo {RUNS}; fi",
            refusal_if_newer(&program.path),
            payload::HEAD,
            lacking(artifacts),
            enabled(kubelet::UNIT).display(),
        );
        let wanted = wanted(program, config, releases);
        let placed = self.session.place(&before, &wanted).await.map_err(|e| match e {
            SshError::Failed { code: NEWER, says, .. } => StepError::new(format!(
                "{} has nodeinit {says}, which is newer than {VERSION} on this machine; nothing was changed there",
                self.name
            ))
            .hint(format!("install nodeinit {says} on this machine, then run the same command again")),
            e => self.failed(e),
        })?;
        let says = |word| placed.output.lines().any(|line| line == word);
        Ok(Found { lacks: says(LACKS), runs: says(RUNS) })
    }

    /// Tells it what it can take from here; that is good for as long as this process runs.
    pub(super) async fn lend(&self, cx: &Context, depot: &Depot) -> Result<(), StepError> {
        let tunnel = match self.session.lend(depot.address()).await {
            Ok(port) => Some(port),
            Err(e @ SshError::NotLent { .. }) => {
                cx.report.note(&self.step, format!("{e}; it must reach {} directly", depot.address()));
                None
            }
            Err(e) => return Err(self.failed(e)),
        };
        let list = serde_json::to_vec(&depot.list(tunnel))
            .map_err(|e| StepError::caused("cannot write the list of artifacts", e))?;
        let to = RemoteFile { path: LENT, mode: 0o600, directory: Some(0o700) };
        self.session.upload(list, &to, UPLOAD).await.map_err(|e| self.failed(e))
    }

    /// Sends its secrets, which stay in its memory.
    pub(super) async fn send(&self, secrets: &Secret<String>) -> Result<(), StepError> {
        let to = RemoteFile { path: SENT_SECRETS, mode: 0o600, directory: Some(0o700) };
        let secrets = Bytes::from_owner(Zeroizing::new(secrets.expose().clone().into_bytes()));
        self.session.upload(secrets, &to, UPLOAD).await.map_err(|e| self.failed(e))
    }

    /// Removes the secrets that a run may have left, complete or not, and the list of what was lent.
    pub(super) async fn forget(&self) -> Result<(), StepError> {
        let (directory, name) = SENT_SECRETS.rsplit_once('/').unwrap_or_default();
        let command = format!("rm -f {SENT_SECRETS} {SENT_SECRETS}.new {directory}/.{name}.* {LENT} {STAGED}");
        self.session.output(&command, COMMAND).await.map(drop).map_err(|e| self.failed(e))
    }

    /// Returns what a command prints.
    pub(super) async fn output(&self, command: &str) -> Result<String, StepError> {
        self.session.output(command, COMMAND).await.map_err(|e| self.failed(e))
    }

    /// Runs nodeinit there and reports what it reports. While another run holds the lock there it waits, for as long as
    /// `locked` allows.
    pub(super) async fn run(&self, cx: &Context, program: &Program, locked: &mut LockWait) -> Result<Ended, StepError> {
        let (command, limit) = (format!("{} {}", program.path, self.task.command), run_limit(&cx.cluster.timeouts));
        let mut under_way = Vec::new();
        let tell = |note| cx.report.note(&self.step, note);
        let each = |line: &Line| self.heard(cx, &mut under_way, &line.event);
        let ran = self.session.nodeinit(&command, b"", limit, locked, tell, each).await;
        match ran.map_err(|e| self.failed(e))? {
            Ran::Done => Ok(Ended::Well),
            Ran::Lost(e) => Ok(Ended::Lost(e)),
            Ran::Locked(late) => Err(StepError::from(late).hint(
                "on that machine, find out what the other run waits for (`journalctl -t nodeinit`) and stop it; then run the same command here again",
            )),
            Ran::Failed { code, why } => Err(self.failure(code, &cx.loaded.located(&self.name, &why, None))),
        }
    }

    /// Reports an event of a run there, and what is under way.
    fn heard(&self, cx: &Context, under_way: &mut Vec<String>, event: &Event) {
        match event {
            Event::Started { step, .. } => {
                failpoint("remote-begin", format!("{} {step}", self.name));
                under_way.push(step.clone());
            }
            Event::Done { step, changed, .. } => {
                if *changed {
                    failpoint("remote-end", format!("{} {step}", self.name));
                }
                under_way.retain(|other| other != step);
            }
            _ => {}
        }
        cx.report.detail(&self.step, &under_way.join(", "));
        match event.clone() {
            Event::Failed { step, error, causes, hint, problems } => {
                // The lines of the configuration that it got are of no use to a reader.
                let error = cx.loaded.located(&self.name, &error, None);
                cx.report.relay(&self.name, &Event::Failed { step, error, causes, hint, problems });
            }
            event => cx.report.relay(&self.name, &event),
        }
    }

    fn failed(&self, error: SshError) -> StepError {
        match error {
            SshError::Upload { .. } | SshError::Failed { .. } => StepError::new(error.to_string()).hint(UNWRITABLE),
            error => StepError::caused(format!("the connection to {} failed", self.name), error)
                .exit(Exit::TryAgain)
                .hint("fix the network between the two machines, then run the same command again"),
        }
    }

    fn failure(&self, code: u32, why: &str) -> StepError {
        let exit = match Exit::of(code) {
            exit @ (Exit::Unfit | Exit::TryAgain) => exit,
            _ => Exit::Failed,
        };
        let hint = "see the messages above, or run `journalctl -t nodeinit` on that machine; fix the cause, then run the same command here again";
        StepError::new(format!("{} {}: {why}", self.name, self.task.failure)).exit(exit).hint(hint)
    }
}

/// The files that it needs before nodeinit runs there.
fn wanted<'a>(
    program: &'a Program,
    config: Option<(&'a str, &str)>,
    releases: &'a [(String, Bytes)],
) -> Vec<Wanted<'a>> {
    let file = |path: &'a str, mode: u32, content: Bytes| {
        Wanted::new(RemoteFile { path, mode, directory: Some(0o755) }, content)
    };
    let releases = releases.iter().map(|(path, content)| file(path, 0o644, content.clone()));
    // It may contain hashes of passwords.
    let config = config.map(|(to, config)| file(to, 0o600, Bytes::copy_from_slice(config.as_bytes())));
    [Wanted::executable(&program.path, &program.executable)].into_iter().chain(releases).chain(config).collect()
}

/// A command that ends the script with [`NEWER`] where the program at `path` is newer than this one.
fn refusal_if_newer(path: &str) -> String {
    // A pre-release counts as older than its release. What is not a version is no nodeinit that could be newer.
    format!(
        "theirs=$({path} --version 2>/dev/null | sed -n 's/^nodeinit \\([0-9]\\{{1,9\\}}\\(\\.[0-9]\\{{1,9\\}}\\)\\{{2\\}}\\)\\([-+].*\\)\\{{0,1\\}}$/\\1/p')
        if [ \"${{theirs:-{VERSION}}}\" != {VERSION} ] && [ \"$(printf '%s\\n' \"$theirs\" {VERSION} | sort -V | tail -n 1)\" = \"$theirs\" ]
        then echo \"$theirs\" >&2; exit {NEWER}; fi"
    )
}

/// A command that says [`LACKS`] where one of these files is not there.
fn lacking(paths: &[PathBuf]) -> String {
    let all: Vec<String> = paths.iter().map(|path| quoted(&path.display().to_string())).collect();
    match all.is_empty() {
        true => ":".to_owned(),
        false => format!("for f in {}; do [ -e \"$f\" ] || {{ echo {LACKS}; break; }}; done", all.join(" ")),
    }
}

#[cfg(test)]
mod tests;
