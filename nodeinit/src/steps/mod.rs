//! The steps. Each asks the pure rooms what should be, the effects what is, and closes the gap.

pub mod addons;
pub mod artifacts;
pub mod bootstrap_token;
pub mod cluster;
pub mod cluster_ready;
pub mod encryption_config;
pub mod etcd;
pub mod fanout;
pub mod first_api_server;
pub mod images;
pub mod join;
pub mod kubeconfig;
pub mod kubelet;
pub mod node;
pub mod node_ready;
pub mod os_prepare;
pub mod pki;
pub mod preflight;
pub mod removal;
pub mod reset;
mod source;
pub mod static_pods;
pub mod virtual_address;
pub mod worker_node;
pub mod worker_token;
