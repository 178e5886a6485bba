//! Addresses, ranges, ports, hosts and URLs.

use super::Format;
use crate::{
    model::{
        names::{self, verdict},
        values::{API_PORT, Endpoint, Opening},
        versions::number,
    },
    problem::Flaw,
};
use ipnet::IpNet;
use std::net::IpAddr;

/// `host:port`.
pub static ENDPOINT: Format = Format::new("a host and a port", "api.example.org:6443", |t| endpoint(t).map(drop));
/// A name or an address in a certificate.
pub static CERT_SAN: Format = Format::new("a DNS name or an address", "api.example.org", cert_san);
/// An address.
pub static ADDRESS: Format = Format::new("an IP address", "10.0.0.11", |t| address(t).map(drop));
/// An address range.
pub static CIDR: Format =
    Format::new("an address range", "10.244.0.0/16", |t| cidr(t).map(drop)).pattern("^[^/]+/[0-9]+$");
/// A TCP port.
pub static PORT: Format = Format::new("a port", "22", |t| port(t).map(drop)).pattern("^[0-9]{1,5}$").loose();
/// A protocol with its ports.
pub static OPENING: Format = Format::new("a protocol and its ports", "tcp/179", |t| opening(t).map(drop))
    .pattern("^[a-z0-9-]+(/[0-9]+(-[0-9]+)?)?$");
/// An HTTP(S) URL.
pub static URL: Format =
    Format::new("an HTTP(S) URL", "https://mirror.example.org/nodeinit", url).pattern("^https?://.+");
/// A server of artifacts.
pub static HOST: Format = Format::new("a host, with its port if it is not 443", "registry.k8s.io", host)
    .pattern("^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?$");
/// A time server.
pub static TIME_SERVER: Format =
    Format::new("a DNS name or an IP address", "ntp.example.org", time_server).pattern("^[A-Za-z0-9.:-]+$");
/// A destination without a proxy.
pub static NO_PROXY: Format =
    Format::new("a host, a domain or a network", ".example.org", no_proxy).pattern(r"^[A-Za-z0-9.:*/\[\]_-]+$");

pub(crate) fn address(text: &str) -> Result<IpAddr, Flaw> {
    let wrong = |what| Flaw::new(format!("{text:?} is {what}"), "write an address that other machines can reach");
    let address: IpAddr = text.parse().map_err(|_| match text.contains('/') {
        true => {
            Flaw::new(format!("{text:?} is an address range, not an address"), "remove `/` and everything after it")
        }
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

pub(crate) fn port(text: &str) -> Result<u16, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a port"), "write a number between 1 and 65535");
    text.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)
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

fn time_server(text: &str) -> Result<(), Flaw> {
    // A name of digits is a mistyped address.
    let is_name = names::is_subdomain(text) && text.contains(|c: char| c.is_ascii_lowercase());
    let fits = is_name || text.parse::<IpAddr>().is_ok();
    verdict(fits, text, "a DNS name or an IP address", "write it without a port, such as ntp.example.org or 10.0.0.2")
}

fn no_proxy(text: &str) -> Result<(), Flaw> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || ".:*/[]_-".contains(c);
    let fits = !text.is_empty() && text.chars().all(is_fit);
    verdict(fits, text, "a host, a domain or a network", "write one per entry, such as 10.0.0.0/8 or .example.org")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn hosts() {
        for good in ["registry.k8s.io", "localhost:5000", "10.0.0.1:80"] {
            assert!(host(good).is_ok(), "{good}");
        }
        for wrong in ["", "https://registry.k8s.io", "registry.k8s.io/v2", "a:0", "a:", "a:b", "a:65536", "A.example"] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_servers_have_no_port() {
        for good in ["ntp.example.org", "0.pool.ntp.org", "time", "10.0.0.2", "169.254.169.123", "fd00::2"] {
            assert!(time_server(good).is_ok(), "{good}");
        }
        for wrong in
            ["", "ntp.example.org:123", "10.0.0.2:123", "[fd00::2]", "10.0.0.300", "ntp://a", "a b", "10.0.0.0/8"]
        {
            assert!(time_server(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_and_ranges() {
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
}
