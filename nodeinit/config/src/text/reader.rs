//! The YAML reader: parses a text to trees of values, in two dialects.

use crate::{
    problem::{Findings, Mark},
    text::tree::{Entry, Value, YamlNode, resolve},
};
use granit_parser::{Event, Parser, ScalarStyle, Tag, options};
use serde_json::Value as Json;
use std::collections::HashMap;

/// How many values aliases may add to a text, so that a short text cannot fill the memory.
const ALIASED: usize = 100_000;

/// The accepted syntax.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A `cluster.yaml`: one document without aliases and tags. All problems are reported.
    Strict,
    /// The syntax of Kubernetes' tools, with documents, aliases, merges and the standard tags. The first problem stops the reader.
    Kubernetes,
}

impl Dialect {
    /// Returns the maximum depth, deeper than any valid file: keeps a hostile one from exhausting the stack.
    fn depth(self) -> usize {
        match self {
            Self::Strict => 32,
            Self::Kubernetes => 100,
        }
    }
}

/// A collection that is not complete yet, and for a map the key that waits for its value.
struct Open {
    node: YamlNode,
    key: Option<(String, Mark)>,
    /// The keys of a map, and their lines.
    keys: HashMap<String, usize>,
    anchor: usize,
    /// The entries of `<<`, which follow the map's own keys.
    merged: Vec<Entry>,
}

/// Reads one layer. Syntax errors, second documents, aliases, tags and unsuitable keys go to `findings`.
/// Returns `None` if the layer is empty or invalid.
pub(crate) fn parse(layer: usize, bytes: &[u8], findings: &mut Findings) -> Option<YamlNode> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(err) => {
            // In YAML, a carriage return also ends a line.
            let good = String::from_utf8_lossy(&bytes[..err.valid_up_to()]).replace("\r\n", "\n").replace('\r', "\n");
            let at = Mark { layer, line: good.matches('\n').count() + 1, column: after_newline(&good) };
            findings.add(at, "", "the file is not UTF-8 text", "save it as UTF-8");
            return None;
        }
    };
    documents(layer, text, Dialect::Strict, findings)?.into_iter().next()
}

/// Reads the documents of a text. Returns `None` if it is not YAML.
pub(crate) fn documents(layer: usize, text: &str, dialect: Dialect, findings: &mut Findings) -> Option<Vec<YamlNode>> {
    let mut limits = options! { flow_nesting_limit: dialect.depth(), block_nesting_limit: dialect.depth() };
    limits.set_emit_comments(false);
    let before = findings.len();
    let mut reader =
        Reader { dialect, findings, open: Vec::new(), documents: Vec::new(), anchored: HashMap::new(), aliased: 0 };
    for next in Parser::new_from_str_with_options(text, limits) {
        match next {
            Ok((event, span)) => reader.event(event, mark(layer, span.start)),
            Err(err) => {
                let at = mark(layer, *err.marker());
                let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
                let remedy = match line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t') {
                    true => "indent with spaces, not with tabs",
                    false => "check the indentation, the colons and the quotes of this line and the one above it",
                };
                let what = match dialect {
                    Dialect::Strict => format!("not valid YAML: {}", err.info()),
                    Dialect::Kubernetes => err.info().to_owned(),
                };
                reader.findings.add(at, "", what, remedy);
                return None;
            }
        }
        if dialect == Dialect::Kubernetes && reader.findings.len() > before {
            return None;
        }
    }
    Some(reader.documents)
}

fn after_newline(text: &str) -> usize {
    text.rsplit('\n').next().map_or(1, |line| line.chars().count() + 1)
}

fn mark(layer: usize, marker: granit_parser::Marker) -> Mark {
    Mark { layer, line: marker.line(), column: marker.col() + 1 }
}

struct Reader<'f> {
    dialect: Dialect,
    findings: &'f mut Findings,
    open: Vec<Open>,
    documents: Vec<YamlNode>,
    anchored: HashMap<usize, YamlNode>,
    aliased: usize,
}

