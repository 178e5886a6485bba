//! Verifies that the generated parts of `docs/` and `packaging/` are current.
//! `UPDATE_DOCS=1 cargo test -p nodeinit --test docs` writes them.
#![allow(clippy::unwrap_used, reason = "a test panics on an unexpected value")]

mod manual;

use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;
use nodeinit::{cli, of_first_master};
use nodeinit_config::{Layer, releases::DEFAULT, short_template};
use std::{collections::BTreeSet, path::Path};

#[test]
fn the_page_of_the_command_line_is_current() {
    let mut root = cli::command();
    root.build();
    let mut page = include_str!("cli.md").to_owned();
    let shared: Vec<Arg> = root.find_subcommand("plan").into_iter().flat_map(Command::get_arguments).cloned().collect();
    options(shared.iter().filter(|arg| !is_help(arg) && !arg.is_hide_set()), &mut page);
    commands(&mut root, 2, &shared, &mut page);
    is_current("reference/cli.md", &page);
}

#[test]
fn the_table_of_steps_is_current() {
    const MARKS: [&str; 2] = ["<!-- steps: made from the plan -->\n", "<!-- end of steps -->"];
    let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nartifacts: {source: /opt/kubernetes}\n";
    let cluster = nodeinit_config::load(&[Layer::file("cluster.yaml", head)]).unwrap().cluster;
    let plan = of_first_master(&cluster).unwrap();
    let mut table = "\n| step | what it does | after |\n|---|---|---|\n".to_owned();
    for (index, node) in plan.nodes().iter().enumerate() {
        let needs: Vec<String> = node.after.iter().map(|need| format!("`{need}`")).collect();
        let after = if index > 1 && needs.len() == index { "all others".to_owned() } else { needs.join(", ") };
        table += &format!("| `{}` | {} | {after} |\n", node.id, node.step.title());
    }
    let page = std::fs::read_to_string(document("architecture.md")).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, behind) = rest.split_once(MARKS[1]).unwrap();
    is_current("architecture.md", &format!("{before}{}{table}\n{}{behind}", MARKS[0], MARKS[1]));
}

#[test]
fn the_example_is_what_config_init_writes() {
    let layers = [
        ("name", "example"),
        ("kubernetes.version", DEFAULT),
        ("network.podCIDR", "10.244.0.0/16"),
        ("network.serviceCIDR", "10.96.0.0/12"),
        ("artifacts.source", "upstream"),
        ("ssh.keyFile", "/root/.ssh/id_ed25519"),
        ("controlPlane.virtualAddress", "10.0.0.10"),
        ("masters", "[{name: m1, address: 10.0.0.11}, {name: m2, address: 10.0.0.12}, {name: m3, address: 10.0.0.13}]"),
        ("workers", "[{name: w1, address: 10.0.0.21}]"),
    ];
    let layers = layers.map(|(path, value)| Layer::setting("--set", path, value));
    let header = "# yaml-language-server: $schema=nodeinit.schema.json\n";
    is_current("examples/cluster.yaml", &format!("{header}{}", short_template(&layers).unwrap()));
    is_current("examples/nodeinit.schema.json", &format!("{:#}\n", nodeinit_config::json_schema()));
}

#[test]
fn each_dependency_has_its_reason() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml")).unwrap();
    let (_, listed) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let listed = listed.lines().take_while(|line| !line.starts_with('[')).filter(|line| !line.contains("path ="));
    let wanted: BTreeSet<&str> = listed.filter_map(|line| line.split_once(" =")).map(|(name, _)| name).collect();
    let page = std::fs::read_to_string(document("internals/dependencies.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let told: BTreeSet<&str> = rows.map(|(name, _)| name).collect();
    assert_eq!(told, wanted, "docs/internals/dependencies.md names other crates than Cargo.toml");
}

#[test]
fn the_shells_completions_are_current() {
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut cli::command(), "nodeinit", &mut text);
        is_current(&format!("../packaging/completions/nodeinit.{shell}"), &String::from_utf8(text).unwrap());
    }
}

