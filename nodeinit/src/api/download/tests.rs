//! Downloads from a real listener that misbehaves as told.

use super::*;
use crate::api::http;
use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    sync::{Arc, Mutex},
};

/// What the listener does with one connection.
#[derive(Clone, Copy)]
enum Act {
    /// Answers ranges, and sends all of it.
    Whole,
    /// Answers ranges, promises all of it, and closes after so many bytes.
    Cut(usize),
    /// Knows no ranges, and sends all of it.
    NoRanges,
    /// Only this status.
    Status(&'static str),
    /// Sends the client to another path.
    Redirect(&'static str),
    /// Closes without a word.
    Close,
    /// Says nothing for so long.
    Silent(Duration),
    /// Announces so many bytes, and sends a few.
    Announces(u64),
    /// Announces nothing, and sends so many bytes.
    Unannounced(usize),
}

struct Mirror {
    url: String,
    /// The first line and the `Range` of each request.
    asked: Arc<Mutex<Vec<String>>>,
}

/// A mirror that serves `content` and does one act after the other.
fn mirror(content: Vec<u8>, acts: Vec<Act>) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/kubelet", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    std::thread::spawn(move || {
        for act in acts {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let range =
                head.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
            log.lock().unwrap().push(format!("{} {}", head[0], range.clone().unwrap_or_default()));
            let from: usize = range.and_then(|r| r.trim_end_matches('-').parse().ok()).unwrap_or(0);
            let rest = &content[from.min(content.len())..];
            let partial = |length: usize| match from {
                0 => format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n"),
                _ => format!(
                    "HTTP/1.1 206 Partial\r\ncontent-length: {length}\r\ncontent-range: bytes {from}-{}/{}\r\n\r\n",
                    content.len() - 1,
                    content.len()
                ),
            };
            let answer = match act {
                Act::Whole if from > 0 && rest.is_empty() => {
                    b"HTTP/1.1 416 Range\r\ncontent-length: 0\r\n\r\n".to_vec()
                }
                Act::Whole => [partial(rest.len()).into_bytes(), rest.to_vec()].concat(),
                Act::Cut(length) => [partial(rest.len()).into_bytes(), rest[..length].to_vec()].concat(),
                Act::NoRanges => [
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", content.len()).into_bytes(),
                    content.clone(),
                ]
                .concat(),
                Act::Status(status) => format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").into_bytes(),
                Act::Redirect(to) => {
                    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes()
                }
                Act::Close => Vec::new(),
                Act::Unannounced(length) => [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; length]].concat(),
                Act::Announces(length) => format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\nx").into_bytes(),
                Act::Silent(time) => {
                    std::thread::sleep(time);
                    Vec::new()
                }
            };
            // A client that has gone away is part of some tests.
            let _ = stream.write_all(&answer);
        }
    });
    Mirror { url, asked }
}

struct Machine {
    _dir: tempfile::TempDir,
    files: Files,
    told: Mutex<Vec<String>>,
}

fn machine() -> Machine {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::under(dir.path());
    Machine { _dir: dir, files, told: Mutex::default() }
}

fn content() -> Vec<u8> {
    (0..300_000u32).flat_map(u32::to_le_bytes).collect()
}

impl Machine {
    async fn fetch(&self, mirror: &Mirror, sha256: &[u8], limit: Duration) -> Result<(), DownloadError> {
        let sha256 = ring::digest::digest(&ring::digest::SHA256, sha256).as_ref().try_into().unwrap();
        let download = Download { url: mirror.url.clone(), sha256, largest: LARGEST, limit };
        let client = http::Client::new(&self.files, None);
        let ask = async |from| client.get(&mirror.url, from).await;
        download.fetch(&self.files, Path::new("/part"), ask, |line| self.told.lock().unwrap().push(line)).await
    }

    fn put(&self, bytes: &[u8]) {
        self.files.write(&[crate::host::files::NewFile::private("/part", bytes)]).unwrap();
    }

    fn read(&self) -> Option<Vec<u8>> {
        self.files.read("/part").unwrap()
    }
}

const LARGEST: u64 = 2 << 20;
const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_download_that_is_cut_goes_on_where_it_ended() {
    let machine = machine();
    let mirror =
        mirror(content(), vec![Act::Cut(400_000), Act::Close, Act::Cut(1), Act::Status("503 Busy"), Act::Whole]);
    machine.fetch(&mirror, &content(), LONG).await.unwrap();
    assert_eq!(machine.read().unwrap(), content());
    let asked = mirror.asked.lock().unwrap();
    assert_eq!(asked[0], "GET /kubelet HTTP/1.1 ");
    assert!(asked[2].ends_with(" 400000-") && asked[4].ends_with(" 400001-"), "{asked:?}");
    let told = machine.told.lock().unwrap().join("\n");
    assert!(told.contains("400000 bytes") && told.contains("503"), "{told}");
}

