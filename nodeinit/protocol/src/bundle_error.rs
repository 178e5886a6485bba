//! Why secrets cannot be used.

/// Secrets that have not the expected form. No message contains any of their content.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not YAML, or has a key twice.
    #[error("line {line}, column {column}: not YAML, or a key is written twice")]
    Yaml {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A key that must be there.
    #[error("{0} is missing, or is not of the expected form")]
    Missing(String),
    /// A key that means nothing.
    #[error("{0} is no key of a secrets bundle")]
    Unknown(String),
    /// It is of another kind or version.
    #[error("apiVersion and kind must be nodeinit.dev/v1alpha1 and {wanted}")]
    OtherKind {
        /// The kind that it should be.
        wanted: &'static str,
    },
    /// The token of a worker.
    #[error("workerTokens.{0}: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    TokenOf(String),
    /// A worker was given the cluster's secrets.
    #[error("it is a master's, with the keys of the cluster's CAs, and this machine is a worker")]
    ForMasters,
    /// A worker's token.
    #[error("bootstrapToken: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    WorkerToken,
    /// The encryption key.
    #[error("encryptionKey: not 32 bytes in base64")]
    EncryptionKey,
    /// The encryption configuration.
    #[error("encryptionConfiguration: not a text in base64")]
    EncryptionConfiguration,
    /// The key of workers' tokens.
    #[error("workerTokenKey: not 32 bytes in base64")]
    WorkerTokenKey,
    /// A token.
    #[error("bootstrapTokens[{0}]: not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}")]
    Token(usize),
    /// A host key.
    #[error("hostKeys.{0}: not a list of SSH host keys, each `type base64` as in /etc/ssh/ssh_host_ed25519_key.pub")]
    HostKeys(String),
}
