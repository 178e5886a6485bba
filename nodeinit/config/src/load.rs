//! Loads a [`Cluster`] from layers of text, and reports the problems of all layers together.

use crate::{
    cluster::Cluster,
    layer::{Content, Layer},
    model::{
        self, Bastion, Machine, bastion, check,
        declare::{
            Form, Machines, Verdict,
            place::{Place, keys},
        },
        defaults,
        field::Kind,
        overrides,
    },
    problem::{Findings, Mark, Origin, Problem, Problems, Source},
    releases::{self, Release},
    text::{
        merge::merge,
        tree::{Value, YamlNode, below},
    },
};

/// A valid configuration with its layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The validated configuration.
    pub cluster: Cluster,
    /// The warnings: allowed values that are probably mistakes.
    pub warnings: Vec<Problem>,
    pub(crate) tree: YamlNode,
    pub(crate) sources: Vec<Source>,
    /// The layers that describe releases.
    pub(crate) releases: Vec<Layer>,
}

impl Loaded {
    /// Returns the files that add or replace releases, by path. The machines of this cluster need them, too.
    pub fn release_files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.releases.iter().filter_map(|layer| match &layer.content {
            Content::Release(bytes) => Some((layer.name.as_str(), &bytes[..])),
            _ => None,
        })
    }

    /// Returns the releases of Kubernetes that are known with this configuration, oldest first.
    #[must_use]
    pub fn known_releases(&self) -> Vec<Release> {
        releases::read(&self.releases, &mut Findings::default()).all
    }

    /// Returns the problem of a configuration that lists no machine, such as a truncated file.
    #[must_use]
    pub fn no_machines(&self) -> Option<Problem> {
        let none = self.cluster.masters.is_empty() && self.cluster.workers.is_empty() && self.cluster.bastion.is_none();
        let is_release = |source: &Source| self.releases.iter().any(|layer| layer.name == source.name);
        let source = self.sources.iter().rfind(|source| source.lines && !is_release(source));
        let source = source.map(|source| source.name.clone()).unwrap_or_default();
        none.then(|| Problem {
            origin: Origin { source, line: 0, column: 0 },
            path: "masters".to_owned(),
            what: "missing: there is no first master".to_owned(),
            remedy: "list the first master, such as `masters: [{name: m1, address: 10.0.0.11}]`".to_owned(),
        })
    }
}

/// Merges the layers over the built-in defaults, the last one with the highest precedence, and validates the result.
///
/// Maps merge deeply; lists and single values replace those of lower layers. A key without a value counts as not
/// written, except inside `kubelet.config` and `kubeProxy.config`, which are passed on unchanged.
///
/// # Errors
/// If there are problems in a layer or between layers; in the order of layers and lines.
pub fn load(layers: &[Layer]) -> Result<Loaded, Problems> {
    let mut result = load_used(layers);
    let unread = layers.iter().filter_map(|layer| match &layer.content {
        Content::Unread(problem) => Some(problem.clone()),
        _ => None,
    });
    match &mut result {
        Ok(loaded) => loaded.warnings.extend(unread),
        Err(problems) => problems.warnings.extend(unread),
    }
    result
}

fn load_used(layers: &[Layer]) -> Result<Loaded, Problems> {
    let mut sources = vec![Source { name: "default".to_owned(), lines: false }];
    sources.extend(layers.iter().map(Layer::source));
    let mut errors = Findings::default();
    let releases = releases::read(layers, &mut errors);
    let mut verdict = Verdict { errors, warnings: Findings::default(), releases: &releases, machines: Machines::All };
    let mut tree = defaults::layer();
    // Their defaults are removed if no layer contains such a section.
    let mut absent = vec![keys().openstack().path, keys().openstack().bastion().path, keys().bastion().path];
    let (mut first, mut readable) = (None, true);
    for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| !layer.is_release()) {
        let before = verdict.errors.len();
        let parsed = layer.parse(index + 1, &mut verdict.errors);
        if let Some(name) = layer.of_machine() {
            readable &= parsed.is_some() || verdict.errors.len() == before;
            parsed.into_iter().for_each(|node| machine(&mut tree, name, node, &mut verdict.errors));
            continue;
        }
        let checked = parsed.and_then(|node| check::layer(node, &mut verdict.errors)).filter(|n| n.value != Value::Bad);
        // The content of an unreadable file is unknown, so rules over all values must not guess.
        readable &= checked.is_some() || verdict.errors.len() == before;
        if let Some(checked) = checked {
            first = first.or(Some(index + 1));
            absent.retain(|section| checked.get(section).is_none());
            merge(&mut tree, checked);
        }
    }
    absent.iter().for_each(|section| tree.remove(section));
    if !readable {
        return Err(verdict.errors.into_problems(&sources).into());
    }
    // An empty file has no header either: report it for the first layer.
    if let Some(layer) = first.or((!layers.is_empty()).then_some(1)) {
        header(&Place::document(&tree), layer, &mut verdict.errors);
    }
    let releases = layers.iter().filter(|layer| layer.is_release()).cloned().collect();
    validated(tree, verdict, sources, releases)
}

