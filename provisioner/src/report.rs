//! A plan and a state, told.

use crate::{
    delivery::State,
    error::Error,
    output::Output,
    resources::{
        Found, Kind,
        desired::Spec,
        plan::{Action, Fix, Item, Plan},
    },
    userdata,
};
use nodeinit_config::Cluster;
use serde_json::{Value, json};

/// The whole plan, with all that stands against it.
pub fn plan(plan: &Plan, output: &Output) {
    for item in &plan.items {
        let (word, what) = told(item);
        let part = item.part.to_string();
        output.result(format!("{word:<8} {part:<28} {what}").trim_end(), || {
            json!({
                "event": "item", "part": part, "action": word, "what": what, "id": item.found.as_ref().map(|found| &found.id),
                "changes": changes(&item.action),
            })
        });
    }
    for note in &plan.notes {
        output.result(&format!("note     {note}"), || json!({ "event": "note", "what": note }));
    }
    for obstacle in &plan.obstacles {
        output.result(
            &format!("{:<8} {}\n         hint: {}", obstacle.kind.word(), obstacle.what, obstacle.remedy),
            || {
                json!({
                    "event": "obstacle", "kind": obstacle.kind.word(), "what": obstacle.what, "remedy": obstacle.remedy,
                })
            },
        );
    }
    let count = |of: fn(&Action) -> bool| plan.items.iter().filter(|item| of(&item.action)).count();
    let (create, change) =
        (count(|a| *a == Action::Create), count(|a| matches!(a, Action::Change(_) | Action::Replace(_))));
    let (delete, keep) = (count(|a| matches!(a, Action::Delete(_))), count(|a| *a == Action::Keep));
    let refuse = count(Action::is_conflict) + plan.obstacles.len();
    let unhealthy = count(|a| matches!(a, Action::Unhealthy { .. }));
    let mut summary =
        format!("{create} to create, {change} to change, {delete} to delete, {keep} unchanged, {refuse} in conflict");
    if unhealthy > 0 {
        summary += &format!(", {unhealthy} unhealthy");
    }
    output.result(&summary, || {
        json!({
            "event": "summary", "create": create, "change": change, "delete": delete, "keep": keep, "refuse": refuse,
            "unhealthy": unhealthy,
        })
    });
}

/// The servers that the operator must repair.
pub fn unhealthy(plan: &Plan, output: &Output) {
    for item in &plan.items {
        if let Action::Unhealthy { what, remedy } = &item.action {
            let part = item.part.to_string();
            output.result(
                &format!("UNHEALTHY {part}: {what}\n         hint: {remedy}"),
                || json!({ "event": "unhealthy", "part": part, "what": what, "remedy": remedy }),
            );
        }
    }
}

