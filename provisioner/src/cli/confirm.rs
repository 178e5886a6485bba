//! Questions to the operator, at a terminal.

use crate::error::Error;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

/// Whether somebody is there who can answer; otherwise `--yes` is required.
pub(super) fn needs_terminal(command: &str) -> Result<(), Error> {
    match stdin().is_terminal() {
        true => Ok(()),
        false => Err(Error::Usage(format!(
            "`{command}` asks for confirmation, but standard input is not a terminal; add --yes to confirm"
        ))),
    }
}

/// Asks whether something shall be done; anything but yes is no.
pub(super) fn agrees(question: &str) -> bool {
    answer(question).is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// The operator's answer; `None` at the end of the input.
pub(super) fn answer(question: &str) -> Option<String> {
    let mut err = stderr().lock();
    let _ = write!(err, "{question} ");
    let _ = err.flush();
    let mut answer = String::new();
    match stdin().lock().read_line(&mut answer) {
        Ok(read) if read > 0 => Some(answer.trim().to_owned()),
        _ => None,
    }
}
