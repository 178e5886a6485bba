//! The container runtime, asked over its CRI socket: what runs, what ended and why, and the removal of pods.
//!
//! The messages are in `proto/`.

use super::grpc;
use bytes::Bytes;
use hyper::{client::conn::http2, http::uri::PathAndQuery};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nodeinit_base::{Wait, WaitError};
use prost::Message;
use std::{error::Error, io, ops::ControlFlow, path::PathBuf, time::Duration};
use tokio::net::UnixStream;
use tonic::{Request, client::Grpc, metadata::MetadataValue};

/// containerd's socket.
pub const SOCKET: &str = "/run/containerd/containerd.sock";

/// The label by which the kubelet names a container's namespace.
const NAMESPACE_LABEL: &str = "io.kubernetes.pod.namespace";

/// The label by which the kubelet names the UID of a container's pod.
const UID_LABEL: &str = "io.kubernetes.pod.uid";

/// containerd's own service of images.
const IMAGES: &str = "containerd.services.images.v1.Images";

/// The longest answer that is read. Source: `k8s.io/cri-client/pkg/utils.go`, `maxMsgSize`.
const LONGEST: usize = 16 << 20;

/// What containerd answers to every call while its CRI plugin starts, and how long that is waited for.
/// Source: `internal/cri/instrument`, `checkInitialized`.
const STARTING: &str = "server is not initialized yet";
const START_LIMIT: Duration = Duration::from_secs(30);

/// Why the runtime gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CriError {
    /// Nobody listens on the socket.
    #[error("cannot reach the container runtime at {}: {source}", .socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the container runtime did not answer {call}: {}", .source.message())]
    Exchange {
        /// The call's name.
        call: &'static str,
        /// Why.
        source: Box<tonic::Status>,
    },
    /// The runtime refused, or its answer cannot be read.
    #[error("the container runtime refused {call}: {message}")]
    Refused {
        /// The call's name.
        call: &'static str,
        /// Its own words.
        message: String,
    },
    /// No answer in time.
    #[error("the container runtime did not answer {call} within {} s", .limit.as_secs())]
    TimedOut {
        /// The call's name.
        call: &'static str,
        /// How long it was given.
        limit: Duration,
    },
    /// It does not finish starting.
    #[error(transparent)]
    Starting(#[from] WaitError),
}

/// The state of a container, as the CRI numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Made, not started.
    Created,
    /// Running.
    Running,
    /// Ended.
    Exited,
    /// The runtime does not know.
    Unknown,
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The runtime's id.
    pub id: String,
    /// Its name in the pod.
    pub name: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's UID, which names its directory below `/var/lib/kubelet/pods`.
    pub pod_uid: String,
    /// How often the kubelet has restarted it.
    pub attempt: u32,
    /// What it does.
    pub state: ContainerState,
    /// When it was made, nanoseconds since 1970.
    pub created: i64,
}

/// What a pod's containers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// The runtime's id.
    pub id: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's namespace.
    pub namespace: String,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Its exit code.
    pub exit_code: i32,
    /// For instance `Error` or `OOMKilled`.
    pub reason: String,
    /// The runtime's words, where there are some.
    pub message: String,
    /// When it ended, nanoseconds since 1970.
    pub finished: i64,
    /// Its log file on this machine.
    pub log: PathBuf,
}

/// What an image of containerd's stands for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The form of its manifest.
    pub media_type: &'a str,
    /// The manifest's digest, `sha256:` and hex.
    pub digest: &'a str,
    /// The manifest's length in bytes.
    pub size: usize,
}

/// A connection to the container runtime.
pub struct Cri {
    client: Grpc<grpc::Channel>,
}

