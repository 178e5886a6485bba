//! The values of `os` that a machine applies: those of its role and of its entry override those of all machines.

use super::{
    Document, Os, bastion,
    declare::{Form, Machines, Over, Verdict, place::Place},
    defaults,
};
use crate::{
    problem::{Findings, Flaw, Mark},
    text::{
        merge::merge,
        tree::{Value, YamlNode, below},
    },
};

/// What overrides `os` on some machines, in ascending precedence.
struct Overrides<'t> {
    /// The machine; `None` for all of a role.
    machine: Option<String>,
    is_bastion: bool,
    places: Vec<Place<'t, Over<Os>>>,
}

impl<'t> Overrides<'t> {
    /// Returns those of each role and of each machine.
    fn every(all: &Place<'t, Document>) -> Vec<Self> {
        let roles = all.roles();
        let named = |list: Place<'t, Vec<super::Machine>>| -> Vec<_> {
            list.items().into_iter().map(|machine| (machine.name().value(), machine.os())).collect()
        };
        let mut every = Vec::new();
        for (is_bastion, role, machines) in [
            (false, roles.master().os(), named(all.masters())),
            (false, roles.worker().os(), named(all.workers())),
            (true, roles.bastion().os(), vec![(bastion::name(all), all.bastion().os())]),
        ] {
            every.push(Self { machine: None, is_bastion, places: vec![role.cast()] });
            every.extend(machines.into_iter().map(|(machine, entry)| Self {
                machine,
                is_bastion,
                places: vec![role.cast(), entry],
            }));
        }
        every
    }

    /// Returns those of the machine with this name.
    fn of(all: &Place<'t, Document>, name: &str) -> Option<Self> {
        Self::every(all).into_iter().find(|overrides| overrides.machine.as_deref() == Some(name))
    }

    /// Returns the merged values of `os`.
    fn applied(&self, all: &Place<'_, Document>) -> Option<YamlNode> {
        let mut os = all.os().written()?.clone();
        self.places.iter().filter_map(Place::written).for_each(|settings| merge(&mut os, settings.clone()));
        if self.is_bastion {
            for key in unused_on_bastion(&Place::of_tree(&os)).map(|place| place.path) {
                match defaults::layer().get(&below(&all.os().path, &key)) {
                    Some(default) => os.set(&key, default.clone()),
                    None => os.remove(&key),
                }
            }
        }
        Some(os)
    }
}

/// Returns the keys that only nodes use.
fn unused_on_bastion<'t>(os: &Place<'t, Os>) -> [Place<'t, ()>; 3] {
    [os.swap().cast(), os.sysctls().cast(), os.modules().cast()]
}

/// Returns `os` as the machine with this name applies it; that of all machines if it is not listed.
pub(crate) fn os(all: &Place<'_, Document>, name: &str) -> Option<YamlNode> {
    Overrides::of(all, name).map_or_else(|| all.os().written().cloned(), |overrides| overrides.applied(all))
}

/// Returns where a machine's value of a key, such as `os.timezone` or `roles.worker.os.timezone`, is written: its path, and its position. `None` if it is
/// a default, or merged from several places.
pub(crate) fn written_at(all: &Place<'_, Document>, name: &str, key: &str) -> Option<(String, Mark)> {
    let overrides = Overrides::of(all, name).into_iter().flat_map(|overrides| overrides.places);
    let places: Vec<_> = [all.os().cast()].into_iter().chain(overrides).collect();
    let key = places.iter().find_map(|place| key.strip_prefix(&place.path)?.strip_prefix('.'))?;
    let written = places.iter().filter_map(|place| Some((format!("{}.{key}", place.path), place.written()?.get(key)?)));
    let mut written: Vec<_> = written.filter(|(_, node)| node.at != Mark::DEFAULT).collect();
    let (path, node) = written.pop()?;
    let is_merged = matches!(node.value, Value::Map(_)) && !written.is_empty();
    (!is_merged).then_some((path, node.at))
}

/// Applies the rules of `os` to the merged values of each role and each machine. A problem names the place where the value is written.
pub(crate) fn check(tree: &YamlNode, verdict: &mut Verdict<'_>) {
    let all = Place::document(tree);
    for place in [all.roles().bastion().os(), all.bastion().os()] {
        for unused in unused_on_bastion(&place.cast()).iter().filter(|place| place.written().is_some()) {
            unused.report(&mut verdict.errors, "only nodes use this key, and the bastion is not a node", "remove it");
        }
    }
    let (mut every, key) = (Overrides::every(&all), all.os().path);
    every.retain(|overrides| overrides.places.last().is_some_and(Place::is_written));
    if every.is_empty() {
        return;
    }
    let mut applied = tree.clone();
    for overrides in every {
        let Some(os) = overrides.applied(&all) else { return };
        applied.set(&key, os);
        let releases = verdict.releases;
        let machines = if overrides.is_bastion { Machines::Bastion } else { Machines::Nodes };
        let mut found = Verdict { errors: Findings::default(), warnings: Findings::default(), releases, machines };
        Form::check(&Place::document(&applied).os(), &mut found);
        let mut lists = Vec::new();
        overrides.places.iter().for_each(|place| self::lists(place.written(), "", &place.path, &mut lists));
        let correct = |at: Mark, path: String, flaw: Flaw| {
            let place = overrides.places.iter().rfind(|place| place.written().is_some_and(|node| node.contains(at)));
            let moved = place.and_then(|place| Some(format!("{}{}", place.path, path.strip_prefix(&key)?)));
            // It may name another entry of a list.
            let what = lists
                .iter()
                .fold(flaw.what, |what, (list, moved)| what.replace(&format!("{key}{list}["), &format!("{moved}[")));
            (moved.unwrap_or(path), Flaw { what, ..flaw })
        };
        verdict.errors.merge(found.errors, correct);
        verdict.warnings.merge(found.warnings, correct);
    }
}

/// Adds the path of each list of an override, relative to `os` and complete.
fn lists(node: Option<&YamlNode>, relative: &str, complete: &str, found: &mut Vec<(String, String)>) {
    match node.map(|node| &node.value) {
        Some(Value::List(_)) => found.push((relative.to_owned(), complete.to_owned())),
        Some(Value::Map(entries)) => {
            for entry in entries {
                let key = format!(".{}", entry.key);
                lists(Some(&entry.node), &format!("{relative}{key}"), &format!("{complete}{key}"), found);
            }
        }
        _ => {}
    }
}
