//! Starts the provisioner.

use std::process::ExitCode;

fn main() -> ExitCode {
    provisioner::cli::run()
}
