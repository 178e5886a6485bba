//! Names the command of nodeinit for a mistyped command of another tool.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

const REMOVE: &str = "on another master, run `nodeinit master remove NAME` or `nodeinit worker remove NAME`";

const ELSEWHERE: &[(&str, &str)] = &[
    ("add", "on a master, run `nodeinit master add NAME` or `nodeinit worker add NAME`"),
    ("delete", REMOVE),
    ("destroy", "run `nodeinit reset` on each machine; it undoes everything that nodeinit did there"),
    ("init", "write a configuration with `nodeinit config init`, then create the cluster with `nodeinit up`"),
    (
        "join",
        "list the machine in the configuration, then run `nodeinit up` or `nodeinit worker add NAME` on the first master; for a worker that joins on its own, run `nodeinit up` on the worker",
    ),
    ("reboot", "run `systemctl reboot`; `os.packages.reboot` lets `nodeinit up` reboot machines after updates"),
    ("remove", REMOVE),
    ("renew", "renew certificates with `nodeinit certs renew`"),
    ("replace", "on another master, run `nodeinit master replace NAME` or `nodeinit worker replace NAME`"),
    ("rollback", "`nodeinit upgrade rollback` returns from an upgrade that has not ended"),
    ("restart", "`nodeinit up` applies changed settings, and restarts what they concern"),
    ("resume", "run the same command again: it resumes"),
    ("validate", "check a configuration with `nodeinit config validate FILE`"),
];

/// Returns the text of a command line error, with the right command if another tool's was typed.
pub(super) fn explained(error: &Error) -> String {
    let typed = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => word.as_str(),
        _ => "",
    };
    match ELSEWHERE.iter().find(|(word, _)| *word == typed) {
        Some((word, hint)) => format!("error: nodeinit has no command `{word}`\n  hint:  {hint}"),
        None => error.to_string(),
    }
}
