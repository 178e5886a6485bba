//! nodeinit's service on masters.

use super::declare::keys;

keys! {
    /// nodeinit's service on masters.
    #[derive(Copy, Eq)]
    pub struct Agent {
        /// A worker's token is valid for that worker's name only, and kubelets have serving certificates of the cluster's CA, which the
        /// agent approves. `false`: a worker's token is valid for any name, like kubeadm's tokens, and kubelets' serving certificates are
        /// not verified.
        "enabled" enabled: bool = "true", to all;
    }
}
