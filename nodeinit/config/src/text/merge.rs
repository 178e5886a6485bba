//! Merges layers: later ones take precedence, maps merge deeply, lists and single values replace.

use crate::text::tree::{Value, YamlNode};

/// Merges `over` into `base`.
pub(crate) fn merge(base: &mut YamlNode, over: YamlNode) {
    match (&mut base.value, over) {
        (Value::Map(below), YamlNode { at, value: Value::Map(above) }) => {
            if base.at.line == 0 {
                base.at = at;
            }
            for entry in above {
                match below.iter_mut().find(|e| e.key == entry.key) {
                    Some(found) => {
                        merge(&mut found.node, entry.node);
                        found.at = entry.at;
                    }
                    None => below.push(entry),
                }
            }
        }
        (_, over) => *base = over,
    }
}
