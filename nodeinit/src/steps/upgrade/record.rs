//! Records on this machine that its upgrade begins and that it has ended, and writes the new version to its configuration.

use crate::{
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::Record,
        step::{State, Step},
        step_id::StepId,
    },
    host::files::NewFile,
};
use async_trait::async_trait;
use nodeinit_config::{Origin, versions::KubernetesVersion};
use std::path::Path;

/// The key of the version, in the configuration and among the values that cannot change in place.
pub const KEY: &str = "kubernetes.version";

/// The file with the version if the configuration does not contain it.
const OWN_FILE: &str = "/etc/nodeinit/conf.d/90-kubernetes-version.yaml";

/// Returns the version that this machine has, according to its journal.
#[must_use]
pub fn recorded(cx: &Context) -> Option<String> {
    cx.journal.state().fixed?.get(KEY).cloned()
}

/// Records that this machine has the configured version.
pub(super) async fn store(cx: &Context) -> Result<(), StepError> {
    let mut values = cx.journal.state().fixed.unwrap_or_default();
    values.insert(KEY.to_owned(), cx.cluster.version.to_string());
    let cx = cx.clone();
    blocking(move || Ok(cx.journal.intend(vec![Record::Fixed { values }])?)).await
}

/// Step `upgrade-begin`: from here on, `up` does not change this machine until its upgrade or rollback has ended.
pub struct Begin {
    /// Whether to record it although this machine has the version already: it leads a rollback of others.
    pub leads_back: bool,
}

#[async_trait(?Send)]
impl Step for Begin {
    fn id(&self) -> StepId {
        StepId::UpgradeBegin
    }

    fn title(&self) -> String {
        "record that the version of this machine begins to change".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let (wanted, under_way) = (cx.cluster.version.to_string(), cx.journal.state().upgrade);
        let keeps = !self.leads_back && under_way.is_none() && recorded(cx).as_ref() == Some(&wanted);
        let done = keeps || under_way.as_ref() == Some(&wanted);
        Ok(if done { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let record = Record::Upgrade { version: cx.cluster.version.to_string() };
        let cx = cx.clone();
        blocking(move || Ok(cx.journal.intend(vec![record])?)).await
    }
}

/// Step `version`: this machine's journal and configuration have the new version.
pub struct Version {
    /// The version that the configuration has without the upgrade.
    pub configured: KubernetesVersion,
    /// Where it is written. `None` if it is a default.
    pub written: Option<Origin>,
}

impl Version {
    fn is_configured(&self, cx: &Context) -> bool {
        self.configured == cx.cluster.version && (self.written.is_some() || cx.files.exists(OWN_FILE))
    }
}

#[async_trait(?Send)]
impl Step for Version {
    fn id(&self) -> StepId {
        StepId::Version
    }

    fn title(&self) -> String {
        "record the version of this machine".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = Vec::new();
        let wanted = cx.cluster.version.to_string();
        if recorded(cx).as_ref() != Some(&wanted) || cx.journal.state().upgrade.is_some() {
            changes.push(format!("record that this machine has {wanted}"));
        }
        if !self.is_configured(cx) {
            let file = self.written.as_ref().map_or(OWN_FILE, |origin| &origin.source);
            changes.push(format!("write {KEY} {wanted} to {file}"));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if !self.is_configured(cx) {
            match &self.written {
                Some(origin) => rewrite(cx, origin, self.configured)?,
                None => {
                    let text = format!(
                        "# Written by `nodeinit upgrade`.\napiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n\
                         kubernetes:\n  version: {}\n",
                        cx.cluster.version
                    );
                    cx.place(vec![NewFile::public(OWN_FILE, text)]).await?;
                }
            }
        }
        store(cx).await
    }
}

/// Writes the new version where the configuration has the former one, and changes nothing else in that file.
fn rewrite(cx: &Context, origin: &Origin, former: KubernetesVersion) -> Result<(), StepError> {
    let wanted = cx.cluster.version;
    let unable = || {
        StepError::new(format!("cannot write {KEY} {wanted} to {origin}"))
            .exit(Exit::BadConfig)
            .hint(format!("write it there, then run `nodeinit {}` again", cx.rollout.upgrade_command(wanted)))
    };
    let path = std::path::absolute(Path::new(&origin.source)).map_err(|_| unable())?;
    let text = cx.files.read_text(&path)?.ok_or_else(unable)?;
    let text = replaced(&text, origin, &former.to_string(), &wanted.to_string()).ok_or_else(unable)?;
    let mode = cx.files.mode(&path).unwrap_or(0o644);
    Ok(cx.files.write(&[NewFile { mode, ..NewFile::public(path, text) }])?)
}

/// Returns the text with another version at this position; `None` if the former one is not there.
fn replaced(text: &str, origin: &Origin, former: &str, wanted: &str) -> Option<String> {
    let before: usize = text.split_inclusive('\n').take(origin.line.checked_sub(1)?).map(str::len).sum();
    let line = text.get(before..)?.lines().next()?;
    let column = line.char_indices().nth(origin.column.checked_sub(1)?)?.0;
    let quote = usize::from(line[column..].starts_with(['"', '\'']));
    let start = before + column + quote;
    let rest = text.get(start..)?.strip_prefix(former)?;
    Some(format!("{}{wanted}{rest}", &text[..start]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    const BEGIN: Begin = Begin { leads_back: false };

    #[test]
    fn only_the_version_changes_in_the_operators_file() {
        let at = |line, column| Origin { source: "c.yaml".into(), line, column };
        let text = "# v1.35.8\nkubernetes:\n  version: \"v1.35.8\" # ä\nname: v1.35.8\n";
        let new = replaced(text, &at(3, 12), "v1.35.8", "v1.36.4").unwrap();
        assert_eq!(new, "# v1.35.8\nkubernetes:\n  version: \"v1.36.4\" # ä\nname: v1.35.8\n");
        let flow = replaced("kubernetes: {version: v1.35.8}\n", &at(1, 23), "v1.35.8", "v1.36.4").unwrap();
        assert_eq!(flow, "kubernetes: {version: v1.36.4}\n");
        assert_eq!(replaced(text, &at(3, 5), "v1.35.8", "v1.36.4"), None);
        assert_eq!(replaced(text, &at(0, 0), "v1.35.8", "v1.36.4"), None);
        assert_eq!(replaced(text, &at(9, 1), "v1.35.8", "v1.36.4"), None);
    }

    #[tokio::test]
    async fn an_upgrade_begins_once_and_ends_with_the_version() {
        let (_dir, cx) = context();
        let former: KubernetesVersion = "v1.33.1".parse().unwrap();
        let values = [(KEY.to_owned(), former.to_string())].into();
        cx.journal.intend(vec![Record::Fixed { values }]).unwrap();
        let version = Version { configured: former, written: None };
        assert!(matches!(BEGIN.check(&cx).await.unwrap(), State::Needed(_)));
        BEGIN.apply(&cx).await.unwrap();
        assert_eq!(BEGIN.check(&cx).await.unwrap(), State::Done);
        version.apply(&cx).await.unwrap();
        assert_eq!(recorded(&cx), Some(cx.cluster.version.to_string()));
        assert_eq!(cx.journal.state().upgrade, None);
        assert_eq!(BEGIN.check(&cx).await.unwrap(), State::Done);
        assert!(matches!(Begin { leads_back: true }.check(&cx).await.unwrap(), State::Needed(_)));
        let again = Version { configured: cx.cluster.version, written: None };
        assert_eq!(again.check(&cx).await.unwrap(), State::Done);
    }
}
