//! Events: what `--output json` prints, one JSON object per line.

use nodeinit_config::Problem;
use serde::{Deserialize, Serialize};

/// The step under which a run fails if another run holds the machine's lock.
pub const LOCK: &str = "lock";

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A step starts to apply changes.
    Started {
        /// Its name.
        step: String,
        /// Its purpose.
        title: String,
    },
    /// A step has reached its desired state.
    Done {
        /// Its name.
        step: String,
        /// Whether it had to change anything.
        changed: bool,
        /// Seconds since its start.
        seconds: f64,
    },
    /// A note of a step.
    Note {
        /// Its name.
        step: String,
        /// One line.
        text: String,
    },
    /// A step failed.
    Failed {
        /// Its name.
        step: String,
        /// The failure.
        error: String,
        /// Why, outermost first.
        #[serde(default)]
        causes: Vec<String>,
        /// The fix.
        #[serde(default)]
        hint: Option<String>,
        /// The problems of the configuration, if they are the failure.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<ConfigProblem>,
    },
    /// `plan`: the changes that a step would make.
    Planned {
        /// Its name.
        step: String,
        /// A description of each change.
        changes: Vec<String>,
    },
    /// The summary of a run.
    Summary {
        /// Wall time.
        seconds: f64,
        /// The critical path: the steps that determined the length of the run.
        critical_path: Vec<PathPart>,
        /// The processor time of the process, without the programs that it ran.
        cpu_seconds: f64,
        /// The largest resident size of the process.
        peak_memory_bytes: u64,
    },
}

impl Event {
    /// Returns the step of the event; none for the summary.
    #[must_use]
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Started { step, .. }
            | Self::Done { step, .. }
            | Self::Note { step, .. }
            | Self::Failed { step, .. }
            | Self::Planned { step, .. } => Some(step),
            Self::Summary { .. } => None,
        }
    }

    /// Returns why a run did not start, if another run holds the machine's lock.
    #[must_use]
    pub fn lock_holder(&self) -> Option<&str> {
        match self {
            Self::Failed { step, error, .. } if step == LOCK => Some(error),
            _ => None,
        }
    }
}

/// A problem of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigProblem {
    /// The file, or another source such as `--set`.
    pub file: String,
    /// The line, from 1; 0 if the source has no lines.
    pub line: usize,
    /// The column in characters, from 1; 0 if the source has no lines.
    pub column: usize,
    /// The key's path, such as `masters[1].address`; empty for the complete file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The fix.
    pub hint: String,
}

impl From<&Problem> for ConfigProblem {
    fn from(problem: &Problem) -> Self {
        let Problem { origin, path, what, remedy } = problem.clone();
        Self { file: origin.source, line: origin.line, column: origin.column, key: path, message: what, hint: remedy }
    }
}

/// One step of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathPart {
    /// The step.
    pub step: String,
    /// When it started, from the start of the run.
    pub start: f64,
    /// How long it took.
    pub seconds: f64,
}

/// A line of `--output json`: an event with its machine and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// The machine, if it is not the one that prints the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Seconds since the start of the run that prints the line.
    #[serde(default)]
    pub elapsed: f64,
}

