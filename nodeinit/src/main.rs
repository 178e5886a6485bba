//! `nodeinit`: starts, reports and exits with the exit code.

use nodeinit::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::report_defects();
    ExitCode::from(cli::run() as u8)
}
