//! Which service is where.

use crate::error::ApiError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A service of the cloud that is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Cinder.
    Volume,
    /// Glance.
    Image,
    /// Octavia.
    LoadBalancer,
}

impl Service {
    /// All, in their order.
    pub const ALL: [Self; 5] = [Self::Compute, Self::Network, Self::Volume, Self::Image, Self::LoadBalancer];

    /// The names that catalogues have for it. Source: service-types-authority.
    fn types(self) -> &'static [&'static str] {
        match self {
            Self::Compute => &["compute"],
            Self::Network => &["network"],
            Self::Volume => &["block-storage", "volumev3", "block-store", "volume"],
            Self::Image => &["image"],
            Self::LoadBalancer => &["load-balancer"],
        }
    }

    /// Catalogues give some addresses with their version and some without.
    fn versioned(self, url: &str, project: &str) -> String {
        let url = url.trim_end_matches('/');
        let last = url.rsplit('/').next().unwrap_or_default();
        let has_version = is_version(last);
        match self {
            // The project may follow the version.
            Self::Compute | Self::Volume if url.split('/').any(is_version) => url.to_owned(),
            Self::Compute => format!("{url}/v2.1"),
            Self::Volume => format!("{url}/v3/{project}"),
            Self::Network if has_version => url.to_owned(),
            Self::Network => format!("{url}/v2.0"),
            Self::Image if has_version => url.to_owned(),
            Self::Image => format!("{url}/v2"),
            Self::LoadBalancer => {
                let base = if has_version { url.trim_end_matches(last).trim_end_matches('/') } else { url };
                format!("{base}/v2/lbaas")
            }
        }
    }
}

/// Such as `v2.1`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The services' addresses.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    urls: BTreeMap<Service, String>,
    interface: String,
    region: Option<String>,
}

impl Catalogue {
    /// From Keystone's token. All services are those of one region: the one that is asked for, or the only one with Nova.
    ///
    /// # Errors
    /// [`ApiError::Regions`], where it is not clear which region is meant.
    pub(super) fn new(token: &Value, interface: &str, region: Option<&str>) -> Result<Self, ApiError> {
        let entries = token["catalog"].as_array().map_or(&[][..], Vec::as_slice);
        let endpoints = |service: Service| {
            let named = |name: &&str| entries.iter().find(|entry| entry["type"] == **name);
            let all = service.types().iter().find_map(named).and_then(|entry| entry["endpoints"].as_array());
            all.into_iter().flatten().filter(|endpoint| endpoint["interface"] == *interface)
        };
        let of = |endpoint: &Value| {
            [&endpoint["region_id"], &endpoint["region"]].into_iter().find_map(Value::as_str).map(str::to_owned)
        };
        let there: BTreeSet<String> = endpoints(Service::Compute).filter_map(of).collect();
        let region = match region {
            None if there.len() > 1 => return Err(ApiError::Regions(there.into_iter().collect())),
            None => there.into_iter().next(),
            Some(asked) => Some(asked.to_owned()),
        };
        let project = token["project"]["id"].as_str().unwrap_or_default();
        let url = |service: Service| {
            let is_here = |endpoint: &&Value| {
                let names = [&endpoint["region_id"], &endpoint["region"]];
                region.is_none() || names.into_iter().any(|name| name.as_str() == region.as_deref())
            };
            Some(service.versioned(endpoints(service).find(is_here)?["url"].as_str()?, project))
        };
        let urls = Service::ALL.into_iter().filter_map(|service| Some((service, url(service)?))).collect();
        Ok(Self { urls, interface: interface.to_owned(), region })
    }

    /// Where Nova says which versions it has.
    pub(super) fn nova(&self) -> Result<String, ApiError> {
        let url = self.url(Service::Compute)?;
        let segments: Vec<&str> = url.split('/').collect();
        let end = segments.iter().position(|segment| is_version(segment)).map_or(segments.len(), |at| at + 1);
        Ok(segments[..end].join("/") + "/")
    }

    pub(super) fn has(&self, service: Service) -> bool {
        self.urls.contains_key(&service)
    }

    pub(super) fn url(&self, service: Service) -> Result<&str, ApiError> {
        self.urls.get(&service).map(String::as_str).ok_or_else(|| ApiError::NoService {
            service: service.types()[0],
            interface: self.interface.clone(),
            region: self.region.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_get_their_version() {
        for (service, url, whole) in [
            (Service::Network, "http://n:9696/", "http://n:9696/v2.0"),
            (Service::Network, "http://n/network/v2.0", "http://n/network/v2.0"),
            (Service::Volume, "http://c/v3/abc", "http://c/v3/abc"),
            (Service::LoadBalancer, "http://o/load-balancer", "http://o/load-balancer/v2/lbaas"),
            (Service::LoadBalancer, "http://o/v2.0/", "http://o/v2/lbaas"),
            (Service::Image, "http://g", "http://g/v2"),
            (Service::Compute, "http://n:8774/", "http://n:8774/v2.1"),
            (Service::Compute, "http://n/compute/v2.1/p", "http://n/compute/v2.1/p"),
            (Service::Volume, "http://c:8776", "http://c:8776/v3/p"),
        ] {
            assert_eq!(service.versioned(url, "p"), whole);
        }
    }

    #[test]
    fn interface_and_region_choose() {
        let endpoint = |interface: &str, region: &str| json!({ "interface": interface, "region_id": region, "url": format!("http://{interface}.{region}") });
        let token = json!({ "catalog": [
            { "type": "compute", "endpoints": [endpoint("internal", "a"), endpoint("public", "b"), endpoint("public", "a")] } ] });
        let catalogue = |interface, region| Catalogue::new(&token, interface, region);
        assert_eq!(catalogue("public", Some("a")).unwrap().url(Service::Compute).unwrap(), "http://public.a/v2.1");
        assert_eq!(catalogue("internal", None).unwrap().url(Service::Compute).unwrap(), "http://internal.a/v2.1");
        let error = catalogue("public", None).unwrap_err().to_string();
        assert_eq!(error, "the cloud has the regions a, b, and none is chosen");
        let error = catalogue("public", Some("c")).unwrap().url(Service::LoadBalancer).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the cloud's catalogue has no service load-balancer (interface public, region c)"
        );
    }

    #[test]
    fn regions_are_not_mixed() {
        let endpoint = |region: &str, url: &str| json!({ "interface": "public", "region_id": region, "url": url });
        let token = json!({ "catalog": [
            { "type": "image", "endpoints": [endpoint("b", "http://image.b"), endpoint("a", "http://image.a")] },
            { "type": "network", "endpoints": [endpoint("b", "http://network.b")] },
            { "type": "compute", "endpoints": [endpoint("a", "http://compute.a/v2.1/p")] } ] });
        let catalogue = Catalogue::new(&token, "public", None).unwrap();
        assert_eq!(catalogue.url(Service::Image).unwrap(), "http://image.a/v2");
        assert!(!catalogue.has(Service::Network));
        assert_eq!(catalogue.nova().unwrap(), "http://compute.a/v2.1/");
    }
}
