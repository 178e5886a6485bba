//! The context of steps: the configuration, this machine, the journal, the report.

pub use crate::engine::blocking::blocking;
use crate::{
    api::{kube::KubeClient, lent::Lender},
    engine::{
        error::{Exit, StepError},
        journal::{Journal, ORIGINALS, Original, Record},
        led::Led,
        report::Report,
    },
    host::{
        clock::Clock,
        commands::Commands,
        files::{Files, NewFile},
        net, systemd,
    },
    render::{self, HostFacts, Manifests, RenderError, Renderer, paths},
};
use nodeinit_base::sha256_hex;
use nodeinit_config::{
    Cluster, Loaded, Local,
    cluster::{HostName, Node, Share},
    versions::KubernetesVersion,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

impl From<RenderError> for StepError {
    fn from(error: RenderError) -> Self {
        Self::caused("cannot render a file from the configuration", error).exit(Exit::BadConfig)
    }
}

/// The command-line options of a rollout.
#[derive(Clone, Copy, Debug)]
pub struct RolloutOptions {
    /// Whether pods are evicted from a worker before its kubelet restarts.
    pub evict: bool,
    /// How many workers are changed at a time, if not as many as the configuration says.
    pub parallel: Option<Share>,
    /// Whether an upgrade goes back to the former version.
    pub back: bool,
    /// Whether this machine has just booted: then no other machine restarts its components.
    pub at_boot: bool,
    /// Whether this machine's static pods stay as they are, because they were healthy at boot.
    pub keeps_static_pods: bool,
}

impl RolloutOptions {
    /// Returns the arguments that bring a machine to this version, or resume that.
    #[must_use]
    pub fn upgrade_command(&self, version: KubernetesVersion) -> String {
        let subcommand = if self.back { "rollback" } else { "apply" };
        format!("upgrade {subcommand} {version}")
    }

    /// Returns what it is, as a noun.
    #[must_use]
    pub const fn change(&self) -> &'static str {
        if self.back { "rollback" } else { "upgrade" }
    }
}

impl Default for RolloutOptions {
    fn default() -> Self {
        Self { evict: true, parallel: None, back: false, at_boot: false, keeps_static_pods: false }
    }
}

/// The context that every step receives. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The validated configuration, with the values of this machine.
    pub cluster: Arc<Cluster>,
    /// The configuration of all machines, as the user wrote it.
    pub loaded: Arc<Loaded>,
    /// This machine.
    pub node: Arc<Node>,
    /// The machine's files.
    pub files: Files,
    /// Runs programs on the machine.
    pub commands: Commands,
    /// The wall clock.
    pub clock: Clock,
    /// The journal of changes on this machine.
    pub journal: Arc<Journal>,
    /// The report of progress.
    pub report: Report,
    /// Facts about this machine.
    pub facts: Arc<HostFacts>,
    /// nodeinit's manifests, overridden by the user's.
    pub manifests: Arc<Manifests>,
    /// The client of this master's API server, after its keys exist.
    pub api: Arc<OnceLock<KubeClient>>,
    /// Held while a mirror's list of digests is fetched: several steps need it at the same time.
    pub sums: Arc<tokio::sync::Mutex<()>>,
    /// The artifacts that the first master lends to this machine.
    pub lent: Arc<Lender>,
    /// The lease under which this run works on other machines.
    pub led: Option<Led>,
    /// The options of a rollout.
    pub rollout: RolloutOptions,
    /// The IDs of the bootstrap tokens that this run's fan-out issued. The fan-out deletes them.
    pub issued: Arc<Mutex<BTreeSet<String>>>,
}

