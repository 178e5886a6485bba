//! `master remove` and `worker remove`: remove a machine from the cluster.

use super::{
    Common, print,
    setup::{self, Access},
};
use crate::{
    engine::error::{Exit, StepError},
    steps::removal,
};
use clap::Args;
use nodeinit_config::cluster::Role;

#[derive(Args)]
pub(super) struct Remove {
    /// The machine's name
    name: String,
    /// Proceed even if etcd loses quorum or pods without a controller are deleted; pods that a budget protects are tried until the deadline
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(args: Remove, role: Role) -> Exit {
    match remove(&args, role).await {
        Ok(()) => Exit::Done,
        Err(error) => {
            args.common.printing.report().failed("remove", &error);
            error.exit
        }
    }
}

async fn remove(args: &Remove, role: Role) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let name = &args.name;
    let list = match role {
        Role::Worker => {
            removal::worker(&cx, name, args.force).await?;
            "workers"
        }
        _ => {
            removal::master(&cx, name, args.force).await?;
            "masters"
        }
    };
    print(&format!(
        "removed {name} from the cluster. On {name}, run `nodeinit reset --yes`. In the configuration, remove it from \
         `{list}`, or the next `up` adds it again.\n"
    ))
}