impl Cri {
    /// Connects to the socket.
    ///
    /// # Errors
    /// [`CriError`] where nobody answers on it.
    pub async fn connect(socket: impl Into<PathBuf>) -> Result<Self, CriError> {
        let socket = socket.into();
        let stream = UnixStream::connect(&socket)
            .await
            .map_err(|source| CriError::Connect { socket: socket.clone(), source })?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|e| broke("the handshake", tonic::Status::from_error(e.into())))?;
        // Ends by itself when the sender is gone or the connection breaks; the sender reports that.
        tokio::spawn(connection);
        let channel = grpc::channel(sender, "http", "localhost".to_owned());
        Ok(Self { client: Grpc::new(channel).max_decoding_message_size(LONGEST) })
    }

    /// All containers, running or not.
    ///
    /// # Errors
    /// [`CriError`].
    pub async fn containers(&self) -> Result<Vec<Container>, CriError> {
        let request = wire::ListContainersRequest {};
        let answer: wire::ListContainersResponse =
            self.call("ListContainers", &request, Duration::from_secs(10)).await?;
        Ok(answer.containers.into_iter().map(container).collect())
    }

    /// How a container ended, or runs.
    ///
    /// # Errors
    /// [`CriError`], also where there is no such container.
    pub async fn container_status(&self, id: &str) -> Result<Ending, CriError> {
        let request = wire::ContainerStatusRequest { container_id: id.into() };
        let answer: wire::ContainerStatusResponse =
            self.call("ContainerStatus", &request, Duration::from_secs(10)).await?;
        let status = answer.status.unwrap_or_default();
        Ok(Ending {
            exit_code: status.exit_code,
            reason: status.reason,
            message: status.message,
            finished: status.finished_at,
            log: status.log_path.into(),
        })
    }

    /// Ends a container at once. The kubelet starts another where the pod is to run.
    ///
    /// # Errors
    /// [`CriError`].
    pub async fn kill_container(&self, id: &str) -> Result<(), CriError> {
        // Without a time limit of its own it is not asked to end first.
        let request = wire::StopContainerRequest { container_id: id.into() };
        self.call("StopContainer", &request, Duration::from_secs(30)).await
    }

    /// All pods' sandboxes, running or not.
    ///
    /// # Errors
    /// [`CriError`].
    pub async fn sandboxes(&self) -> Result<Vec<Sandbox>, CriError> {
        let request = wire::ListPodSandboxRequest {};
        let answer: wire::ListPodSandboxResponse =
            self.call("ListPodSandbox", &request, Duration::from_secs(10)).await?;
        Ok(answer.items.into_iter().map(sandbox).collect())
    }

    /// Stops a pod's containers and network, then removes them.
    ///
    /// # Errors
    /// [`CriError`].
    pub async fn remove_sandbox(&self, id: &str) -> Result<(), CriError> {
        let limit = Duration::from_secs(60);
        let request = wire::StopPodSandboxRequest { pod_sandbox_id: id.into() };
        self.call::<()>("StopPodSandbox", &request, limit).await?;
        let request = wire::RemovePodSandboxRequest { pod_sandbox_id: id.into() };
        self.call("RemovePodSandbox", &request, limit).await
    }

    /// The runtime's name and version, such as `containerd` and `1.6.20`.
    ///
    /// # Errors
    /// [`CriError`].
    pub async fn version(&self) -> Result<(String, String), CriError> {
        let request = wire::VersionRequest {};
        let answer: wire::VersionResponse = self.call("Version", &request, Duration::from_secs(5)).await?;
        Ok((answer.runtime_name, answer.runtime_version))
    }

    /// containerd's configuration as its CRI plugin uses it; `null` where the runtime does not tell.
    ///
    /// # Errors
    /// [`CriError`].
    pub async fn config(&self) -> Result<serde_json::Value, CriError> {
        let request = wire::StatusRequest { verbose: true };
        let answer: wire::StatusResponse = self.call("Status", &request, Duration::from_secs(5)).await?;
        Ok(answer.info.get("config").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default())
    }

    /// Lets the runtime pull an image, and unpack it.
    ///
    /// # Errors
    /// [`CriError`]; within `limit` also where it is not done.
    pub async fn pull_image(&self, name: &str, limit: Duration) -> Result<(), CriError> {
        let request = wire::PullImageRequest { image: Some(wire::ImageSpec { image: name.into() }) };
        self.call_of("runtime.v1.ImageService", "PullImage", &request, limit).await
    }

    /// Gives containerd's image with this manifest another name.
    ///
    /// # Errors
    /// [`CriError`], also where there is an image of this name.
    pub async fn name_image(&self, name: &str, manifest: Target<'_>) -> Result<(), CriError> {
        let target = images::Descriptor {
            media_type: manifest.media_type.into(),
            digest: manifest.digest.into(),
            size: i64::try_from(manifest.size).unwrap_or(i64::MAX),
        };
        let image = images::Image { name: name.into(), target: Some(target) };
        let request = images::CreateImageRequest { image: Some(image) };
        self.call_of(IMAGES, "Create", &request, Duration::from_secs(10)).await
    }

    /// Takes a name from an image of containerd's; its content stays while it has another.
    ///
    /// # Errors
    /// [`CriError`], also where there is no such image.
    pub async fn forget_image(&self, name: &str) -> Result<(), CriError> {
        let request = images::DeleteImageRequest { name: name.into() };
        self.call_of(IMAGES, "Delete", &request, Duration::from_secs(10)).await
    }

    async fn call<A: Message + Default>(
        &self,
        call: &'static str,
        request: &impl Message,
        limit: Duration,
    ) -> Result<A, CriError> {
        self.call_of("runtime.v1.RuntimeService", call, request, limit).await
    }

    async fn call_of<A: Message + Default>(
        &self,
        service: &'static str,
        call: &'static str,
        request: &impl Message,
        limit: Duration,
    ) -> Result<A, CriError> {
        let answer = self.exchange(service, call, request.encode_to_vec().into(), limit).await?;
        A::decode(answer).map_err(|e| CriError::Refused { call, message: e.to_string() })
    }

    async fn exchange(
        &self,
        service: &'static str,
        call: &'static str,
        request: Bytes,
        limit: Duration,
    ) -> Result<Bytes, CriError> {
        // The call has its own limit once the plugin has started.
        let wait = Wait::new("the start of containerd's CRI plugin", START_LIMIT + limit);
        wait.until(async || match self.call_once(service, call, request.clone(), limit).await {
            Err(CriError::Refused { message, .. }) if message.ends_with(STARTING) => ControlFlow::Continue(message),
            answer => ControlFlow::Break(answer),
        })
        .await?
    }

    async fn call_once(
        &self,
        service: &'static str,
        call: &'static str,
        request: Bytes,
        limit: Duration,
    ) -> Result<Bytes, CriError> {
        let path = PathAndQuery::try_from(format!("/{service}/{call}"))
            .map_err(|e| CriError::Refused { call, message: e.to_string() })?;
        let mut request = Request::new(request);
        request.metadata_mut().insert("containerd-namespace", MetadataValue::from_static("k8s.io"));
        let mut client = self.client.clone();
        let exchange = async {
            client.ready().await.map_err(tonic::Status::from_error)?;
            client.unary(request, path, grpc::Encoded).await
        };
        let answer = tokio::time::timeout(limit, exchange).await.map_err(|_| CriError::TimedOut { call, limit })?;
        answer.map(tonic::Response::into_inner).map_err(|status| broke(call, status))
    }
}

