//! The members of etcd: who they are, how this machine becomes one, and how one leaves.

mod data;
mod decide;
pub mod leave;
mod member;
mod view;

pub(super) use member::initial_cluster;
pub use member::{EtcdMember, NAME as MEMBER};
pub use view::{Peers, View};
