//! One machine, over one SSH connection.

use super::{fleet::Program, payload};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::sha256,
        report::{Event, LOCK},
    },
    host::failpoint,
    pki::bundle::SENT_SECRETS,
};
use nodeinit_config::Secret;
use nodeinit_ssh::{Session, SshError};
use std::{path::Path, time::Duration};

/// Where a machine keeps its configuration.
const CONFIG: &str = "/etc/nodeinit/config.yaml";

/// What a look says where there is work without asking nodeinit.
const OTHER: u32 = 100;

/// A short command may take this long; an upload ten times as long.
const SHORT: Duration = Duration::from_secs(60);

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
    /// What `up` would do there; `None` where it has not got our program and this configuration, or a run that was cut off
    /// has left its secrets.
    pub(super) async fn plan(&self, program: &Program, config: &str) -> Result<Option<Vec<String>>, StepError> {
        let same = |path: &Path, sha256: &str| {
            format!("[ \"$(sha256sum <{0} 2>/dev/null)\" = '{sha256}  -' ]", path.display())
        };
        let command = format!(
            "{} && {} && [ ! -e {SENT_SECRETS} ] || exit {OTHER}; exec {} plan --output json --local",
            same(&program.path, &program.sha256),
            same(Path::new(CONFIG), &sha256(config.as_bytes())),
            program.path.display()
        );
        let output = self.session.run(&command, b"", SHORT).await.map_err(|e| self.broken(e))?;
        if output.code == OTHER {
            return Ok(None);
        }
        let mut changes = Vec::new();
        for event in output.stdout.lines().filter_map(event) {
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

    /// Brings our program where it differs, and the configuration.
    pub(super) async fn equip(&self, program: &Program, config: &str) -> Result<(), StepError> {
        let path = program.path.display().to_string();
        let there = self.must(&format!("sha256sum <{path} 2>/dev/null || true"), b"").await?;
        if !there.starts_with(&program.sha256) {
            let sent = self.session.upload(program.content.clone(), &path, 0o755, 10 * SHORT).await;
            sent.map_err(|e| self.broken(e))?;
        }
        // A configuration of other hands is kept beside.
        let place = format!(
            "set -e; umask 022; mkdir -p /etc/nodeinit; cat >{CONFIG}.new; sync {CONFIG}.new
            if [ -s {CONFIG} ] && ! head -n 1 {CONFIG} | grep -q '^{}'; then cp -p {CONFIG} {CONFIG}.before; fi
            mv {CONFIG}.new {CONFIG}",
            payload::HEAD
        );
        self.must(&place, config.as_bytes()).await.map(drop)
    }

    /// Sends its secrets, which go to memory only.
    pub(super) async fn send(&self, secrets: &Secret<String>) -> Result<(), StepError> {
        let place = format!(
            "set -e; umask 077; mkdir -p {0}; cat >{SENT_SECRETS}.new; mv {SENT_SECRETS}.new {SENT_SECRETS}",
            Path::new(SENT_SECRETS).parent().unwrap_or(Path::new("/")).display()
        );
        self.must(&place, secrets.expose().as_bytes()).await.map(drop)
    }

    /// Removes what secrets a run may have left: they have done their work.
    pub(super) async fn forget(&self) -> Result<(), StepError> {
        self.must(&format!("rm -f {SENT_SECRETS} {SENT_SECRETS}.new"), b"").await.map(drop)
    }

    /// Runs `nodeinit up` there and tells what it tells.
    pub(super) async fn up(&self, cx: &Context, program: &Program) -> Result<Ended, StepError> {
        let command = format!("exec {} up --output json --local", program.path.display());
        let begun = cx.report.elapsed();
        loop {
            let mut heard = Heard::default();
            let each = |line: &str| heard.take(self, cx, line);
            let output = match self.session.lines(&command, b"", limit(cx), each).await {
                Ok(output) => output,
                Err(e @ SshError::Broken { .. }) => return Ok(Ended::Lost(e.to_string())),
                Err(e) => return Err(self.broken(e)),
            };
            let busy = heard.is_busy && cx.report.elapsed().saturating_sub(begun) < limit(cx);
            match output.code {
                0 => return Ok(Ended::Well),
                75 if busy => tokio::time::sleep(PAUSE).await,
                code => return Err(self.failed(code, heard, &output.stderr)),
            }
        }
    }

    async fn must(&self, command: &str, input: &[u8]) -> Result<String, StepError> {
        let output = self.session.run(command, input, SHORT).await.map_err(|e| self.broken(e))?;
        match output.code {
            0 => Ok(output.stdout),
            code => {
                let what = format!("{}: a command ended with {code}: {}", self.name, output.stderr.trim());
                Err(StepError::new(what).hint("see that its disk is not full and that root may write there"))
            }
        }
    }

    fn broken(&self, error: SshError) -> StepError {
        let step = StepError::caused(format!("the connection to {} failed", self.name), error).exit(Exit::TryAgain);
        step.hint("mend the network between the two, then run `nodeinit up` again")
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
        let hint = "its own words stand above and in its `journalctl -t nodeinit`; mend the cause, then run `nodeinit up` \
                    here again";
        StepError::new(format!("{} did not come up: {why}", self.name)).exit(exit).hint(hint)
    }
}

/// Longer than all that a machine may wait for by its own deadlines.
fn limit(cx: &Context) -> Duration {
    let t = &cx.cluster.timeouts;
    t.download + t.image_import + t.kubelet + t.etcd + t.control_plane + t.join + t.node
}

fn event(line: &str) -> Option<Event> {
    serde_json::from_str(line).ok()
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
        let Some(event) = event(line) else { return };
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
