//! The formats of single values, each with its check, an example, and a pattern for the JSON Schema.

use crate::{
    model::{
        names::{self, verdict},
        values::{API_PORT, ArtifactSource, Endpoint, Opening, Taint},
        versions::{KubernetesVersion, number},
    },
    problem::Flaw,
    releases::{ContainerdVersion, DEFAULT},
};
use ipnet::IpNet;
use std::{net::IpAddr, path::PathBuf, time::Duration};

/// The format of a single value.
#[derive(Debug)]
pub struct Format {
    /// Its description, such as "an address range".
    pub name: &'static str,
    /// A valid value.
    pub example: &'static str,
    /// An ECMA-262 regular expression that every valid value matches, if a short one exists.
    pub pattern: Option<&'static str>,
    /// Whether numbers and booleans are accepted, too.
    pub loose: bool,
    check: fn(&str) -> Result<(), Flaw>,
}

impl Format {
    const fn new(name: &'static str, example: &'static str, check: fn(&str) -> Result<(), Flaw>) -> Self {
        Self { name, example, pattern: None, loose: false, check }
    }

    const fn pattern(mut self, pattern: &'static str) -> Self {
        self.pattern = Some(pattern);
        self
    }

    const fn loose(mut self) -> Self {
        self.loose = true;
        self
    }

    /// Whether a value is valid.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        self.check(text).is_ok()
    }

    pub(crate) fn check(&self, text: &str) -> Result<(), Flaw> {
        (self.check)(text)
    }
}

/// An RFC 1123 label.
pub static LABEL: Format =
    Format::new("a DNS label", "demo", names::label).pattern("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$");
/// An RFC 1123 subdomain.
pub static SUBDOMAIN: Format =
    Format::new("a DNS name", "cluster.local", names::subdomain).pattern("^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$");
/// A node's name.
pub static NODE_NAME: Format =
    Format::new("a node's name", "master-1", names::node_name).pattern("^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$");
/// A label's key.
pub static LABEL_KEY: Format = Format::new("a label's key", "example.org/zone", names::label_key);
/// A label's value.
pub static LABEL_VALUE: Format = Format::new("a label's value", "north", names::label_value)
    .pattern("^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$");
/// A taint.
pub static TAINT: Format = Format::new("a taint", "dedicated=db:NoSchedule", |t| taint(t).map(drop))
    .pattern("^[^=:]+(=[^=:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$");
/// A release of Kubernetes.
pub static VERSION: Format =
    Format::new("a version of Kubernetes", DEFAULT, |t| version(t).map(drop)).pattern("^v[0-9]+\\.[0-9]+\\.[0-9]+$");
/// The tag of an image.
pub static IMAGE_TAG: Format = Format::new("an image's tag", "3.10.2", image_tag);
/// A version of kubeadm's configuration.
pub static KUBEADM_API: Format =
    Format::new("a version of kubeadm's configuration", "kubeadm.k8s.io/v1beta4", kubeadm_api)
        .pattern("^kubeadm\\.k8s\\.io/v[0-9a-z]+$");
/// A minor version.
pub static MINOR: Format =
    Format::new("a minor version", "2.1", |t| minor(t).map(drop)).pattern("^[0-9]+\\.[0-9]+$").loose();
/// A mode of kube-proxy.
pub static PROXY_MODE: Format = Format::new("a mode of kube-proxy", "iptables", proxy_mode).pattern("^[a-z]+$");
/// A hint for the operator.
pub static SENTENCE: Format = Format::new("a sentence", "remove the flag", sentence);
/// The folder of a registry.
pub static REPOSITORY: Format =
    Format::new("a registry's folder", "registry.k8s.io", repository).pattern("^[a-z0-9][a-zA-Z0-9./:_-]*$");
