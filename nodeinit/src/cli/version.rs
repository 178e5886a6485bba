//! `version`: prints this program's version and the versions of Kubernetes that it supports.

use super::{Output, Printing, print};
use crate::engine::error::StepError;
use clap::Args;
use nodeinit_config::releases;
use serde_json::{Value, json};

#[derive(Args)]
pub(super) struct Version {
    #[command(flatten)]
    pub(super) printing: Printing,
}

pub(super) fn run(args: &Version) -> Result<(), StepError> {
    let version = env!("CARGO_PKG_VERSION");
    let releases = releases::embedded();
    print(&match args.printing.output {
        Output::Json => {
            let releases: Vec<Value> = releases
                .iter()
                .map(|release| json!({"release": release.name(), "tested": release.tested.to_string()}))
                .collect();
            format!("{}\n", json!({"version": version, "kubernetes": releases, "default": releases::DEFAULT}))
        }
        Output::Text => {
            let mut text = format!("nodeinit {version}\n\nKubernetes  tested with\n");
            releases.iter().for_each(|release| text += &format!("{:10}  {}\n", release.name(), release.tested));
            text
        }
    })
}
