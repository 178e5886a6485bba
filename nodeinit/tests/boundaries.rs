//! Verifies module boundaries: compares the source with the table in `docs/architecture.md`, and refuses import cycles between files. Only `host`
//! accesses files.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it expects")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

#[test]
fn modules_call_only_the_modules_in_the_table_of_the_documentation() {
    let used = calls(&Crate::read("src"));
    let allowed = table();
    let (files, documented): (BTreeSet<_>, BTreeSet<_>) = (used.keys().collect(), allowed.keys().collect());
    assert_eq!(files, documented, "docs/architecture.md lists other modules than nodeinit/src has");
    let mut problems = Vec::new();
    for (module, targets) in &used {
        for (target, file) in targets.iter().filter(|(target, _)| !allowed[module].contains(*target)) {
            problems.push(format!("{file}: `{module}` must not use `{target}`"));
        }
        for target in allowed[module].iter().filter(|target| !targets.contains_key(*target)) {
            problems
                .push(format!("docs/architecture.md: `{module}` does not use `{target}`; remove it from the table"));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn no_files_import_each_other() {
    for root in ["src", "base/src", "config/src", "protocol/src", "screen/src", "ssh/src", "../provisioner/src"] {
        let source = Crate::read(root);
        let cycles = source.cycles();
        assert!(cycles.is_empty(), "{root}: these files import each other: {cycles:?}");
    }
}

/// The files outside `host` that access files, and why they may.
const FILE_ACCESS: [(&str, &str); 3] = [
    ("api/registry.rs", "sends a part of a file, whose real path `host` has resolved"),
    ("cli/load.rs", "reads a file that the user names: as the shell means it, not under the root prefix"),
    ("steps/fanout/fleet.rs", "reads the program that runs now, to copy it to other machines"),
];

#[test]
fn only_host_accesses_files() {
    let source = Crate::read("src");
    let outside = source.files.values().filter(|file| !file.name.starts_with("host/"));
    let found: BTreeSet<&str> = outside.filter(|file| file.accesses_files).map(|file| file.name.as_str()).collect();
    let allowed: BTreeSet<&str> = FILE_ACCESS.iter().map(|(file, _)| *file).collect();
    let unknown: Vec<_> = found.difference(&allowed).collect();
    assert!(
        unknown.is_empty(),
        "these use std::fs or tokio::fs, which only `host` may (see host::files::Files): {unknown:?}"
    );
    let former: Vec<_> = allowed.difference(&found).collect();
    assert!(former.is_empty(), "these access no files any more; remove them from FILE_ACCESS: {former:?}");
}

#[test]
fn access_to_files_is_found_in_imports_and_expressions() {
    let found = |text: &str| accesses_files(&production(text));
    for text in [
        "use std::{fs::{self, File}, io};",
        "use std::fs;",
        "fn f() { std::fs::read(\"x\") }",
        "use tokio::fs::read;",
        "use crate::host::files::File; fn f() { File::open(\"x\") }",
    ] {
        assert!(found(text), "{text}");
    }
    for text in [
        "use std::os::unix::fs::MetadataExt;",
        "// std::fs\nfn f() { g(\"std::fs\") }",
        "#[cfg(test)]\nmod tests { use std::fs; }",
        "fn f() { Source::File(x); Record::File { y } }",
    ] {
        assert!(!found(text), "{text}");
    }
}

#[test]
fn paths_are_found_in_imports_and_expressions_but_not_in_tests() {
    let text = "use crate::{a::{self, B}, c};\n// crate::comment\nfn f() { crate::d::e(\"crate::text\"); super::g::<u8>() }\n\
                #[cfg(test)]\nmod tests { use crate::never; }\n#[cfg(test)]\nmod other;\nuse crate::last;";
    let found: BTreeSet<String> =
        paths(&production(text), &OWN_ROOTS).into_iter().map(|path| path.join("::")).collect();
    let expected = ["crate::a", "crate::a::B", "crate::c", "crate::d::e", "crate::last", "super::g"];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// Returns module → the modules that it may call, from the table in the documentation.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/architecture.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `nodeinit/src/"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let name = cells[0].trim_end_matches('`').trim_end_matches('/').trim_end_matches(".rs").to_owned();
        let calls = cells[2].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (name, calls)
    })
    .collect()
}

/// Returns module → the modules that it calls, each with a file that does.
fn calls(source: &Crate) -> BTreeMap<String, BTreeMap<String, String>> {
    let modules: BTreeSet<&String> = source.files.keys().filter_map(|module| module.first()).collect();
    let mut calls: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (module, file) in &source.files {
        let Some(from) = module.first() else { continue };
        let targets = calls.entry(from.clone()).or_default();
        for path in &file.paths {
            let Some(to) = absolute(module, path).into_iter().next() else { continue };
            if to != *from && modules.contains(&to) {
                targets.insert(to, file.name.clone());
            }
        }
    }
    calls
}

type Module = Vec<String>;

struct File {
    name: String,
    /// The paths in it that start with `crate`, `super` or `self`.
    paths: Vec<Vec<String>>,
    accesses_files: bool,
}

/// What the paths to a module of the same crate begin with.
const OWN_ROOTS: [&str; 3] = ["crate::", "super::", "self::"];

/// The source of a crate without its tests.
struct Crate {
    files: BTreeMap<Module, File>,
}

impl Crate {
    /// Reads a folder, relative to the folder of the crate `nodeinit`.
    fn read(root: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            let declared = declared_tests(&folder);
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") && !declared.contains(&path) {
                    let name = path.strip_prefix(&root).unwrap().display().to_string();
                    let mut module: Module = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
                    module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
                    let text = production(&fs::read_to_string(&path).unwrap());
                    let (paths, accesses_files) = (paths(&text, &OWN_ROOTS), accesses_files(&text));
                    files.insert(module, File { name, paths, accesses_files });
                }
            }
        }
        Self { files }
    }

    /// Returns the file that a path refers to: its longest prefix that is a module.
    fn target(&self, mut path: Vec<String>) -> Module {
        while !self.files.contains_key(&path) && path.pop().is_some() {}
        path
    }

    /// Returns groups of files that import each other, directly or through others. A module and its submodules count as one if they import
    /// each other.
    fn cycles(&self) -> Vec<Vec<&str>> {
        let imports: BTreeMap<&Module, BTreeSet<&Module>> = self
            .files
            .iter()
            .map(|(module, file)| {
                let targets = file.paths.iter().map(|path| self.target(absolute(module, path)));
                let others = targets.filter(|to| !to.starts_with(module) && !module.starts_with(to));
                (module, others.filter_map(|to| Some(self.files.get_key_value(&to)?.0)).collect())
            })
            .collect();
        let reached = |from: &Module| {
            let mut reached: BTreeSet<&Module> = BTreeSet::new();
            let mut next: Vec<&Module> = imports[from].iter().copied().collect();
            while let Some(module) = next.pop() {
                if reached.insert(module) {
                    next.extend(&imports[module]);
                }
            }
            reached
        };
        let all: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|module| (module, reached(module))).collect();
        let mut groups: BTreeSet<Vec<&str>> = BTreeSet::new();
        for (module, reached) in all.iter().filter(|(module, reached)| reached.contains(*module)) {
            let group = reached.iter().filter(|other| all[*other].contains(*module));
            groups.insert(group.map(|module| self.files[*module].name.as_str()).collect());
        }
        groups.into_iter().collect()
    }
}

