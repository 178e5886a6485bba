//! Decides which certificate requests of kubelets are approved. Pure: maps a request, the cluster's configuration and objects of
//! the API to a verdict.
//!
//! It decides requests for two signers, and leaves all others to their own approvers.
//!
//! - `kubernetes.io/kube-apiserver-client-kubelet`: a worker uses its bootstrap token to request its node's client certificate.
//!   The token is for one worker and for one key. Kubernetes decides about renewals and about the tokens of `kubeadm join`.
//! - `kubernetes.io/kubelet-serving`: a node requests its kubelet's serving certificate. The cluster's CA signs it,
//!   so it must never be valid for the API server or for another machine.

use crate::{
    api::kube::types::CertificateRequest,
    pki::{catalog::NODES, names::Name, request::Requested},
    render::cluster_objects::{WORKER_LABEL, WORKER_TOKEN_GROUP, worker_label},
};
use nodeinit_config::cluster::{Cluster, Machine, Network, Node};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

/// The annotation of a worker's token: SHA-256 of the public key with which it was used first.
pub const PUBLIC_KEY: &str = "nodeinit.dev/public-key";

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Approved, with the reason.
    Approve(String),
    /// Denied permanently, with the reason.
    Deny(String),
    /// Left to another approver or to the operator, with the reason.
    Leave(String),
}

/// The nodes of the cluster, with their addresses.
pub type Nodes = BTreeMap<String, BTreeSet<IpAddr>>;

/// Who asks for what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A client certificate, for the owner of a bootstrap token, by the token's ID.
    Client(String),
    /// A serving certificate, for a node, by its name.
    Serving(String),
}

/// An undecided request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The name of the CertificateSigningRequest.
    pub name: String,
    /// Its version, so that exactly the checked version is approved.
    pub resource_version: String,
    /// The requester and the requested certificate.
    pub kind: Kind,
    groups: Vec<String>,
    usages: BTreeSet<String>,
    requested: Result<Requested, String>,
}

impl Request {
    /// Reads a request; returns `None` if it is decided already, or for another signer or user.
    #[must_use]
    pub fn read(CertificateRequest { metadata, spec, status }: CertificateRequest) -> Option<Self> {
        if !status.conditions.is_empty() || !status.certificate.is_empty() {
            return None;
        }
        let user = spec.username;
        let kind = match spec.signer_name.as_str() {
            CLIENT_SIGNER => Kind::Client(user.strip_prefix("system:bootstrap:")?.to_owned()),
            SERVING_SIGNER => Kind::Serving(user.strip_prefix("system:node:")?.to_owned()),
            _ => return None,
        };
        Some(Self {
            name: metadata.name,
            resource_version: metadata.resource_version,
            kind,
            groups: spec.groups,
            usages: spec.usages,
            requested: Requested::from_base64(&spec.request).map_err(|e| e.to_string()),
        })
    }

    /// Returns the value of [`PUBLIC_KEY`] for this request.
    #[must_use]
    pub fn public_key(&self) -> Option<String> {
        let pin = self.requested.as_ref().ok()?.pin;
        Some(format!("sha256:{}", nodeinit_base::hex(&pin)))
    }

