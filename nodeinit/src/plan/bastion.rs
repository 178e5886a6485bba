//! A bastion: it runs nothing of Kubernetes.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step_id::StepId as Id,
    },
    steps::{
        bastion::{DNS, Forwarding, Harden, NTP, Rules},
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
    plan.add(Rules, [Id::Preflight]);
    plan.add(Forwarding, [Id::Bastion("bastion-firewall")]);
    plan.add(Harden, [Id::Preflight]);
    plan.add(DNS, [Id::Preflight]);
    plan.add(NTP, [Id::Preflight]);
    plan.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bastion_has_no_step_of_a_node() {
        let plan = plan().unwrap();
        let names: Vec<String> = plan.nodes().iter().map(|node| node.id.name().into_owned()).collect();
        let wanted =
            ["preflight", "bastion-firewall", "bastion-forwarding", "bastion-sshd", "bastion-dns", "bastion-ntp"];
        assert_eq!(names, wanted);
    }
}
