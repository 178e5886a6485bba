//! The record of this machine's runs, for `nodeinit timeline`: the events of this machine, and of those that it brought up.

use crate::host::files::{File, FileError, Files, NewFile};
use nodeinit_protocol::run::{self, LARGEST, newest};
pub use nodeinit_protocol::run::{Header, Run};
use std::path::Path;

/// The path of the file.
pub const RUNS: &str = "/var/lib/nodeinit/runs.jsonl";

/// Writes the events of one run.
pub type Recorder = run::Recorder<File>;

/// The runs on record, the oldest first.
///
/// # Errors
/// If the file cannot be read.
pub fn read(files: &Files) -> Result<Vec<Run>, FileError> {
    Ok(run::read(&files.read_text(RUNS)?.unwrap_or_default()))
}

/// Opens the file for a new run; creates it if it is missing.
///
/// # Errors
/// Where it cannot be opened, or not be shortened.
pub fn begin(files: &Files, header: &Header) -> Result<Recorder, FileError> {
    let path = Path::new(RUNS);
    for directory in files.missing_parents(path) {
        files.make_directory(&directory, 0o700)?;
    }
    let text = files.read(path)?.unwrap_or_default();
    if text.len() > LARGEST {
        files.write(&[NewFile::private(path, newest(&text))])?;
    }
    Ok(Recorder::new(files.open_to_append(path)?, &text, header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::report::{Report, Style};
    use nodeinit_protocol::Event;

    fn header(time: u64) -> Header {
        Header { run: "up".into(), time, machine: "m1".into(), cluster: "lab".into() }
    }

    #[test]
    fn a_run_that_changed_something_is_recorded_with_the_other_machines() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let run = |time| {
            let report = Report::stdout(Style::Silent);
            report.record(begin(&files, &header(time)).unwrap());
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
        drop(begin(&files, &header(0)).unwrap());
        let filler =
            format!("{{\"elapsed\":1,\"event\":\"note\",\"step\":\"x\",\"text\":\"{}\"}}\n", "y".repeat(LARGEST / 2));
        let text = [line(1), filler.clone(), line(2), filler, line(3), "{\"torn".into()].concat();
        files.write(&[NewFile::private(RUNS, text)]).unwrap();
        let mut recorder = begin(&files, &header(4)).unwrap();
        recorder.take(&Event::Started { step: "a".into(), title: "b".into() }, "{}");
        let times: Vec<u64> = read(&files).unwrap().iter().map(|run| run.header.time).collect();
        assert_eq!(times, [3, 4]);
    }
}
