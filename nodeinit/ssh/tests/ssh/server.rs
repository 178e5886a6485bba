//! OpenSSH's server as a child of the test.

use nodeinit_ssh::{ClientKey, Session, Target};
use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Enough for everything that is to succeed.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// An SSH server on loopback, which ends with the test.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    pub(crate) host_key: String,
    pub(crate) key: ClientKey,
    pub(crate) dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn keygen(path: &Path, kind: &str) -> String {
    let status = Command::new("ssh-keygen").args(["-q", "-N", "", "-C", "", "-t", kind, "-f"]).arg(path).status();
    assert!(status.unwrap().success());
    fs::read_to_string(path.with_extension("pub")).unwrap().trim().to_owned()
}

pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Server {
    pub(crate) fn start(more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let host_key = keygen(&file("host"), "ed25519");
        keygen(&file("host-ecdsa"), "ecdsa");
        fs::write(file("authorized_keys"), keygen(&file("client"), "ed25519")).unwrap();
        // Who is not root gets no real sudo in a test.
        fs::create_dir(file("bin")).unwrap();
        fs::write(file("bin/sudo"), "#!/bin/sh\n[ \"$1 $2\" = '-n --' ] || exit 9\nshift 2; exec \"$@\"\n").unwrap();
        fs::set_permissions(file("bin/sudo"), fs::Permissions::from_mode(0o755)).unwrap();
        let address = free_address();
        let root = dir.path().display();
        let config = format!(
            "{more}\nListenAddress {address}\nHostKey {root}/host\nHostKey {root}/host-ecdsa\nPidFile none\nUsePAM no\n\
             StrictModes no\nAuthorizedKeysFile {root}/authorized_keys\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nSetEnv PATH={root}/bin:/usr/bin:/bin HOME={root}\n"
        );
        fs::write(file("config"), config).unwrap();
        if user() == "root" {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let log = fs::File::create(file("log")).unwrap();
        let child = Command::new("/usr/sbin/sshd").args(["-D", "-e", "-f"]).arg(file("config")).stderr(log).spawn();
        let child = child.unwrap_or_else(|e| panic!("cannot start sshd, of Debian's package openssh-server: {e}"));
        let key = ClientKey::parse(&fs::read_to_string(file("client")).unwrap()).unwrap();
        let mut server = Self { child, address, host_key, key, dir };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = || fs::read_to_string(server.dir.path().join("log")).unwrap();
            assert!(server.child.try_wait().unwrap().is_none(), "{}", log());
            assert!(begun.elapsed() < LIMIT, "{}", log());
            thread::sleep(Duration::from_millis(10));
        }
        server
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            name: "m2".into(),
            address: self.address,
            user: user(),
            host_keys: vec![self.host_key.clone()],
            trust_on_first_use: false,
        }
    }

    pub(crate) async fn session(&self) -> Session {
        Session::connect(&self.target(), None, &self.key, LIMIT).await.unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}
