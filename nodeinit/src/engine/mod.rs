//! Runs steps: in the order of their needs, what is independent at once, with a journal and a report. Knows no particular step.

pub mod error;
pub mod journal;
pub mod report;
pub mod runner;
pub mod runs;
pub mod step;
pub mod timeline;
pub mod wait;