fn told(item: &Item) -> (&'static str, String) {
    match &item.action {
        Action::Keep => ("is", item.found.as_ref().map(state).unwrap_or_default()),
        Action::Create => ("create", item.want.as_ref().map(|want| spec(&want.spec)).unwrap_or_default()),
        Action::Change(fixes) => ("change", fixes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        Action::Replace(why) => ("replace", why.clone()),
        Action::Delete(why) => ("delete", why.clone()),
        Action::Left => ("left", "no longer in the configuration; not changed".to_owned()),
        Action::Unhealthy { what, remedy } => ("UNHEALTHY", format!("{what}; {remedy}")),
        Action::Refuse { what, remedy } => ("REFUSED", format!("{what}; {remedy}")),
        Action::Duplicate { what, remedy } => ("DUPLICATE", format!("{what}; {remedy}")),
    }
}

/// Each setting that an action changes, with its value before and after.
fn changes(action: &Action) -> Vec<Value> {
    let Action::Change(fixes) = action else { return Vec::new() };
    let change = |fix: &Fix| {
        let (setting, before, after) = fix.change();
        json!({ "setting": setting, "before": before, "after": after })
    };
    fixes.iter().map(change).collect()
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
        Spec::Volume { size, zone, .. } => {
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
pub fn status(ours: &[Found], output: &Output) {
    let mut all: Vec<&Found> = ours.iter().filter(|found| found.part.kind != Kind::Rule).collect();
    all.sort_by(|a, b| a.part.cmp(&b.part));
    for found in &all {
        let part = found.part.to_string();
        output.result(format!("{part:<28} {}", state(found)).trim_end(), || {
            json!({
                "event": "resource", "part": part, "id": found.id, "state": found.state(), "address": found.address(),
                "operatingStatus": found.body["operating_status"],
            })
        });
    }
    if all.is_empty() {
        output.text("this cluster has no resources in the cloud");
    }
}

/// A machine, as cloud, cluster and balancer see it; what is not known is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    machine: String,
    role: Option<String>,
    server: Option<String>,
    node: Option<String>,
    etcd: Option<String>,
    member: Option<String>,
}

/// One row a machine, of the configuration or beside it, with what its first master has told.
pub fn machines(cluster: &Cluster, ours: &[Found], told: &Result<State, Error>, output: &Output) {
    let rows = rows(cluster, ours, told.as_ref().ok());
    table(&rows, told.as_ref().ok(), output);
    for row in &rows {
        output.object(|| {
            json!({
                "event": "machine-status", "machine": row.machine, "role": row.role, "server": row.server,
                "node": row.node, "etcd": row.etcd, "member": row.member,
            })
        });
    }
    let note = match told {
        Err(error) => {
            let hint = error.hint().map(|hint| format!("\n  hint:  {hint}")).unwrap_or_default();
            Some(format!("the first master was not reached: {error}{hint}"))
        }
        Ok(state) if state.nodes.is_empty() => {
            Some("the first master sees no nodes: its API does not answer".to_owned())
        }
        Ok(state) if !state.pending.is_empty() => {
            Some(format!("not done on the first master: {}", state.pending.join(", ")))
        }
        Ok(_) => None,
    };
    if let Some(note) = note {
        output.result(&note, || json!({ "event": "note", "what": note }));
    }
}

fn rows(cluster: &Cluster, ours: &[Found], state: Option<&State>) -> Vec<Row> {
    let listed = cluster.masters.iter().chain(&cluster.workers).map(|machine| machine.name.as_str());
    let servers = ours.iter().filter(|found| found.part.kind == Kind::Server).map(|found| found.part.name.as_str());
    let nodes = state.into_iter().flat_map(|state| state.nodes.keys().map(String::as_str));
    let mut names: Vec<&str> = Vec::new();
    for name in listed.chain(servers).chain(nodes) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let text = |kind: Kind, name: &str, key: &str| {
        let found = ours.iter().find(|found| found.part.kind == kind && found.part.name == name)?;
        Some(found.text(key).to_owned())
    };
    let bastion = |name: &str| userdata::is_bastion(cluster, name).then(|| "bastion".to_owned());
    let row = |name: &str| Row {
        machine: name.to_owned(),
        role: userdata::role(cluster, name).map(|role| role.to_string()).or_else(|| bastion(name)),
        server: text(Kind::Server, name, "status"),
        node: state.and_then(|state| state.nodes.get(name).cloned()),
        etcd: state.and_then(|state| state.members.get(name).cloned()),
        member: text(Kind::Member, name, "operating_status"),
    };
    names.into_iter().map(row).collect()
}

fn table(rows: &[Row], state: Option<&State>, output: &Output) {
    let nothing = || "-".to_owned();
    let node = |row: &Row| match state {
        None => "not reached".to_owned(),
        Some(state) if state.nodes.is_empty() => "no answer".to_owned(),
        Some(_) => row.node.clone().unwrap_or_else(nothing),
    };
    let mut lines = vec![["machine", "role", "server", "node", "etcd", "balancer"].map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(nothing);
        [row.machine.clone(), text(&row.role), text(&row.server), node(row), text(&row.etcd), text(&row.member)]
    }));
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..6).map(width).collect();
    for (n, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let apart = if n == 0 { "\n" } else { "" };
        output.text(format!("{apart}{}", cells.collect::<Vec<_>>().join("  ")).trim_end());
    }
}

/// What will be deleted.
pub fn doomed(all: &[&Found], output: &Output) {
    for found in all {
        let part = found.part.to_string();
        output.result(
            &format!("delete   {part:<28} {}", found.id),
            || json!({ "event": "item", "part": part, "action": "delete", "id": found.id }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alter, applied, sized};

    #[test]
    fn a_row_for_each_machine() {
        let cluster = sized(2, 1, "");
        let mut cloud = applied(&cluster);
        alter(&mut cloud, "member/m1", |body| body["operating_status"] = json!("ONLINE"));
        cloud.ours.retain(|found| found.part.to_string() != "server/w1");
        let told = concat!(
            r#"{"nodes":[{"name":"m1","status":"Ready"},{"name":"other","status":"NotReady"}],"steps":[]}"#,
            "\n",
            r#"{"name":"m1","voter":true,"leader":true}"#
        );
        let state = State::read(told);
        let told = |state: Option<&State>| -> Vec<String> {
            let rows = rows(&cluster, &cloud.ours, state).into_iter();
            let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            rows.map(|row| {
                let cells = [row.role, row.server, row.node, row.etcd, row.member].map(text);
                format!("{} {}", row.machine, cells.join(" "))
            })
            .collect()
        };
        assert_eq!(
            told(Some(&state)),
            [
                "m1 first-master ACTIVE Ready leader ONLINE",
                "m2 master ACTIVE - - -",
                "w1 worker - - - -",
                "other - - NotReady - -",
            ]
        );
        assert_eq!(told(None)[0], "m1 first-master ACTIVE - - ONLINE");
    }
}
