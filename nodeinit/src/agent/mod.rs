//! Approves certificate requests of kubelets; the approver of Kubernetes would accept any name.
//!
//! Every master runs the [`service`]. `up` also runs the [`approver`] in its own process, so that a bootstrap never waits for
//! the service. The rules are pure ([`approve`]).

pub mod approve;
pub mod approver;
pub mod service;
