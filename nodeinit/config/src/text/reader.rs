//! From a layer's text to its tree of values.

use crate::{
    problem::{Findings, Mark},
    text::tree::{Entry, Node, Value, resolve},
};
use granit_parser::{Event, Parser, ScalarStyle, options};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Deeper than any configuration; keeps a hostile file from exhausting the stack.
const DEPTH: usize = 32;

/// A collection that is still being read, and for a map the key that waits for its value.
struct Open {
    node: Node,
    key: Option<(String, Mark)>,
    /// The keys that a map has, and their lines.
    keys: HashMap<String, usize>,
}

/// Reads one layer. Syntax errors, second documents, aliases, tags and unfit keys go to `findings`.
/// `None`: nothing is written in it, or nothing that can be understood.
pub(crate) fn parse(layer: usize, bytes: &[u8], findings: &mut Findings) -> Option<Node> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(err) => {
            // As YAML counts: a carriage return ends a line too.
            let good = String::from_utf8_lossy(&bytes[..err.valid_up_to()]).replace("\r\n", "\n").replace('\r', "\n");
            let at = Mark { layer, line: good.matches('\n').count() + 1, column: after_newline(&good) };
            findings.add(at, "", "the file is not UTF-8 text", "save it as UTF-8");
            return None;
        }
    };
    let mut limits = options! { flow_nesting_limit: DEPTH, block_nesting_limit: DEPTH };
    limits.set_emit_comments(false);
    let mut reader = Reader { findings, open: Vec::new(), root: None, documents: 0 };
    for next in Parser::new_from_str_with_options(text, limits) {
        match next {
            Ok((event, span)) => reader.event(event, mark(layer, span.start)),
            Err(err) => {
                let at = mark(layer, *err.marker());
                let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
                let remedy = match line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t') {
                    true => "indent with spaces, not with tabs",
                    false => "look at the indentation, the colons and the quotes of this line and the one above it",
                };
                reader.findings.add(at, "", format!("not valid YAML: {}", err.info()), remedy);
                return None;
            }
        }
    }
    reader.root
}

fn after_newline(text: &str) -> usize {
    text.rsplit('\n').next().map_or(1, |line| line.chars().count() + 1)
}

fn mark(layer: usize, marker: granit_parser::Marker) -> Mark {
    Mark { layer, line: marker.line(), column: marker.col() + 1 }
}

struct Reader<'f> {
    findings: &'f mut Findings,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, at: Mark) {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents == 2 {
                    let remedy = "keep one document in a file, and give the second a file of its own";
                    self.findings.add(at, "", "a second YAML document begins here", remedy);
                }
            }
            Event::Scalar(text, style, _, tag) => {
                self.refuse_tag(tag.is_some(), at);
                let quoted = style != ScalarStyle::Plain;
                if self.key_is_next() {
                    self.key(text.into_owned(), quoted, at);
                } else {
                    self.place(Node { at, value: Value::Scalar { text: text.into_owned(), quoted } });
                }
            }
            Event::SequenceStart(_, _, tag) => self.collection(Value::List(Vec::new()), tag.is_some(), at),
            Event::MappingStart(_, _, tag) => self.collection(Value::Map(Vec::new()), tag.is_some(), at),
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    self.place(open.node);
                }
            }
            Event::Alias(_) => {
                self.findings.add(at, "", "aliases (`*name`) are not supported", "write the value out");
                self.bad(at);
            }
            _ => {}
        }
    }

    fn refuse_tag(&mut self, tagged: bool, at: Mark) {
        if tagged {
            self.findings.add(at, "", "tags (`!name`) are not supported", "remove the tag; quotes make a text");
        }
    }

    fn key_is_next(&self) -> bool {
        self.open.last().is_some_and(|o| o.key.is_none() && matches!(o.node.value, Value::Map(_)))
    }

    fn key(&mut self, key: String, quoted: bool, at: Mark) {
        if key.is_empty() || (!quoted && !resolve(&key).is_string()) {
            let what = match resolve(&key) {
                _ if key.is_empty() => "the key before `:` is empty".to_owned(),
                Json::Null => format!("the key {key} is null, not a string"),
                Json::Bool(_) => format!("the key {key} is a boolean, not a string"),
                _ => format!("the key {key} is a number, not a string"),
            };
            self.findings.add(at, "", what, format!("write {key:?} in quotes if it is meant"));
        }
        let Some(open) = self.open.last_mut() else { return };
        if let Some(line) = open.keys.get(&key) {
            let what = format!("duplicate key {key:?}; it is already in line {line}");
            self.findings.add(at, "", what, "keep one of the two");
        }
        open.key = Some((key, at));
    }

    /// Something that cannot be a value or a key stands here.
    fn bad(&mut self, at: Mark) {
        self.place(Node { at, value: Value::Bad });
    }

    fn collection(&mut self, value: Value, tagged: bool, at: Mark) {
        self.refuse_tag(tagged, at);
        if self.key_is_next() {
            self.findings.add(at, "", "a list or a map cannot be a key", "write the key as a text");
        }
        self.open.push(Open { node: Node { at, value }, key: None, keys: HashMap::new() });
    }

    /// A value is complete: it goes into the innermost open collection, or is the document itself.
    fn place(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some((key, at))) if !open.keys.contains_key(&key) => {
                open.keys.insert(key.clone(), at.line);
                entries.push(Entry { key, at, node });
            }
            // No key yet: a collection or an alias as a key, reported when it began. Its value goes with it.
            (Value::Map(_), None) => open.key = Some((String::new(), node.at)),
            _ => {}
        }
    }
}
