//! Decides what a master does next to become a member of etcd. A pure function of the current members and of the data on this
//! machine, so a run continues correctly after a kill or a failed call.

use super::data::{Data, Identity};
use crate::api::etcd::{Member, Members};

/// The machine that becomes a member.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) name: String,
    pub(super) peer_url: String,
    pub(super) data: Data,
    /// Its etcd may have started.
    pub(super) placed: bool,
    /// Whose data was moved aside here, if there is no data: until etcd is placed again, or this machine is reset.
    pub(super) aside: Vec<Identity>,
}

/// The next move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Add this machine as a learner, if all voting members are healthy.
    Add,
    /// It is a member that has not started: its etcd must run.
    Start(u64),
    /// Another member was added at the same moment: one of them must be removed and added again.
    Yield(u64),
    /// It has started, but is not a voting member yet.
    Promote(u64),
    /// It is a voting member.
    Votes,
    /// A member that blocks the change must be removed first, if the others have a quorum without it.
    Remove { id: u64, why: &'static str },
    /// The same, if that member does not answer; otherwise another machine has the same name.
    RemoveNamesake(u64),
    /// The data here is that of the member with this ID, which is not in the list: it is moved aside if the cluster removed that
    /// member, and rejected otherwise.
    MoveAside(u64),
    /// Another machine must act first.
    Wait(String),
    /// Only the operator can decide.
    Refuse { what: String, hint: String },
}

/// Decides the next move.
pub(super) fn next(own: &Own, members: &Members) -> Next {
    match own.data {
        Data::Of(identity) if identity.cluster != members.cluster_id => {
            return rejected(format!(
                "the etcd data on this machine belongs to another cluster: its cluster ID is {:x}, that of the other masters \
                 is {:x}",
                identity.cluster, members.cluster_id
            ));
        }
        Data::Unreadable => return rejected("the etcd data on this machine cannot be read: it is damaged".into()),
        Data::None | Data::Of(_) => {}
    }
    let find = |fits: &dyn Fn(&&Member) -> bool| members.members.iter().find(fits);
    let is_elsewhere = |member: &&Member| own.data.is_of(member.id) && !member.peer_urls.contains(&own.peer_url);
    if let Some(elsewhere) = find(&is_elsewhere) {
        return if elsewhere.name == own.name {
            Next::RemoveNamesake(elsewhere.id)
        } else {
            let (id, urls) = (elsewhere.id, elsewhere.peer_urls.join(", "));
            rejected(format!(
                "the etcd data on this machine is a copy of the data of member {} ({id:x}), which runs at {urls}",
                elsewhere.shown()
            ))
        };
    }
    // etcd starts only with the exact list of current members: no other member may be added between its addition and its start.
    let unstarted = |member: &&Member| member.name.is_empty() && !member.peer_urls.contains(&own.peer_url);
    if let Some(member) = find(&|member| member.peer_urls.contains(&own.peer_url)) {
        return match (as_member(own, members, member), find(&unstarted)) {
            (Next::Start(id), Some(_)) if own.data == Data::None && !own.placed => Next::Yield(id),
            (next, _) => next,
        };
    }
    match (find(&|member| member.name == own.name), own.data) {
        (Some(namesake), _) => {
            return match former(own, members, namesake) {
                // Its silence proves nothing: it may only start more slowly.
                Some(former) => replaced(own, former, namesake),
                None => Next::RemoveNamesake(namesake.id),
            };
        }
        (None, Data::Of(identity)) => return Next::MoveAside(identity.member),
        (None, _) => {}
    }
    match find(&unstarted) {
        Some(other) => Next::Wait(format!(
            "the member at {} was added and has not started yet; if its machine is gone for good, run `nodeinit etcd remove {:x}`",
            other.shown(),
            other.id
        )),
        None => Next::Add,
    }
}

/// Whether this machine, although it has data, is not a voting member, as after it was removed or replaced.
pub(super) fn is_former(own: &Own, members: &Members) -> bool {
    own.data != Data::None && next(own, members) != Next::Votes
}

/// Hint for data that this machine can neither use nor safely move aside.
pub(super) const REJECTED: &str = "nothing was changed: this data may be the only copy of a cluster. If you may need it, first copy the directory `etcd.dataDirectory` to a safe place; then run `nodeinit reset`, which deletes the data here, and `nodeinit up`, which joins this machine to the other masters";

fn rejected(what: String) -> Next {
    Next::Refuse { what, hint: REJECTED.into() }
}

/// Refuses to take the place of the machine that has taken the place of this one.
fn replaced(own: &Own, former: u64, successor: &Member) -> Next {
    let (name, urls) = (&own.name, successor.peer_urls.join(", "));
    Next::Refuse {
        what: format!(
            "{name} is now the machine at {urls}: the etcd data on this machine is that of the removed member {former:x}"
        ),
        hint: format!(
            "if this machine was replaced, run `nodeinit reset` here; if it is to be {name} again, run `nodeinit master remove {name}` on another \
             master first"
        ),
    }
}

