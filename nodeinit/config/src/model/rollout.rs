//! The order of changes that restart control planes or kubelets.

use super::{declare::keys, values::Share};
use std::path::PathBuf;

keys! {
    /// The order of changes that restart control planes or kubelets, by `up` or `upgrade`: masters one at a time, then workers.
    #[derive(Eq)]
    pub struct Rollout {
        /// How many workers are changed at a time: a number, or a percentage of all workers (rounded down, at least one).
        "parallel" parallel: Share = "10%", to masters;
        /// Programs that the leading master runs during a rollout.
        "hooks" hooks: Hooks, to masters;
    }
}

keys! {
    /// Programs that the leading master runs during a rollout. Their environment has `NODEINIT_CLUSTER`, `NODEINIT_HOOK`, and for one machine
    /// `NODEINIT_MACHINE` and `NODEINIT_ROLE`. The rollout stops if one fails, or runs longer than `timeouts.node`.
    #[derive(Default, Eq)]
    pub struct Hooks {
        /// Before the first machine.
        "before" before: Option<PathBuf>, else "none", example "/etc/nodeinit/hooks/before", to masters;
        /// Before each machine, when its turn has come.
        "beforeMachine" before_machine: Option<PathBuf>, else "none", example "/etc/nodeinit/hooks/before-machine", to masters;
        /// After each machine that was changed, when it is healthy.
        "afterMachine" after_machine: Option<PathBuf>, else "none", example "/etc/nodeinit/hooks/after-machine", to masters;
        /// After the last machine.
        "after" after: Option<PathBuf>, else "none", example "/etc/nodeinit/hooks/after", to masters;
    }
}
