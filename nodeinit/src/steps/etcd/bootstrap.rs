//! Decides whether the first master starts a new etcd cluster. It needs proof that there was none: a second cluster would lose
//! everything that the first one holds.

use super::{
    data::{self, Data},
    evidence::{self, Authority, Known},
    pod,
};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        journal::{EtcdHistory, Record},
        step::{State, Step},
        step_id::StepId,
    },
    host::failpoint,
    pki::random,
    steps::pki,
};
use async_trait::async_trait;
use nodeinit_base::{Wait, hex};
use std::{cell::RefCell, ops::ControlFlow, rc::Rc, time::Duration};
use tokio::time::Instant;

/// The step's name.
const ID: StepId = StepId::OtherMasters;

/// How long to wait for objections of the other masters if their proof is not required.
const MOMENT: Duration = Duration::from_secs(1);

/// The same for a resumed bootstrap, perhaps long after it was recorded.
const LONGER: Duration = Duration::from_secs(10);

/// Waiting is reported when it takes longer than this.
const PATIENCE: Duration = Duration::from_secs(3);

/// Who permits a new etcd cluster, in addition to this machine's own state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permit {
    /// Nobody.
    #[default]
    None,
    /// The provisioner, which created all machines: there was no cluster before.
    Provisioner,
    /// The operator, who accepts the loss of existing data.
    Operator,
}

/// What this machine knows without asking others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Here {
    /// etcd's data is on its disk.
    data: bool,
    history: EtcdHistory,
    /// It generated the key of etcd's CA itself.
    own_authority: bool,
}

/// What the first master's etcd does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It continues with the data on this machine.
    Keep,
    /// It starts a new cluster, or resumes an interrupted bootstrap.
    Bootstrap,
    /// It joins the etcd of the other masters.
    Join,
}

/// The decision about the first master's etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// It takes this action.
    Decided(Action),
    /// The others must answer first.
    Wait(String),
    /// Only the operator can decide.
    Refuse { what: String, hint: String },
}

/// Decides from what is known now. `moment`: the masters that answer at once have done so.
fn decide(here: &Here, permit: Permit, known: &Known, moment: bool) -> Verdict {
    let refuse = |what: String, hint: &str| Verdict::Refuse { what, hint: hint.into() };
    match (here.data, permit) {
        (true, Permit::Operator) => {
            let what = "this machine holds etcd data, and --new-cluster would start an empty etcd in its place".into();
            return refuse(
                what,
                "to keep it: run `nodeinit up` without --new-cluster; to discard it: run `nodeinit reset` first",
            );
        }
        (true, _) => return Verdict::Decided(Action::Keep),
        _ => {}
    }
    if let Some(address) = known.etcd {
        return match permit {
            Permit::Operator => refuse(
                format!("the etcd at {address} answers: a cluster exists, and this machine can join it"),
                "run `nodeinit up` without --new-cluster; to discard that cluster: reset the other masters first",
            ),
            _ => Verdict::Decided(Action::Join),
        };
    }
    if let Some(address) = known.stranger {
        return refuse(
            format!(
                "the etcd at {address} has a certificate of another CA than this machine's: a cluster exists already"
            ),
            "to bring this machine back into that cluster: run `nodeinit reset`, copy that cluster's secrets to /etc/nodeinit/secrets.yaml, then run `nodeinit up`; to start a new cluster: reset the other masters",
        );
    }
    if permit == Permit::Operator {
        return bootstrap(known, moment);
    }
    if here.history.has_cluster() {
        return match known.masters.is_empty() {
            false => Verdict::Decided(Action::Join),
            true => refuse(
                "this machine's etcd was healthy before, but its data is gone, so all objects of the cluster are lost"
                    .into(),
                "put the data back into etcd's data directory, then run `nodeinit up`; or start an empty cluster with \
                 `nodeinit up --new-cluster`",
            ),
        };
    }
    if let Some(refusal) = foreign(here, known) {
        return refusal;
    }
    if let Some(traces) = traces(known) {
        return Verdict::Wait(traces);
    }
    // A recorded bootstrap had its proof. No master can have joined it since: any trace elsewhere is of another cluster.
    if here.own_authority || here.history == EtcdHistory::Bootstrapping || permit == Permit::Provisioner {
        return bootstrap(known, moment);
    }
    match silent(known) {
        Some(silent) => Verdict::Wait(silent),
        None => Verdict::Decided(Action::Bootstrap),
    }
}

fn bootstrap(known: &Known, moment: bool) -> Verdict {
    let asked = known.masters.values().all(Result::is_ok);
    if asked || moment {
        Verdict::Decided(Action::Bootstrap)
    } else {
        Verdict::Wait("waiting for answers from the other masters".into())
    }
}

