//! Edits a TOML file and preserves everything else in it: comments, order, and settings of others.
//!
//! It supports the part of TOML that containerd's configuration needs, and refuses what it cannot extend. A library that preserves the
//! text (`toml_edit`) adds 170 KB to the program.

use std::ops::Range;

/// Why a file was not edited.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TomlError {
    /// Not TOML.
    #[error("line {0} is not valid TOML")]
    Syntax(usize),
    /// A table that cannot be extended, such as an inline one.
    #[error("cannot add a key to the table {0}: it is inline or has dotted keys")]
    Closed(String),
}

/// How deep arrays and inline tables may be nested.
const DEEPEST: usize = 32;

/// A TOML text.
#[derive(Clone, Debug)]
pub struct Toml {
    text: String,
    entries: Vec<Entry>,
    tables: Vec<Table>,
}

#[derive(Clone, Debug)]
struct Entry {
    path: Vec<String>,
    value: Range<usize>,
    /// How many names of the path are in the table's header.
    header: usize,
}

#[derive(Clone, Debug)]
struct Table {
    path: Vec<String>,
    /// Where its next key can be written: after its last line.
    end: usize,
    indent: usize,
}

impl Toml {
    /// Parses a text.
    ///
    /// # Errors
    /// If a line is not valid.
    pub fn parse(text: impl Into<String>) -> Result<Self, TomlError> {
        let text = text.into();
        let mut scanner = Scanner { text: &text, at: 0, header: 0, entries: Vec::new() };
        let tables = scanner.document()?;
        let entries = scanner.entries;
        Ok(Self { entries, tables, text })
    }