/// The full name of an image.
pub static IMAGE: Format = Format::new("an image's full name", "registry.k8s.io/pause:3.10.1", image);
/// `host:port`.
pub static ENDPOINT: Format = Format::new("a host and a port", "api.example.org:6443", |t| endpoint(t).map(drop));
/// A name or an address in a certificate.
pub static CERT_SAN: Format = Format::new("a DNS name or an address", "api.example.org", cert_san);
/// An address.
pub static ADDRESS: Format = Format::new("an IP address", "10.0.0.11", |t| address(t).map(drop));
/// An address range.
pub static CIDR: Format =
    Format::new("an address range", "10.244.0.0/16", |t| cidr(t).map(drop)).pattern("^[^/]+/[0-9]+$");
/// An absolute path.
pub static ABSOLUTE_PATH: Format =
    Format::new("an absolute path", "/opt/kubernetes", |t| absolute(t).map(drop)).pattern("^/");
/// A relative path.
pub static RELATIVE_PATH: Format = Format::new("a path below the source", "bin/kubelet", relative).pattern("^[^/]");
/// The source of artifacts.
pub static SOURCE: Format = Format::new("a source", "https://mirror.example.org/k8s", |t| source(t).map(drop))
    .pattern("^(image|upstream|/.*|https?://.+)$");
/// A SHA-256 digest.
pub static SHA256: Format =
    Format::new("a SHA-256 digest", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", |t| {
        sha256(t).map(drop)
    })
    .pattern("^[0-9a-fA-F]{64}$");
/// A flag's name.
pub static FLAG: Format = Format::new("a flag's name", "max-pods", flag).pattern("^[a-z0-9][a-z0-9-]*$");
/// A flag's value.
pub static ARGUMENT: Format = Format::new("a string or a number", "100", argument).loose();
/// A kernel parameter.
pub static SYSCTL: Format =
    Format::new("the name of a kernel parameter", "vm.swappiness", sysctl).pattern("^[a-z0-9][A-Za-z0-9._/-]*$");
/// A kernel module.
pub static MODULE: Format = Format::new("the name of a kernel module", "ip_vs", module).pattern("^[A-Za-z0-9_-]+$");
/// A duration.
pub static DURATION: Format =
    Format::new("a duration", "90s", |t| duration(t).map(drop)).pattern("^([0-9]+(h|m|s|ms))+$");

/// A TCP port.
pub static PORT: Format = Format::new("a port", "22", |t| port(t).map(drop)).pattern("^[0-9]{1,5}$").loose();
/// A count.
pub static COUNT: Format =
    Format::new("a number from 1 to 1000", "50", |t| count(t).map(drop)).pattern("^[0-9]+$").loose();
/// A login name.
pub static USER: Format = Format::new("a user name", "debian", user).pattern("^[a-z_][a-z0-9_-]{0,31}$");
/// A line of an SSH public key.
pub static HOST_KEY: Format = Format::new(
    "an SSH host key",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo",
    |t| host_key(t).map(drop),
)
.pattern("^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]+=*( .*)?$");
/// The key that signs a bundle.
pub static BUNDLE_KEY: Format = Format::new(
    "an ed25519 public key",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo",
    |t| bundle_key(t).map(drop),
)
.pattern("^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}( .*)?$");
/// A name or an ID in the cloud.
pub static CLOUD_NAME: Format = Format::new("a name or an id", "m1.medium", cloud_name).loose();
/// A UUID.
pub static UUID: Format = Format::new("a UUID", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", |t| uuid(t).map(drop))
    .pattern("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$");
/// A disk size.
pub static GIBIBYTES: Format =
    Format::new("a number of GiB", "20", |t| gibibytes(t).map(drop)).pattern("^[0-9]+$").loose();
/// A protocol with its ports.
pub static OPENING: Format = Format::new("a protocol and its ports", "tcp/179", |t| opening(t).map(drop))
    .pattern("^[a-z0-9-]+(/[0-9]+(-[0-9]+)?)?$");
/// An HTTP(S) URL.
pub static URL: Format =
    Format::new("an HTTP(S) URL", "https://mirror.example.org/nodeinit", url).pattern("^https?://.+");
/// A server of artifacts.
pub static HOST: Format = Format::new("a host, with its port if it is not 443", "registry.k8s.io", host)
    .pattern("^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?$");
/// A destination without a proxy.
pub static NO_PROXY: Format =
    Format::new("a host, a domain or a network", ".example.org", no_proxy).pattern(r"^[A-Za-z0-9.:*/\[\]_-]+$");
/// A file of the machine on which the provisioner runs.
pub static LOCAL_PATH: Format = Format::new("a path", "./nodeinit", local_path);
/// The digest of a CA's public key.
pub static CA_PIN: Format = Format::new(
    "the digest of a public key",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    |t| ca_pin(t).map(drop),
)
.pattern("^sha256:[0-9a-fA-F]{64}$");
/// A certificate as PEM.
pub static PEM_CERTIFICATE: Format = Format::new(
    "a certificate as PEM",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    pem_certificate,
)
.pattern("-----BEGIN CERTIFICATE-----");

pub(crate) fn port(text: &str) -> Result<u16, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a port"), "write a number between 1 and 65535");
    text.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)
}

