//! What services are asked for: the bodies of requests, from what should be and the ids of what is there.

use super::{
    Found, Kind, Marker, Part,
    desired::{API, Spec, Want},
    diff::{allowed, is_ovn},
    facts::{self, Facts},
    part::{ATTACHED, NEVER},
    plan::Place,
    rules,
    snapshot::address_in,
};
use crate::openstack::Service;
use nodeinit_config::{OpenStack, cluster::API_PORT};
use serde_json::{Value, json};
use std::{net::IpAddr, rc::Rc};

/// The inputs of bodies, besides the desired part.
pub struct Context<'a> {
    /// The cluster's name.
    pub name: &'a str,
    /// The cluster's mark.
    pub marker: &'a Marker,
    /// The configuration.
    pub cloud: &'a OpenStack,
    /// What the cloud offers.
    pub facts: &'a Facts,
    /// Where the machines are.
    pub place: &'a Place,
    /// What is there by now.
    pub made: &'a dyn Fn(&Part) -> Option<Rc<Found>>,
}

/// Where things of a kind are made, and the key of their bodies.
pub fn collection(kind: Kind) -> (Service, &'static str, &'static str) {
    match kind {
        Kind::Network => (Service::Network, "/networks", "network"),
        Kind::Subnet => (Service::Network, "/subnets", "subnet"),
        Kind::Router => (Service::Network, "/routers", "router"),
        Kind::Port | Kind::RouterPort => (Service::Network, "/ports", "port"),
        Kind::SecurityGroup | Kind::Lock => (Service::Network, "/security-groups", "security_group"),
        Kind::Rule => (Service::Network, "/security-group-rules", "security_group_rule"),
        Kind::FloatingIp => (Service::Network, "/floatingips", "floatingip"),
        Kind::ServerGroup => (Service::Compute, "/os-server-groups", "server_group"),
        Kind::Server => (Service::Compute, "/servers", "server"),
        Kind::Volume => (Service::Volume, "/volumes", "volume"),
        Kind::Balancer => (Service::LoadBalancer, "/loadbalancers", "loadbalancer"),
        Kind::Listener => (Service::LoadBalancer, "/listeners", "listener"),
        Kind::Pool => (Service::LoadBalancer, "/pools", "pool"),
        Kind::Monitor => (Service::LoadBalancer, "/healthmonitors", "healthmonitor"),
        Kind::Member => (Service::LoadBalancer, "/pools", "member"),
    }
}

