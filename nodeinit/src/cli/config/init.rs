//! `config init`: writes a configuration file with the settings that matter, or with every key.

use super::{
    draft::{Draft, machine, quoted},
    terminal::Terminal,
    wizard::{self, Here},
};
use crate::{
    cli::{load, print},
    engine::error::{Exit, StepError},
    host::{
        facts,
        files::{Files, NewFile},
    },
};
use clap::Args;
use nodeinit_config::{Layer, cluster::Cluster, fresh_cluster_id, releases::DEFAULT, short_template, template};
use nodeinit_screen::tell;
use serde_json::Value;
use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

/// The usual private key of an administrator.
const KEY: &str = "/root/.ssh/id_ed25519";

/// The values that the file always contains, even defaults: a later nodeinit with another default must not change the cluster.
const WRITTEN_OUT: [&str; 4] = ["name", "network.podCIDR", "network.serviceCIDR", "artifacts.source"];

#[derive(Args)]
pub(crate) struct Init {
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = load::MAIN)]
    file: PathBuf,
    /// A master; the first one starts the cluster; repeatable. By default, this machine is the only one
    #[arg(long, value_name = "NAME=ADDRESS")]
    master: Vec<String>,
    /// A worker; without an address it joins on its own; repeatable
    #[arg(long, value_name = "NAME[=ADDRESS]")]
    worker: Vec<String>,
    /// The load balancer or DNS name in front of the masters
    #[arg(long, value_name = "HOST[:PORT]")]
    endpoint: Option<String>,
    /// A free address of the masters' network, which one master at a time holds for the API
    #[arg(long, value_name = "ADDRESS")]
    virtual_address: Option<String>,
    /// User with whom the first master logs in to the other machines
    #[arg(long, value_name = "USER")]
    ssh_user: Option<String>,
    /// Private key on the first master that logs in to the other machines
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<String>,
    /// Set a key to a YAML value, such as network.podCIDR=10.1.0.0/16; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write every key; keys that are not set appear as comments
    #[arg(long)]
    full: bool,
    /// Do not ask; without a terminal, nothing is asked anyway
    #[arg(long)]
    yes: bool,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(super) async fn run(args: &Init) -> Result<(), StepError> {
    let files = Files::of_machine();
    let path =
        std::path::absolute(&args.file).map_err(|e| StepError::caused("cannot find the working directory", e))?;
    refuse_existing(&files, &path, args)?;
    // Before the questions, so that no answer is lost.
    files.check_writable(&path)?;
    let settings = settings(args)?;
    let set: Vec<&str> = settings.iter().map(|setting| setting.path.as_str()).collect();
    let mut draft = first_draft(&files, &settings)?;
    if !args.yes && io::stdin().is_terminal() {
        let here = Here { local: facts::local(), key: Some(KEY).filter(|key| files.exists(key)) };
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        wizard::ask(&mut draft, &set, &here, &mut Terminal::new(&mut input, &mut output)).await?;
        refuse_existing(&files, &path, args)?;
    }
    let text = if args.full { template(draft.layers())? } else { short_template(draft.layers())? };
    for directory in files.missing_parents(&path) {
        files.make_directory(&directory, 0o755)?;
    }
    files.write(&[match draft.loaded().secrets().is_empty() {
        true => NewFile::public(&path, text),
        false => NewFile::private(&path, text),
    }])?;
    load::warn(&draft.loaded().warnings);
    warn_of_unknown_hosts(draft.cluster());
    let config =
        if path == Path::new(load::MAIN) { String::new() } else { format!(" --config {}", args.file.display()) };
    print(&format!(
        "{} is written; next: `nodeinit config validate{config}`, then `nodeinit up{config}`\n",
        args.file.display()
    ))
}

fn refuse_existing(files: &Files, path: &Path, args: &Init) -> Result<(), StepError> {
    if args.force || !files.exists(path) {
        return Ok(());
    }
    let error = StepError::new(format!("{} is there already; nothing was written", args.file.display()));
    Err(error.exit(Exit::Usage).hint("add --force to replace it, or name another with --file"))
}

