//! Several clusters in one folder: reads their files. [`nodeinit_config::folder`] selects them.

use crate::error::Error;
use nodeinit_base::{directory, with_causes};
use nodeinit_config::{Layer, Loaded, folder};
use std::path::{Path, PathBuf};

/// Reads the files of the cluster `name` in a folder.
///
/// # Errors
/// If the cluster's own file is missing, or a file cannot be read.
pub(super) fn layers(folder: &Path, name: &str) -> Result<Vec<Layer>, Error> {
    let read = |path: &str| std::fs::read(folder.join(path));
    let list = |path: &str| directory::names(&folder.join(path));
    folder::layers(name, read, list).map_err(|e| Error::Configuration { what: with_causes(&e), remedy: e.remedy })
}

/// Refuses a cluster ID that other clusters share: each would change the machines of the others.
///
/// # Errors
/// If the ID is not set in the cluster's own file.
pub(super) fn owns_its_id(name: &str, loaded: &Loaded) -> Result<(), Error> {
    const KEY: &str = "openstack.clusterID";
    let own = folder::cluster_file(name);
    let view = loaded.json();
    match view["origins"][KEY]["file"].as_str() {
        Some(file) if file != own => Err(Error::Configuration {
            what: format!("{KEY} is set in {file}, which several clusters share; each cluster needs an ID of its own"),
            remedy: format!("move {KEY} to {own}"),
        }),
        _ => Ok(()),
    }
}

/// The secrets bundle of the cluster `name`.
pub(super) fn secrets(name: &str) -> PathBuf {
    Path::new("clusters").join(format!("{name}.secrets.yaml"))
}

/// How the paths of the cluster's further files begin.
pub(super) fn beside(name: &str) -> String {
    format!("clusters/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_files_of_its_own() {
        assert_eq!(secrets("prod"), Path::new("clusters/prod.secrets.yaml"));
        assert_eq!(beside("prod.example.org"), "clusters/prod.example.org");
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test writes its files")]
    fn only_a_shared_file_may_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for name in ["clusters", "environments"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        let error = layers(path, "prod").unwrap_err();
        assert!(error.hint().unwrap_or_default().starts_with("create clusters/prod.yaml"), "{error}");
        std::fs::write(path.join("clusters/prod.yaml"), "").unwrap();
        assert_eq!(layers(path, "prod").unwrap().len(), 1);
        // It is there, but cannot be read.
        std::fs::create_dir(path.join("environments/defaults.yaml")).unwrap();
        let error = layers(path, "prod").unwrap_err().to_string();
        assert!(error.starts_with("cannot read environments/defaults.yaml"), "{error}");
    }

    #[test]
    fn a_shared_cluster_id_is_refused() {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: prod\n";
        let id = "openstack: {clusterID: c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10}\n";
        let rest = "masters: [{name: m1, address: 10.0.0.11}]\nopenstack: {image: i, flavor: f, network: {create: {cidr: 10.0.0.0/24}}}\n";
        let owned = |shared: &str, own: &str| {
            let shared = Layer::file("environments/defaults.yaml", format!("{head}{shared}"));
            let own = Layer::file("clusters/prod.yaml", format!("{head}{own}"));
            let rest = Layer::file("clusters/prod.yaml", format!("{head}{rest}"));
            let loaded = nodeinit_config::load(&[rest, shared, own]).unwrap_or_else(|problems| panic!("{problems}"));
            owns_its_id("prod", &loaded)
        };
        assert!(owned("", id).is_ok() && owned(id, id).is_ok());
        let error = owned(id, "").unwrap_err();
        assert!(error.to_string().contains("openstack.clusterID is set in environments/defaults.yaml"), "{error}");
        assert_eq!(error.hint().unwrap_or_default(), "move openstack.clusterID to clusters/prod.yaml");
    }
}
