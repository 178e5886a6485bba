//! What a cloud offers, beside what is ours.

use ipnet::IpNet;
use serde_json::Value;
use std::collections::BTreeMap;

/// Something that has a name and an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The id.
    pub id: String,
    /// The name; two may have the same.
    pub name: String,
}

/// A flavour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flavor {
    /// Name and id.
    pub named: Named,
    /// Virtual CPUs.
    pub cores: i64,
    /// Memory in MiB.
    pub memory: i64,
}

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Name and id.
    pub named: Named,
    /// `active` where it can be used.
    pub status: String,
    /// The smallest disk for it, in GiB.
    pub min_disk: i64,
}

/// A subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Name and id.
    pub named: Named,
    /// The network that it is of.
    pub network: String,
    /// Its addresses.
    pub cidr: IpNet,
}

/// A quota: what is allowed, and what is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// `None`: as much as one likes.
    pub limit: Option<i64>,
    /// Used or reserved.
    pub used: i64,
}

/// What a cloud offers to the project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Of the name or the id that is asked for.
    pub images: Vec<Image>,
    /// All.
    pub flavors: Vec<Flavor>,
    /// Those of Nova that are available.
    pub zones: Vec<String>,
    /// Those of Cinder that are available.
    pub volume_zones: Vec<String>,
    /// All; asked for only where one is named.
    pub volume_types: Vec<Named>,
    /// Of the user; asked for only where one is named.
    pub keypairs: Vec<String>,
    /// All that the project sees, with whether it is external.
    pub networks: Vec<(Named, bool)>,
    /// All that the project sees.
    pub subnets: Vec<Subnet>,
    /// By the word for what is counted, such as `ports`.
    pub quotas: BTreeMap<&'static str, Quota>,
    /// Whether there is Octavia.
    pub balancing: bool,
}

/// Finds one by its id or its name.
///
/// # Errors
/// What is wrong: none, or several.
pub fn pick<'a, T>(all: &'a [T], named: impl Fn(&T) -> &Named, asked: &str, what: &str) -> Result<&'a T, String> {
    if let Some(found) = all.iter().find(|one| named(one).id == asked) {
        return Ok(found);
    }
    let fits: Vec<&T> = all.iter().filter(|one| named(one).name == asked).collect();
    match fits[..] {
        [one] => Ok(one),
        [] => Err(format!("the cloud has no {what} {asked}")),
        _ => Err(format!("{} of the cloud's {what}s are called {asked}", fits.len())),
    }
}

/// Name and id of an answer's object.
pub fn named(body: &Value) -> Named {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    Named { id: text("id"), name: text("name") }
}
