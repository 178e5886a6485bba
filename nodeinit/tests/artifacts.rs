//! Tests `artifacts list`, `artifacts fetch` and bundles as a user calls them, against servers on loopback with scripted faults.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test panics on an unexpected value")]

use flate2::{Compression, write::GzEncoder};
use nodeinit::{Section, image_index};
use nodeinit_base::{hex, sha256_hex};
use nodeinit_config::{Layer, upstream::Source};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

const IMAGE: &str = "registry.k8s.io/pause:3.10.1";

struct Request {
    path: String,
    headers: BTreeMap<String, String>,
}

/// What a server does with a request.
enum Act {
    /// Serves the file, including ranges.
    Serve,
    /// Serves only the start of the file, although more is announced; then waits for this time.
    Cut(usize, Duration),
    /// Sends a status with further headers and a body.
    Status(&'static str, String, Vec<u8>),
}

type Rule = dyn Fn(&Request) -> Act + Send + Sync;

/// A server of files.
struct Server {
    address: SocketAddr,
    /// `path range authorization` of each request.
    asked: Arc<Mutex<Vec<String>>>,
}

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

fn serve(
    files: &Files,
    tls: Option<Arc<rustls::ServerConfig>>,
    rule: impl Fn(&Request) -> Act + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (files, log, rule): (Files, _, Arc<Rule>) = (files.clone(), asked.clone(), Arc::new(rule));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (files, log, rule, tls) = (files.clone(), log.clone(), rule.clone(), tls.clone());
            // Some tests close the client.
            thread::spawn(move || match tls {
                None => drop(answer(stream, &files, &log, &*rule)),
                Some(tls) => {
                    let connection = rustls::ServerConnection::new(tls).unwrap();
                    drop(answer(rustls::StreamOwned::new(connection, stream), &files, &log, &*rule));
                }
            });
        }
    });
    Server { address, asked }
}

fn head(stream: &mut impl Read) -> io::Result<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let first = lines.next().ok_or(io::ErrorKind::UnexpectedEof)?;
    let headers =
        lines.filter_map(|line| Some((line.split_once(": ")?.0.to_lowercase(), line.split_once(": ")?.1.to_owned())));
    Ok(Request { headers: headers.collect(), path: first.split(' ').nth(1).unwrap_or_default().to_owned() })
}

fn answer(mut stream: impl Read + Write, files: &Files, log: &Mutex<Vec<String>>, rule: &Rule) -> io::Result<()> {
    let request = head(&mut stream)?;
    let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
    log.lock().unwrap().push(format!("{} {} {}", request.path, header("range"), header("authorization")));
    let act = rule(&request);
    if let Act::Status(status, headers, body) = act {
        write!(stream, "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len())?;
        return stream.write_all(&body).and_then(|()| stream.flush());
    }
    let Some(content) = files.lock().unwrap().get(&request.path).cloned() else {
        return write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    };
    let from: usize = header("range").trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0);
    let rest = &content[from.min(content.len())..];
    match from {
        0 => write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", rest.len())?,
        _ => write!(
            stream,
            "HTTP/1.1 206 Partial\r\ncontent-length: {}\r\ncontent-range: bytes {from}-{}/{}\r\nconnection: close\r\n\r\n",
            rest.len(),
            content.len() - 1,
            content.len()
        )?,
    }
    match act {
        Act::Cut(length, wait) => {
            stream.write_all(&rest[..length.min(rest.len())])?;
            stream.flush()?;
            thread::sleep(wait);
        }
        _ => stream.write_all(rest).and_then(|()| stream.flush())?,
    }
    Ok(())
}

