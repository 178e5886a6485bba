//! Which service is where.

use crate::error::ApiError;
use serde_json::Value;
use std::collections::BTreeMap;

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

    /// The version of the API that is asked for, where it has microversions.
    pub fn microversion(self) -> Option<&'static str> {
        match self {
            // 2.64: the policy of a server group; tags at creation need 2.52.
            Self::Compute => Some("compute 2.64"),
            _ => None,
        }
    }

    /// Catalogues give some addresses with their version and some without.
    fn versioned(self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        let last = url.rsplit('/').next().unwrap_or_default();
        let has_version = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        match self {
            // Cinder's may have the project behind the version, and has a version always.
            Self::Compute | Self::Volume => url.to_owned(),
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

/// The services' addresses.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    urls: BTreeMap<Service, String>,
    interface: String,
    region: Option<String>,
}

impl Catalogue {
    /// From Keystone's token.
    pub(super) fn new(token: &Value, interface: &str, region: Option<&str>) -> Self {
        let entries = token["catalog"].as_array().map_or(&[][..], Vec::as_slice);
        let url = |service: Service| {
            let named = |name: &&str| entries.iter().find(|entry| entry["type"] == **name);
            let endpoints = service.types().iter().find_map(named)?["endpoints"].as_array()?;
            let fits = |e: &&Value| {
                let here = [&e["region_id"], &e["region"]].into_iter().any(|r| r.as_str() == region);
                e["interface"] == *interface && (region.is_none() || here)
            };
            Some(service.versioned(endpoints.iter().find(fits)?["url"].as_str()?))
        };
        let urls = Service::ALL.into_iter().filter_map(|service| Some((service, url(service)?))).collect();
        Self { urls, interface: interface.to_owned(), region: region.map(str::to_owned) }
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
        ] {
            assert_eq!(service.versioned(url), whole);
        }
    }

    #[test]
    fn interface_and_region_choose() {
        let endpoint = |interface: &str, region: &str| json!({ "interface": interface, "region_id": region, "url": format!("http://{interface}.{region}") });
        let token = json!({ "catalog": [
            { "type": "compute", "endpoints": [endpoint("internal", "a"), endpoint("public", "b"), endpoint("public", "a")] } ] });
        assert_eq!(Catalogue::new(&token, "public", Some("a")).url(Service::Compute).unwrap(), "http://public.a");
        assert_eq!(Catalogue::new(&token, "public", None).url(Service::Compute).unwrap(), "http://public.b");
        let error = Catalogue::new(&token, "public", Some("c")).url(Service::LoadBalancer).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the cloud's catalogue has no service load-balancer (interface public, region c)"
        );
    }
}
