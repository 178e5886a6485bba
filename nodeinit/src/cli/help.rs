//! The text that `--help` prints below the options of a command: an example and the documentation page.

use clap::Command;

/// Command, example, page in `docs/`.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("up", "nodeinit up", "tutorials/bare-metal.md"),
    ("plan", "nodeinit plan --config cluster.yaml", "how-to/operate.md"),
    ("preflight", "nodeinit preflight --role worker", "how-to/troubleshooting.md"),
    ("status", "nodeinit status --watch", "how-to/operate.md"),
    ("timeline", "nodeinit timeline -o svg >timeline.svg", "how-to/operate.md"),
    ("reset", "nodeinit reset --yes", "how-to/operate.md"),
    ("agent", "systemctl status nodeinit-agent", "reference/security.md"),
    ("version", "nodeinit version -o json", "reference/releases.md"),
    ("completion", "nodeinit completion bash >/etc/bash_completion.d/nodeinit", "reference/cli.md"),
    ("config init", "nodeinit config init", "reference/configuration.md"),
    ("config validate", "nodeinit config validate cluster.yaml", "reference/configuration.md"),
    ("config show", "nodeinit config show --config cluster.yaml", "reference/configuration.md"),
    ("config diff", "nodeinit config diff former.yaml cluster.yaml", "reference/configuration.md"),
    ("config import", "nodeinit config import kubeadm kubeadm.yaml >cluster.yaml", "how-to/migrate-from-kubeadm.md"),
    ("config schema", "nodeinit config schema >nodeinit.schema.json", "reference/configuration.md"),
    ("artifacts list", "nodeinit artifacts list --config cluster.yaml", "reference/artifacts.md"),
    ("artifacts fetch", "nodeinit artifacts fetch --config cluster.yaml --to /opt/kubernetes", "how-to/air-gap.md"),
    ("artifacts export", "nodeinit artifacts export --to /opt/kubernetes", "how-to/air-gap.md"),
    (
        "artifacts bundle",
        "nodeinit artifacts bundle --config cluster.yaml --from /opt/kubernetes -o kubernetes.tar",
        "how-to/air-gap.md",
    ),
    ("artifacts inspect", "nodeinit artifacts inspect kubernetes.tar", "how-to/air-gap.md"),
    ("artifacts verify", "nodeinit artifacts verify kubernetes.tar --public-key bundle-key.pub", "how-to/air-gap.md"),
    ("secrets generate", "nodeinit secrets generate --file secrets.yaml", "reference/certificates.md"),
    ("secrets inspect", "nodeinit secrets inspect --file secrets.yaml", "reference/certificates.md"),
    ("token create", "nodeinit token create --worker w3 -o json", "how-to/operate.md"),
    ("token list", "nodeinit token list --all", "how-to/operate.md"),
    ("token delete", "nodeinit token delete abcdef", "how-to/operate.md"),
    ("addons list", "nodeinit addons list", "how-to/addons.md"),
    ("addons apply", "nodeinit addons apply monitoring", "how-to/addons.md"),
    ("addons remove", "nodeinit addons remove metrics-server", "how-to/addons.md"),
    ("certs check", "nodeinit certs check", "how-to/operate.md"),
    ("certs renew", "nodeinit certs renew apiserver", "how-to/operate.md"),
    ("certs approve", "nodeinit certs approve w3", "how-to/troubleshooting.md"),
    ("etcd members", "nodeinit etcd members", "how-to/operate.md"),
    ("etcd remove", "nodeinit etcd remove m3", "how-to/troubleshooting.md"),
    ("etcd snapshot", "nodeinit etcd snapshot /root/etcd.db", "how-to/operate.md"),
    ("etcd defrag", "nodeinit etcd defrag --compact", "how-to/operate.md"),
    ("etcd alarms", "nodeinit etcd alarms disarm", "how-to/operate.md"),
    ("etcd aside list", "nodeinit etcd aside list", "how-to/operate.md"),
    ("etcd aside remove", "nodeinit etcd aside remove NAME", "how-to/operate.md"),
    ("upgrade plan", "nodeinit upgrade plan v1.37.1", "how-to/upgrade.md"),
    ("upgrade apply", "nodeinit upgrade apply v1.37.1", "how-to/upgrade.md"),
    ("upgrade rollback", "nodeinit upgrade rollback --plan", "how-to/upgrade.md"),
    ("master add", "nodeinit master add m3", "how-to/operate.md"),
    ("master remove", "nodeinit master remove m3", "how-to/operate.md"),
    ("master replace", "nodeinit master replace m1", "how-to/replace-a-machine.md"),
    ("worker add", "nodeinit worker add w3 --address 10.0.0.23", "how-to/operate.md"),
    ("worker remove", "nodeinit worker remove w3", "how-to/operate.md"),
    ("worker replace", "nodeinit worker replace w3", "how-to/replace-a-machine.md"),
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
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name()).trim().to_owned();
            if inner.has_subcommands() {
                leaves(inner, &path, missing);
            } else if inner.get_after_help().is_none() {
                missing.push(path);
            }
        }
    }
}
