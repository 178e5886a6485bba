//! The cluster as the first master tells it.

use nodeinit_config::Secret;
use nodeinit_protocol::{
    status::{NodeStatus, Refusal, StepState, Told},
    token::TokenStatus,
};
use std::collections::{BTreeMap, BTreeSet};

/// What `nodeinit status` and `nodeinit etcd members` say there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Each node, `Ready` or `NotReady`. Empty: the API does not answer.
    pub nodes: BTreeMap<String, String>,
    /// Each member of etcd: `leader`, `voter` or `learner`. Empty: etcd does not answer.
    pub members: BTreeMap<String, String>,
    /// Why a member is unhealthy, by member.
    pub complaints: BTreeMap<String, String>,
    /// The first master's steps that are not done.
    pub pending: Vec<String>,
    /// Why the master that told this refuses to lead before its upgrade has ended.
    pub unfinished_upgrade: Option<Refusal>,
    /// Why it refuses to lead with its configuration.
    pub outdated_configuration: Option<Refusal>,
}

impl State {
    /// From what both commands print as JSON, in any order.
    #[must_use]
    pub fn read(told: &str) -> Self {
        let mut state = Self::default();
        for object in Told::read(told) {
            match object {
                Told::Member(member) => {
                    let word = match (member.leader, member.voter) {
                        (true, _) => "leader",
                        (false, true) => "voter",
                        (false, false) => "learner",
                    };
                    state.complaints.extend(member.complaint.map(|complaint| (member.name.clone(), complaint)));
                    state.members.insert(member.name, word.to_owned());
                }
                Told::Status(status) => {
                    state.unfinished_upgrade = status.unfinished_upgrade;
                    state.outdated_configuration = status.outdated_configuration;
                    let node = |node: NodeStatus| (node.name, node.status.as_str().to_owned());
                    state.nodes.extend(status.nodes.into_iter().map(node));
                    let pending = status.steps.into_iter().filter(|step| step.state != StepState::Done);
                    state.pending.extend(pending.map(|step| step.step));
                }
            }
        }
        state
    }

    /// The nodes that are Ready.
    #[must_use]
    pub fn ready(&self) -> BTreeSet<String> {
        self.nodes.iter().filter(|(_, status)| *status == "Ready").map(|(name, _)| name.clone()).collect()
    }

    /// Why the master that told this cannot lead, and what to do about it, where it knows that. `is_sent`: it gets the operator's
    /// configuration before it leads.
    #[must_use]
    pub fn obstacle_to_leading(&self, is_sent: bool) -> Option<Refusal> {
        let refusal = |what: &str| Some(Refusal { what: what.to_owned(), hint: String::new() });
        match (self.nodes.is_empty(), self.members.is_empty()) {
            (true, _) => refusal("its API server does not answer"),
            (_, true) => refusal("its etcd has no quorum"),
            _ => self.unfinished_upgrade.clone().or(self.outdated_configuration.clone().filter(|_| !is_sent)),
        }
    }

    /// Why etcd would have no quorum while this machine is gone, if so: its member counts until it is removed.
    #[must_use]
    pub fn loss_of_quorum(&self, gone: &str) -> Option<String> {
        let voters: Vec<&String> =
            self.members.iter().filter(|(_, word)| *word != "learner").map(|(name, _)| name).collect();
        let others = || voters.iter().filter(|name| **name != gone);
        let unhealthy: Vec<String> =
            others().filter_map(|name| Some(format!("{name} ({})", self.complaints.get(*name)?))).collect();
        let (healthy, quorum) = (others().count() - unhealthy.len(), voters.len() / 2 + 1);
        if healthy >= quorum {
            return None;
        }
        let of = format!("of the {} voting members, {quorum} must be healthy, and {healthy} would be", voters.len());
        Some(if unhealthy.is_empty() { of } else { format!("{of}; unhealthy: {}", unhealthy.join(", ")) })
    }

    /// Whether it is certain that a machine is no part of the cluster: who does not see `first`, the first master itself,
    /// sees nothing.
    #[must_use]
    pub fn is_without(&self, machine: &str, first: &str) -> bool {
        let lacks = |all: &BTreeMap<String, String>| all.contains_key(first) && !all.contains_key(machine);
        lacks(&self.nodes) && lacks(&self.members)
    }
}

/// The IDs of the valid tokens that `nodeinit token list` tells of.
pub(super) fn valid_tokens(told: &str) -> BTreeSet<String> {
    TokenStatus::read(told).filter(|token| !token.ended).map(|token| token.id).collect()
}