/// Returns the former member that this machine was, if its data proves that it never was `member`, which has started. The data counts also
/// after a run moved it aside and ended before etcd was placed again: that member may be the machine that has taken its place in the meantime.
pub(super) fn former(own: &Own, members: &Members, member: &Member) -> Option<u64> {
    if member.name.is_empty() {
        return None;
    }
    let aside = own.aside.iter().filter(|identity| identity.cluster == members.cluster_id);
    let ids: Vec<u64> = match own.data {
        Data::Of(identity) => vec![identity.member],
        Data::None | Data::Unreadable => aside.map(|identity| identity.member).collect(),
    };
    ids.last().copied().filter(|_| !ids.contains(&member.id))
}

/// Decides for a member with this machine's address.
fn as_member(own: &Own, members: &Members, member: &Member) -> Next {
    let started = !member.name.is_empty();
    if started && member.name != own.name {
        return Next::Refuse {
            what: format!(
                "etcd has a member {} at {}, but the configuration gives this address to {}",
                member.name, own.peer_url, own.name
            ),
            hint: format!(
                "fix the name or the address in the configuration; if {0} is gone for good: `nodeinit master remove {0}`",
                member.name
            ),
        };
    }
    if let Some(former) = former(own, members, member) {
        return replaced(own, former, member);
    }
    match own.data {
        Data::Of(identity) if identity.member != member.id => Next::MoveAside(identity.member),
        Data::None if started => Next::Remove { id: member.id, why: "its data is lost, as on a new disk" },
        _ if !started => Next::Start(member.id),
        _ if member.learner => Next::Promote(member.id),
        _ => Next::Votes,
    }
}

