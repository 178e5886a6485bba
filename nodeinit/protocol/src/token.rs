//! Bootstrap tokens: their form, and the output of `token list`.

use serde::{Deserialize, Serialize};

/// The characters of a token. Source: `k8s.io/cluster-bootstrap/token/util/helpers.go`.
pub const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Whether a text has the form of a bootstrap token, such as `abcdef.0123456789abcdef`.
#[must_use]
pub fn is_bootstrap_token(token: &str) -> bool {
    let part = |part: &str, length| part.len() == length && part.bytes().all(|b| ALPHABET.contains(&b));
    token.split_once('.').is_some_and(|(id, secret)| part(id, 6) && part(secret, 16))
}

/// Returns the ID of a token: the part before the dot, which is public.
#[must_use]
pub fn id(token: &str) -> Option<&str> {
    token.split_once('.').map(|(id, _)| id)
}

/// A token in the output of `token list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStatus {
    /// Its ID.
    pub id: String,
    /// Its worker, if it is for one.
    #[serde(default)]
    pub worker: Option<String>,
    /// `valid`, `expired`, `used` or `revoked`.
    #[serde(default)]
    pub state: String,
    /// When a valid or expired token expires; empty if never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// When a token was used or revoked; empty if no longer known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Whether it is no longer valid.
    pub ended: bool,
    /// Its purpose.
    #[serde(default)]
    pub description: String,
}

impl TokenStatus {
    /// Reads the output of `token list`; other lines are skipped.
    pub fn read(output: &str) -> impl Iterator<Item = Self> {
        output.lines().filter_map(|line| serde_json::from_str(line).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_right_form() {
        assert!(is_bootstrap_token("abcdef.0123456789abcdef"));
        for wrong in ["", "abcdef", "abcdef.0123456789abcde", "ABCDEF.0123456789abcdef", "abcdef-0123456789abcdef"] {
            assert!(!is_bootstrap_token(wrong), "{wrong}");
        }
        assert_eq!(id("abcdef.0123456789abcdef"), Some("abcdef"));
    }

    #[test]
    fn the_keys_of_a_list_are_those_of_the_documentation() {
        let page = include_str!("../../../docs/reference/cli.md");
        let row = page.lines().find(|line| line.starts_with("| `token create`; `token list` |")).unwrap();
        let time = || Some("2026-01-31T12:00:00Z".to_owned());
        let token = TokenStatus {
            id: "abcdef".into(),
            worker: None,
            state: "valid".into(),
            expires: time(),
            closed: time(),
            ended: false,
            description: String::new(),
        };
        let printed = serde_json::to_value(token).unwrap();
        for key in printed.as_object().unwrap().keys() {
            assert!(row.contains(&format!("`{key}`")), "docs/reference/cli.md does not name {key}: {row}");
        }
    }

    #[test]
    fn a_list_survives_a_round_trip() {
        let token = TokenStatus {
            id: "abcdef".into(),
            worker: Some("w1".into()),
            state: "used".into(),
            expires: None,
            closed: Some("2026-01-31T12:00:00Z".into()),
            ended: true,
            description: "of worker w1".into(),
        };
        let text =
            format!("Welcome!\n{}\n{{\"id\":\"ghijkl\",\"ended\":false}}\n", serde_json::to_string(&token).unwrap());
        let read: Vec<TokenStatus> = TokenStatus::read(&text).collect();
        assert_eq!(read[0], token);
        assert!(read[1].id == "ghijkl" && !read[1].ended && read.len() == 2);
    }
}
