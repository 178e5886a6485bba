//! The files of the API server in [`super::paths::API_SERVER`].

use super::{Manifest, RenderError, Renderer, yaml};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::Secret;

/// Renders [`super::paths::AUDIT_POLICY`].
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn audit_policy(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    yaml::text("the audit policy", &renderer.object(Manifest::AuditPolicy, &[])?)
}

/// Renders [`super::paths::AUTHENTICATION`].
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn authentication(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    yaml::text("the authentication configuration", &renderer.object(Manifest::Authentication, &[])?)
}

/// Renders [`super::paths::ENCRYPTION`] with a key for XSalsa20 and Poly1305 (`secretbox`).
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub fn encryption(renderer: &Renderer<'_>, key: &Secret<[u8; 32]>) -> Result<Secret<String>, RenderError> {
    let key = STANDARD.encode(key.expose());
    let config = renderer.object(Manifest::Encryption, &[("encryptionKey", &key)])?;
    yaml::text("the encryption configuration", &config).map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::*;

    #[test]
    fn files_match_their_golden_files() {
        let fixture = Fixture::new();
        golden("apiserver/audit-policy.yaml", &audit_policy(&fixture.renderer()).unwrap());
        golden("apiserver/authentication.yaml", &authentication(&fixture.renderer()).unwrap());
        let encryption = encryption(&fixture.renderer(), &Secret::new([7; 32])).unwrap();
        golden("apiserver/encryption.yaml", encryption.expose());
    }
}
