//! The commands of `config`, as a user calls them.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

const HEADER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";

#[allow(clippy::disallowed_methods, reason = "the program under test exits on its own")]
fn nodeinit(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodeinit"));
    let run = command.arg("config").args(arguments).current_dir(directory).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = run.unwrap_or_else(|e| panic!("{e}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

#[allow(clippy::disallowed_methods, reason = "a file of the test's own directory")]
fn write(path: impl AsRef<Path>, text: impl AsRef<str>) {
    std::fs::write(path, text.as_ref()).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_file_is_written_checked_and_shown() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let (exit, said, _) =
        nodeinit(here, &["init", "--yes", "--set", "name=demo", "--set", "network.podCIDR=10.1.0.0/16"]);
    assert!(exit == 0 && said.starts_with("cluster.yaml is written; next: "), "{exit} {said}");
    let (exit, said, _) = nodeinit(here, &["validate", "--config", "cluster.yaml"]);
    assert!(exit == 0 && said.ends_with("cluster.yaml\n"), "{exit} {said}");
    write(here.join("over.yaml"), "name: other\n");
    let (exit, shown, _) = nodeinit(here, &["show", "--config", "cluster.yaml", "--config", "over.yaml"]);
    assert_eq!(exit, 0);
    let line = |key: &str| shown.lines().find(|l| l.trim_start().starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("name:").contains("other ") && line("name:").ends_with("# over.yaml:1:7"), "{shown}");
    assert!(line("podCIDR:").contains("# cluster.yaml:"), "{shown}");
    assert!(line("dnsDomain:").ends_with("# default"), "{shown}");
    let (_, json, _) = nodeinit(here, &["show", "--config", "cluster.yaml", "--output", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["config"]["network"]["podCIDR"], "10.1.0.0/16");
    assert_eq!(json["origins"]["network.podCIDR"]["file"], "cluster.yaml");
}

#[test]
fn an_existing_file_is_not_overwritten_and_no_question_is_asked_without_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    write(here.join("cluster.yaml"), "mine");
    let (exit, _, said) = nodeinit(here, &["init", "--yes"]);
    assert!(exit == 64 && said.contains("cluster.yaml is there already; nothing was written"), "{exit} {said}");
    assert_eq!(std::fs::read_to_string(here.join("cluster.yaml")).unwrap(), "mine");
    assert_eq!(nodeinit(here, &["init", "--yes", "--force"]).0, 0);
    let masters = "masters=[{name: m1, address: 10.0.0.11},\n  {name: m2, address: 10.0.0.12}]";
    let set = ["--set", masters, "--set", "artifacts.source=upstream"];
    assert_eq!(nodeinit(here, &[&["init", "--yes", "--file", "new/directory/x.yaml"][..], &set].concat()).0, 0);
    assert_eq!(nodeinit(here, &["show", "--config", "new/directory/x.yaml"]).0, 0);
    let (exit, _, said) = nodeinit(here, &["init", "--file", "other.yaml"]);
    assert!(exit == 64 && said.contains("add --yes") && !here.join("other.yaml").exists(), "{exit} {said}");
    let (exit, _, said) = nodeinit(here, &["init", "--yes", "--file", "x.yaml", "--set", "nam=a"]);
    assert!(exit == 78 && said.contains("--set: nam: unknown key") && said.contains("did you mean `name`?"), "{said}");
    assert_eq!(nodeinit(here, &["init", "--yes", "--file", "x.yaml", "--set", "name"]).0, 64);
}

#[test]
fn all_problems_in_one_report() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    write(here.join("a.yaml"), format!("{HEADER}network: {{podCidr: 10.0.0.0/16}}\nname: A\n"));
    write(here.join("b.yaml"), "etcd: 1\n");
    let (exit, out, said) = nodeinit(here, &["validate", "--config", "a.yaml", "--config", "b.yaml"]);
    let expected = "error: the configuration has 3 problems\n  a.yaml:3:11: network.podCidr: unknown key\n      hint: did you mean `podCIDR`?\n";
    assert!(exit == 78 && out.is_empty() && said.starts_with(expected), "{exit} {said}");
    let (exit, out, _) = nodeinit(here, &["validate", "--config", "a.yaml", "--config", "b.yaml", "--output", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((exit, json["ok"].as_bool(), json["problems"].as_array().map(Vec::len)), (78, Some(false), Some(3)));
    assert_eq!((&json["problems"][2]["file"], &json["problems"][2]["line"]), (&"b.yaml".into(), &1.into()));
    for (name, text) in [("empty.yaml", ""), ("comments.yaml", "# a\n\n# b\n")] {
        write(here.join(name), text);
        let (exit, _, said) = nodeinit(here, &["validate", "--config", name]);
        assert!(exit == 78 && said.contains("apiVersion: missing") && said.contains("kind: missing"), "{name}: {said}");
    }
    write(here.join("cut.yaml"), HEADER);
    let (exit, _, said) = nodeinit(here, &["validate", "--config", "cut.yaml"]);
    assert!(exit == 78 && said.contains("cut.yaml: masters: missing: there is no first master"), "{said}");
    let (exit, _, said) = nodeinit(here, &["validate", "--config", "."]);
    assert!(exit == 78 && said.contains("`--config` takes a file"), "{exit} {said}");
    let (exit, _, said) = nodeinit(here, &["validate", "--config", "missing.yaml"]);
    assert!(exit == 78 && said.starts_with("error: cannot read missing.yaml\n  cause: No such file"), "{exit} {said}");
}

#[test]
fn the_schema_is_json() {
    let (exit, out, _) = nodeinit(Path::new("/"), &["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((exit, schema["type"].as_str()), (0, Some("object")));
}

#[test]
fn missing_files_of_this_machine_are_reported_early() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_lowercase();
    let machines = format!("masters: [{{name: {name}, address: 10.9.0.1}}, {{name: other, address: 10.9.0.2}}]\n");
    let said = |more: &str| {
        write(here.join("a.yaml"), format!("{HEADER}{machines}{more}"));
        let (exit, _, said) = nodeinit(here, &["validate", "--config", "a.yaml"]);
        assert_eq!(exit, 78, "{said}");
        said
    };
    assert!(said("").contains("there is no SSH key to reach the other machines"), "{}", said(""));
    assert!(said("ssh: {keyFile: /no/such/key}\n").contains("ssh.keyFile: /no/such/key does not exist"));
    assert!(said("os: {sysctls: {vm.swappiness: low}}\n").contains("the kernel accepts only numbers"));
    let missing = said("artifacts: {source: /no/such}\n");
    assert!(missing.contains("the directory /no/such of artifacts.source does not exist"), "{missing}");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the program under test exits on its own")]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("wrong.yaml"), "kind: Other\n");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodeinit"));
    command.args(["config", "validate", "--config", "wrong.yaml"]).current_dir(dir.path()).stdin(Stdio::null());
    let ended = command.stderr(writer).status().unwrap();
    assert_eq!(ended.code(), Some(78), "{ended}");
}