impl Context {
    /// Returns the renderer of this configuration.
    #[must_use]
    pub fn renderer(&self) -> Renderer<'_> {
        Renderer {
            cluster: &self.cluster,
            node: &self.node,
            facts: &self.facts,
            manifests: &self.manifests,
            verify_kubelets: self.verifies_kubelets(),
        }
    }

    /// Whether the API server of this master verifies kubelets. If an `up` without the agent started it, it does not until the step
    /// `verify-kubelets` changes that; this keeps the value of the manifest on the disk.
    fn verifies_kubelets(&self) -> bool {
        let manifest = || self.files.read_text(Path::new(paths::STATIC_PODS).join("kube-apiserver.yaml"));
        render::kubelet::requests_serving_certificate(&self.cluster)
            && !matches!(manifest(), Ok(Some(text)) if !text.contains("--kubelet-certificate-authority="))
    }

    /// Writes files: records those that differ, creates their directories (mode 0755, or 0700 for a private file), then writes
    /// each atomically. Returns the paths that changed.
    ///
    /// An existing file of others is kept in [`ORIGINALS`] for `reset`. The write completes even if the future is
    /// dropped.
    ///
    /// # Errors
    /// If a file operation fails; no file is half-written.
    pub async fn place(&self, new: Vec<NewFile>) -> Result<Vec<PathBuf>, StepError> {
        let cx = self.clone();
        blocking(move || cx.place_now(new)).await
    }

    fn place_now(&self, new: Vec<NewFile>) -> Result<Vec<PathBuf>, StepError> {
        let mut changed = Vec::new();
        for file in new {
            if !self.files.is_same(&file)? {
                changed.push(file);
            }
        }
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        self.keep_originals(&changed)?;
        let known = self.journal.state().files;
        let mut records = self.directory_records(&changed);
        for file in &changed {
            let original = if known.contains_key(&file.path) { None } else { self.original(&file.path)? };
            records.push(Record::File { path: file.path.clone(), sha256: sha256_hex(&file.content), original });
        }
        let directories: Vec<PathBuf> = records
            .iter()
            .filter_map(|r| if let Record::Directory { path } = r { Some(path.clone()) } else { None })
            .collect();
        self.journal.intend(records)?;
        for directory in directories {
            let private = changed.iter().all(|f| !f.path.starts_with(&directory) || f.mode & 0o077 == 0);
            self.files.make_directory(&directory, if private { 0o700 } else { 0o755 })?;
        }
        self.files.write(&changed)?;
        Ok(changed.into_iter().map(|file| file.path).collect())
    }

    fn directory_records(&self, new: &[NewFile]) -> Vec<Record> {
        let mut directories: Vec<PathBuf> = new.iter().flat_map(|f| self.files.missing_parents(&f.path)).collect();
        directories.sort();
        directories.dedup();
        directories.into_iter().map(|path| Record::Directory { path }).collect()
    }

    /// Copies files of others that are about to be replaced.
    fn keep_originals(&self, new: &[NewFile]) -> Result<(), StepError> {
        let known = self.journal.state().files;
        let mut copies = Vec::new();
        for file in new.iter().filter(|f| !known.contains_key(&f.path)) {
            if let Some(content) = self.files.read(&file.path)? {
                copies.push(NewFile::private(Path::new(ORIGINALS).join(sha256_hex(&content)), content));
            }
        }
        if !copies.is_empty() {
            self.files.make_directory(Path::new(ORIGINALS), 0o700)?;
            self.files.write(&copies)?;
        }
        Ok(())
    }

    fn original(&self, path: &Path) -> Result<Option<Original>, StepError> {
        let Some(content) = self.files.read(path)? else { return Ok(None) };
        Ok(Some(Original { sha256: sha256_hex(&content), mode: self.files.mode(path).unwrap_or(0o644) }))
    }

    /// Creates a directory, and its missing parents with mode 0755; records each before.
    ///
    /// # Errors
    /// If a directory cannot be created, or the journal cannot be written.
    pub async fn make_directory(&self, path: &Path, mode: u32) -> Result<(), StepError> {
        let (cx, path) = (self.clone(), path.to_path_buf());
        blocking(move || {
            let missing = cx.files.missing(&path);
            cx.journal.intend(missing.iter().map(|path| Record::Directory { path: path.clone() }).collect())?;
            for directory in &missing {
                cx.files.make_directory(directory, if *directory == path { mode } else { 0o755 })?;
            }
            Ok(())
        })
        .await
    }

    /// Describes, for a plan, which of these files differ from those on disk.
    ///
    /// # Errors
    /// If an existing file cannot be read.
    pub fn differing(&self, wanted: &[NewFile]) -> Result<Vec<String>, StepError> {
        let mut changes = Vec::new();
        for file in wanted {
            if !self.files.is_same(file)? {
                let verb = if self.files.exists(&file.path) { "rewrite" } else { "write" };
                changes.push(format!("{verb} {}", file.path.display()));
            }
        }
        Ok(changes)
    }

    /// Declares that Kubernetes fills these directories and that `reset` empties them. Records missing parents, too: `reset` removes
    /// them only if they are empty, because others may put files there. Also records the current network interfaces for `reset`.
    ///
    /// # Errors
    /// If a directory cannot be read, or the journal cannot be written.
    pub async fn claim_trees(&self, paths: Vec<PathBuf>) -> Result<(), StepError> {
        let cx = self.clone();
        blocking(move || {
            let known = cx.journal.state();
            let mut records = Vec::new();
            if known.interfaces.is_none() {
                records.push(Record::Interfaces { before: cx.files.list("/sys/class/net")? });
            }
            for path in paths {
                if path.ancestors().any(|dir| known.trees.contains_key(dir)) {
                    continue;
                }
                let parents = cx.files.missing_parents(&path).into_iter();
                records.extend(parents.map(|path| Record::Directory { path }));
                let is_ours = known.directories.contains(&path) || !cx.files.exists(&path);
                let before = if is_ours { None } else { Some(cx.files.list(&path)?) };
                records.push(Record::Tree { path, before });
            }
            Ok(cx.journal.intend(records)?)
        })
        .await
    }

    /// Starts or restarts a unit that nodeinit wrote, now and at each boot; `reset` stops it.
    ///
    /// # Errors
    /// If the journal cannot be written, or `systemctl` fails.
    pub async fn start_unit(&self, unit: &'static str) -> Result<(), StepError> {
        let cx = self.clone();
        blocking(move || Ok(cx.journal.intend(vec![Record::Unit { name: unit.into() }])?)).await?;
        if self.files.exists(systemd::enabled(unit)) {
            systemd::reload(&self.commands).await?;
        }
        // systemd reads a new unit when it starts it.
        systemd::restart(&self.commands, unit).await?;
        Ok(systemd::enable(&self.commands, unit).await?)
    }
}