#[tokio::test]
async fn what_a_killed_run_left_is_gone_on_with() {
    let machine = machine();
    machine.put(&content()[..1_000_000]);
    let mirror = mirror(content(), vec![Act::Whole]);
    machine.fetch(&mirror, &content(), LONG).await.unwrap();
    assert_eq!(mirror.asked.lock().unwrap()[0], "GET /kubelet HTTP/1.1 1000000-");
    // All of it was here, and only the proof was missing.
    let whole = self::mirror(content(), vec![Act::Whole]);
    machine.fetch(&whole, &content(), LONG).await.unwrap();
}

#[tokio::test]
async fn a_mirror_without_ranges_begins_anew() {
    let machine = machine();
    machine.put(b"rubbish of an earlier run");
    let mirror = mirror(content(), vec![Act::NoRanges]);
    machine.fetch(&mirror, &content(), LONG).await.unwrap();
    assert_eq!(machine.read().unwrap(), content());
}

#[tokio::test]
async fn a_part_of_another_content_is_thrown_away() {
    let machine = machine();
    machine.put(&[7; 500_000]);
    let mirror = mirror(content(), vec![Act::Whole, Act::Whole]);
    machine.fetch(&mirror, &content(), LONG).await.unwrap();
    assert_eq!(machine.read().unwrap(), content());
}

#[tokio::test]
async fn a_wrong_digest_names_both_and_leaves_nothing() {
    let machine = machine();
    let error =
        machine.fetch(&mirror(b"hello".to_vec(), vec![Act::Whole]), b"world", LONG).await.unwrap_err().to_string();
    for text in [b"hello", b"world"] {
        assert!(error.contains(&nodeinit_base::sha256_hex(text)), "{error}");
    }
    assert_eq!(machine.read(), None);
}

#[tokio::test]
async fn a_refusal_is_final_and_a_redirection_is_followed() {
    let machine = machine();
    let gone = mirror(content(), vec![Act::Status("404 Not Found")]);
    let error = machine.fetch(&gone, &content(), LONG).await.unwrap_err();
    assert!(matches!(error, DownloadError::Refused { status: StatusCode::NOT_FOUND, .. }), "{error}");
    let moved = mirror(content(), vec![Act::Redirect("/elsewhere"), Act::Whole]);
    machine.fetch(&moved, &content(), LONG).await.unwrap();
    assert_eq!(moved.asked.lock().unwrap()[1], "GET /elsewhere HTTP/1.1 ");
    let circle = mirror(content(), vec![Act::Redirect("/kubelet"); 6]);
    let error = machine.fetch(&circle, b"other", LONG).await.unwrap_err().to_string();
    assert!(error.contains("too many redirects (5)"), "{error}");
}

#[tokio::test]
async fn a_deadline_keeps_what_has_come() {
    let machine = machine();
    let mirror = mirror(content(), vec![Act::Cut(1000), Act::Silent(Duration::from_secs(5))]);
    let error = machine.fetch(&mirror, &content(), Duration::from_secs(1)).await.unwrap_err();
    assert!(
        matches!(&error, DownloadError::TimedOut { bytes: 1000, last, .. } if last.contains("1000 bytes")),
        "{error}"
    );
    assert_eq!(machine.read().unwrap(), &content()[..1000]);
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_final() {
    for (url, reason) in
        [("ftp://a/b", "http://"), ("https://localhost:1/x", "localhost:1"), ("no address", "no address")]
    {
        let download =
            Download { url: url.into(), sha256: [0; 32], largest: LARGEST, limit: Duration::from_millis(300) };
        let machine = machine();
        let client = http::Client::new(&machine.files, None);
        let ask = async |from| client.get(url, from).await;
        let error = download.fetch(&machine.files, Path::new("/part"), ask, |_| ()).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_downloaded() {
    for act in [Act::Announces(5 << 30), Act::Unannounced(3 << 20)] {
        let machine = machine();
        let mirror = mirror(content(), vec![act; 20]);
        let error = machine.fetch(&mirror, &content(), Duration::from_secs(5)).await.unwrap_err().to_string();
        assert!(error.contains(&mirror.url) && error.contains("more than 2 MiB"), "{error}");
        assert_eq!(mirror.asked.lock().unwrap().len(), 1, "it is final");
        assert_eq!(machine.read(), None);
    }
}
