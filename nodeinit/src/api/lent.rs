//! What this machine takes from the first master: programs and images that its own source of artifacts lacks.
//!
//! The first master sends the list over SSH, with the digest of everything on it. The content comes from a registry there, directly or,
//! where no port is open between the two, through the SSH connection. containerd pulls without TLS from loopback only, so a
//! port of loopback leads to the registry.

use crate::{
    api::registry::Pull,
    engine::error::{Exit, StepError},
    host::files::Files,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    io::copy_bidirectional_with_sizes,
    net::{TcpListener, TcpStream},
    sync::{Mutex, OnceCell, watch},
    time::{sleep, timeout},
};

/// Where the list is kept for one run: like secrets, it is gone after a reboot.
pub const LENT: &str = "/run/nodeinit/artifacts.json";

/// A firewall that drops packets is noticed after this time.
const DIRECT: Duration = Duration::from_secs(1);

/// So many times all addresses are tried.
const ROUNDS: usize = 3;

/// Content is copied in pieces of this size, in bytes.
const PIECE: usize = 128 << 10;

/// What the first master lends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lent {
    /// Where the registry answers, in the order of preference.
    pub addresses: Vec<SocketAddr>,
    /// The repository that has everything.
    pub repository: String,
    /// The path of an artifact → its SHA-256 in hex.
    pub files: BTreeMap<String, String>,
    /// The full name of an image → how it is asked for.
    pub images: BTreeMap<String, Pull>,
}

impl Lent {
    /// What the first master lends this machine, if it does.
    ///
    /// # Errors
    /// Where the list cannot be read.
    pub fn read(files: &Files) -> Result<Option<Self>, StepError> {
        let Some(text) = files.read_text(LENT)? else { return Ok(None) };
        let damaged = |e| {
            StepError::caused(format!("{LENT} is damaged"), e)
                .hint("run the same command again on the leading master: it rewrites the file")
        };
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }
}

/// The first master's list and the relay to its registry, each made once in a run.
#[derive(Debug, Default)]
pub struct Lender {
    list: OnceLock<Option<Arc<Lent>>>,
    relay: OnceCell<Relay>,
}

/// A port of loopback whose connections lead to the first master's registry.
#[derive(Debug)]
pub struct Relay {
    /// What is lent.
    pub lent: Arc<Lent>,
    /// The address on loopback that leads to the registry.
    pub address: SocketAddr,
    /// Whether the registry was not there once: the run that lends has ended.
    is_gone: watch::Receiver<bool>,
}

impl Lender {
    /// What the first master lends this machine, if it does.
    ///
    /// # Errors
    /// Where the list cannot be read.
    pub fn list(&self, files: &Files) -> Result<Option<&Arc<Lent>>, StepError> {
        if self.list.get().is_none() {
            let read = Lent::read(files)?.map(Arc::new);
            // Two that read at once have read the same.
            let _ = self.list.set(read);
        }
        Ok(self.list.get().and_then(Option::as_ref))
    }

    /// The relay to it; `None` where the first master lends nothing.
    ///
    /// # Errors
    /// Where the list cannot be read, or loopback not be listened on.
    pub async fn relay(&self, files: &Files) -> Result<Option<&Relay>, StepError> {
        let Some(lent) = self.list(files)? else { return Ok(None) };
        self.relay.get_or_try_init(async || Relay::open(lent.clone()).await).await.map(Some)
    }
}

