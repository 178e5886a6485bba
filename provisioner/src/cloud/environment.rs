//! The variables of an openrc file.

use super::Variables;
use serde_json::{Map, Value, json};

const AUTH: [&str; 20] = [
    "auth_url",
    "username",
    "user_id",
    "password",
    "project_name",
    "project_id",
    "tenant_name",
    "tenant_id",
    "user_domain_name",
    "user_domain_id",
    "project_domain_name",
    "project_domain_id",
    "domain_name",
    "domain_id",
    "default_domain_name",
    "default_domain_id",
    "application_credential_id",
    "application_credential_name",
    "application_credential_secret",
    "token",
];
const TOP: [&str; 5] = ["auth_type", "region_name", "interface", "endpoint_type", "cacert"];

/// As an entry of clouds.yaml. `None`: there is no `OS_AUTH_URL`.
pub(super) fn entry(variables: Variables<'_>) -> Option<Map<String, Value>> {
    let pick = |keys: &[&str]| -> Map<String, Value> {
        let value = |key: &&str| {
            let text = variables(&format!("OS_{}", key.to_uppercase())).filter(|text| !text.is_empty())?;
            Some(((*key).to_owned(), json!(text)))
        };
        keys.iter().filter_map(value).collect()
    };
    let auth = pick(&AUTH);
    auth.get("auth_url")?;
    let mut entry = pick(&TOP);
    entry.insert("auth".to_owned(), Value::Object(auth));
    if variables("OS_INSECURE").is_some_and(|text| matches!(text.to_lowercase().as_str(), "1" | "true")) {
        entry.insert("insecure".to_owned(), json!(true));
    }
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_openrc_file() {
        let set = [("OS_AUTH_URL", "u"), ("OS_USERNAME", "n"), ("OS_REGION_NAME", ""), ("OS_CACERT", "/ca.pem")];
        let variables = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let expected = json!({ "cacert": "/ca.pem", "auth": { "auth_url": "u", "username": "n" } });
        assert_eq!(entry(&variables).map(Value::Object), Some(expected));
        assert_eq!(entry(&|_| None), None);
    }
}
