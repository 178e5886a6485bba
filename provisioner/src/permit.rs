//! Whether the cluster's etcd may be bootstrapped: nothing written, then new, then permitted to one server, then to one disk of it,
//! then bootstrapped.
//!
//! The state is in the description of the masters' security group. There is one in every cluster, whatever network it uses;
//! `destroy` deletes it after all servers; and its description can be changed in every Neutron. The state never goes back.

use crate::{
    error::Error,
    openstack::{Client, Method},
    resources::{Found, Kind, Part, body::collection, part::never_attached, rules::MASTERS},
};
use nodeinit_protocol::Permit;
use serde_json::json;
use std::rc::Rc;

/// What precedes the state in the description.
const WORD: &str = "etcd=";

/// Follows [`WORD`] in a cluster that is new.
const NEW: &str = "new";

/// Who may bootstrap etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Nothing is written: an earlier version's cluster, or one that is being made.
    None,
    /// No machine has received the cluster's keys yet. Written before the first server is created, so that an interrupted run does
    /// not lose the permit.
    New,
    /// The server with this ID. The machine ID is written before the permit is given: a server that is rebuilt keeps its ID and
    /// gets another machine ID.
    Permitted {
        /// The server's ID.
        server: String,
        /// The machine ID of the disk that got the permit; `None` before.
        machine: Option<String>,
    },
    /// Nobody: etcd was healthy once.
    Bootstrapped,
}

impl Permission {
    /// As the masters' security group says.
    pub fn of(group: &Found) -> Self {
        match group.text("description").split(' ').find_map(|word| word.strip_prefix(WORD)) {
            None => Self::None,
            Some(NEW) => Self::New,
            Some(state) => match state.strip_prefix("permitted:") {
                Some(server) => match server.split_once(':') {
                    Some((server, machine)) => Self::Permitted { server: server.into(), machine: Some(machine.into()) },
                    None => Self::Permitted { server: server.into(), machine: None },
                },
                // A word that is not known permits nothing.
                None => Self::Bootstrapped,
            },
        }
    }

    fn word(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::New => format!("{WORD}{NEW}"),
            Self::Permitted { server, machine: None } => format!("{WORD}permitted:{server}"),
            Self::Permitted { server, machine: Some(machine) } => format!("{WORD}permitted:{server}:{machine}"),
            Self::Bootstrapped => format!("{WORD}bootstrapped"),
        }
    }

    /// Whether this server gets the permit: once. After that, its etcd may have been bootstrapped, and a machine without etcd's data
    /// must ask the other masters.
    pub fn is_for(&self, own: &str) -> bool {
        matches!(self, Self::Permitted { server, machine: None } if server == own)
    }

    /// Whether this state may be written after `now`: never an earlier one, nor a permit for another server.
    fn follows(&self, now: &Self) -> bool {
        let rank = |state: &Self| match state {
            Self::None => 0,
            Self::New => 1,
            Self::Permitted { machine: None, .. } => 2,
            Self::Permitted { machine: Some(_), .. } => 3,
            Self::Bootstrapped => 4,
        };
        let server = |state: &Self| match state {
            Self::Permitted { server, .. } => Some(server.clone()),
            _ => None,
        };
        let is_same = server(self).zip(server(now)).is_none_or(|(own, permitted)| own == permitted);
        rank(self) > rank(now) && is_same
    }
}

/// Where the state is kept.
pub fn part() -> Part {
    Part::new(Kind::SecurityGroup, MASTERS)
}

/// Whether no machine of the cluster can have run an etcd before: there is no server, and no volume that a server has used.
pub fn is_new(ours: &[Found]) -> bool {
    !ours.iter().any(|found| match found.part.kind {
        Kind::Server => true,
        Kind::Volume => !never_attached(found),
        _ => false,
    })
}

