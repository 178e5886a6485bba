//! How to get into the cloud, as every tool of OpenStack finds it: `clouds.yaml` with `secure.yaml`, or `OS_*`.

mod environment;
mod files;

use crate::error::Error;
use nodeinit_config::Secret;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Reads a variable of the environment; a test gives its own.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where the cloud is and who comes.
#[derive(Debug)]
pub struct Cloud {
    /// Keystone's address, with `/v3`.
    pub auth_url: String,
    /// What Keystone gets, as JSON.
    pub identity: Secret<String>,
    /// `None`: the only one that has Nova.
    pub region: Option<String>,
    /// `public`, `internal` or `admin`.
    pub interface: String,
    /// A file with further authorities as PEM.
    pub ca_file: Option<PathBuf>,
}

/// Finds out how to get in. `name`: the configuration's `openstack.cloud`.
///
/// # Errors
/// Everything that is missing, in one sentence.
pub fn find(name: Option<&str>, variables: Variables<'_>) -> Result<Cloud, Error> {
    let entry = match name.map(str::to_owned).or_else(|| variables("OS_CLOUD")) {
        Some(name) => files::entry(&name, variables)?,
        None => environment::entry(variables).ok_or_else(|| {
            wrong(
                "there are no settings for the login to the cloud",
                "set `openstack.cloud`, or OS_CLOUD for an entry of clouds.yaml, or source the project's openrc file",
            )
        })?,
    };
    cloud(&entry)
}

/// From an entry, as clouds.yaml has it.
fn cloud(entry: &Map<String, Value>) -> Result<Cloud, Error> {
    let empty = Map::new();
    let auth = entry.get("auth").and_then(Value::as_object).unwrap_or(&empty);
    let top = |key: &str| text(entry, key);
    let url =
        text(auth, "auth_url").ok_or_else(|| wrong("the cloud's `auth_url` is missing", "write Keystone's address"))?;
    let verified = entry.get("verify").is_none_or(|v| *v != json!(false));
    if !verified || entry.get("insecure").is_some_and(|v| *v == json!(true)) {
        return Err(wrong(
            "the cloud's entry disables TLS verification, which the provisioner does not support",
            "set `cacert` (OS_CACERT) to the CA's certificate file and remove `verify`",
        ));
    }
    let base = url.trim_end_matches('/');
    let base = base.strip_suffix("/v2.0").unwrap_or(base);
    Ok(Cloud {
        auth_url: if base.ends_with("/v3") { base.to_owned() } else { format!("{base}/v3") },
        identity: Secret::new(identity(top("auth_type").as_deref(), auth)?.to_string()),
        region: top("region_name"),
        interface: top("interface")
            .or_else(|| top("endpoint_type"))
            .map_or_else(|| "public".to_owned(), |i| i.trim_end_matches("URL").to_owned()),
        ca_file: top("cacert").map(PathBuf::from),
    })
}

/// The body of Keystone's `POST /v3/auth/tokens`.
fn identity(kind: Option<&str>, auth: &Map<String, Value>) -> Result<Value, Error> {
    let of = |key: &str| text(auth, key);
    let need = |key: &str| {
        of(key).ok_or_else(|| {
            wrong(format!("the cloud's `{key}` is missing"), "write it into clouds.yaml, or set it as OS_* variable")
        })
    };
    let application =
        kind == Some("v3applicationcredential") || (kind.is_none() && of("application_credential_secret").is_some());
    if application {
        let mut credential = json!({ "secret": need("application_credential_secret")? });
        match of("application_credential_id") {
            Some(id) => credential["id"] = json!(id),
            None => {
                credential["name"] = json!(need("application_credential_name")?);
                credential["user"] = user(auth)?;
            }
        }
        return Ok(
            json!({ "auth": { "identity": { "methods": ["application_credential"], "application_credential": credential } } }),
        );
    }
    let identity = match kind {
        Some("token" | "v3token") => json!({ "methods": ["token"], "token": { "id": need("token")? } }),
        None | Some("password" | "v3password") => {
            let mut user = user(auth)?;
            user["password"] = json!(need("password")?);
            json!({ "methods": ["password"], "password": { "user": user } })
        }
        Some(other) => {
            return Err(wrong(
                format!("the authentication type `{other}` is not supported"),
                "use password, v3applicationcredential or v3token as `auth_type`",
            ));
        }
    };
    let project = match (of("project_id").or_else(|| of("tenant_id")), of("project_name").or_else(|| of("tenant_name")))
    {
        (Some(id), _) => json!({ "id": id }),
        (None, Some(name)) => json!({ "name": name, "domain": domain(auth, "project") }),
        (None, None) => {
            return Err(wrong(
                "the cloud's project is missing",
                "write `project_name` or `project_id` (OS_PROJECT_NAME)",
            ));
        }
    };
    Ok(json!({ "auth": { "identity": identity, "scope": { "project": project } } }))
}

