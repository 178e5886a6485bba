//! The commands of `config`, as a user calls them.

use std::{
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

const INIT: [&str; 3] = ["init", "--file", "cluster.yaml"];
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
    let (exit, said, _) = nodeinit(
        here,
        &[&INIT[..], &["--full", "--set", "name=demo", "--set", "network.podCIDR=10.1.0.0/16"]].concat(),
    );
    assert!(exit == 0 && said.starts_with("cluster.yaml is written; next: "), "{exit} {said}");
    assert!(std::fs::read_to_string(here.join("cluster.yaml")).unwrap().contains("\n#   dnsDomain: cluster.local\n"));
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
fn what_is_there_is_not_overwritten_and_a_wrong_option_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    write(here.join("cluster.yaml"), "mine");
    let (exit, _, said) = nodeinit(here, &INIT);
    assert!(exit == 64 && said.contains("cluster.yaml is there already; nothing was written"), "{exit} {said}");
    assert_eq!(std::fs::read_to_string(here.join("cluster.yaml")).unwrap(), "mine");
    assert_eq!(nodeinit(here, &[&INIT[..], &["--force"]].concat()).0, 0);
    let masters = "masters=[{name: m1, address: 10.0.0.11},\n  {name: m2, address: 10.0.0.12}]";
    let set = ["--set", masters, "--set", "artifacts.source=upstream"];
    assert_eq!(nodeinit(here, &[&["init", "--yes", "--file", "new/directory/x.yaml"][..], &set].concat()).0, 0);
    assert_eq!(nodeinit(here, &["show", "--config", "new/directory/x.yaml"]).0, 0);
    // Without a terminal, nobody is asked.
    assert_eq!(nodeinit(here, &["init", "--file", "other.yaml"]).0, 0);
    let (exit, _, said) = nodeinit(here, &["init", "--yes", "--file", "x.yaml", "--set", "nam=a"]);
    assert!(exit == 78 && said.contains("--set: nam: unknown key") && said.contains("did you mean `name`?"), "{said}");
    assert_eq!(nodeinit(here, &["init", "--yes", "--file", "x.yaml", "--set", "name"]).0, 64);
    let (exit, _, said) = nodeinit(here, &["init", "--file", "x.yaml", "--master", "10.0.0.1"]);
    assert!(exit == 64 && said.contains("--master \"10.0.0.1\" names no machine"), "{exit} {said}");
    let (exit, _, said) = nodeinit(here, &["init", "--file", "x.yaml", "--endpoint", "https://api"]);
    assert!(
        exit == 78 && said.contains("--endpoint: controlPlane.endpoint: \"https://api\" is a URL"),
        "{exit} {said}"
    );
    assert!(!here.join("x.yaml").exists());
}

#[test]
fn the_short_file_has_what_the_options_say() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let options = [
        ["--master", "m1=10.9.0.1"],
        ["--master", "m2=10.9.0.2"],
        ["--master", "m3=10.9.0.3"],
        ["--worker", "w1"],
        ["--virtual-address", "10.9.0.10"],
        ["--ssh-user", "debian"],
        ["--ssh-key", "/key"],
        ["--set", "name=demo"],
    ];
    let (exit, _, said) = nodeinit(here, &[&INIT[..], options.as_flattened()].concat());
    assert!(exit == 0 && said.contains("warning: the file has no SSH host key of m2, m3\n"), "{exit} {said}");
    let text = std::fs::read_to_string(here.join("cluster.yaml")).unwrap();
    assert!(text.contains("\nmasters:\n  - name: m1\n    address: 10.9.0.1\n") && text.lines().count() < 60, "{text}");
    assert_eq!(nodeinit(here, &["validate", "cluster.yaml"]).0, 0);
    let (_, json, _) = nodeinit(here, &["show", "--config", "cluster.yaml", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let config = &json["config"];
    assert_eq!(config["controlPlane"]["virtualAddress"], "10.9.0.10");
    assert_eq!((&config["ssh"]["user"], &config["ssh"]["keyFile"]), (&"debian".into(), &"/key".into()));
    assert_eq!((&config["workers"][0]["name"], &config["masters"][2]["address"]), (&"w1".into(), &"10.9.0.3".into()));
    // A later default does not change it.
    for key in ["name", "kubernetes.version", "network.podCIDR", "network.serviceCIDR", "artifacts.source"] {
        assert_eq!(json["origins"][key]["file"], "cluster.yaml", "{key}");
    }
}

#[test]
fn questions_are_asked_on_a_terminal_and_an_interrupt_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let printed = on_a_terminal(here, &[("Name of", "demo\n\n\n\n\n\n\n\n"), ("Further masters", "\x03")]);
    assert!(printed.contains("Further masters") && std::fs::read_dir(here).unwrap().count() == 0, "{printed}");
    let printed = on_a_terminal(here, &[("Name of", "A B\ndemo\n\n\n\n\n\n\nm1=10.9.0.1\n\n\n")]);
    assert!(printed.contains("name: \"A B\" is not a DNS label"), "{printed}");
    assert!(printed.contains("cluster.yaml is written; next: "), "{printed}");
    assert_eq!(nodeinit(here, &["validate", "cluster.yaml"]).0, 0);
    let mode = std::fs::metadata(here.join("cluster.yaml")).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, std::fs::read_dir(here).unwrap().count()), (0o644, 1));
}

