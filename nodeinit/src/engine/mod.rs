//! Runs steps in the order of their dependencies, independent ones in parallel, with a journal and a report. It knows only the names of
//! steps.

pub mod blocking;
pub mod error;
pub mod journal;
pub mod led;
pub mod plan;
pub mod report;
pub mod runner;
pub mod runs;
mod status;
pub mod step;
pub mod step_id;
