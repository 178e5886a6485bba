//! The shells' completions are what the command line says.
//! `UPDATE_DOCS=1 cargo test -p provisioner --test completions` writes them.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test panics on an unexpected value; it writes files of the source tree"
)]

use clap_complete::Shell;
use std::{fs, path::Path};

#[test]
fn the_shells_completions_are_current() {
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut provisioner::cli::command(), "provisioner", &mut text);
        let name = format!("packaging/completions/provisioner.{shell}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(&name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let how = "UPDATE_DOCS=1 cargo test -p provisioner --test completions";
        assert!(fs::read(&path).unwrap_or_default() == text, "{name} is not what the code says; write it with: {how}");
    }
}