impl Line {
    /// Reads a line. Returns `None` if it is not an event that this version knows. A shell may print other lines before those of nodeinit.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The contract of events: each line as `docs/reference/cli.md` describes it. Programs of users and other versions of nodeinit read these.
    fn contract() -> Vec<(Value, Event)> {
        let step = || "etcd".to_owned();
        vec![
            (
                json!({"event": "started", "step": "etcd", "title": "wait"}),
                Event::Started { step: step(), title: "wait".into() },
            ),
            (
                json!({"event": "done", "step": "etcd", "changed": true, "seconds": 1.5}),
                Event::Done { step: step(), changed: true, seconds: 1.5 },
            ),
            (json!({"event": "note", "step": "etcd", "text": "x"}), Event::Note { step: step(), text: "x".into() }),
            (
                json!({"event": "planned", "step": "etcd", "changes": ["a", "b"]}),
                Event::Planned { step: step(), changes: vec!["a".into(), "b".into()] },
            ),
            (
                json!({"event": "failed", "step": "etcd", "error": "e", "causes": ["c"], "hint": null}),
                Event::Failed {
                    step: step(),
                    error: "e".into(),
                    causes: vec!["c".into()],
                    hint: None,
                    problems: vec![],
                },
            ),
            (
                json!({"event": "failed", "step": "etcd", "error": "e", "causes": [], "hint": "h"}),
                Event::Failed {
                    step: step(),
                    error: "e".into(),
                    causes: vec![],
                    hint: Some("h".into()),
                    problems: vec![],
                },
            ),
            (
                json!({
                    "event": "failed", "step": "etcd", "error": "e", "causes": [], "hint": null,
                    "problems": [{"file": "f", "line": 2, "column": 1, "key": "k", "message": "m", "hint": "h"}],
                }),
                Event::Failed {
                    step: step(),
                    error: "e".into(),
                    causes: vec![],
                    hint: None,
                    problems: vec![ConfigProblem {
                        file: "f".into(),
                        line: 2,
                        column: 1,
                        key: "k".into(),
                        message: "m".into(),
                        hint: "h".into(),
                    }],
                },
            ),
            (
                json!({
                    "event": "summary", "seconds": 2.0, "cpu_seconds": 0.25, "peak_memory_bytes": 4096,
                    "critical_path": [{"step": "etcd", "start": 0.5, "seconds": 1.5}],
                }),
                Event::Summary {
                    seconds: 2.0,
                    critical_path: vec![PathPart { step: step(), start: 0.5, seconds: 1.5 }],
                    cpu_seconds: 0.25,
                    peak_memory_bytes: 4096,
                },
            ),
        ]
    }

    #[test]
    fn events_are_printed_and_read_as_documented() {
        for (mut printed, event) in contract() {
            printed["elapsed"] = json!(12.25);
            let mut line = Line { event, host: None, elapsed: 12.25 };
            assert_eq!(serde_json::to_value(&line).unwrap(), printed);
            assert_eq!(Line::read(&printed.to_string()), Some(line.clone()));
            printed["host"] = json!("m2");
            line.host = Some("m2".into());
            assert_eq!(serde_json::to_value(&line).unwrap(), printed);
            assert_eq!(Line::read(&printed.to_string()), Some(line));
        }
    }

    #[test]
    fn the_events_are_those_of_the_documentation() {
        let page = include_str!("../../../docs/reference/cli.md");
        for (printed, _) in contract() {
            let object = printed.as_object().unwrap();
            let name = object["event"].as_str().unwrap();
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
            for key in object.keys().filter(|key| *key != "event") {
                assert!(row.contains(&format!("`{key}`")), "{row} does not name {key}");
            }
        }
    }

    #[test]
    fn lines_of_other_versions_are_read() {
        let older = Line::read(r#"{"event":"failed","step":"lock","error":"busy"}"#).unwrap();
        assert_eq!(older.event.lock_holder(), Some("busy"));
        let newer = r#"{"event":"note","step":"up","text":"x","elapsed":1.0,"level":"warning"}"#;
        assert!(Line::read(newer).is_some(), "a further key is ignored");
        for none in [r#"{"event":"watched","step":"up"}"#, "Welcome to m1!", "", "{}"] {
            assert_eq!(Line::read(none), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_survives(step in ".*", error in ".*", causes in proptest::collection::vec(".*", 0..3), hint in proptest::option::of(".*")) {
            let line = Line { event: Event::Failed { step, error, causes, hint, problems: vec![] }, host: None, elapsed: 0.5 };
            let printed = serde_json::to_string(&line).unwrap();
            prop_assert!(!printed.contains('\n'), "one line");
            prop_assert_eq!(Line::read(&printed), Some(line));
        }
    }
}
