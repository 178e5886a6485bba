//! `config diff`: what differs between two configurations.

use super::{
    super::{Output, Printing, load, print},
    of_machine,
};
use crate::{
    engine::error::{Exit, StepError},
    host::files::Files,
};
use clap::Args;
use nodeinit_config::{Difference, Set};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(in crate::cli) struct Diff {
    /// The first configuration: a file; `-` is standard input
    a: PathBuf,
    /// The second configuration
    b: PathBuf,
    /// Take A and B as the names of clusters in this folder, as `--cluster` of other commands does
    #[arg(long)]
    clusters: bool,
    /// Compare what this machine applies of each configuration
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    #[command(flatten)]
    pub(super) printing: Printing,
}

/// Prints each value that differs, with the line that sets it. Exit code 2 if there is one.
pub(super) fn diff(args: &Diff) -> Result<Exit, StepError> {
    let files = Files::of_machine();
    let read = |path: &Path| {
        let loaded =
            if args.clusters { load::cluster(&files, &path.to_string_lossy())? } else { load::only(&files, path)? };
        of_machine(loaded, args.machine.as_deref())
    };
    let differences = read(&args.a)?.differences(&read(&args.b)?);
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
