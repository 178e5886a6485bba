//! Starts the provisioner, and tells how it ended.

use clap::{Parser, error::ErrorKind};
use nodeinit_screen::tell;
use provisioner::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Where the terminal is gone there is nobody to tell.
            let _ = e.print();
            let asked = matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked { ExitCode::SUCCESS } else { ExitCode::from(cli::USAGE) };
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            tell(&format!("error: cannot begin: {e}"));
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(cli.run()) {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("error: {error}"));
            if let Some(hint) = error.hint().filter(|hint| !hint.is_empty()) {
                tell(&format!("  hint:  {hint}"));
            }
            error.exit_code()
        }
    }
}
