//! `config diff`: what differs between two configurations.

use super::super::{Output, Printing, load, print};
use crate::{
    engine::error::{Exit, StepError},
    host::files::Files,
};
use clap::Args;
use nodeinit_config::{Difference, Set};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args)]
pub(in crate::cli) struct Diff {
    /// The first configuration; `-` is standard input
    a: PathBuf,
    /// The second configuration
    b: PathBuf,
    #[command(flatten)]
    pub(super) printing: Printing,
}

/// Prints each value that differs, with the line that sets it. Exit code 2 if there is one.
pub(super) fn diff(args: &Diff) -> Result<Exit, StepError> {
    let files = Files::of_machine();
    let [a, b] = [&args.a, &args.b].map(|path| load::only(&files, path));
    let differences = a?.differences(&b?);
    for difference in &differences {
        let text = match args.printing.output {
            Output::Json => format!("{}\n", in_json(difference)),
            Output::Text => in_text(difference),
        };
        print(&text)?;
    }
    Ok(if differences.is_empty() { Exit::Done } else { Exit::Pending })
}

fn in_text(Difference { path, from, to }: &Difference) -> String {
    let line = |sign, set: &Set| format!("{sign} {path}: {}  # {}\n", set.value, set.origin);
    let (from, to) = (from.as_ref().map(|set| line('-', set)), to.as_ref().map(|set| line('+', set)));
    [from, to].into_iter().flatten().collect()
}

fn in_json(Difference { path, from, to }: &Difference) -> serde_json::Value {
    let set = |set: &Set| json!({ "value": set.value, "file": set.origin.source, "line": set.origin.line });
    json!({ "path": path, "from": from.as_ref().map(set), "to": to.as_ref().map(set) })
}
