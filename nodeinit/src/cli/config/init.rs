//! `config init`: writes a configuration file that explains every key.

use super::{load, print, wizard};
use crate::{
    engine::error::{Exit, StepError},
    host::{
        facts,
        files::{Files, NewFile},
    },
};
use clap::Args;
use nodeinit_config::{Layer, fresh_cluster_id, releases::DEFAULT, template};
use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

#[derive(Args)]
pub(crate) struct Init {
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    file: PathBuf,
    /// Do not ask: settings without `--set` keep their defaults
    #[arg(long)]
    yes: bool,
    /// Set a key to a YAML value, such as network.podCIDR=10.1.0.0/16; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Init) -> Result<(), StepError> {
    let files = Files::of_machine();
    let path =
        std::path::absolute(&args.file).map_err(|e| StepError::caused("cannot find the working directory", e))?;
    if files.exists(&path) && !args.force {
        let error = StepError::new(format!("{} is there already; nothing was written", args.file.display()));
        return Err(error.exit(Exit::Usage).hint("add --force to replace it, or name another with --file"));
    }
    // Written out, so that a later nodeinit with a newer default does not move this cluster.
    let mut layers = load::releases(&files)?;
    layers.push(Layer::setting("default", "kubernetes.version", DEFAULT));
    // A first master is one only because the configuration lists it.
    let name = facts::local().host_name;
    let name = name.split('.').next().unwrap_or_default();
    layers.push(Layer::setting("default", "masters", format!("[{{name: {name:?}}}]")));
    for text in &args.set {
        layers.push(setting(text)?);
    }
    let sets = |key: &str| args.set.iter().any(|text| text.starts_with(key));
    if sets("openstack.") && !sets("openstack.clusterID=") {
        layers.push(Layer::setting("generated", "openstack.clusterID", fresh_cluster_id()));
    }
    let mut text = template(&layers)?;
    if !args.yes {
        if !io::stdin().is_terminal() {
            let error =
                StepError::new("config init asks questions, but standard input is not a terminal").exit(Exit::Usage);
            return Err(error.hint("add --yes, and --set KEY=VALUE for each value that differs from the defaults"));
        }
        let set: Vec<&str> = args.set.iter().filter_map(|s| s.split_once('=')).map(|(path, _)| path).collect();
        text = wizard::ask(&mut layers, &set, &mut io::stdin().lock(), &mut io::stdout().lock())?;
    }
    for directory in files.missing_parents(&path) {
        files.make_directory(&directory, 0o755)?;
    }
    files.write(&[NewFile::public(&path, text)])?;
    let name = args.file.display();
    print(&format!(
        "{name} is written; next: `nodeinit config validate --config {name}`, then `nodeinit up --config {name}`\n"
    ))
}

/// `network.podCIDR=10.1.0.0/16`.
fn setting(text: &str) -> Result<Layer, StepError> {
    match text.split_once('=') {
        Some((path, value)) if path.split('.').all(|key| !key.is_empty()) => Ok(Layer::setting("--set", path, value)),
        _ => {
            let error = StepError::new(format!("--set {text:?} is not KEY=VALUE")).exit(Exit::Usage);
            Err(error.hint("write it as network.podCIDR=10.1.0.0/16"))
        }
    }
}