/// What the runtime itself says has no source; a broken connection has.
fn broke(call: &'static str, status: tonic::Status) -> CriError {
    if status.source().is_some() {
        return CriError::Exchange { call, source: Box::new(status) };
    }
    CriError::Refused { call, message: format!("{:?}: {}", status.code(), status.message()) }
}

fn container(wire: wire::Container) -> Container {
    let metadata = wire.metadata.unwrap_or_default();
    Container {
        id: wire.id,
        name: metadata.name,
        namespace: wire.labels.get(NAMESPACE_LABEL).cloned().unwrap_or_default(),
        pod_uid: wire.labels.get(UID_LABEL).cloned().unwrap_or_default(),
        attempt: metadata.attempt,
        state: match wire::ContainerState::try_from(wire.state) {
            Ok(wire::ContainerState::ContainerCreated) => ContainerState::Created,
            Ok(wire::ContainerState::ContainerRunning) => ContainerState::Running,
            Ok(wire::ContainerState::ContainerExited) => ContainerState::Exited,
            Ok(wire::ContainerState::ContainerUnknown) | Err(_) => ContainerState::Unknown,
        },
        created: wire.created_at,
    }
}

fn sandbox(wire: wire::PodSandbox) -> Sandbox {
    let metadata = wire.metadata.unwrap_or_default();
    Sandbox { id: wire.id, pod: metadata.name, namespace: metadata.namespace }
}

/// The messages of `proto/cri.proto`, as `build.rs` makes them.
#[allow(clippy::enum_variant_names, dead_code, unreachable_pub, reason = "generated")]
mod wire {
    include!(concat!(env!("OUT_DIR"), "/runtime.v1.rs"));
}

/// The messages of `proto/images.proto`, as `build.rs` makes them.
#[allow(unreachable_pub, reason = "generated")]
mod images {
    include!(concat!(env!("OUT_DIR"), "/containerd.services.images.v1.rs"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};
    use hyper::{HeaderMap, Response, header::HeaderValue, server, service::service_fn};
    use std::{
        convert::Infallible,
        future::ready,
        sync::atomic::{AtomicUsize, Ordering},
    };
    use tokio::net::UnixListener;

    /// Answers as containerd does: refuses all calls before `started`, then says its version.
    async fn serve(listener: UnixListener, started: usize) {
        let asked = AtomicUsize::new(0);
        let service = service_fn(|_| {
            let starts = asked.fetch_add(1, Ordering::Relaxed) < started;
            let version = wire::VersionResponse { runtime_name: "containerd".into(), runtime_version: "2.4.2".into() };
            let message = if starts { Vec::new() } else { version.encode_to_vec() };
            let length = u32::try_from(message.len()).unwrap().to_be_bytes();
            let frame = if starts { Bytes::new() } else { [&[0], &length[..], &message].concat().into() };
            let mut head = HeaderMap::new();
            head.insert("grpc-status", HeaderValue::from_static(if starts { "2" } else { "0" }));
            head.insert("grpc-message", HeaderValue::from_static(if starts { STARTING } else { "" }));
            let trailers = Some(Ok::<_, Infallible>(head));
            let mut response = Response::new(Full::new(frame).with_trailers(ready(trailers)));
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
            ready(Ok::<_, Infallible>(response))
        });
        let (stream, _) = listener.accept().await.unwrap();
        let _ = server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_runtime_that_starts_is_asked_again() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("containerd.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let ask = async { Cri::connect(&socket).await.unwrap().version().await.unwrap() };
        let version = tokio::select! {
            version = ask => version,
            () = serve(listener, 3) => panic!("the connection ended"),
        };
        assert_eq!(version, ("containerd".to_owned(), "2.4.2".to_owned()));
    }
}
