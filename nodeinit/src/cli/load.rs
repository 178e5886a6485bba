//! Reads the configuration files of this machine in their order.

use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    host::files::{Files, NewFile, failed},
    steps::{fanout, upgrade::record::KEY},
};
use clap::Args;
use nodeinit_base::directory;
use nodeinit_config::{Layer, Loaded, Problem, cluster::Role, folder, releases, versions::KubernetesVersion};
use nodeinit_screen::tell;
use std::{
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

/// The first file, if it exists.
pub(crate) const MAIN: &str = "/etc/nodeinit/config.yaml";
/// Its `*.yaml` files are read next, in the order of their names.
const DIRECTORY: &str = "/etc/nodeinit/conf.d";
/// The path in `--config -`.
const STANDARD_INPUT: &str = "-";

/// Which configuration is meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Source {
    /// A configuration file, merged over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeatable, the last one wins;
    /// `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) config: Vec<PathBuf>,
    /// Read the files of a cluster in the current folder instead of those in /etc/nodeinit: environments/defaults.yaml,
    /// environments/DOMAIN.yaml, clusters/NAME.yaml, roles/ROLE.yaml, hosts/HOST.yaml and hosts/HOST.DOMAIN.yaml; only clusters/NAME.yaml
    /// must exist
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = folder::name)]
    cluster: Option<String>,
}

/// Reads and validates the configuration, and prints warnings to standard error.
///
/// # Errors
/// If there is no file, if one cannot be read, or if one is invalid.
pub(crate) fn load(files: &Files, source: &Source) -> Result<Loaded, StepError> {
    Ok(with_layers(files, source, &[])?.1)
}

/// The same, with the files for [`with_version`], and without the warnings in `known`.
pub(super) fn with_layers(
    files: &Files,
    source: &Source,
    known: &[Problem],
) -> Result<(Vec<Layer>, Loaded), StepError> {
    let layers = layers(files, source)?;
    if layers.is_empty() {
        return Err(none());
    }
    let loaded = nodeinit_config::load(&layers)?;
    warn_of_new(&loaded.warnings, known);
    Ok((layers, loaded))
}

/// Returns the configuration in the files with another version of Kubernetes, and prints the warnings that `configured` has not.
///
/// # Errors
/// If the configuration does not fit that version.
pub(super) fn with_version(
    layers: &[Layer],
    configured: &Loaded,
    version: KubernetesVersion,
) -> Result<Loaded, StepError> {
    let version = Layer::setting(version.to_string(), KEY, version.to_string());
    let loaded = nodeinit_config::load(&[layers, &[version]].concat())?;
    warn_of_new(&loaded.warnings, &configured.warnings);
    Ok(loaded)
}

/// Reads and validates the files of a cluster in the current folder.
///
/// # Errors
/// As [`load`].
pub(crate) fn cluster(files: &Files, name: &str) -> Result<Loaded, StepError> {
    let name = folder::name(name).map_err(|e| StepError::new(e.to_string()).exit(Exit::Usage))?;
    let source = Source { cluster: Some(name), ..Source::default() };
    Ok(nodeinit_config::load(&layers(files, &source)?)?)
}

/// Refuses to upgrade a cluster of a folder whose version is in a file that other clusters share, or in none.
///
/// # Errors
/// With the file that must have it.
pub(super) fn owns_its_version(source: &Source, loaded: &Loaded) -> Result<(), StepError> {
    let Some(cluster) = &source.cluster else { return Ok(()) };
    let (file, origin) = (folder::cluster_file(cluster), loaded.version_origin());
    let what = match origin {
        Some(origin) if origin.source == file => return Ok(()),
        Some(origin) => format!("{KEY} is written in {}, which other clusters may share", origin.source),
        None => format!("{KEY} is not written in {file}"),
    };
    let hint = format!("write `kubernetes: {{version: {}}}` in {file}", loaded.cluster.version);
    Err(StepError::new(what).exit(Exit::BadConfig).hint(hint))
}