/// What `config init` prints on a pseudo terminal, of util-linux's script. Each text is typed when what is beside it was printed.
#[allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test panics on an unexpected value; the program ends on its own"
)]
fn on_a_terminal(directory: &Path, dialogue: &[(&str, &str)]) -> String {
    let command = format!("exec {} config {}", env!("CARGO_BIN_EXE_nodeinit"), INIT.join(" "));
    let mut script = Command::new("timeout");
    script.args(["60", "script", "--quiet", "--command", &command, "/dev/null"]).current_dir(directory);
    let child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|e| panic!("{e}"));
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut printed = String::new();
    let mut piece = [0; 4096];
    for (prompt, typed) in dialogue {
        while !printed.contains(prompt) {
            let length = output.read(&mut piece).unwrap();
            assert!(length > 0, "no {prompt:?} in {printed}");
            printed += &String::from_utf8_lossy(&piece[..length]);
        }
        input.write_all(typed.as_bytes()).unwrap();
    }
    output.read_to_string(&mut printed).unwrap();
    child.wait().unwrap();
    printed
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
fn the_files_of_a_folder_are_merged_for_each_machine() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    for folder in ["environments", "clusters", "roles", "hosts"] {
        std::fs::create_dir(here.join(folder)).unwrap_or_else(|e| panic!("{e}"));
    }
    let (exit, _, said) = nodeinit(here, &["show", "--cluster", "prod.example.org"]);
    assert!(exit == 78 && said.contains("hint:  create clusters/prod.example.org.yaml, or run"), "{exit} {said}");
    let machines = "masters: [{name: m1, address: 10.9.0.1}]\nworkers: [{name: w1}, {name: w2}]\n";
    let hash = "$6$abcdefgh$X1aN5l6W0lqhYcmpx1mZpZQUjNQ9hJ3hFTfDAVnSPdm0M4pGbvVxY4m5gNfOzCzGJtLrG2pQ9kd3B8hVnC8jX0";
    write(
        here.join("environments/example.org.yaml"),
        format!("os:\n  timezone: Etc/UTC\n  rootPasswordHash: {hash}\n"),
    );
    write(here.join("clusters/prod.example.org.yaml"), format!("{HEADER}{machines}"));
    write(here.join("clusters/test.example.org.yaml"), format!("{HEADER}{machines}").replace("{name: w1}, ", ""));
    write(here.join("roles/worker.yaml"), "os: {openFiles: 2048}\n");
    write(here.join("hosts/w2.yaml"), "\nos: {openFiles: 4096}\n");
    let show = |more: &[&str]| nodeinit(here, &[&["show", "--cluster", "prod.example.org"], more].concat());
    let (exit, all, _) = show(&[]);
    let line = |text: &str, key: &str| text.lines().find(|l| l.contains(key)).unwrap_or_default().trim().to_owned();
    assert!(exit == 0 && line(&all, "rootPasswordHash").starts_with("rootPasswordHash: \"[secret]\" "), "{all}");
    assert!(line(&all, "openFiles: 2048").ends_with("# roles/worker.yaml:1:17"), "{all}");
    let (_, own, _) = show(&["--machine", "w2"]);
    assert!(line(&own, "openFiles").ends_with("# hosts/w2.yaml:2:17") && !own.contains("2048"), "{own}");
    assert!(line(&own, "timezone").ends_with("# environments/example.org.yaml:2:13"), "{own}");
    let (exit, _, said) = show(&["--machine", "w3"]);
    assert!(exit == 64 && said.contains("no machine has the name w3"), "{exit} {said}");
    let (exit, raw, _) = show(&["--raw"]);
    assert!(exit == 0 && raw.contains(hash), "{raw}");
    write(here.join("raw.yaml"), &raw);
    let (exit, said, _) = nodeinit(here, &["diff", "--clusters", "test.example.org", "prod.example.org"]);
    assert_eq!((exit, said.as_str()), (2, "+ workers[w1]: {\"name\":\"w1\"}  # clusters/prod.example.org.yaml:4:11\n"));
    write(here.join("hosts/w2.yaml"), "os: {openFiles: 8192}\n");
    let diff = ["diff", "--clusters", "--machine", "w2", "prod.example.org", "prod.example.org"];
    assert_eq!(nodeinit(here, &diff).0, 0);
    let (_, former, _) = show(&["--raw"]);
    write(here.join("former.yaml"), former);
    let (exit, said, _) = nodeinit(here, &["diff", "--machine", "w2", "raw.yaml", "former.yaml"]);
    assert!(exit == 2 && said.starts_with("- os.openFiles: 4096  # raw.yaml:"), "{exit} {said}");
    assert_eq!(nodeinit(here, &["diff", "--machine", "w1", "raw.yaml", "former.yaml"]).0, 0);
    let (exit, _, said) = nodeinit(here, &["show", "--cluster", "../prod"]);
    assert!(exit == 64 && said.contains("`../prod` is not a cluster's name"), "{exit} {said}");
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
