//! `preflight`: reports every problem of this machine with its fix.

use super::{
    Common, Output, print,
    setup::{self, Access},
};
use crate::{
    engine::{
        error::{Exit, StepError},
        step_id::StepId,
    },
    steps::preflight::{self, Level},
};

/// Runs the checks and prints the report; changes nothing.
pub(super) async fn run(common: Common) -> Exit {
    match attempt(&common).await {
        Ok(exit) => exit,
        Err(error) => {
            common.printing.report().failed(&StepId::Preflight.name(), &error);
            error.exit
        }
    }
}

async fn attempt(common: &Common) -> Result<Exit, StepError> {
    let cx = setup::context(common, Access::Look)?;
    let report = preflight::report(&cx).await;
    print(&rendered(&report, common.printing.output))?;
    Ok(report.exit())
}

fn rendered(report: &preflight::Report, output: Output) -> String {
    match output {
        Output::Json => report
            .findings
            .iter()
            .filter_map(|finding| serde_json::to_string(finding).ok())
            .map(|line| line + "\n")
            .collect(),
        Output::Text => {
            let mut text = String::new();
            for finding in &report.findings {
                let level = match finding.level {
                    Level::Failure => "failure",
                    Level::Warning => "warning",
                };
                text += &format!("{level}: {}: {}\n  hint: {}\n", finding.check, finding.what, finding.remedy);
            }
            let (failures, warnings) = (report.failures().count(), report.warnings().count());
            let verdict = if failures == 0 { "passed" } else { "failed" };
            text + &format!("preflight {verdict}; failures: {failures}, warnings: {warnings}\n")
        }
    }
}
