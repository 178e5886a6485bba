//! The steps of each role and their dependencies.

mod bastion;
mod first_master;
pub mod immutable;
mod machine;
mod master;
pub mod reset;
pub mod upgrade;
mod worker;

use crate::{
    context::Context,
    engine::plan::{Plan, PlanError},
    render::kubelet::requests_serving_certificate,
    steps::etcd::Permit,
};
use nodeinit_config::{Cluster, cluster::Role};
use std::net::IpAddr;

/// The machines that a plan includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On a leading master: every configured machine with SSH access.
    Everywhere,
    /// On a leading master: only this one of the other machines.
    Only {
        /// Its name in the configuration.
        name: String,
        /// Its address, if the configuration does not have it.
        address: Option<IpAddr>,
    },
    /// This machine only.
    Here,
}

/// Returns the plan of this machine's role; `permit` allows a first master to bootstrap etcd.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn for_role(cx: &Context, reach: &Reach, permit: Permit) -> Result<Plan, PlanError> {
    let (cluster, own) = (&cx.cluster, &cx.node.name);
    // If the agent was just enabled, the API servers of the other masters start to verify kubelets, too.
    let masters_last = || requests_serving_certificate(cluster) && !cx.renderer().verify_kubelets;
    match cx.node.role {
        Role::FirstMaster => first_master::plan(cluster, own, reach, permit, masters_last()),
        Role::Master if *reach == Reach::Here => master::plan(cluster),
        Role::Master => first_master::leading(cluster, own, reach, masters_last()),
        Role::Worker => worker::plan(&cx.cluster),
        Role::Bastion => bastion::plan(),
    }
}

/// Returns the plan of a first master without other machines, for the documentation.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn of_first_master(cluster: &Cluster) -> Result<Plan, PlanError> {
    first_master::plan(cluster, "", &Reach::Here, Permit::None, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodeinit_config::{Addon, Layer};

    /// Returns clusters that differ in everything on which a plan depends.
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
            first_master::plan(cluster, "m1", &Reach::Everywhere, Permit::None, masters_last)
        };
        for cluster in clusters() {
            let leading = first_master::leading(&cluster, "m2", &Reach::Everywhere, false);
            let plans = [
                first(&cluster, false),
                first(&cluster, true),
                master::plan(&cluster),
                leading,
                worker::plan(&cluster),
            ];
            for plan in plans {
                assert!(plan.is_ok(), "{:?}: {:?}", cluster.addons, plan.err());
            }
        }
        assert!(reset::plan(false, false).is_ok());
    }
}
