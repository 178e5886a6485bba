//! IP forwarding between the interfaces of a bastion, now and at each boot.

use super::{firewall::interfaces, section};
use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, kernel},
    render::paths,
    steps::{
        sysctls::{self, Change},
        undo,
    },
};
use async_trait::async_trait;
use std::path::{Path, PathBuf};

/// For the outer interface, which may appear after the network is up.
const FILE: &str = "/etc/sysctl.d/99-nodeinit-bastion.conf";

/// The parameters that let the kernel forward packets.
const FORWARDING: [&str; 2] = ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"];

/// Step `bastion-forwarding`: runs after the rules are loaded, so that the kernel never forwards without them. At a boot, the unit that
/// loads the rules sets the parameter afterwards. `reset` restores the parameters from the journal.
pub struct Forwarding;

/// Returns the kernel parameters. A router ignores the router advertisements of others, and would lose the default route that it has from
/// them, unless that is requested.
fn wanted(cx: &Context) -> Result<Vec<(String, &'static str)>, StepError> {
    if section(cx)?.network.addr().is_ipv4() {
        return Ok(vec![(FORWARDING[0].to_owned(), "1")]);
    }
    let accepts = format!("net.ipv6.conf.{}.accept_ra", interfaces(cx)?.0.replace('.', "/"));
    let learns = kernel::sysctl(&cx.files, &accepts)?.is_some_and(|now| now != "0");
    let accepts = learns.then_some((accepts, "2"));
    Ok(accepts.into_iter().chain([(FORWARDING[1].to_owned(), "1")]).collect())
}

fn files(sysctls: &[(String, &str)]) -> Vec<NewFile> {
    let file = |path: &str, is_forwarding: bool| {
        let own = sysctls.iter().filter(|(key, _)| FORWARDING.contains(&key.as_str()) == is_forwarding);
        let lines: String = own.map(|(key, value)| format!("{key} = {value}\n")).collect();
        let text = format!("# Written by nodeinit for a bastion.\n{lines}");
        (!lines.is_empty()).then(|| NewFile::public(path, text))
    };
    file(paths::BASTION_SYSCTLS, true).into_iter().chain(file(FILE, false)).collect()
}

/// Returns the file of the outer interface if it is not wanted any more, such as for a private network that is IPv4 now.
fn former(cx: &Context, wanted: &[NewFile]) -> Result<Option<PathBuf>, StepError> {
    let is_wanted = wanted.iter().any(|file| file.path == Path::new(FILE));
    Ok((!is_wanted && !undo::is_undone(cx, Path::new(FILE))?).then(|| FILE.into()))
}

/// Returns the parameters that differ.
fn differing(cx: &Context) -> Result<Vec<Change>, StepError> {
    let mut found = Vec::new();
    for (key, value) in wanted(cx)? {
        match kernel::sysctl(&cx.files, &key)? {
            Some(now) if now == value => {}
            now => found.push(Change { key, before: now.unwrap_or_default(), value: value.to_owned() }),
        }
    }
    Ok(found)
}

#[async_trait(?Send)]
impl Step for Forwarding {
    fn id(&self) -> StepId {
        StepId::Bastion("bastion-forwarding")
    }

    fn title(&self) -> String {
        "enable IP forwarding".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let wanted = files(&wanted(cx)?);
        let mut changes = cx.differing(&wanted)?;
        changes.extend(former(cx, &wanted)?.map(|path| format!("remove {}", path.display())));
        let found = differing(cx)?;
        changes.extend(found.iter().map(|Change { key, before, value }| format!("set {key} from {before} to {value}")));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let wanted = files(&wanted(cx)?);
        undo::undo(cx, &self.id(), former(cx, &wanted)?.as_slice())?;
        cx.place(wanted).await?;
        let cx = cx.clone();
        blocking(move || sysctls::set(&cx, &differing(&cx)?)).await
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::bastion, *};
    use crate::steps::os::{OsStep, prepare::OsPrepare};

    #[tokio::test]
    async fn forwarding_is_enabled_persisted_and_restored() {
        let (_dir, cx) = bastion("");
        let State::Needed(changes) = Forwarding.check(&cx).await.unwrap() else { panic!("nothing to do") };
        assert!(changes.contains(&"set net.ipv4.ip_forward from 0 to 1".to_owned()), "{changes:?}");
        assert!(crate::engine::runner::step(&Forwarding, &cx).await.unwrap());
        let now = || kernel::sysctl(&cx.files, "net.ipv4.ip_forward").unwrap().unwrap();
        assert_eq!(now(), "1");
        assert!(cx.files.read_text(paths::BASTION_SYSCTLS).unwrap().unwrap().ends_with("\nnet.ipv4.ip_forward = 1\n"));
        assert_eq!(Forwarding.check(&cx).await.unwrap(), State::Done, "a second time");
        assert_eq!(OsPrepare.left(&cx).await.unwrap(), ["set net.ipv4.ip_forward to 0"]);
        OsPrepare.undo(&cx).await.unwrap();
        assert_eq!(now(), "0");
    }

    #[tokio::test]
    async fn the_file_of_a_former_ipv6_network_is_removed() {
        let (_dir, cx) = bastion("");
        cx.place(vec![NewFile::public(FILE, "net.ipv6.conf.eth0.accept_ra = 2\n")]).await.unwrap();
        let State::Needed(changes) = Forwarding.check(&cx).await.unwrap() else { panic!("nothing to do") };
        assert!(changes.contains(&format!("remove {FILE}")), "{changes:?}");
        Forwarding.apply(&cx).await.unwrap();
        assert!(!cx.files.exists(FILE));
        assert_eq!(Forwarding.check(&cx).await.unwrap(), State::Done);
    }
}
