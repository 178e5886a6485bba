//! The plan of `reset`: undoes what the journal lists, in a safe order.

use crate::{
    engine::{
        plan::{Plan, PlanBuilder, PlanError},
        step_id::StepId as Id,
    },
    steps::{
        bastion,
        containerd::RestoreContainerd,
        etcd::leave::Leave,
        images::RemoveImages,
        os::RestoreOs,
        reset::{RemoveData, RemoveFiles, RemoveJournal, RemoveNetwork, RemovePods, StopKubelet, Unmount},
    },
};

/// Returns the plan. It removes the journal last, so that an interrupted reset resumes. With `force`, the other masters' etcd may lose
/// its quorum; with `remove_aside`, etcd data that was moved aside is deleted, too.
///
/// # Errors
/// If the plan is not valid, which is a defect.
pub fn plan(force: bool, remove_aside: bool) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::default();
    plan.add(Leave { force }, []);
    plan.add(StopKubelet, [Id::LeaveEtcd]);
    plan.add(RemovePods, [Id::StopKubelet]);
    plan.add(Unmount, [Id::RemovePods]);
    plan.add(RemoveNetwork, [Id::Unmount]);
    plan.add(RemoveImages, [Id::RemovePods]);
    plan.add(RestoreContainerd, [Id::RemoveImages, Id::Unmount]);
    // It unmounts disks, on which data may be.
    plan.add(RemoveData { remove_aside }, [Id::RemoveNetwork, Id::RestoreContainerd]);
    plan.add(RestoreOs, [Id::RemoveData]);
    plan.add(bastion::Restore, [Id::RestoreKernel]);
    plan.add(RemoveFiles, [Id::RestoreBastion]);
    plan.add(RemoveJournal, [Id::RemoveFiles]);
    plan.build()
}
