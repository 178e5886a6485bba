//! The steps that prepare the operating system: one file each, and one line in the list that all roles share.
//!
//! To add one: put it, its undo code and its test into a file here, and list it in [`ITEMS`].

pub(super) mod accounts;
mod authorized_keys;
mod begun;
mod disks;
mod extra;
mod fetched;
mod item;
mod kernel;
mod locale;
mod logs;
mod messages;
pub mod metadata;
mod names;
mod no_proxy;
mod packages;
pub mod prepare;
mod program;
mod resolver;
mod secret;
mod setting;
mod sshd;
mod storage;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod trust;
mod unfinished;
mod users;
mod want;

pub use disks::refuse_unmounted;

use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    os::{ASKS_FOR_REBOOT, asks_for_reboot},
};
use async_trait::async_trait;
use nodeinit_base::with_causes;
use nodeinit_config::cluster::Reboot;
use std::time::Duration;

/// The items of `os`, in order: what later ones need comes first.
const ITEMS: [item::Item; 18] = [
    names::HOST_NAME,
    names::HOSTS,
    resolver::ITEM,
    trust::CAS,
    trust::PROXY,
    packages::UPDATES,
    packages::PACKAGES,
    locale::ITEM,
    messages::MESSAGES,
    kernel::IPV6,
    kernel::LIMITS,
    users::ITEM,
    sshd::ITEM,
    time::ITEM,
    disks::ITEM,
    extra::FILES,
    extra::UNITS,
    logs::ITEM,
];

/// Returns the steps in their order. They start after preflight, one after the other; containerd and the kubelet start after them.
#[must_use]
pub fn steps() -> Vec<Box<dyn OsStep>> {
    let mut all: Vec<Box<dyn OsStep>> = vec![Box::new(prepare::OsPrepare)];
    all.extend(items());
    // Its program may be a package of `os`. Pods start later.
    all.push(Box::new(metadata::MetadataRule));
    all
}

/// Returns those that do not depend on Kubernetes, in their order: all that a bastion needs.
#[must_use]
pub fn items() -> Vec<Box<dyn OsStep>> {
    ITEMS.into_iter().map(|item| Box::new(item) as Box<dyn OsStep>).collect()
}

/// Returns the full name of a machine: with the domain, if there is one.
fn full_name(cx: &Context, name: &str) -> String {
    match &cx.cluster.os.domain {
        Some(domain) if !name.contains('.') => format!("{name}.{domain}"),
        _ => name.to_owned(),
    }
}

/// Returns the message for the console of a machine that is ready.
#[must_use]
pub fn finished(cx: &Context) -> Option<String> {
    Some(filled(cx, cx.cluster.os.messages.finished.as_ref()?))
}

/// Limit for the question whether a reboot is needed: dnf reads the list of packages.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns a note if the distribution of this machine asks for a reboot that is wanted, or if it cannot tell. Another master reboots it.
pub async fn reboot_note(cx: &Context) -> Option<String> {
    if cx.cluster.os.packages.reboot != Reboot::WhenRequested {
        return None;
    }
    let printed = match cx.commands.run(&["sh", "-c", ASKS_FOR_REBOOT], LIMIT).await {
        Ok(printed) => printed,
        Err(error) => return Some(unknown_reboot(&cx.node.name, &error.to_string())),
    };
    match asks_for_reboot(&printed) {
        Ok(false) => None,
        Ok(true) => Some(
            "the distribution of this machine asks for a reboot: `nodeinit up --lead` on another master reboots it, or do it yourself"
                .to_owned(),
        ),
        Err(why) => Some(unknown_reboot(&cx.node.name, why)),
    }
}

/// Returns the note about a machine that cannot tell whether it needs a reboot.
#[must_use]
pub fn unknown_reboot(machine: &str, why: &str) -> String {
    format!("{machine} is not rebooted, as it cannot tell whether it needs that: {why}")
}

/// Replaces the placeholders of a text (`nodeinit_config::format::PLACEHOLDERS`).
fn filled(cx: &Context, text: &str) -> String {
    let node = &cx.node;
    let values = [
        ("name", node.name.clone()),
        ("fullName", full_name(cx, &node.name)),
        ("address", node.address.to_string()),
        ("role", node.role.to_string()),
        ("cluster", cx.cluster.name.clone()),
    ];
    values.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), &value))
}

/// A step that prepares the operating system, with its undo code for `reset`. Files, directories and units that the journal lists need
/// no undo code: `reset` removes them.
#[async_trait(?Send)]
pub trait OsStep: Step {
    /// Describes what is left to undo, for a plan.
    async fn left(&self, _: &Context) -> Result<Vec<String>, StepError> {
        Ok(Vec::new())
    }

    /// Undoes what is left. Safe to repeat after a crash.
    async fn undo(&self, _: &Context) -> Result<(), StepError> {
        Ok(())
    }
}

/// Step `restore-kernel` of a reset: undoes the steps here, the last one first.
pub struct RestoreOs;

#[async_trait(?Send)]
impl Step for RestoreOs {
    fn id(&self) -> StepId {
        StepId::RestoreKernel
    }

    fn title(&self) -> String {
        "restore the settings of the operating system".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = Vec::new();
        for step in steps().iter().rev() {
            // `apply` reports the error, and undoes the rest.
            changes.extend(
                step.left(cx).await.unwrap_or_else(|error| vec![format!("{}; at present: {error}", step.title())]),
            );
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let mut failed = None;
        for step in steps().iter().rev() {
            if let Err(error) = step.undo(cx).await {
                cx.report.note(&step.name(), with_causes(&error));
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
