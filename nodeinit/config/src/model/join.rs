//! The settings that a worker needs to join the cluster.

use super::{
    declare::keys,
    texts::{CaPin, PemCertificates},
    values::Endpoint,
};

keys! {
    /// The trust of a worker when it joins.
    #[derive(Default, Eq)]
    pub struct Join {
        /// The cluster's CA. With `caPins`, it must match one of them. Without it, the worker reads the ConfigMap `cluster-info` from the API
        /// anonymously, over unverified TLS, and accepts the CA in it only if it matches one of `caPins`. If neither is set, the worker
        /// does not connect.
        "caCertificate" ca_certificate: Option<String> as Option<PemCertificates>,
            else "read from the API, and then compared with `caPins`", example "\"-----BEGIN CERTIFICATE-----\\nMIH6MIGtoAMCAQICAQEwBQYDK2VwMA0xCzAJBgNVBAMMAkNBMB4XDTI2MTEyNzEw\\nMzQzNFoXDTM2MTEyNDEwMzQzNFowDTELMAkGA1UEAwwCQ0EwKjAFBgMrZXADIQCW\\nhVXSfak3yZT3TlcLlW9MsQ9I4mgDtydrpw6FG9OgpqMyMDAwDwYDVR0TAQH/BAUw\\nAwEB/zAdBgNVHQ4EFgQU/gR6hL61xnaMhblnNS8U+fZlNXEwBQYDK2VwA0EAgNd0\\nWzXZxm2ERdE/zUKTEWav8EYzD/ijkLPPekNIsRU4e+rv+dlvQIpqCwD1IIEq8QpS\\n0RrAQ3Dzq5tPIRkHBA==\\n-----END CERTIFICATE-----\\n\"", to all;
        /// Digests of the CA's public key, as `kubeadm token create --print-join-command` prints them. The CA must match one.
        "caPins" ca_pins: Vec<[u8; 32]> as Vec<CaPin>,
            example "[\"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"]", to all;
        /// Addresses of the API, tried in turn.
        "endpoints" endpoints: Vec<Endpoint>, else "`controlPlane.endpoint`", example "[10.0.0.11:6443, 10.0.0.12:6443]", to all;
    }
}
