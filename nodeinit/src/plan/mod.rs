//! The steps of each role, and what each waits for.

mod first_master;
pub mod immutable;
mod machine;
mod master;
pub mod reset;
mod worker;

use crate::{
    context::Context,
    engine::plan::{Plan, PlanError},
    render::kubelet::requests_serving_certificate,
    steps::etcd::Permit,
};
use nodeinit_config::{Cluster, cluster::Role};
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
///
/// # Errors
/// A defect: the plan is not valid.
pub fn for_role(cx: &Context, reach: &Reach, permit: Permit) -> Result<Plan, PlanError> {
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

/// The plan of a first master that brings up no other machine, for the documentation.
///
/// # Errors
/// A defect: the plan is not valid.
pub fn of_first_master(cluster: &Cluster) -> Result<Plan, PlanError> {
    first_master::plan(cluster, &Reach::Here, Permit::None, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodeinit_config::{Addon, Layer};

    /// Clusters that differ in everything on which a plan depends.
    fn clusters() -> Vec<Cluster> {
        let mut optional: Vec<String> = Addon::ALL.iter().map(|addon| format!("{}: true", addon.key())).collect();
        optional.extend([String::new(), optional.join(", "), "manifests: /own".to_owned()]);
        let mut texts = Vec::new();
        for optional in &optional {
            for cni in ["flannel", "none", "{directory: /cni}"] {
                for switches in 0..16 {
                    let on = |bit: u8| switches & (1 << bit) != 0;
                    let address = if on(0) { "controlPlane: {virtualAddress: 10.0.0.10}\n" } else { "" };
                    let others = if on(1) { ", {name: m2, address: 10.0.0.12}" } else { "" };
                    let addons = format!("cni: {cni}, kubeProxy: {}, coreDNS: {}, {optional}", on(2), on(2));
                    texts.push(format!(
                        "agent: {{enabled: {}}}\naddons: {{{addons}}}\n{address}workers: [{{name: w1, address: 10.0.0.21}}, {{name: w2}}]\n\
                         masters: [{{name: m1, address: 10.0.0.11}}{others}]\n",
                        on(3)
                    ));
                }
            }
        }
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let load = |text| nodeinit_config::load(&[Layer::file("cluster.yaml", format!("{head}{text}"))]);
        texts.iter().map(|text| load(text).unwrap_or_else(|e| panic!("{text}: {e}")).cluster).collect()
    }

    #[test]
    fn the_plan_of_every_role_with_every_addon_is_valid() {
        let first = |cluster: &Cluster, masters_last| {
            first_master::plan(cluster, &Reach::Everywhere, Permit::None, masters_last)
        };
        for cluster in clusters() {
            let plans = [first(&cluster, false), first(&cluster, true), master::plan(&cluster), worker::plan(&cluster)];
            for plan in plans {
                assert!(plan.is_ok(), "{:?}: {:?}", cluster.addons, plan.err());
            }
        }
        assert!(reset::plan(false, false).is_ok());
    }
}