/// Returns etcd's `--initial-cluster`: all members by name and address. A member that has not started has no name yet, except this one.
pub(super) fn initial_cluster(own: &Own, members: &Members) -> String {
    let entry = |member: &Member| {
        let is_own = member.peer_urls.contains(&own.peer_url);
        let name = match (is_own, member.name.is_empty()) {
            (true, _) => own.name.clone(),
            // As in kubeadm's `addMember`; any name works.
            (false, true) => format!("{:x}", member.id),
            (false, false) => member.name.clone(),
        };
        member.peer_urls.iter().map(move |url| format!("{name}={url}")).collect::<Vec<_>>()
    };
    members.members.iter().flat_map(entry).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: u64 = 0xc1;
    const OWN: u64 = 2;

    fn member(id: u64, name: &str, last: u8, learner: bool) -> Member {
        let urls = |port| vec![format!("https://10.0.0.{last}:{port}")];
        let client_urls = if name.is_empty() { Vec::new() } else { urls(2379) };
        Member { id, name: name.into(), peer_urls: urls(2380), client_urls, learner }
    }

    /// Returns what m2, at 10.0.0.12, does if m1 and these are members.
    fn with(data: Data, others: Vec<Member>) -> Next {
        next_of(false, data, others)
    }

    fn next_of(placed: bool, data: Data, others: Vec<Member>) -> Next {
        next(&Own { data, placed, ..m2() }, &members(others))
    }

    fn m2() -> Own {
        let peer_url = "https://10.0.0.12:2380".into();
        Own { name: "m2".into(), peer_url, data: Data::None, placed: false, aside: Vec::new() }
    }

    fn members(others: Vec<Member>) -> Members {
        let members = [vec![member(1, "m1", 11, false)], others].concat();
        Members { cluster_id: CLUSTER, members }
    }

    fn data(member: u64) -> Data {
        Data::Of(Identity { member, cluster: CLUSTER })
    }

    #[test]
    fn a_new_member_is_added_started_and_promoted() {
        assert_eq!(with(Data::None, vec![]), Next::Add);
        assert_eq!(with(Data::None, vec![member(OWN, "", 12, true)]), Next::Start(OWN));
        assert_eq!(with(data(OWN), vec![member(OWN, "", 12, true)]), Next::Start(OWN));
        assert_eq!(with(data(OWN), vec![member(OWN, "m2", 12, true)]), Next::Promote(OWN));
        assert_eq!(with(data(OWN), vec![member(OWN, "m2", 12, false)]), Next::Votes);
    }

    #[test]
    fn members_start_one_at_a_time() {
        let waits = with(Data::None, vec![member(3, "", 13, true)]);
        assert_eq!(waits, Next::Wait("the member at https://10.0.0.13:2380 was added and has not started yet; if its machine is gone for good, run \
             `nodeinit etcd remove 3`"
                .into()));
        assert_eq!(with(Data::None, vec![member(3, "m3", 13, true)]), Next::Add, "a learner that has started");
        let both = vec![member(OWN, "", 12, true), member(3, "", 13, true)];
        assert_eq!(with(Data::None, both.clone()), Next::Yield(OWN), "added in the same moment");
        assert_eq!(next_of(true, Data::None, both), Next::Start(OWN), "the other yields");
    }

    #[test]
    fn a_new_disk_makes_a_new_member() {
        for learner in [true, false] {
            let next = with(Data::None, vec![member(OWN, "m2", 12, learner)]);
            assert!(matches!(next, Next::Remove { id: OWN, .. }), "{next:?}");
        }
        assert_eq!(
            with(Data::None, vec![member(OWN, "m2", 99, false)]),
            Next::RemoveNamesake(OWN),
            "a new address too"
        );
    }

    #[test]
    fn data_of_a_member_that_is_gone_is_moved_aside_after_a_second_look() {
        for others in [vec![], vec![member(OWN, "", 12, true)]] {
            assert_eq!(with(data(7), others), Next::MoveAside(7));
        }
    }

    #[test]
    fn a_machine_that_was_replaced_does_not_remove_its_successor() {
        for (last, learner) in [(99, true), (99, false), (12, true), (12, false)] {
            let what = refused(with(data(7), vec![member(OWN, "m2", last, learner)]));
            assert_eq!(
                what,
                format!(
                    "m2 is now the machine at https://10.0.0.{last}:2380: the etcd data on this machine is that of the removed member 7"
                )
            );
        }
    }

    #[test]
    fn data_that_an_interrupted_run_moved_aside_still_proves_that_a_machine_was_replaced() {
        let of = |member, cluster| Identity { member, cluster };
        let next_with = |aside: &[Identity], others| next(&Own { aside: aside.to_vec(), ..m2() }, &members(others));
        let started = |last| vec![member(OWN, "m2", last, false)];
        for last in [12, 99] {
            let what = refused(next_with(&[of(7, CLUSTER)], started(last)));
            assert!(what.contains("the removed member 7"), "{what}");
        }
        for aside in [&[of(7, 9)][..], &[of(OWN, CLUSTER), of(7, CLUSTER)]] {
            let next = next_with(aside, started(12));
            assert!(matches!(next, Next::Remove { id: OWN, .. }), "it was this member: {next:?}");
            assert_eq!(next_with(aside, started(99)), Next::RemoveNamesake(OWN));
        }
        assert_eq!(next_with(&[of(7, CLUSTER)], vec![]), Next::Add, "it goes on");
        assert_eq!(next_with(&[of(7, CLUSTER)], vec![member(OWN, "", 12, true)]), Next::Start(OWN));
    }

    #[test]
    fn the_first_master_also_learns_that_it_was_removed_or_replaced() {
        let first = |data| Own { name: "m1".into(), peer_url: "https://10.0.0.11:2380".into(), data, ..m2() };
        let others = |m1: Option<Member>| {
            let members = m1.into_iter().chain([member(OWN, "m2", 12, false)]).collect();
            Members { cluster_id: CLUSTER, members }
        };
        assert!(!is_former(&first(data(1)), &others(Some(member(1, "m1", 11, false)))), "it votes");
        assert!(!is_former(&first(Data::None), &others(None)), "it never was a member");
        for m1 in [None, Some(member(9, "m1", 11, false)), Some(member(9, "m1", 99, true))] {
            assert!(is_former(&first(data(1)), &others(m1.clone())), "{m1:?}");
        }
    }

    #[test]
    fn data_of_a_present_member_is_not_moved_aside() {
        let namesake = vec![member(7, "m2", 99, false), member(OWN, "", 12, true)];
        assert_eq!(with(data(7), namesake), Next::RemoveNamesake(7), "our own member, at a former address");
        for others in [vec![], vec![member(OWN, "m2", 12, false)]] {
            let copied = refused(with(data(1), others));
            assert!(
                copied.contains("a copy of the data of member m1 (1), which runs at https://10.0.0.11:2380"),
                "{copied}"
            );
        }
    }

    fn refused(next: Next) -> String {
        match next {
            Next::Refuse { what, .. } => what,
            next => panic!("{next:?}"),
        }
    }

    #[test]
    fn what_only_the_operator_can_decide_is_refused_by_name() {
        let stranger = refused(with(Data::None, vec![member(OWN, "db7", 12, false)]));
        assert_eq!(
            stranger,
            "etcd has a member db7 at https://10.0.0.12:2380, but the configuration gives this address to m2"
        );
        let other = Data::Of(Identity { member: OWN, cluster: 9 });
        assert!(refused(with(other, vec![])).contains("cluster ID is 9, that of the other masters is c1"));
        assert!(refused(with(Data::Unreadable, vec![])).contains("damaged"));
    }

    #[test]
    fn etcd_starts_with_all_members() {
        let others = vec![member(OWN, "", 12, true), member(0xab, "", 13, false)];
        assert_eq!(
            initial_cluster(&m2(), &members(others)),
            "m1=https://10.0.0.11:2380,m2=https://10.0.0.12:2380,ab=https://10.0.0.13:2380"
        );
    }
}
