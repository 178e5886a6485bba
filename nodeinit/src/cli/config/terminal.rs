//! Questions to the operator.

use crate::engine::error::{Exit, StepError};
use nodeinit_screen::visible;
use std::io::{self, BufRead, Write};

/// Where the questions go, and the answers come from.
pub(super) struct Terminal<'t> {
    input: &'t mut dyn BufRead,
    output: &'t mut dyn Write,
}

impl<'t> Terminal<'t> {
    pub(super) fn new(input: &'t mut dyn BufRead, output: &'t mut dyn Write) -> Self {
        Self { input, output }
    }

    /// Prints a line.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(super) fn say(&mut self, line: &str) -> Result<(), StepError> {
        writeln!(self.output, "{}", visible(line)).map_err(lost)
    }

    /// Asks, and returns the answer: empty where the operator accepts the default.
    ///
    /// # Errors
    /// Where the answers end, or the terminal is gone.
    pub(super) fn ask(&mut self, question: &str, default: &str) -> Result<String, StepError> {
        let prompt = format!("{question} [{default}]: ");
        write!(self.output, "{}", visible(&prompt)).and_then(|()| self.output.flush()).map_err(lost)?;
        let mut answer = String::new();
        if self.input.read_line(&mut answer).map_err(lost)? == 0 {
            let error = StepError::new("standard input ended before all questions were answered; nothing was written")
                .exit(Exit::Usage);
            return Err(error.hint("answer every question, or add --yes to keep the defaults"));
        }
        Ok(answer.trim().to_owned())
    }

    /// Asks until the answer is yes or no.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub(super) fn confirm(&mut self, question: &str, default: bool) -> Result<bool, StepError> {
        loop {
            let answer = self.ask(question, if default { "yes" } else { "no" })?;
            match answer.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say(&format!("  {answer:?} is neither yes nor no"))?,
            }
        }
    }
}

fn lost(error: io::Error) -> StepError {
    StepError::caused("cannot ask", error)
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// What `ask` returns with these answers, and what it prints.
    pub(in crate::cli::config) async fn answered<T>(
        answers: &str,
        ask: impl AsyncFnOnce(&mut Terminal<'_>) -> T,
    ) -> (T, String) {
        let (mut input, mut output) = (answers.as_bytes(), Vec::new());
        let result = ask(&mut Terminal::new(&mut input, &mut output)).await;
        (result, String::from_utf8(output).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::answered;

    #[tokio::test]
    async fn yes_and_no_are_asked_for_until_one_of_them_comes() {
        let (answer, printed) = answered("perhaps\nY\n", async |terminal| terminal.confirm("Sure?", false)).await;
        assert!(answer.unwrap());
        assert_eq!(printed, "Sure? [no]:   \"perhaps\" is neither yes nor no\nSure? [no]: ");
        let (answer, _) = answered("\n", async |terminal| terminal.confirm("Sure?", true)).await;
        assert!(answer.unwrap());
        let (ended, _) = answered("", async |terminal| terminal.confirm("Sure?", true)).await;
        assert!(ended.unwrap_err().to_string().contains("nothing was written"));
    }
}
