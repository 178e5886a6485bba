//! Suggests the known word that was probably meant.

use crate::schema::{Field, Kind};

/// Returns the known word nearest to `written`, if one is similar enough.
pub(crate) fn nearest<'w>(written: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let lower = written.to_lowercase();
    let scored = known.map(|word| (distance(&lower, &word.to_lowercase()), word));
    let (distance, word) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + word.len().min(written.len()) / 4).then_some(word)
}

/// Returns the path of another group that has the key `key`.
pub(crate) fn elsewhere(key: &str, fields: &[Field], path: &str) -> Option<String> {
    fields.iter().find_map(|field| {
        let here = crate::text::tree::below(path, field.key);
        let inner = match field.kind {
            Kind::List(kind) => kind.fields(),
            // Suggest the section itself.
            Kind::Over(_) => &[],
            kind => kind.fields(),
        };
        match inner.iter().any(|f| f.key.eq_ignore_ascii_case(key)) {
            true => Some(here),
            false => elsewhere(key, inner, &here),
        }
    })
}

/// Whether the section `os`, which is one of the groups, has this key. Several other groups may have it, too.
pub(crate) fn is_of_os(key: &str, fields: &[Field]) -> bool {
    let os = fields.iter().find(|field| field.key == "os");
    os.is_some_and(|os| os.kind.fields().iter().any(|field| field.key == key))
}

/// How many letters were added, left out, changed, or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    // Long texts are no misspelt keys, and the time grows with both lengths.
    let start = |text: &str| text.chars().take(64).collect::<String>();
    strsim::osa_distance(&start(a), &start(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::CLUSTER;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let keys = || ["podCIDR", "serviceCIDR", "dnsDomain"].into_iter();
        assert_eq!(nearest("podCidr", keys()), Some("podCIDR"));
        assert_eq!(nearest("podCDIR", keys()), Some("podCIDR"));
        assert_eq!(nearest("domain", keys()), None);
        assert_eq!(nearest("servicesCIDR", keys()), Some("serviceCIDR"));
    }

    #[test]
    fn a_key_in_the_wrong_group_is_found() {
        assert_eq!(elsewhere("podCIDR", CLUSTER, "").as_deref(), Some("network"));
        assert_eq!(elsewhere("directory", CLUSTER, "").as_deref(), Some("addons.cni"));
        assert_eq!(elsewhere("nowhere", CLUSTER, ""), None);
    }
}
