//! Starts the provisioner.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(provisioner::cli::run() as u8)
}
