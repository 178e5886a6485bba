//! Removes a machine from etcd, so that the remaining members keep their quorum.

use super::{
    data::{self, Data, Identity},
    decide::{Own, former},
    health, member,
    view::{Peers, View, shown, url},
};
use crate::{
    api::etcd::{Member, Members, PEER_PORT},
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    steps::pki::certificate_path,
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use std::{net::IpAddr, ops::ControlFlow, time::Duration};

/// A membership change takes at most this long, or something is wrong. etcd refuses changes while a voting member has been
/// connected for less than 5 s.
const LIMIT: Duration = Duration::from_secs(30);

/// The role in etcd of a machine that is about to leave.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Not a member, or the only one: no other member needs to know.
    None,
    /// One of several.
    Member,
    /// It holds data, and no member answers.
    Unknown(String),
}

/// Returns the member of another machine, by its address or else its name.
#[must_use]
pub fn member<'a>(view: &'a View, name: &str, address: Option<IpAddr>) -> Option<&'a Member> {
    let peer_url = address.map(|address| url(address, PEER_PORT));
    let members = &view.members.members;
    let by_url = members.iter().find(|m| peer_url.as_ref().is_some_and(|url| m.peer_urls.contains(url)));
    by_url.or_else(|| members.iter().find(|m| m.name == name))
}

/// Returns this machine's member. The data on its disk decides: a member with its name, or even its address, may be the machine that
/// has taken its place. `answers`: whether a member's etcd answers.
fn member_of<'a>(own: &Own, members: &'a Members, answers: impl Fn(&Member) -> bool) -> Option<&'a Member> {
    members.members.iter().find(|member| {
        let is_here = member.peer_urls.contains(&own.peer_url);
        match own.data {
            Data::None | Data::Unreadable => is_here && former(own, members, member).is_none(),
            Data::Of(identity) => {
                // At another address, a member that answers or has another name is the machine whose disk was copied.
                let is_ours = is_here || member.name == own.name && !answers(member);
                identity == Identity { member: member.id, cluster: members.cluster_id } && is_ours
            }
        }
    })
}

/// Refuses a removal after which the remaining members would have no quorum.
///
/// # Errors
/// If the quorum would be lost; says how to proceed nevertheless.
pub fn keep_quorum(view: &View, member: &Member) -> Result<(), StepError> {
    let Some(loss) = view.loss_of_quorum(member.id) else { return Ok(()) };
    let what = format!("without {} etcd would lose its quorum: {loss}", member.shown());
    Err(StepError::new(what).exit(Exit::TryAgain).hint(
        "start the other masters first, or remove those that are gone for good. `nodeinit master remove --force` asks etcd anyway, and etcd refuses if it also expects to lose its quorum. If etcd does not refuse, the cluster becomes read-only; unless enough members come back, you must restore etcd's data from your own backup",
    ))
}

/// Returns the member with this name, or with this ID in hex.
fn named<'a>(members: &'a [Member], which: &str) -> Option<&'a Member> {
    let by_name = members.iter().find(|member| member.name == which && !which.is_empty());
    by_name.or_else(|| {
        let id = u64::from_str_radix(which, 16).ok()?;
        members.iter().find(|member| member.id == id)
    })
}

/// Removes one member by its name or its ID in hex, and returns its display name. This is for a member whose machine is gone or
/// never started, such as a learner without a name; a healthy member is removed with `force` only.
///
/// # Errors
/// If there is no such member, if it is healthy or this machine's, or if etcd would lose its quorum.
pub async fn remove_member(cx: &Context, which: &str, force: bool) -> Result<String, StepError> {
    let view = health::quorate(cx).await?;
    let Some(member) = named(&view.members.members, which) else {
        let what = format!("etcd has no member with the name or ID {which:?}");
        return Err(StepError::new(what).hint("run `nodeinit etcd members`, which prints names and IDs"));
    };
    let shown = format!("{} ({:x})", member.shown(), member.id);
    if member.peer_urls.contains(&url(cx.node.address, PEER_PORT)) {
        let what = format!("{shown} is the etcd member of this machine");
        return Err(StepError::new(what)
            .exit(Exit::Usage)
            .hint("`nodeinit reset` removes it, or run this on another master"));
    }
    if !force && view.complaint(member).is_none() {
        let hint = format!(
            "`nodeinit master remove {}` takes the machine out of the cluster; --force removes only its etcd member",
            member.shown()
        );
        return Err(StepError::new(format!("etcd member {shown} is healthy")).hint(hint));
    }
    match keep_quorum(&view, member) {
        Err(e) if force => cx.report.note("etcd", format!("{e}; continuing because of --force")),
        kept => kept?,
    }
    remove(cx, &Peers::of_all(cx)?, member.id, &shown).await?;
    Ok(shown)
}

