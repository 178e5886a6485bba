//! The logins of registries, as `docker login` writes them.

use crate::secret::Secret;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use std::collections::BTreeMap;

/// The registry of `docker.io`.
pub const DOCKER_HUB: &str = "registry-1.docker.io";

/// base64 of `user:password`, by the registry's host; with the prefix `http://` for one without TLS.
#[derive(Clone, Debug, Default)]
pub struct Logins(BTreeMap<String, Secret<String>>);

impl Logins {
    /// Reads the text of docker's `config.json`. Skips entries without a password.
    ///
    /// # Errors
    /// What is wrong with the text; never a part of a password.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let form = || "is not a docker configuration".to_owned();
        let config: Value = serde_json::from_slice(text).map_err(|_| form())?;
        let auths = match config.as_object().ok_or_else(form)?.get("auths") {
            None => return Ok(Self::default()),
            Some(auths) => auths.as_object().ok_or_else(form)?,
        };
        let mut logins: BTreeMap<String, Secret<String>> = BTreeMap::new();
        for (name, auth) in auths.iter().filter(|(name, _)| !is_token_of_docker(name)) {
            let host = host(name).ok_or_else(|| format!("has a login for {name:?}, which is not a registry"))?;
            let Some(login) = login(name, auth)? else { continue };
            let other =
                if let Some(rest) = host.strip_prefix("http://") { rest.to_owned() } else { format!("http://{host}") };
            if logins.contains_key(&other) || logins.get(&host).is_some_and(|known| known.expose() != login.expose()) {
                return Err(format!("has two logins for {}", host.trim_start_matches("http://")));
            }
            logins.insert(host, login);
        }
        if logins.is_empty() && !auths.is_empty() {
            return Err("has no password: credential helpers and identity tokens are not supported".to_owned());
        }
        Ok(Self(logins))
    }

    /// Returns the URLs of the registries with logins.
    pub fn registries(&self) -> impl Iterator<Item = String> {
        self.0.keys().map(|host| if host.contains("://") { host.clone() } else { format!("https://{host}") })
    }

    /// Returns the login of the registry that serves `url`: base64 of `user:password`. A registry without TLS gets a login only if the
    /// file names it with `http://`.
    #[must_use]
    pub fn of(&self, url: &str) -> Option<&str> {
        self.0.get(&host(url)?).map(|login| login.expose().as_str())
    }
}

/// Returns the login of an entry, encoded again; `None` if it has no password.
fn login(name: &str, auth: &Value) -> Result<Option<Secret<String>>, String> {
    let text = |key: &str| auth.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if text("identitytoken").is_some() {
        return Ok(None);
    }
    let pair = match (text("username"), text("password"), text("auth")) {
        (Some(user), Some(password), _) => format!("{user}:{password}"),
        (.., Some(auth)) => {
            let decoded = STANDARD.decode(auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            decoded
                .filter(|pair| pair.contains(':'))
                .ok_or_else(|| format!("has an `auth` for {name} that is not base64 of USER:PASSWORD"))?
        }
        _ => return Ok(None),
    };
    Ok(Some(Secret::new(STANDARD.encode(pair))))
}

/// Whether an entry is one of the two that `docker login` writes in addition to the login when it logs in with a browser.
/// Source: github.com/docker/cli, cli/internal/oauth/manager.
fn is_token_of_docker(name: &str) -> bool {
    ["/v1/access-token", "/v1/refresh-token"].iter().any(|end| name.ends_with(&format!("index.docker.io{end}")))
}

/// Returns the host of a URL, or of a name in docker's configuration; keeps `http://`. `None` if it is not a host.
fn host(name: &str) -> Option<String> {
    let (scheme, rest) = name.split_once("://").unwrap_or(("https", name));
    let host = rest.split('/').next().unwrap_or_default().to_ascii_lowercase();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-.:[]_".contains(c);
    if !host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') || !host.chars().all(is_part) {
        return None;
    }
    Some(match (host.as_str(), scheme) {
        ("docker.io" | "index.docker.io", _) => DOCKER_HUB.into(),
        (_, "http") => format!("http://{host}"),
        _ => host,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins(auths: &str) -> Result<Logins, String> {
        Logins::parse(format!(r#"{{"auths": {auths}, "credsStore": "x"}}"#).as_bytes())
    }

    #[test]
    fn logins_are_found_by_host() {
        let all = r#"{"https://index.docker.io/v1/": {"auth": "dTpw"}, "R.example:5000": {"username": "u", "password": "q"}, "other": {}}"#;
        let logins = logins(all).unwrap();
        assert_eq!(logins.of("https://registry-1.docker.io/v2/library/traefik"), Some("dTpw"));
        assert_eq!(logins.of("https://r.example:5000/v2/a"), Some("dTpx"));
        assert_eq!(logins.of("https://other/v2/a").or(logins.of("https://r.example/v2/a")), None);
        assert_eq!(logins.of("http://r.example:5000/v2/a"), None, "a man in the middle could read it");
        let registries: Vec<_> = logins.registries().collect();
        assert_eq!(registries, ["https://r.example:5000", "https://registry-1.docker.io"]);
        let logins = self::logins(r#"{"http://r.example:5000": {"auth": "dTpw"}}"#).unwrap();
        assert_eq!(logins.of("http://r.example:5000/v2/a"), Some("dTpw"));
        assert!(Logins::parse(b"{}").unwrap().registries().next().is_none());
        let of_browser = r#"{"https://index.docker.io/v1/": {"auth": "dTpw"}, "https://index.docker.io/v1/access-token": {"auth": "dTpx"},
            "https://index.docker.io/v1/refresh-token": {"auth": "dTpy"}}"#;
        assert_eq!(self::logins(of_browser).unwrap().of("https://registry-1.docker.io/v2/a"), Some("dTpw"));
    }

    #[test]
    fn an_invalid_login_is_named_without_a_password() {
        for (auths, what) in [
            (r#""secret""#, "is not a docker configuration"),
            (r#"{"r": {}}"#, "has no password: credential helpers and identity tokens are not supported"),
            (
                r#"{"r": {"auth": "AAAA", "identitytoken": "secret"}}"#,
                "has no password: credential helpers and identity tokens are not supported",
            ),
            (r#"{"r": {"auth": "dTpw\ndTpw"}}"#, "has an `auth` for r that is not base64 of USER:PASSWORD"),
            (r#"{"r": {"auth": "c2VjcmV0"}}"#, "has an `auth` for r that is not base64 of USER:PASSWORD"),
            (r#"{"..": {"auth": "dTpw"}}"#, "has a login for \"..\", which is not a registry"),
            (r#"{"a b": {"auth": "dTpw"}}"#, "has a login for \"a b\", which is not a registry"),
            (r#"{"r/a": {"auth": "dTpw"}, "r/b": {"auth": "dTpx"}}"#, "has two logins for r"),
            (r#"{"r": {"auth": "dTpw"}, "http://r": {"auth": "dTpw"}}"#, "has two logins for r"),
        ] {
            assert_eq!(logins(auths).unwrap_err(), what, "{auths}");
        }
        assert!(!format!("{:?}", logins(r#"{"r": {"auth": "dTpw"}}"#).unwrap()).contains("dTpw"));
    }
}
