//! The JSON output of `status` and `etcd members`, as far as the other program reads it.

use serde::{Deserialize, Serialize};

/// A machine and its cluster, as `status` prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The machine.
    pub machine: String,
    /// Its role.
    pub role: String,
    /// The cluster's name.
    pub cluster: String,
    /// Whether all steps are done.
    pub done: bool,
    /// The steps of its role.
    pub steps: Vec<StepStatus>,
    /// The nodes that it may read; none if the API does not answer.
    pub nodes: Vec<NodeStatus>,
    /// Why this master cannot lead other machines before its upgrade or rollback has ended.
    #[serde(rename = "unfinishedUpgrade")]
    pub unfinished_upgrade: Option<Refusal>,
    /// Why this master cannot lead other machines with its configuration.
    #[serde(rename = "outdatedConfiguration")]
    pub outdated_configuration: Option<Refusal>,
}

/// Why a master refuses to lead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refusal {
    /// The reason.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    /// Its name.
    pub step: String,
    /// Its state.
    #[serde(flatten)]
    pub state: StepState,
}

/// The state of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum StepState {
    /// Nothing to do.
    Done,
    /// Changes are needed.
    Needed {
        /// A description of each change.
        #[serde(default)]
        changes: Vec<String>,
    },
    /// Its check failed.
    Failed {
        /// The failure.
        #[serde(default)]
        error: String,
        /// Why, outermost first.
        #[serde(default)]
        causes: Vec<String>,
    },
    /// A state of a newer version.
    #[serde(other)]
    Unknown,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Whether it is Ready.
    pub status: Readiness,
    /// Its kubelet's version.
    #[serde(default)]
    pub version: Option<String>,
}

/// Whether a node is Ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readiness {
    /// The node is Ready.
    Ready,
    /// It is not.
    #[serde(other)]
    NotReady,
}

impl Readiness {
    /// Returns it as it is printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::NotReady => "NotReady",
        }
    }
}

/// One member of etcd, as `etcd members` prints it: only what a quorum confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// Whether it is a voting member.
    pub voter: bool,
    /// Whether it is the leader.
    #[serde(default)]
    pub leader: bool,
    /// Why it is unhealthy; `None` if it is healthy.
    #[serde(default)]
    pub complaint: Option<String>,
}

/// One object of either command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Told {
    /// Of `etcd members`.
    Member(MemberStatus),
    /// Of `status`.
    Status(Status),
}

impl Told {
    /// Reads the objects of the output of both commands, in any order; other lines are skipped.
    pub fn read(output: &str) -> impl Iterator<Item = Self> {
        output.lines().filter_map(|line| serde_json::from_str(line).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_survives_a_round_trip() {
        let step = |step: &str, state| StepStatus { step: step.into(), state };
        let status = Status {
            machine: "m1".into(),
            role: "first-master".into(),
            cluster: "lab".into(),
            done: false,
            steps: vec![
                step("pki", StepState::Done),
                step("etcd", StepState::Needed { changes: vec!["place a manifest".into()] }),
                step("node", StepState::Failed { error: "cannot ask".into(), causes: vec!["refused".into()] }),
            ],
            nodes: vec![NodeStatus { name: "m1".into(), status: Readiness::Ready, version: Some("v1.37.1".into()) }],
            unfinished_upgrade: Some(Refusal { what: "an upgrade".into(), hint: "finish it".into() }),
            outdated_configuration: None,
        };
        let member = MemberStatus { name: "m1".into(), voter: true, leader: false, complaint: None };
        let all = [Told::Status(status), Told::Member(member)];
        let text: String = all.iter().map(|told| serde_json::to_string(told).unwrap() + "\n").collect();
        assert!(text.contains(r#"{"step":"pki","state":"done"}"#), "{text}");
        assert_eq!(Told::read(&text).collect::<Vec<_>>(), all);
    }

    #[test]
    fn the_output_of_another_version_is_read() {
        let text = r#"Welcome!
{"machine":"m1","steps":[{"step":"a","state":"paused","since":3}],"nodes":[{"name":"w1","status":"Unknown"}],"load":null}"#;
        let told: Vec<Told> = Told::read(text).collect();
        let [Told::Status(status)] = &told[..] else { panic!("{told:?}") };
        assert_eq!(status.steps[0].state, StepState::Unknown);
        assert_eq!(status.nodes[0].status, Readiness::NotReady);
    }
}
