//! The shells' completions and the manual pages are what the command line says.
//! `UPDATE_DOCS=1 cargo test -p provisioner --test docs` writes them.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test panics on an unexpected value; it writes files of the source tree"
)]

#[path = "../../nodeinit/tests/manual/mod.rs"]
mod manual;

use clap_complete::Shell;
use provisioner::cli;
use std::{fs, path::Path};

#[test]
fn the_shells_completions_are_current() {
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut cli::command(), "provisioner", &mut text);
        is_current(&format!("completions/provisioner.{shell}"), &text);
    }
}

#[test]
fn the_manual_pages_are_current() {
    let pages = manual::pages(cli::command());
    for (name, text) in &pages {
        is_current(&format!("man/{name}"), text.as_bytes());
    }
    for entry in fs::read_dir(packaging().join("man")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let own = name.starts_with("provisioner");
        assert!(!own || pages.contains_key(&name), "packaging/man/{name} belongs to no command");
    }
}

fn packaging() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

fn is_current(name: &str, text: &[u8]) {
    let path = packaging().join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let how = "UPDATE_DOCS=1 cargo test -p provisioner --test docs";
    assert!(fs::read(&path).unwrap_or_default() == text, "packaging/{name} is not current; write it with: {how}");
}
