//! Reboots other machines whose distribution asks for it, one master or a few workers at a time.

use super::{Host, Work, remote::Remote};
use crate::{
    context::Context,
    engine::{error::StepError, step::Step},
    os::{ASKS_FOR_REBOOT, asks_for_reboot},
    steps::{
        etcd::health::quorate,
        os::unknown_reboot,
        rollout::{Empty, node},
    },
};
use nodeinit_base::Wait;
use nodeinit_ssh::{COMMAND, SshError};
use std::{ops::ControlFlow, time::Duration};

/// The least limit for a boot: the firmware of a server tests its hardware for minutes.
const BOOTS: Duration = Duration::from_secs(1200);

/// Prints another value after each boot.
const BOOT: &str = "cat /proc/sys/kernel/random/boot_id";

/// Whether the members of etcd that answer are a quorum without this one.
async fn is_dispensable(cx: &Context, name: &str) -> Result<bool, StepError> {
    let view = quorate(cx).await?;
    let others = view.voters().filter(|member| member.shown() != name && view.complaint(member).is_none()).count();
    Ok(others > view.voters().count() / 2)
}

/// Returns why a machine refuses to reboot. The shutdown may end the command or break the connection before there is an answer.
fn refusal(answer: Result<String, SshError>) -> Option<String> {
    match answer {
        // A shell adds 128 to the number of the signal.
        Err(SshError::Failed { code, says, .. }) if code < 128 => Some(says),
        _ => None,
    }
}

impl Host {
    /// Whether the machine is to be rebooted. Each is rebooted at most once in a run, and none when this master boots.
    pub(super) async fn is_to_reboot(&self, cx: &Context, remote: &Remote) -> bool {
        if self.work != Work::Up || cx.rollout.at_boot || self.rebooted.get() || !cx.loaded.reboots(&self.machine.name)
        {
            return false;
        }
        // A package mirror that does not answer must not fail the machine.
        let asks = match remote.output(ASKS_FOR_REBOOT).await {
            Ok(printed) => asks_for_reboot(&printed).map_err(str::to_owned),
            Err(error) => Err(error.to_string()),
        };
        asks.unwrap_or_else(|why| {
            cx.report.note(&self.name(), unknown_reboot(&self.machine.name, &why));
            false
        })
    }

    /// Empties its node, and reboots it. Returns `false` if it must not have its turn.
    pub(super) async fn reboot(&self, cx: &Context, remote: &Remote) -> Result<bool, StepError> {
        let (name, evict) = (&self.machine.name, cx.rollout.evict);
        if self.turn.borrow().is_some() {
            node::empty(cx, name, evict).await?;
        } else {
            cx.report.detail(&self.name(), "waiting for its turn");
            let turn = self.fleet.rollout.turn(cx, name, self.role, Empty::IfReady { evict }).await?;
            if turn.is_none() {
                return Ok(false);
            }
            self.turn.replace(turn);
        }
        if self.role.is_master() && !is_dispensable(cx, name).await? {
            let what = format!(
                "{name} asks for a reboot, but etcd would lose its quorum: repair the other masters, or reboot it yourself"
            );
            cx.report.note(&self.name(), what);
            return Ok(false);
        }
        cx.report.note(&self.name(), format!("rebooting {name}, whose distribution asks for it"));
        self.rebooted.set(true);
        let before = remote.output(BOOT).await?;
        if let Some(why) = refusal(remote.session.output("systemctl reboot", COMMAND).await) {
            let hint =
                format!("run `systemctl reboot` on {name}, fix what it reports, and run the same command here again");
            return Err(StepError::new(format!("{name} does not reboot: {why}")).hint(hint));
        }
        let look = async || {
            let found = async { self.reach(cx, super::LOOK).await?.output(BOOT).await };
            match found.await {
                Ok(now) if now != before => ControlFlow::Break(()),
                Ok(_) => ControlFlow::Continue("it has not shut down".to_owned()),
                Err(e) => ControlFlow::Continue(e.to_string()),
            }
        };
        let wait = Wait::new(format!("{name} to boot again"), cx.cluster.timeouts.node.max(BOOTS));
        let booted = wait.at_most_every(Duration::from_secs(1)).until(look).await;
        let hint = format!("see the console of {name}; when it is up, run the same command again");
        booted.map_err(|late| StepError::from(late).hint(hint))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_is_a_refusal() {
        let ended = |code| Err(SshError::Failed { name: "w1".into(), code, says: "Access denied".into() });
        assert_eq!(refusal(ended(1)).as_deref(), Some("Access denied"));
        assert_eq!(refusal(ended(128 + 15)), None, "the shutdown ended it");
        assert_eq!(refusal(Err(SshError::Killed { name: "w1".into(), signal: "TERM".into() })), None);
        assert_eq!(refusal(Ok(String::new())), None);
    }
}
