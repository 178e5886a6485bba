//! A registry that serves images out of their archives, and programs as blobs.
//!
//! `ctr images import` sends an archive through containerd's socket, piece by piece: that costs more processor time than
//! all else of an import together. A pull from here goes straight from the archive's pages to containerd's store. The first
//! master lends the same registry to the other machines.
//! Source: github.com/opencontainers/distribution-spec, "Pull".

use crate::host::{archive::ImageIndex, section::Section};
use nodeinit_base::{hex, sha256_hex, sha256_of};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The form of the manifest that is made here, as containerd makes it of the same archive.
pub const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE: &str = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar";

/// A client must have sent its request after this time, so that silent ones do not keep others waiting.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// A client must take each [`PIECE`] within this time.
const PIECE_LIMIT: Duration = Duration::from_secs(30);

/// Content is sent in pieces of this size, in bytes.
const PIECE: u64 = 256 << 10;

/// More than any request has.
const LONGEST_REQUEST: u64 = 16 << 10;

/// What the name of each repository begins with; then come 32 random hexadecimal digits.
const FOLDER: &str = "nodeinit/";

/// The first byte of a TLS connection. Source: RFC 8446, 5.1.
const TLS_HANDSHAKE: u8 = 22;

/// The number of connections that are served at once; the others wait for their turn. Each holds two open files, and a third where it
/// comes through SSH: see [`crate::host::limits`].
const AT_ONCE: usize = 512;

/// The number of them that one other machine may hold; more are closed. One that joins needs about ten.
const OF_ONE_MACHINE: usize = 32;

/// The number of them that may come from this machine: all those that come through SSH. The rest is left to the others.
const FROM_HERE: usize = 384;

/// The registry; it ends when this is dropped.
#[derive(Debug)]
pub struct Registry {
    address: SocketAddr,
    repository: String,
    stop: Arc<AtomicBool>,
}

/// What a registry has.
#[derive(Debug, Default)]
pub struct Content {
    manifests: BTreeMap<String, Vec<u8>>,
    blobs: BTreeMap<String, Blob>,
}

/// How an image of a registry is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pull {
    /// The manifest's digest, `sha256:` and hex.
    pub manifest: String,
    /// The manifest's length in bytes.
    pub size: usize,
    /// The image's own id, under which containerd's CRI part keeps it as long as it has another name, and after: `sha256:`
    /// and the hex of its configuration's digest.
    pub image_id: String,
}

/// A file whose content is served.
#[derive(Debug)]
pub struct Served {
    section: Section,
    /// The digest that it must have, if one is pinned.
    pin: Option<[u8; 32]>,
    /// Whether it has that digest, once it was read.
    is_right: OnceLock<bool>,
}

/// What is at a digest.
#[derive(Debug)]
enum Blob {
    Bytes(Vec<u8>),
    Part { file: Arc<Served>, offset: u64, length: u64 },
}

struct Shared {
    repository: String,
    content: Content,
    busy: Busy,
}

/// Who is being served: a machine's address → its number of connections.
#[derive(Default)]
struct Busy {
    machines: Mutex<BTreeMap<IpAddr, usize>>,
    less: Condvar,
}

impl Served {
    /// A file, or a part of one; with `pin`, nothing of it is served unless it has that SHA-256.
    #[must_use]
    pub fn new(section: Section, pin: Option<[u8; 32]>) -> Arc<Self> {
        Arc::new(Self { section, pin, is_right: OnceLock::new() })
    }

    /// Reads the file when it is first asked for. One that cannot be read now may be read later.
    fn is_right(&self) -> io::Result<bool> {
        let (None, Some(pin)) = (self.is_right.get(), self.pin) else {
            return Ok(self.is_right.get().is_none_or(|known| *known));
        };
        let is_right = self.section.open().and_then(sha256_of)? == pin;
        Ok(*self.is_right.get_or_init(|| is_right))
    }
}

