//! The record of runs, from which a timeline is drawn: a header, then the events of the run as `--output json` prints them, one JSON
//! object per line. Nothing depends on it: where it cannot be written, a run goes on without.

use crate::{Event, Line};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Older runs are dropped when a run begins and the record is larger, in bytes: a run of ten machines has some 100 kB.
pub const LARGEST: usize = 2 << 20;

/// The first line of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The command, such as `up`.
    pub run: String,
    /// Seconds since 1970.
    pub time: u64,
    /// The machine that ran it.
    pub machine: String,
    /// Its cluster.
    pub cluster: String,
}

/// A run that changed something, or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What ran, when and where.
    pub header: Header,
    /// In the order of time.
    pub events: Vec<Line>,
}

/// The runs of a record, the oldest first. Lines that cannot be read are skipped: a power cut leaves halves.
#[must_use]
pub fn read(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for line in text.lines() {
        if let Ok(header) = serde_json::from_str(line) {
            runs.push(Run { header, events: Vec::new() });
        } else if let (Some(run), Some(event)) = (runs.last_mut(), Line::read(line)) {
            run.events.push(event);
        }
    }
    runs
}

/// Writes the events of one run.
#[derive(Debug)]
pub struct Recorder<W> {
    to: W,
    /// Not written yet: a run that changes nothing leaves no record.
    header: Option<String>,
}

impl<W: Write> Recorder<W> {
    /// Appends a run to a record that has this text so far.
    pub fn new(to: W, so_far: &[u8], header: &Header) -> Self {
        // A half line that a power cut left must not swallow the header.
        let torn = so_far.last().is_some_and(|&byte| byte != b'\n');
        let header = serde_json::to_string(header).unwrap_or_default();
        Self { to, header: Some(if torn { format!("\n{header}") } else { header }) }
    }

    /// Writes an event, `line` as `--output json` prints it, if a timeline shows it.
    pub fn take(&mut self, event: &Event, line: &str) {
        if let Event::Started { .. } | Event::Failed { .. } | Event::Done { changed: true, .. } = event {
            let header = self.header.take().map(|header| header + "\n").unwrap_or_default();
            let _ = self.to.write_all(format!("{header}{line}\n").as_bytes());
        }
    }
}

/// The runs in the newer half of a record.
#[must_use]
pub fn newest(text: &[u8]) -> &[u8] {
    const BEGINNING: &[u8] = b"\n{\"run\":";
    let half = text.get(text.len() / 2..).unwrap_or_default();
    match half.windows(BEGINNING.len()).position(|window| window == BEGINNING) {
        Some(at) => &half[at + 1..],
        None => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_skipped_and_swallows_nothing() {
        let header = Header { run: "up".into(), time: 1, machine: "m1".into(), cluster: "lab".into() };
        let line = r#"{"event":"started","step":"a","title":"b","elapsed":0.5}"#;
        let mut text = b"{\"run\":\"up\",\"ti".to_vec();
        let event = Line::read(line).unwrap().event;
        let mut written = Vec::new();
        let mut recorder = Recorder::new(&mut written, &text, &header);
        recorder.take(&Event::Note { step: "a".into(), text: "not shown".into() }, "{}");
        recorder.take(&event, line);
        text.extend(written);
        let runs = read(std::str::from_utf8(&text).unwrap());
        assert_eq!(runs, [Run { header, events: vec![Line { event, host: None, elapsed: 0.5 }] }]);
    }
}
