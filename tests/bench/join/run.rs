//! The join against a real API server: each worker has its own name, key, token and connections.

use futures_util::{StreamExt, stream};
use nodeinit::{
    BootstrapToken, JoinError, JoinRequest, Joined, Key, KubeClient, MachineIdentity, NODE_TOKEN_GROUP, Trust,
    WORKER_TOKEN_GROUP, bootstrap_token, random_bootstrap_token,
};
use nodeinit_config::{Secret, cluster::Endpoint};
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/// The default of the configuration.
const LIMIT: Duration = Duration::from_secs(600);
/// The value of the step `join`.
const SPREAD: Duration = Duration::from_millis(200);

struct Worker {
    name: String,
    token: Secret<String>,
    key: Key,
}

/// Joins `count` workers, approved by nodeinit's agent or by Kubernetes, and prints the result as one JSON object.
pub(crate) fn all(directory: &str, address: &str, count: usize, agent: bool) {
    let group = if agent { WORKER_TOKEN_GROUP } else { NODE_TOKEN_GROUP };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(Path::new(directory), address, count, group));
}

async fn measure(directory: &Path, address: &str, count: usize, group: &'static str) {
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let server = format!("{address}:6443").parse().unwrap();
    let api = KubeClient::from_kubeconfig(&read("super-admin.conf"), server).unwrap();
    let workers: Vec<Worker> = (0..count).map(worker).collect();
    stream::iter(&workers).for_each_concurrent(8, |worker| make_token(&api, worker, group)).await;
    let trust = Trust::new(Some(read("ca.crt")), Vec::new()).unwrap();
    let endpoint = [Endpoint { host: address.to_owned(), port: 6443 }];

    sample("before");
    let started = Instant::now();
    let joins = workers.iter().map(|worker| {
        let (trust, endpoint) = (&trust, &endpoint);
        async move {
            let machine = MachineIdentity { id: worker.name.clone(), system_uuid: None };
            let join = JoinRequest {
                node: &worker.name,
                endpoints: endpoint,
                trust,
                token: &worker.token,
                key: &worker.key,
                machine: &machine,
                limit: LIMIT,
                spread: SPREAD,
            };
            let joined = join.run(|what| eprintln!("{}: {what}", worker.name)).await;
            (joined, started.elapsed().as_secs_f64())
        }
    });
    let ended: Vec<_> = futures_util::future::join_all(joins).await;
    sample("joined");
    tell(count, ended);
    let connects = (0..count).map(|_| async {
        let other = KubeClient::from_kubeconfig(&read("super-admin.conf"), server).unwrap();
        other.health("/version").await.unwrap();
    });
    futures_util::future::join_all(connects).await;
    sample("connected");
    for worker in &workers {
        let (id, _) = worker.token.expose().split_once('.').unwrap();
        api.delete(&format!("{SECRETS}/bootstrap-token-{id}")).await.unwrap();
    }
    api.delete(REQUESTS).await.unwrap();
}

/// Runs the command from the environment that records the processor time of the control plane so far.
fn sample(when: &str) {
    if let Some(command) = std::env::var_os("JOIN_SAMPLE") {
        assert!(Command::new(command).arg(when).status().unwrap().success());
    }
}

fn tell(count: usize, ended: Vec<(Result<Joined, JoinError>, f64)>) {
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    let mut times = Vec::new();
    for (joined, seconds) in ended {
        match joined {
            Ok(joined) => {
                *requests.entry(joined.requests.to_string()).or_default() += 1;
                times.push(seconds);
            }
            Err(error) => eprintln!("failed after {seconds:.1} s: {error}"),
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times.get((times.len().saturating_sub(1) as f64 * part) as usize).copied().unwrap_or(0.0);
    let object = json!({
        "workers": count, "joined": times.len(), "workersByRequests": requests,
        "first": at(0.0), "median": at(0.5), "p95": at(0.95), "last": at(1.0),
    });
    println!("{object}");
}

fn worker(number: usize) -> Worker {
    let token = Secret::new(random_bootstrap_token().unwrap());
    Worker { name: format!("w-{number:03}"), token, key: Key::generate().unwrap() }
}

async fn make_token(api: &KubeClient, worker: &Worker, group: &'static str) {
    let (id, secret) = worker.token.expose().split_once('.').unwrap();
    let object = bootstrap_token(&BootstrapToken {
        id: id.to_owned(),
        secret: Secret::new(secret.to_owned()),
        description: format!("join of worker {}", worker.name),
        expiration: None,
        worker: Some(worker.name.clone()),
        group,
    });
    api.create(SECRETS, &object).await.unwrap();
}