pub(crate) fn count(text: &str) -> Result<usize, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a number from 1 to 1000"), "write a number from 1 to 1000");
    text.parse().ok().filter(|count| (1..=1000).contains(count)).ok_or_else(wrong)
}

fn user(text: &str) -> Result<(), Flaw> {
    let start = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let body = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
    verdict(start && body && text.len() <= 32, text, "a user name", "use a-z, 0-9, `_` and `-`, such as debian")
}

fn cloud_name(text: &str) -> Result<(), Flaw> {
    let fits = (1..=255).contains(&text.len()) && text.trim() == text && !text.contains(char::is_control);
    verdict(fits, text, "a name or an id", "write the name or the ID in the cloud")
}

/// Parses a UUID; returns it in lower case.
pub(crate) fn uuid(text: &str) -> Result<String, Flaw> {
    let lengths = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let digits = text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    verdict(lengths && digits, text, "a UUID", "use the output of `uuidgen`")?;
    Ok(text.to_ascii_lowercase())
}

pub(crate) fn gibibytes(text: &str) -> Result<u32, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a disk size"), "write a number of GiB from 1 to 65536");
    text.parse().ok().filter(|size| (1..=65_536).contains(size)).ok_or_else(wrong)
}

pub(crate) fn opening(text: &str) -> Result<Opening, Flaw> {
    let wrong = || {
        Flaw::new(
            format!("{text:?} is not a protocol with its ports"),
            "write one such as tcp/179, udp/4000-4010, ipip or any",
        )
    };
    let (protocol, ports) = text.split_once('/').map_or((text, None), |(protocol, ports)| (protocol, Some(ports)));
    let plain = protocol.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let numbered = protocol.bytes().all(|b| b.is_ascii_digit());
    if protocol.is_empty() || !plain || (numbered && protocol.parse::<u8>().is_err()) {
        return Err(wrong());
    }
    let has_ports = matches!(protocol, "tcp" | "udp" | "sctp" | "dccp" | "udplite");
    let ports = match ports {
        None => None,
        Some(_) if !has_ports => return Err(wrong()),
        Some(ports) => {
            let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
            let (first, last) = (port(first)?, port(last)?);
            if last < first {
                return Err(wrong());
            }
            Some((first, last))
        }
    };
    Ok(Opening { protocol: Some(protocol.to_owned()).filter(|p| p != "any"), ports })
}

fn url(text: &str) -> Result<(), Flaw> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '\'' | '"' | '\\' | '@');
    let fits = host.is_some_and(|host| !host.is_empty() && !host.starts_with('/') && !host.contains(odd));
    verdict(fits, text, "an HTTP(S) URL", "write http:// or https://, a host and a path, without a password")
}

fn host(text: &str) -> Result<(), Flaw> {
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    let fits = names::is_subdomain(name) && port.parse::<u16>().is_ok_and(|port| port > 0);
    verdict(fits, text, "a host", "write a name without a scheme or a path, such as registry.k8s.io")
}

