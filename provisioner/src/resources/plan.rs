//! A plan: what happens to each part, and what stands against it.

use super::{Found, Part, desired::Want};
use ipnet::IpNet;
use std::{fmt, net::IpAddr};

/// What happens to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is as it should be.
    Keep,
    /// It is not there.
    Create,
    /// It is there, and differs.
    Change(Vec<Fix>),
    /// It exists and is broken: it is deleted and created again.
    Replace(String),
    /// It is ours, and should not be there.
    Delete(String),
    /// It is ours and in no configuration any more; it is left alone.
    Left,
    /// A server that is there and must be repaired by the operator. The other parts do not depend on it.
    Unhealthy {
        /// Its state, and the cloud's reason.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// It has drifted, and the provisioner cannot repair it.
    Refuse {
        /// What is wrong.
        what: String,
        /// What the operator can do.
        remedy: String,
    },
    /// Several things have the part's mark, and those that are too many are in use.
    Duplicate {
        /// How many, with their IDs.
        what: String,
        /// What the operator can do.
        remedy: String,
    },
}

impl Action {
    /// Whether there is something to do.
    pub fn is_work(&self) -> bool {
        matches!(self, Self::Create | Self::Change(_) | Self::Replace(_) | Self::Delete(_))
    }

    /// Whether `apply` does nothing while it is so.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refuse { .. } | Self::Duplicate { .. })
    }

    /// An update of one setting.
    pub fn update(field: &'static str, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self::Change(vec![Fix::update(field, before, after)])
    }
}

/// How a part is repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Its settings are written again; with the one that differs.
    Update {
        /// Which setting.
        field: &'static str,
        /// What it is.
        before: String,
        /// What it will be.
        after: String,
    },
    /// An action of Nova, such as `os-start`; with the status that made it necessary.
    Act(&'static str, String),
    /// The router's port is put into the router.
    Attach,
    /// It is being made or changed already.
    Wait {
        /// Its status.
        before: String,
        /// What is waited for.
        after: &'static str,
    },
}

impl Fix {
    /// An update of one setting.
    pub fn update(field: &'static str, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self::Update { field, before: before.into(), after: after.into() }
    }

    /// What it changes: which setting, and its values before and after.
    pub fn change(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Update { field, before, after } => (field, before, after),
            Self::Act(_, status) => ("status", status, "ACTIVE"),
            Self::Attach => ("router", "none", "router/api"),
            Self::Wait { before, after } => ("status", before, after),
        }
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, before, after) = self.change();
        write!(f, "{field}: {before} → {after}")?;
        match self {
            Self::Act(action, _) => write!(f, " ({})", action.trim_start_matches("os-")),
            Self::Wait { .. } => f.write_str(" (wait)"),
            Self::Update { .. } | Self::Attach => Ok(()),
        }
    }
}

/// One line of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Which part.
    pub part: Part,
    /// What happens to it.
    pub action: Action,
    /// What should be; `None` for what should not be there.
    pub want: Option<Want>,
    /// What is there.
    pub found: Option<Found>,
}

/// Something that would make `apply` fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Of which kind.
    pub kind: ObstacleKind,
    /// What is missing or too small.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Obstacle {
    /// An obstacle of this kind.
    pub fn new(kind: ObstacleKind, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind, what: what.into(), remedy: remedy.into() }
    }
}

/// What kind of obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObstacleKind {
    /// The cloud or the configuration lacks something.
    Missing,
    /// A quota is too small.
    Quota,
    /// A name leads to several things.
    Duplicate,
    /// A machine cannot be reached, or something cannot be read.
    Unreachable,
    /// A setting does not fit the cloud, or another setting.
    Conflict,
}

impl ObstacleKind {
    /// As reports begin a line with it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "MISSING",
            Self::Quota => "QUOTA",
            Self::Duplicate => "DUPLICATE",
            Self::Unreachable => "UNREACHABLE",
            Self::Conflict => "CONFLICT",
        }
    }
}

/// Where the machines are: ids of the network and the subnet, where they are there already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The network's id.
    pub network: Option<String>,
    /// The subnet's id.
    pub subnet: Option<String>,
    /// Its addresses.
    pub cidr: Option<IpNet>,
    /// The external network's id, where one is needed.
    pub external: Option<String>,
    /// The address of a balancer that is there: one that replaces it keeps it.
    pub balancer: Option<IpAddr>,
    /// Whether the network is another project's, which reserves some things for itself.
    pub foreign: bool,
    /// Whether the network has no port security, so that ports have no security groups.
    pub open: bool,
}

/// Everything that `apply` would do, and what stands against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of a report.
    pub items: Vec<Item>,
    /// All at once.
    pub obstacles: Vec<Obstacle>,
    /// Where the machines are.
    pub place: Place,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.items.iter().all(|item| matches!(item.action, Action::Keep | Action::Left | Action::Unhealthy { .. }))
    }

    /// Whether a setting of a part changes.
    pub fn changes(&self, part: &Part, field: &str) -> bool {
        self.items.iter().filter(|item| item.part == *part).any(|item| match &item.action {
            Action::Change(fixes) => fixes.iter().any(|fix| fix.change().0 == field),
            _ => false,
        })
    }

    /// Whether a server must be repaired by the operator.
    pub fn is_unhealthy(&self) -> bool {
        self.items.iter().any(|item| matches!(item.action, Action::Unhealthy { .. }))
    }

    /// Whether `apply` would refuse.
    pub fn is_blocked(&self) -> bool {
        !self.obstacles.is_empty() || self.items.iter().any(|item| item.action.is_conflict())
    }

    /// What this plan does and `shown` does not.
    pub fn beyond<'p>(&'p self, shown: &Self) -> Vec<&'p Part> {
        let is_shown = |item: &Item| {
            let same = |other: &&Item| {
                other.part == item.part && std::mem::discriminant(&other.action) == std::mem::discriminant(&item.action)
            };
            shown.items.iter().any(|other| same(&other))
        };
        let work = self.items.iter().filter(|item| item.action.is_work());
        work.filter(|item| !is_shown(item)).map(|item| &item.part).collect()
    }
}