impl Content {
    /// Adds an image, whose layers are in `archive`.
    pub fn image(&mut self, index: ImageIndex, archive: &Arc<Served>) -> Pull {
        let manifest = manifest(&index);
        let layers = index.layers.into_iter().map(|layer| {
            let part = Blob::Part { file: archive.clone(), offset: layer.offset, length: layer.length };
            (layer.digest, part)
        });
        self.blobs.extend(layers);
        let image_id = format!("sha256:{}", sha256_hex(&index.config));
        self.blobs.insert(image_id.clone(), Blob::Bytes(index.config));
        let pull = Pull { manifest: format!("sha256:{}", sha256_hex(&manifest)), size: manifest.len(), image_id };
        self.manifests.insert(pull.manifest.clone(), manifest);
        pull
    }

    /// Adds all of `file` as the blob of its digest, in hex.
    pub fn file(&mut self, sha256: &str, file: &Arc<Served>) {
        let Section { offset, length, .. } = file.section;
        self.blobs.insert(format!("sha256:{sha256}"), Blob::Part { file: file.clone(), offset, length });
    }
}

impl Registry {
    /// Serves `content` at an address of this machine and a port of the kernel's choice. Its name holds a random part: nobody
    /// else can ask for it.
    ///
    /// # Errors
    /// Where the address cannot be listened on, or there is no randomness.
    pub fn serve(content: Content, at: IpAddr) -> io::Result<Self> {
        let mut random = [0; 16];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random)
            .map_err(|_| io::Error::other("no randomness"))?;
        let repository = format!("{FOLDER}{}", hex(&random));
        let listener = TcpListener::bind((at, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Shared { repository: repository.clone(), content, busy: Busy::default() });
        let stopped = stop.clone();
        std::thread::spawn(move || {
            loop {
                let accepted = listener.accept();
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Ok((stream, peer)) = accepted else {
                    // Too many open files, for instance.
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                };
                // Connections that come through SSH have the address of this machine.
                let limit = if peer.ip() == address.ip() { FROM_HERE } else { OF_ONE_MACHINE };
                if !shared.busy.enter(peer.ip(), limit) {
                    continue;
                }
                let shared = shared.clone();
                std::thread::spawn(move || {
                    // The client notices a broken connection.
                    let _ = shared.answer(stream);
                    shared.busy.leave(peer.ip());
                });
            }
        });
        Ok(Self { address, repository, stop })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The name of the repository that has everything.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }
}

impl Pull {
    /// The name by which containerd pulls the image from a registry at this address.
    #[must_use]
    pub fn reference(&self, address: SocketAddr, repository: &str) -> String {
        format!("{address}/{repository}:{}", self.manifest.trim_start_matches("sha256:"))
    }

    /// The other name that containerd gives to what it pulled.
    #[must_use]
    pub fn reference_by_digest(&self, address: SocketAddr, repository: &str) -> String {
        format!("{address}/{repository}@{}", self.manifest)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it sees this.
        let _ = TcpStream::connect(self.address);
    }
}

impl Busy {
    /// Waits until fewer than [`AT_ONCE`] connections are served, and counts one more of `machine`; false if it has `limit` already.
    fn enter(&self, machine: IpAddr, limit: usize) -> bool {
        let machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |machines: &mut BTreeMap<IpAddr, usize>| machines.values().sum::<usize>() >= AT_ONCE;
        let mut machines = self.less.wait_while(machines, is_full).unwrap_or_else(PoisonError::into_inner);
        let held = machines.entry(machine).or_default();
        if *held >= limit {
            return false;
        }
        *held += 1;
        true
    }

    fn leave(&self, machine: IpAddr) {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut held) = machines.entry(machine) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
        self.less.notify_all();
    }
}

/// Whether an image has a name that a pull from such a registry gives it for a moment.
#[must_use]
pub fn is_passing(image: &str) -> bool {
    let after_host = image.split_once('/').map_or("", |(_, path)| path);
    let random = after_host.strip_prefix(FOLDER).and_then(|rest| rest.split([':', '@']).next());
    random.is_some_and(|random| random.len() == 32 && random.bytes().all(|b| b.is_ascii_hexdigit()))
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
        "digest": format!("sha256:{}", sha256_hex(&index.config)),
    });
    serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": layers})
        .to_string()
        .into_bytes()
}

