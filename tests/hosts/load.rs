//! A workload and clients that request it and the API while a cluster changes.

use crate::observer::Observer;
use nodeinit_tests::Cluster;

/// A Deployment of four replicas with a PodDisruptionBudget behind a Service.
const WORKLOAD: &str = include_str!("workload.yaml");

/// The clients. `make bench-upgrade` uses them, too.
const CLIENTS: &str = include_str!("load.py");

/// The requests that each client sends per second (`REQUESTS` in `load.py`).
const RATE: f64 = 20.0;

/// The share of these requests that it sends at least, on a busy machine, too.
const SENT: f64 = 0.9;

/// The clients of a cluster.
pub(crate) struct Load<'a>(Observer<'a>);

impl<'a> Load<'a> {
    /// Starts the workload, and on the last worker the clients: one of the workload, one of the API.
    pub(crate) fn on(cluster: &'a Cluster) -> Self {
        let (first, client) = (cluster.first(), cluster.workers.last().unwrap());
        for host in cluster.hosts() {
            host.must("ctr -n k8s.io images import /opt/lab/images/tools.tar >/dev/null");
        }
        first.put("/root/workload.yaml", WORKLOAD);
        first.kubectl("apply -f /root/workload.yaml");
        first.kubectl("rollout status deployment/web --timeout=120s");
        client.until("the Service", 60.0, "curl -s -m 2 http://10.96.0.200");
        let certificate = first.must(
            "for name in certificate key; do
                sed -n \"s/^ *client-$name-data: //p\" /etc/kubernetes/admin.conf | base64 -d
            done",
        );
        client.put("/root/api.pem", &certificate);
        let endpoint = client.must("sed -n 's#^ *server: https://##p' /etc/kubernetes/kubelet.conf");
        Self(Observer::start(client, "load", CLIENTS, &format!("{} 10.96.0.200", endpoint.trim())))
    }

    /// Stops the clients. They sent their requests at the usual rate; no request of the workload failed; of those to the API, at most
    /// 0.5 %, and none twice.
    #[track_caller]
    pub(crate) fn end_within_limits(self) {
        let (requests, seconds) = self.0.end();
        let count = |client: &str, which: &str| u32::try_from(requests[client][which].as_u64().unwrap()).unwrap();
        for client in ["workload", "api"] {
            let all = count(client, "all");
            assert!(f64::from(all) >= SENT * RATE * seconds, "{client}: only {all} requests in {seconds:.0} s");
        }
        assert_eq!((count("workload", "failed"), count("api", "twice")), (0, 0), "{requests}");
        assert!(count("api", "failed") * 200 <= count("api", "all"), "more than 0.5 % failed: {requests}");
    }
}
