//! Parts of text files that others write, too: `KEY=value` lines, and a marked section.

const BEGIN: &str = "# BEGIN nodeinit: do not edit; change cluster.yaml";
const END: &str = "# END nodeinit";

/// Returns the value of a `KEY=value` line, without quotes.
pub(super) fn value(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// Returns the text with this value of a key, or without the key.
pub(super) fn with_value(text: &str, key: &str, value: Option<&str>) -> String {
    let is_it = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with('='));
    let new = value.map(|value| format!("{key}={value}"));
    let mut lines: Vec<&str> = text.lines().collect();
    match (lines.iter().position(|line| is_it(line)), &new) {
        (Some(at), Some(new)) => lines[at] = new,
        (Some(at), None) => drop(lines.remove(at)),
        (None, Some(new)) => lines.push(new),
        (None, None) => {}
    }
    joined(lines)
}

/// Marks the lines of chrony's own servers.
const OFF: &str = "#nodeinit# ";

/// Whether a line of chrony's configuration names servers.
pub(super) fn is_server(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("server" | "pool" | "peer"))
}

/// Returns chrony's configuration with its own servers, or with these lines commented out. The section of nodeinit stays.
pub(super) fn with_servers(text: &str, enabled: bool) -> String {
    let ours = section(text);
    let others = with_section(text, None);
    let line = |line: &str| match line.strip_prefix(OFF) {
        Some(server) if enabled => format!("{server}\n"),
        None if !enabled && is_server(line) => format!("{OFF}{line}\n"),
        _ => format!("{line}\n"),
    };
    let others: String = others.lines().map(line).collect();
    match ours {
        Some(ours) => with_section(&others, Some(&ours)),
        None => others,
    }
}

/// Whether the end of the section is missing, so that nobody can tell which lines are nodeinit's.
pub(super) fn is_cut(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        inside = (inside || line == BEGIN) && line != END;
    }
    inside
}

/// Returns the lines of the section; `None` if there is none.
pub(super) fn section(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("{BEGIN}\n"))?;
    rest.split_once(END).map(|(section, _)| section.to_owned())
}

/// Returns the text with this section at its start, where its lines take precedence; or without a section. The text must not be
/// [cut](is_cut).
pub(super) fn with_section(text: &str, section: Option<&str>) -> String {
    let mut inside = false;
    let others = text.lines().filter(|line| {
        let is_ours = inside || *line == BEGIN;
        inside = is_ours && *line != END;
        !is_ours
    });
    let others = joined(others.collect());
    match section {
        Some(section) => format!("{BEGIN}\n{section}{END}\n{others}"),
        None => others,
    }
}

fn joined(lines: Vec<&str>) -> String {
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_replaced_added_and_removed() {
        let text = "# LANG=x\nLANG=\"de_DE.UTF-8\"\nLC_TIME=C\n";
        assert_eq!(value(text, "LANG").as_deref(), Some("de_DE.UTF-8"));
        assert_eq!(value(text, "LC"), None);
        assert_eq!(with_value(text, "LANG", Some("C.UTF-8")), "# LANG=x\nLANG=C.UTF-8\nLC_TIME=C\n");
        assert_eq!(with_value(text, "LANG", None), "# LANG=x\nLC_TIME=C\n");
        assert_eq!(with_value("a", "KEYMAP", Some("us")), "a\nKEYMAP=us\n");
        assert_eq!(with_value("KEYMAP=us\n", "KEYMAP", None), "");
    }

    #[test]
    fn servers_of_chrony_are_commented_out_and_enabled() {
        let old = "pool a iburst\n# server b\ndriftfile /d\n";
        let off = with_servers(&with_section(old, Some("server n iburst\n")), false);
        assert_eq!(section(&off).as_deref(), Some("server n iburst\n"));
        assert!(off.ends_with("\n#nodeinit# pool a iburst\n# server b\ndriftfile /d\n"), "{off}");
        assert_eq!(with_servers(&off, false), off);
        assert_eq!(with_section(&with_servers(&off, true), None), old);
    }

    #[test]
    fn a_section_is_replaced_and_removed() {
        let first = with_section("127.0.0.1 localhost\n", Some("10.0.0.11 m1\n"));
        assert_eq!(section(&first).as_deref(), Some("10.0.0.11 m1\n"));
        assert!(first.ends_with("# END nodeinit\n127.0.0.1 localhost\n"), "{first}");
        let second = with_section(&first, Some("10.0.0.12 m2\n"));
        assert!(second.contains("10.0.0.12 m2\n") && !second.contains("m1"), "{second}");
        assert_eq!(with_section(&second, None), "127.0.0.1 localhost\n");
        assert_eq!(section("a\n"), None);
        assert!(!is_cut(&first) && !is_cut("a\n") && is_cut(&first.replace("# END nodeinit\n", "")));
        assert_eq!(with_section("", None), "");
    }
}
