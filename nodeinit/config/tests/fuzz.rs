//! Fuzzes the parser and the merger: no input may panic. `NODEINIT_FUZZ_SECONDS` is the duration; a minute in `make test`, an hour in `make fuzz`.
//!
//! Inputs are mutations of the corpus (`fuzz/*.yaml`). An input that panics is written to the corpus, so that every later run tries it first.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "only tests call it")]

use nodeinit_config::{Layer, import, load, secret::MASK};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The corpus.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");

/// What the settings of a role and of a machine are merged over.
const BASE: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: [{name: m1, os: {modules: [ip_vs]}}]\n\
    os: {timezone: Etc/UTC, sysctls: {vm.swappiness: 1}, users: [{name: a}]}\n";

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

/// xorshift64*: a run can be repeated with its seed.
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

/// Merges the layers, and the values of each machine.
fn merged(layers: &[Layer]) {
    let Ok(loaded) = load(layers) else { return };
    let shown = loaded.text();
    if !shown.contains(MASK) {
        let again = load(&[Layer::file("shown", shown.clone())]).unwrap_or_else(|e| panic!("{e}\n{shown}"));
        assert_eq!(again.cluster, loaded.cluster);
    }
    assert!(loaded.differences(&loaded).is_empty());
    for (machine, _) in loaded.cluster.machines().take(3) {
        // What the layers allow, their merged values allow.
        let own = loaded.of_machine(&machine.name).unwrap_or_else(|e| panic!("{}: {e}\n{shown}", machine.name));
        assert_eq!(own.of_machine(&machine.name).unwrap().cluster, own.cluster, "{}", machine.name);
    }
}

fn run(layers: &[Vec<u8>]) {
    let named = layers.iter().enumerate().map(|(number, text)| Layer::file(format!("{number}.yaml"), text.clone()));
    merged(&named.collect::<Vec<_>>());
    for text in layers {
        let base = Layer::file("base.yaml", BASE);
        merged(&[
            base,
            Layer::role("role.yaml", "master", text.clone()),
            Layer::machine("m1.yaml", "m1", text.clone()),
        ]);
    }
    let text = String::from_utf8_lossy(&layers[0]);
    for tool in [import::Tool::Kubeadm, import::Tool::K0sctl] {
        let _ = import::import(tool, &text);
    }
}

#[test]
fn no_input_panics() {
    let seconds = std::env::var("NODEINIT_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let seed = Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()) << 20 | 1;
    let (mut random, corpus, began) = (Random(seed), corpus(), Instant::now());
    assert!(corpus.len() > 5, "the corpus is missing");
    corpus.iter().for_each(|text| run(std::slice::from_ref(text)));
    let mut runs = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        let layers: Vec<Vec<u8>> = (0..=random.below(3)).map(|_| mutated(&mut random, &corpus)).collect();
        if catch_unwind(AssertUnwindSafe(|| run(&layers))).is_err() {
            for (number, layer) in layers.iter().enumerate() {
                fs::write(Path::new(CORPUS).join(format!("panic-{seed:x}-{runs}-{number}.yaml")), layer).unwrap();
            }
            panic!("an input panics; it is now in the corpus: panic-{seed:x}-{runs}-*.yaml");
        }
        runs += 1;
    }
    eprintln!("{runs} inputs in {seconds} s, seed {seed:x}");
}
