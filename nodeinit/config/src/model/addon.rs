//! The addons that a cluster may have.

/// The optional addons; each is off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Addon {
    /// `addons.metricsServer`: resource usage of pods and nodes, for `kubectl top` and autoscaling.
    MetricsServer,
    /// `addons.localStorage`: volumes on the nodes' own disks.
    LocalStorage,
    /// `addons.monitoring`: Prometheus.
    Monitoring,
    /// `addons.logging`: logs of all containers in one place.
    Logging,
    /// `addons.ingress`: external HTTP access.
    Ingress,
    /// `addons.dashboard`: a web interface for the cluster.
    Dashboard,
}

impl Addon {
    /// All addons in display order.
    pub const ALL: [Self; 6] =
        [Self::MetricsServer, Self::LocalStorage, Self::Monitoring, Self::Logging, Self::Ingress, Self::Dashboard];

    /// Returns its name, which is also that of its manifest without `.yaml`.
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

    /// Returns its key below `addons`.
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

    /// Returns the images that its manifest uses.
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
