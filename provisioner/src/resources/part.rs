//! A part of the cluster, and the mark by which it is known again.

use super::Found;
use crate::error::Error;
use serde_json::{Map, Value, json};
use std::fmt;

/// The kinds of things that are made, in the order in which a report lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A security group that says that an `apply` or a `destroy` is running.
    Lock,
    /// A network.
    Network,
    /// Its subnet.
    Subnet,
    /// The router to the external network.
    Router,
    /// The router's port in the subnet.
    RouterPort,
    /// A security group.
    SecurityGroup,
    /// A rule of one.
    Rule,
    /// A server group.
    ServerGroup,
    /// A machine's port.
    Port,
    /// A floating IP.
    FloatingIp,
    /// The load balancer.
    Balancer,
    /// Its listener.
    Listener,
    /// Its pool.
    Pool,
    /// Its health monitor.
    Monitor,
    /// A member of its pool.
    Member,
    /// A machine's disk.
    Volume,
    /// A machine.
    Server,
}

impl Kind {
    const ALL: [(Self, &'static str); 17] = [
        (Self::Lock, "lock"),
        (Self::Network, "network"),
        (Self::Subnet, "subnet"),
        (Self::Router, "router"),
        (Self::RouterPort, "router-port"),
        (Self::SecurityGroup, "security-group"),
        (Self::Rule, "rule"),
        (Self::ServerGroup, "server-group"),
        (Self::Port, "port"),
        (Self::FloatingIp, "floating-ip"),
        (Self::Balancer, "balancer"),
        (Self::Listener, "listener"),
        (Self::Pool, "pool"),
        (Self::Monitor, "monitor"),
        (Self::Member, "member"),
        (Self::Volume, "volume"),
        (Self::Server, "server"),
    ];

    /// As in reports and marks.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }
}

/// One thing of the cluster, such as `port/m1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Which one.
    pub name: String,
}

impl Part {
    /// Such as `port/m1`.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.word(), self.name)
    }
}

const CLUSTER: &str = "nodeinit-cluster";
const PART: &str = "nodeinit-part";
/// The cluster's name, for where two clusters were given one id.
const NAME: &str = "nodeinit-name";
/// As [`NAME`], in a description.
const NAME_WORD: &str = "name=";

/// A volume's metadata: [`NEVER`] from the call that creates it, [`ONCE`] before the first server that attaches it is
/// created. Cinder keeps no history: nothing else tells that a volume holds no data.
pub const ATTACHED: &str = "nodeinit-attached";
/// No server was ever created with the volume.
pub const NEVER: &str = "never";
/// A server may have written on the volume.
pub const ONCE: &str = "once";

/// The cluster's mark. What carries it is ours, and nothing else is; it is written by the call that creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    cluster: String,
    name: String,
}

/// The ID of the bootstrap token that is in a worker's user-data, as metadata of its server. An ID is not secret.
pub const TOKEN: &str = "nodeinit-token";

impl Marker {
    /// The mark of the cluster with this id and this name.
    pub fn new(cluster: &str, name: &str) -> Self {
        Self { cluster: cluster.to_owned(), name: name.to_owned() }
    }

    /// As a description (Neutron) or a name (server groups): `nodeinit-cluster=UUID part=port/m1 name=demo`.
    pub fn description(&self, part: &Part) -> String {
        format!("{CLUSTER}={} part={part} {NAME_WORD}{}", self.cluster, self.name)
    }

    /// Rejects what has this cluster's id and another cluster's name. What an earlier version made has no name, and is ours.
    ///
    /// # Errors
    /// The first such part.
    pub fn check(&self, ours: &[Found]) -> Result<(), Error> {
        let foreign = |found: &&Found| name_in(found).is_some_and(|name| name != self.name);
        let Some(found) = ours.iter().find(foreign) else { return Ok(()) };
        let name = name_in(found).unwrap_or_default();
        Err(Error::Configuration {
            what: format!(
                "{} ({}) has the clusterID {} and belongs to the cluster {name}, not to {}: two configurations share one \
                 clusterID; nothing was changed",
                found.part, found.id, self.cluster, self.name
            ),
            remedy: "generate another clusterID for the cluster that has no machines yet (`uuidgen`, or `provisioner init`); \
                     if the cluster was renamed, restore its name"
                .to_owned(),
        })
    }

    /// Which part of this cluster a description tells, if it is of this cluster.
    pub fn part_of(&self, description: &str) -> Option<Part> {
        let rest = description.strip_prefix(CLUSTER)?.strip_prefix('=')?.strip_prefix(self.cluster.as_str())?;
        parse(rest.strip_prefix(" part=")?)
    }

    /// As metadata (Nova, Cinder).
    pub fn metadata(&self, part: &Part) -> Value {
        json!({ CLUSTER: self.cluster, PART: part.to_string(), NAME: self.name })
    }