    /// Returns the requested alternative names, for a message.
    #[must_use]
    pub fn names(&self) -> String {
        let names = self.requested.iter().flat_map(|requested| &requested.names);
        plain(&names.map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    /// Returns the node whose identity is requested, if the subject is that of a node and nothing else.
    fn node(&self) -> Result<&str, String> {
        let subject = &self.requested.as_ref().map_err(String::clone)?.subject;
        let of = |kind: &str| subject.iter().find(|(oid, _)| oid == kind).map(|(_, text)| text.as_str());
        let name = of(Requested::COMMON_NAME).and_then(|name| name.strip_prefix("system:node:"));
        match (name, of(Requested::ORGANIZATION)) {
            (Some(name), Some(NODES)) if subject.len() == 2 && !name.is_empty() => Ok(name),
            _ => {
                let subject: Vec<&str> = subject.iter().map(|(_, text)| text.as_str()).collect();
                Err(format!("its subject must be O=system:nodes, CN=system:node:NAME, but is {:?}", subject.join(", ")))
            }
        }
    }

    /// Checks the usages, with or without the one that only RSA keys need. Source: Kubernetes,
    /// `pkg/apis/certificates/helpers.go`.
    fn has_usages(&self, purpose: &str) -> Result<(), String> {
        let mut wanted: BTreeSet<&str> = ["digital signature", purpose].into();
        let usages: BTreeSet<&str> = self.usages.iter().map(String::as_str).collect();
        if usages == wanted {
            return Ok(());
        }
        wanted.insert("key encipherment");
        if usages == wanted { Ok(()) } else { Err(format!("its usages must be digital signature and {purpose}")) }
    }
}

/// A configured machine.
#[derive(Clone, Debug)]
struct Known {
    address: Option<IpAddr>,
    is_master: bool,
}

/// The names and addresses in the configuration.
#[derive(Clone, Debug)]
pub struct Rules {
    machines: BTreeMap<String, Known>,
    owners: BTreeMap<IpAddr, String>,
    /// Names of the API, each with its description.
    reserved: Vec<(Name, &'static str)>,
    network: Network,
}

impl Rules {
    /// Returns the rules of a cluster. `node` is this master, which the configuration need not name.
    #[must_use]
    pub fn new(cluster: &Cluster, node: &Node) -> Self {
        let known = |machine: &Machine, is_master| {
            let address = machine.address.or((machine.name == node.name).then_some(node.address));
            (machine.name.clone(), Known { address: address.map(|address| address.to_canonical()), is_master })
        };
        let mut machines: BTreeMap<String, Known> =
            cluster.workers.iter().map(|machine| known(machine, false)).collect();
        machines.extend(cluster.masters.iter().map(|machine| known(machine, true)));
        machines
            .entry(node.name.clone())
            .or_insert(Known { address: Some(node.address.to_canonical()), is_master: true });
        let owners = machines.iter().filter_map(|(name, known)| Some((known.address?, name.clone()))).collect();
        let mut reserved = vec![
            (canonical(&cluster.endpoint(node.address).host), "the control plane's endpoint"),
            (Name::Dns("localhost".into()), "every machine's"),
            (Name::Dns("kubernetes".into()), "the API's Service"),
            (Name::Dns("kubernetes.default".into()), "the API's Service"),
        ];
        reserved.extend(
            cluster.control_plane.virtual_address.map(|ip| (Name::Address(ip.to_canonical()), "the virtual address")),
        );
        reserved.extend(cluster.join.endpoints.iter().map(|endpoint| (canonical(&endpoint.host), "in join.endpoints")));
        reserved
            .extend(cluster.control_plane.cert_sans.iter().map(|name| (canonical(name), "in controlPlane.certSANs")));
        Self { machines, owners, reserved, network: cluster.network.clone() }
    }

    /// Decides about a request that uses a bootstrap token. `secret` is the token's Secret, if there is one.
    #[must_use]
    pub fn client(&self, request: &Request, secret: Option<&Value>) -> Verdict {
        let Some(secret) = secret else {
            return match request.groups.iter().any(|group| group == WORKER_TOKEN_GROUP) {
                true => Verdict::Deny("its token was revoked or has expired; the machine needs a new one".into()),
                false => Verdict::Leave(
                    "Kubernetes' own approver handles this request: its token is not a worker token".into(),
                ),
            };
        };
        let Some(label) = secret["metadata"]["labels"][WORKER_LABEL].as_str() else {
            return Verdict::Leave(
                "Kubernetes' own approver handles this request: its token is not a worker token".into(),
            );
        };
        let judged = || {
            let node = request.node()?;
            request.has_usages("client auth")?;
            let requested = request.requested.as_ref().map_err(String::clone)?;
            if !requested.names.is_empty() || !requested.others.is_empty() {
                return Err("a client certificate must have no alternative names and no requested extensions".into());
            }
            if worker_label(node) != label {
                return Err(format!("its token is for another worker than {node}"));
            }
            if self.machines.get(node).is_some_and(|known| known.is_master) {
                return Err(format!("{node} is a master, but tokens are for workers only"));
            }
            match secret["metadata"]["annotations"][PUBLIC_KEY].as_str() {
                Some(key) if request.public_key().as_deref() != Some(key) => {
                    Err(format!("the token of {node} was used with another key; a rebuilt machine needs a new token"))
                }
                _ => Ok(format!("the token belongs to {node}")),
            }
        };
        judged().map_or_else(|why| Verdict::Deny(plain(&why)), Verdict::Approve)
    }

    /// Whether [`Self::serving`] must know the addresses that the node reports: the configuration names none, or the node may have more.
    #[must_use]
    pub fn needs_nodes(&self, node: &str) -> bool {
        self.machines.get(node).is_none_or(|known| known.address.is_none() || known.is_master)
    }

    /// Decides about the request of a node for its kubelet's serving certificate.
    #[must_use]
    pub fn serving(&self, request: &Request, nodes: &Nodes) -> Verdict {
        let Kind::Serving(user) = &request.kind else { return Verdict::Leave("it is not from a node".into()) };
        match self.names_of(request, user, nodes) {
            Err(why) => Verdict::Deny(plain(&why)),
            Ok(unknown) if unknown.is_empty() => {
                Verdict::Approve(format!("the names and addresses are those of {user}"))
            }
            Ok(unknown) => {
                let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
                let unknown = unknown.join(", ");
                Verdict::Leave(plain(&format!(
                    "{user} requests {unknown}, which is not a known name or address of this node; if it is correct, run `nodeinit certs approve {user}`"
                )))
            }
        }
    }

    /// Returns the requested names without an owner; a name of another owner is an error.
    fn names_of(&self, request: &Request, user: &str, nodes: &Nodes) -> Result<Vec<Name>, String> {
        let node = request.node()?;
        if node != user {
            return Err(format!("{user} requests the certificate of {node}"));
        }
        request.has_usages("server auth")?;
        let requested = request.requested.as_ref().map_err(String::clone)?;
        if let Some(other) = requested.others.first() {
            return Err(format!("it requests {other}; a kubelet may request DNS names and addresses only"));
        }
        if requested.names.is_empty() {
            return Err("it requests no name and no address".into());
        }
        let known = self.machines.get(node);
        let mut unknown = Vec::new();
        for name in &requested.names {
            let name = canonical(&name.to_string());
            let is_configured = match &name {
                Name::Dns(name) => name.eq_ignore_ascii_case(node),
                Name::Address(address) => known.is_some_and(|known| known.address == Some(*address)),
            };
            // A master's own name may be the endpoint, too: the API server serves there anyway.
            if is_configured && known.is_some_and(|known| known.is_master) {
                continue;
            }
            // Nodes report their own addresses: an address that two nodes report proves nothing.
            let only_it_reports = |address: &IpAddr| {
                let mut reporting = nodes.iter().filter(|(_, addresses)| addresses.contains(address));
                reporting.next().is_some_and(|(name, _)| name == node) && reporting.next().is_none()
            };
            // A floating IP or the virtual address: the API server serves there, too.
            if let (Name::Address(address), Some(Known { is_master: true, .. })) = (&name, known)
                && self.apis(&name).is_some()
                && only_it_reports(address)
            {
                continue;
            }
            if let Some(whose) = self.reserved(&name).or_else(|| self.of_another(&name, node, nodes)) {
                return Err(format!("{name} is {whose}"));
            }
            let is_reported = match (&name, known) {
                (Name::Address(address), None | Some(Known { address: None, .. })) => only_it_reports(address),
                _ => false,
            };
            if !is_configured && !is_reported {
                unknown.push(name);
            }
        }
        Ok(unknown)
    }

    /// Describes a name of the API.
    fn apis(&self, name: &Name) -> Option<&'static str> {
        let mut reserved = self.reserved.iter();
        reserved.find(|(reserved, _)| reserved.covers(name) || name.covers(reserved)).map(|(_, what)| *what)
    }

    /// Describes a name that no kubelet may have.
    fn reserved(&self, name: &Name) -> Option<String> {
        if let Some(what) = self.apis(name) {
            return Some(what.to_owned());
        }
        match name {
            Name::Address(address) if self.network.service_cidr.contains(address) => {
                Some("an address of the Service CIDR".into())
            }
            Name::Address(address) if self.network.pod_cidr.contains(address) => Some("an address of the pods".into()),
            Name::Address(address) if address.is_loopback() || address.is_unspecified() || is_link_local(*address) => {
                Some("every machine's".into())
            }
            Name::Dns(name) => {
                let name = name.to_ascii_lowercase();
                let is_below = |domain: &str| name == domain || name.ends_with(&format!(".{domain}"));
                (is_below("svc") || is_below(&self.network.dns_domain)).then(|| "the name of a Service".to_owned())
            }
            Name::Address(_) => None,
        }
    }

    /// Returns the other machine that has a name.
    fn of_another(&self, name: &Name, node: &str, nodes: &Nodes) -> Option<String> {
        let owner = match name {
            Name::Dns(name) => {
                let name = name.to_ascii_lowercase();
                (self.machines.contains_key(&name) || nodes.contains_key(&name)).then_some(name)
            }
            Name::Address(address) => self.owners.get(address).cloned(),
        };
        owner.filter(|owner| owner != node).map(|owner| format!("{owner}'s"))
    }
}

/// An address that is valid on one link only, such as the metadata service's.
const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Makes text of another machine safe for a terminal and for the API: short, and without control characters.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(500).collect()
}

/// Returns a name in canonical form for comparison. Clients treat an IPv4 address in IPv6 form as the IPv4 address (Go:
/// `net.IP.Equal`).
fn canonical(text: &str) -> Name {
    match Name::of(text.strip_suffix('.').unwrap_or(text)) {
        Name::Address(address) => Name::Address(address.to_canonical()),
        name => name,
    }
}

#[cfg(test)]
mod tests;
