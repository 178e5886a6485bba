//! What took how long: a picture in text for the end of an `apply`, and the record from which `timeline` draws past runs.

use crate::error::Error;
use nodeinit_base::atomic_file;
use nodeinit_protocol::{
    Event, Line,
    run::{self, Header, LARGEST, Recorder, Run, newest},
};
use nodeinit_screen::{
    chart::{Bar, Chart},
    run::{CLOUD, bars},
};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// What took less than this part of the whole is not told at the end of a run.
const SHORTEST: f64 = 50.0;

/// Where the runs of a cluster are recorded, in the operator's directory.
#[must_use]
pub fn path(cluster: &str) -> PathBuf {
    format!("{cluster}.runs.jsonl").into()
}

/// The runs on record, the oldest first.
///
/// # Errors
/// Where the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<Run>, Error> {
    Ok(run::read(&String::from_utf8_lossy(&content(path)?)))
}

fn content(path: &Path) -> Result<Vec<u8>, Error> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(Error::Refused {
            what: format!("cannot read the record of runs {}: {e}", path.display()),
            remedy: "make it readable, or move it away".to_owned(),
        }),
    }
}

/// The events of this run.
pub struct Timeline {
    run: RefCell<Run>,
    record: RefCell<Option<Record>>,
}

/// Where something happens, and as which step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    host: String,
    step: String,
    title: String,
    /// Whether it changes something, and is not only waited for.
    changes: bool,
}

impl Place {
    /// Of something that is under way: `server/m1`, a step as `m1: etcd`, or `m1`, which then is waited for.
    #[must_use]
    pub fn of(name: &str, what: &str) -> Self {
        let (host, step, title, changes) = match name.split_once(": ") {
            Some((host, step)) => (host, step, what.to_owned(), true),
            None if name.contains('/') => (CLOUD, name, format!("{what} {name}"), true),
            None => (name, what.split(' ').next().unwrap_or_default(), format!("wait for {name}, which {what}"), false),
        };
        Self { host: host.to_owned(), step: step.to_owned(), title, changes }
    }
}

/// The file of past runs. A run that changes nothing leaves no record.
struct Record {
    path: PathBuf,
    header: Header,
    /// What was waited for before the first change.
    held_back: Vec<Line>,
    /// Since the first change.
    recorder: Option<Recorder<File>>,
}

impl Record {
    fn take(&mut self, line: &Line, changes: bool) -> Result<(), Error> {
        if self.recorder.is_none() && !changes {
            self.held_back.push(line.clone());
            return Ok(());
        }
        let recorder = match self.recorder.take() {
            Some(recorder) => recorder,
            None => self.open()?,
        };
        let recorder = self.recorder.insert(recorder);
        for line in self.held_back.drain(..).chain([line.clone()]) {
            recorder.take(&line.event, &serde_json::to_string(&line).unwrap_or_default());
        }
        Ok(())
    }

    fn open(&self) -> Result<Recorder<File>, Error> {
        let text = content(&self.path)?;
        let failed = |e: io::Error| Error::Refused {
            what: format!("cannot write the record of runs {}: {e}", self.path.display()),
            remedy: "make it writable, or move it away".to_owned(),
        };
        if text.len() > LARGEST {
            atomic_file::write_private(&self.path, newest(&text)).map_err(failed)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path).map_err(failed)?;
        Ok(Recorder::new(file, &text, &self.header))
    }
}

impl Default for Timeline {
    fn default() -> Self {
        let header = Header { run: String::new(), time: 0, machine: String::new(), cluster: String::new() };
        Self { run: RefCell::new(Run { header, events: Vec::new() }), record: RefCell::default() }
    }
}

/// One row of the picture at the end: a step of a machine, or all parts of a kind.
struct Row {
    count: usize,
    bar: Bar,
}

impl Timeline {
    /// Records this run in a file, too.
    pub fn record(&self, path: PathBuf, header: Header) {
        *self.record.borrow_mut() = Some(Record { path, header, held_back: Vec::new(), recorder: None });
    }

    /// Something is under way from now on.
    ///
    /// # Errors
    /// The run cannot be recorded, and is not from now on.
    pub fn began(&self, place: &Place, at: Duration) -> Result<(), Error> {
        self.add(place, at, Event::Started { step: place.step.clone(), title: place.title.clone() })
    }

    /// It ended, after so long.
    ///
    /// # Errors
    /// As [`Self::began`].
    pub fn ended(&self, place: &Place, at: Duration, took: Duration, failed: bool) -> Result<(), Error> {
        let step = place.step.clone();
        let event = match failed {
            false => Event::Done { step, changed: true, seconds: rounded(took) },
            true => Event::Failed { step, error: String::new(), causes: Vec::new(), hint: None, problems: Vec::new() },
        };
        self.add(place, at, event)
    }

    fn add(&self, place: &Place, at: Duration, event: Event) -> Result<(), Error> {
        let line = Line { event, host: Some(place.host.clone()), elapsed: rounded(at) };
        self.run.borrow_mut().events.push(line.clone());
        let mut record = self.record.borrow_mut();
        let taken = record.as_mut().map_or(Ok(()), |record| record.take(&line, place.changes));
        if taken.is_err() {
            *record = None;
        }
        taken
    }

