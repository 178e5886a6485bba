//! The components of the control plane.

/// A control plane component, which runs as a static pod on every master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
}

impl Component {
    /// All components, each after the one that it depends on.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler];

    /// Returns the name of its container, of its manifest without `.yaml`, and of its image.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }
}
