//! What a configuration may contain, as data: one description gives the check for unknown keys and wrong values,
//! the built-in defaults, the JSON Schema, the file that `config init` writes, and `docs/reference/configuration.md`.

use crate::model::format::Format;

/// A key of a group.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key as written.
    pub key: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What holds where the key is not written.
    pub default: Fallback,
    /// What the key means: one or two sentences.
    pub doc: &'static str,
    /// Who receives it.
    pub audience: Audience,
}

/// Which machines receive a key. A key reaches a machine if it and all maps around it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Every machine.
    All,
    /// Masters.
    Masters,
    /// Workers.
    Workers,
    /// None: only the provisioner reads it.
    Nobody,
}

/// What holds where a key is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This value, as YAML.
    Value(&'static str),
    /// An empty list or map; with an example of one that is not empty, as YAML.
    Empty(&'static str),
    /// Something that depends on other values, told in words; with an example, as YAML.
    Words(&'static str, &'static str),
    /// Nothing: the key must be written.
    Required,
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A single value of a format.
    Text(&'static Format),
    /// One of a few words, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// A map with known keys.
    Group(&'static [Field]),
    /// A list of values of one kind.
    List(&'static Kind),
    /// A map whose keys are the user's.
    Dict {
        /// What the keys look like.
        keys: &'static Format,
        /// What the values look like.
        values: &'static Format,
        /// Keys that are not the user's to set, each with the reason.
        reserved: &'static [(&'static str, &'static str)],
    },
    /// Any map, handed on as it is.
    Free {
        /// First-level keys that are not the user's to set, each with the reason.
        reserved: &'static [(&'static str, &'static str)],
    },
    /// One of the words, or a map with known keys.
    ChoiceOrGroup(&'static [(&'static str, &'static str)], &'static [Field]),
}

impl Kind {
    /// The known keys, where there are any.
    #[must_use]
    pub fn fields(self) -> &'static [Field] {
        match self {
            Self::Group(fields) | Self::ChoiceOrGroup(_, fields) => fields,
            _ => &[],
        }
    }
}