fn no_proxy(text: &str) -> Result<(), Flaw> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || ".:*/[]_-".contains(c);
    let fits = !text.is_empty() && text.chars().all(is_fit);
    verdict(fits, text, "a host, a domain or a network", "write one per entry, such as 10.0.0.0/8 or .example.org")
}

fn local_path(text: &str) -> Result<(), Flaw> {
    let fits = !text.is_empty() && !text.contains(char::is_control);
    verdict(fits, text, "a path", "write the path of the file")
}

/// Returns the key's type and its base64, without the comment.
pub(crate) fn host_key(text: &str) -> Result<String, Flaw> {
    let mut words = text.split_whitespace();
    let (kind, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let known = matches!(
        kind,
        "ssh-ed25519" | "ecdsa-sha2-nistp256" | "ecdsa-sha2-nistp384" | "ecdsa-sha2-nistp521" | "ssh-rsa"
    );
    let body = key.trim_end_matches('=').bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    let remedy =
        "write a line of the machine's /etc/ssh/ssh_host_ed25519_key.pub, or of `ssh-keyscan` without the name";
    verdict(
        known && body && key.starts_with("AAAA") && !text.contains(char::is_control),
        text,
        "an SSH host key",
        remedy,
    )?;
    Ok(format!("{kind} {key}"))
}

/// Returns an ed25519 public key as `ssh-ed25519 BASE64`, without the comment. Every such key starts with its type and its length.
pub(crate) fn bundle_key(text: &str) -> Result<String, Flaw> {
    let mut words = text.split_whitespace();
    let (kind, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let body = key.strip_prefix("AAAAC3NzaC1lZDI1NTE5AAAAI").unwrap_or_default();
    let fits = kind == "ssh-ed25519"
        && body.len() == 43
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
        && !text.contains(char::is_control);
    verdict(
        fits,
        text,
        "an ed25519 public key",
        "write the line of the key's .pub file; `ssh-keygen -t ed25519` creates a key",
    )?;
    Ok(format!("{kind} {key}"))
}

pub(crate) fn ca_pin(text: &str) -> Result<[u8; 32], Flaw> {
    let wrong =
        || Flaw::new(format!("{text:?} is not the digest of a public key"), "write sha256: and 64 hexadecimal digits");
    sha256(text.strip_prefix("sha256:").ok_or_else(wrong)?)
}

fn pem_certificate(text: &str) -> Result<(), Flaw> {
    let fits = text.contains("-----BEGIN CERTIFICATE-----") && text.contains("-----END CERTIFICATE-----");
    verdict(
        fits,
        text,
        "a certificate as PEM",
        "write the certificate itself, which starts with -----BEGIN CERTIFICATE-----, not a path",
    )
}

pub(crate) fn version(text: &str) -> Result<KubernetesVersion, Flaw> {
    let wrong =
        |_| Flaw::new(format!("{text:?} is not a version of Kubernetes"), format!("write one such as {DEFAULT}"));
    text.parse().map_err(wrong)
}

pub(crate) fn minor(text: &str) -> Result<ContainerdVersion, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a minor version"), "write two numbers, such as 2.1");
    let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
    Ok((number(major).ok_or_else(wrong)?, number(minor).ok_or_else(wrong)?))
}

fn kubeadm_api(text: &str) -> Result<(), Flaw> {
    let version = text.strip_prefix("kubeadm.k8s.io/v");
    let plain = |version: &str| {
        version.starts_with(|c: char| c.is_ascii_digit()) && version.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let remedy = "write one such as kubeadm.k8s.io/v1beta4";
    verdict(version.is_some_and(plain), text, "a version of kubeadm's configuration", remedy)
}

fn proxy_mode(text: &str) -> Result<(), Flaw> {
    let fits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase());
    verdict(fits, text, "a mode of kube-proxy", "use a-z, such as iptables")
}

fn image_tag(text: &str) -> Result<(), Flaw> {
    verdict(is_tag(text), text, "an image's tag", "use letters, digits, `_`, `.` and `-`, such as 3.10.2")
}

fn sentence(text: &str) -> Result<(), Flaw> {
    verdict(!text.is_empty() && !text.contains(char::is_control), text, "a sentence", "write one line of text")
}

pub(crate) fn address(text: &str) -> Result<IpAddr, Flaw> {
    let wrong = |what| Flaw::new(format!("{text:?} is {what}"), "write an address that other machines can reach");
    let address: IpAddr = text.parse().map_err(|_| match text.contains('/') {
        true => Flaw::new(format!("{text:?} is an address range, not an address"), "remove the part from `/` on"),
        false => Flaw::new(format!("{text:?} is not an IP address"), "write one such as 10.0.0.11 or fd00::11"),
    })?;
    match address {
        a if a.is_loopback() => Err(wrong("a loopback address")),
        a if a.is_unspecified() => Err(wrong("the unspecified address")),
        a if a.is_multicast() => Err(wrong("a multicast address")),
        IpAddr::V4(a) if a.is_link_local() || a.is_broadcast() => {
            Err(wrong("not the address of a single reachable host"))
        }
        IpAddr::V6(a) if a.is_unicast_link_local() => Err(wrong("a link-local address")),
        IpAddr::V6(a) if a.to_ipv4_mapped().is_some() => Err(wrong("an IPv4-mapped address, which Kubernetes refuses")),
        a => Ok(a),
    }
}

pub(crate) fn cidr(text: &str) -> Result<IpNet, Flaw> {
    let remedy = "write one such as 10.244.0.0/16";
    if text.contains(',') {
        return Err(Flaw::new(
            format!("{text:?} is more than one address range"),
            "dual stack is not supported: keep one",
        ));
    }
    let net: IpNet = text.parse().map_err(|_| match text.parse::<IpAddr>() {
        Ok(address) => {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let remedy = format!("add the prefix length, such as {text}/{bits} for this address only");
            Flaw::new(format!("{text:?} is an address, not an address range"), remedy)
        }
        Err(_) => Flaw::new(format!("{text:?} is not an address range"), remedy),
    })?;
    let (address, size) = text.split_once('/').unwrap_or_default();
    if address.parse::<IpAddr>().is_err() || number(size).is_none() {
        return Err(Flaw::new(format!("{text:?} has a number with a leading zero"), "write it without the zero"));
    }
    if matches!(net.addr(), IpAddr::V6(a) if a.to_ipv4_mapped().is_some()) {
        let what = format!("{text:?} is an IPv4-mapped address range, which Kubernetes refuses");
        return Err(Flaw::new(what, "write it as IPv4"));
    }
    match net.trunc() == net {
        true => Ok(net),
        false => {
            let what = format!("{text:?} has bits set after the first {}", net.prefix_len());
            Err(Flaw::new(what, format!("write {}", net.trunc())))
        }
    }
}

pub(crate) fn endpoint(text: &str) -> Result<Endpoint, Flaw> {
    let wrong = |what: &str| Flaw::new(format!("{text:?} {what}"), "write host:port, such as api.example.org:6443");
    if text.contains("://") {
        return Err(wrong("is a URL, not a host and a port"));
    }
    let (host, port) = match text.parse::<IpAddr>() {
        Ok(_) => (text, None),
        Err(_) => match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => {
                (host, Some(rest.strip_prefix(':').ok_or_else(|| wrong("is not a host and a port"))?))
            }
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        },
    };
    let port = port.map_or(Ok(API_PORT), |p| p.parse().map_err(|_| wrong("has no port between 1 and 65535")))?;
    if port == 0 {
        return Err(wrong("has no port between 1 and 65535"));
    }
    // Four numbers are a mistyped address, not a name.
    let mistyped = host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match host.parse::<IpAddr>() {
        Ok(_) => address(host).map(drop)?,
        Err(_) if names::is_subdomain(host) && !mistyped => {}
        Err(_) => return Err(wrong("has no valid host: neither an address nor a DNS name")),
    }
    Ok(Endpoint { host: host.to_owned(), port })
}

