//! What there is.

use super::{Kind, Part, facts::Facts};
use serde_json::Value;
use std::{net::IpAddr, rc::Rc};

/// Something that carries the cluster's mark, as its service tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Which part it is.
    pub part: Part,
    /// The service's id.
    pub id: String,
    /// The service's own words for it.
    pub body: Rc<Value>,
}

impl Found {
    /// `None`: an answer without an id.
    pub fn new(part: Part, body: Value) -> Option<Self> {
        Some(Self { part, id: body["id"].as_str()?.to_owned(), body: Rc::new(body) })
    }

    /// A text of its own, or nothing.
    pub fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_default()
    }

    /// Its state in the service's own word; empty where such things have none.
    pub fn state(&self) -> &str {
        match self.part.kind {
            Kind::Balancer | Kind::Listener | Kind::Pool | Kind::Monitor | Kind::Member => {
                self.text("provisioning_status")
            }
            _ => self.text("status"),
        }
    }

    /// The addresses of a port: those that a server or somebody else gave it, too.
    pub fn fixed_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let all = self.body["fixed_ips"].as_array().into_iter().flatten();
        all.filter_map(address_in)
    }

    /// Whether it is a port with this address.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.fixed_addresses().any(|own| own == address)
    }

    /// The address by which it is reached, where it has one: of a port with addresses of both families, the first of IPv4.
    pub fn address(&self) -> Option<IpAddr> {
        let text = match self.part.kind {
            Kind::Balancer => self.text("vip_address"),
            Kind::FloatingIp => self.text("floating_ip_address"),
            Kind::Member => self.text("address"),
            _ => return self.fixed_addresses().min_by_key(IpAddr::is_ipv6),
        };
        text.parse().ok()
    }
}

/// The address of an entry of a port's `fixed_ips`.
pub(super) fn address_in(fixed: &Value) -> Option<IpAddr> {
    fixed["ip_address"].as_str()?.parse().ok()
}

/// All of the cluster's, and what the cloud offers.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Everything that carries the mark.
    pub ours: Vec<Found>,
    /// What the cloud has beside.
    pub facts: Facts,
}

impl Snapshot {
    /// The part, if it is there.
    pub fn find(&self, part: &Part) -> Option<&Found> {
        self.ours.iter().find(|found| found.part == *part)
    }

    /// All of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Found> {
        self.ours.iter().filter(move |found| found.part.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_port_of_both_families_is_reached_over_ipv4() {
        for (addresses, told) in [
            (&["fd00::9", "10.0.9.9"][..], Some("10.0.9.9")),
            (&["10.0.9.9", "10.0.9.10", "fd00::9"], Some("10.0.9.9")),
            (&["fd00::9", "fd00::a"], Some("fd00::9")),
            (&[], None),
        ] {
            let all: Vec<Value> = addresses.iter().map(|address| json!({ "ip_address": address })).collect();
            let port = Found::new(Part::new(Kind::Port, "m1"), json!({ "id": "p", "fixed_ips": all })).unwrap();
            assert_eq!(port.address(), told.map(|told| told.parse().unwrap()), "{addresses:?}");
        }
    }
}
