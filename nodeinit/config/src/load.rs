//! From layers of text to a [`Cluster`]: all that is wrong in any of them comes in one report.

use crate::{
    cluster::Cluster,
    layer::{Content, Layer},
    model::{
        self, check,
        declare::{
            Form, Verdict,
            place::{Place, keys},
        },
        defaults,
    },
    problem::{Findings, Mark, Origin, Problem, Problems, Source},
    releases,
    text::{
        merge::merge,
        tree::{Node, Value},
    },
};

/// A configuration that is good, with what it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The validated configuration.
    pub cluster: Cluster,
    /// What is allowed, but probably not wanted.
    pub warnings: Vec<Problem>,
    pub(crate) tree: Node,
    pub(crate) sources: Vec<Source>,
    /// The layers that describe releases.
    pub(crate) releases: Vec<Layer>,
}

impl Loaded {
    /// The files that add or replace releases, by path. A machine of this cluster needs them too.
    pub fn release_files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.releases.iter().filter_map(|layer| match &layer.content {
            Content::Release(bytes) => Some((layer.name.as_str(), &bytes[..])),
            _ => None,
        })
    }

    /// The problem of a configuration that lists no machine at all, as a file does that was cut off after its first lines.
    #[must_use]
    pub fn no_machines(&self) -> Option<Problem> {
        let none = self.cluster.masters.is_empty() && self.cluster.workers.is_empty();
        let of_releases = |source: &&Source| self.releases.iter().any(|layer| layer.name == source.name);
        let source = self.sources.iter().rfind(|source| !of_releases(source));
        let source = source.map(|source| source.name.clone()).unwrap_or_default();
        none.then(|| Problem {
            origin: Origin { source, line: 0, column: 0 },
            path: "masters".to_owned(),
            what: "missing: no machine becomes the first master".to_owned(),
            remedy: "list the first master, such as `masters: [{name: m1, address: 10.0.0.11}]`".to_owned(),
        })
    }
}

/// Lays the layers over the built-in defaults, the last on top, and validates the result.
///
/// Maps merge deeply; lists and single values replace what lies below. A key with nothing behind it counts as not
/// written, except inside `kubelet.config` and `kubeProxy.config`, which are handed on as they are.
///
/// # Errors
/// Everything that is wrong in any layer, or between them, in the order of layers and lines.
pub fn load(layers: &[Layer]) -> Result<Loaded, Problems> {
    let mut sources = vec![Source { name: "default".to_owned(), lines: false }];
    sources.extend(layers.iter().map(Layer::source));
    let mut errors = Findings::default();
    let releases = releases::read(layers, &mut errors);
    let mut verdict = Verdict { errors, warnings: Findings::default(), releases: &releases };
    let mut tree = defaults::layer();
    // Their defaults mean nothing where no layer says that there is such a thing.
    let mut absent = vec![keys().openstack().path, keys().openstack().bastion().path];
    let (mut first, mut readable) = (None, true);
    for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| !layer.is_release()) {
        let before = verdict.errors.len();
        let parsed = layer.parse(index + 1, &mut verdict.errors);
        let checked = parsed.and_then(|node| check::layer(node, &mut verdict.errors)).filter(|n| n.value != Value::Bad);
        // What a file that cannot be read would have said is unknown, so that rules over all values must not guess.
        readable &= checked.is_some() || verdict.errors.len() == before;
        if let Some(checked) = checked {
            first = first.or(Some(index + 1));
            absent.retain(|section| checked.get(section).is_none());
            merge(&mut tree, checked);
        }
    }
    absent.iter().for_each(|section| tree.remove(section));
    let all = Place::document(&tree);
    if readable {
        // An empty file names nothing either: the first layer has to be completed.
        if let Some(layer) = first.or((!layers.is_empty()).then_some(1)) {
            header(&all, layer, &mut verdict.errors);
        }
        Form::check(&all, &mut verdict);
    }
    let Verdict { mut errors, warnings, .. } = verdict;
    if let Some(cluster) = Cluster::read(&all, &releases).filter(|_| readable) {
        model::digests(&all, &cluster.artifacts, &mut errors);
        if errors.is_empty() {
            defaults::complete(&mut tree, &cluster);
            let warnings = warnings.into_problems(&sources);
            let releases = layers.iter().filter(|layer| layer.is_release()).cloned().collect();
            return Ok(Loaded { cluster, warnings, tree, sources, releases });
        }
    } else if errors.is_empty() {
        let what = "every check passed, but the result cannot be read: a defect of nodeinit";
        errors.add(Mark::DEFAULT, "", what, "please report it with the configuration");
    }
    Err(Problems(errors.into_problems(&sources)))
}

/// A file of another format must not be taken for one of ours, so that one of the layers has to say what they are.
fn header(all: &Place<'_, model::Document>, layer: usize, errors: &mut Findings) {
    let first = Mark { layer, line: 1, column: 1 };
    let written = [
        (all.api_version().path, all.api_version().written(), model::API_VERSION),
        (all.kind().path, all.kind().written(), model::KIND),
    ];
    for (key, _, value) in written.iter().filter(|(_, node, _)| node.is_none()) {
        errors.add(first, key, "missing", format!("begin the file with `{key}: {value}`"));
    }
}