fn user(auth: &Map<String, Value>) -> Result<Value, Error> {
    match (text(auth, "user_id"), text(auth, "username")) {
        (Some(id), _) => Ok(json!({ "id": id })),
        (None, Some(name)) => Ok(json!({ "name": name, "domain": domain(auth, "user") })),
        (None, None) => Err(wrong(
            "the cloud's user is missing",
            "write `username` (OS_USERNAME), or use an application credential",
        )),
    }
}

fn domain(auth: &Map<String, Value>, of: &str) -> Value {
    let pick = |suffix: &str| {
        [format!("{of}_domain_{suffix}"), format!("domain_{suffix}"), format!("default_domain_{suffix}")]
            .iter()
            .find_map(|k| text(auth, k))
    };
    match (pick("id"), pick("name")) {
        (Some(id), _) => json!({ "id": id }),
        (None, Some(name)) => json!({ "name": name }),
        // Every installation has it.
        (None, None) => json!({ "id": text(auth, "default_domain").unwrap_or_else(|| "default".to_owned()) }),
    }
}

/// Numbers are texts too: a password of digits needs no quotes in anybody's tool.
fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::Configuration { what: what.into(), remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entry: Value) -> Result<Cloud, Error> {
        cloud(entry.as_object().unwrap())
    }

    #[test]
    fn a_password() {
        let auth = json!({ "auth_url": "https://k:5000/", "username": "u", "password": 12, "project_name": "p", "user_domain_name": "D" });
        let cloud = of(json!({ "auth": auth, "interface": "internalURL", "region_name": "R" })).unwrap();
        assert_eq!((cloud.auth_url.as_str(), cloud.interface.as_str()), ("https://k:5000/v3", "internal"));
        let expected = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": { "name": "u", "domain": { "name": "D" }, "password": "12" } } },
            "scope": { "project": { "name": "p", "domain": { "id": "default" } } } } });
        assert_eq!(serde_json::from_str::<Value>(cloud.identity.expose()).unwrap(), expected);
        assert!(!format!("{cloud:?}").contains("12"));
    }

    #[test]
    fn an_application_credential_has_no_scope() {
        let auth = json!({ "auth_url": "https://k:5000/v3", "application_credential_id": "i", "application_credential_secret": "s" });
        let cloud = of(json!({ "auth_type": "v3applicationcredential", "auth": auth })).unwrap();
        let identity: Value = serde_json::from_str(cloud.identity.expose()).unwrap();
        assert_eq!(
            (identity["auth"].get("scope"), &identity["auth"]["identity"]["methods"][0]),
            (None, &json!("application_credential"))
        );
    }

    #[test]
    fn what_is_missing_or_unsafe_is_named() {
        let wrong = |entry: Value| of(entry).unwrap_err().to_string();
        assert!(wrong(json!({})).contains("auth_url"));
        assert!(wrong(json!({ "auth": { "auth_url": "u", "username": "u" } })).contains("password"));
        assert!(wrong(json!({ "verify": false, "auth": { "auth_url": "u" } })).contains("TLS"));
        assert!(wrong(json!({ "auth_type": "v3oidc", "auth": { "auth_url": "u" } })).contains("v3oidc"));
    }
}
