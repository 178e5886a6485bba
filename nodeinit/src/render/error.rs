//! What can go wrong when text is made.

use nodeinit_config::yaml::YamlError;

/// A manifest that cannot be turned into text or objects. With the embedded manifests none of these can happen; each
/// points at a file of the user's `manifestsDirectory`.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A file in the override directory has a name that no manifest has.
    #[error("{file}: no manifest has this name, so it would replace nothing; known are {known}")]
    UnknownManifest {
        /// The file's name.
        file: String,
        /// Every name that a manifest has.
        known: String,
    },
    /// A manifest is not YAML.
    #[error("{manifest}: not valid YAML: {source}")]
    Yaml {
        /// The manifest.
        manifest: String,
        /// Where and why.
        source: YamlError,
    },
    /// A placeholder has a name that is not known here.
    #[error("{manifest}: unknown placeholder ${{{name}}}; known here are {known}; write $${{ for a literal ${{")]
    UnknownPlaceholder {
        /// The manifest.
        manifest: String,
        /// The placeholder's name.
        name: String,
        /// Every name that this manifest may use.
        known: String,
    },
    /// A placeholder has no end.
    #[error("{manifest}: no }} ends the placeholder in {text:?}; write $${{ for a literal ${{")]
    OpenPlaceholder {
        /// The manifest.
        manifest: String,
        /// The value that contains it.
        text: String,
    },
    /// A manifest lacks what is needed to extend it.
    #[error("{manifest}: {expected} is missing; start from the manifest that `nodeinit` brings")]
    Shape {
        /// The manifest.
        manifest: String,
        /// The missing part, as a path.
        expected: &'static str,
    },
    /// A value could not be written as YAML.
    #[error("{what} cannot be written as YAML: {source}")]
    Emit {
        /// What was to be written.
        what: String,
        /// Why not.
        source: serde_saphyr::ser::Error,
    },
}
