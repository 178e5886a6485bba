//! `timeline`: draws a past run.

use super::{Printing, ended, print};
use crate::{
    engine::{
        error::{Exit, StepError},
        runs::{self, Run},
    },
    host::files::Files,
    pki::expiry::date,
};
use clap::{Args, ValueEnum};
use nodeinit_protocol::{Event, Line};
use nodeinit_screen::chart::{Bar, Chart};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

#[derive(Args)]
pub(super) struct Timeline {
    /// Format of the timeline
    #[arg(short, long, value_enum, default_value = "text")]
    output: Form,
    /// Which run: 1 is the latest that changed something, 2 the one before it
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    run: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Plain text for a terminal
    Text,
    /// An SVG picture
    Svg,
    /// An HTML page with the picture and a table
    Html,
    /// One JSON object with the run and its steps
    Json,
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
    let chart = chart(run);
    print(&match args.output {
        Form::Text => chart.text(),
        Form::Svg => chart.svg(),
        Form::Html => chart.html(),
        Form::Json => format!("{}\n", object(run, &chart)),
    })
}

fn chart(run: &Run) -> Chart {
    let header = &run.header;
    let bars = bars(run);
    let seconds = bars.iter().map(|bar| bar.end).fold(0.0, f64::max);
    let count = bars.iter().map(|bar| &bar.host).collect::<BTreeSet<_>>().len();
    let machines = if count == 1 { "1 machine".to_owned() } else { format!("{count} machines") };
    let time = date(SystemTime::UNIX_EPOCH + Duration::from_secs(header.time));
    let title = format!(
        "nodeinit {} on {}, cluster {}, {time}: {seconds:.1} s, {machines}",
        header.run, header.machine, header.cluster
    );
    Chart { title, bars }
}

/// Returns the steps of all machines. A step that starts another machine contains that machine's own steps, and is shown only if
/// there are none.
fn bars(run: &Run) -> Vec<Bar> {
    let last = run.events.iter().map(|line| line.elapsed).fold(0.0, f64::max);
    let hosts: BTreeSet<&str> = run.events.iter().filter_map(|line| line.host.as_deref()).collect();
    let mut bars: Vec<Bar> = Vec::new();
    for Line { host, elapsed, event } in &run.events {
        let host = host.as_ref().unwrap_or(&run.header.machine);
        let step = event.step().unwrap_or_default();
        if step.strip_prefix("host-").is_some_and(|name| hosts.contains(name)) {
            continue;
        }
        let open = bars.iter_mut().rfind(|bar| bar.host == *host && bar.step == step && bar.failed);
        match (event, open) {
            // It counts as failed until its end is found.
            (Event::Started { title, .. }, _) => bars.push(Bar {
                host: host.clone(),
                step: step.to_owned(),
                title: title.clone(),
                start: *elapsed,
                end: last,
                failed: true,
            }),
            (Event::Done { .. }, Some(bar)) => (bar.end, bar.failed) = (*elapsed, false),
            (Event::Failed { .. }, Some(bar)) => bar.end = *elapsed,
            _ => {}
        }
    }
    bars
}

fn object(run: &Run, chart: &Chart) -> Value {
    let steps = chart.bars.iter().map(|bar| {
        json!({
            "host": bar.host, "step": bar.step, "title": bar.title, "start": bar.start, "end": bar.end,
            "waits": bar.waits(), "failed": bar.failed,
        })
    });
    json!({"run": run.header, "steps": steps.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::runs::Header;

    #[test]
    fn each_machine_has_its_steps_and_unfinished_ones_are_marked() {
        let header = Header { run: "up".into(), time: 0, machine: "m1".into(), cluster: "lab".into() };
        let started = |step: &str| Event::Started { step: step.into(), title: format!("do {step}") };
        let done = |step: &str| Event::Done { step: step.into(), changed: true, seconds: 1.0 };
        let at = |elapsed, host: Option<&str>, event| Line { host: host.map(Into::into), elapsed, event };
        let events = vec![
            at(0.0, None, started("pki")),
            at(1.0, None, done("pki")),
            at(1.0, None, started("host-m2")),
            at(1.5, None, started("host-w1")),
            at(2.0, Some("m2"), started("etcd")),
            at(4.0, Some("m2"), done("etcd")),
            at(4.5, None, done("host-m2")),
        ];
        let chart = chart(&Run { header, events });
        let shown: Vec<(&str, &str, f64, bool)> =
            chart.bars.iter().map(|bar| (bar.host.as_str(), bar.step.as_str(), bar.end, bar.failed)).collect();
        assert_eq!(shown, [("m1", "pki", 1.0, false), ("m1", "host-w1", 4.5, true), ("m2", "etcd", 4.0, false)]);
        assert_eq!(chart.title, "nodeinit up on m1, cluster lab, 1970-01-01T00:00:00Z: 4.5 s, 2 machines");
    }
}
