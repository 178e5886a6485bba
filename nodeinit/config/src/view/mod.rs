//! Views of a configuration and of the declared keys: texts, the JSON Schema, and the configuration of each machine.

pub(crate) mod diff;
mod machine;
pub(crate) mod projection;
pub(crate) mod schema;
mod show;
pub(crate) mod template;
mod version;
