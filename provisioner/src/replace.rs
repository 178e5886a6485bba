//! The replacement of one machine: which resources go, and how an interrupted replacement is found again.
//!
//! The machine's port stays. Its description names the server that goes: `replaces=ID` until the replacement has ended, then
//! `replaced=ID`. A server with another ID is the new one, which an interrupted replacement has created. `moves`: the port gets another address.

use crate::{
    error::Error,
    openstack::{Client, Method},
    resources::{
        Found, Kind, Part, Snapshot,
        body::collection,
        diff::ADDRESS,
        facts::{self, Facts},
        part::never_attached,
        plan::Plan,
    },
    secrets,
};
use nodeinit_base::hex;
use serde_json::{Value, json};
use std::rc::Rc;

/// Precedes, in the description of a port, the ID of the server that is being replaced.
const REPLACES: &str = "replaces=";
/// As [`REPLACES`], after the replacement has ended.
const REPLACED: &str = "replaced=";
/// In the description of a port that gets another address, until the replacement has ended.
const MOVES: &str = "moves";

fn word<'p>(port: &'p Found, start: &str) -> Option<&'p str> {
    port.text("description").split(' ').find_map(|word| word.strip_prefix(start))
}

fn find<'f>(ours: &'f [Found], kind: Kind, name: &str) -> Option<&'f Found> {
    let part = Part::new(kind, name);
    ours.iter().find(|found| found.part == part)
}

/// What tells a machine from any other one, also from those that it has replaced: no bootstrap token is valid twice.
#[must_use]
pub fn origin(port: &Found) -> String {
    match word(port, REPLACES).or_else(|| word(port, REPLACED)) {
        Some(former) => format!("{}/{former}", port.id),
        None => port.id.clone(),
    }
}

/// The new server of an interrupted replacement.
#[must_use]
pub fn successor<'f>(ours: &'f [Found], name: &str) -> Option<&'f Found> {
    let former = word(find(ours, Kind::Port, name)?, REPLACES)?;
    // One in ERROR is replaced as well.
    find(ours, Kind::Server, name).filter(|server| server.id != former && server.state() != "ERROR")
}

/// What is deleted for the replacement: the server, and the volume that it may have written on.
#[must_use]
pub fn former(ours: &[Found], name: &str) -> Vec<Found> {
    if successor(ours, name).is_some() {
        return Vec::new();
    }
    let volume = find(ours, Kind::Volume, name).filter(|volume| !never_attached(volume));
    find(ours, Kind::Server, name).into_iter().chain(volume).cloned().collect()
}

/// What would be deleted with a machine's server and volume, or is in their place, without our mark.
#[must_use]
pub fn foreign_uses(ours: &[Found], name: &str) -> Vec<String> {
    let is_ours = |id: &str| ours.iter().any(|found| found.part.kind == Kind::Server && found.id == id);
    let port = find(ours, Kind::Port, name).map(|port| (port, port.text("device_id")));
    let volume = find(ours, Kind::Volume, name);
    let attached = volume.into_iter().flat_map(|volume| {
        let all = volume.body["attachments"].as_array().into_iter().flatten();
        all.filter_map(move |one| Some((volume, one["server_id"].as_str()?)))
    });
    let uses = port.into_iter().chain(attached).filter(|(_, server)| !server.is_empty() && !is_ours(server));
    uses.map(|(found, server)| {
        format!("{} is used by the server {server}, which does not have the cluster's mark", found.part)
    })
    .collect()
}

/// The cloud as it is when the former machine's resources are deleted.
#[must_use]
pub fn without(snapshot: &Snapshot, former: &[Found]) -> Snapshot {
    let mut rest = snapshot.clone();
    for port in rest.ours.iter_mut().filter(|found| found.part.kind == Kind::Port) {
        if former.iter().any(|gone| gone.id == port.text("device_id")) {
            let mut body = (*port.body).clone();
            body["device_id"] = json!("");
            port.body = Rc::new(body);
        }
    }
    rest.ours.retain(|found| !former.iter().any(|gone| gone.id == found.id));
    for gone in former {
        for (word, amount) in uses(gone, &snapshot.facts) {
            if let Some(quota) = rest.facts.quotas.get_mut(word) {
                quota.used -= amount;
            }
        }
        for group in rest.ours.iter_mut().filter(|found| found.part.kind == Kind::ServerGroup) {
            let mut body = (*group.body).clone();
            if let Some(members) = body["members"].as_array_mut() {
                members.retain(|member| *member != json!(gone.id));
            }
            group.body = Rc::new(body);
        }
    }
    rest
}