/// Applies all rules to the merged values.
pub(crate) fn validated(
    mut tree: YamlNode,
    mut verdict: Verdict<'_>,
    sources: Vec<Source>,
    releases: Vec<Layer>,
) -> Result<Loaded, Problems> {
    let all = Place::document(&tree);
    Form::check(&all, &mut verdict);
    overrides::check(&tree, &mut verdict);
    let cluster = Cluster::read(&all, verdict.releases);
    let Verdict { mut errors, warnings, .. } = verdict;
    match &cluster {
        Some(cluster) => model::digests(&all, &cluster.artifacts, &mut errors),
        None if errors.is_empty() => {
            let what = "all checks passed, but the result cannot be read: a defect of nodeinit";
            errors.add(Mark::DEFAULT, "", what, "please report it with the configuration");
        }
        None => {}
    }
    match cluster.filter(|_| errors.is_empty()) {
        Some(cluster) => {
            defaults::complete(&mut tree, &cluster);
            Ok(Loaded { cluster, warnings: warnings.into_problems(&sources), tree, sources, releases })
        }
        None => Err(errors.into_problems(&sources).into()),
    }
}

/// Returns what the layers say, without the defaults and without what is wrong, which goes to `findings`.
pub(crate) fn written(layers: &[Layer], findings: &mut Findings) -> YamlNode {
    let mut tree = YamlNode::map(Mark::DEFAULT);
    for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| !layer.is_release()) {
        let Some(node) = layer.parse(index + 1, findings) else { continue };
        match layer.of_machine() {
            Some(name) => machine(&mut tree, name, node, findings),
            None => check::layer(node, findings).into_iter().for_each(|node| merge(&mut tree, node)),
        }
    }
    tree
}

/// Merges the settings of one machine into its entry.
fn machine(tree: &mut YamlNode, name: &str, settings: YamlNode, errors: &mut Findings) {
    let at = settings.at;
    let is_named = |node: &YamlNode| node.get("name").and_then(YamlNode::scalar) == Some(name);
    let section = keys().bastion().path;
    for list in [keys().masters().path, keys().workers().path] {
        let Some(Value::List(items)) = tree.get_mut(&list).map(|node| &mut node.value) else { continue };
        if let Some((index, entry)) = items.iter_mut().enumerate().find(|(_, item)| is_named(item)) {
            return part(entry, (&format!("{list}[{index}]"), &Machine::KIND), name, settings, errors);
        }
    }
    let is_bastion = bastion::name(&Place::document(tree)).as_deref() == Some(name);
    match tree.get_mut(&section).filter(|_| is_bastion) {
        Some(entry) => part(entry, (&section, &Bastion::KIND), name, settings, errors),
        None => errors.add(at, "", format!("no machine has the name {name}"), "list it in `masters` or `workers`"),
    }
}

/// Merges the settings of the machine `name` into its entry, which is at a path and of a kind.
fn part(entry: &mut YamlNode, (path, kind): (&str, &Kind), name: &str, settings: YamlNode, errors: &mut Findings) {
    let Some(checked) = check::part(settings, kind, path, errors).filter(|node| node.value != Value::Bad) else {
        return;
    };
    match checked.get("name") {
        Some(other) if other.scalar() != Some(name) => {
            let what = format!("the file has the settings of {name}");
            errors.add(other.at, &below(path, "name"), what, "remove it, or rename the file");
        }
        _ => merge(entry, checked),
    }
}

/// Requires that one of the layers declares the format, so that a file of another format is not accepted.
fn header(all: &Place<'_, model::Document>, layer: usize, errors: &mut Findings) {
    let first = Mark { layer, line: 1, column: 1 };
    let written = [
        (all.api_version().path, all.api_version().written(), model::API_VERSION),
        (all.kind().path, all.kind().written(), model::KIND),
    ];
    for (key, _, value) in written.iter().filter(|(_, node, _)| node.is_none()) {
        errors.add(first, key, "missing", format!("start the file with `{key}: {value}`"));
    }
}
