//! `destroy`: shows what it deletes, asks, and deletes it.

use super::{Source, Verbosity, confirm, session::Session};
use crate::{destroy, error::Error, report};
use clap::Args;
use nodeinit_protocol::Exit;
use serde_json::json;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) source: Source,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Take over the cluster's lock; use it only if the run that holds the lock is dead
    #[arg(long)]
    break_lock: bool,
}

pub(super) async fn run(args: &Arguments, verbosity: Verbosity) -> Result<Exit, Error> {
    let session = Session::open(&args.source, verbosity).await?;
    session.record("destroy");
    let ours = session.ours().await?;
    let doomed = destroy::doomed(&ours);
    report::doomed(&doomed, &session.output);
    // A lock may be all that a killed run has left.
    if !ours.is_empty() {
        if !doomed.is_empty() && !args.yes && !confirmed(&session, doomed.len())? {
            session.output.text("nothing was deleted");
            return Ok(Exit::Failed);
        }
        let lock = session.lock(args.break_lock).await?;
        let output = &session.output;
        output.live(lock.hold(destroy::run(&session.client, &session.marker, &session.cloud, output))).await?;
    }
    let unread = session.client.unread();
    if !unread.is_empty() {
        let reasons: Vec<String> = unread.iter().map(|(what, why)| format!("{what}: {why}")).collect();
        let text = format!(
            "no other resources of this cluster were found, but these could not be read: {}",
            reasons.join("; ")
        );
        session.output.tell(&text, || json!({ "event": "finished", "unread": unread }));
        session.told();
        return Ok(Exit::Partly);
    }
    session.output.tell("no resources of this cluster are left", || json!({ "event": "finished" }));
    session.told();
    Ok(Exit::Done)
}

/// The user types the cluster's name; without a terminal, `--yes` is required.
fn confirmed(session: &Session, count: usize) -> Result<bool, Error> {
    confirm::needs_terminal("destroy")?;
    let name = &session.loaded.cluster.name;
    let question = format!("delete these {count} resources permanently? type the cluster's name ({name}):");
    Ok(confirm::answer(&question).is_some_and(|answer| answer == *name))
}
