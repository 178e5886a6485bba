//! Why secrets cannot be used.

/// Why secrets cannot be used. No message contains their content.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not YAML, or has a duplicate key.
    #[error("line {line}, column {column}: not YAML, or a duplicate key")]
    Yaml {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A required key.
    #[error("{0} is missing, or does not have the expected form")]
    Missing(String),
    /// An unknown key.
    #[error("{0} is not a key of a secrets bundle")]
    Unknown(String),
    /// It has another kind or version.
    #[error("apiVersion and kind must be nodeinit.dev/v1alpha1 and {wanted}")]
    OtherKind {
        /// The expected kind.
        wanted: &'static str,
    },
    /// The token of a worker.
    #[error("workerTokens.{0}: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    TokenOf(String),
    /// A worker received the cluster's secrets.
    #[error("it is the bundle of a master, with the keys of the cluster's CAs, but this machine is a worker")]
    ForMasters,
    /// A worker's token.
    #[error("bootstrapToken: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    WorkerToken,
    /// The encryption key.
    #[error("encryptionKey: not 32 bytes in base64")]
    EncryptionKey,
    /// The encryption configuration.
    #[error("encryptionConfiguration: not base64-encoded text")]
    EncryptionConfiguration,
    /// The key for workers' tokens.
    #[error("workerTokenKey: not 32 bytes in base64")]
    WorkerTokenKey,
    /// A token.
    #[error("bootstrapTokens[{0}]: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    Token(usize),
    /// A host key.
    #[error("hostKeys.{0}: not a list of SSH host keys, each `type base64` as in /etc/ssh/ssh_host_ed25519_key.pub")]
    HostKeys(String),
}
