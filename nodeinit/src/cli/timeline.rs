//! `timeline`: draws a past run.

use super::{Printing, ended, print};
use crate::{
    engine::{
        error::{Exit, StepError},
        runs,
    },
    host::files::Files,
    pki::expiry::date,
};
use clap::Args;
use nodeinit_screen::run::Form;
use std::time::{Duration, SystemTime};

#[derive(Args)]
pub(super) struct Timeline {
    /// Format of the timeline
    #[arg(short, long, value_enum, default_value = "text")]
    output: Form,
    /// Which run: 1 is the latest that changed something, 2 the one before it
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    run: u32,
}

pub(super) fn run(args: &Timeline) -> Exit {
    ended(Printing::default().report(), "timeline", draw(args))
}

fn draw(args: &Timeline) -> Result<(), StepError> {
    let runs = runs::read(&Files::of_machine())?;
    let Some(run) = runs.iter().rev().nth(args.run as usize - 1) else {
        let what = match runs.len() {
            0 => "no run is recorded on this machine".to_owned(),
            count => format!("there is no run {}; the oldest recorded run is {count}", args.run),
        };
        return Err(StepError::new(what)
            .exit(Exit::Usage)
            .hint("runs of `nodeinit up` that change something are recorded"));
    };
    let time = date(SystemTime::UNIX_EPOCH + Duration::from_secs(run.header.time));
    print(&args.output.draw("nodeinit", run, &time))
}