/// Refuses files that can be read only once, for a command that reads them before each version.
///
/// # Errors
/// With the first of these files.
pub(super) fn can_be_read_again(source: &Source) -> Result<(), StepError> {
    let is_file = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let Some(path) = source.config.iter().find(|path| !is_file(path)) else { return Ok(()) };
    let what = format!("an upgrade over several versions reads `--config {}` again for each", path.display());
    let hint = "write the configuration to a file, or upgrade by one minor version at a time";
    Err(StepError::new(what).exit(Exit::Usage).hint(hint))
}

/// Writes the configuration of a folder's cluster where `nodeinit.service` reads it at boot.
///
/// # Errors
/// If other files there would change it.
pub(super) async fn keep_for_boot(cx: &Context, source: &Source) -> Result<(), StepError> {
    let own = match cx.node.role {
        _ if source.cluster.is_none() => None,
        Role::FirstMaster | Role::Master => Some(fanout::master_config(cx)),
        Role::Bastion => cx.loaded.bastion_config(),
        // A master sends it.
        Role::Worker => None,
    };
    let Some(own) = own else { return Ok(()) };
    let others = yaml_files(&cx.files, DIRECTORY)?;
    if !others.is_empty() {
        let what = format!("at the next boot, these files would change the configuration: {}", others.join(", "));
        return Err(StepError::new(what).exit(Exit::BadConfig).hint("move their keys to the folder, and remove them"));
    }
    cx.place(vec![NewFile::private(MAIN, own)]).await.map(drop)
}

/// Reads and validates one file that is the complete configuration.
///
/// # Errors
/// As [`load`].
pub(crate) fn only(files: &Files, path: &Path) -> Result<Loaded, StepError> {
    let mut layers = vec![Layer::file(path.display().to_string(), named(path)?)];
    layers.extend(self::releases(files)?);
    Ok(nodeinit_config::load(&layers)?)
}

/// Returns the error of a command that needs a configuration if there is none.
pub(crate) fn none() -> StepError {
    let error = StepError::new(format!("there is no configuration: neither {MAIN} nor a file in {DIRECTORY}"));
    error.exit(Exit::BadConfig).hint("write one with `nodeinit config init`, or pass one with --config FILE")
}

/// Prints warnings to standard error.
pub(crate) fn warn(warnings: &[Problem]) {
    warn_of_new(warnings, &[]);
}

fn warn_of_new(warnings: &[Problem], known: &[Problem]) {
    for warning in warnings.iter().filter(|warning| !known.contains(warning)) {
        tell(&format!("warning: {warning}\n  hint:  {}", warning.remedy));
    }
}

/// Returns the files of the configuration in ascending precedence: those of a cluster, or the machine's own and then each named one, which
/// must exist; then those of releases.
pub(crate) fn layers(files: &Files, source: &Source) -> Result<Vec<Layer>, StepError> {
    let mut layers = match &source.cluster {
        Some(cluster) => in_folder(cluster)?,
        None => of_machine(files, &source.config)?,
    };
    if !layers.is_empty() {
        layers.extend(self::releases(files)?);
    }
    Ok(layers)
}

/// Reads the files of this machine, and then those that the user named.
fn of_machine(files: &Files, named: &[PathBuf]) -> Result<Vec<Layer>, StepError> {
    let mut layers = Vec::new();
    for path in std::iter::once(MAIN.to_owned()).chain(yaml_files(files, DIRECTORY)?) {
        layers.extend(files.read(&path)?.map(|bytes| Layer::file(path, bytes)));
    }
    for path in named.iter().filter(|path| path.as_path() != Path::new(MAIN)) {
        let name = if path == Path::new(STANDARD_INPUT) { "standard input".into() } else { path.display().to_string() };
        layers.push(Layer::file(name, self::option(path)?));
    }
    Ok(layers)
}

