//! `init`: writes the configuration of a new cluster in the cloud, with a cluster ID of its own.

use super::confirm;
use crate::{error::Error, output};
use clap::Args;
use nodeinit_config::{Layer, fresh_cluster_id, releases::DEFAULT, template};
use nodeinit_protocol::Exit;
use serde_json::Value;
use std::{
    fs::OpenOptions,
    io::{IsTerminal, Write},
    path::PathBuf,
};

#[derive(Args)]
pub(super) struct Init {
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    file: PathBuf,
    /// The cluster's name
    #[arg(long)]
    name: Option<String>,
    /// The image of the machines, by name or ID
    #[arg(long)]
    image: Option<String>,
    /// The flavor of the machines, by name or ID
    #[arg(long)]
    flavor: Option<String>,
    /// The address range that may use SSH and the API, such as 192.0.2.0/24
    #[arg(long, value_name = "CIDR")]
    access: Option<String>,
    /// Number of masters
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=9))]
    masters: u8,
    /// Number of workers
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=79))]
    workers: u8,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Init) -> Result<Exit, Error> {
    let asked = [
        ("--name", "name of the cluster", &args.name),
        ("--image", "image of the machines", &args.image),
        ("--flavor", "flavor of the machines", &args.flavor),
        ("--access", "address range that may use SSH and the API, such as 192.0.2.0/24", &args.access),
    ];
    let missing: Vec<&str> = asked.iter().filter(|(_, _, value)| value.is_none()).map(|(flag, _, _)| *flag).collect();
    if !missing.is_empty() && !std::io::stdin().is_terminal() {
        return Err(Error::Usage(format!(
            "standard input is not a terminal, so nothing can be asked; add {}",
            missing.join(", ")
        )));
    }
    let mut answers = Vec::new();
    for (_, question, given) in asked {
        answers.push(match given {
            Some(value) => value.clone(),
            None => answer(question)?,
        });
    }
    let text = configuration(args, &answers, &fresh_cluster_id())?;
    let name = args.file.display();
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    let opened =
        if args.force { options.create(true).open(&args.file) } else { options.create_new(true).open(&args.file) };
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| Error::Refused {
        what: format!("cannot write {name}: {e}"),
        remedy: "add --force to replace it, or name another file with --file".to_owned(),
    })?;
    output::line(&format!("{name} is written, with a new cluster ID; next: `provisioner plan --config {name}`"));
    Ok(Exit::Done)
}

fn answer(question: &str) -> Result<String, Error> {
    confirm::answer(&format!("{question}:")).ok_or_else(|| {
        Error::Usage("standard input ended before all questions were answered; nothing was written".to_owned())
    })
}

/// The file's text. `answers`: name, image, flavor and address range.
fn configuration(args: &Init, answers: &[String], id: &str) -> Result<String, Error> {
    let quoted = |text: &String| Value::from(text.as_str()).to_string();
    let [name, image, flavor, access] = answers else {
        return Err(Error::Defect("an answer is missing".to_owned()));
    };
    let machines = |role: &str, count: u8, first: u8| {
        let each = (0..count).map(|n| format!("{{name: {role}-{}, address: 10.0.0.{}}}", n + 1, first + n));
        format!("[{}]", each.collect::<Vec<_>>().join(", "))
    };
    let settings = [
        ("name", quoted(name)),
        ("kubernetes.version", quoted(&DEFAULT.to_owned())),
        ("masters", machines("master", args.masters, 11)),
        ("workers", machines("worker", args.workers, 21)),
        ("openstack.clusterID", id.to_owned()),
        ("openstack.image", quoted(image)),
        ("openstack.flavor", quoted(flavor)),
        ("openstack.network.create.cidr", "10.0.0.0/24".to_owned()),
        ("openstack.network.create.firstAddress", "10.0.0.100".to_owned()),
        ("openstack.network.create.lastAddress", "10.0.0.200".to_owned()),
        ("openstack.floatingIPs", "first-master".to_owned()),
        ("openstack.loadBalancer.floatingIP", "true".to_owned()),
        ("openstack.access.ssh", format!("[{}]", quoted(access))),
        ("openstack.access.api", format!("[{}]", quoted(access))),
    ];
    let layers: Vec<Layer> = settings.into_iter().map(|(path, value)| Layer::setting("answer", path, value)).collect();
    template(&layers).map_err(|problems| Error::Configuration {
        what: problems.to_string(),
        remedy: "correct the answer".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodeinit_config::load;

    #[test]
    fn what_is_written_is_good_and_has_an_id_of_its_own() {
        let args = Init {
            file: "cluster.yaml".into(),
            name: None,
            image: None,
            flavor: None,
            access: None,
            masters: 9,
            workers: 79,
            force: false,
        };
        let answers = ["demo", "debian 12", "m1.medium", "192.0.2.0/24"].map(str::to_owned);
        let id = fresh_cluster_id();
        let text = configuration(&args, &answers, &id).unwrap();
        let loaded = load(&[Layer::file("cluster.yaml", text.clone())]).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let cloud = loaded.cluster.openstack.unwrap();
        assert_eq!((cloud.cluster_id.as_str(), cloud.image.as_str()), (id.as_str(), "debian 12"));
        assert!(text.contains("# Keypair for SSH access"), "{text}");
        let wrong = ["demo", "i", "f", "nowhere"].map(str::to_owned);
        assert!(configuration(&args, &wrong, &id).unwrap_err().to_string().contains("openstack.access.ssh"));
    }
}
