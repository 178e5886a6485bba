//! What failed first, for the end of a report.

use super::Error;
use serde_json::{Value, json};
use std::fmt;

/// So many names of a cause are listed.
const NAMED: usize = 3;

/// Failures of a run.
#[derive(Debug, Default)]
pub struct Causes {
    all: Vec<Cause>,
    failed: usize,
}

/// A reason for which something failed, or several things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What failed, such as `server/m1`.
    pub names: Vec<String>,
    /// Why.
    pub why: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Causes {
    /// Adds what failed together. What only failed because of something else is counted and no cause.
    pub fn add(&mut self, names: Vec<String>, error: &Error) {
        self.failed += names.len();
        if matches!(error, Error::NotBegun(_)) {
            return;
        }
        let text = error.to_string();
        let why = names.iter().find_map(|name| text.strip_prefix(name.as_str())?.strip_prefix(": "));
        let why = why.unwrap_or(&text).to_owned();
        match self.all.iter_mut().find(|cause| cause.why == why) {
            Some(cause) => cause.names.extend(names),
            None => self.all.push(Cause { names, why, hint: error.hint() }),
        }
    }

    /// The end of a run of so many parts.
    ///
    /// # Errors
    /// Something failed.
    pub fn outcome(self, all: usize) -> Result<(), Error> {
        match self.failed {
            0 => Ok(()),
            failed => Err(Error::Partly { failed, all, causes: self.all }),
        }
    }
}

impl Cause {
    /// The same for programs.
    pub fn object(&self) -> Value {
        json!({ "parts": self.names, "error": self.why, "hint": self.hint })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        write!(f, "{named}")?;
        if self.names.len() > NAMED {
            write!(f, " and {} more", self.names.len() - NAMED)?;
        }
        write!(f, ": {}", self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_because_of_something_else_is_no_cause_and_equal_causes_are_one() {
        let mut causes = Causes::default();
        for n in 1..=5 {
            let fault = Error::Fault { thing: format!("volume/w{n}"), fault: "no space".to_owned() };
            causes.add(vec![format!("volume/w{n}")], &fault);
            causes.add(vec![format!("server/w{n}")], &Error::NotBegun(format!("volume/w{n}")));
        }
        let Err(Error::Partly { failed: 10, all: 40, causes }) = causes.outcome(40) else { panic!("10 failed") };
        let told: Vec<String> = causes.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["volume/w1, volume/w2, volume/w3 and 2 more: the cloud could not create it: no space"]);
        assert!(Causes::default().outcome(40).is_ok());
    }
}
