//! A part of the cluster, and the mark by which it is known again.

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

/// The cluster's mark. What carries it is ours, and nothing else is; it is written by the call that creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    cluster: String,
}

impl Marker {
    /// The mark of the cluster with this id.
    pub fn new(cluster: &str) -> Self {
        Self { cluster: cluster.to_owned() }
    }

    /// As a description (Neutron) or a name (server groups): `nodeinit-cluster=UUID part=port/m1`.
    pub fn description(&self, part: &Part) -> String {
        format!("{CLUSTER}={} part={part}", self.cluster)
    }

    /// Which part of this cluster a description tells, if it is of this cluster.
    pub fn part_of(&self, description: &str) -> Option<Part> {
        let rest = description.strip_prefix(CLUSTER)?.strip_prefix('=')?.strip_prefix(self.cluster.as_str())?;
        parse(rest.strip_prefix(" part=")?)
    }

    /// As metadata (Nova, Cinder).
    pub fn metadata(&self, part: &Part) -> Value {
        json!({ CLUSTER: self.cluster, PART: part.to_string() })
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
        json!([self.tag(), format!("{PART}={part}")])
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
        let marker = Marker::new("1b4e28ba-2fa1-41d2-883f-0016d3cca427");
        let part = Part::new(Kind::Port, "m1");
        assert_eq!(marker.part_of(&marker.description(&part)), Some(part.clone()));
        assert_eq!(marker.part_of(&format!("{} holder=me", marker.description(&part))), Some(part.clone()));
        assert_eq!(marker.part_in(marker.metadata(&part).as_object().unwrap()), Some(part.clone()));
        assert_eq!(marker.part_among(marker.tags(&part).as_array().unwrap()), Some(part.clone()));
        let other = Marker::new("1b4e28ba-2fa1-41d2-883f-0016d3cca4271");
        assert_eq!(marker.part_of(&other.description(&part)), None);
        assert_eq!(marker.part_among(other.tags(&part).as_array().unwrap()), None);
        for text in ["", "m1", "nodeinit-cluster=1b4e28ba-2fa1-41d2-883f-0016d3cca427", "part=port/m1"] {
            assert_eq!(marker.part_of(text), None, "{text}");
        }
    }

    #[test]
    fn every_kind_has_its_word() {
        for (kind, word) in Kind::ALL {
            assert_eq!((Kind::from_word(kind.word()), kind.word()), (Some(kind), word));
        }
    }
}