fn cert_san(text: &str) -> Result<(), Flaw> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let fits = text.parse::<IpAddr>().is_ok() || names::is_subdomain(name);
    verdict(fits, text, "a DNS name or an address", "write one such as api.example.org, *.example.org or 10.0.0.10")
}

pub(crate) fn taint(text: &str) -> Result<Taint, Flaw> {
    let remedy = "write key=value:Effect or key:Effect; effects are NoSchedule, PreferNoSchedule and NoExecute";
    let wrong = || Flaw::new(format!("{text:?} is not a taint"), remedy);
    let (left, effect) = text.rsplit_once(':').ok_or_else(wrong)?;
    let (key, value) = left.split_once('=').unwrap_or((left, ""));
    names::label_key(key)?;
    names::label_value(value)?;
    if !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        return Err(Flaw::new(format!("{effect:?} is not the effect of a taint"), remedy));
    }
    Ok(Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
}

fn repository(text: &str) -> Result<(), Flaw> {
    let remedy = "write host/folder without a scheme, a tag or a slash at the end, such as registry.example.org/k8s";
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b':' | b'_' | b'-'));
    let (host, folder) = text.split_once('/').unwrap_or((text, "a"));
    let parts = folder.split('/').all(|p| !p.is_empty() && !p.contains(':') && p == p.to_lowercase());
    let (name, port) = host.split_once(':').unwrap_or((host, "1"));
    let fits = body && parts && names::is_subdomain(&name.to_lowercase()) && port.parse::<u16>().is_ok();
    verdict(fits, text, "a registry's folder", remedy)
}