#[test]
fn the_manual_pages_are_current() {
    let pages = manual::pages(cli::command());
    for (name, text) in &pages {
        is_current(&format!("../packaging/man/{name}"), text);
    }
    for entry in std::fs::read_dir(document("../packaging/man")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let own = !name.starts_with("provisioner");
        assert!(!own || pages.contains_key(&name), "packaging/man/{name} belongs to no command");
    }
}

fn document(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

fn is_current(name: &str, current: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        #[allow(clippy::disallowed_methods, reason = "a document of the source tree")]
        std::fs::write(document(name), current).unwrap();
    }
    let written = std::fs::read_to_string(document(name)).unwrap_or_default();
    let how = "UPDATE_DOCS=1 cargo test -p nodeinit --test docs";
    assert!(written == current, "docs/{name} is not current; write it with: {how}");
}

/// Writes a section for each command below `parent`.
fn commands(parent: &mut Command, level: usize, shared: &[Arg], page: &mut String) {
    let shown = |command: &&mut Command| command.get_name() != "help" && !command.is_hide_set();
    for command in parent.get_subcommands_mut().filter(shown) {
        let name = command.get_bin_name().unwrap_or_default();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        *page += &format!("\n{} `{name}`\n\n{about}.\n", "#".repeat(level));
        if command.has_subcommands() {
            commands(command, level + 1, shared, page);
            continue;
        }
        let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let usage = command.render_usage().to_string();
        *page += &format!("\n    {}\n", usage.trim_start_matches("Usage: "));
        let is_shared = |arg: &&Arg| shared.iter().any(|s| s.get_long() == arg.get_long() && help(s) == help(arg));
        let (known, own): (Vec<&Arg>, Vec<&Arg>) =
            command.get_arguments().filter(|arg| !is_help(arg) && !arg.is_hide_set()).partition(is_shared);
        if !own.is_empty() {
            options(own.into_iter(), page);
        }
        if !known.is_empty() {
            let names: Vec<String> = known.into_iter().map(|arg| format!("`{}`", flag(arg))).collect();
            *page += &format!("\nShared: {}.\n", names.join(", "));
        }
        if let Some((example, more)) = below.trim_start_matches("Example:\n  ").split_once("\n\nMore: docs/") {
            *page += &format!("\nExample: `{example}`. More: [{more}](../{more}).\n");
        }
    }
}

fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version)
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Formats `--config FILE`, `-o, --output OUTPUT`, or `NAME`.
fn flag(arg: &Arg) -> String {
    let values =
        arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    match (arg.get_long(), arg.get_action().takes_values()) {
        (Some(long), true) => format!("{short}--{long} {values}"),
        (Some(long), false) => format!("{short}--{long}"),
        (None, _) => values,
    }
}

fn options<'a>(arguments: impl Iterator<Item = &'a Arg>, page: &mut String) {
    *page += "\n| option | default | meaning |\n|---|---|---|\n";
    for arg in arguments {
        let defaults: Vec<String> =
            arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        let default = if arg.get_action().takes_values() { defaults.join(", ") } else { String::new() };
        let choices = arg.get_possible_values();
        let choices: Vec<String> = choices
            .iter()
            .filter(|_| arg.get_action().takes_values())
            .map(|choice| match choice.get_help() {
                Some(help) => format!("`{}`: {help}", choice.get_name()),
                None => format!("`{}`", choice.get_name()),
            })
            .collect();
        let choices = if choices.is_empty() { String::new() } else { format!(". {}", choices.join(", ")) };
        // A bar would end the cell of the table.
        let flag = flag(arg).replace('|', "\\|");
        *page += &format!("| `{flag}` | {default} | {}{choices} |\n", help(arg));
    }
}
