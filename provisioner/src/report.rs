//! A plan and a state, told.

use crate::{
    output::Output,
    resources::{
        Found, Kind,
        desired::Spec,
        diff::{Action, Item, Plan},
    },
};
use serde_json::json;

/// The whole plan, with all that stands against it.
pub fn plan(plan: &Plan, output: Output) {
    for item in &plan.items {
        let (word, what) = told(item);
        let part = item.part.to_string();
        output.tell(format!("{word:<8} {part:<28} {what}").trim_end(), || {
            json!({ "event": "item", "part": part, "action": word, "what": what, "id": item.found.as_ref().map(|found| &found.id) })
        });
    }
    for note in &plan.notes {
        output.tell(&format!("note     {note}"), || json!({ "event": "note", "what": note }));
    }
    for obstacle in &plan.obstacles {
        output.tell(
            &format!("MISSING  {}\n         hint: {}", obstacle.what, obstacle.remedy),
            || json!({ "event": "obstacle", "what": obstacle.what, "remedy": obstacle.remedy }),
        );
    }
    let count = |of: fn(&Action) -> bool| plan.items.iter().filter(|item| of(&item.action)).count();
    let (create, change) =
        (count(|a| *a == Action::Create), count(|a| matches!(a, Action::Change(_) | Action::Replace(_))));
    let (delete, keep) = (count(|a| matches!(a, Action::Delete(_))), count(|a| *a == Action::Keep));
    let refuse = count(|a| matches!(a, Action::Refuse { .. })) + plan.obstacles.len();
    output.tell(&format!("{create} to create, {change} to change, {delete} to delete, {keep} as they should be, {refuse} in the way"), || {
        json!({ "event": "summary", "create": create, "change": change, "delete": delete, "keep": keep, "refuse": refuse })
    });
}

fn told(item: &Item) -> (&'static str, String) {
    match &item.action {
        Action::Keep => ("is", item.found.as_ref().map(state).unwrap_or_default()),
        Action::Create => ("create", item.want.as_ref().map(|want| spec(&want.spec)).unwrap_or_default()),
        Action::Change(fixes) => ("change", fixes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        Action::Replace(why) => ("replace", why.clone()),
        Action::Delete(why) => ("delete", why.clone()),
        Action::Left => ("left", "in no configuration any more; left alone".to_owned()),
        Action::Refuse { what, remedy } => ("REFUSED", format!("{what}; {remedy}")),
    }
}

/// What a part is like: its state, its address, its name.
fn state(found: &Found) -> String {
    let address = found.address().map(|address| address.to_string());
    let health = match found.part.kind {
        Kind::Balancer | Kind::Pool | Kind::Member => Some(found.text("operating_status").to_owned()),
        _ => None,
    };
    let state = Some(found.state().to_owned());
    [state, health, address].into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

fn spec(spec: &Spec) -> String {
    match spec {
        Spec::Subnet { made, .. } => made.cidr.to_string(),
        Spec::RouterPort { address } | Spec::Port { address: Some(address), .. } => address.to_string(),
        Spec::Rule(rule) => rule.reason.to_owned(),
        Spec::ServerGroup { policy } => (*policy).to_owned(),
        Spec::Volume { size, zone } => {
            [Some(format!("{size} GiB")), zone.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Spec::Server { flavor, zone, .. } => {
            [Some(flavor.clone()), zone.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Spec::FloatingIp { of } => format!("of {of}"),
        _ => String::new(),
    }
}

/// What there is, with states.
pub fn status(ours: &[Found], output: Output) {
    let mut all: Vec<&Found> = ours.iter().filter(|found| found.part.kind != Kind::Rule).collect();
    all.sort_by(|a, b| a.part.cmp(&b.part));
    for found in &all {
        let part = found.part.to_string();
        output.tell(format!("{part:<28} {}", state(found)).trim_end(), || {
            json!({
                "event": "resource", "part": part, "id": found.id, "state": found.state(), "address": found.address(),
                "operatingStatus": found.body["operating_status"],
            })
        });
    }
    if all.is_empty() {
        output.text("nothing of this cluster is there");
    }
}

/// What will be deleted.
pub fn doomed(all: &[&Found], output: Output) {
    for found in all {
        let part = found.part.to_string();
        output.tell(
            &format!("delete   {part:<28} {}", found.id),
            || json!({ "event": "item", "part": part, "action": "delete", "id": found.id }),
        );
    }
}
