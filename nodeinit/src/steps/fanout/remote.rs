//! One machine, over one SSH connection.

use super::{depot::Depot, fleet::Program, payload};
use crate::{
    api::lent::LENT,
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::sha256,
        report::{Event, LOCK},
        wait::WaitError,
    },
    host::failpoint,
    pki::bundle::SENT_SECRETS,
};
use bytes::Bytes;
use nodeinit_config::Secret;
use nodeinit_protocol::{Line, paths::CONFIG};
use nodeinit_ssh::{Content, RemoteFile, Session, SshError};
use std::{
    cell::Cell,
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// What a machine says that does not have all artifacts itself.
const LACKS: &str = "lacks-artifacts";

/// What a look says where there is work without asking nodeinit.
const OTHER: u32 = 100;

/// A short command may take this long; an upload ten times as long.
const SHORT: Duration = Duration::from_secs(60);

/// What to do if a file cannot be written there.
const UNWRITABLE: &str = "see that its disk is not full and that root may write there, then run `nodeinit up` again";

/// Between two tries where another nodeinit is at work there.
const PAUSE: Duration = Duration::from_millis(500);

/// A machine that lets us in.
pub(super) struct Remote {
    /// Its name.
    pub(super) name: String,
    /// The step that it belongs to.
    pub(super) step: String,
    pub(super) session: Session,
}

/// How a try ended.
pub(super) enum Ended {
    /// The machine is as described.
    Well,
    /// The connection broke; whatever ran there goes on.
    Lost(String),
}

impl Remote {
    /// What `up` would do there; `None` where it does not have our program, this configuration and its releases, or a run that was
    /// cut off has left its secrets.
    pub(super) async fn plan(
        &self,
        program: &Program,
        config: &str,
        releases: &[(String, Bytes)],
    ) -> Result<Option<Vec<String>>, StepError> {
        let same = |path: &Path, sha256: &str| {
            format!("[ \"$(sha256sum <{0} 2>/dev/null)\" = '{sha256}  -' ]", path.display())
        };
        let mut all = vec![same(&program.path, &program.sha256), same(Path::new(CONFIG), &sha256(config.as_bytes()))];
        all.extend(releases.iter().map(|(path, content)| same(Path::new(path), &sha256(content))));
        let command = format!(
            "{} && [ ! -e {SENT_SECRETS} ] && [ ! -e {LENT} ] || exit {OTHER}; exec {} plan --output json --local",
            all.join(" && "),
            program.path.display()
        );
        let output = self.session.run(&command, b"", SHORT).await.map_err(|e| self.broken(e))?;
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

    /// Brings what differs of our program, the configuration, and the files of releases that it needs. Returns whether one of `artifacts` is
    /// not there.
    pub(super) async fn equip(
        &self,
        program: &Program,
        config: &str,
        releases: &[(String, Bytes)],
        artifacts: &[PathBuf],
    ) -> Result<bool, StepError> {
        let path = program.path.display().to_string();
        let file = |path, content: Bytes| {
            (RemoteFile { path, mode: 0o644, directory: Some(0o755) }, sha256(&content), Content::from(content))
        };
        let mut files = vec![(
            RemoteFile { path: &path, mode: 0o755, directory: None },
            program.sha256.clone(),
            program.content.clone(),
        )];
        files.extend(releases.iter().map(|(path, content)| file(path, content.clone())));
        files.push(file(CONFIG, Bytes::copy_from_slice(config.as_bytes())));
        let paths: Vec<&str> = files.iter().map(|(to, ..)| to.path).collect();
        // A configuration that nodeinit did not write is kept beside.
        let look = format!(
            "set -e; if [ -s {CONFIG} ] && ! head -n 1 {CONFIG} | grep -q '^{}'
            then cp -p {CONFIG} {CONFIG}.before; sync {CONFIG}.before; fi
            {}
            n=0; for f in {}; do echo \"$n $(sha256sum <$f)\" || true; n=$((n + 1)); done 2>/dev/null",
            payload::HEAD,
            lacking(artifacts),
            paths.join(" "),
        );
        let seen = self.must(&look).await?;
        for (n, (to, sha256, content)) in files.into_iter().enumerate() {
            let same = format!("{n} {sha256}  -");
            if seen.lines().all(|line| line != same) {
                self.place(content, &to).await?;
            }
        }
        Ok(seen.lines().any(|line| line == LACKS))
    }

    /// Tells it what it can take from here; that is good for as long as this process runs.
    pub(super) async fn lend(&self, cx: &Context, depot: &Depot) -> Result<(), StepError> {
        let tunnel = match self.session.lend(depot.address()).await {
            Ok(port) => Some(port),
            Err(e @ SshError::NotLent { .. }) => {
                cx.report.note(&self.step, format!("{e}; it must reach {} directly", depot.address()));
                None
            }
            Err(e) => return Err(self.broken(e)),
        };
        let list = serde_json::to_vec(&depot.list(tunnel))
            .map_err(|e| StepError::caused("cannot write the list of artifacts", e))?;
        let to = RemoteFile { path: LENT, mode: 0o600, directory: Some(0o700) };
        self.place(list, &to).await
    }

    /// Sends its secrets, which stay in its memory.
    pub(super) async fn send(&self, secrets: &Secret<String>) -> Result<(), StepError> {
        let to = RemoteFile { path: SENT_SECRETS, mode: 0o600, directory: Some(0o700) };
        self.place(Bytes::from_owner(Zeroizing::new(secrets.expose().clone().into_bytes())), &to).await
    }

    /// Removes the secrets that a run may have left, complete or not, and the list of what was lent.
    pub(super) async fn forget(&self) -> Result<(), StepError> {
        let (directory, name) = SENT_SECRETS.rsplit_once('/').unwrap_or_default();
        self.must(&format!("rm -f {SENT_SECRETS} {SENT_SECRETS}.new {directory}/.{name}.* {LENT}")).await.map(drop)
    }

    /// Runs `nodeinit up` there and reports what it reports. While another run holds the lock there it waits, for as long as
    /// a run may take: `locked` keeps when that began, also if the connection breaks meanwhile.
    pub(super) async fn up(
        &self,
        cx: &Context,
        program: &Program,
        locked: &Cell<Option<Duration>>,
    ) -> Result<Ended, StepError> {
        let command = format!("exec {} up --output json --local", program.path.display());
        loop {
            let mut heard = Heard::default();
            let each = |line: &str| heard.take(self, cx, line);
            let output = match self.session.lines(&command, b"", limit(cx), each).await {
                Ok(output) => output,
                Err(e @ SshError::Broken { .. }) => return Ok(Ended::Lost(e.to_string())),
                Err(e) => return Err(self.broken(e)),
            };
            match output.code {
                0 => return Ok(Ended::Well),
                75 if heard.is_busy => {
                    self.locked(cx, heard, locked)?;
                    tokio::time::sleep(PAUSE).await;
                }
                code => return Err(self.failed(code, heard, &output.stderr)),
            }
        }
    }

    /// Fails if another run has held the lock there for longer than a run may take.
    fn locked(&self, cx: &Context, heard: Heard, locked: &Cell<Option<Duration>>) -> Result<(), StepError> {
        let (now, limit) = (cx.report.elapsed(), limit(cx));
        let seen = heard.failure.unwrap_or_default();
        let Some(since) = locked.get() else {
            locked.set(Some(now));
            let wait =
                format!("waiting up to {} s for the other nodeinit run on {}: {seen}", limit.as_secs(), self.name);
            cx.report.note(&self.step, wait);
            return Ok(());
        };
        if now.saturating_sub(since) < limit {
            return Ok(());
        }
        let what = format!("the end of the other nodeinit run on {}", self.name);
        let hint =
            "find out there what that run waits for (`journalctl -t nodeinit`), end it, then run `nodeinit up` again";
        Err(StepError::from(WaitError { what, limit, seen }).hint(hint))
    }

    async fn place(&self, content: impl Into<Content>, to: &RemoteFile<'_>) -> Result<(), StepError> {
        self.session.upload(content, to, 10 * SHORT).await.map_err(|e| match e {
            SshError::Upload { .. } => StepError::new(e.to_string()).hint(UNWRITABLE),
            e => self.broken(e),
        })
    }

    async fn must(&self, command: &str) -> Result<String, StepError> {
        let output = self.session.run(command, b"", SHORT).await.map_err(|e| self.broken(e))?;
        match output.code {
            0 => Ok(output.stdout),
            code => {
                let what = format!("{}: a command ended with {code}: {}", self.name, output.stderr.trim());
                Err(StepError::new(what).hint(UNWRITABLE))
            }
        }
    }

    fn broken(&self, error: SshError) -> StepError {
        let step = StepError::caused(format!("the connection to {} failed", self.name), error).exit(Exit::TryAgain);
        step.hint("fix the network between the two machines, then run `nodeinit up` again")
    }

    fn failed(&self, code: u32, heard: Heard, stderr: &str) -> StepError {
        let why = heard.failure.unwrap_or_else(|| match stderr.trim() {
            "" => format!("nodeinit there ended with {code}"),
            text => text.to_owned(),
        });
        let exit = match code {
            69 => Exit::Unfit,
            75 => Exit::TryAgain,
            _ => Exit::Failed,
        };
        let hint = "its messages are above and in its `journalctl -t nodeinit`; fix the cause, then run `nodeinit up` \
                    here again";
        StepError::new(format!("{} did not come up: {why}", self.name)).exit(exit).hint(hint)
    }
}

/// A command that says [`LACKS`] where one of these files is not there.
fn lacking(paths: &[PathBuf]) -> String {
    let quoted = |path: &PathBuf| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let all: Vec<String> = paths.iter().map(quoted).collect();
    match all.is_empty() {
        true => ":".to_owned(),
        false => format!("for f in {}; do [ -e \"$f\" ] || {{ echo {LACKS}; break; }}; done", all.join(" ")),
    }
}

/// Longer than all that a machine may wait for by its own deadlines.
fn limit(cx: &Context) -> Duration {
    let t = &cx.cluster.timeouts;
    t.download + t.image_import + t.kubelet + t.etcd + t.control_plane + t.join + t.node
}

/// What a run on another machine said.
#[derive(Default)]
struct Heard {
    under_way: Vec<String>,
    failure: Option<String>,
    is_busy: bool,
}

impl Heard {
    fn take(&mut self, remote: &Remote, cx: &Context, line: &str) {
        let Some(Line { event, .. }) = Line::read(line) else { return };
        match &event {
            Event::Started { step, .. } => {
                failpoint("remote-begin", format!("{} {step}", remote.name));
                self.under_way.push(step.clone());
            }
            Event::Done { step, changed, .. } => {
                if *changed {
                    failpoint("remote-end", format!("{} {step}", remote.name));
                }
                self.under_way.retain(|other| other != step);
            }
            Event::Failed { step, error, .. } => {
                self.is_busy = step == LOCK;
                self.failure = Some(format!("{step}: {error}"));
            }
            _ => {}
        }
        cx.report.detail(&remote.step, &self.under_way.join(", "));
        if !self.is_busy {
            cx.report.relay(&remote.name, &event);
        }
    }
}

#[cfg(test)]
mod tests;
