//! The differences of two configurations, with their origins. Secrets are masked.

use crate::{
    keys::CLUSTER,
    load::Loaded,
    problem::Origin,
    schema::{Fallback, Kind},
    text::tree::{Value, YamlNode, below},
    view::show::mask,
};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// A value, and where it is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The value.
    pub value: Json,
    /// The file and the line, or `default`.
    pub origin: Origin,
}

/// A value that two configurations do not share.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its path, such as `masters[m1].address`.
    pub path: String,
    /// In the first configuration; `None` if it is not set there.
    pub from: Option<Set>,
    /// In the second one.
    pub to: Option<Set>,
}

/// A value in each of the two configurations, if it is written there.
type Both<'n> = [Option<&'n YamlNode>; 2];

impl Loaded {
    /// Returns what differs in another configuration, by path. Where a value is written does not matter. The entries of a list are compared
    /// by what names them; an entry that only one list has is one difference, and so is another order of those that both have.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut comparison = Comparison { loaded: [self, other], differences: Vec::new() };
        comparison.values("", Some(&Kind::Group(CLUSTER)), [Some(&self.tree), Some(&other.tree)]);
        comparison.differences.sort_by(|a, b| a.path.cmp(&b.path));
        comparison.differences
    }
}

struct Comparison<'l> {
    loaded: [&'l Loaded; 2],
    differences: Vec<Difference>,
}

impl Comparison<'_> {
    /// Compares two values; `kind` is `None` inside of a value that is passed on unchanged.
    fn values(&mut self, path: &str, kind: Option<&Kind>, both: Both<'_>) {
        let written = || both.into_iter().flatten();
        let all = |is: fn(&Value) -> bool| written().all(|node| is(&node.value));
        let inner = match kind {
            Some(Kind::List(inner)) => Some(*inner),
            _ => None,
        };
        if let Some((inner, key)) = inner.and_then(|inner| Some((inner, identity(inner)?)))
            && let [Some(from), Some(to)] = both.map(|node| names(node, key))
        {
            self.entries(path, inner, key, both, [from, to]);
        } else if all(|value| matches!(value, Value::Map(_))) && written().any(|node| !node.entries().is_empty()) {
            let keys: BTreeSet<&str> = written().flat_map(YamlNode::entries).map(|entry| entry.key.as_str()).collect();
            for key in keys {
                let field = kind.and_then(|kind| kind.fields().iter().find(|field| field.key == key));
                let inner = both.map(|node| node.and_then(|node| node.of_key(key)));
                self.values(&below(path, key), field.map(|field| &field.kind), inner);
            }
        } else if all(|value| matches!(value, Value::List(_))) && written().any(|node| !node.items().is_empty()) {
            let length = written().map(|node| node.items().len()).max().unwrap_or(0);
            for index in 0..length {
                let items = both.map(|node| node.and_then(|node| node.items().get(index)));
                self.values(&format!("{path}[{index}]"), inner, items);
            }
        } else {
            self.value(path, kind, both);
        }
    }

    /// Compares the entries of two lists, which have names under `key`.
    fn entries(&mut self, path: &str, kind: &Kind, key: &str, lists: Both<'_>, [from, to]: [Vec<&str>; 2]) {
        let added = to.iter().filter(|name| !from.contains(name));
        for name in from.iter().chain(added) {
            let is_named = |entry: &&YamlNode| entry.of_key(key).and_then(YamlNode::scalar) == Some(name);
            let entries = lists.map(|list| list.and_then(|list| list.items().iter().find(is_named)));
            let here = format!("{path}[{name}]");
            match entries {
                [Some(_), Some(_)] => self.values(&here, Some(kind), entries),
                _ => self.value(&here, Some(kind), entries),
            }
        }
        let common = |own: &[&str], other: &[&str]| -> Vec<String> {
            own.iter().filter(|name| other.contains(name)).map(|name| (*name).to_owned()).collect()
        };
        let orders = [common(&from, &to), common(&to, &from)];
        if orders[0] != orders[1] {
            self.add(path, lists, orders.map(Some).map(|names| names.map(Json::from)));
        }
    }

    /// Compares two values as a whole.
    fn value(&mut self, path: &str, kind: Option<&Kind>, both: Both<'_>) {
        let [from, to] = both.map(|node| node.map(YamlNode::json));
        if from != to {
            let shown = |node: &YamlNode| {
                let mut node = node.clone();
                kind.into_iter().for_each(|kind| mask(&mut node, kind));
                node.json()
            };
            self.add(path, both, both.map(|node| node.map(shown)));
        }
    }

    fn add(&mut self, path: &str, [a, b]: Both<'_>, [from, to]: [Option<Json>; 2]) {
        let set = |loaded: &Loaded, node: Option<&YamlNode>, value: Option<Json>| {
            Some(Set { value: value?, origin: node?.at.origin(&loaded.sources) })
        };
        let [from, to] = [set(self.loaded[0], a, from), set(self.loaded[1], b, to)];
        self.differences.push(Difference { path: path.to_owned(), from, to });
    }
}

/// Returns the key that identifies an entry of a list: the first one that every entry must have.
fn identity(kind: &Kind) -> Option<&'static str> {
    kind.fields().iter().find(|field| field.default == Fallback::Required).map(|field| field.key)
}

