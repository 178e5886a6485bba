//! The API server's own files, in [`super::paths::API_SERVER`].

use super::{Manifest, RenderError, Renderer, yaml};
use base64::{Engine, engine::general_purpose::STANDARD};
use nodeinit_config::Secret;

/// The text of [`super::paths::AUDIT_POLICY`].
///
/// # Errors
/// A replaced manifest that does not fit.
pub fn audit_policy(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    yaml::text("the audit policy", &renderer.object(Manifest::AuditPolicy, &[])?)
}

/// The text of [`super::paths::AUTHENTICATION`].
///
/// # Errors
/// A replaced manifest that does not fit.
pub fn authentication(renderer: &Renderer<'_>) -> Result<String, RenderError> {
    yaml::text("the authentication configuration", &renderer.object(Manifest::Authentication, &[])?)
}

/// The text of [`super::paths::ENCRYPTION`], with a key for XSalsa20 and Poly1305 (`secretbox`).
///
/// # Errors
/// A replaced manifest that does not fit.
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
    fn are_as_they_were() {
        let fixture = Fixture::new();
        golden("apiserver/audit-policy.yaml", &audit_policy(&fixture.renderer()).unwrap());
        golden("apiserver/authentication.yaml", &authentication(&fixture.renderer()).unwrap());
        let encryption = encryption(&fixture.renderer(), &Secret::new([7; 32])).unwrap();
        golden("apiserver/encryption.yaml", encryption.expose());
    }
}