impl Shared {
    /// Answers one request.
    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PIECE_LIMIT))?;
        let Some(first) = request(&stream, REQUEST_LIMIT)? else {
            // containerd 2 tries TLS first, and goes on without it after this answer.
            return head(&stream, "400 Bad Request", "text/plain", 0, "");
        };
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default();
        let is_head = method == "HEAD";
        if path == "/v2/" {
            return head(&stream, "200 OK", "application/json", 0, "");
        }
        let known = path.strip_prefix("/v2/").and_then(|p| p.strip_prefix(self.repository.as_str()));
        match known.and_then(|p| p.trim_start_matches('/').split_once('/')) {
            Some(("manifests", name)) => self.manifest(&stream, name, is_head),
            Some(("blobs", digest)) => self.blob(&stream, digest, is_head),
            _ => missing(&stream),
        }
    }

    /// By its digest, or by the tag that has only the digest's hex.
    fn manifest(&self, mut stream: &TcpStream, name: &str, is_head: bool) -> io::Result<()> {
        let digest = format!("sha256:{}", name.trim_start_matches("sha256:"));
        let Some(manifest) = self.content.manifests.get(&digest) else { return missing(stream) };
        head(stream, "200 OK", MANIFEST_TYPE, manifest.len() as u64, &digest)?;
        if is_head { Ok(()) } else { stream.write_all(manifest) }
    }

    fn blob(&self, stream: &TcpStream, digest: &str, is_head: bool) -> io::Result<()> {
        let answer = |length| head(stream, "200 OK", "application/octet-stream", length, digest);
        match self.content.blobs.get(digest) {
            None => missing(stream),
            Some(Blob::Bytes(bytes)) => {
                answer(bytes.len() as u64)?;
                if is_head { Ok(()) } else { (&mut &*stream).write_all(bytes) }
            }
            Some(Blob::Part { file, offset, length }) => {
                match file.is_right().and_then(|is| Ok((is, File::open(&file.section.file)?))) {
                    Ok((true, mut content)) => {
                        answer(*length)?;
                        content.seek(SeekFrom::Start(*offset))?;
                        if is_head { Ok(()) } else { send(content, *length, stream, PIECE_LIMIT) }
                    }
                    Ok((false, _)) => missing(stream),
                    // Too many open files, for instance: the client asks again.
                    Err(_) => head(stream, "503 Service Unavailable", "text/plain", 0, ""),
                }
            }
        }
    }
}

/// A connection that can be read until a time.
struct Until<'a>(&'a TcpStream, Instant);

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.1.saturating_duration_since(Instant::now());
        // A limit of zero is an error of its own.
        self.0.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { self.0.read(buffer) }
    }
}

