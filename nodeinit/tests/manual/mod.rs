//! Renders manual pages. The provisioner's tests use this module, too.

use clap::Command;
use std::collections::BTreeMap;

/// Returns a page for the command and each subcommand, by its file name, such as `nodeinit-config-init.1`.
pub(crate) fn pages(root: Command) -> BTreeMap<String, String> {
    let mut root = without_help(root);
    root.build();
    let mut pages = BTreeMap::new();
    let program = root.get_name().to_owned();
    render(&root, &program, &mut pages);
    pages
}

/// The command `help` has no page, so no page may refer to one.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

#[allow(clippy::unwrap_used, reason = "writing to memory does not fail")]
fn render(command: &Command, program: &str, pages: &mut BTreeMap<String, String>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    // With the date and version, each release would change all pages.
    let page = clap_mangen::Man::new(command.clone()).title(&name).date("").source(program).manual(program);
    let mut text = Vec::new();
    page.render(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap().lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    pages.insert(format!("{name}.1"), text);
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        render(inner, program, pages);
    }
}