    /// Which part of this cluster metadata tells.
    pub fn part_in(&self, metadata: &Map<String, Value>) -> Option<Part> {
        if metadata.get(CLUSTER)?.as_str()? != self.cluster {
            return None;
        }
        parse(metadata.get(PART)?.as_str()?)
    }

    /// As tags (Octavia).
    pub fn tags(&self, part: &Part) -> Value {
        json!([self.tag(), format!("{PART}={part}"), format!("{NAME}={}", self.name)])
    }

    /// The tag that all of the cluster's have.
    pub fn tag(&self) -> String {
        format!("{CLUSTER}={}", self.cluster)
    }

    /// Which part of this cluster tags tell.
    pub fn part_among(&self, tags: &[Value]) -> Option<Part> {
        let ours = self.tag();
        tags.iter().find(|tag| tag.as_str() == Some(&ours))?;
        tags.iter().find_map(|tag| parse(tag.as_str()?.strip_prefix(PART)?.strip_prefix('=')?))
    }
}

/// The cluster's name in a part's mark.
fn name_in(found: &Found) -> Option<&str> {
    let body = &found.body;
    match found.part.kind {
        Kind::Server | Kind::Volume => body["metadata"][NAME].as_str(),
        Kind::Balancer | Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member => {
            let mut tags = body["tags"].as_array()?.iter().filter_map(Value::as_str);
            tags.find_map(|tag| tag.strip_prefix(NAME)?.strip_prefix('='))
        }
        kind => {
            let text = if kind == Kind::ServerGroup { &body["name"] } else { &body["description"] };
            text.as_str()?.split(' ').find_map(|word| word.strip_prefix(NAME_WORD))
        }
    }
}

/// Whether no server was ever created with a volume. One that an earlier version made does not say so.
pub fn never_attached(volume: &Found) -> bool {
    let free = volume.body["attachments"].as_array().is_none_or(Vec::is_empty);
    free && volume.body["metadata"][ATTACHED] == NEVER
}

fn parse(text: &str) -> Option<Part> {
    let (kind, name) = text.split_once('/')?;
    // What follows a blank is for people, or for the lock.
    let name = name.split(' ').next().unwrap_or(name);
    Some(Part::new(Kind::from_word(kind)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_mark_is_known() {
        let marker = Marker::new("c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10", "demo");
        let part = Part::new(Kind::Port, "m1");
        assert_eq!(marker.part_of(&marker.description(&part)), Some(part.clone()));
        assert_eq!(marker.part_of(&format!("{} holder=me", marker.description(&part))), Some(part.clone()));
        assert_eq!(marker.part_in(marker.metadata(&part).as_object().unwrap()), Some(part.clone()));
        assert_eq!(marker.part_among(marker.tags(&part).as_array().unwrap()), Some(part.clone()));
        let other = Marker::new("c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a101", "demo");
        assert_eq!(marker.part_of(&other.description(&part)), None);
        assert_eq!(marker.part_among(other.tags(&part).as_array().unwrap()), None);
        for text in ["", "m1", "nodeinit-cluster=c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10", "part=port/m1"] {
            assert_eq!(marker.part_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_mark_with_another_name_is_rejected_and_one_without_is_ours() {
        let (own, other) = (Marker::new("id", "demo"), Marker::new("id", "other"));
        let found = |kind: Kind, body: Value| Found::new(Part::new(kind, "m1"), body).unwrap();
        let all = |marker: &Marker| {
            let part = Part::new(Kind::Port, "m1");
            [
                found(Kind::Port, json!({ "id": "a", "description": marker.description(&part) })),
                found(
                    Kind::Rule,
                    json!({ "id": "b", "description": format!("{} why it is", marker.description(&part)) }),
                ),
                found(Kind::ServerGroup, json!({ "id": "c", "name": marker.description(&part) })),
                found(Kind::Volume, json!({ "id": "d", "metadata": marker.metadata(&part) })),
                found(Kind::Pool, json!({ "id": "e", "tags": marker.tags(&part) })),
            ]
        };
        assert!(own.check(&all(&own)).is_ok());
        for one in all(&other) {
            let said = own.check(&[one]).unwrap_err().to_string();
            assert!(said.contains("belongs to the cluster other, not to demo"), "{said}");
        }
        let earlier = [
            found(Kind::Port, json!({ "id": "a", "description": "nodeinit-cluster=id part=port/m1" })),
            found(Kind::Server, json!({ "id": "b", "metadata": { CLUSTER: "id", PART: "server/m1" } })),
            found(Kind::Member, json!({ "id": "c" })),
        ];
        assert!(own.check(&earlier).is_ok());
    }

    #[test]
    fn every_kind_has_its_word() {
        for (kind, word) in Kind::ALL {
            assert_eq!((Kind::from_word(kind.word()), kind.word()), (Some(kind), word));
        }
    }
}
