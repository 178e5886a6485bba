//! Several clusters in one folder: what they share, what the clusters of an environment share, and what each has of its own.
//!
//! An environment is a domain: that of the cluster `prod.example.org` is `example.org`.

use crate::error::Error;
use std::path::{Path, PathBuf};

/// The files of the cluster `name`, in ascending precedence; all but the last one may be missing.
pub(super) fn files(name: &str) -> Vec<PathBuf> {
    let environment = name.split_once('.').map(|(_, domain)| domain);
    let shared = [Some("defaults"), environment].into_iter().flatten();
    let shared = shared.map(|name| Path::new("environments").join(format!("{name}.yaml")));
    shared.chain([Path::new("clusters").join(format!("{name}.yaml"))]).collect()
}

/// The secrets bundle of the cluster `name`.
pub(super) fn secrets(name: &str) -> PathBuf {
    Path::new("clusters").join(format!("{name}.secrets.yaml"))
}

/// Reads the name of a cluster, which is a part of file names.
///
/// # Errors
/// If it is not a DNS name.
pub(super) fn name(text: &str) -> Result<String, Error> {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    match text.split('.').all(is_label) {
        true => Ok(text.to_owned()),
        false => Err(Error::Usage(format!("`{text}` is not a cluster's name, such as `prod` or `prod.example.org`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_the_files_of_its_domain() {
        let names = |name: &str| files(name).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(names("prod"), ["environments/defaults.yaml", "clusters/prod.yaml"]);
        assert_eq!(
            names("prod.example.org"),
            ["environments/defaults.yaml", "environments/example.org.yaml", "clusters/prod.example.org.yaml"]
        );
        assert_eq!(secrets("prod"), Path::new("clusters/prod.secrets.yaml"));
        assert!(name("a-1.b").is_ok() && name("../x").is_err() && name("a/b").is_err() && name("").is_err());
    }
}
