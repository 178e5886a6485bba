//! Random bytes and texts, from the system's random number generator.

use super::PkiError;
use nodeinit_protocol::token::ALPHABET;
use ring::rand::{SecureRandom, SystemRandom};

/// Returns random bytes.
///
/// # Errors
/// [`PkiError::NoRandom`].
pub fn bytes<const N: usize>() -> Result<[u8; N], PkiError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| PkiError::NoRandom)?;
    Ok(bytes)
}

/// Generates a bootstrap token such as `abcdef.0123456789abcdef`. Source: `k8s.io/cluster-bootstrap/token/util/helpers.go`.
///
/// # Errors
/// [`PkiError::NoRandom`].
pub fn bootstrap_token() -> Result<String, PkiError> {
    Ok(format!("{}.{}", text::<6>()?, text::<16>()?))
}

fn text<const N: usize>() -> Result<String, PkiError> {
    let mut text = String::with_capacity(N);
    while text.len() < N {
        // 252 of the 256 values of a byte are used, a multiple of 36; the others would favour some letters.
        let [byte] = bytes::<1>()?;
        if byte < 252 {
            text.push(char::from(ALPHABET[usize::from(byte % 36)]));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodeinit_protocol::token::is_bootstrap_token;

    #[test]
    fn tokens_have_the_right_form() {
        let token = bootstrap_token().unwrap();
        assert!(is_bootstrap_token(&token), "{token}");
        assert_ne!(token, bootstrap_token().unwrap());
    }
}
