//! The text that `--help` prints below the options of a command: an example and the documentation page.

use clap::Command;

/// Command, example, page in `docs/`.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("up", "nodeinit up", "architecture.md"),
    ("plan", "nodeinit plan --config cluster.yaml", "architecture.md"),
    ("preflight", "nodeinit preflight --role worker", "troubleshooting.md"),
    ("status", "nodeinit status --watch", "troubleshooting.md"),
    ("timeline", "nodeinit timeline -o svg >timeline.svg", "cli.md"),
    ("reset", "nodeinit reset --yes", "troubleshooting.md"),
    ("agent", "systemctl status nodeinit-agent", "certificates.md"),
    ("version", "nodeinit version -o json", "releases.md"),
    ("completion", "nodeinit completion bash >/etc/bash_completion.d/nodeinit", "cli.md"),
    ("config init", "nodeinit config init", "configuration.md"),
    ("config validate", "nodeinit config validate cluster.yaml", "configuration.md"),
    ("config show", "nodeinit config show --config cluster.yaml", "configuration.md"),
    ("config schema", "nodeinit config schema >nodeinit.schema.json", "configuration.md"),
    ("artifacts list", "nodeinit artifacts list --config cluster.yaml", "artifacts.md"),
    ("artifacts fetch", "nodeinit artifacts fetch --config cluster.yaml --to /opt/kubernetes", "artifacts.md"),
    ("artifacts export", "nodeinit artifacts export --to /opt/kubernetes", "artifacts.md"),
    (
        "artifacts bundle",
        "nodeinit artifacts bundle --config cluster.yaml --from /opt/kubernetes -o kubernetes.tar",
        "artifacts.md",
    ),
    ("artifacts inspect", "nodeinit artifacts inspect kubernetes.tar", "artifacts.md"),
    ("artifacts verify", "nodeinit artifacts verify kubernetes.tar --public-key bundle-key.pub", "artifacts.md"),
    ("secrets generate", "nodeinit secrets generate --file secrets.yaml", "certificates.md"),
    ("secrets inspect", "nodeinit secrets inspect --file secrets.yaml", "certificates.md"),
    ("token create", "nodeinit token create --worker w3 -o json", "security.md"),
    ("token list", "nodeinit token list --all", "security.md"),
    ("token delete", "nodeinit token delete abcdef", "security.md"),
    ("addons list", "nodeinit addons list", "addons.md"),
    ("addons apply", "nodeinit addons apply coredns", "addons.md"),
    ("addons remove", "nodeinit addons remove metrics-server", "addons.md"),
    ("certs check", "nodeinit certs check", "certificates.md"),
    ("certs renew", "nodeinit certs renew apiserver", "certificates.md"),
    ("certs approve", "nodeinit certs approve w3", "certificates.md"),
    ("etcd members", "nodeinit etcd members", "troubleshooting.md"),
    ("etcd remove", "nodeinit etcd remove m3", "troubleshooting.md"),
    ("etcd defrag", "nodeinit etcd defrag --compact", "troubleshooting.md"),
    ("etcd alarms", "nodeinit etcd alarms disarm", "troubleshooting.md"),
    ("etcd aside list", "nodeinit etcd aside list", "troubleshooting.md"),
    ("etcd aside remove", "nodeinit etcd aside remove NAME", "troubleshooting.md"),
    ("master add", "nodeinit master add m3", "scaling.md"),
    ("master remove", "nodeinit master remove m3", "scaling.md"),
    ("worker add", "nodeinit worker add w3 --address 10.0.0.23", "scaling.md"),
    ("worker remove", "nodeinit worker remove w3", "scaling.md"),
    ("phase list", "nodeinit phase list", "architecture.md"),
    ("phase run", "nodeinit phase run kubelet", "architecture.md"),
];

/// Adds its example and page to each command.
pub(super) fn with_examples(root: Command) -> Command {
    EXAMPLES.iter().fold(root, |root, (path, example, page)| {
        let words: Vec<&str> = path.split(' ').collect();
        with(root, &words, &format!("Example:\n  {example}\n\nMore: docs/{page}"))
    })
}

fn with(command: Command, path: &[&str], text: &str) -> Command {
    match path {
        [] => command.after_help(text.to_owned()),
        [first, rest @ ..] => command.mut_subcommand(first, |inner| with(inner, rest, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;
    use std::path::Path;

    #[test]
    fn each_command_has_an_example_that_parses_and_a_page_that_exists() {
        let mut missing = Vec::new();
        leaves(&command(), "", &mut missing);
        assert!(missing.is_empty(), "no example in {missing:?}");
        for (path, example, page) in EXAMPLES {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page).exists(), "{path}: no {page}");
            let words = example.split(' ').take_while(|word| !word.starts_with('>'));
            let parsed = command().try_get_matches_from(words);
            assert!(example.starts_with("systemctl ") || parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }

    fn leaves(command: &Command, path: &str, missing: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            let path = format!("{path} {}", inner.get_name()).trim().to_owned();
            if inner.has_subcommands() {
                leaves(inner, &path, missing);
            } else if inner.get_after_help().is_none() {
                missing.push(path);
            }
        }
    }
}
