//! The secrets of a worker: the token with which it joins, and never a CA's key.

use crate::{BundleError, map::Part, token::is_bootstrap_token};
use nodeinit_config::{Secret, yaml};

const API_VERSION: &str = "nodeinit.dev/v1alpha1";
const KIND: &str = "WorkerSecrets";

/// The secrets of one worker, which it needs until it has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSecrets {
    /// The bootstrap token, such as `abcdef.0123456789abcdef`.
    pub bootstrap_token: Secret<String>,
}

impl WorkerSecrets {
    /// Reads them.
    ///
    /// # Errors
    /// [`BundleError`], which names the key and never the content.
    pub fn parse(text: &str) -> Result<Self, BundleError> {
        let read = yaml::document(text).map_err(|e| BundleError::Yaml { line: e.line, column: e.column })?;
        let mut all = Part::root(read)?;
        match (all.text("apiVersion")?.as_str(), all.text("kind")?.as_str()) {
            (API_VERSION, KIND) => {}
            (API_VERSION, "Secrets") => return Err(BundleError::ForMasters),
            _ => return Err(BundleError::OtherKind { wanted: KIND }),
        }
        let token = all.text("bootstrapToken")?;
        all.end()?;
        match is_bootstrap_token(&token) {
            true => Ok(Self { bootstrap_token: Secret::new(token) }),
            false => Err(BundleError::WorkerToken),
        }
    }

    /// Returns the same as YAML.
    #[must_use]
    pub fn text(&self) -> Secret<String> {
        // Quoted: some tokens look like numbers.
        let token = self.bootstrap_token.expose();
        Secret::new(format!("apiVersion: {API_VERSION}\nkind: {KIND}\nbootstrapToken: \"{token}\"\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_survive_a_round_trip_and_errors_do_not_contain_them() {
        let secrets = WorkerSecrets { bootstrap_token: Secret::new("123456.0123456789012345".into()) };
        let text = secrets.text().expose().clone();
        assert_eq!(WorkerSecrets::parse(&text).unwrap(), secrets);
        for (bad, said) in [
            (text.replace("123456.", "TOPSECRET."), "bootstrapToken: not of the form"),
            (text.replace("WorkerSecrets", "Secrets"), "it is the bundle of a master"),
            (text.replace("WorkerSecrets", "Cluster"), "apiVersion and kind must be"),
            (text.clone() + "token: TOPSECRET\n", "token is not a key"),
            (text.replace("bootstrapToken", "\"bootstrapToken"), "line 3"),
        ] {
            let error = WorkerSecrets::parse(&bad).unwrap_err().to_string();
            assert!(error.starts_with(said) && !error.contains("TOPSECRET"), "{error}");
        }
    }
}
