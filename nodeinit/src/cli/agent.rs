//! `agent`: the service on masters.

use super::{Printing, RoleName, load, print};
use crate::{
    agent::service::Service,
    engine::error::{Exit, StepError},
    host::{facts, files::Files},
    render::{kubeconfig::User, paths},
};
use clap::Args;
use nodeinit_config::Layer;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct Agent {
    /// The configuration file that `up` writes for the service
    #[arg(long, value_name = "FILE", default_value = paths::AGENT_CONFIG)]
    config: PathBuf,
    /// This machine's role, if the configuration does not list the machine
    #[arg(long, value_enum)]
    role: Option<RoleName>,
}

pub(super) async fn run(args: Agent) -> Exit {
    match service(&args) {
        Ok(service) => match service.run(|line| drop(print(&format!("{line}\n")))).await {},
        Err(error) => {
            Printing::default().report().failed("agent", &error);
            error.exit
        }
    }
}

fn service(args: &Agent) -> Result<Service, StepError> {
    let files = Files::of_machine();
    let path = args.config.display();
    let Some(text) = files.read_text(&args.config)? else {
        let error = StepError::new(format!("{path} is missing")).exit(Exit::BadConfig);
        return Err(error.hint("run `nodeinit up` on this master, which writes the file and starts the agent"));
    };
    let layers = [vec![Layer::file(path.to_string(), text)], load::releases(&files)?].concat();
    let cluster = nodeinit_config::load(&layers)?.cluster;
    let node = cluster.node(&facts::local(), args.role.map(Into::into));
    let node = node.map_err(|e| StepError::new(e.to_string()).exit(Exit::BadConfig))?;
    if !node.role.is_master() {
        let error = StepError::new(format!("{} is a {}; the agent runs on masters", node.name, node.role));
        return Err(error.exit(Exit::Usage));
    }
    let kubeconfig = Path::new(paths::KUBERNETES).join(User::Agent.file_name());
    Ok(Service::new(files, kubeconfig, &cluster, node))
}
