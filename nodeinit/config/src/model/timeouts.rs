//! Deadlines.

use super::declare::keys;
use std::time::Duration;

keys! {
    /// Deadlines, one for each kind of wait.
    #[derive(Copy, Eq)]
    pub struct Timeouts {
        /// For the download of one artifact.
        "download" download: Duration = "10m", to all;
        /// For the import of one image archive.
        "imageImport" image_import: Duration = "5m", to all;
        /// Until the kubelet is healthy after its start.
        "kubelet" kubelet: Duration = "2m", to all;
        /// Until etcd is healthy, after the kubelet.
        "etcd" etcd: Duration = "5m", to all;
        /// Until the control plane is healthy, after etcd.
        "controlPlane" control_plane: Duration = "5m", to all;
        /// Until the first master can log in to a machine over SSH.
        "ssh" ssh: Duration = "5m", to all;
        /// Until a worker has joined the cluster; until a master is a member of etcd.
        "join" join: Duration = "10m", to all;
        /// Until the node is Ready and the addons run, after the control plane is healthy.
        "node" node: Duration = "5m", to all;
    }
}