/// A value that an option sets.
struct Setting {
    option: &'static str,
    path: String,
    /// As YAML.
    value: String,
}

/// What the options set, `--set` last.
fn settings(args: &Init) -> Result<Vec<Setting>, StepError> {
    let mut settings = Vec::new();
    for (option, list, given) in [("--master", "masters", &args.master), ("--worker", "workers", &args.worker)] {
        if !given.is_empty() {
            let wrong = |reason| StepError::new(format!("{option} {reason}")).exit(Exit::Usage);
            let machines = given.iter().map(|text| machine(text)).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            settings.push(Setting { option, path: list.to_owned(), value: Value::from(machines).to_string() });
        }
    }
    for (option, path, given) in [
        ("--endpoint", "controlPlane.endpoint", &args.endpoint),
        ("--virtual-address", "controlPlane.virtualAddress", &args.virtual_address),
        ("--ssh-user", "ssh.user", &args.ssh_user),
        ("--ssh-key", "ssh.keyFile", &args.ssh_key),
    ] {
        settings.extend(given.as_ref().map(|text| Setting { option, path: path.to_owned(), value: quoted(text) }));
    }
    for text in &args.set {
        match text.split_once('=') {
            Some((path, value)) if path.split('.').all(|key| !key.is_empty()) => {
                settings.push(Setting { option: "--set", path: path.to_owned(), value: value.to_owned() });
            }
            _ => {
                let error = StepError::new(format!("--set {text:?} is not KEY=VALUE")).exit(Exit::Usage);
                return Err(error.hint("write it as network.podCIDR=10.1.0.0/16"));
            }
        }
    }
    Ok(settings)
}

/// The options, merged over the values that the file always contains.
fn first_draft(files: &Files, settings: &[Setting]) -> Result<Draft, StepError> {
    let defaults = Draft::new(Vec::new())?;
    let mut layers = load::releases(files)?;
    layers.push(Layer::setting("default", "kubernetes.version", DEFAULT));
    layers.extend(WRITTEN_OUT.map(|path| Layer::setting("default", path, quoted(&defaults.text(path)))));
    // A first master is one only because the configuration lists it.
    let local = facts::local();
    let name = local.host_name.split('.').next().unwrap_or_default();
    layers.push(Layer::setting("default", "masters", format!("[{{name: {}}}]", quoted(name))));
    if settings.iter().any(|s| s.path == "workers") && settings.iter().all(|s| s.path != "masters") {
        let node = Draft::new(layers.clone())?.cluster().node(&local, None);
        let address = node.map_err(|e| StepError::new(e.to_string()).exit(Exit::BadConfig))?.address;
        let this = format!("[{{name: {}, address: {}}}]", quoted(name), quoted(&address.to_string()));
        layers.push(Layer::setting("default", "masters", this));
    }
    layers.extend(settings.iter().map(|s| Layer::setting(s.option, &s.path, &s.value)));
    let sets = |path: &str| settings.iter().any(|setting| setting.path.starts_with(path));
    if sets("openstack.") && !sets("openstack.clusterID") {
        layers.push(Layer::setting("generated", "openstack.clusterID", fresh_cluster_id()));
    }
    Ok(Draft::new(layers)?)
}

/// `up` refuses a machine whose host key it does not know.
fn warn_of_unknown_hosts(cluster: &Cluster) {
    let unknown = wizard::without_host_key(cluster);
    if unknown.is_empty() || cluster.ssh.trust_on_first_use {
        return;
    }
    let names: Vec<&str> = unknown.iter().map(|target| target.name.as_str()).collect();
    tell(&format!(
        "warning: the file has no SSH host key of {}\n  hint:  write the line of /etc/ssh/ssh_host_ed25519_key.pub as `hostKeys` of each, \
         unless the secrets bundle has it; on a terminal, `nodeinit config init` reads the keys",
        names.join(", ")
    ));
}
