//! The order of work for each role, as a list that can be read aloud.

pub mod first_master;
pub mod fixed;
pub mod master;
pub mod worker;

use crate::{context::Context, engine::step::Plan, render::kubelet::requests_serving_certificate, steps::etcd::Permit};
use nodeinit_config::cluster::Role;
use std::net::IpAddr;

/// How far a plan reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On the first master: every machine of the configuration that can be reached by SSH.
    Everywhere,
    /// On the first master: of the other machines only this one.
    Only {
        /// Its name in the configuration.
        name: String,
        /// Where to reach it, if the configuration does not have its address.
        address: Option<IpAddr>,
    },
    /// This machine only.
    Here,
}

/// The plan of this machine's role; `permit` allows a first master to bootstrap etcd.
#[must_use]
pub fn for_role(cx: &Context, reach: &Reach, permit: Permit) -> Plan {
    match cx.node.role {
        Role::FirstMaster => {
            // Where the agent was just switched on, the other masters' API servers begin to verify kubelets, too.
            let masters_last = requests_serving_certificate(&cx.cluster) && !cx.renderer().verify_kubelets;
            first_master::plan(&cx.cluster, reach, permit, masters_last)
        }
        Role::Master => master::plan(&cx.cluster),
        Role::Worker => worker::plan(&cx.cluster),
    }
}
