//! `completion`: prints a shell's completion script, generated from the definition of the command line.

use super::{command, print};
use crate::engine::error::StepError;
use clap::{Args, ValueEnum};
use clap_complete::{generate, shells};

#[derive(Args)]
pub(super) struct Completion {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Fish,
    Zsh,
}

pub(super) fn run(args: &Completion) -> Result<(), StepError> {
    let (mut command, mut script) = (command(), Vec::new());
    match args.shell {
        Shell::Bash => generate(shells::Bash, &mut command, "nodeinit", &mut script),
        Shell::Fish => generate(shells::Fish, &mut command, "nodeinit", &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, "nodeinit", &mut script),
    }
    print(&String::from_utf8_lossy(&script))
}
