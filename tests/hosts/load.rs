//! A workload and clients that request it and the API while a cluster changes.

use nodeinit_tests::{Cluster, Host, Running};

/// A Deployment of four replicas with a PodDisruptionBudget behind a Service. A client requests it 20 times a second.
const WORKLOAD: &str = include_str!("workload.yaml");

/// Requests a URL 20 times a second until told to stop. Prints the requests, the failures, and the failures after one retry.
const CLIENT: &str = r#"all=0 failed=0 twice=0
ask() { [ "$(curl -sk -o /dev/null -m 5 -w '%{http_code}' $1 2>/dev/null)" = 200 ]; }
while [ ! -e /run/client-stop ]; do
    all=$((all + 1))
    ask "$1" || { failed=$((failed + 1)); echo "$(date +%T) failed" >>/root/failures; sleep 1; ask "$1" || twice=$((twice + 1)); }
    sleep 0.05
done
echo "$all $failed $twice"
"#;

/// Counts of a client's requests.
#[derive(Clone, Copy, Debug)]
struct Requests {
    all: u32,
    failed: u32,
    /// Those that failed twice.
    twice: u32,
}

/// The clients of a cluster.
pub(crate) struct Load<'a> {
    client: &'a Host,
    workload: Running,
    api: Running,
}

impl<'a> Load<'a> {
    /// Starts the workload and the clients on the last worker: one of the workload, one of the API.
    pub(crate) fn on(cluster: &'a Cluster) -> Self {
        let (first, client) = (cluster.first(), cluster.workers.last().unwrap());
        for host in cluster.hosts() {
            host.must("ctr -n k8s.io images import /opt/lab/images/tools.tar >/dev/null");
        }
        first.put("/root/workload.yaml", WORKLOAD);
        first.kubectl("apply -f /root/workload.yaml");
        first.kubectl("rollout status deployment/web --timeout=120s");
        client.must("rm -f /run/client-stop /root/failures");
        client.until("the Service", 60.0, "curl -s -m 2 http://10.96.0.200");
        for (name, data) in [("crt", "client-certificate-data"), ("key", "client-key-data")] {
            let text = first.must(&format!("sed -n 's/^ *{data}: //p' /etc/kubernetes/admin.conf | base64 -d"));
            client.put(&format!("/root/client.{name}"), &text);
        }
        client.put("/root/client.sh", CLIENT);
        let endpoint = client.must("sed -n 's/^ *server: //p' /etc/kubernetes/kubelet.conf");
        let api =
            format!("'--cert /root/client.crt --key /root/client.key {}/api/v1/namespaces/default'", endpoint.trim());
        Self {
            client,
            workload: client.start("sh /root/client.sh http://10.96.0.200"),
            api: client.start(&format!("sh /root/client.sh {api}")),
        }
    }

    /// Stops the clients. No request of the workload failed; of those to the API, at most 0.5 %, and none twice.
    #[track_caller]
    pub(crate) fn end_within_limits(self) {
        let [workload, api] = self.end();
        assert!(workload.all > 300 && api.all > 200, "{workload:?} {api:?}");
        assert_eq!((workload.failed, api.twice), (0, 0));
        assert!(api.failed * 200 <= api.all, "more than 0.5 % of the requests to the API failed: {api:?}");
    }

    /// Stops the clients; returns the requests of the workload and those of the API.
    fn end(self) -> [Requests; 2] {
        self.client.must("touch /run/client-stop");
        let requests = [self.workload, self.api].map(|client| {
            let output = client.wait().exits(0).stdout;
            let mut counts = output.split_whitespace().map(|count| count.parse().unwrap());
            let mut next = || counts.next().unwrap();
            Requests { all: next(), failed: next(), twice: next() }
        });
        eprintln!("requests of the workload and of the API: {requests:?}");
        eprintln!("{}", self.client.must("cat /root/failures 2>/dev/null || true"));
        requests
    }
}
