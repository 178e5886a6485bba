//! `nodeinit`: start, report, exit code.

use nodeinit::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::report_defects();
    ExitCode::from(cli::run() as u8)
}
