//! Tests the command line: version, completion, common flags, and the output of failures.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

#[allow(clippy::disallowed_methods, reason = "the program under test exits on its own")]
fn nodeinit_with(input: &str, environment: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodeinit"));
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{e}"));
    let mut stdin = child.stdin.take().unwrap_or_else(|| panic!("no standard input"));
    stdin.write_all(input.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    drop(stdin);
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap_or_else(|e| panic!("{e}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn nodeinit(arguments: &[&str]) -> (i32, String, String) {
    nodeinit_with("", &[], arguments)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn the_version_names_the_supported_releases() {
    let (exit, text, _) = nodeinit(&["version"]);
    assert!(exit == 0 && text.starts_with(concat!("nodeinit ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
    assert!(text.contains("\n1.37        v1.37."), "{text}");
    assert_eq!(nodeinit(&["-V"]).1, concat!("nodeinit ", env!("CARGO_PKG_VERSION"), "\n"));
    let (_, text, _) = nodeinit(&["version", "-o", "json"]);
    let version = json(&text);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["kubernetes"].as_array().map(Vec::len), Some(4));
    assert!(version["kubernetes"][0]["tested"].as_str().is_some_and(|v| v.starts_with("v1.34.")), "{version}");
}

#[test]
fn the_completions_are_those_of_the_package() {
    for shell in ["bash", "fish", "zsh"] {
        let path = format!("{}/../packaging/completions/nodeinit.{shell}", env!("CARGO_MANIFEST_DIR"));
        let (exit, script, _) = nodeinit(&["completion", shell]);
        assert!(exit == 0 && script == std::fs::read_to_string(path).unwrap_or_default(), "{shell}");
    }
    assert_eq!(nodeinit(&["completion", "tcsh"]).0, 64);
}

#[test]
fn commands_of_other_tools_get_a_hint() {
    for (typed, right) in [
        ("init", "`nodeinit up`"),
        ("join", "`nodeinit worker add NAME`"),
        ("validate", "`nodeinit config validate FILE`"),
    ] {
        let (exit, _, said) = nodeinit(&[typed]);
        assert!(exit == 64 && said.contains(&format!("no command `{typed}`")) && said.contains(right), "{said}");
    }
    let (exit, _, said) = nodeinit(&["statsu"]);
    assert!(exit == 64 && said.contains("status"), "{said}");
}

#[test]
fn help_is_wrapped_and_ends_with_an_example() {
    let (exit, help, _) = nodeinit_with("", &[("COLUMNS", "80")], &["up", "--help"]);
    assert!(exit == 0 && help.contains("\nExample:\n  nodeinit up\n\nMore: docs/"), "{help}");
    let widest = help.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(widest.chars().count() <= 100, "{widest}");
}

const HEADER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

#[test]
fn a_configuration_is_read_from_standard_input() {
    let good = format!("{HEADER}masters: [{{name: m1, address: 10.9.0.1}}]\nnetwork: {{podCIDR: 10.1.0.0/16}}\n");
    let (exit, shown, _) = nodeinit_with(&good, &[], &["config", "show", "--config", "-", "-o", "json"]);
    let shown = json(&shown);
    assert_eq!((exit, &shown["config"]["network"]["podCIDR"]), (0, &"10.1.0.0/16".into()));
    assert_eq!(shown["origins"]["network.podCIDR"]["file"], "standard input");
    let (exit, _, said) = nodeinit_with("nam: x\n", &[], &["config", "validate", "-"]);
    assert!(exit == 78 && said.contains("  standard input:1:1: nam: unknown key"), "{said}");
}

#[test]
fn failures_are_on_standard_error_in_both_formats() {
    let (exit, out, said) = nodeinit(&["config", "show", "--config", "/no/such/file"]);
    assert!(exit == 78 && out.is_empty() && said.starts_with("error: cannot read /no/such/file\n  cause: "), "{said}");
    let (exit, out, said) = nodeinit(&["config", "show", "--config", "/no/such/file", "--output", "json"]);
    let event = json(&out);
    assert_eq!((exit, &event["event"], &event["error"]), (78, &"failed".into(), &"cannot read /no/such/file".into()));
    assert!(said.starts_with("error: cannot read /no/such/file\n"), "{said}");
}

#[test]
fn problems_of_the_configuration_are_objects_in_every_command() {
    let wrong = format!("{HEADER}network: {{podCidr: 10.1.0.0/16}}\n");
    for command in [&["config", "show"][..], &["artifacts", "list"]] {
        let arguments = [command, &["--config", "-", "-o", "json"]].concat();
        let (exit, out, said) = nodeinit_with(&wrong, &[], &arguments);
        let problem = &json(&out)["problems"][0];
        assert_eq!((exit, &problem["file"], &problem["line"]), (78, &"standard input".into(), &3.into()), "{out}");
        assert_eq!((&problem["key"], &problem["column"]), (&"network.podCidr".into(), &11.into()), "{out}");
        assert_eq!((&problem["message"], &problem["hint"]), (&"unknown key".into(), &"did you mean `podCIDR`?".into()));
        assert!(said.contains("standard input:3:11: network.podCidr: unknown key"), "{said}");
    }
}

#[test]
fn a_terminal_without_colours_gets_none() {
    let arguments = ["config", "show", "--config", "/no/such/file"];
    let coloured = |environment: &[(&str, &str)]| nodeinit_with("", environment, &arguments).2.contains('\x1b');
    assert!(coloured(&[("CLICOLOR_FORCE", "1"), ("TERM", "xterm"), ("NO_COLOR", "")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb"), ("NO_COLOR", "")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("TERM", "xterm"), ("NO_COLOR", "1")]));
}

#[test]
fn debug_detail_is_written_on_request_and_never_with_quiet() {
    let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = dir.path().join("secrets.yaml").display().to_string();
    let generate = ["secrets", "generate", "--file", &file];
    let (exit, _, said) = nodeinit(&[&["-v"][..], &generate].concat());
    assert!(exit == 0 && said.contains("debug: wrote ") && said.contains("secrets.yaml"), "{said}");
    let other = dir.path().join("other.yaml").display().to_string();
    let (exit, _, said) = nodeinit_with("", &[("NODEINIT_LOG", "debug")], &["secrets", "generate", "--file", &other]);
    assert!(exit == 0 && said.contains("debug: wrote "), "{said}");
    let (_, _, said) = nodeinit_with("", &[("NODEINIT_LOG", "trace")], &["version"]);
    assert!(said.starts_with("warning: NODEINIT_LOG is \"trace\""), "{said}");
    assert_eq!(nodeinit(&["version", "-v", "-q"]).0, 64);
}

#[test]
fn a_timeline_of_an_unknown_run_is_a_usage_error() {
    let (exit, out, said) = nodeinit(&["timeline", "--run", "100000"]);
    assert!(exit == 64 && out.is_empty() && said.contains("recorded"), "{said}");
    assert_eq!(nodeinit(&["timeline", "--run", "0"]).0, 64);
    assert_eq!(nodeinit(&["timeline", "-o", "png"]).0, 64);
}
