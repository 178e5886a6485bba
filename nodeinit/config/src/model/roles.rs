//! Settings of the machines of one role.

use super::{
    Os,
    declare::{Over, keys},
};
use serde_json::{Map, Value};

keys! {
    /// Settings of the machines of one role. See `docs/how-to/environments.md`.
    pub struct Roles {
        /// Settings of the masters.
        "master" master: RoleSettings, to masters;
        /// Settings of the workers.
        "worker" worker: RoleSettings, to masters;
        /// Settings of the bastion.
        "bastion" bastion: RoleSettings, to masters;
    }
}

keys! {
    /// Settings of the machines of one role.
    pub struct RoleSettings {
        /// Values of `os` for these machines. They override those of `os`: maps are merged, lists and single values replaced.
        "os" os: Map<String, Value> as Over<Os>, else "none", example "{timezone: Etc/UTC}", to masters;
    }
}
