//! `version`: prints this program's version and the versions of Kubernetes that it supports.

use super::{Output, Printing, print};
use crate::engine::error::StepError;
use clap::Args;
use nodeinit_protocol::version::{object, text};

#[derive(Args)]
pub(super) struct Version {
    #[command(flatten)]
    pub(super) printing: Printing,
}

pub(super) fn run(args: &Version) -> Result<(), StepError> {
    let version = env!("CARGO_PKG_VERSION");
    print(&match args.printing.output {
        Output::Json => format!("{}\n", object(version)),
        Output::Text => text("nodeinit", version),
    })
}
