//! Sets a firewall rule that drops the traffic of pods to the cloud's metadata service.

use super::OsStep;
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, systemd},
    render::{paths, units},
};
use async_trait::async_trait;
use std::time::Duration;

/// The step's identity.
pub const ID: StepId = StepId::Os("metadata-rule");

const UNIT: &str = "nodeinit-metadata.service";

/// The addresses that the rules name. EC2's metadata service, which OpenStack imitates, has one of each family.
const ADDRESSES: [&str; 2] = ["169.254.169.254", "fd00:ec2::254"];

/// nodeinit's own nftables table.
const TABLE: [&str; 3] = ["table", "inet", "nodeinit_metadata"];

/// Where a former version kept the rules.
const FORMER_RULES: &str = "/var/lib/nodeinit/metadata.nft";

/// Limit for one call of `nft`, which takes milliseconds except under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// Step `metadata-rule`: sets the rule now and before the kubelet at each boot; removes it if pods may read metadata.
pub struct MetadataRule;

fn files() -> [NewFile; 3] {
    [
        NewFile::public(paths::NFTABLES_DROP_IN, units::NFTABLES_DROP_IN),
        NewFile::public(paths::METADATA_RULES, units::METADATA_RULES),
        NewFile::public(paths::METADATA_UNIT, units::METADATA),
    ]
}

/// Returns the kernel's rules in nodeinit's table; `None` if there is no such table. Does not call `nft` if nodeinit never started
/// the unit.
async fn table(cx: &Context) -> Option<String> {
    if !cx.journal.state().units.contains(UNIT) {
        return None;
    }
    // This fails if there is no such table, or no `nft`.
    cx.commands.run(&[&["nft", "list"], &TABLE[..]].concat(), LIMIT).await.ok()
}

/// Whether there is a table to remove.
async fn is_there(cx: &Context) -> bool {
    table(cx).await.is_some()
}

/// Whether the rules drop everything for the addresses except DNS.
fn is_complete(rules: &str) -> bool {
    let has = |rule: String| rules.contains(&rule);
    ADDRESSES.iter().all(|address| {
        has(format!("{address} udp dport 53 accept"))
            && has(format!("{address} tcp dport 53 accept"))
            && has(format!("{address} drop"))
    })
}

/// The description of `remove` in a plan.
const REMOVAL: &str = "remove table inet nodeinit_metadata from nftables";

/// Removes the table from the kernel.
///
/// # Errors
/// If `nft` fails.
async fn remove(cx: &Context) -> Result<(), StepError> {
    if is_there(cx).await {
        cx.commands.run(&[&["nft", "delete"], &TABLE[..]].concat(), LIMIT).await?;
    }
    Ok(())
}

#[async_trait(?Send)]
impl Step for MetadataRule {
    fn id(&self) -> StepId {
        ID
    }

    fn title(&self) -> String {
        "block the cloud's metadata service for pods".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if cx.cluster.network.pods_may_read_metadata {
            let left = files().into_iter().map(|file| file.path).chain([FORMER_RULES.into()]);
            let left = left.filter(|path| cx.files.exists(path));
            let mut changes: Vec<String> = left.map(|path| format!("remove {}", path.display())).collect();
            changes.extend(is_there(cx).await.then(|| REMOVAL.to_owned()));
            return Ok(State::of(changes));
        }
        let mut changes = cx.differing(&files())?;
        changes.extend(cx.files.exists(FORMER_RULES).then(|| format!("remove {FORMER_RULES}")));
        let is_set = table(cx).await.is_some_and(|rules| is_complete(&rules));
        if !cx.files.exists(systemd::enabled(UNIT)) || !is_set {
            changes.push(format!("start and enable {UNIT}"));
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if cx.cluster.network.pods_may_read_metadata {
            systemd::stop(&cx.commands, UNIT).await?;
            systemd::disable(&cx.commands, UNIT).await?;
            remove(cx).await?;
            cx.files.remove_file(FORMER_RULES)?;
            return Ok(files().iter().try_for_each(|file| cx.files.remove_file(&file.path))?);
        }
        cx.place(files().into()).await?;
        cx.start_unit(UNIT).await?;
        Ok(cx.files.remove_file(FORMER_RULES)?)
    }
}

#[async_trait(?Send)]
impl OsStep for MetadataRule {
    async fn left(&self, cx: &Context) -> Result<Vec<String>, StepError> {
        Ok(is_there(cx).await.then(|| REMOVAL.to_owned()).into_iter().collect())
    }

    async fn undo(&self, cx: &Context) -> Result<(), StepError> {
        remove(cx).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context_of;

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";

    #[test]
    fn the_rules_name_the_same_addresses_and_table() {
        assert!(is_complete(units::METADATA_RULES));
        let former: String =
            units::METADATA_RULES.split_inclusive('\n').filter(|line| !line.contains("dport")).collect();
        assert!(!is_complete(&former), "a rule that drops DNS is replaced");
        assert!(units::NFTABLES_DROP_IN.contains(paths::METADATA_RULES));
        assert!(units::METADATA_RULES.contains(&format!("{} {{", TABLE.join(" "))));
        assert!(units::METADATA.contains(paths::METADATA_RULES) && units::METADATA.contains("Before=kubelet.service"));
    }

    #[tokio::test]
    async fn the_file_of_a_former_version_is_removed() {
        for key in ["false", "true"] {
            let (_dir, cx) = context_of(&format!("{HEAD}network: {{podsMayReadMetadata: {key}}}\n"));
            cx.files.make_directory("/var".as_ref(), 0o755).unwrap();
            cx.files.make_directory("/var/lib".as_ref(), 0o755).unwrap();
            cx.files.make_directory("/var/lib/nodeinit".as_ref(), 0o755).unwrap();
            cx.files.write(&[NewFile::public(FORMER_RULES, "")]).unwrap();
            let State::Needed(changes) = MetadataRule.check(&cx).await.unwrap() else { panic!("{key}") };
            assert!(changes.contains(&format!("remove {FORMER_RULES}")), "{changes:?}");
        }
    }

    #[tokio::test]
    async fn the_rule_is_set_if_pods_may_not_read_metadata() {
        for (key, wanted) in
            [("{}", false), ("{podsMayReadMetadata: true}", false), ("{podsMayReadMetadata: false}", true)]
        {
            let (_dir, cx) = context_of(&format!("{HEAD}network: {key}\n"));
            let changes = match MetadataRule.check(&cx).await.unwrap() {
                State::Done => Vec::new(),
                State::Needed(changes) => changes,
            };
            assert_eq!(
                changes.iter().any(|change| change == "start and enable nodeinit-metadata.service"),
                wanted,
                "{key}"
            );
            assert_eq!(changes.len(), if wanted { 4 } else { 0 }, "{changes:?}");
        }
    }
}
