//! Where a machine expects what it receives.

/// The program, if no other copy of it runs.
pub const PROGRAM: &str = "/usr/local/bin/nodeinit";
/// The configuration.
pub const CONFIG: &str = "/etc/nodeinit/config.yaml";
/// The secrets: of a first master the bundle, of a worker its token.
pub const SECRETS: &str = "/etc/nodeinit/secrets.yaml";
/// The secrets that the first master sends to another machine, in memory; looked for first.
pub const SENT_SECRETS: &str = "/run/nodeinit/secrets.yaml";
