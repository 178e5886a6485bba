//! What people and programs read: lines of text, or one JSON object a line.

use clap::ValueEnum;
use serde_json::Value;
use std::io::Write;

/// How to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// How.
    pub format: Format,
}

impl Output {
    /// One thing: a line of text, or an object.
    pub fn tell(self, text: &str, object: impl FnOnce() -> Value) {
        match self.format {
            Format::Text => line(text),
            Format::Json => line(&object().to_string()),
        }
    }

    /// Text that has no object.
    pub fn text(self, text: &str) {
        if self.format == Format::Text {
            line(text);
        }
    }
}

/// A line to standard output. A reader that has gone away is no reason to stop half way.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
