//! What a machine has of its own: the values of its role and of its entry override those of all machines.

use super::{
    Document, Os, bastion,
    declare::{Form, Over, Verdict, place::Place},
};
use crate::{
    problem::{Findings, Mark},
    text::{merge::merge, tree::YamlNode},
};

/// What overrides `os` on a machine, in ascending precedence.
type Overrides<'t> = Vec<Place<'t, Over<Os>>>;

/// Returns the overrides of each role; then, with its name, of each machine.
fn every<'t>(all: &Place<'t, Document>) -> Vec<(Option<String>, Overrides<'t>)> {
    let roles = all.roles();
    let named = |list: Place<'t, Vec<super::Machine>>| -> Vec<_> {
        list.items().into_iter().map(|machine| (machine.name().value(), machine.os())).collect()
    };
    let mut every = Vec::new();
    for (role, machines) in [
        (roles.master().os(), named(all.masters())),
        (roles.worker().os(), named(all.workers())),
        (roles.bastion().os(), vec![(bastion::name(all), all.bastion().os())]),
    ] {
        every.push((None, vec![role.cast()]));
        every.extend(machines.into_iter().map(|(name, own)| (name, vec![role.cast(), own])));
    }
    every
}

/// Returns `os` of the machine with this name; that of all machines if it is not listed.
pub(crate) fn os(all: &Place<'_, Document>, name: &str) -> Option<YamlNode> {
    let own = every(all).into_iter().find(|(machine, _)| machine.as_deref() == Some(name));
    merged(all, &own.map(|(_, over)| over).unwrap_or_default())
}

fn merged(all: &Place<'_, Document>, over: &Overrides<'_>) -> Option<YamlNode> {
    let mut os = all.os().written()?.clone();
    over.iter().filter_map(Place::written).for_each(|settings| merge(&mut os, settings.clone()));
    Some(os)
}

/// Applies the rules of `os` to the merged values of each role and each machine. A problem names the place where the value is written.
pub(crate) fn check(tree: &YamlNode, verdict: &mut Verdict<'_>) {
    let all = Place::document(tree);
    let (mut every, key) = (every(&all), all.os().path);
    every.retain(|(_, over)| over.last().is_some_and(Place::is_written));
    if every.is_empty() {
        return;
    }
    let mut own = tree.clone();
    for (_, over) in every {
        let Some(os) = merged(&all, &over) else { return };
        own.set(&key, os);
        let releases = verdict.releases;
        let mut found = Verdict { errors: Findings::default(), warnings: Findings::default(), releases };
        Form::check(&Place::document(&own).os(), &mut found);
        let path = |at: Mark, path: String| {
            let place = over.iter().rfind(|place| place.written().is_some_and(|node| node.contains(at)));
            let moved = place.and_then(|place| Some(format!("{}{}", place.path, path.strip_prefix(&key)?)));
            moved.unwrap_or(path)
        };
        verdict.errors.merge(found.errors, path);
        verdict.warnings.merge(found.warnings, path);
    }
}
