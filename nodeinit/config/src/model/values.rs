//! The types of single values.

use super::versions::KubernetesVersion;
use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

/// The port of every API server.
pub const API_PORT: u16 = 6443;

/// A host and a port, written `host:port`; an IPv6 address has brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A DNS name or an address, without brackets.
    pub host: String,
    /// Default 6443.
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
    /// For example `dedicated`.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A part of a number of machines, written `3` or `10%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// So many.
    Count(usize),
    /// So many of a hundred, from 1 to 100.
    Percent(usize),
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Share {
    /// Returns the part of `total` machines: rounded down, at least one.
    #[must_use]
    pub fn of(self, total: usize) -> usize {
        let part = match self {
            Self::Count(count) => count,
            Self::Percent(percent) => total * percent / 100,
        };
        part.max(1)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, share, most): (_, fn(usize) -> Self, _) = match text.strip_suffix('%') {
            Some(digits) => (digits, Self::Percent, 100),
            None => (text, Self::Count, 1000),
        };
        let number = digits.parse().ok().filter(|number| (1..=most).contains(number) && !digits.starts_with('+'));
        number
            .map(share)
            .ok_or_else(|| format!("{text:?} is not a number from 1 to 1000, or a percentage from 1% to 100%"))
    }
}

/// The source of artifacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactSource {
    /// `image`: the machine image contains the binaries, and the images are in containerd or pulled by it.
    Image,
    /// An absolute path: a directory of this machine.
    Directory(PathBuf),
    /// An absolute path that ends in `.tar`: a bundle, one file with all artifacts.
    Bundle(PathBuf),
    /// `http://` or `https://`: a mirror, without a trailing slash; every artifact has its `sha256`, or there is `sha256sums`.
    Mirror(String),
    /// `upstream`: the official servers, from which `nodeinit up` fetches into [`FETCHED`].
    Upstream,
}

/// Where a machine keeps what it fetches from the official servers.
pub const FETCHED: &str = "/var/lib/nodeinit/artifacts";

impl ArtifactSource {
    /// Returns the source with the version in place of `{version}`.
    pub(super) fn of_version(&self, version: KubernetesVersion) -> Self {
        let insert = |text: &str| text.replace("{version}", &version.to_string());
        let path = |path: &Path| PathBuf::from(insert(&path.to_string_lossy()));
        match self {
            Self::Directory(directory) => Self::Directory(path(directory)),
            Self::Bundle(file) => Self::Bundle(path(file)),
            Self::Mirror(url) => Self::Mirror(insert(url)),
            Self::Image | Self::Upstream => self.clone(),
        }
    }

    /// Returns the directory of this machine that contains the artifacts, or into which they are fetched.
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
    /// The protocol in lower case; `None`: any.
    pub protocol: Option<String>,
    /// The first and the last port. `None`: all.
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
