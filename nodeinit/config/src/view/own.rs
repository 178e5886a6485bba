//! The configuration as one machine applies it.

use crate::{
    load::{Loaded, validated},
    model::{
        Machine,
        declare::{
            Verdict,
            place::{Place, keys},
        },
    },
    problem::{Findings, Problems},
    releases,
    text::{
        merge::merge,
        tree::{Value, YamlNode},
    },
};

impl Loaded {
    /// Returns the configuration as the machine with this name applies it: the values of its role and of its entry are merged over those of
    /// all machines, the entry's with the highest precedence. A machine that is not listed has those of all machines.
    ///
    /// # Errors
    /// If the merged values break a rule.
    pub fn of_machine(&self, name: &str) -> Result<Self, Problems> {
        let releases = releases::read(&self.releases, &mut Findings::default());
        let verdict = Verdict { errors: Findings::default(), warnings: Findings::default(), releases: &releases };
        validated(self.own_tree(name), verdict, self.sources.clone(), self.releases.clone())
    }

    /// Returns the values of one machine, without those of other machines and roles.
    pub(super) fn own_tree(&self, name: &str) -> YamlNode {
        let mut tree = self.tree.clone();
        let (all, document) = (keys(), Place::document(&self.tree));
        let roles = document.roles();
        let is_own = |machine: &Place<'_, Machine>| machine.name().value().as_deref() == Some(name);
        let [masters, workers] =
            [document.masters(), document.workers()].map(|list| list.items().into_iter().find(is_own));
        let bastion = Some(document.bastion()).filter(|own| own.name().value().as_deref() == Some(name));
        let over = masters
            .map(|own| [roles.master().os(), own.os()])
            .or(workers.map(|own| [roles.worker().os(), own.os()]))
            .or(bastion.map(|own| [roles.bastion().os(), own.os()]));
        for settings in over.iter().flatten().filter_map(Place::written) {
            if let Some(os) = tree.get_mut(&all.os().path) {
                merge(os, settings.clone());
            }
        }
        for list in [all.masters().path, all.workers().path] {
            let Some(Value::List(machines)) = tree.get_mut(&list).map(|node| &mut node.value) else { continue };
            for machine in machines {
                let os = Place::<Machine>::of_tree(machine).os().path;
                machine.remove(&os);
            }
        }
        tree.remove(&all.bastion().os().path);
        tree.remove(&all.roles().path);
        tree
    }
}
