//! A plan: the steps of a run and the order between them, validated when it is built.

use crate::engine::{
    error::{Exit, StepError},
    step::Step,
    step_id::StepId,
};
use std::collections::{BTreeMap, BTreeSet};

/// A step of a plan, and the steps that it waits for.
pub struct PlanNode {
    /// The step.
    pub step: Box<dyn Step>,
    /// Its identity.
    pub id: StepId,
    /// The steps that end before it starts.
    pub after: Vec<StepId>,
}

/// Collects the steps of a plan, each after its dependencies.
#[derive(Default)]
pub struct PlanBuilder(Vec<PlanNode>);

impl PlanBuilder {
    /// Adds a step that starts when the steps `after` have ended.
    pub fn add(&mut self, step: impl Step + 'static, after: impl IntoIterator<Item = StepId>) {
        self.add_boxed(Box::new(step), after);
    }

    /// The same for a step whose type is not known here.
    pub fn add_boxed(&mut self, step: Box<dyn Step>, after: impl IntoIterator<Item = StepId>) {
        let (id, after) = (step.id(), after.into_iter().collect());
        self.0.push(PlanNode { step, id, after });
    }

    /// Adds steps, each of which starts when the one before it has ended, and the first one after `after`. Returns the last one.
    pub fn add_chain(&mut self, steps: impl IntoIterator<Item = Box<dyn Step>>, after: StepId) -> StepId {
        steps.into_iter().fold(after, |before, step| {
            let id = step.id();
            self.add_boxed(step, [before]);
            id
        })
    }

    /// Adds a step that starts when all steps that were added before have ended.
    pub fn add_last(&mut self, step: impl Step + 'static) {
        let after = self.all();
        self.add(step, after);
    }

    /// Returns all steps that were added before.
    #[must_use]
    pub fn all(&self) -> Vec<StepId> {
        self.0.iter().map(|node| node.id.clone()).collect()
    }

    /// Whether the plan has this step.
    #[must_use]
    pub fn has(&self, id: &StepId) -> bool {
        self.0.iter().any(|node| node.id == *id)
    }

    /// Validates the plan.
    ///
    /// # Errors
    /// If two steps have the same name, or if a dependency is missing or not listed before its step.
    pub fn build(self) -> Result<Plan, PlanError> {
        let mut names = BTreeSet::new();
        if let Some(twice) = self.0.iter().find(|node| !names.insert(node.id.name())) {
            return Err(PlanError::Duplicate(twice.id.clone()));
        }
        let mut positions: BTreeMap<StepId, usize> = BTreeMap::new();
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); self.0.len()];
        for (position, node) in self.0.iter().enumerate() {
            for needed in &node.after {
                let Some(&before) = positions.get(needed) else {
                    let (step, needed) = (node.id.clone(), needed.clone());
                    return Err(match self.has(&needed) {
                        true => PlanError::Order { step, needed },
                        false => PlanError::Unknown { step, needed },
                    });
                };
                dependents[before].push(position);
            }
            positions.insert(node.id.clone(), position);
        }
        Ok(Plan { nodes: self.0, dependents })
    }
}

/// The steps of a run. Each is listed after its dependencies, so there is no cycle.
pub struct Plan {
    nodes: Vec<PlanNode>,
    /// For each step, the positions of its dependents.
    dependents: Vec<Vec<usize>>,
}

impl Plan {
    /// Returns the steps in order.
    #[must_use]
    pub fn nodes(&self) -> &[PlanNode] {
        &self.nodes
    }

    /// Returns the step with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&PlanNode> {
        self.nodes.iter().find(|node| node.id.name() == name)
    }

    /// Returns the positions of the dependents of the step at this position.
    pub(super) fn dependents(&self, position: usize) -> &[usize] {
        &self.dependents[position]
    }
}

/// A plan that cannot run: a defect of nodeinit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Two steps have the same name.
    #[error("the plan has two steps named {0}")]
    Duplicate(StepId),
    /// A step depends on a step that is not in the plan.
    #[error("the step {step} depends on {needed}, which is not in the plan")]
    Unknown {
        /// The step.
        step: StepId,
        /// The missing dependency.
        needed: StepId,
    },
    /// A step depends on a later one, so the two may depend on each other.
    #[error(
        "the step {step} depends on {needed}, which is not listed before it: the order is wrong, or there is a cycle"
    )]
    Order {
        /// The step.
        step: StepId,
        /// The later step, or the step itself.
        needed: StepId,
    },
}

impl From<PlanError> for StepError {
    fn from(error: PlanError) -> Self {
        Self::new(error.to_string()).exit(Exit::Defect).hint("please report this: it is a defect of nodeinit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::Context, engine::step::State};
    use async_trait::async_trait;

    struct Fake(StepId);

    #[async_trait(?Send)]
    impl Step for Fake {
        fn id(&self) -> StepId {
            self.0.clone()
        }

        fn title(&self) -> String {
            String::new()
        }

        async fn check(&self, _: &Context) -> Result<State, StepError> {
            Ok(State::Done)
        }

        async fn apply(&self, _: &Context) -> Result<(), StepError> {
            Ok(())
        }
    }

    fn error(steps: &[(StepId, &[StepId])]) -> Option<PlanError> {
        let mut plan = PlanBuilder::default();
        steps.iter().for_each(|(id, after)| plan.add(Fake(id.clone()), after.to_vec()));
        plan.build().err()
    }

    #[test]
    fn a_plan_with_an_unknown_dependency_a_cycle_or_a_duplicate_is_rejected() {
        use StepId::{Fetch, Pki, Preflight};
        assert_eq!(error(&[(Preflight, &[]), (Pki, &[Preflight])]), None);
        assert_eq!(error(&[(Pki, &[Preflight])]), Some(PlanError::Unknown { step: Pki, needed: Preflight }));
        assert_eq!(error(&[(Pki, &[]), (Pki, &[])]), Some(PlanError::Duplicate(Pki)));
        let cycle = error(&[(Pki, &[Fetch]), (Fetch, &[Pki])]);
        assert_eq!(cycle, Some(PlanError::Order { step: Pki, needed: Fetch }));
        assert_eq!(error(&[(Pki, &[Pki])]), Some(PlanError::Order { step: Pki, needed: Pki }));
        let same_name = error(&[(StepId::Containerd, &[]), (StepId::Os("containerd"), &[])]);
        assert_eq!(same_name, Some(PlanError::Duplicate(StepId::Os("containerd"))), "names are unique, too");
        assert_eq!(StepError::from(PlanError::Duplicate(Pki)).exit, Exit::Defect);
    }
}