/// The group as it is now: another run may have changed its state.
///
/// # Errors
/// As the service says.
pub async fn current(client: &Client, group: &Found) -> Result<Found, Error> {
    let (service, path, key) = collection(Kind::SecurityGroup);
    let mut answer = client.get(service, &format!("{path}/{}", group.id)).await?;
    let found = Found::new(group.part.clone(), answer[key].take());
    found.ok_or_else(|| Error::Defect(format!("{}: the cloud's answer contains no ID", group.part)))
}

/// Writes the state unless it is there already, and returns the group with it.
///
/// # Errors
/// As the service says; if another run has written a later state.
pub async fn write(client: &Client, group: &Found, permission: &Permission) -> Result<Found, Error> {
    let group = &current(client, group).await?;
    let now = Permission::of(group);
    if now == *permission {
        return Ok(group.clone());
    }
    if !permission.follows(&now) {
        return Err(Error::Refused {
            what: format!(
                "the description of the masters' security group is `{}`, which must not change to `{}`",
                now.word(),
                permission.word()
            ),
            remedy: "another `provisioner apply` changed it: wait until that ends, then run `provisioner apply` again"
                .to_owned(),
        });
    }
    let words = group.text("description").split(' ').filter(|word| !word.starts_with(WORD));
    let description = words.chain([permission.word().as_str()]).collect::<Vec<_>>().join(" ");
    let (service, path, key) = collection(Kind::SecurityGroup);
    let body = json!({ key: { "description": description } });
    client.send(Method::PUT, service, &format!("{path}/{}", group.id), Some(&body)).await?;
    let mut written = (*group.body).clone();
    written["description"] = json!(description);
    Ok(Found { body: Rc::new(written), ..group.clone() })
}

/// The group in which it is written that the cluster is new, if it is.
pub fn announced(ours: &[Found]) -> Option<&Found> {
    ours.iter().find(|found| found.part == part() && Permission::of(found) == Permission::New)
}

/// Ends the permit of a cluster whose machines may come up by another way than `apply`: then nobody here knows what became of their
/// etcd.
///
/// # Errors
/// As the service says.
pub async fn leave_to_operator(client: &Client, ours: &[Found]) -> Result<(), Error> {
    let Some(group) = ours.iter().find(|found| found.part == part()) else { return Ok(()) };
    let group = current(client, group).await?;
    match Permission::of(&group) {
        Permission::None | Permission::Bootstrapped => Ok(()),
        Permission::New | Permission::Permitted { .. } => {
            write(client, &group, &Permission::Bootstrapped).await.map(drop)
        }
    }
}