impl Server {
    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn asked(&self, part: &str) -> Vec<String> {
        self.asked.lock().unwrap().iter().filter(|line| line.contains(part)).cloned().collect()
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(content).unwrap();
    gzip.finish().unwrap()
}

fn kubelet() -> Vec<u8> {
    (0..300_000u32).flat_map(u32::to_le_bytes).collect()
}

/// Returns the files of upstream: a kubelet, the CNI plugins, and the pause image in a list for two platforms.
fn upstream() -> Files {
    let mut files = BTreeMap::new();
    let wanted = nodeinit_config::load(&[Layer::file("c", config(""))]).unwrap().cluster.upstream("amd64");
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in [("./LICENSE", "text"), ("./bridge", "bridge"), ("./loopback", "loopback")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    let plugins = gzip(&tar.into_inner().unwrap());
    for artifact in wanted {
        let Source::File(file) = artifact.source else { continue };
        let path = |url: &str| format!("/{}", url.splitn(4, '/').nth(3).unwrap());
        let content = if file.member.is_some() { plugins.clone() } else { kubelet() };
        files.insert(path(&file.checksum), format!("{}\n", sha256_hex(&content)).into_bytes());
        files.insert(path(&file.official), content);
    }
    add_image(&mut files, b"layer");
    Arc::new(Mutex::new(files))
}

/// Adds an image whose second layer is `content` under the tag of pause.
fn add_image(files: &mut BTreeMap<String, Vec<u8>>, content: &[u8]) {
    let digest = |bytes: &[u8]| format!("sha256:{}", sha256_hex(bytes));
    let layers = [vec![1; 200_000], content.to_vec()];
    let blobs = layers.each_ref().map(|layer| gzip(layer));
    let ids = layers.each_ref().map(|layer| digest(layer));
    let config = json!({"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": ids}});
    let config = config.to_string().into_bytes();
    let layers: Vec<Value> = blobs.iter().map(|blob| json!({"digest": digest(blob), "size": blob.len()})).collect();
    let manifest = json!({"schemaVersion": 2, "config": {"digest": digest(&config)}, "layers": layers}).to_string();
    let child =
        |arch: &str, digest: String| json!({"digest": digest, "platform": {"os": "linux", "architecture": arch}});
    let list = json!({"manifests": [child("arm64", "sha256:0".into()), child("amd64", digest(manifest.as_bytes()))]});
    for blob in blobs.iter().chain([&config]) {
        files.insert(format!("/v2/pause/blobs/{}", digest(blob)), blob.clone());
    }
    files.insert(format!("/v2/pause/manifests/{}", digest(manifest.as_bytes())), manifest.into_bytes());
    files.insert("/v2/pause/manifests/3.10.1".into(), list.to_string().into_bytes());
}

fn config(more: &str) -> String {
    format!(
        "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: v1.34.4}}\ncontainerRuntime: {{manage: false}}\nartifacts:\n  source: /opt/k8s\n  \
         binaries:\n  - {{path: bin/kubelet, to: /usr/bin/kubelet}}\n  - {{path: bin/bridge, to: /opt/cni/bin/bridge}}\n  \
         - {{path: bin/loopback, to: /opt/cni/bin/loopback}}\n  images: [{{path: images/pause.tar, image: \"{IMAGE}\"}}]\n{more}"
    )
}

/// An operator's directory with a configuration that sets `server` as the mirror for everything.
struct Operator {
    dir: tempfile::TempDir,
}

impl Operator {
    fn new(server: &str, more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mirrors =
            ["dl.k8s.io", "github.com", "registry.k8s.io"].map(|host| format!("    {host}: {server}\n")).concat();
        fs::write(dir.path().join("c.yaml"), config(&format!("  mirrors:\n{mirrors}{more}"))).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("to").join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.artifacts(&[&["fetch", "--to", "to", "--config", "c.yaml"], arguments].concat())
    }

    fn artifacts(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nodeinit"));
        command.arg("artifacts").args(arguments);
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        command
    }

