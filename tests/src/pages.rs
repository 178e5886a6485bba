//! The commands of how-to pages that tests on hosts run: a page cannot change without its test.

/// Those of `change-settings.md`.
pub const CHANGE_SETTINGS: [&str; 4] =
    ["nodeinit plan", "nodeinit up", "nodeinit up --no-drain", "nodeinit up --parallel 20%"];

/// Those of `replace-a-machine.md`.
pub const REPLACE: [&str; 5] = [
    "nodeinit up --lead",
    "nodeinit artifacts export --to /opt/kubernetes",
    "nodeinit master replace m1",
    "nodeinit worker replace w1",
    "nodeinit up --lead",
];

/// Those of `upgrade.md`.
pub const UPGRADE: [&str; 5] = [
    "nodeinit upgrade plan v1.36.4",
    "nodeinit upgrade apply v1.36.4",
    "nodeinit upgrade apply v1.36.4 --local",
    "nodeinit upgrade rollback --plan",
    "nodeinit upgrade rollback",
];

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

    fn commands(page: &str) -> Vec<&str> {
        let lines = page.lines().filter_map(|line| line.trim_start().strip_prefix("nodeinit ").map(|_| line));
        let indented = lines.filter(|line| line.starts_with("    "));
        indented.map(|line| line.split('#').next().unwrap_or_default().trim()).collect()
    }

    #[test]
    fn tests_run_the_commands_of_the_pages() {
        assert_eq!(commands(include_str!("../../docs/how-to/change-settings.md")), CHANGE_SETTINGS);
        assert_eq!(commands(include_str!("../../docs/how-to/replace-a-machine.md")), REPLACE);
        assert_eq!(commands(include_str!("../../docs/how-to/upgrade.md")), UPGRADE);
        assert!(hooks().contains("  hooks:\n    before: /etc/nodeinit/hooks/before "), "{}", hooks());
    }
}