/// The line that `nodeinit up --permit-stdin` reads on the server with this ID.
pub fn line(cluster: &str, server: &str, machine_id: &str) -> String {
    Permit::new_etcd_cluster(cluster, server, machine_id).line()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::{Marker, part},
        testing::{ID, listener::with_cloud},
    };
    use serde_json::Value;
    use std::cell::RefCell;

    const SERVER: &str = "6f70656e-7374-6163-6b00-000000000001";
    const MACHINE: &str = "0123456789abcdef0123456789abcdef";

    fn group(more: &str) -> Found {
        let description = format!("{}{more}", Marker::new(ID, "demo").description(&super::part()));
        Found::new(super::part(), json!({ "id": "g", "description": description })).unwrap()
    }

    #[test]
    fn the_state_is_read_as_it_was_written() {
        assert_eq!(Permission::of(&group("")), Permission::None);
        let stored: RefCell<Value> = RefCell::new((*group("").body).clone());
        assert_eq!(Permission::of(&group(" etcd=something-new")), Permission::Bootstrapped);
        with_cloud(
            |request| {
                if request.method == "PUT" {
                    stored.borrow_mut()["description"] = request.body["security_group"]["description"].clone();
                }
                Some((200, json!({ "security_group": *stored.borrow() })))
            },
            |client, seen| async move {
                let mut group = group("");
                let permitted = |machine: Option<&str>| Permission::Permitted {
                    server: SERVER.into(),
                    machine: machine.map(str::to_owned),
                };
                for permission in [Permission::New, permitted(None), permitted(Some(MACHINE)), Permission::Bootstrapped]
                {
                    group = write(&client, &group, &permission).await.unwrap();
                    assert_eq!(Permission::of(&group), permission);
                    let sent = seen.borrow().last().cloned().unwrap();
                    assert_eq!(sent.body["security_group"]["description"], group.body["description"]);
                }
                let marker = Marker::new(ID, "demo");
                assert_eq!(marker.part_of(group.text("description")), Some(super::part()));
                assert!(marker.check(&[group.clone()]).is_ok() && group.text("description").len() < 200);
                let longest =
                    Marker::new(ID, &"n".repeat(63)).description(&super::part()) + &permitted(Some(MACHINE)).word();
                assert!(longest.len() < 255, "Neutron refuses a longer description: {}", longest.len());
            },
        );
    }

    #[test]
    fn a_cluster_that_comes_up_by_another_way_keeps_no_permit() {
        let one = format!(" etcd=permitted:{SERVER}");
        let given = format!("{one}:{MACHINE}");
        for (state, writes) in [("", 0), (" etcd=new", 1), (&one, 1), (&given, 1), (" etcd=bootstrapped", 0)] {
            let group = group(state);
            with_cloud(
                |_| Some((200, json!({ "security_group": *group.body }))),
                |client, seen| {
                    let ours = [group.clone()];
                    async move {
                        leave_to_operator(&client, &ours).await.unwrap();
                        let seen = seen.borrow();
                        let written: Vec<_> = seen.iter().filter(|request| request.method == "PUT").collect();
                        assert_eq!(written.len(), writes, "{state}");
                        for request in written {
                            let description = request.body["security_group"]["description"].as_str().unwrap();
                            assert!(description.ends_with(" etcd=bootstrapped"), "{description}");
                        }
                    }
                },
            );
        }
    }

    #[test]
    fn the_state_never_goes_back() {
        let permitted = |server: &str, machine: Option<&str>| Permission::Permitted {
            server: server.into(),
            machine: machine.map(str::to_owned),
        };
        let once = permitted(SERVER, None);
        let states = [
            Permission::None,
            Permission::New,
            once.clone(),
            permitted(SERVER, Some(MACHINE)),
            Permission::Bootstrapped,
        ];
        for (number, state) in states.iter().enumerate() {
            assert!(states[..number].iter().all(|former| state.follows(former) && !former.follows(state)), "{state:?}");
            assert!(!state.follows(state));
        }
        assert!(!permitted("another", Some(MACHINE)).follows(&once));
        assert!(once.is_for(SERVER) && !once.is_for("another"));
        assert!(!permitted(SERVER, Some(MACHINE)).is_for(SERVER), "it was given before");

        let now = group(" etcd=bootstrapped");
        with_cloud(
            |request| {
                assert_eq!(request.method, "GET");
                Some((200, json!({ "security_group": *now.body })))
            },
            |client, _| async move {
                // What this run knows is older than what another one has written.
                let error = write(&client, &group(""), &once).await.unwrap_err();
                assert!(error.to_string().contains("group is `etcd=bootstrapped`"), "{error}");
                assert!(write(&client, &group(""), &Permission::Bootstrapped).await.is_ok());
            },
        );
    }

    #[test]
    fn a_cluster_is_new_while_no_server_can_have_written() {
        let volume = |attached: serde_json::Value| {
            let body = json!({ "id": "v", "metadata": { part::ATTACHED: attached } });
            Found::new(Part::new(Kind::Volume, "m1"), body).unwrap()
        };
        let server = Found::new(Part::new(Kind::Server, "w1"), json!({ "id": "s" })).unwrap();
        assert!(is_new(&[]) && is_new(&[group(""), volume(json!(part::NEVER))]));
        // The last is an earlier version's.
        for old in [server, volume(json!(part::ONCE)), volume(json!(null))] {
            assert!(!is_new(&[group(""), old]));
        }
    }
}
