//! The types of single values.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The port of every API server.
pub const API_PORT: u16 = 6443;

/// A host and a port, written `host:port`; an IPv6 address has brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A DNS name or an address, without brackets.
    pub host: String,
    /// 6443 where none is given.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// A taint of a node, written `key=value:Effect` or `key:Effect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// For instance `dedicated`.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// The source of artifacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactSource {
    /// `image`: baked into the machine's image; binaries are in place, and images in containerd or fetched by it.
    Image,
    /// An absolute path: a directory of this machine.
    Directory(PathBuf),
    /// An absolute path that ends in `.tar`: a bundle, one file with all artifacts.
    Bundle(PathBuf),
    /// `http://` or `https://`: a mirror, without a slash at its end; every artifact has its `sha256`, or there is `sha256sums`.
    Mirror(String),
    /// `upstream`: the official servers. `nodeinit up` fetches what they publish into [`FETCHED`].
    Upstream,
}

/// Where a machine keeps what it fetches from the official servers.
pub const FETCHED: &str = "/var/lib/nodeinit/artifacts";

impl ArtifactSource {
    /// The directory of this machine that has the artifacts, or gets them.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::Upstream => Some(Path::new(FETCHED)),
            Self::Image | Self::Bundle(_) | Self::Mirror(_) => None,
        }
    }
}

/// A protocol and its ports, written `tcp/179`, `udp/4000-4010`, `112` (a protocol's number or name) or `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// In lower case; `None`: any.
    pub protocol: Option<String>,
    /// First and last. `None`: all.
    pub ports: Option<(u16, u16)>,
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.protocol.as_deref().unwrap_or("any"))?;
        match self.ports {
            Some((first, last)) if first == last => write!(f, "/{first}"),
            Some((first, last)) => write!(f, "/{first}-{last}"),
            None => Ok(()),
        }
    }
}
