//! The programs: kubelet, kubectl, CNI plugins and the others that the configuration lists.

use super::{
    extension,
    source::{Obtained, copy, digest, obtain, pinned},
};
use crate::{
    api::download::file_sha256,
    context::{Context, blocking},
    engine::{
        error::StepError,
        journal::{ORIGINALS, Original, Record},
        step::{State, Step},
        step_id::StepId,
    },
    host::{
        commands::{CommandError, Commands},
        files::{FileError, Files, failed},
        section::Section,
    },
};
use async_trait::async_trait;
use nodeinit_base::{atomic_file::temporary, hex, sha256_of};
use nodeinit_config::{
    Cluster,
    cluster::{ArtifactSource, Binary},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Where the kubelet is, unless the configuration says otherwise. Source: the kubelet package of pkgs.k8s.io.
const KUBELET_PATH: &str = "/usr/bin/kubelet";

/// The steps `kubelet-binary` and `binaries`. The kubelet starts without waiting for the other programs.
#[must_use]
pub fn steps(cluster: &Cluster) -> [Binaries; 2] {
    let (kubelet, others): (Vec<Binary>, Vec<Binary>) = cluster
        .artifacts
        .binaries
        .iter()
        .cloned()
        .partition(|b| b.to.file_name().is_some_and(|name| name == "kubelet"));
    [
        Binaries { id: StepId::KubeletBinary, kubelet: Some(kubelet_path(cluster)), binaries: kubelet },
        Binaries { id: StepId::Binaries, kubelet: None, binaries: others },
    ]
}

/// Installs containerd; called by the step `containerd`.
pub(super) fn runtime(cluster: &Cluster) -> impl Step + use<> {
    Binaries { id: StepId::Containerd, kubelet: None, binaries: cluster.artifacts.runtime.clone() }
}

/// Returns the kubelet's path on the machine.
#[must_use]
pub fn kubelet_path(cluster: &Cluster) -> PathBuf {
    let mut places = cluster.artifacts.binaries.iter().map(|b| &b.to);
    places
        .find(|to| to.file_name().is_some_and(|name| name == "kubelet"))
        .cloned()
        .unwrap_or_else(|| KUBELET_PATH.into())
}

/// Returns the version that a kubelet reports, such as `v1.34.4`.
///
/// # Errors
/// If it cannot be run.
pub async fn kubelet_version(commands: &Commands, path: &Path) -> Result<String, CommandError> {
    let path = path.to_string_lossy();
    let text = commands.run(&[&path, "--version"], Duration::from_secs(60)).await?;
    Ok(text.trim().trim_start_matches("Kubernetes ").to_owned())
}

/// A step that installs programs.
pub struct Binaries {
    id: StepId,
    kubelet: Option<PathBuf>,
    binaries: Vec<Binary>,
}

#[async_trait(?Send)]
impl Step for Binaries {
    fn id(&self) -> StepId {
        self.id.clone()
    }

    fn title(&self) -> String {
        match self.kubelet {
            Some(_) => "install the kubelet".into(),
            None => "install the other programs".into(),
        }
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let source = cx.cluster.artifacts.source.clone();
        if source == ArtifactSource::Image {
            // Preflight has asked the kubelet for its version.
            return missing(cx, &self.binaries);
        }
        let mut binaries = self.binaries.clone();
        for binary in binaries.iter_mut().filter(|binary| cx.files.exists(&binary.to)) {
            binary.sha256 = digest(cx, &self.name(), &binary.path, binary.sha256).await?;
        }
        let context = cx.clone();
        blocking(move || {
            let mut changes = Vec::new();
            for binary in &binaries {
                let verb = if context.files.exists(&binary.to) { "replace" } else { "place" };
                if !is_in_place(&context.files, binary, &source)? {
                    changes.push(format!("{verb} {}", binary.to.display()));
                }
            }
            Ok(State::of(changes))
        })
        .await
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let mut is_extended = false;
        for binary in &self.binaries {
            let sha256 = pinned(cx, &self.name(), &binary.path, binary.sha256).await?;
            let (context, wanted) = (cx.clone(), Binary { sha256, ..binary.clone() });
            let source = cx.cluster.artifacts.source.clone();
            if blocking(move || Ok(is_in_place(&context.files, &wanted, &source)?)).await? {
                continue;
            }
            let obtained = obtain(cx, &self.name(), &binary.path, sha256).await?;
            let (context, to) = (cx.clone(), extension::place(&cx.files, &binary.to)?);
            is_extended |= extension::contains(&to);
            // One blocking task, so that a cancelled run leaves no download behind.
            blocking(move || {
                put(&context, &obtained, &to)?;
                obtained.release(&context.files)
            })
            .await?;
        }
        if is_extended {
            extension::merge(cx).await?;
        }
        if let Some(kubelet) = &self.kubelet {
            right_version(cx, kubelet).await?;
        }
        Ok(())
    }
}

/// Verifies for the source `image` that all programs are installed.
fn missing(cx: &Context, binaries: &[Binary]) -> Result<State, StepError> {
    let missing: Vec<String> =
        binaries.iter().filter(|b| !cx.files.exists(&b.to)).map(|b| b.to.display().to_string()).collect();
    if missing.is_empty() {
        return Ok(State::Done);
    }
    Err(StepError::new(format!("artifacts.source is `image`, and {} is missing", missing.join(", ")))
        .hint("add it to the machine image, or set artifacts.source to `upstream`, a directory, a bundle or a mirror"))
}

/// Refuses a kubelet whose version is not `kubernetes.version`.
///
/// # Errors
/// If it has another version, or does not run.
pub async fn right_version(cx: &Context, path: &Path) -> Result<(), StepError> {
    // While another step merges the extension, it is not in /usr.
    let place = extension::place(&cx.files, path)
        .map(|place| if cx.files.exists(&place) { place } else { path.to_path_buf() })?;
    let found = kubelet_version(&cx.commands, &cx.files.real(&place)).await.map_err(|e| {
        StepError::caused(format!("cannot run the kubelet at {}", path.display()), e)
            .hint("check `artifacts` in the configuration: the kubelet comes from there, or from the machine image")
    })?;
    let wanted = cx.cluster.version.to_string();
    if found == wanted {
        return Ok(());
    }
    Err(StepError::new(format!("the kubelet at {} is {found}, but kubernetes.version is {wanted}", path.display()))
        .hint("provide the kubelet of that version, or change kubernetes.version"))
}

/// Whether a program is installed: executable, and with the pinned digest, or else with the content of its source.
fn is_in_place(files: &Files, binary: &Binary, source: &ArtifactSource) -> Result<bool, FileError> {
    if files.mode(&binary.to) != Some(0o755) {
        return Ok(false);
    }
    match (binary.sha256, source) {
        (Some(sha256), _) => Ok(file_sha256(files, &binary.to)? == sha256),
        (None, ArtifactSource::Directory(directory)) => {
            // What is in place is kept where its source is gone.
            files.have_same_content(&directory.join(&binary.path), &binary.to)
        }
        (None, _) => Ok(true),
    }
}

/// Installs an artifact: recorded first, then written atomically.
fn put(cx: &Context, obtained: &Obtained, to: &Path) -> Result<(), StepError> {
    let sha256 = match &obtained.sha256 {
        Some(sha256) => sha256.clone(),
        None => {
            let read = obtained.section.open().and_then(sha256_of);
            hex(&read.map_err(failed("read", &obtained.section.file))?)
        }
    };
    let original = if cx.journal.state().files.contains_key(to) { None } else { keep_original(&cx.files, to)? };
    let directories = cx.files.missing_parents(to);
    let mut records: Vec<Record> = directories.iter().map(|path| Record::Directory { path: path.clone() }).collect();
    records.push(Record::File { path: to.to_path_buf(), sha256, original });
    cx.journal.intend(records)?;
    for directory in directories {
        cx.files.make_directory(&directory, 0o755)?;
    }
    let result = copy(&cx.files, &obtained.section, to, 0o755);
    if result.is_err() {
        // The first error is the one to report.
        let _ = cx.files.remove_file(temporary(to));
    }
    Ok(result?)
}

/// Keeps an existing program that nodeinit did not install, so that `reset` can restore it.
fn keep_original(files: &Files, path: &Path) -> Result<Option<Original>, FileError> {
    let Some(mode) = files.mode(path) else { return Ok(None) };
    let sha256 = hex(&file_sha256(files, path)?);
    let kept = Path::new(ORIGINALS).join(&sha256);
    files.make_directory(Path::new(ORIGINALS), 0o700)?;
    if !files.exists(&kept) {
        // A hard link needs no space, because the old content is never overwritten; across file systems it takes a copy.
        if files.hard_link(path, &kept).is_err() {
            let section = Section::whole(files.real(path)).map_err(failed("read", path))?;
            copy(files, &section, &kept, 0o755)?;
        }
    }
    Ok(Some(Original { sha256, mode }))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create a source of artifacts")]
mod tests {
    use super::*;
    use crate::{
        api::lent::{LENT, Lent},
        bundle::testing,
        context::testing::context_of,
        engine::error::Exit,
        host::files::NewFile,
    };
    use nodeinit_base::sha256_hex;
    use std::os::unix::fs::MetadataExt;

    /// Returns a machine whose source of artifacts has a kubelet of `version` and a `kubectl`.
    fn machine(version: &str, pins: &str) -> (tempfile::TempDir, Context) {
        let config = format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: v1.34.4}}\nartifacts:\n  source: /source\n  \
             binaries:\n  - {{path: kubelet, to: /usr/bin/kubelet}}\n  - {{path: kubectl, to: /usr/bin/kubectl}}\n{pins}"
        );
        let (dir, cx) = context_of(&config);
        std::fs::create_dir_all(dir.path().join("source")).unwrap();
        std::fs::write(dir.path().join("source/kubelet"), format!("#!/bin/sh\necho Kubernetes {version}\n")).unwrap();
        std::fs::write(dir.path().join("source/kubectl"), "kubectl").unwrap();
        (dir, cx)
    }

    async fn run(cx: &Context) -> Result<Vec<String>, StepError> {
        let mut changed = Vec::new();
        for step in steps(&cx.cluster) {
            if crate::engine::runner::step(&step, cx).await? {
                changed.push(step.name());
            }
        }
        Ok(changed)
    }

    #[tokio::test]
    async fn programs_are_recorded_and_placed_once() {
        let (dir, cx) = machine("v1.34.4", "");
        assert_eq!(run(&cx).await.unwrap(), ["kubelet-binary", "binaries"]);
        let kubectl = dir.path().join("usr/bin/kubectl");
        assert_eq!(std::fs::metadata(&kubectl).unwrap().mode() & 0o7777, 0o755);
        let known = cx.journal.state();
        assert!(known.files[Path::new("/usr/bin/kubectl")].sha256.contains(&sha256_hex(b"kubectl")));
        assert!(known.directories.contains(Path::new("/usr/bin")));
        assert!(run(&cx).await.unwrap().is_empty(), "a second run changes nothing");
        std::fs::write(&kubectl, "damaged").unwrap();
        assert_eq!(run(&cx).await.unwrap(), ["binaries"]);
        std::fs::remove_dir_all(dir.path().join("source")).unwrap();
        assert!(run(&cx).await.unwrap().is_empty(), "an installed program stays when its source is gone");
    }

    #[tokio::test]
    async fn a_program_from_the_first_master_replaces_an_older_one() {
        let (dir, cx) = machine("v1.34.4", "");
        run(&cx).await.unwrap();
        std::fs::remove_dir_all(dir.path().join("source")).unwrap();
        let lent = Lent {
            addresses: Vec::new(),
            repository: String::new(),
            files: [("kubectl".to_owned(), "1".repeat(64))].into(),
            images: [].into(),
        };
        cx.place(vec![NewFile::private(LENT, serde_json::to_vec(&lent).unwrap())]).await.unwrap();
        // Another run.
        let cx = Context { lent: Default::default(), ..cx };
        let [_, others] = steps(&cx.cluster);
        assert!(matches!(others.check(&cx).await.unwrap(), State::Needed(_)));
    }

    #[tokio::test]
    async fn an_existing_program_is_kept_for_reset() {
        let (dir, cx) = machine("v1.34.4", "");
        std::fs::create_dir_all(dir.path().join("usr/bin")).unwrap();
        std::fs::write(dir.path().join("usr/bin/kubectl"), "older").unwrap();
        run(&cx).await.unwrap();
        let original = cx.journal.state().files[Path::new("/usr/bin/kubectl")].original.clone().unwrap();
        assert_eq!(cx.files.read(Path::new(ORIGINALS).join(original.sha256)).unwrap().unwrap(), b"older");
    }

    #[tokio::test]
    async fn programs_are_installed_from_a_bundle() {
        let (dir, cx) = machine("v1.34.4", "");
        let kubelet = ("kubelet", &b"#!/bin/sh\necho Kubernetes v1.34.4\n"[..]);
        let write = |artifacts: &[(&str, &[u8])]| testing::place(&cx.files, &cx.cluster, "/b.tar", artifacts);
        let mut cluster = (*cx.cluster).clone();
        cluster.artifacts.source = ArtifactSource::Bundle("/b.tar".into());
        let cx = Context { cluster: cluster.into(), ..cx.clone() };
        let error = run(&cx).await.unwrap_err().to_string();
        assert!(error.contains("the bundle /b.tar does not exist"), "{error}");
        write(&[kubelet]);
        let error = run(&cx).await.unwrap_err().to_string();
        assert_eq!(error, "the bundle /b.tar does not contain kubectl");
        write(&[kubelet, ("kubectl", b"kubectl")]);
        let whole = String::from_utf8(cx.files.read("/b.tar").unwrap().unwrap()).unwrap();
        let (start, content) = whole.rsplit_once("kubectl").unwrap();
        std::fs::write(dir.path().join("b.tar"), format!("{start}kubectX{content}")).unwrap();
        let error = run(&cx).await.unwrap_err().to_string();
        assert!(
            error.contains("kubectl of /b.tar has the SHA-256") && error.contains(&sha256_hex(b"kubectl")),
            "{error}"
        );
        assert!(!cx.files.exists("/usr/bin/kubectl"));

        write(&[kubelet, ("kubectl", b"kubectl")]);
        assert_eq!(run(&cx).await.unwrap(), ["binaries"]);
        assert_eq!(cx.files.read("/usr/bin/kubectl").unwrap().unwrap(), b"kubectl");
        assert!(run(&cx).await.unwrap().is_empty(), "a second run changes nothing");
        std::fs::write(dir.path().join("usr/bin/kubectl"), "damaged").unwrap();
        assert_eq!(run(&cx).await.unwrap(), ["binaries"]);
        std::fs::remove_file(dir.path().join("b.tar")).unwrap();
        assert!(run(&cx).await.unwrap().is_empty(), "an installed program stays when its source is gone");
    }

    #[tokio::test]
    async fn a_kubelet_of_another_version_is_refused_and_both_versions_are_named() {
        let (_dir, cx) = machine("v1.33.9", "");
        let error = run(&cx).await.unwrap_err();
        assert!(error.to_string().contains("is v1.33.9, but kubernetes.version is v1.34.4"), "{error}");
    }

    #[tokio::test]
    async fn a_wrong_digest_names_both_and_nothing_is_placed() {
        let (_dir, cx) = machine("v1.34.4", &format!("  sha256: {{kubectl: {}}}\n", "a".repeat(64)));
        let error = run(&cx).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&"a".repeat(64)) && text.contains(&sha256_hex(b"kubectl")), "{text}");
        assert_eq!(error.exit, Exit::Failed);
        assert!(!cx.files.exists("/usr/bin/kubectl"));
    }
}
