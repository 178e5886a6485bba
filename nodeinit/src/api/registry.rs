//! A registry on loopback that serves one image out of an archive, so that containerd pulls it by itself.
//!
//! `ctr images import` sends the archive through containerd's socket, piece by piece: that costs more processor time than
//! all else of an import together. A pull from here goes straight from the archive's pages to containerd's store.
//! Source: github.com/opencontainers/distribution-spec, "Pull".

use crate::{
    engine::journal::{hex, sha256},
    host::archive::ImageIndex,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The form of the manifest that is made here, as containerd makes it of the same archive.
pub const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE: &str = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar";

/// A client that says or takes nothing for so long is gone.
const LIMIT: Duration = Duration::from_secs(30);

/// More than any request has.
const LONGEST_REQUEST: u64 = 16 << 10;

/// The registry; it ends when this is dropped.
#[derive(Debug)]
pub struct Registry {
    address: SocketAddr,
    repository: String,
    manifest: Vec<u8>,
    config_digest: String,
    stop: Arc<AtomicBool>,
}

/// What is at a digest.
enum Blob {
    Bytes(Vec<u8>),
    Part { offset: u64, length: u64 },
}

struct Served {
    archive: PathBuf,
    repository: String,
    manifest: Vec<u8>,
    blobs: BTreeMap<String, Blob>,
}

impl Registry {
    /// Serves the image `index` of the file `archive`. Its name holds a random part: nobody else can ask for it.
    ///
    /// # Errors
    /// Where loopback cannot be listened on, or there is no randomness.
    pub fn serve(index: ImageIndex, archive: PathBuf) -> io::Result<Self> {
        let mut random = [0; 16];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random)
            .map_err(|_| io::Error::other("no randomness"))?;
        let repository = format!("nodeinit/{}", hex(&random));
        let manifest = manifest(&index);
        let mut blobs: BTreeMap<String, Blob> = index
            .layers
            .into_iter()
            .map(|layer| (layer.digest, Blob::Part { offset: layer.offset, length: layer.length }))
            .collect();
        let config_digest = format!("sha256:{}", sha256(&index.config));
        blobs.insert(config_digest.clone(), Blob::Bytes(index.config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let served = Arc::new(Served { archive, repository: repository.clone(), manifest: manifest.clone(), blobs });
        let stopped = stop.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let served = served.clone();
                // Whoever asked sees a broken connection by himself.
                std::thread::spawn(move || drop(served.answer(stream)));
            }
        });
        Ok(Self { address, repository, manifest, config_digest, stop })
    }

    /// The name by which containerd pulls the image.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{}/{}:import", self.address, self.repository)
    }

    /// The other name that containerd gives to what it pulled.
    #[must_use]
    pub fn reference_by_digest(&self) -> String {
        format!("{}/{}@{}", self.address, self.repository, self.digest())
    }

    /// The image's own id, under which containerd's CRI part keeps it as long as it has another name, and after: `sha256:`
    /// and the hex of its configuration's digest.
    #[must_use]
    pub fn image_id(&self) -> &str {
        &self.config_digest
    }

    /// The manifest's digest, `sha256:` and hex.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("sha256:{}", sha256(&self.manifest))
    }

    /// The manifest's length in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.manifest.len()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it sees this.
        let _ = TcpStream::connect(self.address);
    }
}

fn manifest(index: &ImageIndex) -> Vec<u8> {
    let layers: Vec<_> = index
        .layers
        .iter()
        .map(|layer| serde_json::json!({"mediaType": LAYER_TYPE, "size": layer.length, "digest": layer.digest}))
        .collect();
    let config = serde_json::json!({
        "mediaType": CONFIG_TYPE,
        "size": index.config.len(),
        "digest": format!("sha256:{}", sha256(&index.config)),
    });
    serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": layers})
        .to_string()
        .into_bytes()
}

impl Served {
    /// Answers one request.
    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        let mut lines = BufReader::new((&stream).take(LONGEST_REQUEST)).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default();
        let is_head = method == "HEAD";
        if path == "/v2/" {
            return head(&stream, "200 OK", "application/json", 0, "");
        }
        let known = path.strip_prefix("/v2/").and_then(|p| p.strip_prefix(self.repository.as_str()));
        let (kind, name) = known.and_then(|p| p.trim_start_matches('/').split_once('/')).unwrap_or_default();
        if kind == "manifests" {
            let digest = format!("sha256:{}", sha256(&self.manifest));
            head(&stream, "200 OK", MANIFEST_TYPE, self.manifest.len() as u64, &digest)?;
            return if is_head { Ok(()) } else { (&stream).write_all(&self.manifest) };
        }
        let Some(blob) = self.blobs.get(name).filter(|_| kind == "blobs") else {
            return head(&stream, "404 Not Found", "text/plain", 0, "");
        };
        let length = match blob {
            Blob::Bytes(bytes) => bytes.len() as u64,
            Blob::Part { length, .. } => *length,
        };
        head(&stream, "200 OK", "application/octet-stream", length, name)?;
        match blob {
            _ if is_head => Ok(()),
            Blob::Bytes(bytes) => (&stream).write_all(bytes),
            Blob::Part { offset, length } => {
                let mut file = File::open(&self.archive)?;
                file.seek(SeekFrom::Start(*offset))?;
                // Inside the kernel: from the file's pages to the socket.
                io::copy(&mut file.take(*length), &mut &stream).map(drop)
            }
        }
    }
}

fn head(mut stream: &TcpStream, status: &str, form: &str, length: u64, digest: &str) -> io::Result<()> {
    let digest = if digest.is_empty() { String::new() } else { format!("docker-content-digest: {digest}\r\n") };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {form}\r\ncontent-length: {length}\r\n{digest}connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::http,
        host::{
            archive::{index, testing::archive},
            files::Files,
        },
    };
    use http_body_util::BodyExt;
    use hyper::StatusCode;

    async fn get(url: &str) -> (StatusCode, Vec<u8>) {
        let answer = http::get(url, 0, &Files::of_machine()).await.unwrap();
        (answer.response.status(), answer.response.into_body().collect().await.unwrap().to_bytes().into())
    }

    #[tokio::test]
    async fn an_image_is_served_by_its_digests_to_those_who_know_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let layer = vec![7; 300_000];
        archive(&path, "registry.k8s.io/pause:3.10.1", &layer);
        let registry = Registry::serve(index(&path).unwrap().unwrap(), path).unwrap();
        let base = format!("http://{}/v2/{}", registry.address, registry.repository);
        let (status, manifest) = get(&format!("{base}/manifests/import")).await;
        assert_eq!((status, format!("sha256:{}", sha256(&manifest))), (StatusCode::OK, registry.digest()));
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let digest = manifest["layers"][0]["digest"].as_str().unwrap();
        assert_eq!(get(&format!("{base}/blobs/{digest}")).await, (StatusCode::OK, layer));
        let config = get(&format!("{base}/blobs/{}", manifest["config"]["digest"].as_str().unwrap())).await.1;
        assert_eq!(config.len() as u64, manifest["config"]["size"].as_u64().unwrap());
        let stranger = format!("http://{}/v2/nodeinit/0/manifests/import", registry.address);
        assert_eq!(get(&stranger).await.0, StatusCode::NOT_FOUND);
        let address = registry.address;
        drop(registry);
        std::thread::sleep(Duration::from_millis(100));
        assert!(TcpStream::connect(address).is_err(), "it ends when it is dropped");
    }
}