/// Removes a member. It transfers leadership first, so that no election interrupts clients. Does nothing if there is no such
/// member.
///
/// # Errors
/// If it cannot be removed in time.
pub async fn remove(cx: &Context, peers: &Peers, id: u64, shown: &str) -> Result<(), StepError> {
    let wait = Wait::new(format!("the removal of {shown} from etcd"), LIMIT);
    let look = async || match peers.look().await {
        Err(why) => ControlFlow::Continue(format!("no master's etcd answers: {why}")),
        Ok(view) => match view.members.members.iter().find(|member| member.id == id) {
            None => ControlFlow::Break(()),
            Some(member) => ControlFlow::Continue(attempt(cx, peers, &view, member).await),
        },
    };
    let hint = "see `nodeinit etcd members`, then try again";
    wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))
}

/// Returns a healthy voting member other than this one.
fn another<'a>(view: &'a View, member: &Member) -> Option<&'a Member> {
    view.voters().find(|other| other.id != member.id && view.complaint(other).is_none())
}

/// Lets another healthy member lead if `member` does and there is one. Returns whether it did.
///
/// # Errors
/// Why it still leads, in one line.
pub(super) async fn hand_over(cx: &Context, peers: &Peers, view: &View, member: &Member) -> Result<bool, String> {
    if view.leader() != Some(member.id) {
        return Ok(false);
    }
    let Some(other) = another(view, member) else { return Ok(false) };
    let moved = async {
        let leader = peers.connection(member).await?;
        leader.move_leader(other.id).await.map_err(|e| shown(&e))
    };
    moved.await.map_err(|why| format!("cannot transfer leadership to {}: {why}", other.shown()))?;
    cx.report.note("etcd", format!("{} leads now", other.shown()));
    Ok(true)
}

/// Makes one attempt; the next poll shows the result.
async fn attempt(cx: &Context, peers: &Peers, view: &View, member: &Member) -> String {
    match hand_over(cx, peers, view, member).await {
        Ok(true) => return "leadership was transferred".into(),
        Ok(false) => {}
        Err(why) => return why,
    }
    let Some(other) = another(view, member) else { return "no other member is healthy".into() };
    let removed = async { peers.connection(other).await?.remove(member.id).await.map_err(|e| shown(&e)) };
    match removed.await {
        Ok(()) => {
            cx.report.note("etcd", format!("{} is removed from etcd", member.shown()));
            "it is removed".into()
        }
        Err(why) => why,
    }
}

/// Step `leave-etcd` of a reset: removes this machine's member while its etcd still runs.
pub struct Leave {
    /// Whether the others may lose their quorum.
    pub force: bool,
}

async fn place(cx: &Context) -> Result<(Place, Option<(Peers, View)>), StepError> {
    if !cx.files.exists(certificate_path("etcd/ca")) {
        return Ok((Place::None, None));
    }
    let peers = Peers::of_all(cx)?;
    match peers.look().await {
        Ok(view) if view.members.members.len() == 1 => Ok((Place::None, None)),
        Ok(view) => match own_in(cx, &view)? {
            Some(_) => Ok((Place::Member, Some((peers, view)))),
            None => Ok((Place::None, None)),
        },
        Err(_) if cx.cluster.masters.len() < 2 || data::look(cx)? == Data::None => Ok((Place::None, None)),
        Err(why) => Ok((Place::Unknown(why), None)),
    }
}

fn own_in<'a>(cx: &Context, view: &'a View) -> Result<Option<&'a Member>, StepError> {
    Ok(member_of(&member::own(cx)?, &view.members, |member| view.failure(member).is_none()))
}

#[async_trait(?Send)]
impl Step for Leave {
    fn id(&self) -> StepId {
        StepId::LeaveEtcd
    }