/// Reads the files of a cluster in the current folder.
fn in_folder(cluster: &str) -> Result<Vec<Layer>, StepError> {
    let list = |path: &str| directory::names(Path::new(path));
    folder::layers(cluster, |path| std::fs::read(path), list)
        .map_err(|e| StepError::caused(e.to_string(), e.source).exit(Exit::BadConfig).hint(e.remedy))
}

/// Returns the error of a step with the path of each key of `os` that it names, and the file and the line of its value. If another machine has written
/// the configuration of this one, that machine adds file and line.
pub(super) fn located(cx: &Context, error: StepError) -> StepError {
    let is_generated =
        cx.files.read_text(MAIN).is_ok_and(|text| text.is_some_and(|text| text.starts_with("# Written by ")));
    error.reworded(|what| cx.loaded.located(&cx.node.name, what, Some(MAIN).filter(|_| is_generated)))
}

/// Returns the files of this machine that add or replace releases of Kubernetes.
pub(crate) fn releases(files: &Files) -> Result<Vec<Layer>, StepError> {
    let mut layers = Vec::new();
    for path in yaml_files(files, releases::DIRECTORY)? {
        layers.extend(files.read(&path)?.map(|bytes| Layer::release(path, bytes)));
    }
    Ok(layers)
}

/// Returns the paths of a directory's `*.yaml` files, in the order of their names.
fn yaml_files(files: &Files, directory: &str) -> Result<Vec<String>, StepError> {
    let names = files.list(directory)?.into_iter().filter(|name| name.ends_with(".yaml") && !name.starts_with('.'));
    Ok(names.map(|name| format!("{directory}/{name}")).collect())
}

