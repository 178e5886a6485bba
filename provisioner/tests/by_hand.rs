//! Without a cloud: what is written for each machine is what nodeinit there reads.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests end where something is not as they expect, and run the program"
)]

use nodeinit::{generate_secrets, parse_secrets};
use nodeinit_config::{Layer, load};
use nodeinit_protocol::WorkerSecrets;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Output},
    time::SystemTime,
};
use tempfile::TempDir;

const CLUSTER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: demo\n\
    masters: [{name: m1, address: 10.9.0.1}, {name: m2, address: 10.9.0.2}]\n\
    workers: [{name: w1, address: 10.9.0.3}, {name: w2}]\n";

/// A place with a configuration and a bundle.
fn place(more: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("cluster.yaml"), format!("{CLUSTER}{more}")).unwrap();
    let bundle = generate_secrets(SystemTime::now()).unwrap();
    let path = place.path().join("secrets.yaml");
    fs::write(&path, bundle.text().expose()).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    place
}

fn run(place: &TempDir, arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_provisioner");
    Command::new(program).args(arguments.split(' ')).current_dir(place.path()).output().unwrap()
}

#[track_caller]
fn printed(place: &TempDir, arguments: &str) -> String {
    let output = run(place, arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file of a machine's user-data.
fn written(user_data: &str, path: &str) -> String {
    let (_, rest) = user_data.split_once(&format!("- path: {path}\n")).unwrap();
    let (_, rest) = rest.split_once("  content: |\n").unwrap();
    let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
    lines.fold(String::new(), |text, line| text + line.get(4..).unwrap_or_default() + "\n")
}

#[test]
fn each_machine_reads_what_is_printed_for_it() {
    let place = place("");
    let first = parse_secrets(&printed(&place, "bundle m1"), SystemTime::now()).unwrap();
    assert!(first.ssh_key.is_some());
    for worker in ["w1", "w2"] {
        let text = printed(&place, &format!("bundle {worker}"));
        let own = WorkerSecrets::parse(&text).unwrap().bootstrap_token;
        assert_eq!(first.worker_tokens[worker], own, "the first master makes another token valid");
        let user_data = printed(&place, &format!("userdata {worker}"));
        assert_eq!(written(&user_data, "/etc/nodeinit/secrets.yaml"), text);
        let config = load(&[Layer::file(worker, written(&user_data, "/etc/nodeinit/config.yaml"))]).unwrap();
        assert!(config.cluster.join.ca_certificate.is_some());
    }
    assert_ne!(first.worker_tokens["w1"], first.worker_tokens["w2"]);
    let config = written(&printed(&place, "userdata m1"), "/etc/nodeinit/config.yaml");
    assert_eq!(load(&[Layer::file("m1", config)]).unwrap().cluster.masters.len(), 2);
}

#[test]
fn a_machine_receives_the_values_of_its_role_and_host_in_a_folder() {
    let place = place("");
    for folder in ["environments", "clusters", "roles", "hosts"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::rename(place.path().join("cluster.yaml"), place.path().join("clusters/demo.example.org.yaml")).unwrap();
    fs::rename(place.path().join("secrets.yaml"), place.path().join("clusters/demo.example.org.secrets.yaml")).unwrap();
    for (path, text) in [
        ("environments/example.org.yaml", "os: {timezone: Etc/GMT+1}"),
        ("roles/worker.yaml", "os: {timezone: Etc/GMT+2}"),
        ("hosts/w2.example.org.yaml", "os: {timezone: Etc/GMT+3}"),
        ("hosts/w2.example.com.yaml", "os: {timezone: Etc/GMT+4}"),
    ] {
        fs::write(place.path().join(path), text).unwrap();
    }
    for (machine, zone) in [("m1", "Etc/GMT+1"), ("w1", "Etc/GMT+2"), ("w2", "Etc/GMT+3")] {
        let user_data = printed(&place, &format!("userdata {machine} --cluster demo.example.org"));
        let config = load(&[Layer::file(machine, written(&user_data, "/etc/nodeinit/config.yaml"))]).unwrap();
        let own = config.of_machine(machine).unwrap();
        assert_eq!(own.cluster.os.timezone.as_deref(), Some(zone), "{machine}");
    }
    fs::write(place.path().join("roles/worker.yaml"), "timezone: Etc/UTC\n").unwrap();
    let output = run(&place, "userdata w1 --cluster demo.example.org");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("roles/worker.yaml:1:1: roles.worker.timezone: unknown key"), "{error}");
}

#[test]
fn the_bundle_is_never_overwritten_nor_made_by_the_way() {
    let place = place("");
    let path = place.path().join("secrets.yaml");
    let before = fs::read_to_string(&path).unwrap();
    for file in ["secrets.yaml", "cluster.yaml"] {
        let there = fs::read_to_string(place.path().join(file)).unwrap();
        let output = run(&place, &format!("bundle w1 --out {file}"));
        assert!(!output.status.success(), "{file}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("exists and is not overwritten"));
        assert_eq!(fs::read_to_string(place.path().join(file)).unwrap(), there);
    }
    printed(&place, "bundle w1 --out w1.yaml");
    printed(&place, "bundle w1 --out w1.yaml");
    // A file that is no bundle stays as it is.
    let config = place.path().join("cluster.yaml");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    let there = fs::read_to_string(&config).unwrap();
    assert!(!run(&place, "userdata w1 --secrets cluster.yaml").status.success());
    assert_eq!(fs::read_to_string(&config).unwrap(), there);
    // A misspelled name makes no second CA.
    for command in ["userdata w1", "bundle w1"] {
        let output = run(&place, &format!("{command} --secrets typo.yaml"));
        assert_eq!(output.status.code(), Some(78), "{command}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("there is no secrets bundle typo.yaml"));
        assert!(!place.path().join("typo.yaml").exists());
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn who_is_served_by_the_first_master_needs_nothing() {
    let says = "needs no secrets file: the first master sends it";
    for (more, machines) in [("", &["m2"][..]), ("secretsDelivery: ssh-only\n", &["m2", "w1"])] {
        let place = place(more);
        for machine in machines {
            let output = run(&place, &format!("bundle {machine} --out {machine}.yaml"));
            assert!(output.status.success() && output.stdout.is_empty());
            assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{machine}");
            assert!(!place.path().join(format!("{machine}.yaml")).exists());
        }
        assert!(parse_secrets(&printed(&place, "bundle m1"), SystemTime::now()).is_ok());
    }
    assert_eq!(run(&place(""), "bundle m3").status.code(), Some(78));
}

#[test]
fn the_file_is_its_owners_alone() {
    let place = place("");
    let file = place.path().join("w1.yaml");
    let text = printed(&place, "bundle w1");
    // The same text, which others could read.
    fs::write(&file, &text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(printed(&place, "bundle w1 --out w1.yaml"), "");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(run(&place, "bundle w1 --out none/w1.yaml").status.code(), Some(1));
}

#[test]
fn a_bundle_that_others_can_read_is_rejected_as_on_a_machine() {
    let place = place("");
    fs::set_permissions(place.path().join("secrets.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    for arguments in ["bundle m1", "userdata w1"] {
        let output = run(&place, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{arguments}: {error}");
        assert!(error.contains("contains secrets of the cluster and can be read by others (mode 640)"), "{error}");
        assert!(error.contains("chmod 600"), "{error}");
    }
}

#[test]
fn without_a_terminal_nothing_is_applied_unasked() {
    let place = place("");
    let output = run(&place, "apply");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(64), "{told}");
    assert!(told.contains("standard input is not a terminal; add --yes to confirm"), "{told}");
    assert_eq!(run(&place, "apply --yes").status.code(), Some(78), "there is no section `openstack`");
}

#[test]
fn a_wrong_configuration_is_told_on_standard_error_and_as_an_object() {
    let place = place("nonsense: 1\n");
    let output = run(&place, "plan -o json");
    assert_eq!(output.status.code(), Some(78));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: the configuration has 1 problem"));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&object["event"], &object["problems"][0]["key"]), (&"error".into(), &"nonsense".into()), "{object}");
}

#[test]
fn a_recorded_run_is_drawn() {
    let place = place("");
    let none = run(&place, "timeline");
    assert_eq!(none.status.code(), Some(64), "{}", String::from_utf8_lossy(&none.stderr));
    let record = concat!(
        r#"{"run":"apply","time":0,"machine":"laptop","cluster":"demo"}"#,
        "\n",
        r#"{"event":"started","step":"server/m1","title":"creating server/m1","host":"cloud","elapsed":0.5}"#,
        "\n",
        r#"{"event":"done","step":"server/m1","changed":true,"seconds":9.5,"host":"cloud","elapsed":10.0}"#,
        "\n",
        r#"{"event":"started","step":"etcd","title":"wait for a healthy etcd","host":"m1","elapsed":10.0}"#,
        "\n",
        r#"{"event":"done","step":"etcd","changed":true,"seconds":2.0,"host":"m1","elapsed":12.0}"#,
        "\n",
    );
    fs::write(place.path().join("demo.runs.jsonl"), record).unwrap();
    let text = printed(&place, "timeline");
    let title = "provisioner apply on laptop, cluster demo, 1970-01-01T00:00:00Z: 12.0 s, 1 machine\n";
    assert!(text.starts_with(title), "{text}");
    assert!(text.find("\ncloud\n  server/m1 ") < text.find("\nm1\n  etcd "), "{text}");
    assert!(printed(&place, "timeline -o svg").contains(">cloud resources<"));
    let object: serde_json::Value = serde_json::from_str(&printed(&place, "timeline --output json")).unwrap();
    assert_eq!(object["steps"][1]["waits"], true);
}

#[test]
fn the_version_and_completions_are_printed() {
    let place = place("");
    assert!(printed(&place, "version").starts_with(&format!("provisioner {}\n", env!("CARGO_PKG_VERSION"))));
    let object: serde_json::Value = serde_json::from_str(&printed(&place, "version -o json")).unwrap();
    assert_eq!(object["version"], env!("CARGO_PKG_VERSION"));
    assert!(printed(&place, "completion bash").contains("_provisioner"));
}
