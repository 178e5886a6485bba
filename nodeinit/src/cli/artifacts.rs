//! `artifacts`: the programs and images that a cluster needs, and their official sources.

mod bundle;
mod export;

use super::{Output, Printing, load, print};
use crate::{
    engine::{
        error::{Exit, StepError},
        report::Report,
    },
    fetch,
    host::{
        facts,
        files::{Files, NewFile},
    },
    render,
};
use clap::{Args, Subcommand};
use nodeinit_config::{
    Cluster, Layer, Loaded, Local, Logins,
    keys::{API_VERSION, KIND},
    upstream::{Artifact, Source},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The configuration file that sets the directory as the source of artifacts.
const LAYER: &str = "artifacts.yaml";
/// The digests of all artifacts, for a mirror of the directory: `artifacts.sha256sums` pins this file.
const SUMS: &str = "SHA256SUMS";
const LAYER_HEAD: &str = "# Written by `nodeinit artifacts`; use it with `nodeinit up --config`.\n";

#[derive(Subcommand)]
pub(super) enum Artifacts {
    /// List each program and image that a cluster with this configuration needs, and its source
    List(Wanted),
    /// Fetch the programs and images that a cluster needs into a directory that serves as artifacts.source; an interrupted fetch resumes
    Fetch(Fetch),
    /// Export the artifacts of this master to a directory that serves as artifacts.source
    Export(export::Export),
    /// Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature
    Bundle(bundle::Write),
    /// Show what a bundle contains; reads only its index
    Inspect(bundle::Inspect),
    /// Verify that a bundle is complete and undamaged, and who signed it
    Verify(bundle::Verify),
}

#[derive(Args)]
pub(super) struct Fetch {
    /// The directory; its file artifacts.lock records the digests, and later fetches accept only these digests
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Read the logins of registries from a file in the format of `docker login`, with mode 0600
    #[arg(long, value_name = "FILE")]
    registry_auth: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
}

/// Options that select the cluster and the output format.
#[derive(Args)]
pub(super) struct Wanted {
    #[command(flatten)]
    meant: Meant,
    #[command(flatten)]
    printing: Printing,
}

/// Options that select the cluster.
#[derive(Args)]
struct Meant {
    #[command(flatten)]
    source: load::Source,
    /// Use this release of Kubernetes instead of kubernetes.version
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

pub(super) async fn run(command: Artifacts) -> Exit {
    let (result, report) = match command {
        Artifacts::List(wanted) => (list(&wanted), wanted.printing.report()),
        Artifacts::Fetch(args) => {
            let report = args.wanted.printing.report();
            (fetch(&args, &report).await, report)
        }
        Artifacts::Export(args) => {
            let report = args.common.printing.report();
            (export::run(&args, &report).await, report)
        }
        Artifacts::Bundle(args) => (bundle::write(&args), Printing::default().report()),
        Artifacts::Inspect(args) => (bundle::inspect(&args), args.printing.report()),
        Artifacts::Verify(args) => (bundle::verify(&args), Printing::default().report()),
    };
    result.map_or_else(
        |error| {
            report.failed("artifacts", &error);
            error.exit
        },
        |()| Exit::Done,
    )
}

async fn fetch(args: &Fetch, report: &Report) -> Result<(), StepError> {
    let cluster = cluster(&args.wanted.meant)?;
    let files = Files::of_machine();
    let logins = match &args.registry_auth {
        Some(path) => fetch::login::read(&files, &absolute(path)?)?,
        None => Logins::default(),
    };
    let directory = absolute(&args.to)?;
    for missing in files.missing(&directory) {
        files.make_directory(&missing, 0o755)?;
    }
    let mut artifacts = cluster.upstream(facts::architecture());
    let fetch = fetch::Fetch::new(&files, directory.clone(), &cluster, facts::architecture(), logins, report.clone())?;
    fetch.run(artifacts.clone()).await.report_failures(report)?;
    let digests = fetch.digests(&artifacts);
    if let Some(etcd) = cluster.upstream_for_upgrade() {
        // A mirror for new clusters may lack this version.
        if let Err(e) = fetch.run(vec![etcd.clone()]).await.report_failures(report) {
            report.note(&etcd.path, format!("{e}; only an upgrade of an older cluster needs it"));
        }
        artifacts.push(etcd);
    }
    fetch.clean()?;
    write_layer(&files, &directory, &cluster, &digests, &fetch.digests(&artifacts), args.wanted.printing.output)
}

/// Writes the configuration file, which pins the artifacts of the cluster, and the list of all digests. Then prints how to use the directory.
fn write_layer(
    files: &Files,
    directory: &Path,
    cluster: &Cluster,
    pins: &BTreeMap<String, String>,
    digests: &BTreeMap<String, String>,
    output: Output,
) -> Result<(), StepError> {
    let layer = directory.join(LAYER);
    let text = render::yaml::text(
        LAYER,
        &json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "kubernetes": {"version": cluster.version.to_string()},
            "artifacts": {"source": directory, "sha256": pins},
        }),
    )?;
    let sums: String = digests.iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect();
    files.write(&[
        NewFile::public(&layer, format!("{LAYER_HEAD}{text}")),
        NewFile::public(directory.join(SUMS), sums),
    ])?;
    let count = digests.len();
    match output {
        Output::Text => print(&format!(
            "{count} artifacts are in {directory}; use them with `nodeinit up --config {layer}`\n",
            directory = directory.display(),
            layer = layer.display()
        )),
        Output::Json => print(&format!("{}\n", json!({"directory": directory, "artifacts": count, "config": layer}))),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, StepError> {
    std::path::absolute(path).map_err(|e| StepError::caused(format!("cannot use the path {}", path.display()), e))
}

/// Returns the selected cluster as this machine applies it; without a configuration file, the default one.
fn cluster(meant: &Meant) -> Result<Cluster, StepError> {
    let files = Files::of_machine();
    let mut layers = load::layers(&files, &meant.source)?;
    if layers.is_empty() {
        layers.extend(load::releases(&files)?);
        layers.push(Layer::file("the defaults", format!("apiVersion: {API_VERSION}\nkind: {KIND}\n")));
    }
    layers.extend(meant.version.iter().map(|version| Layer::setting("--version", "kubernetes.version", version)));
    let loaded = nodeinit_config::load(&layers)?;
    load::warn(&loaded.warnings);
    applied(loaded, &facts::local())
}

/// Returns the configuration with the values of `os` of this machine, such as its proxies; on another machine, with those of all machines.
fn applied(loaded: Loaded, local: &Local) -> Result<Cluster, StepError> {
    match loaded.cluster.node(local, None) {
        Ok(node) => Ok(loaded.of_machine(&node.name)?.cluster),
        Err(_) => Ok(loaded.cluster),
    }
}

fn list(wanted: &Wanted) -> Result<(), StepError> {
    let cluster = cluster(&wanted.meant)?;
    let mut artifacts = cluster.upstream(facts::architecture());
    artifacts.extend(cluster.upstream_for_upgrade());
    let width = artifacts.iter().map(|artifact| artifact.path.len()).max().unwrap_or_default();
    artifacts.iter().try_for_each(|artifact| match wanted.printing.output {
        Output::Text => print(&format!("{:width$}  {}\n", artifact.path, text(&artifact.source))),
        Output::Json => print(&format!("{}\n", json(artifact))),
    })
}

fn text(source: &Source) -> String {
    match source {
        Source::File(file) => {
            let member = file.member.as_ref().map_or(String::new(), |member| format!(" ({member})"));
            let mirror = if file.url == file.official { String::new() } else { format!(" from {}", file.url) };
            format!("{}{member}{mirror}", file.official)
        }
        Source::Image(image) => format!("{} from {}", image.name, image.repository),
        Source::Unknown => "no known source: copy it to the directory yourself".to_owned(),
    }
}

fn json(artifact: &Artifact) -> serde_json::Value {
    let (kind, url, member) = match &artifact.source {
        Source::File(file) => ("file", Some(&file.url), file.member.as_ref()),
        Source::Image(image) => ("image", Some(&image.repository), None),
        Source::Unknown => ("unknown", None, None),
    };
    json!({
        "path": artifact.path, "kind": kind, "source": artifact.source.official(), "url": url, "member": member,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_is_that_of_the_machine_that_fetches() {
        let text = format!(
            "apiVersion: {API_VERSION}\nkind: {KIND}\nmasters: [{{name: m1, os: {{proxy: {{https: \"http://m1:3128\"}}}}}}]\n\
             os: {{proxy: {{https: \"http://all:3128\"}}}}\nroles: {{worker: {{os: {{proxy: {{https: \"http://w:3128\"}}}}}}}}\n\
             workers: [{{name: w1}}]\ncontrolPlane: {{endpoint: api.example.org}}\n"
        );
        let loaded = nodeinit_config::load(&[Layer::file("cluster.yaml", text)]).unwrap();
        for (host_name, proxy) in [("m1", "http://m1:3128"), ("w1", "http://w:3128"), ("laptop", "http://all:3128")] {
            let local = Local { host_name: host_name.into(), addresses: vec!["192.0.2.9".parse().unwrap()] };
            let cluster = applied(loaded.clone(), &local).unwrap();
            assert_eq!(cluster.os.proxy.https.as_deref(), Some(proxy), "{host_name}");
        }
    }
}