    fn title(&self) -> String {
        "leave the masters' etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(match place(cx).await?.0 {
            Place::None => State::Done,
            Place::Member | Place::Unknown(_) => State::needed(format!("remove member {} from etcd", cx.node.name)),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let left = match place(cx).await? {
            (Place::Unknown(why), _) => {
                let what = format!("this machine may be a member of etcd, and no member answers: {why}");
                let hint = "start etcd on a master; or add --force, and remove the member later, on another master, with \
                            `nodeinit master remove`";
                Err(StepError::new(what).exit(Exit::TryAgain).hint(hint))
            }
            (Place::Member, Some((peers, view))) => self.leave(cx, &peers, &view).await,
            _ => Ok(()),
        };
        match left {
            Err(e) if self.force => {
                cx.report.note(&self.name(), format!("{e}; continuing because of --force"));
                Ok(())
            }
            left => left,
        }
    }
}

impl Leave {
    async fn leave(&self, cx: &Context, peers: &Peers, view: &View) -> Result<(), StepError> {
        let Some(own) = own_in(cx, view)? else { return Ok(()) };
        keep_quorum(view, own)?;
        remove(cx, peers, own.id, &cx.node.name).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_leaves_as_the_member_whose_data_it_has() {
        let member = |id, name: &str, last: u8| Member {
            id,
            name: name.into(),
            peer_urls: vec![format!("https://10.0.0.{last}:2380")],
            ..Member::default()
        };
        let leaves_as = |data, aside: &[Identity], answers, m2: Member| {
            let members = Members { cluster_id: 0xc1, members: vec![member(1, "m1", 11), m2] };
            let (peer_url, aside) = ("https://10.0.0.12:2380".into(), aside.to_vec());
            let own = Own { name: "m2".into(), peer_url, data, placed: false, aside };
            member_of(&own, &members, |_| answers).map(|member| member.id)
        };
        let leaves = |data, answers, m2| leaves_as(data, &[], answers, m2);
        let of = |member| Data::Of(Identity { member, cluster: 0xc1 });
        assert_eq!(leaves(of(7), true, member(7, "m2", 12)), Some(7));
        assert_eq!(leaves(of(7), true, member(7, "", 12)), Some(7), "it has not started yet");
        for data in [Data::None, Data::Unreadable] {
            assert_eq!(leaves(data, false, member(7, "m2", 12)), Some(7), "its data is lost");
        }
        for answers in [true, false] {
            for data in [of(7), Data::None, Data::Unreadable] {
                assert_eq!(leaves(data, answers, member(9, "m2", 99)), None, "its successor, at another address");
            }
            assert_eq!(leaves(of(7), answers, member(9, "m2", 12)), None, "its successor, at the same address");
            assert_eq!(leaves(of(1), answers, member(9, "m2", 12)), None, "a copy of m1's disk");
            let other = Data::Of(Identity { member: 7, cluster: 0xc2 });
            assert_eq!(leaves(other, answers, member(7, "m2", 12)), None, "of another cluster");
        }
        let moved = |cluster, m2| leaves_as(Data::None, &[Identity { member: 7, cluster }], true, m2);
        assert_eq!(
            moved(0xc1, member(9, "m2", 12)),
            None,
            "its successor, after an interrupted run moved its data aside"
        );
        assert_eq!(moved(0xc1, member(9, "", 12)), Some(9), "the interrupted run had added it again");
        assert_eq!(moved(0xc1, member(7, "m2", 12)), Some(7), "its data is lost");
        assert_eq!(moved(0xc2, member(9, "m2", 12)), Some(9), "of another cluster");
        assert_eq!(leaves(of(7), false, member(7, "m2", 99)), Some(7), "its former address");
        assert_eq!(leaves(of(7), true, member(7, "m2", 99)), None, "a copy of m2's disk");
    }

    #[test]
    fn members_are_found_by_name_and_by_id() {
        let member = |id, name: &str| Member { id, name: name.into(), ..Member::default() };
        let members = [member(0xab, ""), member(0x1, "ab"), member(0x2, "m2")];
        let id = |which| named(&members, which).map(|member| member.id);
        assert_eq!(id("m2"), Some(2));
        assert_eq!(id("2"), Some(2));
        assert_eq!(id("ab"), Some(1), "a name takes precedence over an ID");
        assert_eq!(id("AB"), Some(0xab));
        assert_eq!([id(""), id("3"), id("m3"), id("-1"), id("1ffffffffffffffff")], [None; 5]);
    }
}
