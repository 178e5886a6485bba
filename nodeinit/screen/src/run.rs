//! A recorded run as a chart.

use crate::chart::{Bar, Chart};
use clap::ValueEnum;
use nodeinit_protocol::{Event, Line, run::Run};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The host of what happens in the cloud, which is no machine of the cluster.
pub const CLOUD: &str = "cloud";

/// The format of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Plain text for a terminal
    Text,
    /// An SVG picture
    Svg,
    /// An HTML page with the picture and a table
    Html,
    /// One JSON object with the run and its steps
    Json,
}

impl Form {
    /// Draws a run of `program`, which began at `time`.
    #[must_use]
    pub fn draw(self, program: &str, run: &Run, time: &str) -> String {
        let chart = chart(program, run, time);
        match self {
            Self::Text => chart.text(),
            Self::Svg => chart.svg(),
            Self::Html => chart.html(),
            Self::Json => format!("{}\n", object(run, &chart)),
        }
    }
}

/// The chart of a run of `program`, which began at `time`.
fn chart(program: &str, run: &Run, time: &str) -> Chart {
    let header = &run.header;
    let bars = bars(run);
    let seconds = bars.iter().map(|bar| bar.end).fold(0.0, f64::max);
    let hosts: BTreeSet<&str> = bars.iter().map(|bar| bar.host.as_str()).filter(|host| *host != CLOUD).collect();
    let machines = if hosts.len() == 1 { "1 machine".to_owned() } else { format!("{} machines", hosts.len()) };
    let title = format!(
        "{program} {} on {}, cluster {}, {time}: {seconds:.1} s, {machines}",
        header.run, header.machine, header.cluster
    );
    Chart { title, bars }
}

/// The steps of all machines. A step that brings up another machine contains that machine's own steps, and is shown only if
/// there are none.
#[must_use]
pub fn bars(run: &Run) -> Vec<Bar> {
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
            // Until its end is seen.
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

/// The run and its steps for programs.
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
    use nodeinit_protocol::run::Header;

    #[test]
    fn each_machine_has_its_steps_and_what_never_ended_is_marked() {
        let header = Header { run: "up".into(), time: 0, machine: "m1".into(), cluster: "lab".into() };
        let started = |step: &str| Event::Started { step: step.into(), title: format!("do {step}") };
        let done = |step: &str| Event::Done { step: step.into(), changed: true, seconds: 1.0 };
        let at = |elapsed, host: Option<&str>, event| Line { host: host.map(Into::into), elapsed, event };
        let mut events = vec![
            at(0.0, None, started("pki")),
            at(1.0, None, done("pki")),
            at(1.0, None, started("host-m2")),
            at(1.5, None, started("host-w1")),
            at(2.0, Some("m2"), started("etcd")),
            at(4.0, Some("m2"), done("etcd")),
            at(4.5, None, done("host-m2")),
        ];
        let drawn = chart("nodeinit", &Run { header: header.clone(), events: events.clone() }, "1970-01-01T00:00:00Z");
        let shown: Vec<(&str, &str, f64, bool)> =
            drawn.bars.iter().map(|bar| (bar.host.as_str(), bar.step.as_str(), bar.end, bar.failed)).collect();
        assert_eq!(shown, [("m1", "pki", 1.0, false), ("m1", "host-w1", 4.5, true), ("m2", "etcd", 4.0, false)]);
        assert_eq!(drawn.title, "nodeinit up on m1, cluster lab, 1970-01-01T00:00:00Z: 4.5 s, 2 machines");
        events.push(at(4.5, Some(CLOUD), started("server/m3")));
        assert!(chart("nodeinit", &Run { header, events }, "now").title.ends_with("2 machines"), "the cloud is none");
    }
}