    /// Returns the complete text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns a value as it is written.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<&str> {
        self.entries.iter().find(|entry| entry.path == path).map(|entry| &self.text[entry.value.clone()])
    }

    /// Returns a string value.
    #[must_use]
    pub fn string(&self, path: &[&str]) -> Option<&str> {
        self.get(path).map(unquoted)
    }

    /// Returns the strings of an array.
    #[must_use]
    pub fn strings(&self, path: &[&str]) -> Vec<&str> {
        let Some(inner) = self.get(path).and_then(|text| text.strip_prefix('[')?.strip_suffix(']')) else {
            return Vec::new();
        };
        let mut scanner = Scanner { text: inner, at: 0, header: 0, entries: Vec::new() };
        let mut strings = Vec::new();
        loop {
            scanner.blank();
            let start = scanner.at;
            if scanner.value(&[], DEEPEST).is_err() {
                return strings;
            }
            strings.push(unquoted(inner[start..scanner.at].trim_end()));
            scanner.blank();
            scanner.eat(",");
        }
    }

    /// Returns the names directly below a table.
    #[must_use]
    pub fn names(&self, path: &[&str]) -> Vec<String> {
        let all = self.tables.iter().map(|table| &table.path).chain(self.entries.iter().map(|entry| &entry.path));
        let below = all.filter(|each| each.len() > path.len() && each[..path.len()] == *path);
        let mut names: Vec<String> = below.map(|each| each[path.len()].clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Sets a value, which is written as TOML. Returns whether that changed anything.
    ///
    /// # Errors
    /// If a table cannot be extended.
    pub fn set(&mut self, path: &[&str], value: &str) -> Result<bool, TomlError> {
        let mut text = self.text.clone();
        let (name, table) = path.split_last().map_or(("", path), |(name, table)| (*name, table));
        if let Some(entry) = self.entries.iter().find(|entry| entry.path == path) {
            if &text[entry.value.clone()] == value {
                return Ok(false);
            }
            text.replace_range(entry.value.clone(), value);
        } else if table.is_empty() {
            text.insert_str(0, &format!("{name} = {value}\n"));
        } else if self.is_closed(table) {
            return Err(TomlError::Closed(dotted(table)));
        } else if let Some(found) = self.tables.iter().find(|each| each.path == table) {
            let line = format!("{:indent$}{name} = {value}\n", "", indent = found.indent + 2);
            let before = if text[..found.end].ends_with('\n') { "" } else { "\n" };
            text.insert_str(found.end, &format!("{before}{line}"));
        } else {
            let before = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text.push_str(&format!("{before}\n[{}]\n  {name} = {value}\n", dotted(table)));
        }
        *self = Self::parse(text)?;
        Ok(true)
    }

    /// Whether a table or one of its parents is inline, or this one has only dotted keys.
    fn is_closed(&self, table: &[&str]) -> bool {
        self.entries.iter().any(|entry| {
            let is_inline = entry.path.len() <= table.len() && entry.path[..] == table[..entry.path.len()];
            let is_dotted =
                entry.header < table.len() && entry.path.len() > table.len() && entry.path[..table.len()] == *table;
            is_inline || is_dotted
        })
    }
}

/// Formats a path as in a table's header.
fn dotted(path: &[&str]) -> String {
    let is_bare = |name: &str| !name.is_empty() && name.bytes().all(is_bare);
    let names: Vec<String> =
        path.iter().map(|name| if is_bare(name) { (*name).to_owned() } else { format!("{name:?}") }).collect();
    names.join(".")
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Removes the quotes. Names and paths have no escapes.
fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    header: usize,
    entries: Vec<Entry>,
}

impl<'a> Scanner<'a> {
    fn document(&mut self) -> Result<Vec<Table>, TomlError> {
        let mut tables = vec![Table { path: Vec::new(), end: 0, indent: 0 }];
        loop {
            self.blank();
            if self.rest().is_empty() {
                return Ok(tables);
            }
            let line = self.text[..self.at].rfind('\n').map_or(0, |newline| newline + 1);
            if self.eat("[") {
                let close = if self.eat("[") { "]]" } else { "]" };
                let path = self.path()?;
                self.expect(close)?;
                tables.push(Table { path, end: self.at, indent: self.indent(line) });
            } else {
                let table = tables.last().map(|table| table.path.clone()).unwrap_or_default();
                self.header = table.len();
                self.entry(&table, 0)?;
            }
            self.spaces();
            self.comment();
            if !self.eat("\n") && !self.eat("\r\n") && !self.rest().is_empty() {
                return Err(self.error());
            }
            if let Some(table) = tables.last_mut() {
                table.end = self.at;
            }
        }
    }

    fn indent(&self, line: usize) -> usize {
        self.text[line..].bytes().take_while(|byte| *byte == b' ').count()
    }

    fn entry(&mut self, table: &[String], depth: usize) -> Result<(), TomlError> {
        let path = [table, &self.path()?].concat();
        self.expect("=")?;
        self.spaces();
        let (start, header) = (self.at, self.header);
        self.value(&path, depth)?;
        self.entries.push(Entry { path, value: start..self.at, header });
        Ok(())
    }

    fn value(&mut self, path: &[String], depth: usize) -> Result<(), TomlError> {
        if depth > DEEPEST {
            return Err(self.error());
        }
        for (quotes, escapes) in [("\"\"\"", true), ("'''", false), ("\"", true), ("'", false)] {
            if self.eat(quotes) {
                return self.string(quotes, escapes);
            }
        }
        if self.eat("[") {
            return self.list("]", |scanner| scanner.value(path, depth + 1));
        }
        if self.eat("{") {
            return self.list("}", |scanner| scanner.entry(path, depth + 1));
        }
        let end = self.rest().find([',', ']', '}', '#', '\n', '\r']).unwrap_or(self.rest().len());
        let plain = self.rest()[..end].trim_end();
        if plain.is_empty() {
            return Err(self.error());
        }
        self.at += plain.len();
        Ok(())
    }

    fn list(&mut self, close: &str, mut each: impl FnMut(&mut Self) -> Result<(), TomlError>) -> Result<(), TomlError> {
        loop {
            self.blank();
            if self.eat(close) {
                return Ok(());
            }
            each(self)?;
            self.blank();
            if !self.eat(",") && !self.rest().starts_with(close) {
                return Err(self.error());
            }
        }
    }

    /// Consumes the rest of a string with its closing quotes.
    fn string(&mut self, quotes: &str, escapes: bool) -> Result<(), TomlError> {
        let mut characters = self.rest().char_indices();
        while let Some((index, character)) = characters.next() {
            if self.rest()[index..].starts_with(quotes) {
                self.at += index + quotes.len();
                return Ok(());
            }
            match character {
                '\n' if quotes.len() == 1 => break,
                '\\' if escapes => drop(characters.next()),
                _ => {}
            }
        }
        Err(self.error())
    }

    fn path(&mut self) -> Result<Vec<String>, TomlError> {
        let mut path = Vec::new();
        loop {
            self.spaces();
            let start = self.at;
            let quote = ["\"", "'"].into_iter().find(|quote| self.eat(quote));
            match quote {
                Some(quote) => self.string(quote, quote == "\"")?,
                None => self.at += self.rest().bytes().take_while(|byte| is_bare(*byte)).count(),
            }
            if self.at == start {
                return Err(self.error());
            }
            path.push(unquoted(&self.text[start..self.at]).to_owned());
            self.spaces();
            if !self.eat(".") {
                return Ok(path);
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn expect(&mut self, text: &str) -> Result<(), TomlError> {
        self.spaces();
        if self.eat(text) { Ok(()) } else { Err(self.error()) }
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
    }

    fn comment(&mut self) {
        if self.rest().starts_with('#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips spaces, line ends and comments.
    fn blank(&mut self) {
        loop {
            let before = self.at;
            self.at += self.rest().len() - self.rest().trim_start().len();
            self.comment();
            if self.at == before {
                return;
            }
        }
    }

    fn error(&self) -> TomlError {
        TomlError::Syntax(self.text[..self.at].matches('\n').count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# theirs\nversion = 2 # two\nlist = [ \"a\", 'b', # c\n  \"]\" ]\n\n[plugins]\n  [plugins.\"io.x/y\".cni]\n    \
                        bin_dir = '/usr/lib/cni'\n    inline = { a.b = 1, c = \"}\" }\n  [plugins.'io.x/y'.after]\n";

    fn toml(text: &str) -> Toml {
        Toml::parse(text).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn values_are_found_in_every_form() {
        let found = toml(TEXT);
        assert_eq!(found.get(&["version"]), Some("2"));
        assert_eq!(found.strings(&["list"]), ["a", "b", "]"]);
        assert_eq!(found.string(&["plugins", "io.x/y", "cni", "bin_dir"]), Some("/usr/lib/cni"));
        assert_eq!(found.get(&["plugins", "io.x/y", "cni", "inline", "a", "b"]), Some("1"));
        assert_eq!(found.names(&["plugins", "io.x/y"]), ["after", "cni"]);
        assert_eq!(toml("a = \"\"\"x\n[b]\n\"\"\"\r\nb = 1").names(&[]), ["a", "b"]);
    }

    #[test]
    fn a_change_preserves_the_rest() {
        let mut edited = toml(TEXT);
        assert!(edited.set(&["plugins", "io.x/y", "cni", "bin_dir"], "\"/opt/cni/bin\"").unwrap());
        assert!(edited.set(&["plugins", "io.x/y", "cni", "new"], "true").unwrap());
        assert!(edited.set(&["plugins", "io.x/y", "after", "last"], "1").unwrap());
        assert!(edited.set(&["plugins", "io.z", "a"], "2").unwrap());
        assert!(edited.set(&["root"], "\"/data\"").unwrap());
        let wanted = TEXT
            .replace("'/usr/lib/cni'", "\"/opt/cni/bin\"")
            .replace("\"}\" }\n", "\"}\" }\n    new = true\n")
            .replace(".after]\n", ".after]\n    last = 1\n");
        let wanted = format!("root = \"/data\"\n{wanted}\n[plugins.\"io.z\"]\n  a = 2\n");
        assert_eq!(edited.text(), wanted);
        assert!(!edited.set(&["version"], "2").unwrap(), "an existing value");
    }

    #[test]
    fn a_file_without_a_last_newline_is_extended() {
        let mut edited = toml("[a]\nb = 1");
        edited.set(&["a", "c"], "2").unwrap();
        edited.set(&["d", "e"], "3").unwrap();
        assert_eq!(edited.text(), "[a]\nb = 1\n  c = 2\n\n[d]\n  e = 3\n");
    }

    #[test]
    fn tables_that_cannot_be_extended_are_named() {
        let refused = |text: &str| toml(text).set(&["a", "b", "c"], "1").unwrap_err();
        for text in ["a = {b = {d = 1}}\n", "[a]\nb.d = 1\n", "a.b.d = 1\n", "a.b = 2\n"] {
            assert_eq!(refused(text), TomlError::Closed("a.b".into()), "{text}");
        }
        assert!(toml("[a.b]\nx.y = 1\n").set(&["a", "b", "c"], "1").is_ok());
    }

    #[test]
    fn damaged_files_are_refused_by_line() {
        let deep = format!("a = {}", "[".repeat(100_000));
        for (text, line) in [
            ("a = 1\nb", 2),
            ("a = 'x\n'", 1),
            ("[a\nb = 1", 1),
            ("a = [1 2", 1),
            ("a = 1\nb = \"x", 2),
            ("a =\n", 1),
            ("= 1", 1),
            (&deep, 1),
        ] {
            assert_eq!(Toml::parse(text).unwrap_err(), TomlError::Syntax(line), "{text:.20}");
        }
    }
}