    /// What is long enough to be looked at. The parts of a kind share a row.
    fn seen(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for bar in bars(&self.run.borrow()) {
            let step =
                bar.step.split_once('/').filter(|_| bar.host == CLOUD).map_or(bar.step.as_str(), |(kind, _)| kind);
            match rows.iter_mut().find(|row| row.bar.host == bar.host && row.bar.step == step) {
                Some(row) => {
                    row.count += 1;
                    row.bar.start = row.bar.start.min(bar.start);
                    row.bar.end = row.bar.end.max(bar.end);
                    row.bar.failed |= bar.failed;
                }
                None => rows.push(Row { count: 1, bar: Bar { step: step.to_owned(), ..bar } }),
            }
        }
        let whole = rows.iter().map(|row| row.bar.end).fold(0.0, f64::max);
        rows.retain(|row| (row.bar.end - row.bar.start) * SHORTEST >= whole);
        rows.sort_by(|a, b| a.bar.start.total_cmp(&b.bar.start).then(a.bar.end.total_cmp(&b.bar.end)));
        rows
    }

    /// A picture in text, under this title.
    #[must_use]
    pub fn text(&self, title: &str) -> String {
        let rows = self.seen();
        if rows.is_empty() {
            return title.to_owned();
        }
        let step = |row: &Row| match row.count {
            1 => row.bar.step.clone(),
            count => format!("{} ({count})", row.bar.step),
        };
        let bars = rows.iter().map(|row| Bar { step: step(row), ..row.bar.clone() }).collect();
        Chart { title: format!("{title}:"), bars }.text().trim_end().to_owned()
    }

    /// The same for programs.
    #[must_use]
    pub fn rows(&self) -> Value {
        let row = |Row { count, bar }: Row| {
            let name = if bar.host == CLOUD { bar.step } else { format!("{}: {}", bar.host, bar.step) };
            json!({ "name": name, "count": count, "start": bar.start, "end": bar.end })
        };
        json!(self.seen().into_iter().map(row).collect::<Vec<_>>())
    }
}

/// Seconds with three places.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(timeline: &Timeline, name: &str, what: &str, start: u64, end: u64) {
        let (place, seconds) = (Place::of(name, what), Duration::from_secs);
        timeline.began(&place, seconds(start)).unwrap();
        timeline.ended(&place, seconds(end), seconds(end - start), false).unwrap();
    }

    #[test]
    fn rows_stand_in_the_order_of_their_beginning_and_share_a_scale() {
        let timeline = Timeline::default();
        add(&timeline, "server/m1", "creating", 10, 25);
        add(&timeline, "volume/m1", "creating", 0, 10);
        add(&timeline, "server/m2", "creating", 12, 30);
        add(&timeline, "m1", "boots and shows its SSH host keys on its console", 25, 40);
        let text = timeline.text("40.0 s in all");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(text.starts_with("40.0 s in all:\n") && lines[0].starts_with("  volume      "), "{text}");
        assert!(lines[1].starts_with("  server (2)  ") && lines[2].starts_with("  boots "), "{text}");
        let drawn = |line: &str, mark: char| line.matches(mark).count();
        assert_eq!((drawn(lines[0], '█'), drawn(lines[1], '█'), drawn(lines[2], '░')), (12, 24, 18), "{text}");
        assert_eq!(timeline.rows()[2]["name"], "m1: boots");
    }

    #[test]
    fn what_is_short_is_left_out() {
        let timeline = Timeline::default();
        assert_eq!(timeline.text("0.0 s in all"), "0.0 s in all");
        let place = Place::of("port/m1", "creating");
        timeline.began(&place, Duration::ZERO).unwrap();
        timeline.ended(&place, Duration::from_millis(100), Duration::from_millis(100), false).unwrap();
        add(&timeline, "server/m1", "creating", 0, 9);
        assert_eq!(timeline.rows().as_array().map(Vec::len), Some(1), "{}", timeline.text(""));
    }

    #[test]
    fn a_run_that_changes_something_is_on_record_with_what_was_waited_for_before() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("demo.runs.jsonl");
        let header = |time| Header { run: "apply".into(), time, machine: "laptop".into(), cluster: "demo".into() };
        let run = |time| {
            let timeline = Timeline::default();
            timeline.record(file.clone(), header(time));
            add(&timeline, "m1", "accepts an SSH login", 0, 1);
            timeline
        };
        run(1);
        assert!(!file.exists(), "run 1 changed nothing");
        let timeline = run(2);
        let etcd = Place::of("m1: etcd", "wait for a healthy etcd");
        timeline.began(&etcd, Duration::from_secs(1)).unwrap();
        timeline.ended(&etcd, Duration::from_secs(2), Duration::from_secs(1), true).unwrap();
        let runs = read(&file).unwrap();
        assert_eq!(runs.iter().map(|run| run.header.time).collect::<Vec<_>>(), [2]);
        let shown: Vec<(String, String, bool)> =
            bars(&runs[0]).into_iter().map(|bar| (bar.host, bar.step, bar.failed)).collect();
        let bar = |step: &str, failed| ("m1".to_owned(), step.to_owned(), failed);
        assert_eq!(shown, [bar("accepts", false), bar("etcd", true)]);
        assert!(read(&directory.path().join("none")).unwrap().is_empty());
        let nowhere = Timeline::default();
        nowhere.record(directory.path().join("none/demo.runs.jsonl"), header(3));
        assert!(nowhere.began(&etcd, Duration::ZERO).is_err() && nowhere.began(&etcd, Duration::ZERO).is_ok());
    }
}
