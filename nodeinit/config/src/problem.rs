//! The problems of a configuration: every problem of every layer in one report.

use std::fmt;

/// Where a value was written: a layer and a position in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The layer's name: a file, or `default`.
    pub source: String,
    /// The line, from 1; 0 if the layer has no lines.
    pub line: usize,
    /// The column in characters, from 1; 0 if the layer has no lines.
    pub column: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.source),
            _ => write!(f, "{}:{}:{}", self.source, self.line, self.column),
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its position.
    pub origin: Origin,
    /// The key's path, such as `masters[1].address`; empty for the complete file.
    pub path: String,
    /// What is wrong.
    pub what: String,
    /// The fix.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)
    }
}

/// All problems of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// What is wrong, in the order of layers and lines. Never empty.
    pub errors: Vec<Problem>,
    /// What may explain it: a value that is missing may be in a file that nothing reads.
    pub warnings: Vec<Problem>,
}

impl From<Vec<Problem>> for Problems {
    fn from(errors: Vec<Problem>) -> Self {
        Self { errors, warnings: Vec::new() }
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.errors.len();
        write!(f, "the configuration has {count} problem{}", if count == 1 { "" } else { "s" })?;
        let warnings = self.warnings.iter().map(|warning| ("warning: ", warning));
        for (kind, problem) in self.errors.iter().map(|error| ("", error)).chain(warnings) {
            write!(f, "\n  {kind}{problem}")?;
            if !problem.remedy.is_empty() {
                write!(f, "\n      hint: {}", problem.remedy)?;
            }
        }
        Ok(())
    }
}

/// A position in a layer, which is identified by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) layer: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Mark {
    /// The built-in defaults: always the first layer.
    pub(crate) const DEFAULT: Self = Self { layer: 0, line: 0, column: 0 };

    pub(crate) fn origin(self, sources: &[Source]) -> Origin {
        match sources.get(self.layer) {
            Some(Source { name, lines: true }) => Origin { source: name.clone(), line: self.line, column: self.column },
            Some(Source { name, lines: false }) => Origin { source: name.clone(), line: 0, column: 0 },
            None => Origin { source: String::new(), line: 0, column: 0 },
        }
    }
}

/// A layer's name, and whether it has lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) lines: bool,
}

/// The longest text in a report, in characters: more than any sentence of nodeinit, less than a value pasted by mistake.
const LONGEST: usize = 1000;

/// Shortens a text that repeats a long value: keeps its start and its end, which describe the problem.
fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_owned();
    }
    let (head, tail) = (LONGEST / 2, LONGEST / 4);
    let omitted = length - head - tail;
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{begin}… ({omitted} characters omitted) …{end}")
}

/// Collects problems while layers are read, so that the first does not hide the rest.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<(Mark, String, Flaw)>);

/// The problem of one value and its fix; the caller knows the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Flaw {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }
}

impl Findings {
    pub(crate) fn add(&mut self, at: Mark, path: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.flaw(at, path, Flaw::new(what, remedy));
    }

    pub(crate) fn flaw(&mut self, at: Mark, path: &str, flaw: Flaw) {
        self.0.push((at, shortened(path), Flaw { what: shortened(&flaw.what), remedy: shortened(&flaw.remedy) }));
    }

    /// Returns the first problem that was found.
    pub(crate) fn first(&self) -> Option<(Mark, &Flaw)> {
        self.0.first().map(|(at, _, flaw)| (*at, flaw))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds those of `other` that it has not, after `correct` has corrected their paths and texts.
    pub(crate) fn merge(&mut self, other: Self, correct: impl Fn(Mark, String, Flaw) -> (String, Flaw)) {
        for (at, path, flaw) in other.0 {
            let (path, flaw) = correct(at, path, flaw);
            let finding = (at, path, flaw);
            if !self.0.contains(&finding) {
                self.0.push(finding);
            }
        }
    }

    /// Returns the problems in the order of layers and lines, without duplicates.
    pub(crate) fn into_problems(mut self, sources: &[Source]) -> Vec<Problem> {
        self.0.sort_by_key(|(at, _, _)| *at);
        self.0.dedup();
        let problem = |(at, path, flaw): (Mark, String, Flaw)| Problem {
            origin: at.origin(sources),
            path,
            what: flaw.what,
            remedy: flaw.remedy,
        };
        self.0.into_iter().map(problem).collect()
    }
}
