//! `plan`: what `apply` would do.

use super::{Source, Verbosity, session::Session};
use crate::{error::Error, report};
use nodeinit_protocol::Exit;

pub(super) async fn run(source: &Source, verbosity: Verbosity) -> Result<Exit, Error> {
    let session = Session::open(source, verbosity).await?;
    let (_, plan) = session.plan().await?;
    report::plan(&plan, &session.output);
    session.told();
    Ok(match (plan.is_blocked(), plan.is_empty()) {
        (true, _) => Exit::BadConfig,
        (false, true) if plan.is_unhealthy() => Exit::Partly,
        (false, true) => Exit::Done,
        (false, false) => Exit::Pending,
    })
}