/// Returns the names of the entries of a list; `None` if two have the same.
fn names<'n>(list: Option<&'n YamlNode>, key: &str) -> Option<Vec<&'n str>> {
    let items = list.map_or(&[][..], YamlNode::items);
    let names: Vec<&str> = items.iter().filter_map(|item| item.of_key(key)?.scalar()).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    (different.len() == items.len()).then_some(names)
}

#[cfg(test)]
mod tests {
    use crate::{Layer, Loaded, load};

    fn loaded(text: &str) -> Loaded {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\n";
        load(&[Layer::file("a.yaml", format!("{head}{text}"))]).unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// The differences as `path: from -> to`.
    fn differences(from: &str, to: &str) -> Vec<String> {
        let shown = |set: Option<crate::Set>| set.map_or("none".to_owned(), |set| set.value.to_string());
        let all = loaded(from).differences(&loaded(to)).into_iter();
        all.map(|d| format!("{}: {} -> {}", d.path, shown(d.from), shown(d.to))).collect()
    }

    #[test]
    fn only_values_count_and_each_names_its_line() {
        let former = loaded("name: one\nnetwork: {dnsDomain: cluster.local}\n");
        assert!(former.differences(&loaded("name: one\n")).is_empty(), "a default is the same value");
        let changed = former.differences(&loaded("# a comment\nname: two\n"));
        let [name] = &changed[..] else { panic!("{changed:?}") };
        assert_eq!((name.path.as_str(), &name.to.as_ref().unwrap().value), ("name", &"two".into()));
        assert_eq!((name.from.as_ref().unwrap().origin.line, name.to.as_ref().unwrap().origin.line), (3, 4));
    }

    #[test]
    fn entries_of_lists_are_compared_by_name() {
        let machines = |workers: &str| format!("masters: [{{name: m1, address: 10.0.0.1}}]\nworkers: [{workers}]\n");
        let [w1, w2, w3] = ["{name: w1}", "{name: w2, address: 10.0.0.2}", "{name: w3.example.org, labels: {a: b}}"];
        let former = machines(&format!("{w2}, {w3}"));
        let inserted = differences(&former, &machines(&format!("{w1}, {w2}, {w3}")));
        assert_eq!(inserted, [r#"workers[w1]: none -> {"name":"w1"}"#]);
        let changed =
            differences(&former, &machines("{name: w2, address: 10.0.0.3}, {name: w3.example.org, labels: {a: c}}"));
        let expected =
            [r#"workers[w2].address: "10.0.0.2" -> "10.0.0.3""#, r#"workers[w3.example.org].labels.a: "b" -> "c""#];
        assert_eq!(changed, expected);
        let swapped = differences(&former, &machines(&format!("{w1}, {w3}, {w2}")));
        assert_eq!(swapped[0], r#"workers: ["w2","w3.example.org"] -> ["w3.example.org","w2"]"#);
        assert_eq!(swapped.len(), 2, "{swapped:?}");
        let files = |files: &str| format!("os: {{files: [{files}], dns: {{servers: [10.0.0.2]}}}}\n");
        let [a, b] = ["{path: /a, content: x}", "{path: /b, content: y, mode: 0600}"];
        let changed = differences(&files(a), &files(&format!("{b}, {a}")).replace("10.0.0.2", "10.0.0.3"));
        assert_eq!(changed.len(), 2, "{changed:?}");
        assert_eq!(changed[0], r#"os.dns.servers[0]: "10.0.0.2" -> "10.0.0.3""#);
        assert!(changed[1].starts_with("os.files[/b]: none -> {"), "{changed:?}");
    }

    #[test]
    fn secrets_are_masked() {
        let hash = |salt: &str| {
            format!("$6${salt}$X1aN5l6W0lqhYcmpx1mZpZQUjNQ9hJ3hFTfDAVnSPdm0M4pGbvVxY4m5gNfOzCzGJtLrG2pQ9kd3B8hVnC8jX0")
        };
        let text = |salt: &str, rest: &str| {
            let os = format!("os: {{rootPasswordHash: {}}}", hash(salt));
            format!("{os}\nroles: {{master: {{{os}}}}}\nmasters: [{{name: m1, {os}}}{rest}]\n")
        };
        let (former, current) = (text("aaaaaaaa", ""), text("bbbbbbbb", ""));
        let masked = r#": "[secret]" -> "[secret]""#;
        let paths =
            ["masters[m1].os.", "os.", "roles.master.os."].map(|path| format!("{path}rootPasswordHash{masked}"));
        assert_eq!(differences(&former, &current), paths);
        let (former, _) = (loaded(&former), assert!(differences(&former, &former).is_empty()));
        let more = text(
            "aaaaaaaa",
            &format!(", {{name: m2, address: 10.0.0.2, os: {{rootPasswordHash: {}}}}}", hash("cccccccc")),
        );
        let more = more.replace("{name: m1,", "{name: m1, address: 10.0.0.1,");
        let more = loaded(&more);
        let all = format!("{:?}{}{}{}", former.differences(&more), more.text(), more.plain_text(), more.json());
        assert!(all.contains("[secret]") && !all.contains("X1aN5l6W0lqhYcmpx1m"), "{all}");
        assert!(more.master_config().contains(&hash("cccccccc")), "the machines receive it");
    }
}