impl Reader<'_> {
    fn is_strict(&self) -> bool {
        self.dialect == Dialect::Strict
    }

    fn event(&mut self, event: Event<'_>, at: Mark) {
        match event {
            Event::DocumentStart(..) if self.is_strict() && self.documents.len() == 1 => {
                let remedy = "move the second document to a separate file";
                self.findings.add(at, "", "a second YAML document starts here", remedy);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                if self.key_is_next() {
                    if self.is_strict() {
                        self.tag(tag.as_deref(), at);
                    }
                    self.key(text.into_owned(), !plain, at);
                } else {
                    let quoted = match self.tag(tag.as_deref(), at) {
                        None => !plain,
                        Some(suffix) => suffix == "str",
                    };
                    self.place(YamlNode { at, value: Value::Scalar { text: text.into_owned(), quoted } }, anchor);
                }
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection(Value::List(Vec::new()), anchor, tag.as_deref(), at);
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection(Value::Map(Vec::new()), anchor, tag.as_deref(), at);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let anchor = open.anchor;
                    self.place(open.end(), anchor);
                }
            }
            Event::Alias(anchor) => self.alias(anchor, at),
            _ => {}
        }
    }

    /// Returns the name of a standard tag, if they are supported.
    fn tag<'t>(&mut self, tag: Option<&'t Tag>, at: Mark) -> Option<&'t str> {
        let tag = tag?;
        if self.is_strict() {
            self.findings.add(at, "", "tags (`!name`) are not supported", "remove the tag; use quotes for a string");
            return None;
        }
        let suffix = tag.core_suffix();
        if suffix.is_none() {
            self.findings.add(at, "", "only standard tags, such as !!str, are supported", "remove the tag");
        }
        suffix
    }

    fn alias(&mut self, anchor: usize, at: Mark) {
        if self.is_strict() {
            self.findings.add(at, "", "aliases (`*name`) are not supported", "write the value out");
            return self.place(YamlNode { at, value: Value::Bad }, 0);
        }
        if self.key_is_next() {
            return self.findings.add(at, "", "a key must be a string", "write the key as a string");
        }
        let Some(node) = self.anchored.get(&anchor).cloned() else {
            return self.findings.add(at, "", "an alias is inside its own anchor", "write the value out");
        };
        self.aliased += count(&node);
        if self.aliased > ALIASED {
            let what = format!("aliases expand to more than {ALIASED} values");
            return self.findings.add(at, "", what, "write the values out");
        }
        self.place(node, 0);
    }

    fn key_is_next(&self) -> bool {
        self.open.last().is_some_and(|o| o.key.is_none() && matches!(o.node.value, Value::Map(_)))
    }

    fn key(&mut self, key: String, quoted: bool, at: Mark) {
        if self.is_strict() && (key.is_empty() || (!quoted && !resolve(&key).is_string())) {
            let what = match resolve(&key) {
                _ if key.is_empty() => "the key before `:` is empty".to_owned(),
                Json::Null => format!("the key {key} is null, not a string"),
                Json::Bool(_) => format!("the key {key} is a boolean, not a string"),
                _ => format!("the key {key} is a number, not a string"),
            };
            self.findings.add(at, "", what, format!("write {key:?} in quotes if this is intended"));
        }
        // In quotes, it is an ordinary key, but no manifest has a key with this name.
        if !self.is_strict() && quoted && key == MERGE {
            self.findings.add(at, "", "the key \"<<\" is not supported", "use another key");
        }
        let Some(open) = self.open.last_mut() else { return };
        if let Some(line) = open.keys.get(&key) {
            let what = match self.dialect {
                Dialect::Strict => format!("duplicate key {key:?}; it is already in line {line}"),
                Dialect::Kubernetes => format!("duplicate key {key:?}"),
            };
            self.findings.add(at, "", what, "keep one of the two");
        }
        open.key = Some((key, at));
    }

    fn collection(&mut self, value: Value, anchor: usize, tag: Option<&Tag>, at: Mark) {
        self.tag(tag, at);
        if self.key_is_next() {
            let what = match self.dialect {
                Dialect::Strict => "a list or a map cannot be a key",
                Dialect::Kubernetes => "a key must be a string",
            };
            self.findings.add(at, "", what, "write the key as a string");
        }
        self.open.push(Open {
            node: YamlNode { at, value },
            key: None,
            keys: HashMap::new(),
            anchor,
            merged: Vec::new(),
        });
    }

    /// Adds a complete value to the innermost open collection, or makes it a document.
    fn place(&mut self, node: YamlNode, anchor: usize) {
        if anchor != 0 && !self.is_strict() {
            self.anchored.insert(anchor, node.clone());
        }
        let merges = !self.is_strict();
        let Some(open) = self.open.last_mut() else { return self.documents.push(node) };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(_), Some((key, _))) if merges && key == MERGE => match maps(node) {
                Ok(entries) => open.merged.extend(entries),
                Err(at) => self.findings.add(at, "", "`<<` needs a map", "use an alias of a map"),
            },
            (Value::Map(entries), Some((key, at))) if !open.keys.contains_key(&key) => {
                open.keys.insert(key.clone(), at.line);
                entries.push(Entry { key, at, node });
            }
            // Without a key, the value belongs to a collection or an alias as a key, which was reported when it started.
            (Value::Map(_), None) => open.key = Some((String::new(), node.at)),
            _ => {}
        }
    }
}

/// The key that merges the entries of other maps.
const MERGE: &str = "<<";

impl Open {
    fn end(mut self) -> YamlNode {
        if let Value::Map(entries) = &mut self.node.value {
            for entry in self.merged {
                if self.keys.insert(entry.key.clone(), entry.at.line).is_none() {
                    entries.push(entry);
                }
            }
        }
        self.node
    }
}

/// Returns the entries of the map, or of the list of maps, that `<<` names.
fn maps(node: YamlNode) -> Result<Vec<Entry>, Mark> {
    let at = node.at;
    match node.value {
        Value::Map(entries) => Ok(entries),
        Value::List(items) => Ok(items.into_iter().map(maps).collect::<Result<Vec<_>, _>>()?.concat()),
        _ => Err(at),
    }
}

fn count(node: &YamlNode) -> usize {
    let inner = node.items().iter().map(count).sum::<usize>();
    1 + inner + node.entries().iter().map(|entry| count(&entry.node)).sum::<usize>()
}
