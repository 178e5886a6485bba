//! What a configuration may contain, as data: one description gives the check for unknown keys and wrong values,
//! the built-in defaults, the JSON Schema, the file that `config init` writes, and `docs/reference/configuration.md`.

use crate::model::format::Format;

/// A key of a group.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key as written.
    pub key: &'static str,
    /// The allowed values.
    pub kind: Kind,
    /// The effective value if the key is missing.
    pub default: Fallback,
    /// The description: one or two sentences.
    pub doc: &'static str,
    /// The machines that receive it.
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

/// The effective value of a missing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This value, as YAML.
    Value(&'static str),
    /// An empty list or map; with an example that is not empty, as YAML.
    Empty(&'static str),
    /// A value that depends on others, described in words; with an example, as YAML.
    Words(&'static str, &'static str),
    /// None: the key is required.
    Required,
}

/// The kind of a value.
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
    /// A map whose keys the user chooses.
    Dict {
        /// The format of the keys.
        keys: &'static Format,
        /// The format of the values.
        values: &'static Format,
        /// Keys that nodeinit manages, each with the reason.
        reserved: &'static [(&'static str, &'static str)],
    },
    /// Any map, passed on unchanged.
    Free {
        /// First-level keys that nodeinit manages, each with the reason.
        reserved: &'static [(&'static str, &'static str)],
    },
    /// One of the words, or a map with known keys.
    ChoiceOrGroup(&'static [(&'static str, &'static str)], &'static [Field]),
    /// A map with the keys of the section of the same name, whose values it overrides.
    Over(&'static [Field]),
}

impl Kind {
    /// Returns the known keys, if there are any.
    #[must_use]
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Group(fields) | Self::ChoiceOrGroup(_, fields) | Self::Over(fields) => fields,
            _ => &[],
        }
    }
}