/// Reads standard input to its end, up to a limit that no configuration reaches.
fn read_standard_input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(16 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file that `--config` names.
fn option(path: &Path) -> Result<Vec<u8>, StepError> {
    let directory = "`--config` takes a file; repeat it for each file in the directory";
    read(path, "check the path that `--config` names", directory)
}

/// Reads a file that is an argument of a command.
pub(super) fn named(path: &Path) -> Result<Vec<u8>, StepError> {
    read(path, "check the path", "name a file in this directory")
}

/// Reads a file that the user named, without the root prefix. `missing` and `directory` are the hints if there is none.
fn read(path: &Path, missing: &'static str, directory: &'static str) -> Result<Vec<u8>, StepError> {
    let read = match path == Path::new(STANDARD_INPUT) {
        true => read_standard_input(),
        false => std::fs::read(path),
    };
    read.map_err(|e| {
        let kind = e.kind();
        let error = StepError::from(failed("read", path)(e));
        match kind {
            ErrorKind::NotFound => error.exit(Exit::BadConfig).hint(missing),
            ErrorKind::IsADirectory => error.exit(Exit::BadConfig).hint(directory),
            ErrorKind::PermissionDenied => error.exit(Exit::NoPermission).hint("run it with sudo"),
            _ => error,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(path: &Path) -> Source {
        Source { config: vec![path.to_owned()], cluster: None }
    }

    #[test]
    fn what_can_be_read_only_once_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        Files::under(dir.path()).write(&[NewFile::public("/a.yaml", "")]).unwrap();
        assert!(can_be_read_again(&config(&dir.path().join("a.yaml"))).is_ok());
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [pipe.as_path(), Path::new(STANDARD_INPUT)] {
            let refused = can_be_read_again(&config(path)).unwrap_err().to_string();
            assert!(refused.contains(&format!("reads `--config {}` again", path.display())), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_bastion_keeps_its_part_of_a_folder_for_the_next_boot() {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: []\nbastion: {name: m1, network: 10.0.0.0/24}\n";
        let (_dir, cx) = crate::context::testing::context_of(config);
        assert_eq!(cx.node.role, Role::Bastion);
        keep_for_boot(&cx, &config_of_no_folder()).await.unwrap();
        assert!(!cx.files.exists(MAIN));
        keep_for_boot(&cx, &Source { cluster: Some("lab".into()), ..config_of_no_folder() }).await.unwrap();
        assert_eq!(cx.files.read_text(MAIN).unwrap(), cx.loaded.bastion_config());
    }

    fn config_of_no_folder() -> Source {
        Source { config: Vec::new(), cluster: None }
    }

    #[test]
    fn an_error_of_a_step_names_the_place_of_the_value() {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nroles: {master: {os: {timezone: Mars/Base}}}\n";
        let (_dir, cx) = crate::context::testing::context_of(config);
        let error = located(&cx, StepError::new("os.timezone: there is no Mars/Base").hint("fix it"));
        assert_eq!(error.to_string(), "cluster.yaml:3:33: roles.master.os.timezone: there is no Mars/Base");
        assert_eq!(error.advice(), Some("fix it"));
    }

    #[test]
    fn files_of_releases_are_read_with_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        for path in ["/etc", "/etc/nodeinit", releases::DIRECTORY] {
            files.make_directory(Path::new(path), 0o755).unwrap();
        }
        let release = "version: v1.38.0\nimages: {etcd: 3.7.3-0, coreDNS: v1.15.0, pause: 3.11.0}\n\
            kubeadm: {apiVersion: kubeadm.k8s.io/v1}\ncontainerd: {minimum: 2.0, recommended: 2.1}\nkubelet: {failCgroupV1: true}\n";
        files.write(&[NewFile::public("/etc/nodeinit/releases/1.38.yaml", release)]).unwrap();
        assert!(load(&files, &Source::default()).unwrap_err().to_string().starts_with("there is no configuration"));
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.38.0}\n";
        files.write(&[NewFile::public(MAIN, config)]).unwrap();
        let loaded = load(&files, &Source::default()).unwrap();
        assert_eq!(loaded.cluster.release.pause, "3.11.0");
        let given: Vec<_> = loaded.release_files().collect();
        assert_eq!(given, [("/etc/nodeinit/releases/1.38.yaml", release.as_bytes())]);
    }

    #[test]
    fn files_are_read_in_order_and_only_named_ones_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let none = load(&files, &Source::default()).unwrap_err();
        assert!(none.to_string().starts_with("there is no configuration: neither"), "{none}");
        for path in ["/etc", "/etc/nodeinit", DIRECTORY] {
            files.make_directory(Path::new(path), 0o755).unwrap();
        }
        let text = |name: &str| format!("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: {name}\n");
        let names = ["conf.d/20-b.yaml", "conf.d/10-a.yaml", "conf.d/.hidden.yaml", "conf.d/README", "config.yaml"];
        files.write(&names.map(|n| NewFile::public(format!("/etc/nodeinit/{n}"), text("own")))).unwrap();
        let named = dir.path().join("mine.yaml");
        files.write(&[NewFile::public("/mine.yaml", text("mine"))]).unwrap();
        let read: Vec<String> = layers(&files, &config(&named)).unwrap().into_iter().map(|l| l.name).collect();
        let own = ["config.yaml", "conf.d/10-a.yaml", "conf.d/20-b.yaml"].map(|n| format!("/etc/nodeinit/{n}"));
        assert_eq!(read[..3], own);
        assert_eq!(load(&files, &config(&named)).unwrap().cluster.name, "mine");
        let missing = load(&files, &config(Path::new("/no/such.yaml"))).unwrap_err();
        assert_eq!((missing.to_string().as_str(), missing.exit), ("cannot read /no/such.yaml", Exit::BadConfig));
        let directory = load(&files, &config(dir.path())).unwrap_err();
        assert!(
            directory.exit == Exit::BadConfig && directory.advice().is_some_and(|hint| hint.contains("takes a file")),
            "{directory}"
        );
        assert_eq!(missing.advice(), Some("check the path that `--config` names"));
        for (path, hint) in
            [(Path::new("/no/such.yaml"), "check the path"), (dir.path(), "name a file in this directory")]
        {
            assert_eq!(only(&files, path).unwrap_err().advice(), Some(hint));
        }
    }
}