/// A master with certificates or data of another cluster.
fn foreign(here: &Here, known: &Known) -> Option<Verdict> {
    let (name, report) = known.masters.iter().find_map(|(name, report)| {
        let report = report.as_ref().ok()?;
        // No other master can have received a CA from this machine before its etcd was healthy.
        let foreign = match report.authority {
            Authority::Other => true,
            Authority::None => here.own_authority && report.traces().is_some(),
            Authority::Ours => false,
        };
        foreign.then_some((name, report))
    })?;
    let certificates = (report.authority == Authority::Other).then(|| "certificates of another etcd CA".to_owned());
    let held: Vec<String> = certificates.into_iter().chain(report.traces()).collect();
    Some(Verdict::Refuse {
        what: format!("{name} belongs to another cluster: it holds {}", held.join(", ")),
        hint: format!(
            "to bring this machine into that cluster: run `nodeinit reset`, copy that cluster's secrets to /etc/nodeinit/secrets.yaml, then run `nodeinit up`; to make {name} part of the new cluster: run `nodeinit reset` on {name}, and check `nodeinit etcd aside list` there"
        ),
    })
}

/// Lists the masters that had an etcd, and those that do not answer.
fn traces(known: &Known) -> Option<String> {
    let traces = |report: &Result<evidence::Evidence, String>| match report {
        Ok(report) => report.traces().map(|traces| format!("holds {traces}, but no etcd member with a quorum answers")),
        Err(_) => None,
    };
    known.masters.values().any(|report| traces(report).is_some()).then(|| {
        list(known, |report| match report {
            Ok(_) => traces(report),
            Err(why) => Some(format!("does not answer: {why}")),
        })
    })
}

fn silent(known: &Known) -> Option<String> {
    known.masters.values().any(Result::is_err).then(|| {
        list(known, |report| match report {
            Ok(_) => Some("never had an etcd".into()),
            Err(why) => Some(format!("does not answer: {why}")),
        })
    })
}

fn list(known: &Known, describe: impl Fn(&Result<evidence::Evidence, String>) -> Option<String>) -> String {
    let descriptions = known.masters.iter().filter_map(|(name, report)| Some(format!("{name} {}", describe(report)?)));
    descriptions.collect::<Vec<_>>().join("; ")
}

/// The action that one step decides and another performs.
pub(super) type Shared = Rc<RefCell<Option<Action>>>;

/// Step `other-masters`: decides whether a new etcd may be bootstrapped here. It runs in parallel with the preparations.
pub struct OtherMasters {
    permit: Permit,
    action: Shared,
}

impl OtherMasters {
    pub(super) fn new(permit: Permit, action: Shared) -> Self {
        Self { permit, action }
    }
}

#[async_trait(?Send)]
impl Step for OtherMasters {
    fn id(&self) -> StepId {
        ID
    }

