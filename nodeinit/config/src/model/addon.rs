//! The addons that a cluster may have.

/// The optional addons; each is off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Addon {
    /// `addons.metricsServer`: what pods and nodes use, for `kubectl top` and autoscaling.
    MetricsServer,
    /// `addons.localStorage`: volumes on the nodes' own disks.
    LocalStorage,
    /// `addons.monitoring`: Prometheus.
    Monitoring,
    /// `addons.logging`: what containers write, kept in one place.
    Logging,
    /// `addons.ingress`: HTTP from outside.
    Ingress,
    /// `addons.dashboard`: the cluster in a browser.
    Dashboard,
}

impl Addon {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::MetricsServer, Self::LocalStorage, Self::Monitoring, Self::Logging, Self::Ingress, Self::Dashboard];

    /// What people call it by, and its manifest without `.yaml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MetricsServer => "metrics-server",
            Self::LocalStorage => "local-storage",
            Self::Monitoring => "monitoring",
            Self::Logging => "logging",
            Self::Ingress => "ingress",
            Self::Dashboard => "dashboard",
        }
    }

    /// Its key below `addons`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::MetricsServer => "metricsServer",
            Self::LocalStorage => "localStorage",
            Self::Monitoring => "monitoring",
            Self::Logging => "logging",
            Self::Ingress => "ingress",
            Self::Dashboard => "dashboard",
        }
    }

    /// The images that its manifest names.
    #[must_use]
    pub fn images(self) -> &'static [&'static str] {
        match self {
            Self::MetricsServer => &["registry.k8s.io/metrics-server/metrics-server:v0.9.0"],
            Self::LocalStorage => {
                &["docker.io/rancher/local-path-provisioner:v0.0.30", "docker.io/library/busybox:1.37.0"]
            }
            Self::Monitoring => &[
                "quay.io/prometheus/prometheus:v3.5.0",
                "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.15.0",
                "quay.io/prometheus/node-exporter:v1.9.1",
            ],
            Self::Logging => {
                &["docker.io/victoriametrics/victoria-logs:v1.50.0", "cr.fluentbit.io/fluent/fluent-bit:4.2.2"]
            }
            Self::Ingress => &["docker.io/library/traefik:v3.5.4"],
            Self::Dashboard => &["ghcr.io/headlamp-k8s/headlamp:v0.40.0"],
        }
    }
}
