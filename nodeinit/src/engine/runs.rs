//! Recorded runs for `nodeinit timeline`: the events of this machine, and of those that it started, as
//! `--output json` prints them. Nothing depends on the file: if it cannot be written, a run continues without it.

use crate::host::files::{FileError, Files, NewFile, failed};
use nodeinit_protocol::{Event, Line};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The path of the file.
pub const RUNS: &str = "/var/lib/nodeinit/runs.jsonl";

/// If the file is larger (in bytes) when a run starts, older runs are dropped: a run of ten machines has about 100 kB.
const LARGEST: usize = 2 << 20;

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
    /// The header of the run.
    pub header: Header,
    /// Its events, in chronological order.
    pub events: Vec<Line>,
}

/// Returns the recorded runs, the oldest first. Skips invalid lines, which a power cut can leave.
///
/// # Errors
/// If the file cannot be read.
pub fn read(files: &Files) -> Result<Vec<Run>, FileError> {
    let text = files.read_text(RUNS)?.unwrap_or_default();
    let mut runs: Vec<Run> = Vec::new();
    for line in text.lines() {
        if let Ok(header) = serde_json::from_str(line) {
            runs.push(Run { header, events: Vec::new() });
        } else if let (Some(run), Some(event)) = (runs.last_mut(), Line::read(line)) {
            run.events.push(event);
        }
    }
    Ok(runs)
}

/// Writes the events of one run.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    /// The header, until it is written: a run that changes nothing is not recorded.
    header: Option<String>,
}

impl Recorder {
    /// Opens the file for a new run; creates it if it is missing.
    ///
    /// # Errors
    /// If it cannot be opened or shortened.
    pub fn begin(files: &Files, header: &Header) -> Result<Self, FileError> {
        let path = Path::new(RUNS);
        for directory in files.missing_parents(path) {
            files.make_directory(&directory, 0o700)?;
        }
        let text = files.read(path)?.unwrap_or_default();
        if text.len() > LARGEST {
            files.write(&[NewFile::private(path, newest(&text))])?;
        }
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(files.real(path));
        let file = open.map_err(failed("open", path))?;
        // A partial line that a power cut left must not swallow the header.
        let torn = text.last().is_some_and(|&byte| byte != b'\n');
        let header = serde_json::to_string(header).unwrap_or_default();
        Ok(Self { file, header: Some(if torn { format!("\n{header}") } else { header }) })
    }

    /// Records an event if a timeline shows it; `line` is the event as `--output json` prints it.
    pub fn take(&mut self, event: &Event, line: &str) {
        if let Event::Started { .. } | Event::Failed { .. } | Event::Done { changed: true, .. } = event {
            let header = self.header.take().map(|header| header + "\n").unwrap_or_default();
            let _ = self.file.write_all(format!("{header}{line}\n").as_bytes());
        }
    }
}

/// Returns the runs in the newer half of the file.
fn newest(text: &[u8]) -> &[u8] {
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
    use crate::engine::report::{Report, Style};

    fn header(time: u64) -> Header {
        Header { run: "up".into(), time, machine: "m1".into(), cluster: "lab".into() }
    }

    #[test]
    fn a_run_that_changed_something_is_recorded_with_the_other_machines() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let run = |time| {
            let report = Report::stdout(Style::Silent);
            report.record(Recorder::begin(&files, &header(time)).unwrap());
            report
        };
        let started = |step: &str| Event::Started { step: step.into(), title: "wait for it".into() };
        let done = |step: &str, changed| Event::Done { step: step.into(), changed, seconds: 1.0 };
        run(1).tell(&done("pki", false));
        let report = run(2);
        report.tell(&started("pki"));
        report.relay("m2", &started("etcd"));
        report.relay("m2", &done("etcd", true));
        report.tell(&done("pki", true));
        drop(run(3));
        let runs = read(&files).unwrap();
        assert_eq!(runs.len(), 1, "a run that changes nothing is not recorded");
        assert_eq!(runs[0].header, header(2));
        let hosts: Vec<Option<&str>> = runs[0].events.iter().map(|line| line.host.as_deref()).collect();
        assert_eq!(hosts, [None, Some("m2"), Some("m2"), None]);
        assert_eq!(runs[0].events[1].event, started("etcd"));
    }

    #[test]
    fn a_long_file_keeps_its_newer_runs() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let line = |time| serde_json::to_string(&header(time)).unwrap() + "\n";
        drop(Recorder::begin(&files, &header(0)).unwrap());
        let filler =
            format!("{{\"elapsed\":1,\"event\":\"note\",\"step\":\"x\",\"text\":\"{}\"}}\n", "y".repeat(LARGEST / 2));
        let text = [line(1), filler.clone(), line(2), filler, line(3), "{\"torn".into()].concat();
        files.write(&[NewFile::private(RUNS, text)]).unwrap();
        let mut recorder = Recorder::begin(&files, &header(4)).unwrap();
        recorder.take(&Event::Started { step: "a".into(), title: "b".into() }, "{}");
        let times: Vec<u64> = read(&files).unwrap().iter().map(|run| run.header.time).collect();
        assert_eq!(times, [3, 4]);
    }
}