    fn title(&self) -> String {
        "check the other masters for an existing etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let done = data::look(cx)? != Data::None && self.permit != Permit::Operator;
        Ok(if done { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let action = action(cx, self.permit).await?;
        self.action.replace(Some(action));
        Ok(())
    }
}

/// Returns what the first master's etcd does; waits for the other masters if the decision depends on them.
///
/// # Errors
/// If a new etcd must not be bootstrapped, or if the proof does not arrive within `timeouts.ssh`.
pub(super) async fn action(cx: &Context, permit: Permit) -> Result<Action, StepError> {
    let here = here(cx)?;
    let silent = |master: &nodeinit_config::cluster::Machine| (master.name.clone(), Err("no answer yet".into()));
    let known = RefCell::new(Known { masters: evidence::others(cx).map(silent).collect(), ..Known::default() });
    let began = Instant::now();
    let mut noted = false;
    let moment = if here.history == EtcdHistory::Bootstrapping { LONGER } else { MOMENT };
    let look = async || match decide(&here, permit, &known.borrow(), began.elapsed() >= moment) {
        Verdict::Wait(seen) => {
            if !noted && began.elapsed() >= PATIENCE {
                noted = true;
                cx.report.note(&ID.name(), format!("waiting for proof that there is no etcd yet: {seen}"));
            }
            ControlFlow::Continue(seen)
        }
        Verdict::Decided(action) => ControlFlow::Break(Ok(action)),
        Verdict::Refuse { what, hint } => ControlFlow::Break(Err(StepError::new(what).hint(hint))),
    };
    let limit = cx.cluster.timeouts.ssh;
    let wait = Wait::new("proof from every other master that no etcd was ever started", limit).until(look);
    let ended = tokio::select! {
        ended = wait => ended,
        failed = evidence::gather(cx, &known), if evidence::others(cx).next().is_some() => match failed {
            Ok(never) => match never {},
            Err(error) => return Err(error),
        },
    };
    ended.unwrap_or_else(|late| {
        Err(StepError::from(late).hint(
            "start these machines and make sure that root can log in to them over SSH, then run `nodeinit up` again; if the \
             cluster is lost for good: `nodeinit up --new-cluster` discards its data",
        ))
    })
}

fn here(cx: &Context) -> Result<Here, StepError> {
    let mut history = cx.journal.etcd().history;
    // The manifest of an etcd that joined others, without an entry in the journal.
    if history == EtcdHistory::None && pod::membership(cx)?.joined.is_some() {
        history = EtcdHistory::Member;
    }
    Ok(Here { data: data::look(cx)? != Data::None, history, own_authority: pki::is_own_authority(cx)? })
}

/// Records that a new cluster starts here, with a new token. A bootstrap that was recorded before is resumed.
pub(super) fn record(cx: &Context) -> Result<(), StepError> {
    if cx.journal.etcd().history == EtcdHistory::Bootstrapping {
        return Ok(());
    }
    let bytes = random::bytes::<16>().map_err(|e| StepError::caused("cannot generate a token for etcd", e))?;
    let token = format!("nodeinit-{}", hex(&bytes));
    failpoint("etcd-bootstrap", "token");
    Ok(cx.journal.intend(vec![Record::EtcdBootstrap { token }])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context_of, engine::error::Exit};
    use evidence::Evidence;

    const CLEAN: Evidence = Evidence { data: false, aside: Vec::new(), record: false, authority: Authority::None };

    fn silent() -> Result<Evidence, String> {
        Err("no route to host".into())
    }

    fn prepared() -> Result<Evidence, String> {
        Ok(Evidence { authority: Authority::Ours, ..CLEAN })
    }

    fn holds(authority: Authority) -> Result<Evidence, String> {
        Ok(Evidence { data: true, authority, ..CLEAN })
    }

    fn aside(authority: Authority) -> Result<Evidence, String> {
        Ok(Evidence { aside: vec!["member.aside-1".into()], authority, ..CLEAN })
    }

    fn recorded() -> Result<Evidence, String> {
        Ok(Evidence { record: true, authority: Authority::Ours, ..CLEAN })
    }

    fn others(masters: [Result<Evidence, String>; 2]) -> Known {
        let masters = ["m2", "m3"].map(String::from).into_iter().zip(masters).collect();
        Known { masters, ..Known::default() }
    }

    fn own() -> Here {
        Here { own_authority: true, ..Here::default() }
    }

    fn given() -> Here {
        Here::default()
    }

    fn started(healthy: bool) -> Here {
        let history = if healthy { EtcdHistory::Bootstrapped } else { EtcdHistory::Bootstrapping };
        Here { history, ..Here::default() }
    }

    /// Returns the verdict in one word, after the masters that answer at once have done so.
    fn after_a_moment(here: &Here, permit: Permit, known: &Known) -> &'static str {
        word(&decide(here, permit, known, true))
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Decided(Action::Keep) => "keep",
            Verdict::Decided(Action::Bootstrap) => "bootstrap",
            Verdict::Decided(Action::Join) => "join",
            Verdict::Wait(_) => "wait",
            Verdict::Refuse { .. } => "refuse",
        }
    }