impl Context<'_> {
    fn id(&self, kind: Kind, name: &str) -> Option<String> {
        Some((self.made)(&Part::new(kind, name))?.id.clone())
    }

    fn is_ovn(&self) -> bool {
        let balancer = (self.made)(&Part::new(Kind::Balancer, API));
        is_ovn(self.cloud.load_balancer.provider.as_deref(), balancer.as_deref())
    }

    /// An existing network, or one that is made.
    fn network(&self, name: &str) -> Option<String> {
        self.place.network.clone().or_else(|| self.id(Kind::Network, name))
    }

    fn subnet(&self, network: &str) -> Option<String> {
        self.place.subnet.clone().or_else(|| self.id(Kind::Subnet, network))
    }

    /// What creates the part, without the key around it. `user_data`: a server's, as Base64.
    /// `None`: something that it needs is not there, which is a defect.
    pub fn create(&self, want: &Want, user_data: Option<&str>) -> Option<Value> {
        let part = &want.part;
        let name = format!("{}-{}", self.name, part.name);
        let mark = self.marker.description(part);
        Some(match &want.spec {
            Spec::Network { name } => json!({ "name": name, "description": mark }),
            Spec::Subnet { name, made } => {
                let mut body = json!({
                    "name": name, "description": mark, "network_id": self.network(&part.name)?, "cidr": made.cidr.to_string(),
                    "ip_version": if made.cidr.addr().is_ipv4() { 4 } else { 6 }, "gateway_ip": made.gateway.to_string(),
                    "enable_dhcp": made.dhcp, "dns_nameservers": made.dns_servers,
                });
                if !made.pools.is_empty() {
                    let pool = |(start, end): &(IpAddr, IpAddr)| json!({ "start": start, "end": end });
                    body["allocation_pools"] = made.pools.iter().map(pool).collect();
                }
                body
            }
            Spec::Router => json!({
                "name": self.name, "description": mark, "external_gateway_info": { "network_id": self.place.external },
            }),
            Spec::RouterPort { address } => json!({
                "name": format!("{name}-router"), "description": mark, "network_id": self.network(&part.name)?,
                "fixed_ips": [{ "subnet_id": self.subnet(&part.name)?, "ip_address": address }],
            }),
            Spec::SecurityGroup => json!({ "name": name, "description": mark }),
            Spec::Rule(rule) => {
                let from = match rule.from {
                    rules::From::Group(group) => self.id(Kind::SecurityGroup, group)?,
                    _ => String::new(),
                };
                let mut body = rule.content(&from, self.place.cidr);
                body["security_group_id"] = json!(self.id(Kind::SecurityGroup, rule.group)?);
                body["description"] = json!(format!("{mark} {}", rule.reason));
                body
            }
            Spec::ServerGroup { policy } if self.facts.lists_policies => json!({ "name": mark, "policies": [policy] }),
            Spec::ServerGroup { policy } => json!({ "name": mark, "policy": policy }),
            Spec::Port { network, address, .. } => {
                let mut fixed = json!({ "subnet_id": self.subnet(network)? });
                if let Some(address) = address {
                    fixed["ip_address"] = json!(address);
                }
                let mut body = self.update(want, None)?;
                body["name"] = json!(name);
                body["description"] = json!(mark);
                body["network_id"] = json!(self.network(network)?);
                body["fixed_ips"] = json!([fixed]);
                body
            }
            Spec::Volume { size, image, zone } => {
                let image = facts::pick(&self.facts.images, |image| &image.named, image, "image").ok()?;
                let mut metadata = self.marker.metadata(part);
                metadata[ATTACHED] = json!(NEVER);
                let mut body = json!({ "name": name, "size": size, "imageRef": image.named.id, "metadata": metadata });
                if let Some(kind) = &self.cloud.volume.kind {
                    body["volume_type"] = json!(kind);
                }
                // Where Cinder has other zones than Nova, it chooses.
                let is_known = |zone: &&String| {
                    self.facts.volume_zones.contains(zone) || self.facts.unread.contains_key(facts::VOLUME_ZONES)
                };
                if let Some(zone) = zone.as_ref().filter(is_known) {
                    body["availability_zone"] = json!(zone);
                }
                body
            }
            Spec::Server { .. } => self.server(want, user_data)?,
            Spec::FloatingIp { of } => json!({
                "floating_network_id": self.place.external, "port_id": self.target(of)?, "description": mark,
            }),
            Spec::Balancer { network } => {
                let mut body = json!({ "name": self.name, "vip_subnet_id": self.subnet(network)?, "tags": self.marker.tags(part) });
                if let Some(address) = self.cloud.load_balancer.address.or(self.place.balancer) {
                    body["vip_address"] = json!(address);
                }
                if let Some(provider) = &self.cloud.load_balancer.provider {
                    body["provider"] = json!(provider);
                }
                body
            }
            Spec::Listener { access } => {
                let mut body = json!({
                    "name": name, "tags": self.marker.tags(part), "protocol": "TCP", "protocol_port": API_PORT,
                });
                if !self.is_ovn() {
                    body["allowed_cidrs"] = json!(allowed(access, self.place.cidr));
                }
                body
            }
            Spec::Pool => json!({
                "name": name, "tags": self.marker.tags(part), "protocol": "TCP",
                "lb_algorithm": if self.is_ovn() { "SOURCE_IP_PORT" } else { "ROUND_ROBIN" },
            }),
            // TCP, as the API server's certificate is not the balancer's business; the API server listens only when it can serve.
            Spec::Monitor => json!({
                "name": name, "tags": self.marker.tags(part), "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 3,
            }),
            Spec::Member { address, port } => {
                let address = address.or_else(|| (self.made)(port)?.address())?;
                json!({
                    "name": part.name, "tags": self.marker.tags(part), "address": address, "protocol_port": API_PORT, "subnet_id": self.subnet(API)?,
                })
            }
        })
    }

    fn server(&self, want: &Want, user_data: Option<&str>) -> Option<Value> {
        let (part, Spec::Server { flavor, zone, group, ports }) = (&want.part, &want.spec) else { return None };
        let ports: Option<Vec<Value>> =
            ports.iter().map(|port| Some(json!({ "port": self.id(port.kind, &port.name)? }))).collect();
        let flavor = facts::pick(&self.facts.flavors, |one| &one.named, flavor, "flavour").ok()?;
        let mut body = json!({
            "name": part.name, "flavorRef": flavor.named.id, "config_drive": self.cloud.config_drive,
            "networks": ports?,
            "block_device_mapping_v2": [{
                "boot_index": 0, "uuid": self.id(Kind::Volume, &part.name)?, "source_type": "volume", "destination_type": "volume",
                "delete_on_termination": false,
            }],
            "metadata": self.marker.metadata(part),
        });
        if !self.facts.lacks_server_tags {
            body["tags"] = json!([self.marker.tag()]);
        }
        if let Some(keypair) = &self.cloud.keypair {
            body["key_name"] = json!(keypair);
        }
        if let Some(zone) = zone {
            body["availability_zone"] = json!(zone);
        }
        if let Some(user_data) = user_data {
            body["user_data"] = json!(user_data);
        }
        // The hints stand beside the server.
        Some(match group {
            Some(group) => {
                json!({ "server": body, "os:scheduler_hints": { "group": self.id(Kind::ServerGroup, group)? } })
            }
            None => json!({ "server": body }),
        })
    }

    /// The port that a floating IP leads to.
    fn target(&self, of: &Part) -> Option<String> {
        let found = (self.made)(of)?;
        match of.kind {
            Kind::Balancer => Some(found.text("vip_port_id").to_owned()),
            _ => Some(found.id.clone()),
        }
    }

    /// What makes a part that is there as it should be; `found` for what must stay.
    pub fn update(&self, want: &Want, found: Option<&Found>) -> Option<Value> {
        Some(match &want.spec {
            Spec::Subnet { made, .. } => json!({ "dns_nameservers": made.dns_servers, "enable_dhcp": made.dhcp }),
            Spec::Router => json!({ "external_gateway_info": { "network_id": self.place.external } }),
            Spec::Port { network, address, groups, pairs } => {
                let forwards = groups.is_empty();
                let mut groups =
                    groups.iter().map(|name| self.id(Kind::SecurityGroup, name)).collect::<Option<Vec<_>>>()?;
                let mut all: Vec<Value> = pairs.iter().map(|pair| json!({ "ip_address": pair.to_string() })).collect();
                let mut is_changed = !all.is_empty();
                if let Some(found) = found {
                    let has = found.body["security_groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
                    let others: Vec<String> =
                        has.filter(|id| !groups.iter().any(|own| own == id)).map(str::to_owned).collect();
                    groups.extend(others);
                    let pairs = found.body["allowed_address_pairs"].as_array().into_iter().flatten();
                    let wanted: Vec<Value> = all.iter().map(|pair| pair["ip_address"].clone()).collect();
                    let has: Vec<Value> = pairs.clone().map(|pair| pair["ip_address"].clone()).collect();
                    is_changed = wanted.iter().any(|pair| !has.contains(pair));
                    all.extend(pairs.filter(|pair| !wanted.contains(&pair["ip_address"])).cloned());
                }
                let mut body = json!({ "admin_state_up": true });
                let new = address.zip(found).filter(|(new, found)| !found.has_address(*new));
                if let Some((new, found)) = new {
                    let mut all = found.body["fixed_ips"].as_array().cloned().unwrap_or_default();
                    // The network may have two subnets, whose addresses of the other family stay.
                    let former =
                        all.iter().position(|one| address_in(one).is_some_and(|own| own.is_ipv4() == new.is_ipv4()));
                    if let Some(former) = former {
                        all.remove(former);
                    }
                    all.push(json!({ "subnet_id": self.subnet(network)?, "ip_address": new }));
                    body["fixed_ips"] = json!(all);
                }
                if forwards {
                    // Neutron takes no group and no pair there.
                    body["port_security_enabled"] = json!(false);
                    (groups, all, is_changed) = (Vec::new(), Vec::new(), true);
                }
                if !self.place.open {
                    body["security_groups"] = json!(groups);
                }
                // Another project's network rejects even an empty list.
                if !self.place.open && is_changed {
                    body["allowed_address_pairs"] = json!(all);
                }
                body
            }
            Spec::FloatingIp { of } => {
                let mut body = json!({ "port_id": self.target(of)? });
                // A port with several addresses needs one of them named.
                if of.kind == Kind::Port {
                    body["fixed_ip_address"] = json!((self.made)(of)?.address()?);
                }
                body
            }
            Spec::Balancer { .. } => json!({ "admin_state_up": true }),
            Spec::Listener { .. } if self.is_ovn() => json!({ "admin_state_up": true }),
            Spec::Listener { access } => {
                json!({ "admin_state_up": true, "allowed_cidrs": allowed(access, self.place.cidr) })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::desired,
        testing::{applied, cluster},
    };

    fn body(more: &str, part: &str) -> Value {
        let made = applied(&cluster(more));
        let found = made.ours.iter().find(|found| found.part.to_string() == part);
        (*found.unwrap_or_else(|| panic!("no {part}")).body).clone()
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let port = body("", "port/w1");
        assert_eq!(port.get("allowed_address_pairs"), None, "{port}");
    }

    #[test]
    fn ports_without_port_security_have_neither_groups_nor_pairs() {
        let cluster = cluster("  allowedAddressPairs: [10.244.0.0/16]\n");
        let cloud = crate::testing::cloud(&cluster);
        let want = desired::of(&cluster, &cloud).into_iter().find(|want| want.part.kind == Kind::Port).unwrap();
        let place = Place { network: Some("n".into()), subnet: Some("s".into()), open: true, ..Place::default() };
        let context = Context {
            name: "demo",
            marker: &Marker::new(crate::testing::ID, "demo"),
            cloud: &cloud,
            facts: &crate::testing::facts(),
            place: &place,
            made: &|part| Found::new(part.clone(), json!({ "id": "x" })).map(Rc::new),
        };
        let body = context.create(&want, None).unwrap();
        assert_eq!((body.get("security_groups"), body.get("allowed_address_pairs")), (None, None), "{body}");
    }

    #[test]
    fn another_address_replaces_the_one_of_its_family() {
        let cluster = cluster("");
        let cloud = crate::testing::cloud(&cluster);
        let want = desired::of(&cluster, &cloud).into_iter().find(|want| want.part.to_string() == "port/m1").unwrap();
        let context = Context {
            name: "demo",
            marker: &Marker::new(crate::testing::ID, "demo"),
            cloud: &cloud,
            facts: &crate::testing::facts(),
            place: &Place { network: Some("n".into()), subnet: Some("v4".into()), ..Place::default() },
            made: &|part| Found::new(part.clone(), json!({ "id": "x" })).map(Rc::new),
        };
        let entry = |subnet: &str, address: &str| json!({ "subnet_id": subnet, "ip_address": address });
        let (own, six, second) = (entry("v4", "10.0.9.9"), entry("v6", "fd00::9"), entry("v4", "10.0.9.10"));
        let new = entry("v4", &cluster.masters[0].address.unwrap().to_string());
        for (before, after) in [
            (json!([own, six]), json!([six, new])),
            (json!([six, own]), json!([six, new])),
            (json!([six, own, second]), json!([six, second, new])),
            (json!([six]), json!([six, new])),
        ] {
            let found = Found::new(want.part.clone(), json!({ "id": "p", "fixed_ips": before })).unwrap();
            assert_eq!(context.update(&want, Some(&found)).unwrap()["fixed_ips"], after, "{before}");
        }
    }

    #[test]
    fn ovn_gets_what_ovn_accepts() {
        let of = |part: &str| body("  loadBalancer: {provider: ovn}\n  access: {api: [192.0.2.0/24]}\n", part);
        assert_eq!(of("pool/api")["lb_algorithm"], "SOURCE_IP_PORT");
        assert_eq!(of("listener/api").get("allowed_cidrs"), None);
        // The driver keeps clients' addresses, so that the masters' group decides.
        assert_eq!(of("rule/masters:tcp/6443:192.0.2.0/24")["remote_ip_prefix"], "192.0.2.0/24");
        assert_eq!(body("", "pool/api")["lb_algorithm"], "ROUND_ROBIN");
    }
}
