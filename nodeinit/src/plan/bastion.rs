//! A bastion: it runs nothing of Kubernetes, but has the other settings of the operating system.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step::Step,
        step_id::StepId as Id,
    },
    steps::{
        bastion::{DNS, Forwarding, Harden, NTP, Rules},
        os,
        preflight::Preflight,
    },
};

/// Returns the plan. The kernel forwards packets only after the rules are loaded.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub(super) fn plan() -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    plan.add(Preflight, []);
    let before = plan.add_chain(os::items().into_iter().map(|step| step as Box<dyn Step>), Id::Preflight);
    // The programs may be packages of `os`, and its options of sshd precede those of a bastion.
    plan.add(Rules, [before.clone()]);
    plan.add(Forwarding, [Id::Bastion("bastion-firewall")]);
    plan.add(Harden, [before.clone()]);
    plan.add(DNS, [before.clone()]);
    plan.add(NTP, [before]);
    plan.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bastion_has_no_step_of_a_node() {
        let plan = plan().unwrap();
        let names: Vec<String> = plan.nodes().iter().map(|node| node.id.name().into_owned()).collect();
        let (of_os, own): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| name.starts_with("os-"));
        let wanted =
            ["preflight", "bastion-firewall", "bastion-forwarding", "bastion-sshd", "bastion-dns", "bastion-ntp"];
        assert_eq!(own, wanted);
        assert!(!of_os.is_empty() && of_os.iter().all(|name| *name != "os-prepare"), "{of_os:?}");
    }
}
