//! Approves kubelets' certificate requests, where Kubernetes' own approver would let every name pass.
//!
//! Every master runs the [`service`]. `up` runs the [`approver`] in its own process too, so that a bootstrap never waits for
//! the service. The rules are pure ([`approve`]).

pub mod approve;
pub mod approver;
pub mod service;
