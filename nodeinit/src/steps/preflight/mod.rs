//! Preflight checks: runs all checks in parallel and reports every problem with its fix. Changes nothing.
//!
//! Source of most checks: `cmd/kubeadm/app/preflight/checks.go`.

mod bastion;
mod clocks;
mod inputs;
mod leftovers;
mod machine;
mod network;
mod peers;
mod programs;
mod protection;
mod release;
pub(super) mod runtime_config;

use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::Record,
        step::{State, Step},
        step_id::StepId,
    },
    steps::containerd::{self, Duty},
};
use async_trait::async_trait;
use nodeinit_config::cluster::Role;
use serde::Serialize;
use std::time::UNIX_EPOCH;

pub use inputs::{images_of, sysctls_of};

/// Hint if `artifacts.source` does not exist.
const ABSENT: &str =
    "copy it there, or fetch it: `nodeinit artifacts fetch --to DIR`, then `nodeinit artifacts bundle` for one file";

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The cluster would not come up, or would break.
    Failure,
    /// It works, but the operator should know.
    Warning,
}

/// A problem that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check that found it, such as `ports`.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// Whether the problem prevents `up`.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.level == Level::Failure
    }

    fn failure(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Failure, what: what.into(), remedy: remedy.into() }
    }

    fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::failure(check, what, remedy) }
    }

    /// Returns the failure of a check that could not run.
    fn blind(check: &'static str, error: &dyn std::error::Error) -> Self {
        let cause = error.source().map_or_else(String::new, |source| format!(": {source}"));
        Self::failure(check, format!("{error}{cause}"), "run as root, with /proc and /sys mounted")
    }
}

/// The result of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The findings, failures first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Returns the findings that prevent `up`.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.level == Level::Failure)
    }

    /// Returns the findings that do not prevent `up`.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.level == Level::Warning)
    }

    /// Returns the exit code of a run that stops here. A wrong clock or a silent server may recover on its own; other problems need the
    /// operator.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let may_pass = |failure: &Finding| [clocks::CHECK, clocks::SERVERS].contains(&failure.check);
        match self.failures().map(may_pass).reduce(|all, one| all && one) {
            None => Exit::Done,
            Some(true) => Exit::TryAgain,
            Some(false) => Exit::Unfit,
        }
    }

    /// Returns all failures as one error; `None` if there are none.
    #[must_use]
    pub fn refusal(&self) -> Option<StepError> {
        let lines: Vec<String> =
            self.failures().map(|f| format!("\n  - {}: {}\n    hint: {}", f.check, f.what, f.remedy)).collect();
        let problems = match lines.len() {
            0 => return None,
            1 => "1 problem".to_owned(),
            n => format!("{n} problems"),
        };
        let what = format!("preflight failed, {problems}:{}", lines.concat());
        Some(
            StepError::new(what)
                .exit(self.exit())
                .hint("fix every problem listed, then run the same command again; nothing was changed"),
        )
    }
}

/// Runs all checks in parallel: those of this machine's role.
pub async fn report(cx: &Context) -> Report {
    let mut findings = match cx.node.role {
        Role::Bastion => bastion::findings(cx).await,
        Role::FirstMaster | Role::Master | Role::Worker => of_node(cx).await,
    };
    findings.sort_by_key(|f| f.level == Level::Warning);
    Report { findings }
}

async fn of_node(cx: &Context) -> Vec<Finding> {
    let local = async {
        let cx = cx.clone();
        blocking(move || Ok(local(&cx))).await.unwrap_or_else(|e| vec![Finding::blind("machine", &e)])
    };
    let (local, clock, images, runtime, kubelet, servers, names, peers, firewalld) = tokio::join!(
        local,
        clocks::accepted(cx),
        inputs::images(cx),
        runtime(cx),
        programs::kubelet(cx),
        clocks::servers(cx),
        network::names(cx),
        peers::reachable(cx),
        protection::firewalld(cx),
    );
    [local, clock, images, runtime, kubelet, servers, names, peers, firewalld].concat()
}

/// Runs the checks that depend on the release of Kubernetes, for a machine that is upgraded to it.
pub(in crate::steps) async fn of_release(cx: &Context) -> Vec<Finding> {
    let (images, runtime, kubelet) =
        tokio::join!(inputs::images(cx), release::runtime(cx), programs::provided_kubelet(cx));
    [machine::cgroups(cx), programs::artifacts(cx), images, runtime, kubelet, release::local(cx)].concat()
}

/// Checks containerd. If nodeinit manages it, the step `containerd` does the rest.
async fn runtime(cx: &Context) -> Vec<Finding> {
    let duty = containerd::duty(cx);
    if duty != Duty::Check {
        return containerd::obstacle(cx, duty).await.map(|e| runtime_config::obstacle(&e)).into_iter().collect();
    }
    let (answers, settings) = tokio::join!(programs::runtime(cx), runtime_config::settings(cx));
    [answers, settings, programs::unmanaged(cx)].concat()
}

/// Runs the checks that only read files.
fn local(cx: &Context) -> Vec<Finding> {
    let checks: [fn(&Context) -> Vec<Finding>; 23] = [
        machine::root,
        machine::cgroups,
        machine::memory,
        machine::processors,
        machine::disks,
        machine::read_only,
        machine::swap,
        machine::ipv6,
        machine::modules,
        network::ports,
        network::address,
        clocks::local,
        clocks::synchronisation,
        programs::artifacts,
        programs::logins,
        programs::nft,
        release::local,
        leftovers::leftovers,
        inputs::sysctls,
        leftovers::aside,
        protection::ufw,
        protection::selinux,
        protection::apparmor,
    ];
    checks.into_iter().flat_map(|check| check(cx)).collect()
}

/// Step `preflight`: refuses a machine that fails a check.
#[derive(Debug)]
pub struct Preflight;

#[async_trait(?Send)]
impl Step for Preflight {
    fn id(&self) -> StepId {
        StepId::Preflight
    }

    fn title(&self) -> String {
        "check this machine".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let report = report(cx).await;
        for finding in report.warnings() {
            cx.report.note(&self.name(), format!("{}: {} ({})", finding.check, finding.what, finding.remedy));
        }
        if let Some(refusal) = report.refusal() {
            return Err(refusal);
        }
        let time = cx.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        cx.journal.note(Record::Clock { time })?;
        Ok(State::Done)
    }

    async fn apply(&self, _: &Context) -> Result<(), StepError> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake machine")]
mod tests;
