//! Which machines use an image.

use nodeinit_config::{
    Cluster,
    cluster::{KubernetesImage, Role},
};

/// Whether a machine of this role uses the image.
pub(in crate::steps) fn is_for(cluster: &Cluster, image: &str, role: Role) -> bool {
    role.is_master() || CONTROL_PLANE.iter().all(|each| cluster.image(*each) != image)
}

/// The images that only masters run.
const CONTROL_PLANE: [KubernetesImage; 4] =
    [KubernetesImage::Etcd, KubernetesImage::ApiServer, KubernetesImage::ControllerManager, KubernetesImage::Scheduler];
