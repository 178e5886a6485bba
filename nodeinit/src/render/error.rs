//! Errors of rendering.

use nodeinit_config::yaml::YamlError;

/// Why a manifest cannot be rendered. The embedded manifests cause none of these errors; each one names a file of the user's
/// `manifestsDirectory`.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A file in the override directory does not have the name of a manifest.
    #[error("{file}: no manifest has this name, so it would replace nothing; known manifests: {known}")]
    UnknownManifest {
        /// The file's name.
        file: String,
        /// The names of all manifests.
        known: String,
    },
    /// A manifest is not YAML.
    #[error("{manifest}: not valid YAML: {source}")]
    Yaml {
        /// The manifest.
        manifest: String,
        /// The position and the cause.
        source: YamlError,
    },
    /// A placeholder has an unknown name.
    #[error("{manifest}: unknown placeholder ${{{name}}}; known placeholders: {known}; write $${{ for a literal ${{")]
    UnknownPlaceholder {
        /// The manifest.
        manifest: String,
        /// The placeholder's name.
        name: String,
        /// The names that this manifest may use.
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
    /// A manifest lacks a part that is needed to extend it.
    #[error("{manifest}: {expected} is missing; start from nodeinit's own manifest")]
    Shape {
        /// The manifest.
        manifest: String,
        /// The missing part, as a path.
        expected: &'static str,
    },
    /// A value could not be written as YAML.
    #[error("cannot write {what} as YAML: {source}")]
    Emit {
        /// The value.
        what: String,
        /// The cause.
        source: serde_saphyr::ser::Error,
    },
}
