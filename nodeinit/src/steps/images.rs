//! stub
/// stub
pub fn steps(_: &nodeinit_config::Cluster) -> crate::engine::step::Plan {
    vec![]
}