fn image(text: &str) -> Result<(), Flaw> {
    let remedy = "write the full name with its tag, such as registry.k8s.io/pause:3.10.1";
    let (name, tag) = match text.split_once('@') {
        Some((name, digest)) => (name, digest.strip_prefix("sha256:").filter(|d| sha256(d).is_ok())),
        None => text.rsplit_once(':').map_or((text, None), |(name, tag)| (name, Some(tag).filter(|t| is_tag(t)))),
    };
    let fits = tag.is_some() && name.contains('/') && repository(name).is_ok();
    verdict(fits, text, "an image's full name", remedy)
}

fn is_tag(text: &str) -> bool {
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
    (1..=128).contains(&text.len()) && body && !text.starts_with(['.', '-'])
}

pub(crate) fn absolute(text: &str) -> Result<PathBuf, Flaw> {
    let fits = text.starts_with('/') && !has_odd_parts(&text[1..]);
    verdict(fits, text, "an absolute path", "write it from the root, without `..`, such as /opt/kubernetes")?;
    Ok(PathBuf::from(text))
}

fn relative(text: &str) -> Result<(), Flaw> {
    let fits = !text.is_empty() && !text.starts_with('/') && !has_odd_parts(text);
    verdict(
        fits,
        text,
        "a path below the source",
        "write it without a leading `/` and without `..`, such as bin/kubelet",
    )
}

fn has_odd_parts(path: &str) -> bool {
    path.chars().any(char::is_control) || path.split('/').any(|part| part == ".." || part == ".")
}

pub(crate) fn source(text: &str) -> Result<ArtifactSource, Flaw> {
    let remedy = "write `upstream`, `image`, the absolute path of a directory or of a bundle (.tar), or the http:// or https:// URL of a mirror";
    match text {
        "image" => Ok(ArtifactSource::Image),
        "upstream" => Ok(ArtifactSource::Upstream),
        _ if text.starts_with('/') && text.ends_with(".tar") => absolute(text).map(ArtifactSource::Bundle),
        _ if text.starts_with('/') => absolute(text).map(ArtifactSource::Directory),
        _ => {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '?' | '#' | '@' | '\\');
            let fits = host.is_some_and(|h| !h.is_empty() && !h.starts_with('/') && !h.contains(odd));
            verdict(fits, text, "a source of artifacts", remedy)?;
            Ok(ArtifactSource::Mirror(text.trim_end_matches('/').to_owned()))
        }
    }
}

/// Parses a SHA-256 digest from its 64 hexadecimal digits.
#[must_use]
pub fn digest(text: &str) -> Option<[u8; 32]> {
    sha256(text).ok()
}

