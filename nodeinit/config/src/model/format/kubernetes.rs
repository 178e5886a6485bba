//! What Kubernetes itself names or numbers: names, taints, versions, flags.

use super::Format;
use crate::{
    model::{
        names::{self, verdict},
        values::Taint,
        versions::{ContainerdVersion, DEFAULT, KubernetesVersion, number},
    },
    problem::Flaw,
};

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
/// A minor version.
pub static MINOR: Format =
    Format::new("a minor version", "2.1", |t| minor(t).map(drop)).pattern("^[0-9]+\\.[0-9]+$").loose();
/// A version of kubeadm's configuration.
pub static KUBEADM_API: Format =
    Format::new("a version of kubeadm's configuration", "kubeadm.k8s.io/v1beta4", kubeadm_api)
        .pattern("^kubeadm\\.k8s\\.io/v[0-9a-z]+$");
/// A mode of kube-proxy.
pub static PROXY_MODE: Format = Format::new("a mode of kube-proxy", "iptables", proxy_mode).pattern("^[a-z]+$");
/// A flag's name.
pub static FLAG: Format = Format::new("a flag's name", "max-pods", flag).pattern("^[a-z0-9][a-z0-9-]*$");
/// A flag's value.
pub static ARGUMENT: Format = Format::new("a string or a number", "100", argument).loose();

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints() {
        let spot = taint("dedicated:NoExecute").map(|t| (t.key, t.value));
        assert_eq!(spot, Ok(("dedicated".into(), String::new())));
        for wrong in ["a", "a=b", "a=b:Never", "=b:NoSchedule", "a=b c:NoSchedule"] {
            assert!(taint(wrong).is_err(), "{wrong}");
        }
    }
}
