//! `master remove` and `worker remove`: remove a machine from the cluster.

use super::{
    Common, execute, print,
    setup::{self, Access},
};
use crate::{
    engine::error::{Exit, StepError},
    steps::{lead, removal},
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
    let _lock = setup::lock()?;
    let cx = setup::context(&args.common, Access::Change)?;
    let (name, kind) = (&args.name, role.kind());
    if !cx.node.role.is_master() {
        let what = format!("a master removes machines, but this machine is a {}", cx.node.role);
        return Err(StepError::new(what).exit(Exit::Usage).hint("run this on a master"));
    }
    let command = format!("{kind} remove {name}");
    let lead = lead::take(&cx, &command, false).await?;
    let removal = async {
        match role {
            Role::Worker => removal::worker(&cx, name, args.force).await,
            _ => removal::master(&cx, name, args.force).await,
        }
    };
    execute::under(&cx, lead, &command, removal).await?;
    print(&format!(
        "removed {name} from the cluster. On {name}, run `nodeinit reset --yes`. In the configuration, remove it from \
         `{kind}s`, or the next `up` adds it again.\n"
    ))
}