/// What a server or a volume uses of the project's quotas.
fn uses(found: &Found, facts: &Facts) -> Vec<(&'static str, i64)> {
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    if found.part.kind == Kind::Volume {
        return vec![("volumes", 1), ("GiB of volumes", number(&found.body["size"]))];
    }
    let flavor = &found.body["flavor"];
    // Nova before 2.47 tells only its ID.
    let id = flavor["id"].as_str().unwrap_or_default();
    let (cores, memory) = match facts::pick(&facts.flavors, |one| &one.named, id, "flavour") {
        Ok(flavor) => (flavor.cores, flavor.memory),
        Err(_) => (number(&flavor["vcpus"]), number(&flavor["ram"])),
    };
    vec![("servers", 1), ("cores", cores), ("MiB of memory", memory)]
}

/// Whether the replacement under way gives the port another address, which the machines of the cluster do not all know yet.
#[must_use]
pub fn moves(port: &Found) -> bool {
    word(port, MOVES).is_some()
}

/// Records, before anything changes, which server is replaced, and whether its port gets another address.
///
/// # Errors
/// As the service says.
pub async fn begin(client: &Client, ours: &[Found], plan: &Plan, name: &str) -> Result<(), Error> {
    if successor(ours, name).is_some() {
        return Ok(());
    }
    let Some(port) = find(ours, Kind::Port, name) else { return Ok(()) };
    let former = match (find(ours, Kind::Server, name), word(port, REPLACES)) {
        (Some(server), _) => server.id.clone(),
        (None, Some(former)) => former.to_owned(),
        (None, None) => hex(&secrets::random_key()?[..8]),
    };
    let mut state = format!("{REPLACES}{former}");
    if moves(port) || plan.changes(&port.part, ADDRESS) {
        state = format!("{state} {MOVES}");
    }
    write(client, port, &state).await
}

/// Records that the replacement has ended.
///
/// # Errors
/// As the service says.
pub async fn end(client: &Client, ours: &[Found], name: &str) -> Result<(), Error> {
    let port = find(ours, Kind::Port, name);
    match port.and_then(|port| Some((port, word(port, REPLACES)?))) {
        Some((port, former)) => write(client, port, &format!("{REPLACED}{former}")).await,
        None => Ok(()),
    }
}

/// The machines whose replacement has not ended, although `up`, the resources of a complete `apply`, has their servers.
pub fn completed<'f>(ours: &'f [Found], up: &[Found]) -> Vec<&'f str> {
    let open = ours.iter().filter(|found| found.part.kind == Kind::Port && word(found, REPLACES).is_some());
    let is_up = |name: &&str| {
        let now = find(ours, Kind::Server, name).filter(|server| server.state() == "ACTIVE");
        now.zip(find(up, Kind::Server, name)).is_some_and(|(now, up)| now.id == up.id)
    };
    open.map(|port| port.part.name.as_str()).filter(is_up).collect()
}

