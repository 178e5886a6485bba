//! The members of etcd: lists, adds and removes them.

pub mod aside;
mod bootstrap;
mod data;
mod decide;
mod evidence;
pub mod health;
pub mod leave;
pub mod maintenance;
mod marker;
mod member;
mod pod;
pub mod snapshot;
mod turn;
mod view;

pub use bootstrap::Permit;
pub(crate) use evidence::others;
pub(super) use marker::has_data;
pub use member::EtcdMember;
pub(super) use member::{is_settled, settle};
pub(super) use pod::{end_api_server, membership, token};
pub(super) use turn::Turn;
pub use view::{Peers, View};
