//! Images and their registries, the source of artifacts, and the key that signs a bundle.

use super::{Format, digests::sha256, machine::absolute, machine::has_odd_parts};
use crate::{
    model::{
        names::{self, verdict},
        values::ArtifactSource,
    },
    problem::Flaw,
};

/// The tag of an image.
pub static IMAGE_TAG: Format = Format::new("an image's tag", "3.10.2", image_tag);
/// The folder of a registry.
pub static REPOSITORY: Format =
    Format::new("a registry's folder", "registry.k8s.io", repository).pattern("^[a-z0-9][a-zA-Z0-9./:_-]*$");
/// The full name of an image.
pub static IMAGE: Format = Format::new("an image's full name", "registry.k8s.io/pause:3.10.1", image);
/// A relative path.
pub static RELATIVE_PATH: Format = Format::new("a path below the source", "bin/kubelet", relative).pattern("^[^/]");
/// The source of artifacts.
pub static SOURCE: Format = Format::new("a source", "https://mirror.example.org/k8s", |t| source(t).map(drop))
    .pattern("^(image|upstream|/.*|https?://.+)$");
/// The key that signs a bundle.
pub static BUNDLE_KEY: Format = Format::new(
    "an ed25519 public key",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo",
    |t| bundle_key(t).map(drop),
)
.pattern("^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}( .*)?$");

fn image_tag(text: &str) -> Result<(), Flaw> {
    verdict(is_tag(text), text, "an image's tag", "use letters, digits, `_`, `.` and `-`, such as 3.10.2")
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

fn relative(text: &str) -> Result<(), Flaw> {
    let fits = !text.is_empty() && !text.starts_with('/') && !has_odd_parts(text);
    verdict(
        fits,
        text,
        "a path below the source",
        "write it without a leading `/` and without `..`, such as bin/kubelet",
    )
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn sources_keys_and_paths() {
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
    }
}