/// The first line of a client's request, all of which must come within `limit`; `None` if the client begins with TLS.
fn request(stream: &TcpStream, limit: Duration) -> io::Result<Option<String>> {
    stream.set_read_timeout(Some(limit))?;
    let end = Instant::now() + limit;
    if is_tls(stream)? {
        return Ok(None);
    }
    let mut lines = BufReader::new(Until(stream, end).take(LONGEST_REQUEST)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    Ok(Some(first))
}

/// Sends the next `length` bytes of a file; each [`PIECE`] must be gone within `limit`.
fn send(mut file: File, mut length: u64, mut stream: &TcpStream, limit: Duration) -> io::Result<()> {
    while length > 0 {
        let begun = Instant::now();
        // Inside the kernel: from the file's pages to the socket.
        let sent = io::copy(&mut Read::by_ref(&mut file).take(PIECE.min(length)), &mut stream)?;
        if sent == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if begun.elapsed() > limit {
            return Err(io::ErrorKind::TimedOut.into());
        }
        length -= sent;
    }
    Ok(())
}

/// Whether a client starts with TLS. Its bytes are read then: closing a socket with unread bytes would lose the answer.
fn is_tls(mut stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let is_tls = stream.peek(&mut first)? == 1 && first[0] == TLS_HANDSHAKE;
    Ok(is_tls && stream.read(&mut [0; 16 << 10])? > 0)
}

fn missing(stream: &TcpStream) -> io::Result<()> {
    head(stream, "404 Not Found", "text/plain", 0, "")
}

fn head(mut stream: &TcpStream, status: &str, form: &str, length: u64, digest: &str) -> io::Result<()> {
    let digest = if digest.is_empty() { String::new() } else { format!("docker-content-digest: {digest}\r\n") };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {form}\r\ncontent-length: {length}\r\n{digest}connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make what is served")]
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
    use std::net::Ipv4Addr;

    const IMAGE: &str = "registry.k8s.io/pause:3.10.1";

    async fn get(url: &str) -> (StatusCode, Vec<u8>) {
        let answer = http::Client::new(&Files::of_machine(), None).get(url, 0).await.unwrap();
        (answer.response.status(), answer.response.into_body().collect().await.unwrap().to_bytes().into())
    }

    #[tokio::test]
    async fn an_image_is_served_by_its_digests_to_those_who_know_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let layer = vec![7; 300_000];
        archive(&path, IMAGE, &layer);
        let mut content = Content::default();
        let pull = content.image(
            index(&Section::whole(path.clone()).unwrap()).unwrap().unwrap(),
            &Served::new(Section::whole(path.clone()).unwrap(), None),
        );
        let program = dir.path().join("kubelet");
        std::fs::write(&program, "program").unwrap();
        let digest_of_program = sha256_hex(b"program");
        content.file(&digest_of_program, &Served::new(Section::whole(program.clone()).unwrap(), None));
        let registry = Registry::serve(content, Ipv4Addr::LOCALHOST.into()).unwrap();
        let base = format!("http://{}/v2/{}", registry.address(), registry.repository());
        let (status, manifest) = get(&format!("{base}/manifests/{}", &pull.manifest[7..])).await;
        assert_eq!((status, format!("sha256:{}", sha256_hex(&manifest))), (StatusCode::OK, pull.manifest.clone()));
        assert_eq!(
            (manifest.len(), get(&format!("{base}/manifests/{}", pull.manifest)).await.1),
            (pull.size, manifest.clone())
        );
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["config"]["digest"], *pull.image_id);
        let digest = manifest["layers"][0]["digest"].as_str().unwrap();
        assert_eq!(get(&format!("{base}/blobs/{digest}")).await, (StatusCode::OK, layer));
        let config = get(&format!("{base}/blobs/{}", pull.image_id)).await.1;
        assert_eq!(config.len() as u64, manifest["config"]["size"].as_u64().unwrap());
        let program = get(&format!("{base}/blobs/sha256:{digest_of_program}")).await;
        assert_eq!(program, (StatusCode::OK, b"program".to_vec()));
        let address = registry.address();
        assert!(is_passing(&pull.reference(address, registry.repository())));
        assert!(is_passing(&pull.reference_by_digest(address, registry.repository())));
        for lasting in [&*pull.image_id, IMAGE, "example.org/nodeinit/tool:v1", "nodeinit/tool"] {
            assert!(!is_passing(lasting), "{lasting}");
        }
        let stranger = format!("http://{}/v2/nodeinit/0/manifests/{}", registry.address(), pull.manifest);
        assert_eq!(get(&stranger).await.0, StatusCode::NOT_FOUND);
        drop(registry);
        std::thread::sleep(Duration::from_millis(100));
        assert!(TcpStream::connect(address).is_err(), "it ends when it is dropped");
    }

    #[test]
    fn tls_is_answered_in_plain_text() {
        let registry = Registry::serve(Content::default(), Ipv4Addr::LOCALHOST.into()).unwrap();
        let mut stream = TcpStream::connect(registry.address()).unwrap();
        stream.write_all(&[&[TLS_HANDSHAKE, 3, 1, 2, 0][..], &[7; 512]].concat()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }

    /// Both ends of a connection.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn a_request_that_does_not_end_in_time_is_given_up() {
        let limit = Duration::from_millis(200);
        let (mut client, server) = connection();
        client.write_all(b"GET /v2/ HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        assert_eq!(request(&server, limit).unwrap().unwrap(), "GET /v2/ HTTP/1.1");
        let (silent, server) = connection();
        assert!(request(&server, limit).is_err());
        drop(silent);
        let (mut slow, server) = connection();
        let slow = std::thread::spawn(move || {
            while slow.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert!(request(&server, limit).is_err());
        drop(server);
        slow.join().unwrap();
    }

    #[test]
    fn a_client_that_takes_little_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("layer");
        // More than both ends of a connection on loopback buffer.
        let length = 64 << 20;
        File::create(&path).unwrap().set_len(length).unwrap();
        let limit = Duration::from_millis(300);
        let begun = Instant::now();
        let (mut slow, server) = connection();
        server.set_write_timeout(Some(limit)).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let slow = std::thread::spawn(move || {
            let mut buffer = [0; 8 << 10];
            while slow.read(&mut buffer).is_ok_and(|read| read > 0) && !over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        assert!(send(File::open(&path).unwrap(), length, &server, limit).is_err());
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        is_over.store(true, Ordering::SeqCst);
        slow.join().unwrap();
    }

    /// Connects from an address of loopback, as another machine would.
    fn connect_from(machine: [u8; 4], to: SocketAddr) -> TcpStream {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
        use std::os::fd::AsRawFd;
        let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
        let [a, b, c, d] = machine;
        bind(fd.as_raw_fd(), &SockaddrIn::new(a, b, c, d, 0)).unwrap();
        let SocketAddr::V4(to) = to else { panic!("not IPv4: {to}") };
        connect(fd.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
        fd.into()
    }

    #[test]
    fn one_machine_cannot_keep_the_others_waiting() {
        let registry = Registry::serve(Content::default(), Ipv4Addr::LOCALHOST.into()).unwrap();
        let silent: Vec<_> = (0..600).map(|_| connect_from([127, 0, 0, 66], registry.address())).collect();
        let begun = Instant::now();
        let mut stream = connect_from([127, 0, 0, 2], registry.address());
        stream.write_all(b"GET /v2/ HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(begun.elapsed() < REQUEST_LIMIT / 2, "{:?}", begun.elapsed());
        drop(silent);
    }

    /// Resident memory of this process, in kB.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn fifty_machines_are_served_at_once_with_little_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("layer");
        let length = 8 << 20;
        std::fs::write(&path, vec![7; length]).unwrap();
        let digest = "a".repeat(64);
        let mut content = Content::default();
        content.file(&digest, &Served::new(Section::whole(path).unwrap(), None));
        let registry = Registry::serve(content, Ipv4Addr::LOCALHOST.into()).unwrap();
        let request = format!("GET /v2/{}/blobs/sha256:{digest} HTTP/1.1\r\n\r\n", registry.repository()).into_bytes();
        let begun = resident();
        // All have begun before any goes on, so all are served at once.
        let mut streams: Vec<_> =
            (0..200u16).map(|i| connect_from([127, 0, 1, (i % 50 + 1) as u8], registry.address())).collect();
        for stream in &mut streams {
            stream.write_all(&request).unwrap();
            stream.read_exact(&mut [0; 12]).unwrap();
        }
        let grown = resident().saturating_sub(begun);
        for stream in streams {
            let got = io::copy(&mut BufReader::new(stream), &mut io::sink()).unwrap();
            assert!(got > length as u64, "{got}");
        }
        assert!(grown < 16 << 10, "{grown} kB");
    }

    #[tokio::test]
    async fn nothing_is_served_of_a_file_that_is_not_the_pinned_one() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("kubelet");
        std::fs::write(&program, "another").unwrap();
        let wanted = sha256_hex(b"program");
        let mut content = Content::default();
        content.file(
            &wanted,
            &Served::new(Section::whole(program.clone()).unwrap(), nodeinit_config::format::digest(&wanted)),
        );
        let registry = Registry::serve(content, Ipv4Addr::LOCALHOST.into()).unwrap();
        let url = format!("http://{}/v2/{}/blobs/sha256:{wanted}", registry.address(), registry.repository());
        assert_eq!(get(&url).await.0, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_now_is_served_later() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("kubelet");
        std::fs::write(&program, "program").unwrap();
        let wanted = sha256_hex(b"program");
        let mut content = Content::default();
        let served = Served::new(Section::whole(program.clone()).unwrap(), nodeinit_config::format::digest(&wanted));
        content.file(&wanted, &served);
        let registry = Registry::serve(content, Ipv4Addr::LOCALHOST.into()).unwrap();
        let url = format!("http://{}/v2/{}/blobs/sha256:{wanted}", registry.address(), registry.repository());
        let aside = dir.path().join("aside");
        std::fs::rename(&program, &aside).unwrap();
        assert_eq!(get(&url).await.0, StatusCode::SERVICE_UNAVAILABLE);
        std::fs::rename(&aside, &program).unwrap();
        assert_eq!(get(&url).await, (StatusCode::OK, b"program".to_vec()));
    }
}