pub(crate) fn sha256(text: &str) -> Result<[u8; 32], Flaw> {
    let wrong = |what: String| Flaw::new(what, "write the 64 hexadecimal digits that `sha256sum` prints");
    let digits: Vec<u8> = text.chars().map_while(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    if digits.len() != text.chars().count() {
        return Err(wrong(format!("{text:?} is not a SHA-256 digest")));
    }
    if digits.len() != 64 {
        return Err(wrong(format!("a SHA-256 digest has 64 digits, this has {}", digits.len())));
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
    }
    Ok(digest)
}

fn flag(text: &str) -> Result<(), Flaw> {
    if text.starts_with('-') {
        let remedy = format!("write {}", text.trim_start_matches('-'));
        return Err(Flaw::new(format!("{text:?}: flags are written without leading dashes"), remedy));
    }
    let body = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    verdict(!text.is_empty() && body, text, "a flag's name", "use a-z, 0-9 and `-`, as in max-requests-inflight")
}

fn argument(text: &str) -> Result<(), Flaw> {
    verdict(!text.chars().any(char::is_control), text, "a value of one line", "remove the control characters")
}

fn sysctl(text: &str) -> Result<(), Flaw> {
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b'-'));
    let parts = text.split(['.', '/']).all(|part| !part.is_empty());
    verdict(
        body && parts,
        text,
        "the name of a kernel parameter",
        "write it as `sysctl` prints it, such as vm.swappiness",
    )
}

fn module(text: &str) -> Result<(), Flaw> {
    let body = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    verdict(
        !text.is_empty() && body,
        text,
        "the name of a kernel module",
        "write it as `lsmod` prints it, such as ip_vs",
    )
}