/// The workers that can no longer join on their own. `handed` are the IDs of the tokens in their user-data: an earlier version recorded
/// none, and derived others.
pub(super) fn without_token<'a>(
    awaited: &BTreeSet<&'a str>,
    ready: &BTreeSet<String>,
    tokens: &BTreeMap<String, Secret<String>>,
    handed: &BTreeMap<&str, String>,
    valid: &BTreeSet<String>,
) -> BTreeSet<&'a str> {
    let has_token = |worker: &str| {
        let id = tokens.get(worker).and_then(|token| token.expose().split('.').next());
        id.is_some_and(|id| valid.contains(id) && handed.get(worker).is_some_and(|handed| handed == id))
    };
    awaited.iter().copied().filter(|worker| !ready.contains(*worker) && !has_token(worker)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = r#"{"machine":"m1","done":false,"steps":[{"step":"etcd","state":"done"},{"step":"coredns","state":"needed"}],"nodes":[{"name":"m1","status":"Ready"},{"name":"w1","status":"NotReady"}]}
{"name":"m1","voter":true,"leader":true}
{"name":"m2","voter":false,"leader":false}
"#;

    #[test]
    fn nodes_members_and_steps_are_read() {
        let state = State::read(TOLD);
        assert_eq!(state.ready(), BTreeSet::from(["m1".to_owned()]));
        assert_eq!(state.nodes["w1"], "NotReady");
        assert_eq!((state.members["m1"].as_str(), state.members["m2"].as_str()), ("leader", "learner"));
        assert_eq!(state.pending, ["coredns"]);
    }

    #[test]
    fn a_master_leads_neither_during_its_upgrade_nor_with_an_older_configuration() {
        let told = |status: &str| {
            let other = r#"{"name":"m1","voter":true}"#;
            let state = State::read(&format!("{status}\n{other}\n"));
            [false, true].map(|is_sent| state.obstacle_to_leading(is_sent).map(|refusal| (refusal.what, refusal.hint)))
        };
        let nodes = r#""nodes":[{"name":"m1","status":"Ready"}]"#;
        assert_eq!(told(&format!("{{{nodes},\"unfinishedUpgrade\":null}}")), [None, None]);
        assert_eq!(told(&format!("{{{nodes}}}")), [None, None], "an earlier version of nodeinit");
        let (what, hint) = ("the upgrade has not ended", "`nodeinit upgrade apply v1.37.1`");
        let refusing = |key: &str| told(&format!(r#"{{{nodes},"{key}":{{"what":"{what}","hint":"{hint}"}}}}"#));
        let refusal = Some((what.to_owned(), hint.to_owned()));
        assert_eq!(refusing("unfinishedUpgrade"), [refusal.clone(), refusal.clone()]);
        assert_eq!(refusing("outdatedConfiguration"), [refusal, None]);
        assert!(told("{}")[0].as_ref().is_some_and(|(what, _)| what == "its API server does not answer"));
    }

    #[test]
    fn a_member_counts_until_it_is_removed() {
        let state = |members: &[(&str, bool, bool)]| {
            let object = |(name, voter, healthy): &(&str, bool, bool)| {
                let complaint = if *healthy { "null" } else { r#""connection refused""# };
                format!(r#"{{"name":"{name}","voter":{voter},"healthy":{healthy},"complaint":{complaint}}}"#)
            };
            State::read(&members.iter().map(object).collect::<Vec<_>>().join("\n"))
        };
        let three = |m1, m2| state(&[("m1", true, m1), ("m2", true, m2), ("m3", true, true)]).loss_of_quorum("m1");
        assert_eq!((three(true, true), three(false, true)), (None, None));
        let loss = "of the 3 voting members, 2 must be healthy, and 1 would be; unhealthy: m2 (connection refused)";
        assert_eq!(three(true, false).as_deref(), Some(loss));
        // Two masters need each other; the member of one that is gone or has only just been added is no voter.
        let two = |voter| state(&[("m1", voter, true), ("m2", true, true)]).loss_of_quorum("m1");
        assert!(two(true).is_some_and(|loss| loss.starts_with("of the 2 voting members, 2 must be healthy")));
        assert_eq!(two(false), None);
    }

    #[test]
    fn a_worker_whose_token_is_valid_no_more_gets_another() {
        let told = "{\"id\":\"aaaaaa\",\"ended\":false}\n{\"id\":\"bbbbbb\",\"ended\":true}\nno JSON\n";
        let valid = valid_tokens(told);
        assert_eq!(valid, BTreeSet::from(["aaaaaa".to_owned()]));
        let token = |worker: &str, id: &str| (worker.to_owned(), Secret::new(format!("{id}.0123456789abcdef")));
        let tokens = BTreeMap::from([token("w1", "aaaaaa"), token("w2", "bbbbbb"), token("w3", "cccccc")]);
        let ready = BTreeSet::from(["w3".to_owned()]);
        let awaited = BTreeSet::from(["w1", "w2", "w3", "w4"]);
        let handed = |w1: &str| BTreeMap::from([("w1", w1.to_owned()), ("w2", "bbbbbb".to_owned())]);
        let late = |w1| without_token(&awaited, &ready, &tokens, &handed(w1), &valid);
        assert_eq!(late("aaaaaa"), BTreeSet::from(["w2", "w4"]));
        assert_eq!(late("dddddd"), BTreeSet::from(["w1", "w2", "w4"]), "its user-data has another token");
    }

    #[test]
    fn a_machine_is_gone_only_where_the_rest_is_seen() {
        let state = State::read(TOLD);
        assert!(state.is_without("w2", "m1"));
        // A node, a member that is no node yet; and nothing is seen at all.
        assert!(!state.is_without("w1", "m1") && !state.is_without("m2", "m1"));
        assert!(!State::read("").is_without("w2", "m1"));
        assert!(!State::read(r#"{"event":"failed","step":"etcd"}"#).is_without("w2", "m1"));
    }
}
