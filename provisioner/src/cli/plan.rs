//! `plan`: what `apply` would do.

use super::{Source, Verbosity, session::Session};
use crate::{
    error::{Error, PARTLY},
    report,
};
use std::process::ExitCode;

/// There are changes to make. Source: docs/reference/cli.md.
const PENDING: u8 = 2;

pub(super) async fn run(source: &Source, verbosity: Verbosity) -> Result<ExitCode, Error> {
    let session = Session::open(source, verbosity).await?;
    let (_, plan) = session.plan().await?;
    report::plan(&plan, &session.output);
    session.told();
    Ok(match (plan.is_blocked(), plan.is_empty()) {
        (true, _) => ExitCode::from(78),
        (false, true) if plan.is_unhealthy() => ExitCode::from(PARTLY),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(PENDING),
    })
}