/// The maximum: longer waits are mistakes.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn duration(text: &str) -> Result<Duration, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a duration"), "write a number and a unit: 500ms, 90s, 5m, 1h30m");
    // No wait takes days.
    let read = nodeinit_base::duration::parse(text).filter(|_| !text.contains('d'));
    match read.ok_or_else(wrong)? {
        Duration::ZERO => Err(Flaw::new(format!("{text:?} is zero"), "write at least 1s")),
        total if total > LONGEST => Err(Flaw::new(format!("{text:?} is longer than a day"), "write at most 24h")),
        total => Ok(total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "90", "s", "1d", "-1s", "0s", "25h", "1.5m", "99999999999999999999s", "5é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn endpoints() {
        for (text, shown) in [
            ("api.example.org", "api.example.org:6443"),
            ("api:443", "api:443"),
            ("10.0.0.10", "10.0.0.10:6443"),
            ("fd00::1", "[fd00::1]:6443"),
            ("[fd00::1]:8443", "[fd00::1]:8443"),
        ] {
            assert_eq!(endpoint(text).map(|e| e.to_string()).as_deref(), Ok(shown));
        }
        for wrong in [
            "",
            "https://api",
            "a:0",
            "a:65536",
            "a:b:c",
            "[fd00::1",
            "10.0.0.300",
            "A",
            "[fd00::1]x",
            "127.0.0.1:6443",
        ] {
            assert!(endpoint(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn images_and_repositories() {
        for good in ["registry.k8s.io", "localhost:5000/k8s", "quay.io/a/b_c"] {
            assert!(repository(good).is_ok(), "{good}");
        }
        for wrong in ["", "https://registry.k8s.io", "registry.k8s.io/", "a/b:tag", "a/B", "a//b"] {
            assert!(repository(wrong).is_err(), "{wrong}");
        }
        assert!(image("ghcr.io/flannel-io/flannel:v0.28.4").is_ok());
        assert!(image("localhost:5000/pause:3").is_ok());
        for wrong in ["pause:3", "registry.k8s.io/pause", "localhost:5000/pause", "a/b@sha256:12"] {
            assert!(image(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sources_paths_and_digests() {
        assert_eq!(
            source("https://m.example.org/k8s/"),
            Ok(ArtifactSource::Mirror("https://m.example.org/k8s".into()))
        );
        for wrong in ["", "mirror", "ftp://a", "https://", "http:///a", "https://user@host/", "/opt/../etc"] {
            assert!(source(wrong).is_err(), "{wrong}");
        }
        assert_eq!(source("upstream"), Ok(ArtifactSource::Upstream));
        assert_eq!(source("/opt/b.tar"), Ok(ArtifactSource::Bundle("/opt/b.tar".into())));
        assert_eq!(source("/opt/b.tar/"), Ok(ArtifactSource::Directory("/opt/b.tar/".into())));
        let key = BUNDLE_KEY.example;
        assert_eq!(bundle_key(&format!("{key} me@desk")).as_deref(), Ok(key));
        for wrong in ["", "ssh-ed25519", &key[..79], &key.replace("-ed", "-rs"), &key.replace("NTE5AAAAI", "NTE5AAAAJ")]
        {
            assert!(bundle_key(wrong).is_err(), "{wrong}");
        }
        assert!(relative("bin/kubelet").is_ok() && relative("/bin").is_err() && relative("../x").is_err());
        assert_eq!(sha256(SHA256.example).map(|d| (d[0], d[31])), Ok((0x9f, 0x08)));
        assert!(sha256("abc").is_err() && sha256(&"g".repeat(64)).is_err());
    }

    #[test]
    fn hosts() {
        for good in ["registry.k8s.io", "localhost:5000", "10.0.0.1:80"] {
            assert!(host(good).is_ok(), "{good}");
        }
        for wrong in ["", "https://registry.k8s.io", "registry.k8s.io/v2", "a:0", "a:", "a:b", "a:65536", "A.example"] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_and_taints() {
        assert!(cidr("10.0.0.0/8").is_ok());
        assert_eq!(cidr("10.0.0.1/8").map_err(|f| f.remedy), Err("write 10.0.0.0/8".into()));
        for wrong in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.0/16,fd00::/64",
            "x",
            "010.0.0.0/8",
            "10.0.0.0/08",
            "::ffff:10.0.0.0/104",
        ] {
            assert!(cidr(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10.0.0.010", "::ffff:10.0.0.1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        let spot = taint("dedicated:NoExecute").map(|t| (t.key, t.value));
        assert_eq!(spot, Ok(("dedicated".into(), String::new())));
        for wrong in ["a", "a=b", "a=b:Never", "=b:NoSchedule", "a=b c:NoSchedule"] {
            assert!(taint(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn openings() {
        for good in ["tcp/179", "udp/4000-4010", "ipip", "any", "112", "tcp"] {
            assert_eq!(opening(good).map(|o| o.to_string()).as_deref(), Ok(good));
        }
        for wrong in ["", "tcp/", "tcp/0", "tcp/9-8", "esp/1", "TCP/1", "300", "any/1", "tcp/1-2-3"] {
            assert!(opening(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_example_is_valid() {
        let formats = [
            &LABEL,
            &SUBDOMAIN,
            &NODE_NAME,
            &LABEL_KEY,
            &LABEL_VALUE,
            &TAINT,
            &VERSION,
            &IMAGE_TAG,
            &KUBEADM_API,
            &MINOR,
            &PROXY_MODE,
            &SENTENCE,
            &REPOSITORY,
            &IMAGE,
            &ENDPOINT,
            &CERT_SAN,
            &ADDRESS,
            &CIDR,
            &ABSOLUTE_PATH,
            &RELATIVE_PATH,
            &SOURCE,
            &SHA256,
            &FLAG,
            &ARGUMENT,
            &SYSCTL,
            &MODULE,
            &DURATION,
            &PORT,
            &COUNT,
            &USER,
            &HOST_KEY,
            &BUNDLE_KEY,
            &CA_PIN,
            &PEM_CERTIFICATE,
            &CLOUD_NAME,
            &UUID,
            &GIBIBYTES,
            &OPENING,
            &URL,
            &HOST,
            &LOCAL_PATH,
        ];
        for format in formats {
            assert_eq!(format.check(format.example), Ok(()), "{}", format.name);
        }
    }
}