    #[test]
    fn a_bootstrap_needs_proof() {
        use Authority::{None as Bare, Other, Ours};
        let table = [
            (
                "nobody answers",
                [silent(), silent()],
                ["bootstrap", "wait", "bootstrap", "join", "bootstrap", "bootstrap"],
            ),
            (
                "one answers",
                [Ok(CLEAN), silent()],
                ["bootstrap", "wait", "bootstrap", "join", "bootstrap", "bootstrap"],
            ),
            (
                "no etcd ever",
                [Ok(CLEAN), prepared()],
                ["bootstrap", "bootstrap", "bootstrap", "join", "bootstrap", "bootstrap"],
            ),
            ("data", [holds(Ours), Ok(CLEAN)], ["wait", "wait", "wait", "join", "wait", "bootstrap"]),
            ("data, and one is silent", [holds(Ours), silent()], ["wait", "wait", "wait", "join", "wait", "bootstrap"]),
            ("aside", [prepared(), aside(Ours)], ["wait", "wait", "wait", "join", "wait", "bootstrap"]),
            ("a record", [prepared(), recorded()], ["wait", "wait", "wait", "join", "wait", "bootstrap"]),
            ("bare data", [holds(Bare), Ok(CLEAN)], ["refuse", "wait", "wait", "join", "wait", "bootstrap"]),
            ("bare data aside", [Ok(CLEAN), aside(Bare)], ["refuse", "wait", "wait", "join", "wait", "bootstrap"]),
            ("data of others", [holds(Other), silent()], ["refuse", "refuse", "refuse", "join", "refuse", "bootstrap"]),
            (
                "certificates of others",
                [Ok(Evidence { authority: Other, ..CLEAN }), silent()],
                ["refuse", "refuse", "refuse", "join", "refuse", "bootstrap"],
            ),
        ];
        let situations = [
            ("its own keys", own(), Permit::None),
            ("keys that were given", given(), Permit::None),
            ("a bootstrap that has started", started(false), Permit::None),
            ("an etcd that was healthy", started(true), Permit::None),
            ("the provisioner's permit", given(), Permit::Provisioner),
            ("the operator's permit", started(true), Permit::Operator),
        ];
        for (name, masters, wanted) in table {
            let mut known = others(masters);
            for ((situation, here, permit), wanted) in situations.iter().zip(wanted) {
                assert_eq!(after_a_moment(here, *permit, &known), wanted, "{name}; {situation}");
            }
            known.etcd = Some("10.0.0.12:2379".parse().unwrap());
            for (situation, here, permit) in &situations {
                let wanted = if *permit == Permit::Operator { "refuse" } else { "join" };
                assert_eq!(after_a_moment(here, *permit, &known), wanted, "{name}, and an etcd answers; {situation}");
            }
            known.stranger = Some("10.0.0.13:2379".parse().unwrap());
            for (situation, here, permit) in &situations {
                let wanted = if *permit == Permit::Operator { "refuse" } else { "join" };
                let seen = after_a_moment(here, *permit, &known);
                assert_eq!(seen, wanted, "{name}, an etcd answers, and a stranger; {situation}");
            }
            known.etcd = None;
            for (situation, here, permit) in &situations {
                assert_eq!(after_a_moment(here, *permit, &known), "refuse", "{name}, and a stranger; {situation}");
            }
        }
    }

    #[test]
    fn data_here_is_kept_and_never_replaced() {
        let here = Here { data: true, ..given() };
        for known in [others([silent(), silent()]), others([holds(Authority::Other), silent()])] {
            assert_eq!(after_a_moment(&here, Permit::None, &known), "keep");
            assert_eq!(after_a_moment(&here, Permit::Provisioner, &known), "keep");
            assert_eq!(after_a_moment(&here, Permit::Operator, &known), "refuse");
        }
    }

    #[test]
    fn a_single_master_that_lost_its_etcd_refuses() {
        let alone = Known::default();
        let Verdict::Refuse { what, hint } = decide(&started(true), Permit::None, &alone, false) else { panic!() };
        assert!(what.contains("its data is gone") && hint.contains("--new-cluster"), "{what}; {hint}");
        assert_eq!(word(&decide(&started(true), Permit::Provisioner, &alone, false)), "refuse");
        for here in [own(), given(), started(false)] {
            assert_eq!(word(&decide(&here, Permit::None, &alone, false)), "bootstrap");
        }
        assert_eq!(word(&decide(&started(true), Permit::Operator, &alone, false)), "bootstrap");
    }

    #[test]
    fn masters_that_answer_at_once_may_object_first() {
        assert_eq!(word(&decide(&own(), Permit::None, &others([Ok(CLEAN), silent()]), false)), "wait");
        assert_eq!(word(&decide(&own(), Permit::None, &others([Ok(CLEAN), Ok(CLEAN)]), false)), "bootstrap");
    }

    #[test]
    fn each_master_is_named_with_what_it_reported() {
        let Verdict::Wait(seen) = decide(&given(), Permit::None, &others([silent(), holds(Authority::Ours)]), true)
        else {
            panic!()
        };
        assert_eq!(
            seen,
            "m2 does not answer: no route to host; m3 holds etcd data, but no etcd member with a quorum answers"
        );
        let Verdict::Wait(seen) = decide(&given(), Permit::None, &others([prepared(), silent()]), true) else {
            panic!()
        };
        assert_eq!(seen, "m2 never had an etcd; m3 does not answer: no route to host");
    }

    #[tokio::test]
    async fn a_resumed_bootstrap_keeps_its_token_and_a_new_one_has_another() {
        let (_dir, cx) = context_of("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n");
        let token = || cx.journal.etcd().token.unwrap();
        record(&cx).unwrap();
        let first = token();
        assert!(first.len() == 41 && first.starts_with("nodeinit-"), "{first}");
        record(&cx).unwrap();
        assert_eq!(token(), first, "resumed");
        assert_eq!(pod::membership(&cx).unwrap().token.as_deref(), Some(first.as_str()));
        cx.journal.intend(vec![Record::EtcdHealthy]).unwrap();
        let error = action(&cx, Permit::None).await.unwrap_err();
        assert_eq!(error.exit, Exit::Failed, "{error}");
        assert_eq!(action(&cx, Permit::Operator).await.unwrap(), Action::Bootstrap);
        record(&cx).unwrap();
        assert_ne!(token(), first, "a new cluster");
    }
}
