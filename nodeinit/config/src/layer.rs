//! A layer of the configuration: the text of a file, or a single value.

use crate::{
    model::declare::place::keys,
    problem::{Findings, Mark, Origin, Problem, Source},
    text::{
        reader,
        tree::{YamlNode, below},
    },
};

/// A file's text, or another source of settings, under the name that reports call it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// A path, or a name such as `--set`.
    pub name: String,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    File(Vec<u8>),
    Role { role: String, bytes: Vec<u8> },
    Machine { name: String, bytes: Vec<u8> },
    Release(Vec<u8>),
    Setting { path: String, value: String },
    Unread(Problem),
}

impl Layer {
    /// A YAML file; that its bytes are text is checked with all the rest.
    pub fn file(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), content: Content::File(bytes.into()) }
    }

    /// A YAML file with the settings of a role, as in `roles.master`.
    pub fn role(name: impl Into<String>, role: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), content: Content::Role { role: role.into(), bytes: bytes.into() } }
    }

    /// A YAML file with the settings of a machine, as in its entry of `masters` or `workers`, or in `bastion`. A lower layer lists the machine.
    pub fn machine(name: impl Into<String>, machine: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), content: Content::Machine { name: machine.into(), bytes: bytes.into() } }
    }

    /// A file that adds a release of Kubernetes, or replaces an embedded one. It is no part of the configuration itself, but what is
    /// wrong in it is in the same report.
    pub fn release(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), content: Content::Release(bytes.into()) }
    }

    /// Whether it describes a release.
    #[must_use]
    pub fn is_release(&self) -> bool {
        matches!(self.content, Content::Release(_))
    }

    /// One value, written as YAML, at a path of keys such as `network.podCIDR`.
    pub fn setting(name: impl Into<String>, path: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), content: Content::Setting { path: path.into(), value: value.into() } }
    }

    /// A file that is no part of the configuration, because nothing reads it: [`crate::load`] warns of it.
    pub(crate) fn unread(name: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        let name = name.into();
        let origin = Origin { source: name.clone(), line: 0, column: 0 };
        let problem = Problem { origin, path: String::new(), what: what.into(), remedy: remedy.into() };
        Self { name, content: Content::Unread(problem) }
    }

    /// Whether the configuration contains its values.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !matches!(self.content, Content::Unread(_))
    }

    /// Returns the machine whose settings it has, if it is the file of one machine.
    pub(crate) fn of_machine(&self) -> Option<&str> {
        match &self.content {
            Content::Machine { name, .. } => Some(name),
            _ => None,
        }
    }

    pub(crate) fn source(&self) -> Source {
        Source { name: self.name.clone(), lines: !matches!(self.content, Content::Setting { .. } | Content::Unread(_)) }
    }

    pub(crate) fn parse(&self, number: usize, findings: &mut Findings) -> Option<YamlNode> {
        match &self.content {
            Content::File(bytes) | Content::Release(bytes) | Content::Machine { bytes, .. } => {
                reader::parse(number, bytes, findings)
            }
            Content::Role { role, bytes } => {
                let settings = reader::parse(number, bytes, findings)?;
                let mut root = YamlNode::map(Mark { layer: number, line: 1, column: 1 });
                root.set(&below(&keys().roles().path, role), settings);
                Some(root)
            }
            Content::Setting { path, value } => {
                let at = Mark { layer: number, line: 0, column: 0 };
                let mut root = YamlNode::map(at);
                root.set(path, reader::parse(number, value.as_bytes(), findings)?);
                Some(root)
            }
            Content::Unread(_) => None,
        }
    }
}
