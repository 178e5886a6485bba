//! What a cloud offers, apart from the cluster's own resources.

use ipnet::IpNet;
use serde_json::Value;
use std::collections::BTreeMap;

/// As keys of [`Facts::unread`].
pub const IMAGES: &str = "images";
/// As [`IMAGES`].
pub const FLAVORS: &str = "flavors";
/// As [`IMAGES`].
pub const VOLUME_ZONES: &str = "availability zones of volumes";
/// As [`IMAGES`].
pub const ZONES: &str = "availability zones";
/// As [`IMAGES`].
pub const VOLUME_TYPES: &str = "volume types";
/// As [`IMAGES`].
pub const KEYPAIRS: &str = "keypairs";
/// As a key of [`Facts::quotas`]: how many servers one server group may have.
pub const MEMBERS: &str = "server group members";

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

/// A network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Name and id.
    pub named: Named,
    /// Whether it leads out of the cloud.
    pub external: bool,
    /// The id of the project that owns it.
    pub project: String,
    /// Whether ports in it have no port security, so that they have no security groups.
    pub open: bool,
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
    /// All that the project sees.
    pub networks: Vec<Network>,
    /// All that the project sees.
    pub subnets: Vec<Subnet>,
    /// By the word for what is counted, such as `ports`.
    pub quotas: BTreeMap<&'static str, Quota>,
    /// Whether there is Octavia.
    pub balancing: bool,
    /// The id of the token's project.
    pub project: String,
    /// Whether the token is an administrator's.
    pub is_admin: bool,
    /// Whether Nova is older than 2.64, in which a server group has one policy.
    pub lists_policies: bool,
    /// Whether Nova is older than 2.52, in which a server is created with tags.
    pub lacks_server_tags: bool,
    /// What could not be read, and why; the rest is empty then.
    pub unread: BTreeMap<&'static str, String>,
}

/// Finds one by its id or its name.
///
/// # Errors
/// None, or several.
pub fn pick<'a, T>(all: &'a [T], named: impl Fn(&T) -> &Named, asked: &str, what: &str) -> Result<&'a T, PickError> {
    if let Some(found) = all.iter().find(|one| named(one).id == asked) {
        return Ok(found);
    }
    let fits: Vec<&T> = all.iter().filter(|one| named(one).name == asked).collect();
    match fits[..] {
        [one] => Ok(one),
        [] => Err(PickError::None(format!("the cloud has no {what} {asked}"))),
        _ => {
            let ids: Vec<&str> = fits.iter().map(|one| named(one).id.as_str()).collect();
            let (count, ids) = (ids.len(), ids.join(", "));
            Err(PickError::Several(format!("{count} of the cloud's {what}s are called {asked}: {ids}")))
        }
    }
}

/// Why a name leads to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickError {
    /// Nothing is called so.
    None(String),
    /// Several are called so; with their IDs.
    Several(String),
}

/// Name and id of an answer's object.
pub fn named(body: &Value) -> Named {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    Named { id: text("id"), name: text("name") }
}
