//! The names that Kubernetes accepts. Source: `k8s.io/apimachinery/pkg/util/validation/validation.go`.

use crate::problem::Flaw;

/// Checks an RFC 1123 label: at most 63 of `a-z0-9-`, alphanumeric at both ends.
pub(crate) fn label(text: &str) -> Result<(), Flaw> {
    let fits = (1..=63).contains(&text.len()) && is_label(text);
    verdict(fits, text, "a DNS label", "use at most 63 of a-z, 0-9 and `-`, with a letter or digit at both ends")
}

/// Checks an RFC 1123 subdomain: labels separated by dots, at most 253 characters.
pub(crate) fn subdomain(text: &str) -> Result<(), Flaw> {
    verdict(is_subdomain(text), text, "a DNS name", SUBDOMAIN_REMEDY)
}

const SUBDOMAIN_REMEDY: &str =
    "use at most 253 of a-z, 0-9, `-` and `.`, with a letter or digit at both ends and around each dot";

/// Checks a node's name. It is shorter than Kubernetes allows, because it must be a host name and the value of a label.
pub(crate) fn node_name(text: &str) -> Result<(), Flaw> {
    let fits = text.len() <= 63 && is_subdomain(text);
    verdict(fits, text, "a node's name", "use at most 63 of a-z, 0-9, `-` and `.`, with a letter or digit at both ends")
}

/// Checks a label's key: `name` or `prefix/name`.
pub(crate) fn label_key(text: &str) -> Result<(), Flaw> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let fits = !name.is_empty() && is_qualified(name) && prefix.is_none_or(is_subdomain);
    let remedy = "write `name` or `dns.prefix/name`; a name has at most 63 of A-Z, a-z, 0-9, `-`, `_` and `.`, \
                  with a letter or digit at both ends";
    verdict(fits, text, "a label's key", remedy)
}

/// Checks a label's value; may be empty.
pub(crate) fn label_value(text: &str) -> Result<(), Flaw> {
    let remedy = "use at most 63 of A-Z, a-z, 0-9, `-`, `_` and `.`, with a letter or digit at both ends";
    verdict(is_qualified(text), text, "a label's value", remedy)
}

/// Returns the flaw that `text` is not `what`, unless it `fits`.
pub(crate) fn verdict(fits: bool, text: &str, what: &str, remedy: &str) -> Result<(), Flaw> {
    if fits {
        return Ok(());
    }
    Err(Flaw::new(format!("{text:?} is not {what}"), remedy))
}

fn ends_well(text: &str) -> bool {
    let good = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    good(text.bytes().next()) && good(text.bytes().last())
}

fn is_label(text: &str) -> bool {
    ends_well(text) && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_qualified(text: &str) -> bool {
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    text.is_empty() || (text.len() <= 63 && ends_well(text) && body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_names() {
        assert!(label("master-1").is_ok() && label(&"a".repeat(63)).is_ok());
        for wrong in ["", "-a", "a-", "A", "a_b", "a.b", &"a".repeat(64)] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
        assert!(subdomain("a.b-c.d").is_ok());
        for wrong in ["a..b", ".a", "a.", "a.-b", &"a.".repeat(127)] {
            assert!(subdomain(wrong).is_err(), "{wrong}");
        }
        assert!(label_key("example.org/Zone_1").is_ok() && label_key("tier").is_ok());
        for wrong in ["/a", "a/", "a/b/c", "Exa.org/a", "", "a b"] {
            assert!(label_key(wrong).is_err(), "{wrong}");
        }
        assert!(label_value("").is_ok() && label_value("a_B.c").is_ok() && label_value("-").is_err());
    }
}
