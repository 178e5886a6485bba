//! The permit to bootstrap etcd, which the provisioner gives to one server over standard input.

use serde::{Deserialize, Serialize};

/// The action that a permit allows.
pub const NEW_ETCD_CLUSTER: &str = "new-etcd-cluster";

/// A permit for one machine of one cluster. An unknown key makes it invalid, because it may be a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Permit {
    /// The permitted action: [`NEW_ETCD_CLUSTER`].
    pub permit: String,
    /// The cluster's name.
    pub cluster: String,
    /// The server's ID in the cloud.
    pub server: String,
    /// The machine ID of the disk.
    #[serde(rename = "machineID")]
    pub machine_id: String,
}

impl Permit {
    /// Creates a permit to bootstrap etcd.
    #[must_use]
    pub fn new_etcd_cluster(cluster: &str, server: &str, machine_id: &str) -> Self {
        let (cluster, server, machine_id) = (cluster.to_owned(), server.to_owned(), machine_id.to_owned());
        Self { permit: NEW_ETCD_CLUSTER.to_owned(), cluster, server, machine_id }
    }

    /// Returns the line that `nodeinit up --permit-stdin` reads.
    #[must_use]
    pub fn line(&self) -> String {
        // A struct of strings is always JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_survives_a_round_trip() {
        let permit = Permit::new_etcd_cluster("lab", "6f70656e", "0123abcd");
        let line = permit.line();
        assert_eq!(serde_json::from_str::<Permit>(&line).unwrap(), permit);
        let wanted = r#"{"permit":"new-etcd-cluster","cluster":"lab","server":"6f70656e","machineID":"0123abcd"}"#;
        assert_eq!(line.trim_end(), wanted);
    }
}
