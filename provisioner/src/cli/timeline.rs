//! `timeline`: draws a past run.

use super::Configuration;
use crate::{error::Error, output, timeline};
use clap::Args;
use nodeinit_protocol::Exit;
use nodeinit_screen::run::Form;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

#[derive(Args)]
pub(super) struct Timeline {
    #[command(flatten)]
    configuration: Configuration,
    /// The form of the timeline
    #[arg(short, long, value_enum, default_value = "text")]
    output: Form,
    /// Which run: 1 is the latest that changed something, 2 the one before it
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    run: u32,
}

pub(super) fn run(args: &Timeline) -> Result<Exit, Error> {
    let path = timeline::path(&args.configuration.read()?.cluster.name);
    let runs = timeline::read(&path)?;
    let Some(run) = runs.iter().rev().nth(args.run as usize - 1) else {
        return Err(Error::Usage(match runs.len() {
            0 => format!(
                "no run is recorded in {}; `apply`, `destroy`, `add` and `remove` record each run that changes something, in their working directory",
                path.display()
            ),
            count => format!("there is no run {}; the oldest on record is {count}", args.run),
        }));
    };
    let seconds = i64::try_from(run.header.time).unwrap_or_default();
    let begun = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let text = args.output.draw("provisioner", run, &begun.format(&Rfc3339).unwrap_or_default());
    output::line(text.trim_end());
    Ok(Exit::Done)
}
