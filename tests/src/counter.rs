//! A counter in a cluster, to detect lost data.

use crate::{
    Cluster,
    host::release_directory,
    output::{Output, start},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Increments a number in a ConfigMap from this machine, through the load balancer of the cluster. It starts when the API
/// answers and continues whatever happens to the hosts.
#[derive(Debug)]
pub struct Counter {
    kubectl: Kubectl,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    counting: Option<JoinHandle<Result<(), String>>>,
}

/// Runs `kubectl` on this machine, with the kubeconfig from the disk of the first master.
#[derive(Clone, Debug)]
struct Kubectl {
    program: String,
    kubeconfig: String,
}

impl Counter {
    /// Starts counting in a cluster, which may still be starting.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        let kubectl = Kubectl {
            program: release_directory().join("bin/kubectl").display().to_string(),
            kubeconfig: cluster.first().on_disk("etc/kubernetes/admin.conf").display().to_string(),
        };
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let counting = thread::spawn({
            let (kubectl, stop, acknowledged) = (kubectl.clone(), Arc::clone(&stop), Arc::clone(&acknowledged));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    kubectl.count(&acknowledged)?;
                    thread::sleep(Duration::from_millis(200));
                }
                Ok(())
            }
        });
        Self { kubectl, stop, acknowledged, counting: Some(counting) }
    }

    /// Returns the highest number that the API has acknowledged so far, or 0 if it has not answered yet.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Stops and returns the last number. Fails the test if the cluster ever returned less than an acknowledged number, or if
    /// it does not accept the next number.
    #[track_caller]
    pub fn end(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.counting.take().unwrap().join().unwrap().unwrap();
        let (before, started) = (self.acknowledged(), Instant::now());
        while self.acknowledged() == before {
            assert!(started.elapsed().as_secs() < 60, "the counter stays at {before}");
            self.kubectl.count(&self.acknowledged).unwrap();
        }
        self.acknowledged()
    }
}

impl Drop for Counter {
    /// Stops. Fails the test if the cluster has lost data, even if `end` was not called.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let counted = self.counting.take().map(JoinHandle::join);
        if !thread::panicking()
            && let Some(counted) = counted
        {
            counted.unwrap().unwrap();
        }
    }
}

impl Kubectl {
    /// Reads the number and writes the next one. A lower number is an error; an API that does not answer is not.
    fn count(&self, acknowledged: &AtomicU64) -> Result<(), String> {
        let read = self.run("get configmap counter --ignore-not-found -o jsonpath={.data.number}");
        if read.code != 0 {
            return Ok(());
        }
        let (number, least) = (read.stdout.trim().parse().unwrap_or(0), acknowledged.load(Ordering::Relaxed));
        if number < least {
            return Err(format!("the cluster has lost data: the counter is {number} and was {least}"));
        }
        let next = number + 1;
        let written = match number {
            0 => self.run("create configmap counter --from-literal=number=1"),
            _ => self.run(&format!("patch configmap counter --patch {{\"data\":{{\"number\":\"{next}\"}}}}")),
        };
        if written.code == 0 {
            acknowledged.store(next, Ordering::Relaxed);
        }
        Ok(())
    }

    fn run(&self, arguments: &str) -> Output {
        let argv = [self.program.as_str(), "--kubeconfig", &self.kubeconfig, "--request-timeout", "3s"];
        let argv: Vec<&str> = argv.into_iter().chain(arguments.split(' ')).collect();
        start("kubectl", 10, &argv).wait()
    }
}