impl Relay {
    async fn open(lent: Arc<Lent>) -> Result<Self, StepError> {
        let failed = |e| StepError::caused("cannot listen on loopback", e);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let addresses = Arc::new(Mutex::new(lent.addresses.clone()));
        let (gone, is_gone) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(forward(stream, addresses.clone(), gone.clone()));
            }
        });
        Ok(Self { lent, address, is_gone })
    }

    /// Does `work`, as long as the first master lends.
    ///
    /// # Errors
    /// Those of `work`, and where the run on the first master has ended.
    pub async fn while_lent<T>(&self, work: impl Future<Output = Result<T, StepError>>) -> Result<T, StepError> {
        let mut is_gone = self.is_gone.clone();
        tokio::select! {
            done = work => done,
            Ok(_) = is_gone.wait_for(|gone| *gone) => Err(self.ended()),
        }
    }

    /// The run on the first master has ended, or the first master cannot be reached.
    fn ended(&self) -> StepError {
        let addresses: Vec<String> = self.lent.addresses.iter().map(ToString::to_string).collect();
        StepError::new(format!(
            "the first master stopped serving its artifacts: nothing answers at {}",
            addresses.join(" and ")
        ))
        .exit(Exit::TryAgain)
        .hint("run the same command again on the leading master: this machine resumes where it stopped")
    }

    /// The URL of the content with this SHA-256, in hex.
    #[must_use]
    pub fn url(&self, sha256: &str) -> String {
        format!("http://{}/v2/{}/blobs/sha256:{sha256}", self.address, self.lent.repository)
    }
}

/// Connects a client to the first address that answers. The client notices a broken connection.
async fn forward(mut stream: TcpStream, addresses: Arc<Mutex<Vec<SocketAddr>>>, gone: watch::Sender<bool>) {
    for _ in 0..ROUNDS {
        let all = addresses.lock().await.clone();
        for address in all {
            let Ok(Ok(mut there)) = timeout(DIRECT, TcpStream::connect(address)).await else { continue };
            // The others need not wait for one that does not answer.
            addresses.lock().await.sort_by_key(|other| *other != address);
            let _ = copy_bidirectional_with_sizes(&mut stream, &mut there, PIECE, PIECE).await;
            return;
        }
        sleep(DIRECT).await;
    }
    let _ = gone.send(true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::{
            http::Client,
            registry::{Content, Registry, Served},
        },
        context::testing::context,
        host::{files::NewFile, section::Section},
    };
    use http_body_util::BodyExt;
    use nodeinit_base::sha256_hex;

    #[tokio::test]
    async fn a_port_of_loopback_leads_to_the_first_address_that_answers() {
        let (dir, cx) = context();
        assert!(cx.lent.relay(&cx.files).await.unwrap().is_none());
        let path = dir.path().join("kubelet");
        cx.files.write(&[NewFile::public("/kubelet", "program")]).unwrap();
        let digest = sha256_hex(b"program");
        let mut content = Content::default();
        content.file(&digest, &Served::new(Section::whole(path).unwrap(), None));
        let registry = Registry::serve(content, Ipv4Addr::LOCALHOST.into()).unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let lent = Lent {
            addresses: vec![closed, registry.address()],
            repository: registry.repository().to_owned(),
            files: BTreeMap::from([("bin/kubelet".to_owned(), digest.clone())]),
            images: BTreeMap::new(),
        };
        let (_other, cx) = context();
        cx.place(vec![NewFile::private(LENT, serde_json::to_vec(&lent).unwrap())]).await.unwrap();
        let relay = cx.lent.relay(&cx.files).await.unwrap().unwrap();
        assert_eq!(*relay.lent, lent);
        let answer = Client::new(&cx.files, None).get(&relay.url(&digest), 0).await.unwrap();
        assert_eq!(answer.response.into_body().collect().await.unwrap().to_bytes(), "program");

        drop(registry);
        let endless = async {
            loop {
                let _ = Client::without_proxy(&cx.files).get(&relay.url(&digest), 0).await;
                tokio::task::yield_now().await;
            }
        };
        let error = relay.while_lent::<()>(endless).await.unwrap_err();
        assert!(error.exit == Exit::TryAgain && error.to_string().contains(&closed.to_string()), "{error}");
    }

    #[tokio::test]
    async fn a_damaged_list_is_an_error() {
        let (_dir, cx) = context();
        cx.place(vec![NewFile::private(LENT, "{")]).await.unwrap();
        assert!(Lent::read(&cx.files).unwrap_err().to_string().contains(LENT));
    }
}
