//! The control plane: settings that all masters share, and its components.

use super::{
    declare::{Dict, keys},
    reserved::{API_SERVER_RESERVED, CONTROLLER_MANAGER_RESERVED, SCHEDULER_RESERVED},
    texts::{Argument, CertSan, FlagName},
    values::Endpoint,
};
use std::{collections::BTreeMap, net::IpAddr};

keys! {
    /// Settings that all masters share.
    pub struct ControlPlane {
        /// Address of the API for workers and clients: a load balancer or a DNS name. The default port is 6443.
        "endpoint" endpoint: Option<Endpoint>, else "the first master's address and port 6443", example "api.example.org:6443", to all => super::machines::endpoint;
        /// Virtual IP of the API, held by one master at a time, for clusters without a load balancer. It must be a free address of the
        /// masters' network.
        "virtualAddress" virtual_address: Option<IpAddr>, else "none", example "10.0.0.10", to masters => super::machines::virtual_address;
        /// Further DNS names and addresses in the API server's certificate.
        "certSANs" cert_sans: Vec<String> as Vec<CertSan>, example "[api.example.org, 10.0.0.10]", to masters;
        /// Whether masters also run ordinary pods: they then get no taint.
        "schedulable" schedulable: bool = "false", to masters;
    }
}

keys! {
    /// kube-apiserver.
    pub struct ApiServer {
        /// Flags, without leading dashes, merged over nodeinit's own.
        "extraArgs" extra_args: BTreeMap<String, String> as Dict<FlagName, Argument>,
            example "{max-requests-inflight: 800}", reserved API_SERVER_RESERVED, to masters;
    }
}

keys! {
    /// kube-controller-manager.
    pub struct ControllerManager {
        /// Flags, without leading dashes, merged over nodeinit's own.
        "extraArgs" extra_args: BTreeMap<String, String> as Dict<FlagName, Argument>,
            example "{node-monitor-grace-period: 20s}", reserved CONTROLLER_MANAGER_RESERVED, to masters;
    }
}

keys! {
    /// kube-scheduler.
    pub struct Scheduler {
        /// Flags, without leading dashes, merged over nodeinit's own.
        "extraArgs" extra_args: BTreeMap<String, String> as Dict<FlagName, Argument>,
            example "{v: 2}", reserved SCHEDULER_RESERVED, to masters;
    }
}
