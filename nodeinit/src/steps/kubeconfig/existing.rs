//! Reads an existing kubeconfig.

use crate::{
    host::files::{FileError, Files},
    pki::{Certificate, Key, PkiError},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::{
    Secret,
    yaml::{self, YamlError},
};
use serde_json::Value;
use std::path::Path;

/// The current context of a kubeconfig.
#[derive(Debug)]
pub(in crate::steps) struct Existing {
    /// The server's URL.
    pub(in crate::steps) server: String,
    /// The CA that it trusts.
    pub(in crate::steps) ca: Certificate,
    /// Its user's certificate and key; `None` if the user authenticates in another way, or the named files are missing.
    pub(in crate::steps) client: Option<(Certificate, Key)>,
}

/// Why a kubeconfig cannot be used. No message contains its content.
#[derive(Debug, thiserror::Error)]
pub(in crate::steps) enum KubeconfigError {
    #[error("is not a kubeconfig in YAML: {0}")]
    Yaml(YamlError),
    #[error("lacks {0}")]
    Lacks(&'static str),
    #[error("{0} is not base64")]
    Base64(String),
    #[error("{what}: {source}")]
    Pki { what: &'static str, source: PkiError },
    #[error("{0}")]
    File(FileError),
}

impl Existing {
    /// Reads a kubeconfig, and the files that it names.
    pub(in crate::steps) fn read(files: &Files, text: &str) -> Result<Self, KubeconfigError> {
        let config = parse(text)?;
        let context = &named(&config, "contexts", config["current-context"].as_str())["context"];
        let cluster = &named(&config, "clusters", context["cluster"].as_str())["cluster"];
        let user = &named(&config, "users", context["user"].as_str())["user"];
        let server = cluster["server"].as_str().ok_or(KubeconfigError::Lacks("the server of its current context"))?;
        let ca = bytes(files, cluster, "certificate-authority")?;
        let ca = ca.ok_or(KubeconfigError::Lacks("the certificate authority of its current context"))?;
        let pki = |what| move |source| KubeconfigError::Pki { what, source };
        let pair = bytes(files, user, "client-certificate")?.zip(bytes(files, user, "client-key")?.map(Secret::new));
        let client = match pair {
            Some((certificate, key)) => Some((
                Certificate::from_pem(&certificate).map_err(pki("client-certificate"))?,
                Key::from_pem(key.expose()).map_err(pki("client-key"))?,
            )),
            None => None,
        };
        Ok(Self {
            server: server.to_owned(),
            ca: Certificate::from_pem(&ca).map_err(pki("certificate-authority"))?,
            client,
        })
    }
}

fn parse(text: &str) -> Result<Value, KubeconfigError> {
    yaml::document(text).map_err(KubeconfigError::Yaml)
}

/// Returns a kubeconfig's text with another certificate for the user of its current context, if it contains one.
pub(in crate::steps) fn with_client_certificate(text: &str, pem: &str) -> Result<Value, KubeconfigError> {
    let mut config = parse(text)?;
    let user = named(&config, "contexts", config["current-context"].as_str())["context"]["user"].clone();
    let users = config["users"].as_array_mut().into_iter().flatten();
    match users.into_iter().find(|each| each["name"] == user) {
        Some(found) => found["user"]["client-certificate-data"] = STANDARD.encode(pem).into(),
        None => return Err(KubeconfigError::Lacks("the user of its current context")),
    }
    Ok(config)
}

fn named<'a>(config: &'a Value, list: &str, name: Option<&str>) -> &'a Value {
    let all = config[list].as_array().into_iter().flatten();
    name.and_then(|name| all.into_iter().find(|each| each["name"] == name)).unwrap_or(&Value::Null)
}

/// Returns the bytes under `KEY-data`, or in the file that `KEY` names.
fn bytes(files: &Files, map: &Value, key: &str) -> Result<Option<Vec<u8>>, KubeconfigError> {
    let data_key = format!("{key}-data");
    match (map[&data_key].as_str(), map[key].as_str()) {
        (Some(data), _) => STANDARD.decode(data).map(Some).map_err(|_| KubeconfigError::Base64(data_key)),
        (None, Some(path)) => files.read(Path::new(path)).map_err(KubeconfigError::File),
        (None, None) => Ok(None),
    }
}
