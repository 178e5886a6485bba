//! Fuzzes the parser and the merger: no input may panic. `NODEINIT_FUZZ_SECONDS` is the duration; a minute in `make test`, an hour in `make fuzz`.
//! `NODEINIT_FUZZ_SEED` is the seed that an earlier run printed.
//!
//! Inputs are mutations of the corpus (`fuzz/*.yaml`). An input that panics is written to the corpus, so that every later run tries it first.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "only tests call it")]

use nodeinit_config::{Layer, Loaded, folder, import, load, secret::MASK};
use std::{
    collections::BTreeMap,
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    io::ErrorKind,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The corpus.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");

/// The file of the cluster in the folder whose other files are inputs.
const CLUSTER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: [{name: m1, os: {modules: [ip_vs]}}]\n\
    os: {timezone: Etc/UTC, sysctls: {vm.swappiness: 1}, users: [{name: a}]}\n\
    workers: [{name: w1.example.com}]\ncontrolPlane: {endpoint: api.example.org}\nbastion: {name: gate, network: 10.1.0.0/24}\n";

/// The files of that folder; each in turn is an input.
const FOLDER: [&str; 8] = [
    "environments/example.org.yaml",
    "roles/master.yaml",
    "roles/worker.yaml",
    "roles/bastion.yaml",
    "hosts/m1.yaml",
    "hosts/m1.example.org.yaml",
    "hosts/w1.example.com.yaml",
    "hosts/gate.yaml",
];

/// Kinds of values in that folder.
const LABELS: &str = "labels of a machine";
const OF_MACHINE: &str = "os of a machine";
const OF_ROLE: &str = "os of a role";

/// Pieces that are special in YAML or in a configuration.
const PIECES: &[&str] = &[
    ":",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    "\"",
    "#",
    "&a ",
    "*a",
    "!!int ",
    "|",
    ">",
    "---\n",
    "...\n",
    "\t",
    "\u{feff}",
    "\r\n",
    "~",
    "null",
    "-1",
    "0x7f",
    "1e309",
    "99999999999999999999",
    ".nan",
    "masters",
    "roles",
    "os",
    "workers",
    "kubelet",
    "config",
    "v1.37.1",
    "10.0.0.0/33",
    "\\u0000",
    "é",
];

/// xorshift64*: `NODEINIT_FUZZ_SEED` repeats a run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(CORPUS).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn mutated(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(40)).min(text.len());
        match random.below(6) {
            0 => drop(text.drain(at..end)),
            1 => drop(text.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
            2 => drop(text.splice(at..end, PIECES[random.below(PIECES.len())].bytes())),
            3 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len());
                let piece = &other[from..(from + random.below(200)).min(other.len())];
                drop(text.splice(at..at, piece.iter().copied()));
            }
            4 => {
                let piece = text[at..end].to_vec();
                drop(text.splice(at..at, piece));
            }
            _ => {
                if let Some(byte) = text.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    text.truncate(64 << 10);
    text
}

/// Merges the layers, and the values of each machine. Returns the configuration if it is valid.
fn merged(layers: &[Layer]) -> Option<Loaded> {
    let loaded = load(layers).ok()?;
    let shown = loaded.text();
    if !shown.contains(MASK) {
        let again = load(&[Layer::file("shown", shown.clone())]).unwrap_or_else(|e| panic!("{e}\n{shown}"));
        assert_eq!(again.cluster, loaded.cluster);
    }
    assert!(loaded.differences(&loaded).is_empty());
    for (machine, _) in loaded.cluster.machines().take(3) {
        // What the layers allow, their merged values allow.
        let applied = loaded.of_machine(&machine.name).unwrap_or_else(|e| panic!("{}: {e}\n{shown}", machine.name));
        assert_eq!(applied.of_machine(&machine.name).unwrap().cluster, applied.cluster, "{}", machine.name);
    }
    Some(loaded)
}

/// How many valid folders had a value of each kind.
type Reached = BTreeMap<&'static str, usize>;

/// `paths` are files of the folder that have the inputs.
fn run(layers: &[Vec<u8>], paths: &[&'static str], reached: &mut Reached) {
    let named = layers.iter().enumerate().map(|(number, text)| Layer::file(format!("{number}.yaml"), text.clone()));
    merged(&named.collect::<Vec<_>>());
    for path in paths {
        for text in layers {
            in_folder(path, text, reached);
        }
    }
    let text = String::from_utf8_lossy(&layers[0]);
    for tool in [import::Tool::Kubeadm, import::Tool::K0sctl] {
        let _ = import::import(tool, &text);
    }
}

/// Reads a folder in which the file at `path` is the input.
fn in_folder(path: &'static str, text: &[u8], reached: &mut Reached) {
    let read = |asked: &str| match asked {
        "clusters/prod.example.org.yaml" => Ok(CLUSTER.into()),
        _ if asked == path => Ok(text.to_vec()),
        _ => Err(ErrorKind::NotFound.into()),
    };
    let list =
        |directory: &str| Ok(path.strip_prefix(&format!("{directory}/")).map(str::to_owned).into_iter().collect());
    let layers = folder::layers("prod.example.org", read, list).unwrap();
    let has_values = text.iter().any(|byte| !byte.is_ascii_whitespace());
    let Some(loaded) = merged(&layers).filter(|_| has_values) else { return };
    let (worker, roles) = (&loaded.cluster.workers.first(), &loaded.cluster.roles);
    for (kind, is_reached) in [
        (path, true),
        (LABELS, path.starts_with("hosts/") && worker.is_some_and(|worker| !worker.labels.is_empty())),
        (OF_MACHINE, path.starts_with("hosts/") && worker.is_some_and(|worker| !worker.os.is_empty())),
        (OF_ROLE, path.starts_with("roles/") && !roles.worker.os.is_empty()),
    ] {
        if is_reached {
            *reached.entry(kind).or_default() += 1;
        }
    }
}

/// Returns the given seed, which is hexadecimal, or a random one; never 0.
fn seed(given: Option<String>) -> u64 {
    let given = given.map(|text| u64::from_str_radix(&text, 16).unwrap_or_else(|e| panic!("NODEINIT_FUZZ_SEED: {e}")));
    given.unwrap_or_else(|| RandomState::new().build_hasher().finish()).max(1)
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let inputs = |seed: u64| {
        let (mut random, corpus) = (Random(seed), corpus());
        (0..20).map(|_| mutated(&mut random, &corpus)).collect::<Vec<_>>()
    };
    assert_eq!(seed(Some("2a".into())), 42);
    assert!(inputs(42) == inputs(42) && inputs(42) != inputs(43));
    assert!(seed(None) != seed(None) && seed(Some("0".into())) == 1);
}

#[test]
fn no_input_panics() {
    let seconds = std::env::var("NODEINIT_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let seed = seed(std::env::var("NODEINIT_FUZZ_SEED").ok());
    eprintln!("NODEINIT_FUZZ_SEED={seed:x}");
    let (mut random, corpus) = (Random(seed), corpus());
    assert!(corpus.len() > 5, "the corpus is missing");
    let mut reached = Reached::new();
    corpus.iter().for_each(|text| run(std::slice::from_ref(text), &FOLDER, &mut reached));
    let kinds = FOLDER.into_iter().chain([LABELS, OF_MACHINE, OF_ROLE]);
    assert!(kinds.into_iter().all(|kind| reached.contains_key(kind)), "the corpus does not reach all: {reached:?}");
    let (began, mut runs) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        let layers: Vec<Vec<u8>> = (0..=random.below(3)).map(|_| mutated(&mut random, &corpus)).collect();
        let path = FOLDER[random.below(FOLDER.len())];
        if catch_unwind(AssertUnwindSafe(|| run(&layers, &[path], &mut reached))).is_err() {
            for (number, layer) in layers.iter().enumerate() {
                fs::write(Path::new(CORPUS).join(format!("panic-{seed:x}-{runs}-{number}.yaml")), layer).unwrap();
            }
            panic!("an input panics; it is now in the corpus: panic-{seed:x}-{runs}-*.yaml");
        }
        runs += 1;
    }
    eprintln!("{runs} inputs in {seconds} s, seed {seed:x}; valid folders: {reached:?}");
}
