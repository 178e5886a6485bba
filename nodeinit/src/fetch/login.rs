//! Reads the file with the logins of registries.

use crate::{
    engine::error::{Exit, StepError},
    host::files::{Files, failed},
};
use nix::unistd::geteuid;
use nodeinit_config::{Cluster, Logins};
use std::{
    io::{ErrorKind, Read},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// Maximum size of the file in bytes.
const LARGEST: u64 = 1 << 20;

/// Reads the logins of `images.registryAuthFile`. Returns none if the key is not set, or if this machine does not have the file:
/// `preflight` warns about that.
///
/// # Errors
/// As [`read`].
pub fn of_cluster(files: &Files, cluster: &Cluster) -> Result<Logins, StepError> {
    let path = cluster.registry_auth.as_deref().filter(|path| files.exists(path));
    path.map_or(Ok(Logins::default()), |path| read(files, path))
}

/// Reads a docker configuration file.
///
/// # Errors
/// If it cannot be read, if others can read or write it, or if it is invalid.
pub fn read(files: &Files, path: &Path) -> Result<Logins, StepError> {
    let wrong = |what: String| StepError::new(format!("{} {what}", path.display())).exit(Exit::BadConfig);
    let mut file = match files.open_without_waiting(path) {
        Err(e) if e.source.kind() == ErrorKind::NotFound => {
            return Err(wrong("is missing".into())
                .hint(format!("copy ~/.docker/config.json there, then run `chmod 600 {}`", path.display())));
        }
        opened => opened?,
    };
    let metadata = file.metadata().map_err(failed("read", path))?;
    if !metadata.is_file() {
        return Err(wrong("is not a file".into())
            .hint("use the file that `docker login` writes, such as ~/.docker/config.json"));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        let what = format!("holds passwords, and others can read it (mode {mode:04o})");
        return Err(wrong(what).hint(format!("chmod 600 {}", path.display())));
    }
    if ![0, geteuid().as_raw()].contains(&metadata.uid()) {
        return Err(wrong("belongs to another user".into()).hint(format!("chown root {}", path.display())));
    }
    let mut text = Vec::new();
    file.by_ref().take(LARGEST).read_to_end(&mut text).map_err(failed("read", path))?;
    let hint = "write it as docker's config.json: {\"auths\": {\"registry.example.org\": {\"username\": \"…\", \"password\": \"…\"}}}";
    Logins::parse(&text).map_err(|what| wrong(what).hint(hint))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write a file")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn write(text: &str, mode: u32) -> Result<Logins, StepError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        read(&Files::of_machine(), &path)
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_no_password_is_shown() {
        assert!(write(r#"{"auths": {"r": {"auth": "dTpw"}}}"#, 0o600).unwrap().of("https://r/").is_some());
        let open = write("{}", 0o644).err().unwrap();
        assert!(open.exit == Exit::BadConfig && open.to_string().contains("0644"), "{open}");
        assert!(open.advice().unwrap().starts_with("chmod 600 "));
        let wrong = write(r#"{"auths": "secret"}"#, 0o600).err().unwrap();
        assert!(!format!("{wrong:?}").contains("secret") && wrong.exit == Exit::BadConfig, "{wrong:?}");
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        let error = |path: &Path| read(&Files::of_machine(), path).unwrap_err().to_string();
        assert!(error(&pipe).ends_with("is not a file"));
        assert!(error(&dir.path().join("none")).ends_with("is missing"));
    }
}
