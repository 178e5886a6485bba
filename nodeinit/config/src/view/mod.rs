//! What follows from a configuration and from the declared keys: texts, the JSON Schema, and each machine's part.

pub(crate) mod projection;
pub(crate) mod schema;
mod show;
pub(crate) mod template;
