//! The configuration as one machine applies it.

use crate::{
    load::{Loaded, validated},
    model::{
        Machine, Os, Reboot,
        declare::{
            Machines, Verdict,
            place::{Place, keys},
        },
        overrides,
    },
    problem::{Findings, Problems},
    releases,
    text::tree::{Value, YamlNode},
};

impl Loaded {
    /// Returns the configuration as the machine with this name applies it: the values of its role and of its entry are merged over those of
    /// all machines, the entry's with the highest precedence. A machine that is not listed has those of all machines.
    ///
    /// # Errors
    /// If [`crate::load`] did not apply a rule to the merged values: a defect.
    pub fn of_machine(&self, name: &str) -> Result<Self, Problems> {
        let releases = releases::read(&self.releases, &mut Findings::default());
        let verdict = Verdict {
            errors: Findings::default(),
            warnings: Findings::default(),
            releases: &releases,
            machines: Machines::All,
        };
        validated(self.machine_tree(name), verdict, self.sources.clone(), self.releases.clone())
    }

    /// Whether the machine with this name is rebooted when its distribution asks for it. Cheaper than [`Loaded::of_machine`].
    #[must_use]
    pub fn reboots(&self, name: &str) -> bool {
        let os = overrides::os(&Place::document(&self.tree), name);
        os.is_some_and(|os| Place::<Os>::of_tree(&os).packages().reboot().value() == Some(Reboot::WhenRequested))
    }

    /// Returns a message of a machine in which each key of `os`, such as `os.timezone` in `os.timezone: …`, has the path of the value that the
    /// machine applies, and is preceded by its file and line, unless that file is `generated`: its lines are of no use to a reader.
    #[must_use]
    pub fn located(&self, machine: &str, message: &str, generated: Option<&str>) -> String {
        let place = |part: &str| {
            let (path, at) = overrides::written_at(&Place::document(&self.tree), machine, part)?;
            let origin = at.origin(&self.sources);
            Some(if Some(origin.source.as_str()) == generated { path } else { format!("{origin}: {path}") })
        };
        let parts = message.split(": ").map(|part| place(part).unwrap_or_else(|| part.to_owned()));
        parts.collect::<Vec<_>>().join(": ")
    }

    /// Returns the values of one machine, without what overrides them on other machines.
    pub(super) fn machine_tree(&self, name: &str) -> YamlNode {
        let (mut tree, all) = (self.tree.clone(), keys());
        if let Some(os) = overrides::os(&Place::document(&self.tree), name) {
            tree.set(&all.os().path, os);
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
