//! The paths at which a machine expects the files that it receives.

/// The program, unless another copy of it runs.
pub const PROGRAM: &str = "/usr/local/bin/nodeinit";
/// The configuration.
pub const CONFIG: &str = "/etc/nodeinit/config.yaml";
/// The secrets: the bundle of a first master, or the token of a worker.
pub const SECRETS: &str = "/etc/nodeinit/secrets.yaml";
/// The secrets that the first master sends to another machine, in memory; they take precedence.
pub const SENT_SECRETS: &str = "/run/nodeinit/secrets.yaml";