async fn write(client: &Client, port: &Found, state: &str) -> Result<(), Error> {
    let is_state = |word: &&str| word.starts_with(REPLACES) || word.starts_with(REPLACED) || *word == MOVES;
    let words = port.text("description").split(' ').filter(|word| !is_state(word));
    let description = words.chain([state]).collect::<Vec<_>>().join(" ");
    if description == port.text("description") {
        return Ok(());
    }
    let (service, path, key) = collection(Kind::Port);
    let body = json!({ key: { "description": description } });
    client.send(Method::PUT, service, &format!("{path}/{}", port.id), Some(&body)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::{
            Marker,
            facts::Quota,
            part::{ATTACHED, NEVER, ONCE},
            plan::ObstacleKind,
        },
        testing::{ID, alter, applied, cluster, listener::with_cloud, plan},
    };

    fn names(found: &[Found]) -> Vec<String> {
        found.iter().map(|one| one.part.to_string()).collect()
    }

    /// The cloud of a cluster whose volumes were used, with this state in the description of the port.
    fn snapshot(state: &str) -> Snapshot {
        let mut snapshot = applied(&cluster(""));
        alter(&mut snapshot, "volume/m1", |body| body["metadata"][ATTACHED] = json!(ONCE));
        let port = Part::new(Kind::Port, "m1");
        let description = format!("{} {state}", Marker::new(ID, "demo").description(&port));
        alter(&mut snapshot, "port/m1", |body| body["description"] = json!(description.trim_end()));
        snapshot
    }

    #[test]
    fn only_the_former_server_and_its_volume_go() {
        let both = ["server/m1", "volume/m1"];
        assert_eq!(names(&former(&snapshot("").ours, "m1")), both);
        assert_eq!(names(&former(&snapshot("replaces=server/m1").ours, "m1")), both);
        assert_eq!(names(&former(&snapshot("replaced=another").ours, "m1")), both, "the next replacement");
        let new = snapshot("replaces=another");
        assert_eq!(
            (former(&new.ours, "m1"), successor(&new.ours, "m1").map(|one| one.id.as_str())),
            (vec![], Some("server/m1"))
        );
        let mut broken = snapshot("replaces=another");
        alter(&mut broken, "server/m1", |body| body["status"] = json!("ERROR"));
        assert_eq!(names(&former(&broken.ours, "m1")), both);
    }

    #[test]
    fn after_the_server_only_a_volume_that_was_used_goes() {
        for (attached, goes) in [(ONCE, &["volume/m1"][..]), (NEVER, &[])] {
            let mut rest = snapshot("replaces=another");
            rest.ours.retain(|found| found.part.to_string() != "server/m1");
            alter(&mut rest, "volume/m1", |body| body["metadata"][ATTACHED] = json!(attached));
            assert_eq!(names(&former(&rest.ours, "m1")), goes);
        }
    }

    #[test]
    fn another_address_is_recorded_before_the_former_server_is_deleted() {
        let mut snapshot = snapshot("");
        alter(&mut snapshot, "port/m1", |body| body["fixed_ips"][0]["ip_address"] = json!("10.0.9.9"));
        let (plan, ours) = (plan(&cluster(""), &without(&snapshot, &former(&snapshot.ours, "m1"))), snapshot.ours);
        with_cloud(
            |_| Some((200, json!({ "port": {} }))),
            |client, seen| async move {
                begin(&client, &ours, &plan, "m1").await.unwrap();
                let seen = seen.borrow();
                let written = seen.iter().find(|request| request.method == "PUT").unwrap();
                let description = written.body["port"]["description"].as_str().unwrap();
                assert!(description.ends_with(" replaces=server/m1 moves"), "{description}");
            },
        );
    }

    #[test]
    fn what_others_use_is_told() {
        let mut snapshot = snapshot("");
        alter(&mut snapshot, "port/m1", |body| body["device_id"] = json!("server/m1"));
        alter(&mut snapshot, "volume/m1", |body| body["attachments"] = json!([{ "server_id": "server/m1" }]));
        assert!(foreign_uses(&snapshot.ours, "m1").is_empty());
        alter(&mut snapshot, "port/m1", |body| body["device_id"] = json!("theirs"));
        alter(&mut snapshot, "volume/m1", |body| body["attachments"] = json!([{ "server_id": "theirs" }]));
        let told = foreign_uses(&snapshot.ours, "m1");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("port/m1 is used by the server theirs"), "{told:?}");
    }

    #[test]
    fn what_goes_makes_room_for_what_comes() {
        let mut full = snapshot("");
        for word in ["servers", "cores", "MiB of memory", "volumes", "GiB of volumes"] {
            full.facts.quotas.insert(word, Quota { limit: Some(100), used: 100 });
        }
        alter(&mut full, "server/m1", |body| body["flavor"] = json!({ "vcpus": 2, "ram": 4096 }));
        alter(&mut full, "volume/m1", |body| body["size"] = json!(20));
        alter(&mut full, "server-group/masters", |body| body["members"] = json!(["server/m1", "server/m2"]));
        full.facts.quotas.insert("MiB of memory", Quota { limit: Some(10_000), used: 10_000 });
        let rest = without(&full, &former(&full.ours, "m1"));
        let told = |rest: &Snapshot| -> Vec<String> {
            let quotas = plan(&cluster(""), rest).obstacles.into_iter().filter(|one| one.kind == ObstacleKind::Quota);
            quotas.map(|one| one.what).collect()
        };
        assert_eq!(told(&rest), [""; 0]);
        let group = rest.ours.iter().find(|found| found.part.to_string() == "server-group/masters").unwrap();
        assert_eq!(group.body["members"], json!(["server/m2"]));
        // A smaller machine made less room.
        alter(&mut full, "server/m1", |body| body["flavor"] = json!({ "vcpus": 1, "ram": 4096 }));
        let rest = without(&full, &former(&full.ours, "m1"));
        assert_eq!(told(&rest), ["quota: 2 cores are needed, and 1 of 100 are free"]);
    }

    #[test]
    fn a_complete_apply_ends_the_replacement_of_the_server_that_is_up() {
        let up = snapshot("");
        let told = |state: &str, change: fn(&mut Value)| {
            let mut now = snapshot(state);
            alter(&mut now, "server/m1", change);
            completed(&now.ours, &up.ours).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        for state in ["replaces=another", "replaces=server/m1 moves"] {
            assert_eq!(told(state, |_| ()), ["m1"], "{state}");
        }
        assert_eq!(told("replaced=another", |_| ()), [""; 0]);
        assert_eq!(told("replaces=another", |body| body["status"] = json!("SHUTOFF")), [""; 0]);
        let mut later = snapshot("replaces=server/m1");
        later.ours.iter_mut().filter(|one| one.part.to_string() == "server/m1").for_each(|one| one.id = "new".into());
        assert_eq!(completed(&later.ours, &up.ours), [""; 0], "another run has created it since");
    }

    #[test]
    fn each_machine_has_another_origin() {
        let origin = |state: &str| origin(find(&snapshot(state).ours, Kind::Port, "m1").unwrap());
        assert_eq!(origin(""), "port/m1");
        assert_eq!(origin("replaces=a"), origin("replaced=a"));
        assert!(origin("replaced=a") != origin("") && origin("replaced=a") != origin("replaced=b"));
    }

    #[test]
    fn the_state_is_written_once_and_keeps_the_mark() {
        for (state, ends, written) in [
            ("", false, Some("replaces=server/m1")),
            ("replaced=another", false, Some("replaces=server/m1")),
            ("replaces=server/m1", false, None),
            ("replaces=another", false, None),
            ("replaces=another", true, Some("replaced=another")),
            ("replaced=another", true, None),
            ("replaces=server/m1 moves", false, None),
            ("replaces=server/m1 moves", true, Some("replaced=server/m1")),
        ] {
            let snapshot = snapshot(state);
            let (plan, ours) = (plan(&cluster(""), &snapshot), snapshot.ours);
            with_cloud(
                |_| Some((200, json!({ "port": {} }))),
                |client, seen| async move {
                    match ends {
                        true => end(&client, &ours, "m1").await.unwrap(),
                        false => begin(&client, &ours, &plan, "m1").await.unwrap(),
                    }
                    let seen = seen.borrow();
                    let written_to = seen.iter().find(|request| request.method == "PUT");
                    let text =
                        written_to.map(|request| request.body["port"]["description"].as_str().unwrap().to_owned());
                    let marker = Marker::new(ID, "demo");
                    let part = Part::new(Kind::Port, "m1");
                    assert_eq!(text, written.map(|word| format!("{} {word}", marker.description(&part))), "{state}");
                    assert!(text.is_none_or(|text| marker.part_of(&text) == Some(part)));
                },
            );
        }
        let name = "n".repeat(63);
        let longest = Marker::new(ID, &name).description(&Part::new(Kind::Port, &name)).len()
            + 1
            + REPLACES.len()
            + ID.len()
            + 1
            + MOVES.len();
        assert!(longest < 255, "Neutron refuses a longer description: {longest}");
    }
}
