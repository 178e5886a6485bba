//! Undoes what makes a machine a bastion. `reset` removes the unit and the other files, and restores the kernel parameters.

use super::{
    firewall,
    service::{DNS, NTP},
    sshd,
};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::systemd,
    os::SSHD_UNITS,
    render::{bastion::TABLE, paths},
    steps::undo,
};
use async_trait::async_trait;
use std::path::Path;

/// Step `restore-bastion` of a reset: removes the rules after the kernel has stopped forwarding, and the drop-ins of other services.
pub struct Restore;

fn has_sshd(cx: &Context) -> Result<bool, StepError> {
    Ok(!undo::is_undone(cx, Path::new(paths::BASTION_SSHD))?)
}

#[async_trait(?Send)]
impl Step for Restore {
    fn id(&self) -> StepId {
        StepId::RestoreBastion
    }

    fn title(&self) -> String {
        "remove the firewall rules and the settings of services of a bastion".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = Vec::new();
        changes.extend(firewall::table(cx).await.map(|_| format!("remove {} from nftables", TABLE.join(" "))));
        for serve in [DNS, NTP] {
            let former = serve.former(cx, None)?;
            changes.extend(former.iter().map(|path| format!("remove {}", path.display())));
        }
        if has_sshd(cx)? {
            changes.push(format!("remove {}, reload the SSH server", paths::BASTION_SSHD));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        firewall::remove(cx).await?;
        for serve in [DNS, NTP] {
            serve.remove(cx, &self.id(), &serve.former(cx, None)?).await?;
        }
        if has_sshd(cx)? {
            undo::undo(cx, &self.id(), &[paths::BASTION_SSHD.into()])?;
            let unit = systemd::first_known(&cx.commands, &SSHD_UNITS).await?;
            systemd::reload_if_active(&cx.commands, unit).await?;
        }
        Ok(cx.files.remove_file(sshd::LOADED)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::bastion, *};
    use crate::host::files::NewFile;

    #[tokio::test]
    async fn only_what_nodeinit_wrote_is_removed() {
        let (_dir, cx) = bastion("");
        assert_eq!(Restore.check(&cx).await.unwrap(), State::Done);
        cx.place(vec![NewFile::public(paths::BASTION_SSHD, "ours")]).await.unwrap();
        let wanted = format!("remove {}, reload the SSH server", paths::BASTION_SSHD);
        assert_eq!(Restore.check(&cx).await.unwrap(), State::needed(wanted));
        cx.files.write(&[NewFile::public(paths::BASTION_SSHD, "changed by somebody else")]).unwrap();
        assert_eq!(Restore.check(&cx).await.unwrap(), State::Done);
    }
}
