//! The logins of registries, from a file as `docker login` writes it.

use crate::{
    engine::error::{Exit, StepError},
    host::files::{Files, failed},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::Cluster;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{ErrorKind, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// base64 of `user:password` by registry. Without `Debug`: nothing prints it.
#[derive(Default)]
pub struct Logins(BTreeMap<String, String>);

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
}

#[derive(Deserialize)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl FromIterator<(String, String)> for Logins {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(logins: T) -> Self {
        Self(logins.into_iter().map(|(name, login)| (registry(&name), login)).collect())
    }
}

impl Logins {
    /// Reads a docker configuration file.
    ///
    /// # Errors
    /// Where it cannot be read, others can read it too, or it is of another form.
    pub fn read(files: &Files, path: &Path) -> Result<Self, StepError> {
        let wrong = |what: String| StepError::new(format!("{} {what}", path.display())).exit(Exit::BadConfig);
        let mut file = match File::open(files.real(path)) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(
                    wrong("is missing".into()).hint("put the file there that `docker login` writes, of mode 0600")
                );
            }
            opened => opened.map_err(failed("read", path))?,
        };
        let metadata = file.metadata().map_err(failed("read", path))?;
        if !metadata.is_file() {
            return Err(wrong("is no file".into())
                .hint("name the file that `docker login` writes, such as ~/.docker/config.json"));
        }
        let mode = metadata.permissions().mode();
        if mode & 0o077 != 0 {
            let what = format!("holds passwords, and others can read it (mode {:04o})", mode & 0o7777);
            return Err(wrong(what).hint(format!("chmod 600 {}", path.display())));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed("read", path))?;
        let hint = "write it as `docker login` does: {\"auths\": {\"registry.example.org\": {\"auth\": \"BASE64\"}}}";
        // What serde says of it could repeat a password.
        let config: Config =
            serde_json::from_slice(&text).map_err(|_| wrong("is no configuration of docker".into()).hint(hint))?;
        let login = |auth: Auth| match (auth.auth, auth.username, auth.password) {
            (_, Some(user), Some(password)) => Some(STANDARD.encode(format!("{user}:{password}"))),
            (auth, ..) => auth.filter(|auth| !auth.is_empty()),
        };
        Ok(config.auths.into_iter().filter_map(|(name, auth)| Some((name, login(auth)?))).collect())
    }

    /// Those of `images.registryAuthFile`; none without it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_cluster(files: &Files, cluster: &Cluster) -> Result<Self, StepError> {
        cluster.registry_auth.as_deref().map_or(Ok(Self::default()), |path| Self::read(files, path))
    }

    /// The URLs of the registries that it has logins of.
    pub fn registries(&self) -> impl Iterator<Item = String> {
        self.0.keys().map(|name| if name.contains("://") { name.clone() } else { format!("https://{name}") })
    }

    /// The login of the registry that serves `url`. One without TLS gets a login only if the file names it by `http://`.
    #[must_use]
    pub fn of(&self, url: &str) -> Option<&str> {
        self.0.get(&registry(url)).map(String::as_str)
    }
}

/// The host of a URL, or of a name as docker's configuration has them; `http://` stays.
fn registry(name: &str) -> String {
    let (scheme, rest) = name.split_once("://").unwrap_or(("https", name));
    match rest.split('/').next().unwrap_or_default() {
        "docker.io" | "index.docker.io" => "registry-1.docker.io".into(),
        host if scheme == "http" => format!("http://{host}"),
        host => host.into(),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write a file")]
mod tests {
    use super::*;

    fn write(text: &str, mode: u32) -> (tempfile::TempDir, Result<Logins, StepError>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let logins = Logins::read(&Files::of_machine(), &path);
        (dir, logins)
    }

    #[test]
    fn logins_are_found_by_host() {
        let text = r#"{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}, "r.example:5000": {"username": "u",
            "password": "q"}, "other": {}}, "credsStore": "x"}"#;
        let logins = write(text, 0o600).1.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(logins.of("https://registry-1.docker.io/v2/library/traefik"), Some("dTpw"));
        assert_eq!(logins.of("https://r.example:5000/v2/a"), Some("dTpx"));
        assert_eq!(logins.of("https://other/v2/a").or(logins.of("https://r.example/v2/a")), None);
        assert_eq!(logins.of("http://r.example:5000/v2/a"), None, "anybody on the way could read it");
        let text = r#"{"auths": {"http://r.example:5000": {"auth": "dTpw"}}}"#;
        let logins = write(text, 0o600).1.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(logins.of("http://r.example:5000/v2/a"), Some("dTpw"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_no_password_is_shown() {
        let open = write("{}", 0o644).1.err().unwrap();
        assert!(open.exit == Exit::BadConfig && open.to_string().contains("0644"), "{open}");
        assert!(open.advice().unwrap().starts_with("chmod 600 "));
        let wrong = write(r#"{"auths": "secret"}"#, 0o600).1.err().unwrap();
        assert!(!format!("{wrong:?}").contains("secret") && wrong.exit == Exit::BadConfig, "{wrong:?}");
    }
}
