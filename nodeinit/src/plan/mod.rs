//! The order of work for each role, as a list that can be read aloud.

pub mod first_master;
pub mod fixed;
pub mod master;
pub mod worker;

use crate::{context::Context, engine::step::Plan};
use nodeinit_config::cluster::Role;

/// How far a plan reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On the first master: every machine of the configuration that can be reached by SSH.
    Everywhere,
    /// On the first master: of the other machines only this one.
    Only(String),
    /// This machine only.
    Here,
}

/// The plan of this machine's role.
#[must_use]
pub fn for_role(cx: &Context, reach: &Reach) -> Plan {
    match cx.node.role {
        Role::FirstMaster => first_master::plan(&cx.cluster, reach),
        Role::Master => master::plan(&cx.cluster),
        Role::Worker => worker::plan(&cx.cluster),
    }
}
