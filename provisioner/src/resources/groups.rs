//! Server groups of a size that Nova accepts: its quota `server_group_members` is 10 by default.

use super::{
    Kind, Part, Snapshot,
    desired::{Spec, Want},
    facts::MEMBERS,
};
use std::collections::BTreeMap;

/// Nova's default.
const DEFAULT_LIMIT: usize = 10;

/// Splits each server group into groups that hold no more members than the quota allows. A server stays in the group that
/// it is in, for Nova cannot move it; a new one joins the first group that has room.
pub fn split(wants: Vec<Want>, snapshot: &Snapshot) -> Vec<Want> {
    let limit = match snapshot.facts.quotas.get(MEMBERS) {
        // It could not be read.
        None => DEFAULT_LIMIT,
        Some(quota) => quota.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0).max(1)),
    };
    let bases: Vec<String> = wants.iter().filter(|want| is_group(want)).map(|want| want.part.name.clone()).collect();
    let mut groups: BTreeMap<String, Groups> =
        bases.into_iter().map(|base| (base.clone(), Groups::there(base, limit, snapshot))).collect();
    let mut wants = wants;
    for want in &mut wants {
        let Spec::Server { group: Some(group), .. } = &mut want.spec else { continue };
        let Some(of) = groups.get_mut(group) else { continue };
        let chosen = of.of_server(snapshot.find(&want.part).map(|found| (found.id.as_str(), found.state())));
        let (old, new) = (Part::new(Kind::ServerGroup, group.clone()), Part::new(Kind::ServerGroup, chosen.clone()));
        want.needs.iter_mut().filter(|need| **need == old).for_each(|need| *need = new.clone());
        *group = chosen;
    }
    let named = |want: Want| match groups.get(&want.part.name).filter(|_| is_group(&want)) {
        Some(of) => of.names().map(|name| Want { part: Part::new(Kind::ServerGroup, name), ..want.clone() }).collect(),
        None => vec![want],
    };
    wants.into_iter().flat_map(named).collect()
}

fn is_group(want: &Want) -> bool {
    matches!(want.spec, Spec::ServerGroup { .. })
}

/// The groups of one kind of machines by their number: `workers`, `workers-2`, `workers-3`.
struct Groups {
    base: String,
    limit: usize,
    members: BTreeMap<usize, Vec<String>>,
}

impl Groups {
    fn there(base: String, limit: usize, snapshot: &Snapshot) -> Self {
        let mut members = BTreeMap::from([(1, Vec::new())]);
        for found in snapshot.of_kind(Kind::ServerGroup) {
            let number = match found.part.name.strip_prefix(&base) {
                Some("") => Some(1),
                Some(rest) => rest.strip_prefix('-').and_then(|number| number.parse().ok()),
                None => None,
            };
            let ids = found.body["members"].as_array().into_iter().flatten().filter_map(|id| id.as_str());
            members.extend(number.map(|number| (number, ids.map(str::to_owned).collect())));
        }
        Self { base, limit, members }
    }

    /// The group of a server; `there`: id and state of one that exists.
    fn of_server(&mut self, there: Option<(&str, &str)>) -> String {
        let is_in = |(id, _): (&str, &str)| self.members.iter().find(|(_, all)| all.iter().any(|one| one == id));
        let number = match (there.and_then(is_in).map(|(number, _)| *number), there) {
            (Some(number), _) => number,
            // One from before there were groups needs no room in one. One in ERROR may be created again.
            (None, Some((_, state))) if state != "ERROR" => 1,
            (None, _) => {
                let free = self.members.iter().find(|(_, all)| all.len() < self.limit).map(|(number, _)| *number);
                let number = free.unwrap_or_else(|| self.members.keys().next_back().map_or(1, |last| last + 1));
                self.members.entry(number).or_default().push(String::new());
                number
            }
        };
        self.name(number)
    }

    fn name(&self, number: usize) -> String {
        if number == 1 { self.base.clone() } else { format!("{}-{number}", self.base) }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.members.keys().map(|number| self.name(*number))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        resources::{
            Kind, Snapshot,
            desired::Spec,
            facts::{MEMBERS, Quota},
            plan::Plan,
        },
        testing::{alter, applied, plan, sized},
    };
    use serde_json::json;

    fn of(plan: &Plan, worker: &str) -> String {
        let item = plan.items.iter().find(|item| item.part.kind == Kind::Server && item.part.name == worker).unwrap();
        let want = item.want.as_ref().unwrap();
        let Spec::Server { group: Some(group), .. } = &want.spec else { panic!("{want:?}") };
        assert!(want.needs.iter().any(|need| need.kind == Kind::ServerGroup && need.name == *group), "{want:?}");
        group.clone()
    }

    #[test]
    fn a_server_stays_in_its_group_and_a_new_one_joins_one_with_room() {
        let mut snapshot = applied(&sized(1, 4, ""));
        snapshot.facts.quotas.insert(MEMBERS, Quota { limit: Some(3), used: 0 });
        let groups = |snapshot: &Snapshot, workers: usize| -> Vec<String> {
            let plan = plan(&sized(1, workers, ""), snapshot);
            (1..=workers).map(|n| of(&plan, &format!("w{n}"))).collect()
        };
        // They are from before there were groups.
        assert_eq!(groups(&snapshot, 4), ["workers"; 4]);
        let members = ["server/w1", "server/w2", "server/w4"];
        alter(&mut snapshot, "server-group/workers", |body| body["members"] = json!(members));
        snapshot.ours.retain(|found| found.part.to_string() != "server/w3");
        assert_eq!(groups(&snapshot, 6), ["workers", "workers", "workers-2", "workers", "workers-2", "workers-2"]);
    }
}