/// Returns the facts about this machine that rendering depends on, as kubeadm determines them.
#[must_use]
pub fn host_facts(files: &Files, local: &Local, cluster: &Cluster, node: &Node) -> HostFacts {
    let pki = Path::new(paths::PKI);
    // The step `os-host-name` sets the name before anything depends on it.
    let host_name = if cluster.os.host_name == HostName::Machine { &node.name } else { &local.host_name };
    HostFacts {
        host_name: host_name.clone(),
        interface: net::interface_of(node.address).ok().flatten(),
        ca_directories: render::CA_DIRECTORIES.into_iter().filter(|directory| files.exists(directory)).collect(),
        external_ca: files.exists(pki.join("ca.crt")) && !files.exists(pki.join("ca.key")),
        systemd_resolved: files.exists("/run/systemd/resolve/resolv.conf"),
    }
}

/// Test helpers: a context on a directory that represents a machine.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use nodeinit_config::Layer;

    /// Returns an empty first master `m1` at 10.0.0.11.
    pub(crate) fn context() -> (tempfile::TempDir, Context) {
        context_of("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n")
    }

    /// Returns the same with another configuration.
    pub(crate) fn context_of(config: &str) -> (tempfile::TempDir, Context) {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let this = Layer::setting("this machine", "masters", "[{name: m1}]");
        let loaded = nodeinit_config::load(&[this, Layer::file("cluster.yaml", config)]).unwrap();
        let cluster = loaded.of_machine("m1").unwrap().cluster;
        let local = Local { host_name: "m1".into(), addresses: vec!["10.0.0.11".parse().unwrap()] };
        let node = cluster.node(&local, None).unwrap();
        let cx = Context {
            cluster: Arc::new(cluster),
            loaded: Arc::new(loaded),
            node: Arc::new(node),
            journal: Arc::new(Journal::open(&files).unwrap()),
            files,
            commands: Commands::default(),
            clock: Clock::default(),
            report: Report::silent(),
            facts: Arc::default(),
            manifests: Arc::new(Manifests::new(Default::default()).unwrap()),
            api: Arc::default(),
            sums: Arc::default(),
            lent: Arc::default(),
            led: None,
            rollout: RolloutOptions::default(),
            issued: Arc::default(),
        };
        (dir, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::context, *};

    #[tokio::test]
    async fn files_are_recorded_before_they_are_written() {
        let (_dir, cx) = context();
        let wanted = vec![NewFile::private("/etc/k/pki/ca.key", "key"), NewFile::public("/etc/k/a", "a")];
        assert_eq!(cx.differing(&wanted).unwrap().len(), 2);
        assert_eq!(cx.place(wanted.clone()).await.unwrap().len(), 2);
        assert!(cx.differing(&wanted).unwrap().is_empty());
        assert!(cx.place(wanted).await.unwrap().is_empty(), "a second time changes nothing");
        let state = Journal::read_only(&cx.files).unwrap().state();
        assert!(state.files[Path::new("/etc/k/pki/ca.key")].sha256.contains(&sha256_hex(b"key")));
        assert!(state.directories.contains(Path::new("/etc/k/pki")));
    }

    #[tokio::test]
    async fn original_files_are_kept() {
        let (_dir, cx) = context();
        let path = Path::new("/fstab");
        cx.files.write(&[NewFile::public(path, "theirs")]).unwrap();
        cx.place(vec![NewFile::public(path, "ours")]).await.unwrap();
        cx.place(vec![NewFile::public(path, "ours again")]).await.unwrap();
        let original = cx.journal.state().files[path].original.clone().unwrap();
        assert_eq!(cx.files.read(Path::new(ORIGINALS).join(original.sha256)).unwrap().unwrap(), b"theirs");
    }

    #[tokio::test]
    async fn a_claimed_tree_records_its_earlier_entries() {
        let (_dir, cx) = context();
        cx.files.make_directory(Path::new("/here"), 0o755).unwrap();
        cx.files.write(&[NewFile::public("/here/theirs", "")]).unwrap();
        cx.claim_trees(vec!["/here".into(), "/not/there".into()]).await.unwrap();
        let trees = cx.journal.state().trees;
        assert_eq!(trees[Path::new("/here")], Some(vec!["theirs".to_owned()]));
        assert_eq!(trees[Path::new("/not/there")], None);
        assert!(!trees.contains_key(Path::new("/not")), "others may put files there");
        assert!(cx.journal.state().directories.contains(Path::new("/not")));
    }
}
