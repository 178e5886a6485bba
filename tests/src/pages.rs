//! The commands of how-to pages that tests on hosts run: a page cannot change without its test.

/// Those of `change-settings.md`.
pub const CHANGE_SETTINGS: [&str; 4] =
    ["nodeinit plan", "nodeinit up", "nodeinit up --no-drain", "nodeinit up --parallel 20%"];

/// Those of `replace-a-machine.md`.
pub const REPLACE: [&str; 6] = [
    "nodeinit up --lead",
    "nodeinit artifacts export --to /opt/kubernetes",
    "nodeinit master replace m1",
    "nodeinit worker replace w1",
    "nodeinit up --lead",
    "nodeinit master remove m1",
];

/// Those of `upgrade.md`.
pub const UPGRADE: [&str; 5] = [
    "nodeinit upgrade plan v1.36.4",
    "nodeinit upgrade apply v1.36.4",
    "nodeinit upgrade apply v1.36.4 --local",
    "nodeinit upgrade rollback --plan",
    "nodeinit upgrade rollback",
];

/// The one that `upgrade.md` has in a sentence.
pub const ROLL_BACK_WORKER: &str = "nodeinit upgrade rollback v1.35.8 --local";

/// The hooks in `change-settings.md`, as a part of a configuration.
#[must_use]
pub fn hooks() -> String {
    let (_, from) =
        include_str!("../../docs/how-to/change-settings.md").split_once("    rollout:\n").unwrap_or_default();
    let lines = from.lines().take_while(|line| line.starts_with("      "));
    let lines: String = lines.map(|line| format!("{}\n", &line[4..])).collect();
    format!("rollout:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands<'a>(page: &'a str, program: &str) -> Vec<&'a str> {
        let lines = page.lines().filter(|line| line.trim_start().starts_with(&format!("{program} ")));
        let indented = lines.filter(|line| line.starts_with("    "));
        indented.map(|line| line.split('#').next().unwrap_or_default().trim()).collect()
    }

    #[test]
    fn tests_run_the_commands_of_the_pages() {
        let settings = include_str!("../../docs/how-to/change-settings.md");
        let replace = include_str!("../../docs/how-to/replace-a-machine.md");
        let upgrade = include_str!("../../docs/how-to/upgrade.md");
        assert_eq!(commands(settings, "nodeinit"), CHANGE_SETTINGS);
        assert_eq!(commands(replace, "nodeinit"), REPLACE);
        assert_eq!(commands(upgrade, "nodeinit"), UPGRADE);
        assert!(upgrade.contains(&format!("`{ROLL_BACK_WORKER}`")));
        assert!(hooks().contains("  hooks:\n    before: /etc/nodeinit/hooks/before "), "{}", hooks());

        assert_eq!(commands(settings, "provisioner"), [""; 0]);
        assert_eq!(commands(upgrade, "provisioner"), [""; 0]);
        let in_openstack = commands(replace, "provisioner");
        assert_eq!(in_openstack.len(), 2, "{in_openstack:?}");
        let tests = include_str!("../openstack/tests/replace.rs");
        for command in in_openstack {
            // A test answers the question that the command asks.
            let run =
                command.replace("provisioner ", "cloud.run(\"").replace("m1", "t1").replace("w1", "t4") + " --yes";
            assert!(tests.contains(&run), "no test runs `{command}`: {run}");
        }
    }
}
