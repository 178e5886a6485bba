//! Runs steps: in the order of their needs, what is independent at once, with a journal and a report. Of the steps, it knows only their names.

pub mod blocking;
pub mod error;
pub mod journal;
pub mod plan;
pub mod report;
pub mod runner;
pub mod runs;
pub mod step;
pub mod step_id;