    /// Returns the exit code and the output.
    fn run(&self, mut command: Command) -> (i32, String) {
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    fn fetch(&self) -> (i32, String) {
        self.run(self.command(&[]))
    }

    /// Bundles the fetched files to `b.tar`.
    fn bundle(&self, arguments: &[&str]) -> (i32, String) {
        let bundle = ["bundle", "--output", "b.tar", "--from", "to", "--config", "c.yaml"];
        self.run(self.artifacts(&[&bundle, arguments].concat()))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Creates a key with OpenSSH, at `name` and `name.pub`; returns its fingerprint.
    fn key(&self, name: &str, passphrase: &str) -> String {
        let keygen = |arguments: &[&str]| {
            let output = Command::new("ssh-keygen").args(arguments).current_dir(self.dir.path()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        keygen(&["-q", "-t", "ed25519", "-N", passphrase, "-f", name]);
        keygen(&["-l", "-f", name]).split(' ').nth(1).unwrap().to_owned()
    }

    fn layers(&self) -> [Layer; 2] {
        let layer = |path: PathBuf| Layer::file(path.display().to_string(), fs::read(&path).unwrap());
        [layer(self.dir.path().join("c.yaml")), layer(self.path("artifacts.yaml"))]
    }
}

#[test]
fn a_fetched_directory_serves_as_the_source_and_is_not_fetched_again() {
    let server = serve(&upstream(), None, |_| Act::Serve);
    let operator = Operator::new(&server.url(), "");
    let (exit, out) = operator.fetch();
    assert!(exit == 0 && out.contains("artifacts.yaml"), "{out}");
    assert_eq!(fs::read(operator.path("bin/kubelet")).unwrap(), kubelet());
    assert_eq!(fs::read(operator.path("bin/bridge")).unwrap(), b"bridge");
    assert_eq!(operator.path("bin/kubelet").metadata().unwrap().mode() & 0o777, 0o755);
    let sums = fs::read_to_string(operator.path("SHA256SUMS")).unwrap();
    assert!(sums.contains(&format!("{}  bin/kubelet\n", sha256_hex(&kubelet()))), "{sums}");
    let image = image_index(&Section::whole(operator.path("images/pause.tar")).unwrap()).unwrap().unwrap();
    assert_eq!((image.names, image.layers.len()), (vec![IMAGE.to_owned()], 2));
    assert!(!operator.path(".downloads").exists());
    assert_eq!(server.asked(".tgz ").len(), 1, "an archive is fetched once for all its members");
    let cluster = nodeinit_config::load(&operator.layers()).unwrap_or_else(|p| panic!("{p}")).cluster;
    let pinned = cluster.artifacts.binaries[0].sha256.map(|digest| hex(&digest));
    assert_eq!(pinned, Some(sha256_hex(&kubelet())));
    let lock = fs::read_to_string(operator.path("artifacts.lock")).unwrap();
    assert!(lock.contains("https://dl.k8s.io/release/v1.34.4/") && lock.contains(IMAGE), "official sources: {lock}");
    let requests = server.asked("").len();
    assert_eq!(operator.fetch().0, 0);
    assert_eq!(server.asked("").len(), requests, "nothing is requested again");
    fs::write(operator.path("bin/loopback"), "damaged").unwrap();
    assert_eq!(operator.fetch().0, 0);
    assert_eq!(fs::read(operator.path("bin/loopback")).unwrap(), b"loopback");
}

#[test]
fn a_cut_connection_is_resumed() {
    let tries = Mutex::new(0);
    let server = serve(&upstream(), None, move |request| {
        let mut tries = tries.lock().unwrap();
        *tries += u32::from(request.path.ends_with("/kubelet"));
        match *tries {
            1 if request.path.ends_with("/kubelet") => Act::Cut(500_000, Duration::ZERO),
            _ => Act::Serve,
        }
    });
    let operator = Operator::new(&server.url(), "");
    let (exit, out) = operator.fetch();
    assert!(exit == 0 && out.contains("trying again"), "{out}");
    assert_eq!(fs::read(operator.path("bin/kubelet")).unwrap(), kubelet());
    assert!(server.asked("/kubelet ")[1].contains("bytes=500000-"), "{:?}", server.asked("/kubelet "));
}

#[test]
fn a_killed_fetch_is_resumed() {
    let files = upstream();
    let slow = serve(&files, None, |request| match request.path.ends_with("/kubelet") {
        true => Act::Cut(700_000, Duration::from_secs(60)),
        false => Act::Serve,
    });
    let operator = Operator::new(&slow.url(), "");
    let mut child = operator.command(&[]).stdout(Stdio::null()).spawn().unwrap();
    let part = operator.path(&format!(".downloads/{}.part", sha256_hex(&kubelet())));
    let started = Instant::now();
    while part.metadata().map_or(0, |m| m.len()) < 700_000 {
        assert!(started.elapsed() < Duration::from_secs(30), "no part came");
        thread::sleep(Duration::from_millis(20));
    }
    let (exit, out) = operator.fetch();
    assert!(exit == 75 && out.contains(&format!("process {}", child.id())), "one fetch at a time: {exit} {out}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!operator.path("bin/kubelet").exists());
    let server = serve(&files, None, |_| Act::Serve);
    let text = fs::read_to_string(operator.dir.path().join("c.yaml")).unwrap().replace(&slow.url(), &server.url());
    fs::write(operator.dir.path().join("c.yaml"), text).unwrap();
    assert_eq!(operator.fetch().0, 0);
    assert_eq!(server.asked("/kubelet ").len(), 1);
    assert!(server.asked("/kubelet ")[0].contains("bytes=700000-"), "{:?}", server.asked("/kubelet "));
    assert_eq!(fs::read(operator.path("bin/kubelet")).unwrap(), kubelet());
}

#[test]
fn all_failures_are_in_one_report_and_the_rest_is_fetched() {
    let files = upstream();
    let path = files.lock().unwrap().keys().find(|path| path.ends_with("/kubelet.sha256")).unwrap().clone();
    files.lock().unwrap().insert(path, "b".repeat(64).into_bytes());
    files.lock().unwrap().retain(|path, _| !path.contains("/manifests/"));
    let server = serve(&files, None, |_| Act::Serve);
    let operator = Operator::new(&server.url(), "");
    let (exit, out) = operator.fetch();
    assert_eq!(exit, 1, "{out}");
    for part in [
        &"b".repeat(64),
        &sha256_hex(&kubelet()),
        "404 Not Found",
        "/v2/pause/manifests/3.10.1",
        "images/pause.tar, bin/kubelet",
    ] {
        let swapped = "bin/kubelet, images/pause.tar";
        assert!(out.contains(part) || (part.contains(", ") && out.contains(swapped)), "{part}: {out}");
    }
    assert!(out.matches("hint:").count() == 3, "each has a hint: {out}");
    assert!(operator.path("bin/bridge").exists() && !operator.path("bin/kubelet").exists());
    let lock = fs::read_to_string(operator.path("artifacts.lock")).unwrap();
    assert!(lock.contains("bin/bridge") && !lock.contains("kubelet") && !lock.contains("pause"), "{lock}");
    assert!(!operator.path("artifacts.yaml").exists());
}

#[test]
fn a_replaced_upstream_file_is_refused() {
    let files = upstream();
    let server = serve(&files, None, |_| Act::Serve);
    let operator = Operator::new(&server.url(), "");
    assert_eq!(operator.fetch().0, 0);
    let old_list = sha256_hex(&files.lock().unwrap()["/v2/pause/manifests/3.10.1"]);
    let (list, path) = {
        let mut files = files.lock().unwrap();
        add_image(&mut files, b"another layer");
        let path = files.keys().find(|path| path.ends_with("/kubelet")).unwrap().clone();
        files.insert(format!("{path}.sha256"), sha256_hex(b"another kubelet").into_bytes());
        files.insert(path.clone(), b"another kubelet".to_vec());
        (sha256_hex(&files["/v2/pause/manifests/3.10.1"]), path)
    };
    for name in ["bin/kubelet", "images/pause.tar"] {
        fs::remove_file(operator.path(name)).unwrap();
    }
    let lock = fs::read(operator.path("artifacts.lock")).unwrap();
    let (exit, out) = operator.fetch();
    assert_eq!(exit, 1, "{out}");
    for part in [&old_list, &list, &sha256_hex(&kubelet()), &sha256_hex(b"another kubelet"), &path, "delete its record"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(fs::read(operator.path("artifacts.lock")).unwrap(), lock, "the lock file is as it was");
    assert!(!operator.path("bin/kubelet").exists() && !operator.path("images/pause.tar").exists());
}

#[test]
fn registries_get_the_login_and_servers_behind_them_do_not() {
    let files = upstream();
    let store = serve(&files, None, |_| Act::Serve);
    let behind = store.url();
    let server = serve(&files, None, move |request| {
        let authorization = request.headers.get("authorization").map(String::as_str);
        let host = &request.headers["host"];
        if request.path.starts_with("/token?") {
            return match authorization {
                // user:password
                Some("Basic dXNlcjpwYXNzd29yZA==") => {
                    Act::Status("200 OK", String::new(), br#"{"token": "t1"}"#.to_vec())
                }
                _ => Act::Status("401 Unauthorized", String::new(), Vec::new()),
            };
        }
        match (request.path.starts_with("/v2/"), authorization) {
            (false, _) => Act::Serve,
            (true, Some("Bearer t1")) if request.path.contains("/blobs/") => {
                Act::Status("307 Temporary Redirect", format!("location: {behind}{}\r\n", request.path), Vec::new())
            }
            (true, Some("Bearer t1")) => Act::Serve,
            _ => {
                let realm = format!("www-authenticate: Bearer realm=\"http://{host}/token\",service=\"r\"\r\n");
                Act::Status("401 Unauthorized", realm, Vec::new())
            }
        }
    });
    let operator = Operator::new(&server.url(), "");
    let (exit, out) = operator.fetch();
    assert!(exit == 1 && out.contains("/token answered 401") && out.contains("--registry-auth"), "{exit} {out}");
    let auths = json!({"auths": {server.url(): {"auth": "dXNlcjpwYXNzd29yZA=="}}}).to_string();
    let file = operator.dir.path().join("auth.json");
    fs::write(&file, auths).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (exit, out) = operator.run(operator.command(&["--registry-auth", "auth.json"]));
    assert!(exit == 78 && out.contains("chmod 600"), "{exit} {out}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let (exit, out) = operator.run(operator.command(&["--registry-auth", "auth.json"]));
    assert_eq!(exit, 0, "{out}");
    let token = server.asked("/token?").pop().unwrap();
    assert!(token.contains("scope=repository:pause:pull") && token.contains("service=r"), "{token}");
    assert!(!store.asked("/blobs/").is_empty());
    assert!(
        store.asked("").iter().all(|line| !line.contains("Bearer") && !line.contains("Basic")),
        "{:?}",
        store.asked("")
    );
}

#[test]
fn a_registry_may_ask_for_a_password() {
    let server = serve(&upstream(), None, |request| {
        let is_known = request.headers.get("authorization").is_some_and(|value| value == "Basic dXNlcjpwYXNzd29yZA==");
        match is_known || !request.path.starts_with("/v2/") {
            true => Act::Serve,
            false => Act::Status("401 Unauthorized", "www-authenticate: Basic realm=\"r\"\r\n".into(), Vec::new()),
        }
    });
    let operator = Operator::new(&server.url(), "");
    let (exit, out) = operator.fetch();
    assert!(exit == 1 && out.contains("401 Unauthorized"), "{exit} {out}");
    let auths = json!({"auths": {server.url(): {"username": "user", "password": "password"}}}).to_string();
    let file = operator.dir.path().join("auth.json");
    fs::write(&file, auths).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let (exit, out) = operator.run(operator.command(&["--registry-auth", "auth.json"]));
    assert_eq!(exit, 0, "{out}");
    assert!(!out.contains("dXNlcjpw") && !out.contains("password"), "{out}");
}

#[test]
fn requests_to_an_overloaded_server_are_retried_until_the_deadline() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let server = serve(&upstream(), None, move |request| match request.path.ends_with("/kubelet") {
            true => Act::Status(status, String::new(), Vec::new()),
            false => Act::Serve,
        });
        let operator = Operator::new(&server.url(), "timeouts: {download: 1s}\n");
        let (exit, out) = operator.fetch();
        assert!(exit == 75 && out.contains(status) && out.contains("bin/kubelet"), "{exit} {out}");
        assert!(server.asked("/kubelet ").len() > 1, "{:?}", server.asked("/kubelet "));
    }
}

/// Returns a CA's certificate, and the configuration of a server at `files.example` whose certificate it signed.
fn authority() -> (String, Arc<rustls::ServerConfig>) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["files.example".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let (chain, key) = (vec![certificate.der().clone()], key.serialize_der().try_into().unwrap());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    (pem, Arc::new(config.with_single_cert(chain, key).unwrap()))
}

/// Starts a proxy that always connects to `server`; returns its requests, too.
fn proxy(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let log = asked.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let log = log.clone();
            thread::spawn(move || -> io::Result<()> {
                let request = head(&mut stream)?;
                let login = request.headers.get("proxy-authorization").cloned().unwrap_or_default();
                log.lock().unwrap().push(format!("{} {login}", request.path));
                if login.is_empty() {
                    return stream
                        .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
                }
                let mut behind = TcpStream::connect(server)?;
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
                let (mut from, mut to) = (stream.try_clone()?, behind.try_clone()?);
                thread::spawn(move || io::copy(&mut from, &mut to));
                io::copy(&mut behind, &mut stream)?;
                stream.shutdown(std::net::Shutdown::Both)
            });
        }
    });
    (address, asked)
}

#[test]
fn a_configured_proxy_and_ca_are_used() {
    let (ca, tls) = authority();
    let server = serve(&upstream(), Some(tls), |_| Act::Serve);
    let (proxy, asked) = proxy(server.address);
    let own = format!("  caCertificate: {}\n", json!(ca));
    let with = |operator: &Operator, login: &str| {
        let mut command = operator.command(&[]);
        command.env("HTTPS_PROXY", format!("http://{login}{proxy}"));
        operator.run(command)
    };
    let operator = Operator::new("https://files.example", &own);
    let (exit, out) = with(&operator, "");
    assert!(exit == 1 && out.contains("407") && out.contains("HTTPS_PROXY"), "{exit} {out}");
    let (exit, out) = with(&operator, "user:password@");
    assert_eq!(exit, 0, "{out}");
    assert_eq!(asked.lock().unwrap().last().unwrap(), "files.example:443 Basic dXNlcjpwYXNzd29yZA==");
    assert_eq!(fs::read(operator.path("bin/kubelet")).unwrap(), kubelet());
    // Another CA signed it than the configured one.
    let other = format!("  caCertificate: {}\n", json!(authority().0));
    let (exit, out) = with(&Operator::new("https://files.example", &other), "user:password@");
    assert!(
        exit == 1 && out.contains("files.example:443 is not trusted") && out.contains("artifacts.caCertificate"),
        "{exit} {out}"
    );
    assert!(!out.contains("user:password"), "{out}");
}

#[test]
fn the_list_names_the_artifacts_to_fetch() {
    let operator = Operator::new("http://127.0.0.1:1", "");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodeinit"));
    command.args(["artifacts", "list", "--config", "c.yaml", "--output", "json", "--version", "v1.34.3"]);
    command.current_dir(operator.dir.path());
    let (exit, out) = operator.run(command);
    assert_eq!(exit, 0, "{out}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["source"], "https://dl.k8s.io/release/v1.34.3/bin/linux/amd64/kubelet");
    assert_eq!(lines[0]["url"], "http://127.0.0.1:1/release/v1.34.3/bin/linux/amd64/kubelet");
    assert_eq!((&lines[1]["member"], &lines[3]["kind"]), (&json!("bridge"), &json!("image")));
    assert!(!Path::new(&operator.path("")).exists());
}

/// Returns an operator who has fetched everything.
fn fetched() -> Operator {
    let server = serve(&upstream(), None, |_| Act::Serve);
    let operator = Operator::new(&server.url(), "");
    assert_eq!(operator.fetch().0, 0);
    operator
}

#[test]
fn a_bundle_contains_the_fetched_files_and_is_verified() {
    let operator = fetched();
    let (exit, out) = operator.bundle(&[]);
    assert!(
        exit == 0 && out.contains("4 artifacts of Kubernetes v1.34.4") && out.contains("not signed"),
        "{exit} {out}"
    );
    let whole = fs::read(operator.file("b.tar")).unwrap();
    assert_eq!(operator.bundle(&[]).0, 0);
    assert_eq!(fs::read(operator.file("b.tar")).unwrap(), whole, "the same artifacts give the same bytes");
    let mut tar = tar::Archive::new(&whole[..]);
    let mut first = tar.entries().unwrap().next().unwrap().unwrap();
    assert_eq!(first.path().unwrap().to_str(), Some("bundle.json"));
    let index: Value = serde_json::from_reader(&mut first).unwrap();
    assert_eq!(index["kubernetesVersion"], "v1.34.4");
    assert_eq!(
        index["artifacts"][0],
        json!({
            "path": "bin/kubelet", "sha256": sha256_hex(&kubelet()), "size": 1_200_000, "license": "Apache-2.0",
            "source": "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kubelet",
        })
    );

    let (exit, out) = operator.run(operator.artifacts(&["inspect", "b.tar"]));
    assert_eq!(exit, 0, "{out}");
    for part in ["v1.34.4", "amd64", "signature       none", "bin/kubelet", "1.2 MB", "Apache-2.0", IMAGE] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (exit, out) = operator.run(operator.artifacts(&["inspect", "b.tar", "--output", "json"]));
    let read: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((exit, &read["index"], &read["signature"]), (0, &index, &Value::Null));

    let (exit, out) = operator.run(operator.artifacts(&["verify", "b.tar"]));
    assert!(exit == 0 && out.contains("only the integrity was verified") && out.contains("not signed"), "{exit} {out}");
    let at = whole.len() - 3000;
    let flipped = [&whole[..at], &[whole[at] ^ 1], &whole[at + 1..]].concat();
    for (content, reason) in
        [(&flipped[..], "images/pause.tar has the SHA-256"), (&whole[..at], "ends within images/pause.tar")]
    {
        fs::write(operator.file("b.tar"), content).unwrap();
        let (exit, out) = operator.run(operator.artifacts(&["verify", "b.tar"]));
        assert!(exit == 1 && out.contains(reason), "{exit} {out}");
        assert_eq!(operator.run(operator.artifacts(&["inspect", "b.tar"])).0, 0, "only the index is read");
    }
}

#[test]
fn a_signed_bundle_has_one_key() {
    let operator = fetched();
    let (ours, other, _) = (operator.key("ours", ""), operator.key("other", ""), operator.key("secret", "secret"));
    let (exit, out) = operator.bundle(&["--sign-key", "ours"]);
    assert!(exit == 0 && out.contains(&ours), "{exit} {out}");
    let verify = |key: &str| operator.run(operator.artifacts(&["verify", "b.tar", "--public-key", key]));
    let (exit, out) = verify("ours.pub");
    assert!(exit == 0 && out.contains(&ours) && !out.contains("only the integrity"), "{exit} {out}");
    let (exit, out) = verify("other.pub");
    assert!(exit == 1 && out.contains(&ours) && out.contains(&other), "{exit} {out}");
    for no_key in ["ours", "none.pub"] {
        assert_eq!(verify(no_key).0, 78, "{no_key}");
    }
    let (exit, out) = operator.run(operator.artifacts(&["verify", "b.tar"]));
    assert!(exit == 0 && out.contains("only the integrity was verified") && out.contains(&ours), "{exit} {out}");
    let signed = fs::read(operator.file("b.tar")).unwrap();

    // With ssh-keygen itself, for a key that has a passphrase or is in an agent or a token.
    let (exit, out) = operator.bundle(&["--sign-key", "secret"]);
    assert!(
        exit == 78 && out.contains("passphrase") && out.contains("ssh-keygen -Y sign -n nodeinit-bundle"),
        "{exit} {out}"
    );
    assert_eq!(operator.bundle(&[]).0, 0);
    let (exit, out) = verify("ours.pub");
    assert!(exit == 1 && out.contains("is not signed") && out.contains(&ours), "{exit} {out}");
    let shell = |script: &str| {
        let output = Command::new("sh").args(["-ec", script]).current_dir(operator.dir.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    shell("tar -xf b.tar bundle.json && ssh-keygen -Y sign -n nodeinit-bundle -f ours bundle.json");
    assert_eq!(operator.bundle(&["--signature", "bundle.json.sig"]).0, 0);
    assert_eq!(fs::read(operator.file("b.tar")).unwrap(), signed, "both tools create the same signature");
    shell("tar -xf b.tar bundle.json bundle.json.sig bundle.json.sha256 && sha256sum -c bundle.json.sha256");
    shell(
        "echo \"me $(cat ours.pub)\" >signers && \
         ssh-keygen -Y verify -f signers -I me -n nodeinit-bundle -s bundle.json.sig <bundle.json",
    );
    shell("rm *.sig && ssh-keygen -Y sign -n file -f ours bundle.json");
    let (exit, out) = operator.bundle(&["--signature", "bundle.json.sig"]);
    assert!(exit == 78 && out.contains("namespace"), "{exit} {out}");
    assert_eq!(fs::read(operator.file("b.tar")).unwrap(), signed);
}

#[test]
fn an_incomplete_directory_is_refused_in_one_report() {
    let operator = fetched();
    fs::remove_file(operator.path("bin/bridge")).unwrap();
    fs::remove_file(operator.path("images/pause.tar")).unwrap();
    let (exit, out) = operator.bundle(&[]);
    assert!(exit == 1 && out.contains("it does not have bin/bridge, images/pause.tar"), "{exit} {out}");
    assert!(out.contains("nodeinit artifacts fetch --to") && !operator.file("b.tar").exists(), "{out}");
    let (exit, out) = operator.run(operator.artifacts(&["bundle", "--output", "b", "--from", "to"]));
    assert!(exit == 64 && out.contains("must end in .tar"), "{exit} {out}");

    let operator = fetched();
    let (exit, out) = operator.bundle(&["--version", "v1.34.5"]);
    let reason = "not complete for Kubernetes v1.34.5: artifacts.lock has no digest for this version of bin/kubelet";
    assert!(exit == 1 && out.contains(reason) && out.contains("artifacts.yaml"), "{exit} {out}");
    fs::write(operator.path("bin/bridge"), "changed").unwrap();
    let (exit, out) = operator.bundle(&[]);
    assert!(
        exit == 1 && out.contains("these files differ from the digests in artifacts.lock: bin/bridge"),
        "{exit} {out}"
    );
    assert!(!operator.file("b.tar").exists());

    // A program without a known source needs the operator's own digest.
    let operator = fetched();
    let own = |pin: &str| {
        let text = config(pin).replace("  images:", "  - {path: bin/mine, to: /usr/bin/mine}\n  images:");
        fs::write(operator.file("c.yaml"), text).unwrap();
        operator.bundle(&[])
    };
    fs::write(operator.path("bin/mine"), "mine").unwrap();
    let (exit, out) = own("");
    assert!(
        exit == 1 && out.contains("no digest for this version of bin/mine") && out.contains("artifacts.sha256"),
        "{out}"
    );
    let (exit, out) = own(&format!("  sha256: {{bin/mine: {}}}\n", sha256_hex(b"mine")));
    assert!(exit == 0 && out.contains("5 artifacts"), "{out}");
}
