//! Fetches the official programs and images if `artifacts.source` is `upstream`; then they are used like those in a directory.

use super::{
    containerd::{self as runtime, Duty},
    extension,
    images::audience,
    source::Local,
};
use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    fetch::{Fetch, lock::Lock, login},
    host::{containerd, facts},
};
use async_trait::async_trait;
use nodeinit_config::{
    cluster::{ArtifactSource, FETCHED, Role},
    upstream::{Artifact, Source},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Step `fetch`.
pub struct Fetched;

#[async_trait(?Send)]
impl Step for Fetched {
    fn id(&self) -> StepId {
        StepId::Fetch
    }

    fn title(&self) -> String {
        "fetch programs and images if artifacts.source is upstream".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let missing = missing(cx).await?;
        Ok(State::of(missing.iter().map(|each| format!("fetch {} from {}", each.path, url(&each.source))).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.claim_trees(vec![FETCHED.into()]).await?;
        let (files, arch) = (&cx.files, facts::architecture());
        let logins = login::of_cluster(files, &cx.cluster)?;
        let fetch = Fetch::new(files, FETCHED.into(), &cx.cluster, arch, logins, cx.report.clone())?;
        fetch.run(missing(cx).await?).await.report_failures(&cx.report)?;
        fetch.clean()
    }
}

fn url(source: &Source) -> &str {
    match source {
        Source::File(file) => &file.url,
        Source::Image(image) => &image.repository,
        Source::Unknown => "a source that you provide",
    }
}

/// Lists what this machine must fetch; empty unless `artifacts.source` is `upstream`.
///
/// # Errors
/// If the lock file or the list of lent artifacts cannot be read.
pub(super) async fn missing(cx: &Context) -> Result<Vec<Artifact>, StepError> {
    if cx.cluster.artifacts.source != ArtifactSource::Upstream {
        return Ok(Vec::new());
    }
    let context = cx.clone();
    let missing = blocking(move || unfetched(&context)).await?;
    if cx.node.role == Role::FirstMaster || missing.is_empty() {
        return Ok(missing);
    }
    // An installed program that nodeinit owns and never fetched here came from the first master.
    let lock = Lock::read(&cx.files, Path::new(FETCHED))?;
    let images = containerd::images(&cx.commands).await.unwrap_or_default();
    let is_ours = |to: &PathBuf| extension::record(cx, to).is_some() && cx.files.exists(to);
    let is_in_place = |artifact: &Artifact| match &artifact.source {
        Source::Image(image) => images.contains_key(&image.name),
        _ => artifact.to.as_ref().is_some_and(is_ours),
    };
    Ok(missing.into_iter().filter(|each| lock.has(&each.path) || !is_in_place(each)).collect())
}

/// Lists the artifacts that a machine of this role uses, and that are neither fetched nor lent.
fn unfetched(cx: &Context) -> Result<Vec<Artifact>, StepError> {
    let cluster = &cx.cluster;
    let manage = cluster.container_runtime.manage;
    // Other machines may need containerd and get it from here.
    let lends = cx.node.role == Role::FirstMaster
        && cluster.artifacts.lend
        && cluster.masters.len() + cluster.workers.len() > 1
        && manage != Some(false);
    let runtime = manage == Some(true) || lends || runtime::duty(cx) == Duty::Install;
    let lent = cx.lent.list(&cx.files)?.filter(|_| cluster.artifacts.lend);
    let source = Local::open(&cx.files, cluster)?;
    let is_wanted = |artifact: &Artifact| match &artifact.source {
        Source::Image(image) => audience::is_for(cluster, &image.name, cx.node.role),
        _ => true,
    };
    let is_fetched = |artifact: &Artifact| source.as_ref().is_some_and(|source| source.find(&artifact.path).is_some());
    let is_lent = |artifact: &Artifact| lent.is_some_and(|lent| lent.files.contains_key(&artifact.path));
    let mut all = cluster.upstream_with(facts::architecture(), runtime);
    all.retain(|artifact| is_wanted(artifact) && !is_fetched(artifact) && !is_lent(artifact));
    Ok(all)
}

/// Lists the servers from which this machine will download.
pub(super) async fn servers(cx: &Context) -> BTreeSet<String> {
    // The step reports a lock file that cannot be read.
    let missing = missing(cx).await.unwrap_or_default();
    missing.iter().filter_map(|artifact| server(&artifact.source)).collect()
}

/// Returns a URL such as `https://dl.k8s.io/`; for a registry, the base URL of its API.
fn server(source: &Source) -> Option<String> {
    let (scheme, rest) = url(source).split_once("://")?;
    let host = rest.split('/').next()?;
    let path = if matches!(source, Source::Image(_)) { "v2/" } else { "" };
    Some(format!("{scheme}://{host}/{path}"))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake machine")]
mod tests {
    use super::*;
    use crate::{
        api::lent::{LENT, Lent},
        context::testing::context_of,
        engine::{error::Exit, runner},
        fetch::lock::Record,
        host::files::NewFile,
        steps::{artifacts, source},
    };
    use nodeinit_base::sha256_hex;
    use std::sync::Arc;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    const KUBELET: &str = "#!/bin/sh\necho Kubernetes v1.34.4\n";

    /// Returns a machine whose release server has a kubelet and answers `answers` requests.
    async fn machine(answers: usize) -> (tempfile::TempDir, Context) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for _ in 0..answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                let content = match String::from_utf8_lossy(&request[..length]).contains(".sha256 ") {
                    true => sha256_hex(KUBELET.as_bytes()),
                    false => KUBELET.to_owned(),
                };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", content.len());
                stream.write_all(&[head.as_bytes(), content.as_bytes()].concat()).await.unwrap();
            }
        });
        context_of(&format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: v1.34.4}}\nartifacts:\n  source: upstream\n  \
             mirrors: {{dl.k8s.io: \"{url}\"}}\n  binaries: [{{path: bin/kubelet, to: /usr/bin/kubelet}}]\n  images: []\n\
             containerRuntime: {{manage: false}}\n"
        ))
    }

    async fn run(cx: &Context) -> Result<Vec<String>, StepError> {
        let mut changed = Vec::new();
        let [kubelet, _] = artifacts::steps(&cx.cluster);
        for step in [Box::new(Fetched) as Box<dyn Step>, Box::new(kubelet)] {
            if runner::step(step.as_ref(), cx).await? {
                changed.push(step.name());
            }
        }
        Ok(changed)
    }

    #[tokio::test]
    async fn official_programs_are_fetched_once_and_installed() {
        let (dir, cx) = machine(2).await;
        let server = format!("{}/", cx.cluster.artifacts.mirrors["dl.k8s.io"]);
        assert_eq!(servers(&cx).await, [server].into());
        let State::Needed(planned) = Fetched.check(&cx).await.unwrap() else { panic!("nothing planned") };
        assert!(planned[0].starts_with("fetch bin/kubelet from http://127.0.0.1:"), "{planned:?}");
        assert_eq!(run(&cx).await.unwrap(), ["fetch", "kubelet-binary"]);
        assert_eq!(cx.files.read("/usr/bin/kubelet").unwrap().unwrap(), KUBELET.as_bytes());
        assert!(cx.journal.state().trees.contains_key(Path::new(FETCHED)), "reset removes it");
        // The server no longer answers.
        assert!(run(&cx).await.unwrap().is_empty(), "a second run changes nothing");
        assert!(servers(&cx).await.is_empty());
        assert_eq!(source::needed(&cx).unwrap(), [Path::new(FETCHED).join("bin/kubelet")]);

        std::fs::remove_file(dir.path().join("usr/bin/kubelet")).unwrap();
        let fetched = dir.path().join(FETCHED.trim_start_matches('/')).join("bin/kubelet");
        std::fs::write(&fetched, KUBELET.replace("echo", "Echo")).unwrap();
        let error = run(&cx).await.unwrap_err();
        assert!(error.to_string().contains("has the SHA-256"), "{error}");
        assert!(error.advice().unwrap().contains("remove"), "{:?}", error.advice());
    }

    #[tokio::test]
    async fn another_machine_does_not_fetch_what_is_lent_or_installed() {
        let worker = async || {
            let (dir, mut cx) = machine(0).await;
            Arc::make_mut(&mut cx.node).role = Role::Worker;
            (dir, cx)
        };
        let (_dir, cx) = worker().await;
        assert_eq!(missing(&cx).await.unwrap().len(), 1, "a self-joining machine fetches");
        cx.make_directory(Path::new("/usr/bin"), 0o755).await.unwrap();
        cx.files.write(&[NewFile::public("/usr/bin/kubelet", KUBELET)]).unwrap();
        assert_eq!(missing(&cx).await.unwrap().len(), 1, "nodeinit did not install this kubelet");
        cx.place(vec![NewFile::public("/usr/bin/kubelet", format!("{KUBELET}#"))]).await.unwrap();
        assert!(missing(&cx).await.unwrap().is_empty());
        an_older_one_is_fetched(&cx).await;
        assert_eq!(missing(&cx).await.unwrap().len(), 1, "it fetched an older one itself");

        let lent = Lent {
            addresses: Vec::new(),
            repository: String::new(),
            files: [("bin/kubelet".to_owned(), "1".repeat(64))].into(),
            images: [].into(),
        };
        let (_dir, cx) = worker().await;
        cx.place(vec![NewFile::private(LENT, serde_json::to_vec(&lent).unwrap())]).await.unwrap();
        assert!(missing(&cx).await.unwrap().is_empty());
        an_older_one_is_fetched(&cx).await;
        assert!(missing(&cx).await.unwrap().is_empty());
        assert!(source::lent(&cx, "bin/kubelet").unwrap().is_some(), "the older one is used");
    }

    async fn an_older_one_is_fetched(cx: &Context) {
        let digest = "1".repeat(64);
        let record = Record {
            name: "bin/kubelet".into(),
            source: "https://dl.k8s.io/another".into(),
            source_sha256: digest.clone(),
            sha256: digest,
            size: KUBELET.len() as u64,
        };
        cx.place(vec![NewFile::public(Path::new(FETCHED).join("bin/kubelet"), KUBELET)]).await.unwrap();
        Lock::read(&cx.files, Path::new(FETCHED)).unwrap().add(&cx.files, vec![record]).unwrap();
    }

    #[tokio::test]
    async fn a_program_without_a_known_source_is_an_error_with_the_exit_code_of_fetch() {
        let (_dir, mut cx) = machine(0).await;
        let cluster = Arc::make_mut(&mut cx.cluster);
        cluster.artifacts.binaries[0].to = "/usr/bin/mine".into();
        let error = Fetched.apply(&cx).await.unwrap_err();
        assert_eq!((error.exit, error.to_string().as_str()), (Exit::BadConfig, "not fetched: bin/kubelet"));
    }
}