/// Returns the files of modules that exist only for tests: `#[cfg(test)] mod NAME;`.
fn declared_tests(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let parent = folder.with_extension("rs");
    let sources = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    for source in sources.chain(parent.is_file().then_some(parent)) {
        let text = fs::read_to_string(&source).unwrap_or_default();
        for (_, rest) in text.match_indices("#[cfg(test)]").map(|(at, mark)| text[at..].split_at(mark.len())) {
            let mut lines = rest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#["));
            let name = lines.next().and_then(|line| line.split_once("mod ")?.1.strip_suffix(';'));
            found.extend(name.map(|name| folder.join(format!("{name}.rs"))));
        }
    }
    found
}

/// Returns a path from the crate's root.
fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let mut at = module.to_vec();
    let mut rest = path;
    while let [first, others @ ..] = rest {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            _ => break,
        }
        rest = others;
    }
    at.extend_from_slice(rest);
    at
}

/// Returns the text without comments, strings and test code.
fn production(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let skipped = match character {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => 1 + end_of_string(&rest[1..]),
            // A character, not a lifetime.
            '\'' if rest[1..].starts_with('\\') => 3 + rest[3..].find('\'').unwrap_or_default() + 1,
            '\'' if rest.chars().nth(2) == Some('\'') => 2 + rest.chars().nth(1).map_or(0, char::len_utf8),
            'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
            other => {
                plain.push(other);
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        rest = &rest[skipped..];
    }
    const TEST: &str = "#[cfg(test)]";
    while let Some(start) = plain.find(TEST) {
        let item = &plain[start..];
        let end = match (item.find(';'), item.find('{')) {
            (Some(end), open) if open.is_none_or(|open| end < open) => end + 1,
            (_, Some(open)) => open + closing(&item[open..]),
            _ => item.len(),
        };
        plain.replace_range(start..start + end, "");
    }
    plain
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the end of the brace with which the text starts.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a text uses `std::fs` or `tokio::fs`, or opens a file by a type that it has from elsewhere.
fn accesses_files(text: &str) -> bool {
    let is_fs = |path: &Vec<String>| path.get(1).is_some_and(|module| module == "fs");
    let opens = ["File::open(", "File::create(", "File::create_new(", "File::options("];
    paths(text, &["std::", "tokio::"]).iter().any(is_fs) || opens.iter().any(|open| text.contains(open))
}

/// The paths that begin with one of these roots; the groups of an import are resolved.
fn paths(text: &str, roots: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for root in roots {
        for (at, _) in text.match_indices(root) {
            let before = text[..at].chars().next_back();
            if !before.is_some_and(|character| character.is_alphanumeric() || "_:".contains(character)) {
                tree(&text[at..], &[], &mut found);
            }
        }
    }
    found
}

/// Reads a path or an import tree, and returns the text after it.
fn tree<'a>(text: &'a str, prefix: &[String], found: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = prefix.to_vec();
    let mut rest = text.trim_start();
    loop {
        let length =
            rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
        if length == 0 {
            break;
        }
        if &rest[..length] != "self" || path.is_empty() {
            path.push(rest[..length].to_owned());
        }
        rest = &rest[length..];
        let Some(next) = rest.strip_prefix("::") else { break };
        if let Some(group) = next.strip_prefix('{') {
            rest = group.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                rest = tree(rest, &path, found).trim_start();
                // `as NAME`, and the comma.
                rest = rest.find([',', '}']).map_or("", |end| &rest[end..]);
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        rest = next;
    }
    found.push(path);
    rest
}
